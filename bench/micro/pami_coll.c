/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of the world: the time of one, measured by task 0 over a sequence in which no member
 * can run ahead (collectives with a root change it). `--only algorithms` times each algorithm of
 * each collective by name; bench/figures/coll_table makes pami/coll/table.def from that.
 * `--only 'broadcast I0:Rectangle'` times those of one collective whose name begins so.
 */
#include "bench/micro/job.h"

#include <stdlib.h>
#include <string.h>

enum { MIN = 8, MAX = 1 << 20, NAMES = 32 };

struct coll {
	pami_geometry_t world;
	unsigned char *in, *out;
	size_t *counts, *displs;
	unsigned busy;
};

/* Collectives with a root change it each time. */
static pami_endpoint_t *root_of(pami_xfer_t *x, pami_xfer_type_t type)
{
	return type == PAMI_XFER_BROADCAST ? &x->cmd.xfer_broadcast.root
	       : type == PAMI_XFER_REDUCE  ? &x->cmd.xfer_reduce.root
	       : type == PAMI_XFER_GATHER  ? &x->cmd.xfer_gather.root
	       : type == PAMI_XFER_SCATTER ? &x->cmd.xfer_scatter.root
					   : NULL;
}

static const struct kind {
	const char *name;
	pami_xfer_type_t type;
	/* 1: only when asked for, or with all algorithms; 2: only when asked for. */
	int sized, more;
} kinds[] = {
    {"barrier", PAMI_XFER_BARRIER, 0, 0},
    {"broadcast", PAMI_XFER_BROADCAST, 1, 0},
    {"allreduce", PAMI_XFER_ALLREDUCE, 1, 0},
    {"allgather", PAMI_XFER_ALLGATHER, 1, 0},
    {"reduce", PAMI_XFER_REDUCE, 1, 1},
    {"scan", PAMI_XFER_SCAN, 1, 1},
    {"reduce_scatter", PAMI_XFER_REDUCE_SCATTER, 1, 1},
    {"gather", PAMI_XFER_GATHER, 1, 1},
    {"scatter", PAMI_XFER_SCATTER, 1, 1},
    {"alltoall", PAMI_XFER_ALLTOALL, 1, 1},
    {"allgatherv", PAMI_XFER_ALLGATHERV, 1,
     2}, /* parts of half and of one and a half the mean, in alternation */
};

static void on_done(pami_context_t context, void *cookie, pami_result_t result)
{
	bench_check(result);
	((struct coll *)cookie)->busy = 0;
}

