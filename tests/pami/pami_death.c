/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that die in the middle of each protocol (torus run --on-death error). Tasks 0 and 1
 * survive; each of the others is the victim of one scenario, in turn, and is killed, aborts or
 * exits while both survivors are at work with it. Every operation's callbacks must come, each once,
 * local before remote, with success or PAMI_SHUTDOWN; new operations must fail; the survivors must
 * be able to go on.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define FEW  8 /* operations under way at a time */
#define LONG 300000

enum { ID_GO = 1, ID_SINK, ID_SHORT, ID_SYNC };

struct op {
	int local, remote; /* how often called */
	pami_result_t local_result, remote_result;
};

static uint64_t chance;
static int go, syncs, gone_wrong, virtual_clock;
static double die_at;
static unsigned char *memory, *own; /* what puts and gets touch: of all tasks, and of this one */
static pami_memregion_t region, regions[64];
static void *address[64];
static pami_geometry_t trio[64];
static volatile int received;
static int partial;

static unsigned draw_below(unsigned n)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(chance >> 33) % n;
}

/* ---- What happens to victims ---- */

static void end_this_task(void)
{
	switch (me % 4) {
	case 0:
		raise(SIGKILL);
		break;
	case 1:
		_exit(3);
	case 2:
		abort();
	default:
		kill(getpid(), SIGSEGV);
	}
	for (;;)
		pause();
}

static void *end_task_later(void *arg)
{
	struct timespec t = {0, 1000 * (300 + (long)draw_below(4000))};

	nanosleep(&t, NULL);
	end_this_task();
	return arg;
}

/* Dies at some moment soon, whatever it is at; in virtual time where it next looks, which is the
 * same in every run. */
static void die_soon(void)
{
	pthread_t thread;

	if (virtual_clock) {
		die_at = PAMI_Wtime(client) + 1e-6 * (1 + draw_below(300));
		return;
	}
	if (pthread_create(&thread, NULL, end_task_later, NULL))
		end_this_task();
}

static void live_on(void)
{
	if (virtual_clock && die_at > 0 && PAMI_Wtime(client) >= die_at)
		end_this_task();
}

/* ---- Dispatch functions ---- */

static void on_go(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p, size_t n,
		  pami_endpoint_t origin, pami_recv_t *recv)
{
	go = 1;
}

static void on_sync(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		    size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	syncs++;
}

static void free_sunk(pami_context_t c, void *cookie, pami_result_t result)
{
	partial--;
	if (result != PAMI_SUCCESS)
		CHECK_EQ(result, PAMI_SHUTDOWN);
	free(cookie);
}

static void on_sink(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		    size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	received++;
	if (!recv)
		return;
	partial++;
	recv->cookie = recv->addr = malloc(n + 1);
	recv->local_fn = free_sunk;
}

/* ---- Operations and their ends ---- */

static void local_done(pami_context_t c, void *cookie, pami_result_t result)
{
	struct op *o = cookie;

	CHECK(o->remote <= 0); /* -1: there is no remote half */
	o->local++;
	o->local_result = result;
}

static void remote_done(pami_context_t c, void *cookie, pami_result_t result)
{
	struct op *o = cookie;

	CHECK_EQ(o->local, 1);
	o->remote++;
	o->remote_result = result;
}

typedef pami_result_t (*start_fn)(size_t victim, struct op *o, size_t bytes);

static pami_result_t start_send(size_t victim, struct op *o, size_t bytes)
{
	pami_send_t s = {.send = {.header = {"head", 4},
				  .data = {own, bytes},
				  .dispatch = ID_SINK,
				  .dest = get_endpoint(victim, 0)},
			 .events = {o, local_done, remote_done}};

	return PAMI_Send(context, &s);
}

static pami_type_t gaps;

