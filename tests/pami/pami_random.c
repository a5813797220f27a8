/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations against a model, by several threads with a context each, many under way at a
 * time. Each (task, thread) owns places in every task's memory, so it knows what they hold. QT_SEED
 * repeats a run's choices; QT_LONG=1: a hundred times as many, 2: two hundred times, ... QT_COMM=1:
 * commthreads advance the contexts, beside the threads, which take the lock for what they do.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/harness/pami_job.h"

#define CONTEXTS 3
#define PLACES   24
#define PLACE    8192 /* bytes; the first 8 are for atomics */

/* The thread sanitizer does not see that what one thread of the target did is known, by way of us,
 * to another. */
#ifdef __SANITIZE_THREAD__
#define SAME_CONTEXT 1
#else
#define SAME_CONTEXT 0
#endif

enum { ID_DATA = 1, ID_REPLY, ID_END };

struct place {
	struct thread *thread;
	size_t task;    /* of the operation under way */
	int busy;       /* completions still to come */
	int get, typed; /* what to compare at the end */
	size_t at, bytes;
	uint64_t old, expected; /* atomics */
	int atomic;
	unsigned char here[PLACE]; /* source or landing */
	unsigned char payload[24000];
	uint64_t value, test;
};

struct thread {
	pthread_t thread;
	size_t offset;
	pami_context_t ctx;
	struct drv_rng rng;
	struct place place[PLACES];
	unsigned char *model; /* [tasks][PLACES][PLACE] */
	size_t ended;         /* endpoints that have told us their end */
	uint64_t bad;
	pami_memregion_t mine; /* the places' memory */
	pami_type_t gaps;
};

static struct thread *threads;
static size_t count = CONTEXTS;
static long rounds = 700;
static uint64_t seed = 5;
static unsigned char *memory, **memory_of; /* [tasks][CONTEXTS][PLACES][PLACE] of each task */
static pami_memregion_t *region_of;
static int comm;
static pami_result_t (*async_enable)(pami_context_t, int), (*async_disable)(pami_context_t, int);

static unsigned char *model_at(struct thread *t, size_t task, const struct place *p)
{
	return t->model + (task * PLACES + (size_t)(p - t->place)) * PLACE;
}

/* Where our place lies in a task's memory, from its start. */
static size_t place_at(const struct thread *t, const struct place *p)
{
	return ((me * CONTEXTS + t->offset) * PLACES + (size_t)(p - t->place)) * PLACE;
}

/* n bytes in a row here, in the model eight at a time with gaps of sixteen. */
static size_t piece_bytes(size_t i, size_t n)
{
	return n - i < 8 ? n - i : 8;
}

static int gaps_differ(const unsigned char *row, const unsigned char *m, size_t n)
{
	int bad = 0;

	for (size_t i = 0; i < n; i += 8)
		bad |= memcmp(row + i, m + 3 * i, piece_bytes(i, n));
	return bad != 0;
}

static void gaps_set(unsigned char *m, const unsigned char *row, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		memcpy(m + 3 * i, row + i, piece_bytes(i, n));
}

static void one_less(struct place *p)
{
	struct thread *t = p->thread;

	if (--p->busy)
		return;
	if (p->get && p->typed) {
		t->bad += (uint64_t)gaps_differ(p->here + p->at, model_at(t, p->task, p) + p->at,
						p->bytes);
	} else if (p->get) {
		t->bad += memcmp(p->here + p->at, model_at(t, p->task, p) + p->at, p->bytes) != 0;
	}
	if (p->atomic)
		t->bad += p->old != p->expected;
}

static void end_place(pami_context_t ctx, void *cookie, pami_result_t result)
{
	struct place *p = cookie;

	p->thread->bad += result != PAMI_SUCCESS;
	one_less(p);
}

/* ---- Messages: checked there, and answered. ---- */

struct head {
	uint64_t seed;
	uint32_t bytes;
	uint32_t place;
};

struct landing {
	struct head head;
	pami_endpoint_t origin;
	unsigned char data[];
};

static void send_reply(struct thread *t, pami_endpoint_t origin, const struct head *h,
		       const void *data)
{
	pami_send_immediate_t s = {
	    .header = {(void *)(uintptr_t)h, sizeof *h}, .dispatch = ID_REPLY, .dest = origin};

	t->bad += count_different(data, h->seed, h->bytes) != 0;
	t->bad += PAMI_Send_immediate(t->ctx, &s) != PAMI_SUCCESS;
}

