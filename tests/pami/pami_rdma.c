/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided operations against a model: put, get and their region forms of random places and sizes
 * to every task, self included; read-modify-writes; fences; regions as values. Rules R4, R6 to R8
 * of docs/references.md.
 */
#include <sys/mman.h>

#include "pami/ext_memory.h"
#include "pami/ext_pieces.h"
#include "pami/ext_wait.h"
#include "tests/harness/pami_job.h"

#define WINDOW 240000 /* bytes of each task that belong to one other task */

static unsigned char *window;       /* [tasks][WINDOW]; slice t is written by task t only */
static unsigned char *model;        /* what my slices of the others hold: [tasks][WINDOW] */
static unsigned char **base_of;     /* [tasks] their window */
static pami_memregion_t *region_of; /* [tasks] */
static pami_memregion_t own_region; /* of a private buffer */
static unsigned char scratch[WINDOW];
static unsigned in_call;

struct state {
	int local, remote;
};

static void local_fn(pami_context_t c, void *cookie, pami_result_t result)
{
	struct state *s = cookie;

	CHECK(c == context);
	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(in_call, 0);
	CHECK_EQ(s->remote, 0);
	s->local++;
}

static void remote_fn(pami_context_t c, void *cookie, pami_result_t result)
{
	struct state *s = cookie;

	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(in_call, 0);
	CHECK_EQ(s->local, 1);
	s->remote++;
}

/* Everybody's addresses and regions, by messages. */
struct card {
	uint32_t task;
	unsigned char *base;
	pami_memregion_t region;
};
static unsigned cards;

static void on_card(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct card card;

	memcpy(&card, header, sizeof card);
	base_of[card.task] = card.base;
	memcpy(region_of[card.task], card.region, sizeof card.region);
	cards++;
}

