/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task sends packets that no library sends: lengths beyond their packet, answers to what nobody
 * asked, credits that are not out, ranks of nobody. Each is refused at the target, which goes on.
 * Linked with the library's inside.
 */
#include "mu/hw/desc_build.h"
#include "mu/mu.h"
#include "mu/process.h"
#include "mu/raw.h"
#include "pami/coll/coll.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/ext_credit.h"
#include "pami/geometry/geometry.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/request.h"
#include "pami/p2p/wire.h"
#include "tests/harness/pami_job.h"

#define ID 1

static size_t received, longest;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	received++;
	longest = header_bytes > longest ? header_bytes : longest;
}

/* Hand a packet to the receiving function as if task 1 - me had sent it. */
static void forge(struct pami_wire wire, const void *payload, uint32_t bytes)
{
	unsigned char *copy = malloc(bytes ? bytes : 1);

	REQUIRE(copy);
	if (bytes)
		memcpy(copy, payload, bytes);
	pami_receive(context, (uint32_t)(1 - me), (const unsigned char *)&wire, copy, bytes, 0);
	free(copy);
}

static struct pami_wire short_wire(uint16_t dispatch, uint16_t header, uint32_t data)
{
	return (struct pami_wire){
	    .kind = PAMI_WIRE_SHORT, .dispatch = dispatch, .header = header, .data = data};
}

/* The dispatch function is not told of bytes that did not come. */
static void lengths_beyond_the_packet(void)
{
	char bytes[64] = "";

	forge(short_wire(ID, 0, 0), NULL, 0);
	forge(short_wire(ID, 17, 0), bytes, 17);
	forge(short_wire(ID, 8, 56), bytes, 64);
	CHECK_EQ(received, 3);
	forge(short_wire(ID, UINT16_MAX, 0), bytes, 64);
	forge(short_wire(ID, 65, 0), bytes, 64);
	forge(short_wire(ID, 8, 57), bytes, 64);
	forge(short_wire(ID, 8, UINT32_MAX - 1), bytes, 64);
	forge(short_wire(PAMI_DISPATCH_IDS, 8, 8), bytes, 64);
	CHECK_EQ(received, 3);
	CHECK_EQ(longest, 17);
}

static void count_answer(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	++*(int *)r->user;
}

/* The answer to a typed get names a request that is no typed get. */
static void answers_to_nothing(void)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_request *r = pami_request_new(ctx);
	uint32_t got[2] = {0};
	int answers = 0;

	REQUIRE(r);
	r->answer = count_answer;
	r->user = &answers;
	r->buffer = malloc(8);
	r->task = (uint32_t)(1 - me);
	got[0] = r->token;
	forge(short_wire(PAMI_DISPATCH_GOT, sizeof got, 0), got, sizeof got);
	got[0] = r->token + 1;
	forge(short_wire(PAMI_DISPATCH_GOT, sizeof got, 0), got, sizeof got);
	CHECK_EQ(answers, 0);
	pami_request_free(r);
}

/* Typed gets whose answers are longer, shorter and from another task. */
static void answers_of_another_length(void)
{
	static double local[8], remote[8];
	pami_type_t every_second;
	pami_get_typed_t get = {.rma = {.dest = get_endpoint(me, 0), .bytes = 32},
				.addr = {local, remote}};
	struct {
		uint32_t token, error;
		double data[8];
	} got = {0};
	int done = 0;

	CHECK_EQ(PAMI_Type_create(&every_second), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(every_second, 8, 0, 4, 16), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(every_second, 1), PAMI_SUCCESS);
	get.type = (pami_rma_typed_t){every_second, every_second};
	get.rma.done_fn = flag_done;
	get.rma.cookie = &done;
	for (int i = 0; i < 8; i++)
		remote[i] = i + 1;
	CHECK_EQ(PAMI_Get_typed(context, &get), PAMI_SUCCESS);
	for (int i = 0; i < 8; i++)
		got.data[i] = -1;
	for (got.token = 1; got.token < 512; got.token++) {
		forge(short_wire(PAMI_DISPATCH_GOT, 8, 64), &got, 72);
		forge(short_wire(PAMI_DISPATCH_GOT, 8, 32), &got, 40);
	}
	CHECK_EQ(done, 0);
	WAIT(done);
	for (int i = 0; i < 8; i++)
		CHECK(local[i] == (i % 2 ? 0 : i + 1));
	CHECK_EQ(PAMI_Type_destroy(&every_second), PAMI_SUCCESS);
}