static void note_landed(pami_context_t ctx, void *cookie, pami_result_t result)
{
	struct landing *l = cookie;
	struct thread *t = NULL;

	for (size_t i = 0; i < count; i++)
		if (threads[i].ctx == ctx)
			t = &threads[i];
	send_reply(t, l->origin, &l->head, l->data);
	free(l);
}

static void on_data(pami_context_t ctx, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct thread *t = cookie;
	struct landing *l;
	struct head h;

	memcpy(&h, header, sizeof h);
	t->bad += h.bytes != n;
	if (!recv) {
		send_reply(t, origin, &h, pipe);
		return;
	}
	l = malloc(sizeof *l + n);
	l->head = h;
	l->origin = origin;
	recv->addr = l->data;
	recv->cookie = l;
	recv->local_fn = note_landed;
}

static void on_reply(pami_context_t ctx, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct head h;

	memcpy(&h, header, sizeof h);
	one_less(&((struct thread *)cookie)->place[h.place]);
}

static void on_end(pami_context_t ctx, void *cookie, const void *header, size_t header_size,
		   const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	((struct thread *)cookie)->ended++;
}

/* ---- One random operation on a place that is free. ---- */

static void start_send(struct thread *t, struct place *p, pami_endpoint_t to)
{
	static const size_t most[] = {100, 490, 9000, 24000};
	struct head h = {.seed = drv_rng_below(&t->rng, 1 << 20),
			 .place = (uint32_t)(p - t->place)};
	pami_send_t s = {.send = {.header = {p->here, sizeof h}, .dispatch = ID_DATA, .dest = to},
			 .events = {p, end_place, end_place}};

	h.bytes = (uint32_t)drv_rng_below(&t->rng, most[drv_rng_below(&t->rng, 4)]);
	memcpy(p->here, &h, sizeof h); /* the header stays where it is until the end */
	fill_pattern(p->payload, h.seed, h.bytes);
	s.send.data = (struct iovec){p->payload, h.bytes};
	if (h.bytes < 480 && drv_rng_below(&t->rng, 2)) {
		p->busy = 1;
		t->bad += PAMI_Send_immediate(t->ctx, &s.send) != PAMI_SUCCESS;
	} else {
		p->busy = 3;
		t->bad += PAMI_Send(t->ctx, &s) != PAMI_SUCCESS;
	}
}

static void start_rmw(struct thread *t, struct place *p, pami_endpoint_t to)
{
	static const pami_atomic_t ops[] = {PAMI_ATOMIC_FETCH,
					    PAMI_ATOMIC_FETCH_ADD,
					    PAMI_ATOMIC_FETCH_SET,
					    PAMI_ATOMIC_FETCH_XOR,
					    PAMI_ATOMIC_FETCH_COMPARE_SET,
					    PAMI_ATOMIC_FETCH_AND,
					    PAMI_ATOMIC_FETCH_COMPARE_ADD,
					    PAMI_ATOMIC_FETCH_OR};
	pami_atomic_t op = ops[drv_rng_below(&t->rng, 8)];
	uint64_t now;
	pami_rmw_t r = {.dest = to,
			.cookie = p,
			.done_fn = end_place,
			.local = &p->old,
			.remote = memory_of[p->task] + place_at(t, p),
			.value = &p->value,
			.test = &p->test,
			.operation = op,
			.type = PAMI_TYPE_UNSIGNED_LONG};

	memcpy(&now, model_at(t, p->task, p), 8);
	p->value = drv_rng_next(&t->rng);
	p->test = drv_rng_below(&t->rng, 2) ? now : p->value;
	p->expected = now;
	p->atomic = 1;
	if (!(op & PAMI_ATOMIC_COMPARE) || now == p->test)
		switch (op & 0x1c) {
		case PAMI_ATOMIC_ADD:
			now += p->value;
			break;
		case PAMI_ATOMIC_SET:
			now = p->value;
			break;
		case PAMI_ATOMIC_XOR:
			now ^= p->value;
			break;
		case PAMI_ATOMIC_AND:
			now &= p->value;
			break;
		case PAMI_ATOMIC_OR:
			now |= p->value;
			break;
		}
	memcpy(model_at(t, p->task, p), &now, 8);
	p->busy = 1;
	t->bad += PAMI_Rmw(t->ctx, &r) != PAMI_SUCCESS;
}

