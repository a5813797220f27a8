/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages between all pairs of tasks, self included: every kind at every size around the
 * limits, order across kinds, what is immediate and what is not, messages for ids that are not set
 * yet, refusals. Rules R3, R4, R6 to R11 of docs/references.md.
 */
#include "tests/harness/pami_job.h"

static size_t immediate_max; /* 512, or QUINTORUS_IMMEDIATE */
#define IMMEDIATE immediate_max

enum {
	ID_PLAIN = 1,
	ID_ASYNC = 2,
	ID_ORDER = 3,
	ID_REPLY = 4,
	ID_LATE = 5,
	ID_FEW = 6,
	ID_SHMEM = 7,
	ID_TYPED = 8,
	ID_MAX = 1023
};

struct head {
	uint32_t task;
	uint32_t number;
	uint64_t data;
	unsigned char fill[];
};

static unsigned char *buffers[JOB_TASKS_MAX]; /* receive buffer of each sender */
static int received, stored, in_call;
static int to_receive, to_store; /* how many of them there will be */
static struct {
	uint32_t task, number;
	size_t bytes;
} storing[JOB_TASKS_MAX]; /* the receive under way from each task */

static const size_t sizes[] = {0,    1,    7,    8,    9,    100,   488,    489,
			       495,  496,  497,  500,  511,  512,   513,    1000,
			       1024, 4096, 8191, 8192, 8193, 16384, 100000, 1000003};
#define SIZES   (sizeof sizes / sizeof *sizes)
#define BIGGEST 1000003

static void stored_fn(pami_context_t c, void *cookie, pami_result_t result)
{
	uint32_t *task = cookie;

	CHECK(c == context);
	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(in_call, 0);
	CHECK_EQ(
	    count_different(buffers[*task], *task + storing[*task].number, storing[*task].bytes),
	    0);
	stored++;
}

/* Header: struct head and a pattern; data: the pattern of (task, number). */
static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	const struct head *h = header;
	int always_async = cookie != NULL;

	CHECK(c == context);
	CHECK_EQ(in_call, 0);
	CHECK(header_size >= sizeof *h);
	CHECK_EQ((uintptr_t)header % 8, 0);
	CHECK_EQ(origin, get_endpoint(h->task, 0));
	CHECK_EQ(data_size, h->data);
	CHECK_EQ(count_different(h->fill, h->number, header_size - sizeof *h), 0);
	CHECK_EQ(recv == NULL, !always_async && header_size + data_size <= IMMEDIATE);
	CHECK_EQ(pipe != NULL, recv == NULL);
	if (recv) {
		CHECK(!recv->local_fn && !recv->addr && recv->type == PAMI_TYPE_BYTE &&
		      !recv->offset && recv->data_fn == PAMI_DATA_COPY);
		recv->addr = buffers[h->task];
		recv->local_fn = stored_fn;
		recv->cookie = &storing[h->task].task;
		storing[h->task].task = h->task;
		storing[h->task].number = h->number;
		storing[h->task].bytes = data_size;
	} else {
		CHECK_EQ(count_different(pipe, h->task + h->number, data_size), 0);
	}
	received++;
}

static int locals, remotes;

static void local_fn(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(in_call, 0);
	CHECK_EQ(*(int *)cookie, 0); /* before remote */
	*(int *)cookie = 1;
	locals++;
}

static void remote_fn(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(in_call, 0);
	CHECK_EQ(*(int *)cookie, 1);
	*(int *)cookie = 2;
	remotes++;
}

