/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address space: a process reserves what it uses, and arenas grow. Run as jobs by pami_vsize.sh,
 * with and without a limit.
 */
#include <unistd.h>

#include "pami/ext_memory.h"
#include "tests/harness/pami_job.h"

#define BLOCKS 4

static const size_t block_bytes[BLOCKS] = {1000, 3u << 20, 40u << 20, 100u << 20};
static unsigned char *mine[BLOCKS];
static uint64_t theirs[64][BLOCKS];

static size_t address_space_mib(void)
{
	char line[200];
	FILE *f = fopen("/proc/self/status", "r");
	size_t kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmPeak:", 7))
			kib = strtoul(line + 7, NULL, 10);
	if (f)
		fclose(f);
	return kib >> 10;
}

static void tell_addresses(void)
{
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};
	uint64_t own[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		own[i] = (uint64_t)(uintptr_t)mine[i];
	x.cmd.xfer_allgather = (pami_allgather_t){.sndbuf = (char *)own,
						  .stype = PAMI_TYPE_BYTE,
						  .stypecount = sizeof own,
						  .rcvbuf = (char *)theirs,
						  .rtype = PAMI_TYPE_BYTE,
						  .rtypecount = sizeof own};
	run_collective(&x);
}

static void get_bytes(size_t task, const void *from, void *to, size_t bytes)
{
	int done = 0;
	pami_get_simple_t g = {.rma = {.dest = get_endpoint(task, 0),
				       .bytes = bytes,
				       .cookie = &done,
				       .done_fn = flag_done},
			       .addr = {to, (void *)(uintptr_t)from}};

	CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
	WAIT(done);
}

int main(int argc, char **argv)
{
	pami_extension_t memory;
	pami_quintorus_alloc_fn alloc;
	pami_quintorus_free_fn release;
	pami_quintorus_local_fn local;
	const char *segment = getenv("QUINTORUS_SEGMENT");
	size_t next, room = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
	unsigned char *copy = malloc(block_bytes[BLOCKS - 1]);

	job_begin(1);
	next = (me + 1) % tasks;
	CHECK(address_space_mib() < room);
	if (segment) /* growing needs no descriptor */
		close(atoi(segment));
	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_MEMORY, &memory), PAMI_SUCCESS);
	alloc = (pami_quintorus_alloc_fn)PAMI_Extension_symbol(memory, "alloc");
	release = (pami_quintorus_free_fn)PAMI_Extension_symbol(memory, "free");
	local = (pami_quintorus_local_fn)PAMI_Extension_symbol(memory, "local");
	for (int i = 0; i < BLOCKS; i++) {
		const unsigned char *near;

		mine[i] = alloc(block_bytes[i], 64);
		CHECK(mine[i] != NULL);
		if (!mine[i])
			return 1;
		fill_pattern(mine[i], me + (size_t)i, block_bytes[i]);
		tell_addresses();
		near = local((pami_task_t)next, (void *)(uintptr_t)theirs[next][i], block_bytes[i]);
		if (near)
			CHECK_EQ(count_different(near, next + (size_t)i, block_bytes[i]), 0);
		get_bytes(next, (void *)(uintptr_t)theirs[next][i], copy, block_bytes[i]);
		CHECK_EQ(count_different(copy, next + (size_t)i, block_bytes[i]), 0);
		run_barrier();
	}
	/* More than there is: an answer, not a signal. */
	CHECK(alloc((size_t)1 << 44, 64) == NULL);
	for (int i = 0; i < BLOCKS; i++)
		release(mine[i]);
	run_barrier();
	free(copy);
	return job_end(1);
}
