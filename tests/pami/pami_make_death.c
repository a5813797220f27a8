/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A member that dies while a geometry is made, changed or ended (torus run --on-death error). Tasks
 * 0, 1 and 2 survive; each of the others is once the fourth member of a geometry of each kind: it
 * dies before it takes part, at some moment of it, or when it has. Every callback must come, once,
 * with success or PAMI_SHUTDOWN; a geometry that could not be made refuses all but its end; what is
 * tried again ends at once; and the survivors make geometries afterwards.
 */
#include <signal.h>
#include <sys/resource.h>

#include "tests/harness/pami_job.h"

enum { SURVIVORS = 3, AGAIN = 20 };
enum { RANGES, LIST, ENDPOINTS, ALL_CONTEXTS, KINDS };
enum { MAKES, UPDATES, ENDS, STAGES };

static uint64_t chance;
static pami_geometry_t trio;

static unsigned draw_below(unsigned n)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(chance >> 33) % n;
}

struct told {
	int called;
	pami_result_t result;
};

static void on_told(pami_context_t c, void *cookie, pami_result_t result)
{
	struct told *t = cookie;

	CHECK(c == contexts[1] || c == contexts[0]);
	t->called++;
	t->result = result;
}

static void advance_contexts(void)
{
	PAMI_Context_advancev(contexts, 2, 100);
}

/* What a call started: its callback, once. */
static pami_result_t await_outcome(struct told *t, pami_result_t started)
{
	CHECK_EQ(started, PAMI_SUCCESS);
	if (started != PAMI_SUCCESS)
		return started;
	while (!t->called)
		advance_contexts();
	PAMI_Context_advancev(contexts, 2, 2); /* not twice */
	CHECK_EQ(t->called, 1);
	CHECK(t->result == PAMI_SUCCESS || t->result == PAMI_SHUTDOWN);
	return t->result;
}

/* What all members draw alike for a victim. */
struct plan {
	unsigned kind, stage, polls, elsewhere;
	int takes_part, optimize;
};

static struct plan plan_for(size_t victim, uint64_t seed)
{
	struct plan p;

	chance = seed * 1000 + victim;
	draw_below(1);
	p.kind = (unsigned)(victim + seed) % KINDS;
	p.stage = draw_below(STAGES);
	p.takes_part = draw_below(3) != 0;
	p.polls = draw_below(60);
	p.optimize = draw_below(3) != 0;
	p.elsewhere = draw_below(2); /* the context that is told */
	return p;
}

static pami_result_t make_geometry(pami_geometry_t *g, const struct plan *p, unsigned id,
				   size_t fourth, struct told *t)
{
	pami_configuration_t conf = {.name = PAMI_GEOMETRY_OPTIMIZE};
	pami_context_t c = contexts[p->elsewhere];
	pami_geometry_range_t range[2] = {{0, SURVIVORS - 1},
					  {(pami_task_t)fourth, (pami_task_t)fourth}};
	pami_task_t list[SURVIVORS + 1] = {2, (pami_task_t)fourth, 0, 1};
	pami_endpoint_t ends[2 * SURVIVORS + 1];

	*t = (struct told){0};
	conf.value.intval = (size_t)p->optimize;
	for (size_t i = 0; i < SURVIVORS; i++) {
		ends[2 * i] = get_endpoint(i, 1);
		ends[2 * i + 1] = get_endpoint(i, 0);
	}
	ends[2 * SURVIVORS] = get_endpoint(fourth, 1);
	switch (p->kind) {
	case RANGES:
		return PAMI_Geometry_create_taskrange(client, 0, &conf, 1, g, PAMI_GEOMETRY_NULL,
						      id, range, 2, c, on_told, t);
	case ALL_CONTEXTS:
		return PAMI_Geometry_create_taskrange(client, PAMI_ALL_CONTEXTS, &conf, 1, g,
						      PAMI_GEOMETRY_NULL, id, range, 2, c, on_told,
						      t);
	case LIST:
		return PAMI_Geometry_create_tasklist(client, 1, &conf, 1, g, PAMI_GEOMETRY_NULL, id,
						     list, SURVIVORS + 1, c, on_told, t);
	default:
		return PAMI_Geometry_create_endpointlist(client, &conf, 1, g, id, ends,
							 2 * SURVIVORS + 1, c, on_told, t);
	}
}

/* On the context that is a member of what make_geometry() made. */
static pami_result_t update_geometry(pami_geometry_t g, const struct plan *p, struct told *t)
{
	pami_configuration_t conf = {.name = PAMI_GEOMETRY_OPTIMIZE};

	*t = (struct told){0};
	conf.value.intval = (size_t)!p->optimize;
	return PAMI_Geometry_update(g, &conf, 1, contexts[p->kind == LIST], on_told, t);
}

static pami_result_t destroy_geometry(pami_geometry_t *g, const struct plan *p, struct told *t)
{
	pami_result_t result;

	*t = (struct told){0};
	result = PAMI_Geometry_destroy(client, g, contexts[!p->elsewhere], on_told, t);
	CHECK(*g == PAMI_GEOMETRY_NULL);
	return result;
}