/* One message of the given header and data bytes to `to`, from `from`, all waiting for its end. */
static void send_one(size_t from, size_t to, size_t id, size_t header, size_t data, uint32_t number)
{
	static unsigned char data_buffer[BIGGEST], head_buffer[70000];
	struct head *h = (struct head *)head_buffer;
	int state = 0, r0 = remotes;
	int async = id == ID_ASYNC || header + data > IMMEDIATE;

	if (me == from) {
		pami_send_t s = {.send = {.header = {h, header},
					  .data = {data_buffer, data},
					  .dispatch = id,
					  .dest = get_endpoint(to, 0)},
				 .events = {&state, local_fn, remote_fn}};

		memset(&s.send.hints, (int)number * 37, sizeof s.send.hints); /* any bits: R10 */
		*h = (struct head){(uint32_t)me, number, data};
		fill_pattern(h->fill, number, header - sizeof *h);
		fill_pattern(data_buffer, me + number, data);
		in_call = 1;
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		in_call = 0;
		memset(&s, 0xee, sizeof s);
		CHECK_EQ(state, 0);
		WAIT(remotes > r0);
		CHECK_EQ(state, 2);
		memset(data_buffer, 0, data < 4096 ? data : 4096);
	}
	if (me == to) {
		to_receive++;
		to_store += async;
		WAIT(received >= to_receive && stored >= to_store);
	}
}

static void every_size(void)
{
	uint32_t number = 0;

	for (size_t from = 0; from < tasks; from++)
		for (size_t to = 0; to < tasks; to++) {
			for (size_t i = 0; i < SIZES; i++) {
				size_t most = from && to ? 8193 : BIGGEST;

				if (sizes[i] > most)
					continue;
				send_one(from, to, ID_PLAIN, sizeof(struct head), sizes[i],
					 number++);
				if (sizes[i] <= 20000)
					send_one(from, to, ID_ASYNC, sizeof(struct head), sizes[i],
						 number++);
				send_one(from, to, ID_MAX, sizeof(struct head) + i % 9, sizes[i],
					 number++);
			}
			/* Long headers, alone and with data. */
			send_one(from, to, ID_PLAIN, 512, 0, number++);
			send_one(from, to, ID_PLAIN, 513, 0, number++);
			send_one(from, to, ID_PLAIN, 5000, 3000, number++);
			send_one(from, to, ID_PLAIN, 5000, 30000, number++);
			send_one(from, to, ID_PLAIN, 60000, 0, number++);
			run_barrier();
		}
}

static void immediate_edges(void)
{
	static unsigned char bytes[9000];

	for (size_t to = 0; to < tasks; to++)
		for (size_t header = sizeof(struct head); header <= IMMEDIATE;
		     header += 1 + IMMEDIATE / 17) {
			struct head *h = (struct head *)bytes;
			static unsigned char data[9000];
			pami_send_immediate_t s = {.header = {bytes, header},
						   .data = {data, IMMEDIATE - header},
						   .dispatch = ID_PLAIN,
						   .dest = get_endpoint(to, 0)};

			*h = (struct head){(uint32_t)me, (uint32_t)header, IMMEDIATE - header};
			fill_pattern(h->fill, header, header - sizeof *h);
			fill_pattern(data, me + header, IMMEDIATE - header);
			in_call = 1;
			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
			s.data.iov_len++;
			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
			s.data.iov_len = 0;
			s.header.iov_len = IMMEDIATE + 1;
			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
			s.header.iov_len = 0;
			s.data.iov_len = IMMEDIATE + 1;
			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
			s.data.iov_len = (size_t)-1;
			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
			in_call = 0;
			to_receive++; /* each task sends me as many as I send it */
		}
	WAIT(received >= to_receive);
	run_barrier();
	CHECK_EQ(received, to_receive);
	CHECK_EQ(stored, to_store);
}

/* ---- Order: random kinds, one stream a pair; replies from inside dispatch functions. ---- */

static uint32_t next_number[JOB_TASKS_MAX], replies;

static void on_order(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct head *h = header;
	struct head reply = {(uint32_t)me, h->number, 0};
	pami_send_immediate_t s = {
	    .header = {&reply, sizeof reply}, .dispatch = ID_REPLY, .dest = origin};

	CHECK_EQ(h->number, next_number[h->task]);
	next_number[h->task] = h->number + 1;
	if (recv)
		recv->addr = buffers[h->task];
	CHECK_EQ(PAMI_Send_immediate(c, &s), PAMI_SUCCESS);
}

static void on_reply(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	replies++;
}