static void start_rma(struct thread *t, struct place *p, pami_endpoint_t to, unsigned kind)
{
	unsigned char *there = memory_of[p->task] + place_at(t, p), *m = model_at(t, p->task, p);
	pami_rma_typed_t types = {PAMI_TYPE_BYTE, t->gaps};
	pami_rma_t rma = {.dest = to, .cookie = p, .done_fn = end_place};
	pami_rdma_t rdma = {{&t->mine, 0}, {&region_of[p->task], 0}};
	size_t most = kind & 4 ? PLACE / 3 : PLACE;
	pami_result_t result;

	p->at = 8 + drv_rng_below(&t->rng, most - 8);
	p->bytes = 1 + drv_rng_below(&t->rng, most - p->at);
	p->get = kind & 1;
	p->typed = (kind & 4) != 0;
	rma.bytes = p->bytes;
	rdma.local.offset = (size_t)(p->here + p->at - (unsigned char *)t->place);
	rdma.remote.offset = place_at(t, p) + p->at;
	if (p->get) {
		pami_rma_addr_t addr = {p->here + p->at, there + p->at};

		p->busy = 1;
		memset(p->here + p->at, 0xcc, p->bytes);
		if (p->typed)
			result =
			    kind & 2
				? PAMI_Rget_typed(t->ctx, &(pami_rget_typed_t){rma, rdma, types})
				: PAMI_Get_typed(t->ctx, &(pami_get_typed_t){rma, addr, types});
		else
			result = kind & 2 ? PAMI_Rget(t->ctx, &(pami_rget_simple_t){rma, rdma})
					  : PAMI_Get(t->ctx, &(pami_get_simple_t){rma, addr});
	} else {
		pami_rma_addr_t addr = {p->here + p->at, there + p->at};

		p->busy = 2;
		fill_pattern(p->here + p->at, drv_rng_next(&t->rng), p->bytes);
		if (p->typed)
			gaps_set(m + p->at, p->here + p->at, p->bytes);
		else
			memcpy(m + p->at, p->here + p->at, p->bytes);
		if (p->typed)
			result =
			    kind & 2
				? PAMI_Rput_typed(
				      t->ctx, &(pami_rput_typed_t){rma, rdma, types, {end_place}})
				: PAMI_Put_typed(
				      t->ctx, &(pami_put_typed_t){rma, addr, types, {end_place}});
		else
			result =
			    kind & 2
				? PAMI_Rput(t->ctx, &(pami_rput_simple_t){rma, rdma, {end_place}})
				: PAMI_Put(t->ctx, &(pami_put_simple_t){rma, addr, {end_place}});
	}
	t->bad += result != PAMI_SUCCESS;
}

static void start_operation(struct thread *t, struct place *p)
{
	unsigned kind = (unsigned)drv_rng_below(&t->rng, 12);
	pami_endpoint_t to;

	p->task = drv_rng_below(&t->rng, tasks);
	p->get = p->typed = p->atomic = 0;
	to = get_endpoint(p->task, SAME_CONTEXT ? t->offset : drv_rng_below(&t->rng, count));
	if (kind < 8)
		start_rma(t, p, to, kind);
	else if (kind < 10)
		start_rmw(t, p, to);
	else
		start_send(t, p, to);
}

/* Called with the lock, where commthreads share the context with us; they advance it, and now and
 * then we do. */
static void let_it_go_on(struct thread *t)
{
	if (!comm || !drv_rng_below(&t->rng, 4))
		PAMI_Context_advance(t->ctx, 1);
	if (comm) {
		PAMI_Context_unlock(t->ctx);
		if (!drv_rng_below(&t->rng, 4))
			sched_yield();
		PAMI_Context_lock(t->ctx);
	}
}

static void work_locked(struct thread *t)
{
	for (long n = 0; n < rounds;) {
		struct place *p = &t->place[drv_rng_below(&t->rng, PLACES)];

		if (!p->busy) {
			start_operation(t, p);
			n++;
		}
		let_it_go_on(t);
	}
	for (size_t i = 0; i < PLACES; i++)
		while (t->place[i].busy)
			let_it_go_on(t);
	for (size_t i = 0; i < tasks * count; i++) {
		pami_send_immediate_t s = {.dispatch = ID_END,
					   .dest = get_endpoint(i / count, i % count)};

		t->bad += PAMI_Send_immediate(t->ctx, &s) != PAMI_SUCCESS;
	}
	while (t->ended < tasks * count)
		let_it_go_on(t);
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;
	int enabled = comm && async_enable(t->ctx, 0) == PAMI_SUCCESS;

	if (comm)
		PAMI_Context_lock(t->ctx);
	t->bad += comm != enabled;
	work_locked(t);
	if (comm) {
		PAMI_Context_unlock(t->ctx);
		t->bad += async_disable(t->ctx, 0) != PAMI_SUCCESS;
	}
	return NULL;
}

