/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A member that dies during each collective (torus run --on-death error). Tasks 0, 1 and 2 survive;
 * each of the others is the victim of one type, in a geometry with the three (by the seed with a
 * class route, where there is one to be had): it dies before, while or after it takes part. Every
 * operation's callback must come, once, with success or an error (data that is read from a task
 * just dead ends with another than PAMI_SHUTDOWN); then the geometry must refuse more; and the
 * survivors must be able to go on.
 */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

enum { SURVIVORS = 3, TYPES = PAMI_XFER_COUNT, MEMBERS = SURVIVORS + 1, LONG = 40000 };

struct op {
	int called;
	pami_result_t result;
	char *send, *recv;
	size_t counts[MEMBERS], displs[MEMBERS];
	int icounts[MEMBERS], idispls[MEMBERS];
};

static pami_geometry_t quartet[SURVIVORS + TYPES], trio;
static uint64_t chance;

static unsigned draw_below(unsigned n)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(chance >> 33) % n;
}

static void on_done(pami_context_t c, void *cookie, pami_result_t result)
{
	struct op *o = cookie;

	o->called++;
	o->result = result;
}

static void prepare_op(struct op *o, pami_xfer_t *x, pami_geometry_t g, pami_xfer_type_t type,
		       size_t n, uint32_t pick, size_t root_task)
{
	pami_algorithm_t a[32];
	size_t count[2];
	pami_endpoint_t root = get_endpoint(root_task, 0);
	pami_type_t t = PAMI_TYPE_DOUBLE;
	pami_collective_t *k = &x->cmd;
	char *snd, *rcv;

	memset(o, 0, sizeof *o);
	memset(x, 0, sizeof *x);
	snd = o->send = calloc(MEMBERS, n * 8 + 8);
	rcv = o->recv = calloc(MEMBERS, n * 8 + 8);
	for (int i = 0; i < MEMBERS; i++) {
		o->counts[i] = n;
		o->displs[i] = n * (size_t)i;
		o->icounts[i] = (int)n;
		o->idispls[i] = (int)n * i;
	}
	x->cb_done = on_done;
	x->cookie = o;
	CHECK_EQ(PAMI_Geometry_algorithms_num(g, type, count), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_algorithms_query(g, type, a, NULL, 32, NULL, NULL, 0), PAMI_SUCCESS);
	x->algorithm = a[pick % count[0]];
	switch (type) {
	case PAMI_XFER_BROADCAST:
		k->xfer_broadcast = (pami_broadcast_t){root, rcv, t, n};
		break;
	case PAMI_XFER_ALLREDUCE:
		k->xfer_allreduce =
		    (pami_allreduce_t){snd, t, n, rcv, t, n, PAMI_DATA_SUM, NULL, 1};
		break;
	case PAMI_XFER_REDUCE:
		k->xfer_reduce =
		    (pami_reduce_t){root, snd, t, n, rcv, t, n, PAMI_DATA_SUM, NULL, 1};
		break;
	case PAMI_XFER_SCAN:
		k->xfer_scan = (pami_scan_t){snd, t, n, rcv, t, n, PAMI_DATA_SUM, NULL, 0};
		break;
	case PAMI_XFER_REDUCE_SCATTER:
		k->xfer_reduce_scatter = (pami_reduce_scatter_t){
		    snd, t, n * MEMBERS, rcv, t, o->counts, PAMI_DATA_SUM, NULL, 1};
		break;
	case PAMI_XFER_ALLGATHER:
		k->xfer_allgather = (pami_allgather_t){snd, t, n, rcv, t, n};
		break;
	case PAMI_XFER_ALLGATHERV:
		k->xfer_allgatherv = (pami_allgatherv_t){snd, t, n, rcv, t, o->counts, o->displs};
		break;
	case PAMI_XFER_ALLGATHERV_INT:
		k->xfer_allgatherv_int =
		    (pami_allgatherv_int_t){snd, t, (int)n, rcv, t, o->icounts, o->idispls};
		break;
	case PAMI_XFER_GATHER:
		k->xfer_gather = (pami_gather_t){root, snd, t, n, rcv, t, n};
		break;
	case PAMI_XFER_GATHERV:
		k->xfer_gatherv = (pami_gatherv_t){root, snd, t, n, rcv, t, o->counts, o->displs};
		break;
	case PAMI_XFER_GATHERV_INT:
		k->xfer_gatherv_int =
		    (pami_gatherv_int_t){root, snd, t, (int)n, rcv, t, o->icounts, o->idispls};
		break;
	case PAMI_XFER_SCATTER:
		k->xfer_scatter = (pami_scatter_t){root, snd, t, n, rcv, t, n};
		break;
	case PAMI_XFER_SCATTERV:
		k->xfer_scatterv = (pami_scatterv_t){root, snd, t, o->counts, o->displs, rcv, t, n};
		break;
	case PAMI_XFER_SCATTERV_INT:
		k->xfer_scatterv_int =
		    (pami_scatterv_int_t){root, snd, t, o->icounts, o->idispls, rcv, t, (int)n};
		break;
	case PAMI_XFER_ALLTOALL:
		k->xfer_alltoall = (pami_alltoall_t){snd, t, n, rcv, t, n};
		break;
	case PAMI_XFER_ALLTOALLV:
		k->xfer_alltoallv =
		    (pami_alltoallv_t){snd, t, o->counts, o->displs, rcv, t, o->counts, o->displs};
		break;
	case PAMI_XFER_ALLTOALLV_INT:
		k->xfer_alltoallv_int = (pami_alltoallv_int_t){snd, t, o->icounts, o->idispls,
							       rcv, t, o->icounts, o->idispls};
		break;
	default:
		break;
	}
}