static pami_result_t start_send_typed(size_t victim, struct op *o, size_t bytes)
{
	pami_send_typed_t s = {.send = {.data = {own, bytes / 2},
					.dispatch = ID_SINK,
					.dest = get_endpoint(victim, 0)},
			       .events = {o, local_done, remote_done},
			       .typed = {gaps, 0, PAMI_DATA_COPY, NULL}};

	return PAMI_Send_typed(context, &s);
}

static pami_rma_t rma_of(size_t victim, struct op *o, size_t bytes)
{
	return (pami_rma_t){
	    .dest = get_endpoint(victim, 0), .bytes = bytes, .cookie = o, .done_fn = local_done};
}

static pami_result_t start_put(size_t victim, struct op *o, size_t bytes)
{
	pami_put_simple_t p = {rma_of(victim, o, bytes), {own, address[victim]}, {remote_done}};

	return PAMI_Put(context, &p);
}

static pami_result_t start_get(size_t victim, struct op *o, size_t bytes)
{
	pami_get_simple_t g = {rma_of(victim, o, bytes), {own, address[victim]}};

	o->remote = -1; /* there is none */
	return PAMI_Get(context, &g);
}

static pami_result_t start_rput(size_t victim, struct op *o, size_t bytes)
{
	pami_rput_simple_t p = {
	    rma_of(victim, o, bytes), {{&region, LONG}, {&regions[victim], 0}}, {remote_done}};

	return PAMI_Rput(context, &p);
}

static pami_result_t start_rget(size_t victim, struct op *o, size_t bytes)
{
	pami_rget_simple_t g = {rma_of(victim, o, bytes), {{&region, LONG}, {&regions[victim], 0}}};

	o->remote = -1;
	return PAMI_Rget(context, &g);
}

static pami_result_t start_put_typed(size_t victim, struct op *o, size_t bytes)
{
	pami_put_typed_t p = {rma_of(victim, o, bytes / 2),
			      {own, address[victim]},
			      {PAMI_TYPE_BYTE, gaps},
			      {remote_done}};

	return PAMI_Put_typed(context, &p);
}

static pami_result_t start_get_typed(size_t victim, struct op *o, size_t bytes)
{
	pami_get_typed_t g = {
	    rma_of(victim, o, bytes / 2), {own, address[victim]}, {PAMI_TYPE_BYTE, gaps}};

	o->remote = -1;
	return PAMI_Get_typed(context, &g);
}

static pami_result_t start_rmw(size_t victim, struct op *o, size_t bytes)
{
	static uint64_t old, one = 1;
	pami_rmw_t r = {.dest = get_endpoint(victim, 0),
			.cookie = o,
			.done_fn = local_done,
			.local = &old,
			.remote = address[victim],
			.value = &one,
			.operation = PAMI_ATOMIC_FETCH_ADD,
			.type = PAMI_TYPE_UNSIGNED_LONG};

	o->remote = -1;
	return PAMI_Rmw(context, &r);
}

/* A fence over both: it ends, with an error once the victim's part cannot be done. */
static pami_result_t start_fence(size_t victim, struct op *o, size_t bytes)
{
	static int quiet;
	pami_put_simple_t p = {
	    {.dest = get_endpoint(1 - me, 0), .bytes = 8, .done_fn = flag_done, .cookie = &quiet},
	    {own, (char *)address[1 - me] + 64},
	    {NULL}};
	pami_put_simple_t v = {
	    {.dest = get_endpoint(victim, 0), .bytes = bytes}, {own, address[victim]}, {NULL}};
	pami_send_immediate_t s = {.dispatch = ID_SINK, .dest = get_endpoint(victim, 0)};
	pami_result_t result;

	PAMI_Fence_begin(context);
	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	result = PAMI_Put(context, &v);
	if (result == PAMI_SUCCESS)
		result = PAMI_Send_immediate(context, &s);
	o->remote = -1;
	if (result == PAMI_SUCCESS)
		result = PAMI_Fence_all(context, local_done, o);
	PAMI_Fence_end(context);
	return result;
}

