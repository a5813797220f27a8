/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_place: messages of every size that are assembled in place arrive whole, shortened
 * ones too, in order with messages that are sent as usual, and with several places open at once.
 * Framed messages of all lengths arrive whole, and stay as they are until they are complete.
 */
#include "pami/ext_place.h"
#include "tests/harness/pami_job.h"

enum { ID = 1, FRAMED, PACKET = 512, ROUNDS = 400, FRAMED_ROUNDS = 100 };

static pami_quintorus_reserve_fn reserve;
static pami_quintorus_commit_fn commit;
static pami_quintorus_words_fn words;
static pami_quintorus_padded_fn padded;
static pami_quintorus_framed_fn framed;
static struct drv_rng rng;
static uint64_t received[JOB_TASKS_MAX], sent[JOB_TASKS_MAX];
static size_t in_place;

/* The header's first word: the number of the message, and the length of the data. */
struct head {
	uint32_t number, bytes;
};

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	struct head h;
	size_t from, offset;
	int wrong = 0;

	PAMI_Endpoint_query(origin, &from, &offset);
	memcpy(&h, header, sizeof(h));
	CHECK(!recv);
	CHECK_EQ(h.number, received[from]);
	CHECK_EQ(h.bytes, data_bytes);
	for (size_t i = sizeof(h); i < header_bytes; i++)
		wrong += ((const unsigned char *)header)[i] != pattern_byte(h.number, i);
	for (size_t i = 0; i < data_bytes; i++)
		wrong += ((const unsigned char *)pipe)[i] != pattern_byte(h.number, i);
	CHECK_EQ(wrong, 0);
	received[from]++;
}

static void write_message(void *header, size_t header_bytes, void *data, size_t bytes,
			  uint32_t number)
{
	struct head h = {number, (uint32_t)bytes};

	fill_pattern(header, number, header_bytes);
	memcpy(header, &h, sizeof(h));
	fill_pattern(data, number, bytes);
}

static void send_usual(size_t to, size_t header_bytes, size_t bytes)
{
	unsigned char header[PACKET], data[PACKET];
	pami_send_immediate_t s = {
	    .header = {header, header_bytes}, .data = {data, bytes}, .dispatch = ID};

	PAMI_Endpoint_create(client, (pami_task_t)to, 0, &s.dest);
	write_message(header, header_bytes, data, bytes, (uint32_t)sent[to]++);
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
}

/* A place for a message to the task, or 0. */
static int open_place(pami_quintorus_place_t *p, size_t to, size_t header_bytes, size_t bytes)
{
	*p = (pami_quintorus_place_t){
	    .dispatch = ID, .header_bytes = header_bytes, .data_bytes = bytes};
	PAMI_Endpoint_create(client, (pami_task_t)to, 0, &p->dest);
	if (reserve(context, p) != PAMI_SUCCESS)
		return 0;
	CHECK_EQ((uintptr_t)p->header % 8, 0);
	CHECK_EQ((char *)p->data - (char *)p->header, (header_bytes + 7) & ~(size_t)7);
	in_place++;
	return 1;
}

static void send_one(size_t to)
{
	size_t header = sizeof(struct head) + drv_rng_below(&rng, 40);
	size_t most = PACKET - ((header + 7) & ~(size_t)7), bytes = drv_rng_below(&rng, most + 1);
	size_t shorter = drv_rng_below(&rng, 3) ? bytes : drv_rng_below(&rng, bytes + 1);
	pami_quintorus_place_t p;

	if (!drv_rng_below(&rng, 3) || !open_place(&p, to, header, bytes)) {
		send_usual(to, header, bytes);
		return;
	}
	write_message(p.header, header, p.data, shorter, (uint32_t)sent[to]++);
	commit(context, &p, shorter);
}

/* Places to all tasks are open at once, and progress goes on; they are committed backwards. */
static void send_all(void)
{
	pami_quintorus_place_t p[JOB_TASKS_MAX];
	int is_open[JOB_TASKS_MAX];

	for (size_t t = 0; t < tasks; t++)
		is_open[t] = open_place(&p[t], t, 16, 100);
	PAMI_Context_advance(context, 10);
	for (size_t t = tasks; t-- > 0;) {
		if (!is_open[t]) {
			send_usual(t, 16, 100);
			continue;
		}
		write_message(p[t].header, 16, p[t].data, 50, (uint32_t)sent[t]++);
		commit(context, &p[t], 50);
	}
}