static void be_victim(const struct plan *p)
{
	pami_geometry_t g = PAMI_GEOMETRY_NULL;
	struct told t;

	if (p->stage != MAKES || p->takes_part)
		make_geometry(&g, p, (unsigned)me, me, &t);
	if (p->stage != MAKES) {
		while (!t.called)
			advance_contexts();
		CHECK_EQ(t.result, PAMI_SUCCESS);
		if (p->takes_part && p->stage == UPDATES)
			update_geometry(g, p, &t);
		else if (p->takes_part)
			destroy_geometry(&g, p, &t);
	}
	for (unsigned i = 0; i < p->polls; i++)
		PAMI_Context_advance(contexts[i & 1], 1);
	raise(SIGKILL);
}

static pami_result_t run_together(pami_geometry_t g, pami_xfer_type_t type)
{
	pami_xfer_t x = {.cb_done = on_told};
	struct told t = {0};
	double a[3] = {1, 2, 3}, b[3];
	pami_result_t result;

	x.cookie = &t;
	if (type == PAMI_XFER_ALLREDUCE)
		x.cmd.xfer_allreduce = (pami_allreduce_t){
		    (char *)a, PAMI_TYPE_DOUBLE, 3,    (char *)b, PAMI_TYPE_DOUBLE,
		    3,         PAMI_DATA_SUM,    NULL, 1};
	CHECK_EQ(PAMI_Geometry_algorithms_query(g, type, &x.algorithm, NULL, 1, NULL, NULL, 0),
		 PAMI_SUCCESS);
	result = PAMI_Collective(contexts[0], &x);
	return result == PAMI_SUCCESS ? await_outcome(&t, result) : result;
}

/* It could not be made. */
static void check_refused(pami_geometry_t g, const struct plan *p)
{
	pami_xfer_t x = {.cb_done = on_told};
	struct told t = {0};

	CHECK(g != PAMI_GEOMETRY_NULL);
	CHECK_EQ(update_geometry(g, p, &t), PAMI_INVAL);
	CHECK_EQ(PAMI_Geometry_algorithms_query(g, PAMI_XFER_BARRIER, &x.algorithm, NULL, 1, NULL,
						NULL, 0),
		 PAMI_SUCCESS);
	CHECK_EQ(PAMI_Collective(contexts[p->kind == LIST], &x), PAMI_INVAL);
	PAMI_Context_advancev(contexts, 2, 2);
	CHECK_EQ(t.called, 0);
}

/* The same id once more. */
static void without_the_dead(unsigned id, int optimize)
{
	pami_configuration_t conf = {.name = PAMI_GEOMETRY_OPTIMIZE};
	pami_geometry_range_t range = {0, SURVIVORS - 1};
	pami_geometry_t g = PAMI_GEOMETRY_NULL;
	struct told t = {0};

	conf.value.intval = (size_t)optimize;
	CHECK_EQ(await_outcome(&t, PAMI_Geometry_create_taskrange(client, 0, &conf, 1, &g,
								  PAMI_GEOMETRY_NULL, id, &range, 1,
								  context, on_told, &t)),
		 PAMI_SUCCESS);
	CHECK_EQ(run_together(g, PAMI_XFER_ALLREDUCE), PAMI_SUCCESS);
	t = (struct told){0};
	CHECK_EQ(await_outcome(&t, PAMI_Geometry_destroy(client, &g, context, on_told, &t)),
		 PAMI_SUCCESS);
}

static void survive_victim(size_t victim, const struct plan *p)
{
	pami_geometry_t g = PAMI_GEOMETRY_NULL;
	pami_result_t result;
	struct told t;

	/* The victim may die before or after each of these: each ends, with either result. */
	result = await_outcome(&t, make_geometry(&g, p, (unsigned)victim, victim, &t));
	if (result != PAMI_SUCCESS)
		check_refused(g, p);
	else if (p->stage == UPDATES)
		await_outcome(&t, update_geometry(g, p, &t));
	await_outcome(&t, destroy_geometry(&g, p, &t));
	/* Until the death is known here: each task that makes the same again must fail. */
	for (int known = 0; known < AGAIN && !check_failures;) {
		result = await_outcome(&t, make_geometry(&g, p, (unsigned)victim, victim, &t));
		known += result != PAMI_SUCCESS;
		CHECK_EQ(result, PAMI_SHUTDOWN);
		check_refused(g, p);
		CHECK_EQ(await_outcome(&t, destroy_geometry(&g, p, &t)), PAMI_SUCCESS);
	}
	CHECK_EQ(run_together(trio, PAMI_XFER_ALLREDUCE), PAMI_SUCCESS);
	without_the_dead((unsigned)victim, p->optimize);
}

int main(int argc, char **argv)
{
	static const struct rlimit none = {0, 0};
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	pami_geometry_range_t range = {0, SURVIVORS - 1};
	int done = 0;

	setrlimit(RLIMIT_CORE, &none);
	setvbuf(stdout, NULL, _IOLBF, 0);
	job_begin(2);
	if (me < SURVIVORS) {
		CHECK_EQ(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &trio,
							PAMI_GEOMETRY_NULL, 1, &range, 1, context,
							flag_done, &done),
			 PAMI_SUCCESS);
		WAIT(done);
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
				"task %zu: the above with victim %zu: kind %u, stage %u, %s, %u "
				"polls, optimize %d\n",
				me, v, p.kind, p.stage, p.takes_part ? "takes part" : "does not",
				p.polls, p.optimize);
	}
	if (job_end(2))
		check_failures++;
	printf("survivor %zu: %s\n", me, check_failures ? "wrong" : "right");
	return check_failures != 0;
}