/* ---- Active messages: who is told is named by the handlers ---- */

static double am_in[LONG], am_out[MEMBERS * LONG];
static unsigned am_handled, am_told, am_done;

static void on_told(pami_context_t c, void *cookie, pami_result_t result)
{
	am_told++;
}

static void on_am_done(pami_context_t c, void *cookie, pami_result_t result)
{
	am_done++;
}

static void handle_am(pami_recv_t *recv)
{
	am_handled++;
	memset(recv, 0, sizeof *recv);
	recv->addr = (char *)am_in;
	recv->type = PAMI_TYPE_DOUBLE;
	recv->local_fn = on_told;
}

static void on_data(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_geometry_t g,
		    pami_recv_t *recv)
{
	handle_am(recv);
}

static void on_gather(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      size_t bytes, pami_endpoint_t origin, pami_geometry_t g, pami_recv_t *send)
{
	handle_am(send);
}

static void on_reduce(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      size_t bytes, pami_endpoint_t origin, pami_geometry_t g,
		      pami_data_function *op, pami_recv_t *send)
{
	*op = PAMI_DATA_SUM;
	handle_am(send);
}

static pami_algorithm_t first_of(pami_geometry_t g, pami_xfer_type_t type)
{
	pami_algorithm_t a = PAMI_ALGORITHM_NULL;

	CHECK_EQ(PAMI_Geometry_algorithms_query(g, type, &a, NULL, 1, NULL, NULL, 0), PAMI_SUCCESS);
	return a;
}

static void am_dispatch(pami_geometry_t g, pami_xfer_type_t type)
{
	pami_dispatch_callback_function fn = {0};
	pami_collective_hint_t hint;

	memset(&hint, 0xff, sizeof hint);
	if (type == PAMI_XFER_AMBROADCAST)
		fn.ambroadcast = on_data;
	else if (type == PAMI_XFER_AMSCATTER)
		fn.amscatter = on_data;
	else if (type == PAMI_XFER_AMGATHER)
		fn.amgather = on_gather;
	else
		fn.amreduce = on_reduce;
	CHECK_EQ(PAMI_AMCollective_dispatch_set(context, first_of(g, type), 5, fn, NULL, hint),
		 PAMI_SUCCESS);
}

static pami_result_t am_start(pami_geometry_t g, pami_xfer_type_t type, size_t n)
{
	static char headers[MEMBERS * 8];
	pami_xfer_t x = {.algorithm = first_of(g, type), .cb_done = on_am_done};
	pami_type_t t = PAMI_TYPE_DOUBLE;

	if (type == PAMI_XFER_AMBROADCAST)
		x.cmd.xfer_ambroadcast = (pami_ambroadcast_t){5, headers, 8, am_out, t, n};
	else if (type == PAMI_XFER_AMSCATTER)
		x.cmd.xfer_amscatter = (pami_amscatter_t){5, headers, 8, am_out, t, n};
	else if (type == PAMI_XFER_AMGATHER)
		x.cmd.xfer_amgather = (pami_amgather_t){5, headers, 8, am_out, t, n};
	else
		x.cmd.xfer_amreduce = (pami_amreduce_t){.dispatch = 5,
							.user_header = headers,
							.headerlen = 8,
							.rcvbuf = am_out,
							.rtype = t,
							.rtypecount = n};
	return PAMI_Collective(context, &x);
}