static pami_xfer_t prepare_xfer(struct bench_job *job, struct coll *c, const struct kind *k,
				pami_algorithm_t algorithm, size_t bytes)
{
	pami_xfer_t x;

	memset(&x, 0, sizeof(x));
	x.cb_done = on_done;
	x.cookie = c;
	x.algorithm = algorithm;
	size_t part = bytes / job->tasks, elements = bytes / 8;
	char *in = (char *)c->in, *out = (char *)c->out;

	switch (k->type) {
	case PAMI_XFER_BROADCAST:
		x.cmd.xfer_broadcast = (pami_broadcast_t){0, in, PAMI_TYPE_BYTE, bytes};
		break;
	case PAMI_XFER_ALLREDUCE:
		x.cmd.xfer_allreduce =
		    (pami_allreduce_t){in,       PAMI_TYPE_DOUBLE, elements, out, PAMI_TYPE_DOUBLE,
				       elements, PAMI_DATA_SUM,    NULL,     1};
		break;
	case PAMI_XFER_REDUCE:
		x.cmd.xfer_reduce = (pami_reduce_t){0,
						    in,
						    PAMI_TYPE_DOUBLE,
						    elements,
						    out,
						    PAMI_TYPE_DOUBLE,
						    elements,
						    PAMI_DATA_SUM,
						    NULL,
						    1};
		break;
	case PAMI_XFER_SCAN:
		x.cmd.xfer_scan =
		    (pami_scan_t){in,       PAMI_TYPE_DOUBLE, elements, out, PAMI_TYPE_DOUBLE,
				  elements, PAMI_DATA_SUM,    NULL,     0};
		break;
	case PAMI_XFER_REDUCE_SCATTER:
		for (size_t i = 0; i < job->tasks; i++)
			c->counts[i] = elements / job->tasks + (i < elements % job->tasks);
		x.cmd.xfer_reduce_scatter = (pami_reduce_scatter_t){
		    in,        PAMI_TYPE_DOUBLE, elements, out, PAMI_TYPE_DOUBLE,
		    c->counts, PAMI_DATA_SUM,    NULL,     1};
		break;
	case PAMI_XFER_ALLGATHER:
		x.cmd.xfer_allgather =
		    (pami_allgather_t){in, PAMI_TYPE_BYTE, part, out, PAMI_TYPE_BYTE, part};
		break;
	case PAMI_XFER_ALLGATHERV:
		for (size_t i = 0, at = 0; i < job->tasks; at += c->counts[i++]) {
			c->counts[i] = i % 2 ? part + part / 2 : part / 2;
			c->displs[i] = at;
		}
		x.cmd.xfer_allgatherv = (pami_allgatherv_t){
		    in,        PAMI_TYPE_BYTE, c->counts[job->task], out, PAMI_TYPE_BYTE,
		    c->counts, c->displs};
		break;
	case PAMI_XFER_GATHER:
		x.cmd.xfer_gather =
		    (pami_gather_t){0, in, PAMI_TYPE_BYTE, part, out, PAMI_TYPE_BYTE, part};
		break;
	case PAMI_XFER_SCATTER:
		x.cmd.xfer_scatter =
		    (pami_scatter_t){0, in, PAMI_TYPE_BYTE, part, out, PAMI_TYPE_BYTE, part};
		break;
	case PAMI_XFER_ALLTOALL:
		x.cmd.xfer_alltoall =
		    (pami_alltoall_t){in, PAMI_TYPE_BYTE, part, out, PAMI_TYPE_BYTE, part};
		break;
	default:
		break;
	}
	return x;
}

/* Return the seconds for `count` collectives. */
static double repeat_collective(struct bench_job *job, struct coll *c, const struct kind *k,
				pami_xfer_t *x, uint64_t count)
{
	pami_endpoint_t *where = root_of(x, k->type);
	double start;
	size_t root = 0;

	bench_barrier(job);
	start = bench_now(job);
	for (uint64_t i = 0; i < count; i++) {
		if (where) {
			*where = bench_endpoint(job, root);
			root = root + 1 == job->tasks ? 0 : root + 1;
		}
		c->busy = 1;
		bench_check(PAMI_Collective(job->context, x));
		bench_wait(job, !c->busy);
	}
	return bench_now(job) - start;
}

/* Task 0 decides how many times. */
static uint64_t agree_on_count(struct bench_job *job, struct coll *c, uint64_t count)
{
	pami_algorithm_t a;
	pami_xfer_t x;
	uint64_t said = count;

	bench_check(PAMI_Geometry_algorithms_query(c->world, PAMI_XFER_BROADCAST, &a, NULL, 1, NULL,
						   NULL, 0));
	memset(&x, 0, sizeof(x));
	x.cb_done = on_done;
	x.cookie = c;
	x.algorithm = a;
	x.cmd.xfer_broadcast =
	    (pami_broadcast_t){bench_endpoint(job, 0), (char *)&said, PAMI_TYPE_BYTE, 8};
	c->busy = 1;
	bench_check(PAMI_Collective(job->context, &x));
	bench_wait(job, !c->busy);
	return said;
}