static void order_is_kept(void)
{
	static unsigned char data[20000];
	enum { MESSAGES = 3000 };
	struct drv_rng rng;
	uint32_t sent[JOB_TASKS_MAX] = {0};
	int done = 0;

	run_barrier();
	drv_rng_seed(&rng, 42 + me);
	for (int i = 0; i < MESSAGES; i++) {
		size_t to = drv_rng_below(&rng, tasks);
		struct head h = {(uint32_t)me, sent[to]++, 0};
		size_t kind = drv_rng_below(&rng, 20);
		pami_send_t s = {.send = {.header = {&h, sizeof h},
					  .dispatch = ID_ORDER,
					  .dest = get_endpoint(to, 0)},
				 .events = {&done, NULL, NULL}};

		if (kind < 17) {
			s.send.data = (struct iovec){data, drv_rng_below(&rng, 400)};
			in_call = 1;
			CHECK_EQ(PAMI_Send_immediate(context, &s.send), PAMI_SUCCESS);
			in_call = 0;
		} else {
			/* The header must stay: wait for local completion of these. */
			int local = 0;

			s.send.data = (struct iovec){data, kind == 17   ? 400
							   : kind == 18 ? 3000
									: 20000};
			s.events = (pami_send_event_t){&local, flag_done, NULL};
			CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
			if (kind == 18) {
				WAIT(local);
			} else {
				/* later messages must not pass it */
				struct head h2 = {(uint32_t)me, sent[to]++, 0};
				pami_send_immediate_t n = {.header = {&h2, sizeof h2},
							   .dispatch = ID_ORDER,
							   .dest = get_endpoint(to, 0)};

				CHECK_EQ(PAMI_Send_immediate(context, &n), PAMI_SUCCESS);
				WAIT(local);
			}
		}
	}
	for (size_t t = 0, all = 0; t < tasks; t++) {
		all += sent[t];
		if (t + 1 == tasks)
			WAIT(replies >= all);
	}
	run_barrier();
}

/* ---- A burst beyond every FIFO: nothing is lost, nothing calls back. ---- */

static int few;

static void on_few(pami_context_t c, void *cookie, const void *header, size_t header_size,
		   const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_EQ(in_call, 0);
	few++;
}