static void commthreads_begin(void)
{
	pami_extension_t e;

	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
	*(void **)&async_enable = PAMI_Extension_symbol(e, "enable");
	*(void **)&async_disable = PAMI_Extension_symbol(e, "disable");
	comm = async_enable && async_disable;
	CHECK(comm);
	CHECK_EQ(PAMI_Extension_close(e), PAMI_SUCCESS);
}

static void exchange_cards(void)
{
	struct card {
		unsigned char *at;
		pami_memregion_t mr;
	} mine, *all = calloc(tasks, sizeof *all);
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};
	size_t bytes = tasks * CONTEXTS * PLACES * PLACE, out;

	memory = calloc(1, bytes);
	memory_of = calloc(tasks, sizeof *memory_of);
	region_of = calloc(tasks, sizeof *region_of);
	mine.at = memory;
	CHECK_EQ(PAMI_Memregion_create(context, memory, bytes, &out, &mine.mr), PAMI_SUCCESS);
	x.cmd.xfer_allgather = (pami_allgather_t){(char *)&mine, PAMI_TYPE_BYTE, sizeof mine,
						  (char *)all,   PAMI_TYPE_BYTE, sizeof mine};
	run_collective(&x);
	for (size_t i = 0; i < tasks; i++) {
		memory_of[i] = all[i].at;
		memcpy(region_of[i], all[i].mr, sizeof region_of[i]);
	}
	free(all);
}

static void thread_make(struct thread *t, size_t offset)
{
	size_t out;

	t->offset = offset;
	t->ctx = contexts[offset];
	t->model = calloc(tasks * PLACES, PLACE);
	drv_rng_seed(&t->rng, (seed * 1000 + me) * 10 + offset);
	for (size_t i = 0; i < PLACES; i++)
		t->place[i].thread = t;
	CHECK_EQ(PAMI_Memregion_create(t->ctx, t->place, sizeof t->place, &out, &t->mine),
		 PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_create(&t->gaps), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(t->gaps, 8, 0, 1, 24), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(t->gaps, 1), PAMI_SUCCESS);
	dispatch_set(t->ctx, ID_DATA, on_data, t, (pami_dispatch_hint_t){0});
	dispatch_set(t->ctx, ID_REPLY, on_reply, t, (pami_dispatch_hint_t){0});
	dispatch_set(t->ctx, ID_END, on_end, t, (pami_dispatch_hint_t){0});
}

int main(int argc, char **argv)
{
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");

	if (is_virtual)
		rounds = 200;
	if (getenv("QT_SEED"))
		seed = strtoull(getenv("QT_SEED"), NULL, 0);
	if (SAME_CONTEXT)
		rounds /= 4;
	if (job_long() > 0)
		rounds *= 100 * job_long();
	else if (!is_virtual)
		rounds *= job_is_sanitized() ? 5 : 20;
	job_begin(count);
	threads = calloc(count, sizeof *threads);
	for (size_t i = 0; i < count; i++)
		thread_make(&threads[i], i);
	exchange_cards();
	if (getenv("QT_COMM"))
		commthreads_begin();
	run_barrier();
	for (size_t i = 1; i < count; i++)
		CHECK_EQ(pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]), 0);
	run_thread(&threads[0]);
	for (size_t i = 1; i < count; i++)
		pthread_join(threads[i].thread, NULL);
	run_barrier();
	/* What every place holds in the end. */
	for (size_t i = 0; i < count; i++) {
		struct thread *t = &threads[i];

		for (size_t k = 0; k < PLACES; k++) {
			int got = 0;
			pami_get_simple_t g = {
			    {.bytes = PLACE, .cookie = &got, .done_fn = flag_done},
			    {t->place[k].here,
			     memory_of[(me + 1) % tasks] + place_at(t, &t->place[k])}};

			g.rma.dest = get_endpoint((me + 1) % tasks, 0);
			CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
			WAIT(got);
			CHECK(!memcmp(t->place[k].here, model_at(t, (me + 1) % tasks, &t->place[k]),
				      PLACE));
		}
		CHECK_EQ(t->bad, 0);
		CHECK_EQ(PAMI_Type_destroy(&t->gaps), PAMI_SUCCESS);
		free(t->model);
	}
	run_barrier();
	if (job_long() && !me)
		printf("%ld operations, %zu under way\n", rounds * (long)(count * tasks),
		       PLACES * count * tasks);
	if (check_failures)
		fprintf(stderr, "task %zu: QT_SEED=%llu repeats the choices\n", me,
			(unsigned long long)seed);
	free(threads);
	free(memory);
	free(memory_of);
	free(region_of);
	return job_end(count);
}