static void exchange_cards(void)
{
	struct card card = {(uint32_t)me, window, {0}};
	size_t bytes = 0;

	CHECK_EQ(PAMI_Memregion_create(context, window, tasks * WINDOW, &bytes, &card.region),
		 PAMI_SUCCESS);
	CHECK_EQ(bytes, tasks * WINDOW);
	CHECK_EQ(PAMI_Memregion_create(context, scratch, sizeof scratch, &bytes, &own_region),
		 PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_create(context, NULL, 0, &bytes, &region_of[0]), PAMI_SUCCESS);
	CHECK_EQ(bytes, 0);
	for (size_t t = 0; t < tasks; t++) {
		pami_send_immediate_t s = {
		    .header = {&card, sizeof card}, .dispatch = 1, .dest = get_endpoint(t, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	WAIT(cards == tasks);
}

static void put_bytes(size_t t, size_t at, size_t from, size_t bytes, int region,
		      struct state *state)
{
	pami_rma_t rma = {
	    .dest = get_endpoint(t, 0), .bytes = bytes, .cookie = state, .done_fn = local_fn};

	memset(&rma.hints, (int)at, sizeof rma.hints);
	in_call = 1;
	if (region) {
		pami_memregion_t copy; /* read in the call only */
		pami_rput_simple_t p = {.rma = rma,
					.rdma = {{&own_region, from}, {&copy, me * WINDOW + at}},
					.put = {remote_fn}};

		memcpy(copy, region_of[t], sizeof copy);
		CHECK_EQ(PAMI_Rput(context, &p), PAMI_SUCCESS);
		memset(copy, 0, sizeof copy);
	} else {
		pami_put_simple_t p = {.rma = rma,
				       .addr = {scratch + from, base_of[t] + me * WINDOW + at},
				       .put = {remote_fn}};

		CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	}
	in_call = 0;
	memcpy(model + t * WINDOW + at, scratch + from, bytes);
}

static void get_bytes(size_t t, size_t at, size_t to, size_t bytes, int region, struct state *state)
{
	pami_rma_t rma = {
	    .dest = get_endpoint(t, 0), .bytes = bytes, .cookie = state, .done_fn = local_fn};

	in_call = 1;
	if (region) {
		pami_rget_simple_t g = {
		    .rma = rma, .rdma = {{&own_region, to}, {&region_of[t], me * WINDOW + at}}};

		CHECK_EQ(PAMI_Rget(context, &g), PAMI_SUCCESS);
	} else {
		pami_get_simple_t g = {.rma = rma,
				       .addr = {scratch + to, base_of[t] + me * WINDOW + at}};

		CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
	}
	in_call = 0;
}

static void random_operations(struct drv_rng *rng)
{
	for (int i = 0; i < 1500; i++) {
		size_t t = drv_rng_below(rng, tasks);
		/* The long ones are done by both tasks together where they can (mu/engine/share.c).
		 */
		size_t most = i % 10 ? 2000 : i % 50 ? 60000 : 220000;
		size_t bytes = drv_rng_below(rng, most), at = drv_rng_below(rng, WINDOW - bytes);
		size_t here = drv_rng_below(rng, WINDOW - bytes);
		int region = (int)drv_rng_below(rng, 2);
		struct state state = {0, 0};

		if (drv_rng_below(rng, 2)) {
			fill_pattern(scratch + here, (size_t)i, bytes);
			put_bytes(t, at, here, bytes, region, &state);
			CHECK_EQ(state.local, 0);
			WAIT(state.remote);
		} else {
			memset(scratch + here, 0x55, bytes);
			get_bytes(t, at, here, bytes, region, &state);
			CHECK_EQ(state.local, 0);
			WAIT(state.local);
			CHECK(!memcmp(scratch + here, model + t * WINDOW + at, bytes));
		}
		CHECK_EQ(state.local, 1);
	}
}

/* Every size around a packet, many at once, remote completion awaited for all. */
static void many_at_once(void)
{
	static struct state state[1100];
	size_t t = (me + 1) % tasks;

	fill_pattern(scratch, me, WINDOW);
	memset(state, 0, sizeof state);
	for (size_t n = 0; n <= 1040; n++)
		put_bytes(t, n * 3 % 1000 * 60, n, n < 60 ? n : 60, n & 1, &state[n]);
	for (size_t n = 0; n <= 1040; n++)
		WAIT(state[n].remote);
	for (size_t n = 0; n <= 1040; n += 13) {
		struct state one = {0, 0};

		put_bytes(t, n, 7, n, 0, &one);
		WAIT(one.remote);
	}
	get_bytes(t, 0, 0, WINDOW, 1, &state[0]);
	state[0] = (struct state){0, 0};
	WAIT(state[0].local);
	CHECK(!memcmp(scratch, model + t * WINDOW, WINDOW));
}

/* ---- Between layouts: `pieces` runs of `run` bytes, `stride` apart, at both ends. ---- */

static pami_type_t make_strided(size_t run, size_t pieces, size_t stride)
{
	pami_type_t t;

	CHECK_EQ(PAMI_Type_create(&t), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(t, run, 0, pieces, stride), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(t, 1), PAMI_SUCCESS);
	return t;
}

static void typed_operations(struct drv_rng *rng)
{
	for (int i = 0; i < 300; i++) {
		size_t t = drv_rng_below(rng, tasks),
		       bytes = 1 + drv_rng_below(rng, i % 10 ? 700 : 20000);
		size_t run[2], stride[2], at = drv_rng_below(rng, 100);
		int region = (int)drv_rng_below(rng, 2), is_put = (int)drv_rng_below(rng, 2);
		struct state state = {0, 0};
		pami_rma_typed_t types;
		pami_rma_t rma = {.dest = get_endpoint(t, 0),
				  .bytes = bytes,
				  .cookie = &state,
				  .done_fn = local_fn};
		unsigned char *there = base_of[t] + me * WINDOW + at,
			      *copy = model + t * WINDOW + at;

		for (int k = 0; k < 2; k++) {
			run[k] = 1 + drv_rng_below(rng, 40);
			stride[k] = run[k] + drv_rng_below(rng, run[k] * 2 + 1);
		}
		types.local = make_strided(run[0], 1 + drv_rng_below(rng, 5), stride[0]);
		types.remote = make_strided(run[1], 1 + drv_rng_below(rng, 5), stride[1]);
		if (is_put)
			fill_pattern(scratch, (size_t)i, WINDOW);
		else
			memset(scratch, 0x77, WINDOW);
		in_call = 1;
		if (region && is_put)
			CHECK_EQ(PAMI_Rput_typed(context, &(pami_rput_typed_t){rma,
									       {{&own_region, 0},
										{&region_of[t],
										 me * WINDOW + at}},
									       types,
									       {remote_fn}}),
				 PAMI_SUCCESS);
		else if (region)
			CHECK_EQ(PAMI_Rget_typed(context, &(pami_rget_typed_t){rma,
									       {{&own_region, 0},
										{&region_of[t],
										 me * WINDOW + at}},
									       types}),
				 PAMI_SUCCESS);
		else if (is_put)
			CHECK_EQ(PAMI_Put_typed(context,
						&(pami_put_typed_t){
						    rma, {scratch, there}, types, {remote_fn}}),
				 PAMI_SUCCESS);
		else
			CHECK_EQ(PAMI_Get_typed(context,
						&(pami_get_typed_t){rma, {scratch, there}, types}),
				 PAMI_SUCCESS);
		in_call = 0;
		/* The library keeps the type while it is needed. */
		CHECK_EQ(PAMI_Type_destroy(&types.local), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Type_destroy(&types.remote), PAMI_SUCCESS);
		CHECK_EQ(state.local, 0);
		WAIT(is_put ? state.remote : state.local);
		for (size_t b = 0, bad = 0; b < bytes; b++) { /* byte b of the stream */
			size_t here = b / run[0] * stride[0] + b % run[0];
			size_t remote = b / run[1] * stride[1] + b % run[1];

			if (is_put)
				copy[remote] = scratch[here];
			else
				bad += scratch[here] != copy[remote];
			if (b + 1 == bytes)
				CHECK_EQ(bad, 0);
		}
		if (is_put && t == me)
			CHECK(!memcmp(window + me * WINDOW, model + me * WINDOW, WINDOW));
	}
	for (size_t t = 0; t < tasks; t++) { /* nothing beside the layouts was touched */
		struct state state = {0, 0};

		get_bytes(t, 0, 0, WINDOW, 0, &state);
		WAIT(state.local);
		CHECK(!memcmp(scratch, model + t * WINDOW, WINDOW));
	}
}

/* ---- Read-modify-write ---- */

static uint64_t words[3] __attribute__((aligned(8)));
static uint64_t *words_of[JOB_TASKS_MAX];

static void on_words(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(origin, &task, &offset);
	memcpy(&words_of[task], header, sizeof words_of[task]);
	++*(unsigned *)cookie;
}

static uint64_t apply_atomic(unsigned op, uint64_t old, uint64_t value, uint64_t test)
{
	if ((op & PAMI_ATOMIC_COMPARE) && old != test)
		return old;
	switch (op & ~3u) {
	case PAMI_ATOMIC_SET:
		return value;
	case PAMI_ATOMIC_ADD:
		return old + value;
	case PAMI_ATOMIC_OR:
		return old | value;
	case PAMI_ATOMIC_AND:
		return old & value;
	case PAMI_ATOMIC_XOR:
		return old ^ value;
	default:
		return old;
	}
}

static void every_rmw(size_t t, struct drv_rng *rng)
{
	static const unsigned ops[] = {0x01, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x05,
				       0x09, 0x0d, 0x11, 0x15, 0x06, 0x0a, 0x0e,
				       0x12, 0x16, 0x07, 0x0b, 0x0f, 0x13, 0x17};
	pami_type_t types[] = {PAMI_TYPE_SIGNED_INT,       PAMI_TYPE_UNSIGNED_INT,
			       PAMI_TYPE_SIGNED_LONG,      PAMI_TYPE_UNSIGNED_LONG,
			       PAMI_TYPE_SIGNED_LONG_LONG, PAMI_TYPE_UNSIGNED_LONG_LONG};
	uint64_t now[2] = {0, 0}; /* 4-byte and 8-byte word */

	for (int i = 0; i < 400; i++) {
		unsigned op = ops[drv_rng_below(rng, sizeof ops / sizeof *ops)];
		int type = (int)drv_rng_below(rng, 6), wide = type > 1;
		uint64_t mask = wide ? UINT64_MAX : UINT32_MAX, value = drv_rng_next(rng),
			 local = 77;
		uint64_t test = drv_rng_below(rng, 2) ? now[wide] : value;
		uint64_t v = value, s = test;
		int done = 0;
		pami_rmw_t r = {.dest = get_endpoint(t, 0),
				.cookie = &done,
				.done_fn = flag_done,
				.local = &local,
				.remote = words_of[t] + wide,
				.value = &v,
				.test = &s,
				.operation = (pami_atomic_t)op,
				.type = types[type]};

		if (!(op & PAMI_ATOMIC_FETCH))
			r.local = NULL;
		if (!(op & PAMI_ATOMIC_COMPARE))
			r.test = NULL;
		CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
		v = s = 0; /* read in the call */
		WAIT(done);
		CHECK_EQ(local, op & PAMI_ATOMIC_FETCH
				    ? (wide ? now[1] : (77 & ~UINT32_MAX) | now[0])
				    : 77);
		now[wide] = apply_atomic(op, now[wide], value & mask, test & mask) & mask;
	}
}

/*
 * Atomics on memory that the processor reaches take effect within the call, even while many earlier
 * ones wait for the call of their done_fn.
 */
static void atomics_take_effect_within_the_call(void)
{
	pami_quintorus_alloc_fn allocate;
	pami_quintorus_free_fn release;
	pami_extension_t e;
	uint64_t *word, one = 1;
	int done = 0, direct = 0;

	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_MEMORY, &e), PAMI_SUCCESS);
	*(void **)&allocate = PAMI_Extension_symbol(e, "alloc");
	*(void **)&release = PAMI_Extension_symbol(e, "free");
	word = allocate(8, 8);
	*word = 0;
	for (int i = 0; i < 500; i++) {
		uint64_t old = 7777;
		pami_rmw_t r = {.dest = get_endpoint(me, 0),
				.cookie = &done,
				.done_fn = flag_done,
				.local = &old,
				.remote = word,
				.value = &one,
				.operation = PAMI_ATOMIC_FETCH_ADD,
				.type = PAMI_TYPE_UNSIGNED_LONG};

		CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
		direct |= !i && old == 0; /* not in virtual time */
		if (direct)
			CHECK_EQ(old, i);
		else
			WAIT(done == i + 1);
		CHECK_EQ(*word, i + 1);
	}
	CHECK(!direct || !done);
	WAIT(done >= 500);
	PAMI_Context_advance(context, 10);
	CHECK_EQ(done, 500);
	release(word);
}

static void every_atomic_returns_the_old_value(struct drv_rng *rng)
{
	unsigned known = 0;
	uint64_t *address = words, sum = 0, seen = 0, one = 1;
	int done = 0;
	enum { ADDS = 500 };
	pami_rmw_t bad = {
	    .dest = get_endpoint(0, 0), .remote = words, .value = &one, .local = &seen};

	dispatch_set(context, 2, on_words, &known, (pami_dispatch_hint_t){0});
	for (size_t t = 0; t < tasks; t++) {
		pami_send_immediate_t s = {.header = {&address, sizeof address},
					   .dispatch = 2,
					   .dest = get_endpoint(t, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	WAIT(known == tasks);
	for (size_t t = 0; t < tasks; t++) { /* task t's words belong to task t + 1 */
		if ((t + 1) % tasks == me)
			every_rmw(t, rng);
		run_barrier();
	}
	/* All tasks count at task 0 at once: no value is given twice. */
	for (int i = 0; i < ADDS; i++) {
		pami_rmw_t r = {.dest = get_endpoint(0, 0),
				.cookie = &done,
				.done_fn = flag_done,
				.local = &seen,
				.remote = words_of[0] + 2,
				.value = &one,
				.operation = PAMI_ATOMIC_FETCH_ADD,
				.type = PAMI_TYPE_UNSIGNED_LONG};

		CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
		WAIT(done == i + 1);
		CHECK(!i || seen > sum);
		sum = seen;
	}
	run_barrier();
	if (!me)
		CHECK_EQ(words[2], tasks * ADDS);
	bad.operation = 0x18;
	bad.type = PAMI_TYPE_SIGNED_INT;
	CHECK_EQ(PAMI_Rmw(context, &bad), PAMI_INVAL);
	bad.operation = 0x02;
	CHECK_EQ(PAMI_Rmw(context, &bad), PAMI_INVAL);
	bad.operation = PAMI_ATOMIC_ADD;
	bad.type = PAMI_TYPE_DOUBLE;
	CHECK_EQ(PAMI_Rmw(context, &bad), PAMI_INVAL);
	run_barrier();
}

/* ---- Fences: what was started before is there when done_fn is called. ---- */

static void fences_wait_for_puts(struct drv_rng *rng)
{
	int done = 0, get_done = 0;

	CHECK_EQ(PAMI_Fence_begin(context), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Fence_begin(context), PAMI_INVAL);
	for (int round = 0; round < 20; round++) {
		size_t t = drv_rng_below(rng, tasks);
		int puts = 1 + (int)drv_rng_below(rng, 30), all = round & 1, want = round + 1;
		size_t each = WINDOW / 31;

		fill_pattern(scratch, (size_t)round, WINDOW);
		for (int i = 0; i < puts; i++) {
			pami_put_simple_t p = {
			    .rma = {.dest = get_endpoint(t, 0), .bytes = each},
			    .addr = {scratch + (size_t)i * each,
				     base_of[t] + me * WINDOW + (size_t)i * each}};

			CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
			memcpy(model + t * WINDOW + (size_t)i * each, scratch + (size_t)i * each,
			       each);
		}
		CHECK_EQ(all ? PAMI_Fence_all(context, flag_done, &done)
			     : PAMI_Fence_endpoint(context, flag_done, &done, get_endpoint(t, 0)),
			 PAMI_SUCCESS);
		CHECK_EQ(done, want - 1);
		WAIT(done == want);
		if (t == me)
			CHECK(!memcmp(window + me * WINDOW, model + me * WINDOW, WINDOW));
		{
			pami_get_simple_t g = {.rma = {.dest = get_endpoint(t, 0),
						       .bytes = WINDOW,
						       .cookie = &get_done,
						       .done_fn = flag_done},
					       .addr = {scratch, base_of[t] + me * WINDOW}};

			CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
			WAIT(get_done == want);
			CHECK(!memcmp(scratch, model + t * WINDOW, WINDOW));
		}
	}
	CHECK_EQ(PAMI_Fence_end(context), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Fence_end(context), PAMI_INVAL);
	run_barrier();
}

static void wrong_calls_are_refused(void)
{
	struct state state = {0, 0};
	pami_memregion_t nothing = {0};
	pami_put_simple_t p = {.rma = {.dest = get_endpoint(tasks, 0), .bytes = 1},
			       .addr = {scratch, scratch}};
	pami_rput_simple_t r = {.rma = {.dest = get_endpoint(0, 0), .bytes = 1},
				.rdma = {{&own_region, 0}, {&nothing, 0}}};
	pami_put_typed_t typed = {.rma = p.rma};

	CHECK_EQ(PAMI_Put(context, &p), PAMI_INVAL);
	CHECK_EQ(PAMI_Rput(context, &r), PAMI_INVAL);
	CHECK_EQ(PAMI_Put_typed(context, &typed), PAMI_INVAL); /* no types */
	p.rma = (pami_rma_t){
	    .dest = get_endpoint(0, 0), .cookie = &state, .done_fn = local_fn}; /* 0 bytes */
	p.put.rdone_fn = remote_fn;
	in_call = 1;
	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	in_call = 0;
	WAIT(state.remote);
}

/* Addresses that do not exist, and regions never made: errors at the origin, and no task is
 * harmed. */
struct end {
	int local, remote; /* calls; remote -1: there is none */
	pami_result_t local_result, remote_result;
};

static void end_local(pami_context_t c, void *cookie, pami_result_t result)
{
	struct end *e = cookie;

	e->local_result = result;
	e->local++;
}

static void end_remote(pami_context_t c, void *cookie, pami_result_t result)
{
	struct end *e = cookie;

	CHECK_EQ(e->local, 1);
	e->remote_result = result;
	e->remote++;
}

/* One put and one get, simple (type NULL), typed, or by region (at counts from its start). */
static void try_both(size_t t, void *at, pami_memregion_t *mr, size_t offset, pami_type_t type,
		     size_t bytes, int fails)
{
	struct end put_end = {0, 0}, get_end = {0, -1};
	pami_rma_t pr = {
	    .dest = get_endpoint(t, 0), .bytes = bytes, .cookie = &put_end, .done_fn = end_local};
	pami_rma_t gr = {
	    .dest = get_endpoint(t, 0), .bytes = bytes, .cookie = &get_end, .done_fn = end_local};
	pami_rma_typed_t types = {PAMI_TYPE_BYTE, type};
	pami_rma_addr_t addr = {scratch, at};
	pami_rdma_t rdma = {{&own_region, 0}, {mr, offset}};
	pami_result_t result;

	if (mr && type)
		result =
		    PAMI_Rput_typed(context, &(pami_rput_typed_t){pr, rdma, types, {end_remote}});
	else if (mr)
		result = PAMI_Rput(context, &(pami_rput_simple_t){pr, rdma, {end_remote}});
	else if (type)
		result =
		    PAMI_Put_typed(context, &(pami_put_typed_t){pr, addr, types, {end_remote}});
	else
		result = PAMI_Put(context, &(pami_put_simple_t){pr, addr, {end_remote}});
	CHECK_EQ(result, PAMI_SUCCESS);
	WAIT(put_end.remote);
	CHECK_EQ(put_end.local, 1);
	CHECK_EQ(put_end.remote_result != PAMI_SUCCESS, fails);
	if (mr && type)
		result = PAMI_Rget_typed(context, &(pami_rget_typed_t){gr, rdma, types});
	else if (mr)
		result = PAMI_Rget(context, &(pami_rget_simple_t){gr, rdma});
	else if (type)
		result = PAMI_Get_typed(context, &(pami_get_typed_t){gr, addr, types});
	else
		result = PAMI_Get(context, &(pami_get_simple_t){gr, addr});
	CHECK_EQ(result, PAMI_SUCCESS);
	WAIT(get_end.local);
	CHECK_EQ(get_end.local_result != PAMI_SUCCESS, fails);
}

#define HOLE (32u * 4096) /* half of it is there */

static void missing_pages(void)
{
	static const size_t sizes[] = {1, 100, 3000, 30000, HOLE / 2};
	char *page = mmap(NULL, HOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t t = (me + 1) % tasks, out;
	pami_memregion_t mr;
	uint64_t one = 1, old;
	pami_type_t gaps;

	CHECK_EQ(mprotect(page + HOLE / 2, HOLE / 2, PROT_NONE), 0);
	PAMI_Memregion_create(context, page, HOLE, &out, &mr);
	base_of[me] = (unsigned char *)page;
	memcpy(region_of[me], mr, sizeof mr);
	cards = 0; /* no task sends one before all are here */
	run_barrier();
	for (size_t i = 0; i < tasks; i++) {
		struct card card = {(uint32_t)me, (unsigned char *)page, {0}};
		pami_send_immediate_t s = {
		    .header = {&card, sizeof card}, .dispatch = 1, .dest = get_endpoint(i, 0)};

		memcpy(card.region, mr, sizeof mr);
		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	WAIT(cards == tasks);
	CHECK_EQ(PAMI_Type_create(&gaps), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(gaps, 16, 0, 2, 20), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(gaps, 1), PAMI_SUCCESS);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t n = sizes[i], last = HOLE / 2 - n + 1; /* one byte beyond */

		for (int typed = 0; typed < 2; typed++) {
			pami_type_t type = typed ? gaps : NULL;
			size_t span = typed ? n / 32 * 40 + 36 : n;

			try_both(t, base_of[t] + (span > HOLE / 2 ? 0 : last), NULL, 0, type, n, 1);
			try_both(t, (void *)16, NULL, 0, type, n, 1);
			try_both(t, NULL, &region_of[t], span > HOLE / 2 ? 0 : last, type, n, 1);
			if (span <= HOLE / 2) {
				try_both(t, base_of[t] + HOLE / 2 - span, NULL, 0, type, n, 0);
				try_both(t, NULL, &region_of[t], HOLE / 2 - span, type, n, 0);
			}
		}
	}
	for (size_t at = 0; at < 2; at++) {
		struct end e = {0, -1};
		pami_rmw_t r = {.dest = get_endpoint(t, 0),
				.cookie = &e,
				.done_fn = end_local,
				.local = &old,
				.remote = at ? (void *)16 : (void *)(base_of[t] + 3),
				.value = &one,
				.operation = PAMI_ATOMIC_FETCH_ADD,
				.type = PAMI_TYPE_UNSIGNED_LONG};

		CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
		WAIT(e.local);
		CHECK(e.local_result != PAMI_SUCCESS);
	}
	CHECK_EQ(PAMI_Type_destroy(&gaps), PAMI_SUCCESS);
	run_barrier();
	munmap(page, HOLE);
}

/* Several puts and gets to one task are in flight, and the memory of some does not exist: exactly
 * those end with an error. Both tasks do so at the same time. */
static void only_bad_ones_fail(void)
{
	enum { EACH = 6, ROUNDS = 9 };
	static unsigned char to[EACH][40000];
	struct end put_end[EACH], get_end[EACH];
	size_t t = (me + 1) % tasks;
	unsigned char *good = base_of[t] + me * WINDOW, *bad = (unsigned char *)0x3000;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < EACH; i++) {
			unsigned char *there = i % 3 == round % 3 ? bad : good;
			size_t bytes = i & 1 ? sizeof to[i] : 600;
			pami_get_simple_t g = {.rma = {.dest = get_endpoint(t, 0),
						       .bytes = bytes,
						       .cookie = &get_end[i],
						       .done_fn = end_local},
					       .addr = {to[i], there}};
			pami_put_simple_t p = {.rma = {.dest = get_endpoint(t, 0),
						       .bytes = bytes,
						       .cookie = &put_end[i],
						       .done_fn = end_local},
					       .addr = {scratch, there},
					       .put = {end_remote}};

			get_end[i] = (struct end){0, -1};
			put_end[i] = (struct end){0, 0};
			CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
			CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
		}
		for (int i = 0; i < EACH; i++) {
			int is_bad = i % 3 == round % 3;

			WAIT(get_end[i].local && put_end[i].remote);
			CHECK_EQ(get_end[i].local_result != PAMI_SUCCESS, is_bad);
			CHECK_EQ(put_end[i].remote_result != PAMI_SUCCESS, is_bad);
		}
	}
	for (int i = 0; i < EACH; i++) {
		CHECK_EQ(get_end[i].local, 1);
		CHECK_EQ(put_end[i].local, 1);
		CHECK_EQ(put_end[i].remote, 1);
	}
	run_barrier();
}

/* Any bit of a region's first 40 bytes changed: it is none. Nor may one go beyond its end. */
static void forged_regions(void)
{
	static unsigned char memory[1000];
	size_t bytes;
	pami_memregion_t mr;

	CHECK_EQ(PAMI_Memregion_create(context, memory, sizeof memory, &bytes, &mr), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_create(context, scratch, sizeof scratch, &bytes, &own_region),
		 PAMI_SUCCESS);
	for (unsigned bit = 0; bit < 40 * 8; bit++) {
		pami_rma_t rma = {.dest = get_endpoint(me, 0), .bytes = 8, .done_fn = end_local};
		struct end e = {0, -1};
		pami_rget_simple_t g = {rma, {{&own_region, 0}, {&mr, 0}}};
		pami_result_t result;

		g.rma.cookie = &e;
		((unsigned char *)mr)[bit / 8] ^= (unsigned char)(1 << bit % 8);
		result = PAMI_Rget(context, &g);
		CHECK(result == PAMI_SUCCESS || result == PAMI_INVAL);
		if (result == PAMI_SUCCESS) {
			WAIT(e.local);
			/* 28 to 31 are not in use */
			CHECK_EQ(e.local_result != PAMI_SUCCESS, bit / 8 < 28 || bit / 8 >= 32);
		}
		((unsigned char *)mr)[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	try_both(me, NULL, &mr, 0, NULL, 1000, 0);
	try_both(me, NULL, &mr, 1, NULL, 1000, 1);
	try_both(me, NULL, &mr, 999, NULL, 1, 0);
	try_both(me, NULL, &mr, 1000, NULL, 1, 1);
	try_both(me, NULL, &mr, (size_t)-1, NULL, 2, 1);
}

/* ---- EXT_quintorus_pieces ---- */

enum { PIECE_GAP = 3, PIECES_AT = 4096, PIECE_ROUNDS = 60 };

static void *symbol_of(const char *extension, const char *name)
{
	pami_extension_t e;
	void *symbol;

	CHECK_EQ(PAMI_Extension_open(client, extension, &e), PAMI_SUCCESS);
	symbol = PAMI_Extension_symbol(e, name);
	PAMI_Extension_close(e);
	return symbol;
}

static void note_failure(pami_context_t c, void *cookie, pami_result_t result)
{
	*(int *)cookie = result == PAMI_SUCCESS ? -1 : 1;
}

/* Gets of 1 to 8 pieces from the other task's window, in another order than they lie there: the
 * bytes of each piece come, those between do not change, and one function is called for all. */
static void pieces_at_once(struct drv_rng *rng)
{
	pami_quintorus_get_pieces_fn get_pieces =
	    (pami_quintorus_get_pieces_fn)symbol_of(PAMI_EXT_QUINTORUS_PIECES, "get");
	pami_quintorus_room_fn has_room =
	    (pami_quintorus_room_fn)symbol_of(PAMI_EXT_QUINTORUS_WAIT, "room");
	pami_quintorus_piece_t piece[PAMI_QUINTORUS_PIECES + 1];
	size_t t = (me + 1) % tasks;
	pami_rma_t rma = {.dest = get_endpoint(t, 0), .done_fn = flag_done};
	unsigned char *there = base_of[t] + t * WINDOW, expected[2048], got[2048];
	int done = 0, wanted = 0;

	/* Each task's own slice, which no operation of another changes. */
	fill_pattern(window + me * WINDOW, me, WINDOW);
	run_barrier();
	rma.cookie = &done;
	for (int round = 0; round < PIECE_ROUNDS; round++) {
		size_t count = 1 + drv_rng_next(rng) % PAMI_QUINTORUS_PIECES, at = 0;
		pami_result_t rc;

		memset(got, 0xee, sizeof(got));
		memset(expected, 0xee, sizeof(expected));
		for (size_t i = 0; i < count; i++) {
			size_t bytes = 1 + drv_rng_next(rng) % 200,
			       from = (count - i) * 211 + drv_rng_next(rng) % 11;

			piece[i] = (pami_quintorus_piece_t){got + at, there + from, bytes};
			for (size_t k = 0; k < bytes; k++)
				expected[at + k] = pattern_byte(t, from + k);
			at += bytes + PIECE_GAP;
		}
		while ((rc = get_pieces(context, &rma, piece, count)) == PAMI_EAGAIN)
			PAMI_Context_advance(context, 1);
		CHECK_EQ(rc, PAMI_SUCCESS);
		memset(piece, 0, sizeof(piece)); /* They were read in the call. */
		wanted++;
		WAIT(done == wanted);
		CHECK(!memcmp(got, expected, sizeof(got)));
	}
	CHECK(has_room(context));
	for (size_t i = 0; i <= PAMI_QUINTORUS_PIECES; i++)
		piece[i] = (pami_quintorus_piece_t){got, there, 8};
	CHECK_EQ(get_pieces(context, &rma, piece, 0), PAMI_INVAL);
	CHECK_EQ(get_pieces(context, &rma, piece, PAMI_QUINTORUS_PIECES + 1), PAMI_INVAL);
	CHECK_EQ(get_pieces(context, &rma, NULL, 1), PAMI_INVAL);
	piece[1].bytes = 0;
	CHECK_EQ(get_pieces(context, &rma, piece, 2), PAMI_INVAL);
	CHECK_EQ(done, wanted);
	/* Nothing can be at the address of one piece: the whole fails, and what follows works. */
	piece[1] = (pami_quintorus_piece_t){got + 8, (void *)8, 8};
	rma.done_fn = note_failure;
	done = 0;
	CHECK_EQ(get_pieces(context, &rma, piece, 2), PAMI_SUCCESS);
	WAIT(done);
	CHECK_EQ(done, 1);
	done = 0;
	piece[1].remote = there + 8;
	CHECK_EQ(get_pieces(context, &rma, piece, 2), PAMI_SUCCESS);
	WAIT(done);
	CHECK_EQ(done, -1);
	CHECK_EQ(got[8], pattern_byte(t, 8));
	run_barrier();
}

int main(void)
{
	struct drv_rng rng;

	job_begin(1);
	drv_rng_seed(&rng, 11 + me);
	window = calloc(tasks, WINDOW);
	model = calloc(tasks, WINDOW);
	base_of = calloc(tasks, sizeof *base_of);
	region_of = calloc(tasks, sizeof *region_of);
	dispatch_set(context, 1, on_card, NULL, (pami_dispatch_hint_t){0});
	exchange_cards();
	run_barrier();
	random_operations(&rng);
	run_barrier();
	many_at_once();
	run_barrier();
	typed_operations(&rng);
	run_barrier();
	every_atomic_returns_the_old_value(&rng);
	atomics_take_effect_within_the_call();
	fences_wait_for_puts(&rng);
	wrong_calls_are_refused();
	run_barrier();
	pieces_at_once(&rng);
	only_bad_ones_fail();
	missing_pages();
	forged_regions();
	CHECK_EQ(PAMI_Memregion_destroy(context, &own_region), PAMI_SUCCESS);
	free(window);
	free(model);
	free(base_of);
	free(region_of);
	return job_end(1);
}