static void bursts_queue(void)
{
	enum { BURST = 20000 };
	static char data[64];

	run_barrier();
	in_call = 1;
	for (int i = 0; i < BURST; i++) {
		pami_send_immediate_t s = {.data = {data, sizeof data},
					   .dispatch = ID_FEW,
					   .dest = get_endpoint((me + 1) % tasks, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	in_call = 0;
	WAIT(few >= BURST);
	CHECK_EQ(few, BURST);
	run_barrier();
}

/* ---- Ids that are set late. ---- */

static int late, late_stored;

static void late_done(pami_context_t c, void *cookie, pami_result_t result)
{
	late_stored++;
}

static void on_late(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint32_t n;

	CHECK_EQ(header_size, sizeof n);
	memcpy(&n, header, sizeof n);
	CHECK_EQ(n, late);
	CHECK_EQ(recv == NULL, data_size + sizeof n <= IMMEDIATE);
	if (recv) {
		recv->addr = buffers[0] + 30000 * n;
		recv->local_fn = late_done;
	} else {
		CHECK_EQ(count_different(pipe, n, data_size), 0);
	}
	late++;
}

static void late_ids(void)
{
	static unsigned char data[6][20000];
	static const size_t bytes[6] = {100, 508, 9000, 20000, 60, 0};
	pami_dispatch_hint_t hint = {0};
	uint32_t header[6];
	int remote = 0;

	if (me == 0 && tasks > 1) { /* the others set it; task 0 receives without */
		pami_send_immediate_t s = {.dispatch = ID_LATE, .dest = get_endpoint(1, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
	}
	if (me)
		dispatch_set(context, ID_LATE, on_late, NULL, hint);
	run_barrier();
	for (uint32_t i = 0; i < 6 && me == 1; i++) {
		pami_send_t s = {.send = {.header = {&header[i], 4},
					  .data = {data[i], bytes[i]},
					  .dispatch = ID_LATE,
					  .dest = get_endpoint(0, 0)},
				 .events = {&remote, NULL, flag_done}};

		header[i] = i;
		fill_pattern(data[i], i, bytes[i]);
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	}
	run_barrier(); /* passes the held ones: an internal id */
	if (me == 0 && tasks > 1) {
		CHECK_EQ(late, 0);
		dispatch_set(context, ID_LATE, on_late, NULL, hint);
		CHECK_EQ(late, 0); /* not from inside the call */
		WAIT(late == 6 && late_stored == 2);
		CHECK_EQ(count_different(buffers[0] + 60000, 2, 9000), 0);
		CHECK_EQ(count_different(buffers[0] + 90000, 3, 20000), 0);
	}
	if (me == 1)
		WAIT(remote == 6);
	run_barrier();
}

/* ---- Typed sends and receives, with a reduction at the target. ---- */

static double sums[300];
static int typed;

static void typed_done(pami_context_t c, void *cookie, pami_result_t result)
{
	typed++;
}

static void on_typed(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK(recv != NULL);
	recv->addr = sums;
	recv->type = *(pami_type_t *)cookie;
	recv->data_fn = PAMI_DATA_SUM;
	recv->local_fn = typed_done;
}

static void typed_messages(void)
{
	static double source[400];
	pami_dispatch_hint_t hint = {.recv_immediate = PAMI_HINT_DISABLE};
	pami_type_t every_other, thirds;
	int done = 0;

	CHECK_EQ(PAMI_Type_create(&every_other), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_typed(every_other, PAMI_TYPE_DOUBLE, 0, 1, 16), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(every_other, 8), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_create(&thirds), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_typed(thirds, PAMI_TYPE_DOUBLE, 8, 1, 16), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(thirds, 8), PAMI_SUCCESS);
	dispatch_set(context, ID_TYPED, on_typed, &thirds, hint);
	for (int i = 0; i < 400; i++)
		source[i] = i;
	for (int i = 0; i < 300; i++)
		sums[i] = 1000;
	run_barrier();
	for (int n = 10; n <= 100; n += 90) {
		pami_send_typed_t s = {.send = {.data = {source, (size_t)n * 8},
						.dispatch = ID_TYPED,
						.dest = get_endpoint((me + 1) % tasks, 0)},
				       .events = {&done, flag_done, flag_done},
				       .typed = {every_other, 8, PAMI_DATA_COPY, NULL}};

		CHECK_EQ(PAMI_Send_typed(context, &s), PAMI_SUCCESS);
	}
	CHECK_EQ(PAMI_Type_destroy(&every_other), PAMI_SUCCESS);
	CHECK(every_other == PAMI_TYPE_NULL);
	WAIT(done == 4 && typed == 2);
	for (int i = 0; i < 100; i++) { /* stream element i is source[2 i + 2] */
		double more = i < 10 ? 2 * (2 * i + 2) : 2 * i + 2;

		CHECK(sums[3 * i] == 1000 && sums[3 * i + 2] == 1000);
		CHECK(sums[3 * i + 1] == 1000 + more);
	}
	CHECK_EQ(PAMI_Type_destroy(&thirds), PAMI_SUCCESS);
	run_barrier();
}

static void wrong_sends_are_refused(void)
{
	pami_dispatch_hint_t hint = {0};
	pami_dispatch_callback_function f = {.p2p = on_few}, none = {.p2p = NULL};
	pami_send_immediate_t s = {.dispatch = 999, .dest = get_endpoint(0, 0)};
	pami_configuration_t q[3] = {{.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX},
				     {.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX},
				     {.name = PAMI_DISPATCH_ATOM_SIZE_MAX}};
	char text[200];

	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
	CHECK(PAMI_Error_text(text, sizeof text) > 5);
	CHECK_EQ(PAMI_Error_text(text, 5), 4);
	CHECK_EQ(strlen(text), 4);
	CHECK_EQ(PAMI_Send(context, &(pami_send_t){.send = s}), PAMI_INVAL);
	s.dispatch = ID_FEW;
	s.dest = get_endpoint(tasks, 0);
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
	s.dest = PAMI_ENDPOINT_NULL;
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
	s.dispatch = (size_t)-1;
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_INVAL);
	CHECK_EQ(PAMI_Dispatch_set(context, ID_FEW, f, NULL, hint), PAMI_INVAL); /* set already */
	CHECK_EQ(PAMI_Dispatch_set(context, 1024, f, NULL, hint), PAMI_INVAL);
	CHECK_EQ(PAMI_Dispatch_set(context, 900, none, NULL, hint), PAMI_INVAL);
	/* The id stayed free. */
	CHECK_EQ(PAMI_Dispatch_set(context, 900, f, NULL, hint), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Dispatch_query(context, 7, q, 3), PAMI_SUCCESS);
	CHECK_EQ(q[0].value.intval,
		 getenv("QUINTORUS_IMMEDIATE") ? atoi(getenv("QUINTORUS_IMMEDIATE")) : 512);
	CHECK_EQ(q[1].value.intval, q[0].value.intval);
	CHECK_EQ(q[2].value.intval, 128);
	CHECK_EQ(PAMI_Dispatch_query(context, 1024, q, 3), PAMI_INVAL);
	q[0].name = PAMI_CLIENT_TASK_ID;
	CHECK_EQ(PAMI_Dispatch_query(context, 7, q, 1), PAMI_INVAL);
	for (unsigned bits = 0; bits < 64; bits++) { /* any hint: R11 */
		unsigned pattern = bits * 0x10410411u;

		memcpy(&hint, &pattern, sizeof hint);
		CHECK_EQ(PAMI_Dispatch_set(context, 100 + bits, f, NULL, hint), PAMI_SUCCESS);
	}
}

/* use_shmem ENABLE reaches tasks of the node and refuses others. */
static void shmem_hint(void)
{
	pami_configuration_t q = {.name = PAMI_CLIENT_LOCAL_TASKS};
	size_t locals_n = client_value(PAMI_CLIENT_NUM_LOCAL_TASKS);

	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_SUCCESS);
	for (size_t t = 0; t < tasks; t++) {
		pami_send_immediate_t s = {.dispatch = ID_SHMEM, .dest = get_endpoint(t, 0)};
		int local = 0;

		for (size_t i = 0; i < locals_n; i++)
			local |= q.value.intarray[i] == t;
		CHECK_EQ(PAMI_Send_immediate(context, &s), local ? PAMI_SUCCESS : PAMI_INVAL);
	}
	run_barrier();
}

int main(void)
{
	pami_dispatch_hint_t none = {0}, async = {.recv_immediate = PAMI_HINT_DISABLE},
			     shmem = {.use_shmem = PAMI_HINT_ENABLE};

	pami_configuration_t q = {.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX};

	job_begin(1);
	CHECK_EQ(PAMI_Dispatch_query(context, 0, &q, 1), PAMI_SUCCESS);
	immediate_max = q.value.intval;
	for (size_t t = 0; t < tasks; t++)
		buffers[t] = malloc(BIGGEST + 120000);
	dispatch_set(context, ID_PLAIN, on_message, NULL, none);
	dispatch_set(context, ID_MAX, on_message, NULL, none);
	dispatch_set(context, ID_ASYNC, on_message, &async, async);
	dispatch_set(context, ID_ORDER, on_order, NULL, none);
	dispatch_set(context, ID_REPLY, on_reply, NULL, none);
	dispatch_set(context, ID_FEW, on_few, NULL, none);
	dispatch_set(context, ID_SHMEM, on_reply, NULL, shmem);
	every_size();
	immediate_edges();
	order_is_kept();
	bursts_queue();
	late_ids();
	typed_messages();
	wrong_sends_are_refused();
	shmem_hint();
	for (size_t t = 0; t < tasks; t++)
		free(buffers[t]);
	return job_end(1);
}