static pami_result_t start_barrier(size_t victim, struct op *o, size_t bytes)
{
	pami_xfer_t x = {.cb_done = local_done, .cookie = o};

	CHECK_EQ(PAMI_Geometry_algorithms_query(trio[victim], PAMI_XFER_BARRIER, &x.algorithm, NULL,
						1, NULL, NULL, 0),
		 PAMI_SUCCESS);
	o->remote = -1;
	return PAMI_Collective(context, &x);
}

static pami_result_t start_allreduce(size_t victim, struct op *o, size_t bytes)
{
	static double from[4096], to[4096];
	pami_xfer_t x = {.cb_done = local_done, .cookie = o};

	x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)from,
						  .stype = PAMI_TYPE_DOUBLE,
						  .stypecount = 4096,
						  .rcvbuf = (char *)to,
						  .rtype = PAMI_TYPE_DOUBLE,
						  .rtypecount = 4096,
						  .op = PAMI_DATA_SUM,
						  .commutative = 1};
	CHECK_EQ(PAMI_Geometry_algorithms_query(trio[victim], PAMI_XFER_ALLREDUCE, &x.algorithm,
						NULL, 1, NULL, NULL, 0),
		 PAMI_SUCCESS);
	o->remote = -1;
	return PAMI_Collective(context, &x);
}

/* ---- Scenarios ---- */

static const struct scenario {
	const char *name;
	start_fn start;
	size_t bytes;
	enum { SERVES, DIES_IN_DISPATCH, SENDS, TAKES_PART, DEAF } victim;
} scenarios[] = {
    {"immediate", NULL, 64, SERVES},
    {"short", start_send, 100, SERVES},
    {"eager", start_send, 5000, SERVES},
    {"eager, dies in the dispatch function", start_send, 5000, DIES_IN_DISPATCH},
    {"eager from a victim", NULL, 8100, SENDS},
    {"rendezvous", start_send, LONG, SERVES},
    {"rendezvous, deaf", start_send, LONG, DEAF},
    {"rendezvous, dies in the dispatch function", start_send, LONG, DIES_IN_DISPATCH},
    {"rendezvous from a victim", NULL, LONG, SENDS},
    {"typed send", start_send_typed, LONG, SERVES},
    {"put", start_put, 3000, SERVES},
    {"get", start_get, 3000, SERVES},
    {"rput", start_rput, LONG, SERVES},
    {"rget", start_rget, LONG, SERVES},
    {"typed put", start_put_typed, 60000, SERVES},
    {"typed get", start_get_typed, 60000, SERVES},
    {"rmw", start_rmw, 8, SERVES},
    {"rmw, deaf", start_rmw, 8, DEAF},
    {"fence", start_fence, 20000, SERVES},
    {"fence, deaf", start_fence, 20000, DEAF},
    {"barrier", start_barrier, 0, TAKES_PART},
    {"barrier, deaf", start_barrier, 0, DEAF},
    {"allreduce", start_allreduce, 0, TAKES_PART},
};
enum { RENDEZVOUS = 5, PUT = 10, GET = 11 };
#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

static void check_op(const struct op *o)
{
	CHECK_EQ(o->local, 1);
	CHECK(o->remote == 1 || o->remote == -1);
	if (o->local_result != PAMI_SUCCESS)
		CHECK_EQ(o->local_result, PAMI_SHUTDOWN);
	if (o->remote == 1 && o->remote_result != PAMI_SUCCESS)
		CHECK_EQ(o->remote_result, PAMI_SHUTDOWN);
}

static int has_ended(const struct op *o)
{
	return o->local && o->remote;
}