/* A message of whole words at once. */
static void send_words(size_t to)
{
	uint64_t header, data[PACKET / 8 - 1];
	size_t count = drv_rng_below(&rng, PACKET / 8);

	write_message(&header, sizeof(header), data, count * 8, (uint32_t)sent[to]);
	if (words(context, get_endpoint(to, 0), ID, header, data, count) == PAMI_SUCCESS)
		sent[to]++;
	else
		send_usual(to, sizeof(header), count * 8);
}

/* A message with a header of several words at once, and data of any length. */
static void send_padded(size_t to)
{
	_Alignas(8) unsigned char data[PACKET];
	uint64_t header[PACKET / 8];
	size_t count = 1 + drv_rng_below(&rng, 9);
	size_t bytes = drv_rng_below(&rng, PACKET - count * 8 + 1);

	write_message(header, count * 8, data, bytes, (uint32_t)sent[to]);
	if (padded(context, get_endpoint(to, 0), ID, header, count, data, bytes) == PAMI_SUCCESS)
		sent[to]++;
	else
		send_usual(to, count * 8, bytes);
}

static void check_refusals(void)
{
	pami_quintorus_place_t p = {.dispatch = ID, .header_bytes = 8, .data_bytes = PACKET};
	uint64_t line[PACKET / 8] = {0};

	CHECK_EQ(padded(NULL, get_endpoint(me, 0), ID, line, 1, line, 8), PAMI_EAGAIN);
	CHECK_EQ(padded(context, get_endpoint(me, 0), ID + 1, line, 1, line, 8), PAMI_EAGAIN);
	CHECK_EQ(padded(context, get_endpoint(me, 0), ID, line, 0, line, 8), PAMI_EAGAIN);
	CHECK_EQ(padded(context, get_endpoint(me, 0), ID, line, 1, line, PACKET), PAMI_EAGAIN);
	CHECK_EQ(padded(context, get_endpoint(me, 0), ID, line, PACKET / 8 + 1, line, 0),
		 PAMI_EAGAIN);
	PAMI_Endpoint_create(client, (pami_task_t)me, 0, &p.dest);
	CHECK_EQ(reserve(context, &p), PAMI_EAGAIN); /* too long */
	p.data_bytes = 8;
	p.dispatch = ID + 1; /* not set */
	CHECK_EQ(reserve(context, &p), PAMI_EAGAIN);
	p.dispatch = ID;
	p.dest = (pami_endpoint_t)(tasks << 6); /* nobody */
	CHECK_EQ(reserve(context, &p), PAMI_EAGAIN);
	CHECK_EQ(reserve(NULL, &p), PAMI_EAGAIN);
	CHECK_EQ(reserve(context, NULL), PAMI_EAGAIN);
	CHECK_EQ(words(NULL, get_endpoint(me, 0), ID, 0, NULL, 0), PAMI_EAGAIN);
	CHECK_EQ(words(context, get_endpoint(me, 0), ID + 1, 0, NULL, 0), PAMI_EAGAIN);
	CHECK_EQ(words(context, get_endpoint(me, 0), ID, 0, NULL, PACKET / 8), PAMI_EAGAIN);
}

/* ---- framed ---- */

struct framed {
	struct head head;
	unsigned char *data; /* NULL: a dispatch with all data */
};
static uint64_t framed_sent, framed_complete, framed_received;

static void check_framed(const struct head *h, const void *data)
{
	CHECK_EQ(count_different(data, h->number, h->bytes), 0);
	framed_received++;
}

static void on_framed_data(pami_context_t c, void *cookie, pami_result_t result)
{
	struct framed *f = cookie;

	CHECK_EQ(result, PAMI_SUCCESS);
	check_framed(&f->head, f->data);
	free(f->data);
	free(f);
}

static void on_framed(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		      const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		      pami_recv_t *recv)
{
	struct framed *f = calloc(1, sizeof(*f));

	REQUIRE(f);
	memcpy(&f->head, header, sizeof(f->head));
	CHECK_EQ(f->head.bytes, data_bytes);
	for (size_t i = sizeof(f->head); i < header_bytes; i++)
		CHECK_EQ(((const unsigned char *)header)[i], pattern_byte(f->head.number, i));
	if (!recv) {
		check_framed(&f->head, pipe);
		free(f);
		return;
	}
	f->data = malloc(data_bytes + 1);
	REQUIRE(f->data);
	recv->addr = f->data;
	recv->local_fn = on_framed_data;
	recv->cookie = f;
}

/* One message under way: the room, the header, the data. */
struct outgoing {
	size_t header_bytes, bytes;
	struct head head;
	unsigned char memory[];
};