static void await_end(struct op *o, pami_result_t started)
{
	if (started == PAMI_SUCCESS)
		WAIT(o->called);
	PAMI_Context_advance(context, 3); /* not twice */
	CHECK_EQ(o->called, started == PAMI_SUCCESS);
	CHECK(started == PAMI_SUCCESS || started == PAMI_SHUTDOWN);
	free(o->send);
	free(o->recv);
}

/* One in which all take part. dying: a task dies as soon as it is over for it, which may
 * be before it is here. */
static void run_whole(pami_geometry_t g, pami_xfer_type_t type, size_t n, int dying)
{
	struct op o;
	pami_xfer_t x;

	prepare_op(&o, &x, g, type, n, 0, 0);
	CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
	WAIT(o.called);
	CHECK_EQ(o.result, dying && o.result == PAMI_SHUTDOWN ? PAMI_SHUTDOWN : PAMI_SUCCESS);
	free(o.send);
	free(o.recv);
}

/* What all draw alike for a victim: length, algorithm, root, and how far the victim comes. */
struct plan {
	size_t elements, root;
	uint32_t pick;
	unsigned polls; /* 0: it does not even start */
};

static struct plan plan_for(size_t victim, uint64_t seed)
{
	static const size_t elements[] = {1, 7, 300, LONG / 8, LONG};
	struct plan p;

	chance = seed * 1000 + victim;
	draw_below(1);
	p.elements = elements[draw_below(5)];
	p.root = draw_below(2) ? draw_below(SURVIVORS) : victim;
	p.pick = draw_below(3) ? draw_below(16) : 0;
	p.polls = draw_below(2) ? 0 : 1 + draw_below(60);
	return p;
}

static void be_victim(const struct plan *p)
{
	struct op o;
	pami_xfer_t x;

	if (me - SURVIVORS >= PAMI_XFER_AMBROADCAST) {
		am_dispatch(quartet[me], (pami_xfer_type_t)(me - SURVIVORS));
		run_whole(quartet[me], PAMI_XFER_BARRIER, 0, 0);
		if (p->root == me)
			am_start(quartet[me], (pami_xfer_type_t)(me - SURVIVORS), p->elements);
		for (unsigned i = 1; i < p->polls; i++)
			PAMI_Context_advance(context, 1);
		raise(SIGKILL);
	}
	run_whole(quartet[me], PAMI_XFER_BARRIER, 0, 0);
	prepare_op(&o, &x, quartet[me], (pami_xfer_type_t)(me - SURVIVORS), p->elements, p->pick,
		   p->root);
	if (p->polls)
		PAMI_Collective(context, &x);
	for (unsigned i = 1; i < p->polls; i++)
		PAMI_Context_advance(context, 1);
	raise(SIGKILL);
}

/* Whose handler was called, or who began it, is told, once. */
static void am_survive(size_t victim, const struct plan *p, pami_xfer_type_t type)
{
	pami_result_t started = PAMI_SHUTDOWN, again;
	struct op o;
	pami_xfer_t x;

	am_handled = am_told = am_done = 0;
	am_dispatch(quartet[victim], type);
	run_whole(quartet[victim], PAMI_XFER_BARRIER, 0, 1);
	if (p->root == me)
		started = am_start(quartet[victim], type, p->elements);
	do { /* a barrier fails once the death is known */
		prepare_op(&o, &x, quartet[victim], PAMI_XFER_BARRIER, 0, 0, 0);
		again = PAMI_Collective(context, &x);
		await_end(&o, again);
	} while (again == PAMI_SUCCESS && !check_failures);
	if (started == PAMI_SUCCESS && type == PAMI_XFER_AMBROADCAST)
		WAIT(am_done);
	else if (started == PAMI_SUCCESS)
		WAIT(am_handled);
	WAIT(am_told == am_handled);
	/* The barrier may pass a message of the survivor that began, so a handler may run later. */
	run_whole(trio, PAMI_XFER_BARRIER, 0, 0);
	for (int i = 0; i < 100; i++)
		PAMI_Context_advance(context, 1);
	WAIT(am_told == am_handled);
	run_whole(trio, PAMI_XFER_ALLREDUCE, 5, 0);
	PAMI_Context_advance(context, 3);
	CHECK_EQ(am_told, am_handled);
	CHECK(am_handled <= 1);
	CHECK_EQ(am_done, started == PAMI_SUCCESS && type == PAMI_XFER_AMBROADCAST);
}