/* A survivor: operations without end, until one is refused; all that were started must end. */
static void survive_victim(const struct scenario *s, size_t victim)
{
	static struct op op[FEW];
	pami_result_t result = PAMI_SUCCESS;
	unsigned started = 0;

	for (unsigned i = 0; i < FEW; i++)
		op[i] = (struct op){.local = 1, .remote = -1};
	while (result == PAMI_SUCCESS) {
		struct op *o = &op[started % FEW];

		WAIT(has_ended(o));
		check_op(o);
		*o = (struct op){0};
		result = s->start(victim, o, s->bytes);
		if (result != PAMI_SUCCESS)
			*o = (struct op){.local = 1, .remote = -1};
		else
			started++;
	}
	CHECK_EQ(result, PAMI_SHUTDOWN);
	for (unsigned i = 0; i < FEW; i++) {
		WAIT(has_ended(&op[i]));
		check_op(&op[i]);
	}
}

static void survive_immediate(size_t victim)
{
	pami_send_immediate_t s = {.header = {"headers", 8},
				   .data = {own, 64},
				   .dispatch = ID_SHORT,
				   .dest = get_endpoint(victim, 0)};
	pami_result_t result;

	do {
		result = PAMI_Send_immediate(context, &s);
		PAMI_Context_advance(context, 1);
	} while (result == PAMI_SUCCESS);
	CHECK_EQ(result, PAMI_SHUTDOWN);
}

/* It sends to us until it dies; then sending to it fails, and what it had begun has ended. */
static void survive_sender(size_t victim)
{
	survive_immediate(victim);
	WAIT(!partial);
}

static void die_in_dispatch(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
			    size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	on_sink(c, cookie, h, hn, p, n, origin, recv);
	if (received > 3 && origin == get_endpoint(0, 0))
		end_this_task();
}

static void victim_sends(size_t bytes)
{
	static int sent_local;

	for (unsigned i = 0;; i++) {
		pami_send_t s = {.send = {.header = {"head", 4},
					  .data = {own, bytes},
					  .dispatch = ID_SINK,
					  .dest = get_endpoint(i % 2, 0)},
				 .events = {&sent_local, flag_done, NULL}};

		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		PAMI_Context_advance(context, 1);
		live_on();
	}
}

static void be_victim(const struct scenario *s)
{
	WAIT(go);
	if (s->victim != DIES_IN_DISPATCH)
		die_soon();
	for (;;) {
		live_on();
		if (s->victim == DEAF) {
			if (!virtual_clock)
				pause();
		} else if (s->victim == SENDS) {
			victim_sends(s->bytes);
		} else if (s->victim == TAKES_PART) {
			struct op o = {0};

			s->start(me, &o, 0);
			while (!o.local) {
				PAMI_Context_advance(context, 1);
				live_on();
			}
		} else {
			PAMI_Context_advance(context, 100);
		}
	}
}

/* Survivors wait for each other, and see that everything still works between them. */
static void meet_survivors(int round)
{
	pami_send_immediate_t s = {.dispatch = ID_SYNC, .dest = get_endpoint(1 - me, 0)};
	struct op o = {0}, p = {0};

	CHECK_EQ(start_send(1 - me, &o, LONG), PAMI_SUCCESS);
	CHECK_EQ(start_put(1 - me, &p, 100), PAMI_SUCCESS);
	WAIT(has_ended(&o) && has_ended(&p));
	CHECK_EQ(o.local_result, PAMI_SUCCESS);
	CHECK_EQ(o.remote_result, PAMI_SUCCESS);
	CHECK_EQ(p.remote_result, PAMI_SUCCESS);
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	WAIT(syncs > round);
}

/* ---- Before anybody dies: addresses, regions, geometries ---- */

