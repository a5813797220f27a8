/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every data size x header size x hint x type, from each task to the next; the configurations of
 * pami_job.sh give the devices. In virtual time and under a sanitizer one in several,
 * other ones for each number of tasks, unless QT_LONG=1. Messages arrive in order, so the receiver
 * knows what must come.
 */
#include "tests/harness/pami_job.h"

static const size_t data_sizes[] = {0,   1,   7,    8,    100,  127,  128,  129,   400,   504,  511,
				    512, 513, 1000, 4096, 7680, 8192, 8193, 20000, 65536, 70001};
static const size_t header_sizes[] = {0, 1, 3, 8, 100, 128, 129, 505, 512, 513, 2000, 9000};
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum sender { PLAIN, IMMEDIATE, GAPS_SENT, SENDERS };
enum {
	HINT_NONE,
	HINT_ASYNCHRONOUS,
	HINT_CONTIGUOUS,
	HINT_COPY,
	HINT_NO_QUEUE,
	HINT_GAPS_STORED,
	HINTS
};

struct combination {
	size_t data, header;
	unsigned hint, sender;
};

static pami_type_t gaps;               /* 3 bytes, 5 bytes gap */
static size_t step = 1, immediate_max; /* else prime to all counts, so each value meets each */
static unsigned next_in;               /* combination the neighbour's next message is */
static unsigned stored;

/* The n-th; 0: there are no more. */
static int choose_combination(unsigned n, struct combination *c)
{
	size_t k = (size_t)n * step + tasks % step;

	c->sender = k % SENDERS;
	c->hint = k / SENDERS % HINTS;
	c->header = header_sizes[k / SENDERS / HINTS % COUNT(header_sizes)];
	c->data = k / SENDERS / HINTS / COUNT(header_sizes) < COUNT(data_sizes)
		      ? data_sizes[k / SENDERS / HINTS / COUNT(header_sizes)]
		      : 0;
	if (c->sender == IMMEDIATE && c->header + c->data > immediate_max)
		c->sender = PLAIN;
	return k < COUNT(data_sizes) * COUNT(header_sizes) * HINTS * SENDERS;
}

struct landing {
	struct combination c;
	unsigned number;
	unsigned char data[];
};

static void note_landed(pami_context_t ctx, void *cookie, pami_result_t result)
{
	struct landing *l = cookie;
	size_t bad = 0;

	CHECK_EQ(result, PAMI_SUCCESS);
	for (size_t i = 0; i < l->c.data; i++)
		bad += l->data[l->c.hint == HINT_GAPS_STORED ? i / 3 * 8 + i % 3 : i] !=
		       pattern_byte(l->number, i);
	if (bad)
		fprintf(stderr, "combination %u: data %zu header %zu hint %u sender %u\n",
			l->number, l->c.data, l->c.header, l->c.hint, l->c.sender);
	CHECK_EQ(bad, 0);
	stored++;
	free(l);
}

static void on_message(pami_context_t ctx, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	unsigned number = next_in++;
	struct combination c;
	struct landing *l;

	CHECK(choose_combination(number, &c));
	CHECK_EQ((uintptr_t)cookie, c.hint);
	CHECK_EQ(header_size, c.header);
	CHECK_EQ(n, c.data);
	CHECK_EQ(count_different(header, number + 1, header_size), 0);
	CHECK_EQ((uintptr_t)header % 8, 0);
	/* Exact at the edge. */
	CHECK_EQ(recv == NULL, c.hint != HINT_ASYNCHRONOUS && c.hint != HINT_GAPS_STORED &&
				   header_size + n <= immediate_max);
	CHECK((pipe != NULL) == (recv == NULL));
	if (!recv) {
		CHECK_EQ(count_different(pipe, number, n), 0);
		stored++;
		return;
	}
	l = malloc(sizeof *l + n * 3 + 8);
	l->c = c;
	l->number = number;
	recv->cookie = l;
	recv->local_fn = note_landed;
	recv->addr = l->data;
	if (c.hint == HINT_GAPS_STORED)
		recv->type = gaps;
	if (c.hint == HINT_CONTIGUOUS) {
		recv->type = (pami_type_t)0x1234; /* left unset: rubbish */
		recv->offset = 77;
	}
	if (c.hint == HINT_COPY) {
		recv->data_fn = (pami_data_function)(uintptr_t)0x1234;
		recv->data_cookie = (void *)1;
	}
}

