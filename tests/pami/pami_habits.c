/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What existing programs do, one function a habit. Run
 * as jobs by pami_job.sh.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "tests/harness/pami_job.h"
/* Behind pami.h, as programs include it. */
#include <pami_sys.h>

#include "pami/hwi/include/bqc/A2_inlines.h"

enum {
	ID_PING = 0,
	ID_BURST,
	ID_BURST_TRIGGER,
	ID_CARD,
	ID_UNSET,
	ID_LATE,
	ID_RETRY,
	ID_SUM,
	ID_LAST = 1023
};

static pami_dispatch_hint_t no_hints;

static size_t next_task(void)
{
	return (me + 1) % tasks;
}

/* ---- Predefined objects in static tables, filled before main (C++ clients). ---- */

static pami_type_t early_type[3];
static pami_data_function early_function;
static pami_endpoint_t early_null;

__attribute__((constructor)) static void fill_static_tables(void)
{
	early_type[0] = PAMI_TYPE_BYTE;
	early_type[1] = PAMI_TYPE_DOUBLE;
	early_type[2] = PAMI_TYPE_LOC_LONGDOUBLE_INT;
	early_function = PAMI_DATA_COPY;
	early_null = PAMI_ENDPOINT_NULL;
}

static void objects_before_main(void)
{
	pami_configuration_t q = {.name = PAMI_TYPE_DATA_SIZE};

	CHECK(early_type[0] == PAMI_TYPE_BYTE && early_type[0] != NULL);
	CHECK_EQ(PAMI_Type_query(early_type[1], &q, 1), PAMI_SUCCESS);
	CHECK_EQ(q.value.intval, sizeof(double));
	CHECK_EQ(PAMI_Type_query(early_type[2], &q, 1), PAMI_SUCCESS);
	CHECK_EQ(q.value.intval, 32);
	CHECK(early_function == PAMI_DATA_COPY && early_function != NULL);
	CHECK_EQ(early_null, 0xffffffffu);
}

/* ---- size_t where a task is declared, an int for an endpoint. ---- */

static void size_t_for_a_task(void)
{
	size_t task = (size_t)-1, offset = (size_t)-1;
	int kept = 7;
	pami_endpoint_t e;
	pami_task_t proper = 1;

	CHECK_EQ(PAMI_Endpoint_create(client, (pami_task_t)next_task(), 1, &e), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Endpoint_create(client, (pami_task_t)next_task(), 1, &kept), PAMI_SUCCESS);
	CHECK_EQ((pami_endpoint_t)kept, e);
	CHECK_EQ(PAMI_Endpoint_query(e, &task, &offset), PAMI_SUCCESS);
	CHECK_EQ(task, next_task()); /* the upper half too */
	CHECK_EQ(offset, 1);
	CHECK_EQ((PAMI_Endpoint_query)(e, &proper, &offset), PAMI_SUCCESS);
	CHECK_EQ(proper, next_task());
	CHECK(e != PAMI_ENDPOINT_NULL);
	CHECK_EQ((PAMI_Endpoint_create)(client, 0, 64, &e), PAMI_INVAL);
}

/* ---- Attributes that programs query, and what they expect of them. ---- */