static void exchange_addresses(void)
{
	struct {
		void *at;
		pami_memregion_t mr;
	} mine, all[64];
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};
	size_t out;

	own = malloc(2 * LONG);
	memory = malloc(2 * LONG);
	memset(own, 1, 2 * LONG);
	memset(memory, 2, 2 * LONG);
	mine.at = memory;
	CHECK_EQ(PAMI_Memregion_create(context, memory, LONG, &out, &mine.mr), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_create(context, own, 2 * LONG, &out, &region), PAMI_SUCCESS);
	x.cmd.xfer_allgather = (pami_allgather_t){.sndbuf = (char *)&mine,
						  .stype = PAMI_TYPE_BYTE,
						  .stypecount = sizeof mine,
						  .rcvbuf = (char *)all,
						  .rtype = PAMI_TYPE_BYTE,
						  .rtypecount = sizeof mine};
	run_collective(&x);
	for (size_t i = 0; i < tasks; i++) {
		address[i] = all[i].at;
		memcpy(&regions[i], &all[i].mr, sizeof regions[i]);
	}
	CHECK_EQ(PAMI_Type_create(&gaps), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(gaps, 8, 0, 1, 16), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(gaps, 1), PAMI_SUCCESS);
}

static void make_geometry(pami_geometry_t *g, unsigned id, pami_geometry_range_t *range,
			  size_t ranges)
{
	int done = 0;

	CHECK_EQ(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, g, PAMI_GEOMETRY_NULL, id,
						range, ranges, context, flag_done, &done),
		 PAMI_SUCCESS);
	WAIT(done);
}

static void make_trios(void)
{
	for (size_t v = 2; v < tasks; v++) {
		pami_geometry_range_t range[2] = {{0, 1}, {(pami_task_t)v, (pami_task_t)v}};

		if (v - 2 < SCENARIOS && scenarios[v - 2].bytes)
			continue;
		if (me > 1 && me != v)
			continue;
		make_geometry(&trio[v], (unsigned)v, range, 2);
	}
}

static pami_result_t barrier_of(pami_geometry_t g)
{
	struct op o = {.remote = -1};
	pami_xfer_t x = {.cb_done = local_done, .cookie = &o};
	pami_result_t result;

	CHECK_EQ(PAMI_Geometry_algorithms_query(g, PAMI_XFER_BARRIER, &x.algorithm, NULL, 1, NULL,
						NULL, 0),
		 PAMI_SUCCESS);
	result = PAMI_Collective(context, &x);
	if (result != PAMI_SUCCESS)
		return result;
	WAIT(o.local);
	return o.local_result;
}

/*
 * "barriers": and allreduces, one after the other until one ends with an error or is refused. The
 * last task prints the process that started it, its host's agent.
 */
static int barriers_until_death(void)
{
	pami_result_t result = PAMI_SUCCESS;

	CHECK_EQ(PAMI_Geometry_world(client, &trio[0]), PAMI_SUCCESS);
	for (unsigned n = 0; result == PAMI_SUCCESS; n++) {
		struct op o = {0};

		result = (n % 2 ? start_allreduce : start_barrier)(0, &o, 0);
		if (result == PAMI_SUCCESS) {
			WAIT(o.local);
			result = o.local_result;
		}
		if (n == 10 && me == tasks - 1)
			printf("agent %d\n", (int)getppid());
	}
	CHECK_EQ(result, PAMI_SHUTDOWN);
	printf("survivor %zu: %s\n", me, check_failures ? "wrong" : "right");
	return job_end(2);
}

/*
 * "cut": four nodes in a ring, a host each; task 1 says who its agent is, and loses it. Then 0 and
 * 2 do not reach each other any more: the shorter ways between them lead over 1, or are equal, and
 * one of both then does.
 */