static void survive_victim(size_t victim, const struct plan *p)
{
	struct op o[2];
	pami_xfer_t x[2];
	pami_result_t started[2], again;

	if (victim - SURVIVORS >= PAMI_XFER_AMBROADCAST) {
		am_survive(victim, p, (pami_xfer_type_t)(victim - SURVIVORS));
		return;
	}
	run_whole(quartet[victim], PAMI_XFER_BARRIER, 0, 1);
	prepare_op(&o[0], &x[0], quartet[victim], (pami_xfer_type_t)(victim - SURVIVORS),
		   p->elements, p->pick, p->root);
	prepare_op(&o[1], &x[1], quartet[victim], PAMI_XFER_ALLREDUCE, 3, 0, 0);
	for (int i = 0; i < 2; i++)
		started[i] = PAMI_Collective(context, &x[i]);
	for (int i = 0; i < 2; i++)
		await_end(&o[i], started[i]);
	do { /* a barrier fails once the death is known */
		prepare_op(&o[0], &x[0], quartet[victim], PAMI_XFER_BARRIER, 0, 0, 0);
		again = PAMI_Collective(context, &x[0]);
		await_end(&o[0], again);
		CHECK(again != PAMI_SUCCESS || o[0].result != PAMI_SUCCESS);
	} while (again == PAMI_SUCCESS && !check_failures);
	run_whole(trio, PAMI_XFER_ALLREDUCE, 5, 0);
}

static void make_geometry(pami_geometry_t *g, unsigned id, pami_geometry_range_t *range,
			  size_t ranges, int optimize)
{
	pami_configuration_t conf = {.name = PAMI_GEOMETRY_OPTIMIZE};
	int done = 0;

	conf.value.intval = (size_t)optimize;
	CHECK_EQ(PAMI_Geometry_create_taskrange(client, 0, &conf, 1, g, PAMI_GEOMETRY_NULL, id,
						range, ranges, context, flag_done, &done),
		 PAMI_SUCCESS);
	WAIT(done);
}

int main(int argc, char **argv)
{
	static const struct rlimit none = {0, 0};
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	pami_geometry_range_t range[2] = {{0, SURVIVORS - 1}};

	setrlimit(RLIMIT_CORE, &none);
	setvbuf(stdout, NULL, _IOLBF, 0);
	job_begin(1);
	if (tasks != SURVIVORS + TYPES) {
		fprintf(stderr, "%d tasks\n", SURVIVORS + TYPES);
		return 1;
	}
	if (me < SURVIVORS)
		make_geometry(&trio, 1, range, 1, 0);
	for (size_t v = SURVIVORS; v < tasks; v++) {
		range[1] = (pami_geometry_range_t){(pami_task_t)v, (pami_task_t)v};
		if (me < SURVIVORS || me == v)
			make_geometry(&quartet[v], (unsigned)v, range, 2, (v + seed) % 4 < 3);
	}
	barrier_before_death();
	for (size_t v = SURVIVORS; v < tasks; v++) {
		struct plan p = plan_for(v, seed);
		int before = check_failures;

		if (me == v)
			be_victim(&p);
		if (me < SURVIVORS)
			survive_victim(v, &p);
		if (check_failures != before)
			fprintf(stderr,
				"task %zu: the above in type %zu, %zu elements, algorithm %u, root "
				"%zu, %u polls\n",
				me, v - SURVIVORS, p.elements, p.pick, p.root, p.polls);
	}
	if (job_end(1))
		check_failures++;
	printf("survivor %zu: %s\n", me, check_failures ? "wrong" : "right");
	return check_failures != 0;
}