static void attributes_can_be_read(void)
{
	pami_configuration_t q = {.name = PAMI_CLIENT_LOCAL_TASKS}, two[2];
	size_t contexts_max = client_value(PAMI_CLIENT_NUM_CONTEXTS),
	       locals = client_value(PAMI_CLIENT_NUM_LOCAL_TASKS);
	int self = 0;

	CHECK(client_value(PAMI_CLIENT_CLOCK_MHZ) > 0);
	CHECK(client_value(PAMI_CLIENT_CONST_CONTEXTS) != 0);
	CHECK(client_value(PAMI_CLIENT_HWTHREADS_AVAILABLE) >= 1);
	CHECK_EQ(client_value(PAMI_CLIENT_MEMREGION_SIZE), sizeof(pami_memregion_t));
	CHECK(client_value(PAMI_CLIENT_MEM_SIZE) > 0);
	CHECK(contexts_max >= 2 && contexts_max <= 64 && !(contexts_max & (contexts_max - 1)));
	CHECK(client_value(PAMI_CLIENT_WTIMEBASE_MHZ) > 0);
	CHECK(me < tasks && locals >= 1 && locals <= tasks);
	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_SUCCESS);
	for (size_t i = 0; i < locals; i++) {
		self |= q.value.intarray[i] == me;
		CHECK(q.value.intarray[i] < tasks &&
		      (!i || q.value.intarray[i] > q.value.intarray[i - 1]));
	}
	CHECK(self);
	q.name = PAMI_CLIENT_PROCESSOR_NAME;
	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_SUCCESS);
	CHECK(strlen(q.value.chararray) > 0 && strlen(q.value.chararray) < 128);
	q.name = PAMI_CLIENT_WTICK;
	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_SUCCESS);
	CHECK(q.value.doubleval > 0 && q.value.doubleval < 1e-3);
	q.name = (pami_attribute_name_t)1016; /* is asynchronous progress guaranteed? */
	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_SUCCESS);
	/* A count of 0 with a pointer; names of another level, unknown, read-only; several at once.
	 */
	q.name = (pami_attribute_name_t)77;
	CHECK_EQ(PAMI_Client_query(client, &q, 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Client_update(client, &q, 0), PAMI_SUCCESS);
	q.name = PAMI_CLIENT_NUM_TASKS;
	CHECK_EQ(PAMI_Client_update(client, &q, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Context_query(context, &q, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Context_update(context, &q, 1), PAMI_INVAL);
	q.name = PAMI_CONTEXT_DISPATCH_ID_MAX;
	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Context_query(context, &q, 1), PAMI_SUCCESS);
	CHECK(q.value.intval >= 255);
	two[0].name = PAMI_CLIENT_NUM_TASKS;
	two[1].name = PAMI_CLIENT_TASK_ID;
	CHECK_EQ(PAMI_Client_query(client, two, 2), PAMI_SUCCESS);
	CHECK_EQ(two[0].value.intval, tasks);
	CHECK_EQ(two[1].value.intval, me);
}

static void dispatch_limits(void)
{
	for (size_t id = 0; id <= ID_LAST; id += 341) { /* set or not */
		pami_configuration_t q[3] = {{.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX},
					     {.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX},
					     {.name = PAMI_DISPATCH_ATOM_SIZE_MAX}};

		CHECK_EQ(PAMI_Dispatch_query(context, id, q, 3), PAMI_SUCCESS);
		CHECK(q[1].value.intval <= q[0].value.intval);
		CHECK_EQ(q[2].value.intval, 128);
		if (getenv("QUINTORUS_IMMEDIATE"))
			CHECK(q[1].value.intval >= 7680); /* what Charm++ sends at once */
		else
			CHECK(q[1].value.intval >= 128 && q[0].value.intval <= 1000);
		CHECK_EQ(PAMI_Dispatch_update(context, id, q, 1), PAMI_INVAL);
	}
	{
		pami_configuration_t q = {.name = PAMI_DISPATCH_ATOM_SIZE_MAX};

		CHECK_EQ(PAMI_Dispatch_query(context, ID_LAST + 1, &q, 1), PAMI_INVAL);
	}
}

/* ---- Replies from inside dispatch functions, to the origin they were given. ---- */

static int pings, pings_wanted;

static void on_ping(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint32_t left;

	CHECK_EQ((uintptr_t)header % 8, 0);
	((unsigned char *)(uintptr_t)header)[4] = 1; /* scratch: they cast const away */
	memcpy(&left, header, 4);
	pings++;
	if (left) {
		pami_send_immediate_t s = {
		    .header = {&left, 4}, .dispatch = ID_PING, .dest = origin};

		left--;
		CHECK_EQ(PAMI_Send_immediate(c, &s), PAMI_SUCCESS);
	}
}

static void replies_from_dispatch(void)
{
	struct {
		uint32_t left, more;
	} header = {400, 0};
	pami_send_immediate_t s = {.header = {&header, sizeof header},
				   .dispatch = ID_PING,
				   .dest = get_endpoint(next_task(), 0)};

	memset(&s.hints, 0xff, sizeof s.hints);
	pings_wanted = 401; /* 201 of mine there, 200 here; as many of another's */
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	WAIT(pings >= pings_wanted);
	run_barrier();
	CHECK_EQ(pings, 401);
}

/* ---- Immediate sends from a dispatch function: with the network full they queue and never fail.
 * ---- */

#define BURST 6000

static uint32_t burst_next;
static int burst_done;

static void on_burst(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint32_t number;

	memcpy(&number, header, 4);
	CHECK_EQ(number, burst_next);
	burst_next++;
}

static void on_burst_trigger(pami_context_t c, void *cookie, const void *header, size_t header_size,
			     const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	static unsigned char data[300];

	for (uint32_t i = 0; i < BURST; i++) {
		pami_send_immediate_t s = {.header = {&i, 4},
					   .data = {data, sizeof data},
					   .dispatch = ID_BURST,
					   .dest = get_endpoint(next_task(), 0)};

		CHECK_EQ(PAMI_Send_immediate(c, &s), PAMI_SUCCESS);
	}
	burst_done = 1;
}

static void immediate_from_dispatch_never_fails(void)
{
	pami_send_immediate_t s = {.dispatch = ID_BURST_TRIGGER, .dest = get_endpoint(me, 0)};

	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	WAIT(burst_done && burst_next == BURST);
	run_barrier();
}

/* ---- Put and get on memory that was not registered, whatever the hints say. ---- */

struct card {
	void *at[4];
	pami_memregion_t mr;
};
static struct card *cards;
static int cards_seen;

static void on_card(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	size_t task, offset;

	PAMI_Endpoint_query(origin, &task, &offset);
	memcpy(&cards[task], header, sizeof *cards); /* a region in a header */
	cards_seen++;
}

static void done_count(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	++*(int *)cookie;
}

#define PLAIN 9000
static unsigned char static_memory[PLAIN];

static void memory_nobody_registered(void)
{
	unsigned char stack_memory[PLAIN], local[PLAIN];
	unsigned char *heap = malloc(PLAIN), *mapped = mmap(NULL, PLAIN, PROT_READ | PROT_WRITE,
							    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct card card = {{static_memory, stack_memory, heap, mapped}, {0}};
	size_t t = next_task(), out;

	cards = calloc(tasks, sizeof *cards);
	CHECK_EQ(PAMI_Memregion_create(context, stack_memory, PLAIN, &out, &card.mr), PAMI_SUCCESS);
	for (int i = 0; i < 4; i++)
		memset(card.at[i], 0, PLAIN);
	cards_seen = 0;
	run_barrier();
	for (size_t i = 0; i < tasks; i++) {
		pami_send_immediate_t s = {.header = {&card, sizeof card},
					   .dispatch = ID_CARD,
					   .dest = get_endpoint(i, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	WAIT(cards_seen == (int)tasks);
	for (int i = 0; i < 4; i++) {
		int put_done = 0, get_done = 0;
		pami_put_simple_t p = {
		    {.dest = get_endpoint(t, 0), .bytes = PLAIN - 3, .cookie = &put_done},
		    {local + 2, (char *)cards[t].at[i] + 1},
		    {done_count}};
		pami_get_simple_t g = {{.dest = get_endpoint(t, 0),
					.bytes = PLAIN - 3,
					.cookie = &get_done,
					.done_fn = done_count},
				       {local + 1, (char *)cards[t].at[i] + 1}};

		p.rma.hints.use_rdma = g.rma.hints.use_rdma = PAMI_HINT_ENABLE;
		p.rma.hints.buffer_registered = g.rma.hints.buffer_registered = PAMI_HINT_ENABLE;
		fill_pattern(local, me + (size_t)i, PLAIN);
		CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
		WAIT(put_done);
		memset(local, 0, PLAIN);
		CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
		WAIT(get_done);
		for (size_t k = 0; k < PLAIN - 3; k++)
			if (local[k + 1] != pattern_byte(me + (size_t)i, k + 2)) {
				CHECK_EQ(k, PLAIN);
				break;
			}
	}
	run_barrier();
	free(heap);
	munmap(mapped, PLAIN);
}

/* ---- Memory regions as values, by the hundred thousand, never destroyed, of any kind of memory.
 * ---- */

static void regions_without_end(void)
{
	size_t out = 1;
	pami_memregion_t mr, again;

	for (size_t i = 0; i < 100000; i++) {
		pami_result_t result =
		    PAMI_Memregion_create(context, static_memory + i % 100, i % 5000, &out, &mr);

		if (result != PAMI_SUCCESS || out != i % 5000) {
			CHECK_EQ(result, PAMI_SUCCESS);
			CHECK_EQ(out, i % 5000);
			break;
		}
	}
	/* The new region overlaps the first. */
	CHECK_EQ(PAMI_Memregion_create(context, static_memory, PLAIN, &out, &again), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_destroy(contexts[1], &again), PAMI_SUCCESS); /* another context */
	CHECK_EQ(PAMI_Memregion_destroy(context, &mr), PAMI_SUCCESS);
}

/* A truncated receive asks for more than the local region holds. */
static void longer_than_the_local_region(void)
{
	static unsigned char local[PLAIN];
	pami_memregion_t small, whole;
	int done = 0;
	size_t out;
	pami_rget_simple_t g = {
	    {.dest = get_endpoint(me, 0), .bytes = 1000, .cookie = &done, .done_fn = done_count},
	    {{&small, 0}, {&whole, 0}}};

	CHECK_EQ(PAMI_Memregion_create(context, local, 100, &out, &small), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_create(context, static_memory, PLAIN, &out, &whole), PAMI_SUCCESS);
	fill_pattern(static_memory, 1, PLAIN);
	CHECK_EQ(PAMI_Rget(context, &g), PAMI_SUCCESS);
	WAIT(done);
	CHECK_EQ(count_different(local, 1, 100), 0);
}

/* ---- Receives with members left unset, or the whole structure cleared. ---- */

static unsigned char unset_sink[PLAIN];
static int unset_mode, unset_done;

static void on_unset(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK(recv != NULL);
	CHECK(recv->data_fn == PAMI_DATA_COPY && recv->type == PAMI_TYPE_BYTE && !recv->offset &&
	      !recv->local_fn);
	if (unset_mode == 1)
		memset(recv, 0, sizeof *recv);
	if (unset_mode == 2)
		recv->data_fn = NULL;
	recv->addr = unset_sink;
	recv->local_fn = done_count;
	recv->cookie = &unset_done;
}

static void receives_with_unset_members(void)
{
	static unsigned char data[PLAIN];

	fill_pattern(data, 3, PLAIN);
	for (unset_mode = 0; unset_mode < 3; unset_mode++)
		for (size_t bytes = 0; bytes <= PLAIN;
		     bytes += PLAIN / 3) { /* 0 bytes, eager, rendezvous */
			int sent = 0;
			pami_send_t s = {.send = {.data = {bytes ? data : NULL, bytes},
						  .dispatch = ID_UNSET,
						  .dest = get_endpoint(me, 0)},
					 .events = {&sent, NULL, done_count}};

			unset_done = 0;
			memset(unset_sink, 0, sizeof unset_sink);
			CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
			WAIT(sent && unset_done);
			CHECK_EQ(unset_done, 1);
			CHECK_EQ(count_different(unset_sink, 3, bytes), 0);
		}
}

/* Doubles received with PAMI_DATA_SUM: each atom once. */
static double sums[2000];
static int sum_done;

static void on_sum(pami_context_t c, void *cookie, const void *header, size_t header_size,
		   const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	recv->addr = sums;
	recv->type = PAMI_TYPE_DOUBLE;
	recv->data_fn = PAMI_DATA_SUM;
	recv->local_fn = done_count;
	recv->cookie = &sum_done;
}

static void receive_with_a_sum(void)
{
	static double data[2000];

	for (int i = 0; i < 2000; i++)
		data[i] = i;
	for (size_t count = 1; count <= 2000; count += 333) {
		pami_send_t s = {.send = {.data = {data, count * 8},
					  .dispatch = ID_SUM,
					  .dest = get_endpoint(me, 0)}};

		sum_done = 0;
		for (size_t i = 0; i < count; i++)
			sums[i] = 0.5;
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		WAIT(sum_done);
		for (size_t i = 0; i < count; i++)
			CHECK(sums[i] == 0.5 + (double)i);
	}
}

/* ---- Ids: late, tried twice, tried again after a failure. ---- */

static int late_seen, retry_first, retry_second;

static void on_late(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	late_seen++;
}

static void on_first(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	retry_first++;
}

static void on_second(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	retry_second++;
}

/* The sender's own id is set, the receiver's comes late: its message waits. */
static void late_registration(void)
{
	pami_send_immediate_t s = {.dispatch = ID_LATE, .dest = get_endpoint(next_task(), 1)};
	int fenced = 0, other = 0;

	dispatch_set(context, ID_LATE, on_late, NULL, no_hints);
	CHECK_EQ(PAMI_Fence_begin(context), PAMI_SUCCESS);
	/* Context 1 of the target has no such id. */
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Fence_all(context, flag_done, &fenced), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Fence_endpoint(context, flag_done, &other, s.dest), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Fence_end(context), PAMI_SUCCESS);
	run_barrier();
	for (int i = 0; i < 1000; i++)
		PAMI_Context_advancev(contexts, 2, 1);
	CHECK_EQ(late_seen, 0);
	run_barrier();
	CHECK_EQ(fenced + other, 0); /* not received: not complete */
	run_barrier();
	dispatch_set(contexts[1], ID_LATE, on_late, NULL, no_hints);
	while (late_seen < 1 || fenced + other < 2)
		PAMI_Context_advancev(contexts, 2, 1);
	CHECK_EQ(late_seen, 1);
	run_barrier();
}

static void ids_set_twice(void)
{
	pami_dispatch_callback_function none = {.p2p = NULL}, second = {.p2p = on_second};
	pami_send_immediate_t s = {.dispatch = ID_RETRY, .dest = get_endpoint(me, 0)};
	pami_send_t unset = {.send = {.dispatch = 900, .dest = get_endpoint(me, 0)}};

	CHECK(PAMI_Dispatch_set(context, ID_RETRY, none, NULL, no_hints) != PAMI_SUCCESS);
	dispatch_set(context, ID_RETRY, on_first, NULL, no_hints);
	CHECK_EQ(PAMI_Dispatch_set(context, ID_RETRY, second, NULL, no_hints), PAMI_INVAL);
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	WAIT(retry_first + retry_second);
	CHECK_EQ(retry_second, 0);
	CHECK(PAMI_Send(context, &unset) != PAMI_SUCCESS);
	CHECK(PAMI_Send_immediate(context, &unset.send) != PAMI_SUCCESS);
	CHECK_EQ(PAMI_Dispatch_set(context, ID_LAST + 1, second, NULL, no_hints), PAMI_INVAL);
}

/* ---- Work objects in messages: misaligned, on the stack, freed by their function; in bursts. ----
 */

static int worked;

static pami_result_t free_work(pami_context_t c, void *cookie)
{
	memset(cookie, 0xdd, 4 + sizeof(pami_work_t));
	free(cookie);
	worked++;
	return PAMI_SUCCESS;
}

static pami_result_t again_twice(pami_context_t c, void *cookie)
{
	worked++;
	return ++*(int *)cookie < 3 ? PAMI_EAGAIN : PAMI_SUCCESS;
}

static pami_result_t count_work(pami_context_t c, void *cookie)
{
	CHECK_EQ((int)(intptr_t)cookie, worked); /* in order */
	worked++;
	return PAMI_SUCCESS;
}

static void work_objects(void)
{
	enum { MANY = 1 << 15 };
	pami_work_t on_stack, *many = calloc(MANY, sizeof *many);
	int called = 0;

	for (int i = 0; i < 100; i++) {
		char *message = malloc(4 + sizeof(pami_work_t)); /* six words, aligned to 4 */

		CHECK_EQ(PAMI_Context_post(context, (pami_work_t *)(void *)(message + 4), free_work,
					   message),
			 PAMI_SUCCESS);
	}
	WAIT(worked == 100);
	worked = 0;
	CHECK_EQ(PAMI_Context_post(context, &on_stack, again_twice, &called), PAMI_SUCCESS);
	WAIT(worked == 3);
	worked = 0;
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(PAMI_Context_post(context, &many[i], count_work, (void *)(intptr_t)i),
			 PAMI_SUCCESS);
	WAIT(worked == MANY);
	free(many);
	CHECK(sizeof(pami_work_t) <= 6 * sizeof(void *));
}

/* ---- Extensions. ---- */

static void extensions_open(void)
{
	pami_extension_t e = (void *)1;
	const uint32_t *map;
	struct {
		size_t line;
		char func[128];
	} where;
	void (*bar)(void *);

	CHECK_EQ(PAMI_Extension_close(NULL), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Extension_open(NULL, "EXT_collsel", &e), PAMI_UNIMPL);
	CHECK(e == NULL);
	CHECK(PAMI_Extension_symbol(NULL, "anything") == NULL);
	CHECK_EQ(PAMI_Extension_open(NULL, "EXT_async_progress", &e), PAMI_SUCCESS);
	CHECK(PAMI_Extension_symbol(e, "register") && PAMI_Extension_symbol(e, "enable") &&
	      PAMI_Extension_symbol(e, "DISABLE"));
	CHECK(PAMI_Extension_symbol(e, "nothing") == NULL);
	CHECK_EQ(PAMI_Extension_close(e), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Extension_open(client, "EXT_test_extension", &e), PAMI_SUCCESS);
	bar = (void (*)(void *))PAMI_Extension_symbol(e, "bar");
	bar(&where);
	CHECK(where.line > 0 && where.func[0]);
	CHECK_EQ(PAMI_Extension_open(client, "BGQ_bgq_mapping", &e), PAMI_SUCCESS);
	map = PAMI_Extension_symbol(e, "mapcache");
	CHECK(map[me] & 0x40000000);
	CHECK_EQ(PAMI_Extension_open(client, "EXT_is_local_task", &e), PAMI_SUCCESS);
	{
		const uint8_t *base = PAMI_Extension_symbol(e, "base");
		uintptr_t stride = (uintptr_t)PAMI_Extension_symbol(e, "stride"),
			  mask = (uintptr_t)PAMI_Extension_symbol(e, "bitmask");
		size_t locals = 0;

		CHECK(stride == 4 && mask == 0x40);
		for (size_t i = 0; i < tasks; i++)
			locals += (base[i * stride] & mask) != 0;
		CHECK_EQ(locals, client_value(PAMI_CLIENT_NUM_LOCAL_TASKS));
		CHECK(base[me * stride] & mask);
	}
}

/* ---- Several clients with the same name, or none. ---- */

static void clients_with_one_name(void)
{
	pami_client_t more[3];
	pami_configuration_t promise = {.name = PAMI_CLIENT_CONST_CONTEXTS, .value = {.intval = 1}};

	for (int i = 0; i < 3; i++) {
		pami_context_t c;
		pami_configuration_t q = {.name = PAMI_CLIENT_TASK_ID},
				     unknown = {.name = (pami_attribute_name_t)113};

		CHECK_EQ(PAMI_Client_create("", &more[i], &unknown, 1), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Context_createv(more[i], &promise, 1, &c, 1), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Client_query(more[i], &q, 1), PAMI_SUCCESS);
		CHECK_EQ(q.value.intval, me);
		CHECK_EQ(PAMI_Context_destroyv(&c, 1), PAMI_SUCCESS);
		CHECK(c == PAMI_CONTEXT_NULL);
	}
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(PAMI_Client_destroy(&more[i]), PAMI_SUCCESS);
		CHECK(more[i] == PAMI_CLIENT_NULL);
	}
	CHECK_EQ(client_value(PAMI_CLIENT_TASK_ID), me); /* this client goes on */
}

/* ---- Time, error texts, progress results, quiescing. ---- */

static void time_and_texts(void)
{
	double t = PAMI_Wtime(client);
	unsigned long long ticks = PAMI_Wtimebase(client);
	uint64_t base = GetTimeBase();
	pami_endpoint_t e = get_endpoint(next_task(), 0);
	char text[200] = "x", three[3];
	pami_result_t result;

	CHECK(PAMI_Wtime(client) >= t);
	CHECK(PAMI_Wtimebase(client) >= ticks);
	CHECK(base >= ticks);
	(PAMI_Endpoint_create)(client, 0, 1000, &e);
	CHECK(PAMI_Error_text(text, sizeof text) == strlen(text) && text[0]);
	CHECK_EQ(PAMI_Error_text(three, sizeof three), 2);
	CHECK_EQ(three[2], 0);
	result = PAMI_Context_advance(context, 1);
	CHECK(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
	result = PAMI_Context_trylock_advancev(contexts, 2, 1);
	CHECK(result == PAMI_SUCCESS || result == PAMI_EAGAIN);
	e = get_endpoint(next_task(), 0);
	CHECK_EQ(PAMI_Purge(context, &e, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Resume(context, &e, 1), PAMI_SUCCESS);
}

/* ---- Algorithms: something always works, names can be matched, ten must-query broadcasts. ---- */

static void algorithm_lists(void)
{
	pami_geometry_t world, same;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_world(client, &same), PAMI_SUCCESS);
	CHECK(world == same);
	for (int type = 0; type < PAMI_XFER_COUNT; type++) {
		pami_algorithm_t a[64], q[64];
		pami_metadata_t ma[64], mq[64];
		size_t n[2];

		CHECK_EQ(PAMI_Geometry_algorithms_num(world, (pami_xfer_type_t)type, n),
			 PAMI_SUCCESS);
		CHECK(n[0] >= 1 && n[0] <= 64 && n[1] <= 64);
		CHECK_EQ(PAMI_Geometry_algorithms_query(world, (pami_xfer_type_t)type, a, ma, n[0],
							q, mq, n[1]),
			 PAMI_SUCCESS);
		for (size_t i = 0; i < n[0]; i++) {
			CHECK(a[i] != PAMI_ALGORITHM_NULL && !strncmp(ma[i].name, "I0:", 3));
			CHECK_EQ(ma[i].check_correct.values.checkrequired && !ma[i].check_fn, 0);
		}
		if (type == PAMI_XFER_BROADCAST)
			CHECK(n[1] >= 10);
	}
	{
		pami_xfer_t garbage = {.algorithm = 0x1234567};

		CHECK(PAMI_Collective(context, &garbage) != PAMI_SUCCESS);
	}
}

/* Hardware algorithms asked for and given back, also with a value left unset; then lists are
 * fetched anew. */
static void optimised_geometry(void)
{
	pami_configuration_t q = {.name = PAMI_GEOMETRY_OPTIMIZE},
			     wrong = {.name = PAMI_CLIENT_NUM_TASKS};
	pami_geometry_t world;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_query(world, &wrong, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Geometry_update(world, &wrong, 1, context, flag_done, NULL), PAMI_INVAL);
	for (size_t on = 2; on-- > 0;) {
		int done = 0;

		q.value.intval = on * 77;
		CHECK_EQ(PAMI_Geometry_update(world, &q, 1, context, flag_done, &done),
			 PAMI_SUCCESS);
		CHECK_EQ(done, 0);
		WAIT(done);
		run_barrier();       /* with an algorithm queried afterwards */
		q.value.intval = 99; /* whether there is hardware for it is the fabric's affair */
		CHECK_EQ(PAMI_Geometry_query(world, &q, 1), PAMI_SUCCESS);
		CHECK(q.value.intval <= 1);
	}
	CHECK_EQ(PAMI_Geometry_query(world, &q, 0), PAMI_SUCCESS);
}

int main(void)
{
	pami_dispatch_hint_t asynchronous = {.recv_immediate = PAMI_HINT_DISABLE};

	job_begin(2);
	dispatch_set(context, ID_PING, on_ping, NULL, no_hints);
	dispatch_set(context, ID_BURST, on_burst, NULL, no_hints);
	dispatch_set(context, ID_BURST_TRIGGER, on_burst_trigger, NULL, no_hints);
	dispatch_set(context, ID_CARD, on_card, NULL, no_hints);
	dispatch_set(context, ID_UNSET, on_unset, NULL, asynchronous);
	dispatch_set(context, ID_SUM, on_sum, NULL, asynchronous);
	run_barrier();
	objects_before_main();
	size_t_for_a_task();
	attributes_can_be_read();
	dispatch_limits();
	replies_from_dispatch();
	immediate_from_dispatch_never_fails();
	memory_nobody_registered();
	regions_without_end();
	longer_than_the_local_region();
	receives_with_unset_members();
	receive_with_a_sum();
	late_registration();
	ids_set_twice();
	work_objects();
	extensions_open();
	clients_with_one_name();
	time_and_texts();
	algorithm_lists();
	optimised_geometry();
	run_barrier();
	free(cards);
	return job_end(2);
}