static void measure_row(struct bench_job *job, struct coll *c, const struct kind *k,
			const char *variant, pami_algorithm_t algorithm, size_t bytes)
{
	struct bench_samples repetitions = {0};
	struct bench_row row = {.bench = "coll",
				.variant = variant,
				.bytes = bytes,
				.unit = "us",
				.from = -1,
				.to = -1,
				.hops = -1,
				.check = ""};
	pami_xfer_t x = prepare_xfer(job, c, k, algorithm, bytes);
	uint64_t warm = job->is_virtual ? 2 : 20, count;

	count = bench_scale(job, warm, repeat_collective(job, c, k, &x, warm));
	count = agree_on_count(job, c, count);
	for (unsigned r = 0; r < bench_repetitions(job); r++)
		bench_samples_add(&repetitions,
				  repeat_collective(job, c, k, &x, count) / (double)count * 1e6);
	if (k->type == PAMI_XFER_ALLREDUCE) /* all members gave 1.0 */
		row.check =
		    ((double *)(void *)c->out)[bytes / 8 - 1] == (double)job->tasks ? "ok" : "BAD";
	bench_row_value(&row, &repetitions);
	if (job->task == 0)
		bench_row_out(job, &row);
	bench_samples_free(&repetitions);
}

/* --only names algorithms of this collective. */
static int one_algorithm(const struct bench_job *job, const struct kind *k)
{
	const char *only = job->options.only;
	size_t n = strlen(k->name);

	return only && !strncmp(only, k->name, n) && only[n] == ' ';
}

static void measure_all(struct bench_job *job, struct coll *c, const struct kind *k, size_t bytes)
{
	static pami_algorithm_t a[NAMES], b[NAMES];
	static pami_metadata_t m[NAMES], n[NAMES];
	size_t counts[2];
	char variant[96];

	bench_check(PAMI_Geometry_algorithms_num(c->world, k->type, counts));
	counts[0] = counts[0] > NAMES ? NAMES : counts[0];
	counts[1] = counts[1] > NAMES ? NAMES : counts[1];
	bench_check(
	    PAMI_Geometry_algorithms_query(c->world, k->type, a, m, counts[0], b, n, counts[1]));
	for (size_t i = 0; i < counts[0] + counts[1]; i++) {
		const char *name = i < counts[0] ? m[i].name : n[i - counts[0]].name;

		snprintf(variant, sizeof(variant), "%s %s", k->name, name);
		if (one_algorithm(job, k) &&
		    strncmp(variant, job->options.only, strlen(job->options.only)))
			continue;
		measure_row(job, c, k, variant, i < counts[0] ? a[i] : b[i - counts[0]], bytes);
	}
}

int bench_coll(struct bench_job *job)
{
	static struct coll c;
	const size_t max = bench_size_max(job, MIN, MAX);
	int all = job->options.only && !strcmp(job->options.only, "algorithms");

	bench_check(PAMI_Geometry_world(job->client, &c.world));
	c.counts = malloc(job->tasks * sizeof(*c.counts));
	c.displs = malloc(job->tasks * sizeof(*c.displs));
	if (!c.counts || !c.displs)
		return 1;
	c.in = bench_memory(job, max + 16, NULL);
	c.out = bench_memory(job, max + 16, NULL);
	for (size_t i = 0; i < max / 8; i++)
		((double *)(void *)c.in)[i] = 1.0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];
		pami_algorithm_t a;
		size_t bytes;

		if (all && k->more == 2)
			continue;
		if (!all && !one_algorithm(job, k) &&
		    (!bench_is_wanted(job, k->name) || (k->more && !job->options.only)))
			continue;
		bench_check(
		    PAMI_Geometry_algorithms_query(c.world, k->type, &a, NULL, 1, NULL, NULL, 0));
		for (unsigned s = 0; bench_size(job, s, MIN, MAX, &bytes) && (k->sized || !s);
		     s++) {
			bytes = bytes / 8 * 8;
			if (k->sized && !bytes)
				continue;
			if (all || one_algorithm(job, k))
				measure_all(job, &c, k, k->sized ? bytes : 0);
			else
				measure_row(job, &c, k, k->name, a, k->sized ? bytes : 0);
		}
	}
	free(c.counts);
	free(c.displs);
	return 0;
}