static int cut_by_lost_host(void)
{
	static pami_geometry_t ring, pair[2];
	pami_geometry_range_t three[] = {{0, 0}, {2, 3}};
	const size_t across = me == 0 ? 2 : 0;
	struct op o[2] = {{0}};

	exchange_addresses();
	if (me != 1)
		make_geometry(&ring, 1, three, 2);
	for (unsigned k = 0; k < 2; k++) { /* {0, 3}, {2, 3} */
		pami_geometry_range_t two[] = {{2 * k, 2 * k}, {3, 3}};

		if (me == 2 * k || me == 3)
			make_geometry(&pair[k], 2 + k, two, 2);
	}
	run_barrier();
	if (me == 1) {
		printf("agent %d\n", (int)getppid());
		for (;;)
			PAMI_Context_advance(context, 100);
	}
	survive_victim(&scenarios[RENDEZVOUS], 1);
	if (me != 3) {
		survive_victim(&scenarios[me ? GET : RENDEZVOUS], across);
		survive_victim(&scenarios[me ? RENDEZVOUS : PUT], across);
	} else {
		for (size_t v = 0; v <= 2; v += 2) { /* both are reached as before */
			o[0] = o[1] = (struct op){0};
			CHECK_EQ(start_send(v, &o[0], LONG), PAMI_SUCCESS);
			CHECK_EQ(start_get(v, &o[1], 100), PAMI_SUCCESS);
			WAIT(has_ended(&o[0]) && has_ended(&o[1]));
			CHECK_EQ(o[0].remote_result, PAMI_SUCCESS);
			CHECK_EQ(o[1].local_result, PAMI_SUCCESS);
		}
	}
	/* A task that reaches both others also knows that they cannot take part together. */
	CHECK(barrier_of(ring) != PAMI_SUCCESS);
	for (unsigned k = 0; k < 2; k++)
		if (me == 2 * k || me == 3)
			CHECK_EQ(barrier_of(pair[k]), PAMI_SUCCESS);
	gone_wrong = job_end(2);
	printf("survivor %zu: %s\n", me, gone_wrong ? "wrong" : "right");
	return gone_wrong;
}

int main(int argc, char **argv)
{
	static const struct rlimit none = {0, 0};
	pami_dispatch_hint_t hint = {0};

	setrlimit(RLIMIT_CORE, &none);
	setvbuf(stdout, NULL, _IOLBF, 0);
	job_begin(2);
	if (argc > 1 && !strcmp(argv[1], "barriers"))
		return barriers_until_death();
	virtual_clock = argc > 2 && !strcmp(argv[2], "virtual");
	chance = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 1000 + me;
	if (tasks < 3 || tasks > 2 + SCENARIOS) {
		fprintf(stderr, "3 to %zu tasks\n", 2 + SCENARIOS);
		return 1;
	}
	dispatch_set(context, ID_GO, on_go, NULL, hint);
	dispatch_set(context, ID_SYNC, on_sync, NULL, hint);
	dispatch_set(context, ID_SHORT, on_sink, NULL, hint);
	dispatch_set(context, ID_SINK,
		     me > 1 && scenarios[me - 2].victim == DIES_IN_DISPATCH ? die_in_dispatch
									    : on_sink,
		     NULL, hint);
	if (argc > 1 && !strcmp(argv[1], "cut"))
		return cut_by_lost_host();
	exchange_addresses();
	make_trios();
	run_barrier();
	if (me > 1)
		be_victim(&scenarios[me - 2]);
	for (size_t v = 2; v < tasks; v++) {
		const struct scenario *s = &scenarios[v - 2];
		pami_send_immediate_t start = {.dispatch = ID_GO, .dest = get_endpoint(v, 0)};
		int before = check_failures;

		meet_survivors((int)(v - 2));
		if (me == 0)
			CHECK_EQ(PAMI_Send_immediate(context, &start), PAMI_SUCCESS);
		if (s->start)
			survive_victim(s, v);
		else if (s->victim == SENDS)
			survive_sender(v);
		else
			survive_immediate(v);
		if (check_failures != before)
			fprintf(stderr, "task %zu: the above in \"%s\"\n", me, s->name);
	}
	meet_survivors((int)(tasks - 2));
	if (job_end(2))
		gone_wrong = 1;
	printf("survivor %zu: %s\n", me, gone_wrong ? "wrong" : "right");
	return gone_wrong;
}