/* More credits than are out would stop the sender for ever. */
static void credits_that_are_not_out(void)
{
	static pami_quintorus_credit_t credit[2];
	pami_quintorus_credit_open_fn open_credit;
	uint32_t back = 3;
	pami_extension_t e;

	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_CREDIT, &e), PAMI_SUCCESS);
	open_credit = (pami_quintorus_credit_open_fn)PAMI_Extension_symbol(e, "open");
	CHECK_EQ(open_credit(context, credit, sizeof credit[0], 8), PAMI_SUCCESS);
	CHECK(pami_quintorus_credit_take(&credit[1 - me], 8, 2));
	forge(short_wire(PAMI_DISPATCH_CREDIT, 4, 0), &back, 4);
	CHECK_EQ(credit[1 - me].used, 2);
	back = 2;
	forge(short_wire(PAMI_DISPATCH_CREDIT, 4, 0), &back, 4);
	CHECK_EQ(credit[1 - me].used, 0);
}

static void never_called(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			 const void *data, size_t bytes, pami_endpoint_t origin,
			 pami_geometry_t geometry, pami_recv_t *recv)
{
	CHECK_EQ(*(const char *)header, 'x'); /* that of a message whose lengths agree */
	CHECK_EQ(bytes, 8);
	recv->addr = cookie;
	received++;
}

/* An active-message collective says that more data comes than does, or that nobody sent it. */
static void collectives_of_nobody(void)
{
	struct {
		uint64_t key;
		uint32_t sequence, rank, step, kind, type, index;
		uint64_t dispatch, data_bytes;
		char user[8];
		uint64_t data;
	} m = {.kind = PAMI_COLL_AM, .dispatch = 9, .data_bytes = 8, .user = "x"};
	pami_algorithm_t a = get_algorithm(PAMI_XFER_AMBROADCAST);
	pami_dispatch_callback_function fn = {.ambroadcast = never_called};
	pami_collective_hint_t hint;
	static uint64_t in;
	size_t before;

	memset(&hint, 0xff, sizeof hint);
	CHECK_EQ(PAMI_AMCollective_dispatch_set(context, a, 9, fn, &in, hint), PAMI_SUCCESS);
	m.key = pami_geometry_of(pami_context_of(context)->client, a)->key;
	m.type = PAMI_XFER_AMBROADCAST;
	m.index = (uint32_t)a & 0xff;
	m.rank = (uint32_t)(1 - me);
	before = received;
	forge(short_wire(PAMI_DISPATCH_COLL, offsetof(__typeof__(m), data), 8), &m, sizeof m);
	CHECK_EQ(received, before + 1);
	m.rank = 2;
	forge(short_wire(PAMI_DISPATCH_COLL, offsetof(__typeof__(m), data), 8), &m, sizeof m);
	m.rank = 0;
	m.data_bytes = 1 << 20;
	forge(short_wire(PAMI_DISPATCH_COLL, offsetof(__typeof__(m), data), 8), &m, sizeof m);
	m.type = PAMI_XFER_AMGATHER;
	forge(short_wire(PAMI_DISPATCH_COLL, offsetof(__typeof__(m), data), 8), &m, sizeof m);
	CHECK_EQ(received, before + 1);
}

/* A packet of a program of the MU's registers holds up nothing behind it. */
static void packets_of_registers(void)
{
	struct pami_context *ctx = pami_context_of(context);
	const struct mu_dest to = {mu_self.entry[1 - me].coords, 0};
	const unsigned char soft[MU_SOFT_BYTES] = {0};
	MUHWI_Descriptor_t d = {0};

	mu_desc_fifo(&d, 0, 0, &to, soft, 0);
	CHECK_EQ(mu_send_raw(ctx->channel, (uint32_t)(1 - me), 0, &d, 0, 0, NULL), 0);
	run_barrier();
}

int main(void)
{
	pami_dispatch_callback_function fn = {.p2p = on_message};

	job_begin(1);
	if (tasks == 2) {
		PAMI_Dispatch_set(context, ID, fn, NULL, (pami_dispatch_hint_t){0});
		run_barrier();
		lengths_beyond_the_packet();
		answers_to_nothing();
		answers_of_another_length();
		credits_that_are_not_out();
		collectives_of_nobody();
		packets_of_registers();
		run_barrier();
	}
	return job_end(1);
}
