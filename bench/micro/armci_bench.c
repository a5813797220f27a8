/* SPDX-License-Identifier: BSD-3-Clause */
/* abench: the measurements of the ARMCI papers as one program, one bench a figure or table.
 * bench/figures/armci_figures runs it. docs/references.md explains tags such as armci-f14. */
#include <stdlib.h>
#include <string.h>

#include "bench/armci_job.h"

static const struct {
	const char *name;
	int (*run)(struct abench *);
	const char *what;
} benches[] = {
    {"latency", abench_latency,
     "armci-t1, bgq-f4, bgq-f6: put and get of each size, beside raw PAMI"},
    {"bandwidth", abench_bandwidth,
     "armci-f14, bgq-f5, bgq-f7: 16 puts or gets under way, beside raw PAMI"},
    {"add", abench_add, "bgq-f10: fetch-and-add at a process that waits, beside raw PAMI"},
    {"attributes", abench_attributes, "bgq-t2: what endpoints and regions cost"},
    {"patch", abench_patch, "armci-f18: one strided get of n x n doubles against n gets of a row"},
    {"rows", abench_rows, "the same with 128 rows of each length"},
    {"chunks", abench_chunks, "bgq-f9: 1 MiB in chunks of each length"},
    {"overlap", abench_overlap, "armci-f19: how much of a get computation can hide"},
    {"aggregate", abench_aggregate, "armci-f20: 1000 doubles: puts, aggregate handle, vector"},
    {"counter", abench_counter,
     "bgq-f10: fetch-and-add on a counter at process 0 (--steps: it computes N us)"},
    {"accumulate", abench_accumulate, "bgq-f11: accumulate of 1 MiB in chunks"},
    {"lu", abench_lu, "bgq-f12: LU of a matrix of order --size in 2D blocks, checked"},
    {"lattice", abench_lattice, "bgq-f13: lattice Boltzmann, ghost cells, --size squared, checked"},
    {"scf", abench_scf, "bgq-f14: shared counter, get, compute, accumulate, checked"},
    {"mg", abench_mg, "armci-f21: NAS MG's kernel, --size 32 (S) or 128 (W), verified"},
};

static int print_usage(void)
{
	size_t i;

	if (armci_msg_me() == 0) {
		printf(
		    "usage: torus run -n 2 abench BENCH [--json] [--csv] [--pin] [--only VARIANT] "
		    "[--size N] [--steps N] "
		    "[--repetitions N] [--peer RANK]\n\n");
		for (i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
			printf("  %-11s %s\n", benches[i].name, benches[i].what);
	}
	return 2;
}

int main(int argc, char **argv)
{
	struct abench a;
	size_t i;
	int rc;

	if (ARMCI_Init())
		return 1;
	for (i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
		if (argc > 1 && !strcmp(argv[1], benches[i].name))
			break;
	if (i == sizeof(benches) / sizeof(benches[0])) {
		rc = print_usage();
	} else {
		const char *facts[] = {"clock", "real", NULL};

		abench_open(&a, argc - 2, argv + 2);
		if (a.is_virtual)
			facts[1] = "virtual";
		if (a.drives)
			bench_out_begin(a.format, facts);
		rc = benches[i].run(&a);
	}
	ARMCI_Barrier();
	ARMCI_Finalize();
	return rc;
}