#define FLYING 16

static struct flying {
	unsigned char header[9000], data[70001 * 3];
	int local, remote;
} flying[FLYING];

static void local_fn(pami_context_t ctx, void *cookie, pami_result_t result)
{
	struct flying *f = cookie;

	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(f->remote, 0);
	f->local++;
}

static void remote_fn(pami_context_t ctx, void *cookie, pami_result_t result)
{
	struct flying *f = cookie;

	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(f->local, 1);
	f->remote++;
}

static void send_combination(unsigned number, const struct combination *c, struct flying *f)
{
	pami_send_t s = {.send = {.header = {c->header ? f->header : NULL, c->header},
				  .data = {c->data ? f->data : NULL, c->data},
				  .dispatch = c->hint,
				  .dest = get_endpoint((me + 1) % tasks, 0)},
			 .events = {f, local_fn, remote_fn}};

	memset(&s.send.hints, (int)number, sizeof s.send.hints);
	fill_pattern(f->header, number + 1, c->header);
	f->local = f->remote = 0;
	if (c->sender == GAPS_SENT) {
		pami_send_typed_t t = {s.send, s.events, {gaps, 0, PAMI_DATA_COPY, NULL}};

		for (size_t i = 0; i < c->data; i++)
			f->data[i / 3 * 8 + i % 3] = pattern_byte(number, i);
		CHECK_EQ(PAMI_Send_typed(context, &t), PAMI_SUCCESS);
		return;
	}
	fill_pattern(f->data, number, c->data);
	if (c->sender == PLAIN) {
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		return;
	}
	for (;;) {
		pami_result_t result = PAMI_Send_immediate(context, &s.send);

		if (result == PAMI_SUCCESS)
			break;
		CHECK(result == PAMI_EAGAIN && c->hint == HINT_NO_QUEUE);
		PAMI_Context_advance(context, 1);
	}
	memset(f->header, 0, c->header); /* the caller's again */
	memset(f->data, 0, c->data);
	f->local = f->remote = 1;
}

int main(int argc, char **argv)
{
	static const pami_dispatch_hint_t hint[HINTS] = {
	    [HINT_NONE] = {.consistency = PAMI_HINT_ENABLE},
	    [HINT_ASYNCHRONOUS] = {.recv_immediate = PAMI_HINT_DISABLE},
	    [HINT_CONTIGUOUS] = {.recv_contiguous = PAMI_HINT_ENABLE},
	    [HINT_COPY] = {.recv_copy = PAMI_HINT_ENABLE, .use_rdma = PAMI_HINT_DISABLE},
	    [HINT_NO_QUEUE] = {.queue_immediate = PAMI_HINT_DISABLE,
			       .use_shmem = PAMI_HINT_DISABLE},
	    [HINT_GAPS_STORED] = {.recv_immediate = PAMI_HINT_DISABLE,
				  .long_header = PAMI_HINT_ENABLE},
	};
	pami_configuration_t q = {.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX};
	struct combination c;
	unsigned n = 0;

	if (argc > 1 && !strcmp(argv[1], "virtual")) /* fewer */
		step = 11;
	if (job_is_sanitized())
		step = 23;
	if (job_long())
		step = 1;
	job_begin(1);
	CHECK_EQ(PAMI_Dispatch_query(context, 0, &q, 1), PAMI_SUCCESS);
	immediate_max = q.value.intval;
	CHECK_EQ(PAMI_Type_create(&gaps), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(gaps, 3, 0, 1, 8), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(gaps, 1), PAMI_SUCCESS);
	for (unsigned i = 0; i < HINTS; i++)
		dispatch_set(context, i, on_message, (void *)(uintptr_t)i, hint[i]);
	for (unsigned i = 0; i < FLYING; i++)
		flying[i].local = flying[i].remote = 1;
	run_barrier();
	for (; choose_combination(n, &c); n++) {
		struct flying *f = &flying[n % FLYING];

		WAIT(f->local && f->remote);
		CHECK(f->local == 1 && f->remote == 1);
		send_combination(n, &c, f);
	}
	for (unsigned i = 0; i < FLYING; i++)
		WAIT(flying[i].local && flying[i].remote);
	WAIT(stored == n);
	CHECK_EQ(next_in, n);
	run_barrier();
	CHECK_EQ(PAMI_Type_destroy(&gaps), PAMI_SUCCESS);
	return job_end(1);
}