static void on_framed_sent(pami_context_t c, void *cookie, pami_result_t result)
{
	struct outgoing *o = cookie;
	unsigned char *header = o->memory + PAMI_QUINTORUS_FRAME;

	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(memcmp(header, &o->head, sizeof(o->head)), 0);
	CHECK_EQ(count_different(header + o->header_bytes, o->head.number, o->bytes), 0);
	framed_complete++;
	free(o);
}

static void send_framed(size_t to)
{
	size_t header_bytes = sizeof(struct head) + drv_rng_below(&rng, 200),
	       bytes = drv_rng_below(&rng, 1u << drv_rng_below(&rng, 20));
	struct outgoing *o = malloc(sizeof(*o) + PAMI_QUINTORUS_FRAME + header_bytes + bytes);
	unsigned char *header = o->memory + PAMI_QUINTORUS_FRAME;
	pami_send_t s = {.send = {.header = {header, header_bytes},
				  .data = {header + header_bytes, bytes},
				  .dispatch = FRAMED,
				  .dest = get_endpoint(to, 0)},
			 .events = {.cookie = o, .local_fn = on_framed_sent}};

	REQUIRE(o);
	o->header_bytes = header_bytes;
	o->bytes = bytes;
	o->head = (struct head){(uint32_t)framed_sent++, (uint32_t)bytes};
	write_message(header, header_bytes, header + header_bytes, bytes, o->head.number);
	CHECK_EQ(framed(context, &s), PAMI_SUCCESS);
}

static void run_framed(int rounds)
{
	unsigned char memory[64] = {0};
	pami_send_t apart = {.send = {.header = {memory + PAMI_QUINTORUS_FRAME, 8},
				      .data = {memory + PAMI_QUINTORUS_FRAME + 9, 8},
				      .dispatch = FRAMED,
				      .dest = get_endpoint(me, 0)}};

	CHECK_EQ(framed(context, &apart), PAMI_INVAL);
	CHECK_EQ(framed(context, NULL), PAMI_INVAL);
	for (int i = 0; i < rounds; i++)
		for (size_t t = 0; t < tasks; t++) {
			send_framed((me + t) % tasks);
			PAMI_Context_advance(context, 1);
		}
	/* Everybody sends as many to each. */
	WAIT(framed_complete == framed_sent && framed_received == framed_sent);
}

int main(int argc, char **argv)
{
	pami_dispatch_callback_function fn = {.p2p = on_message};
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	pami_extension_t e;

	job_begin(1);
	drv_rng_seed(&rng, me + 1);
	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_PLACE, &e), PAMI_SUCCESS);
	reserve = (pami_quintorus_reserve_fn)PAMI_Extension_symbol(e, "reserve");
	commit = (pami_quintorus_commit_fn)PAMI_Extension_symbol(e, "commit");
	words = (pami_quintorus_words_fn)PAMI_Extension_symbol(e, "words");
	padded = (pami_quintorus_padded_fn)PAMI_Extension_symbol(e, "padded");
	framed = (pami_quintorus_framed_fn)PAMI_Extension_symbol(e, "framed");
	CHECK(reserve && commit && words && padded && framed);
	PAMI_Dispatch_set(context, ID, fn, NULL, (pami_dispatch_hint_t){0});
	fn.p2p = on_framed;
	PAMI_Dispatch_set(context, FRAMED, fn, NULL, (pami_dispatch_hint_t){0});
	run_barrier();
	check_refusals();
	for (int i = 0; i < (is_virtual ? 40 : ROUNDS); i++) {
		for (size_t t = 0; t < tasks; t++)
			send_one((me + t) % tasks);
		for (size_t t = 0; i % 4 == 0 && t < tasks; t++)
			send_words(t);
		for (size_t t = 0; t < tasks; t++)
			send_padded(t);
		if (i % 5 == 0)
			send_all();
		PAMI_Context_advance(context, 1);
	}
	for (size_t t = 0; t < tasks; t++) /* everybody sends as many */
		WAIT(received[t] == sent[t]);
	/* There is no place while earlier messages queue, so a slow machine may not have had one.
	 */
	for (int i = 0; !is_virtual && !in_place && i < 100000; i++) {
		send_one(me);
		WAIT(received[me] == sent[me]);
	}
	CHECK(is_virtual ? !in_place : in_place > 0);
	run_framed(is_virtual ? 10 : FRAMED_ROUNDS);
	run_barrier();
	return job_end(1);
}
