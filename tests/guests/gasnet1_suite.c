/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of GASNet-1 as programs of many years use them: handlers in a table without casts,
 * gasnet_init() and gasnet_attach(), messages with the sender asked of the token, bulk and value
 * transfers, handles in arrays, implicit operations, split-phase barriers, memset.
 */
#include <gasnet.h>

#include "tests/guests/gex_guest.h"

static volatile int pongs;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static gasnet_seginfo_t *seginfo;
static gasnet_handler_t hidx_auto;

enum { hidx_ping = 128, hidx_pong, hidx_medium, hidx_long, hidx_long_reply, hidx_words };

static void ping(gasnet_token_t token, gasnet_handlerarg_t a)
{
	gasnet_node_t from;

	GASNET_Safe(gasnet_AMGetMsgSource(token, &from));
	CHECK(from == (gasnet_node_t)a);
	GASNET_Safe(gasnet_AMReplyShort1(token, hidx_pong, a));
}

static void pong(gasnet_token_t token, gasnet_handlerarg_t a)
{
	(void)token;
	CHECK((gasnet_node_t)a == gasnet_mynode());
	gasnet_hsl_lock(&lock);
	pongs++;
	gasnet_hsl_unlock(&lock);
}

static void medium(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a)
{
	CHECK(all_bytes(buf, nbytes, (uint8_t)(a + 3)));
	GASNET_Safe(gasnet_AMReplyMedium0(token, hidx_words, buf, nbytes));
}

static void words(gasnet_token_t token, void *buf, size_t nbytes)
{
	(void)token;
	CHECK(all_bytes(buf, nbytes, (uint8_t)(gasnet_mynode() + 3)));
	pongs++;
}

static void long_request(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a,
			 gasnet_handlerarg_t b)
{
	CHECK(buf == seginfo[gasnet_mynode()].addr && b == -7);
	GASNET_Safe(gasnet_AMReplyLong(token, hidx_long_reply, buf, nbytes,
				       other_half(seginfo[a].addr), a));
}

static void long_reply(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a)
{
	(void)token;
	CHECK((gasnet_node_t)a == gasnet_mynode() && buf == other_half(seginfo[a].addr));
	CHECK(all_bytes(buf, nbytes, (uint8_t)(a + 3)));
	pongs++;
}

static void automatic(gasnet_token_t token)
{
	(void)token;
	pongs++;
}

/* C programs name functions of any type here; C++ has casts. */
#ifdef __cplusplus
#define FN (void (*)())
#else
#define FN
#endif
static gasnet_handlerentry_t table[] = {{hidx_ping, FN ping},
					{hidx_pong, FN pong},
					{hidx_medium, FN medium},
					{hidx_long, FN long_request},
					{hidx_long_reply, FN long_reply},
					{hidx_words, FN words},
					{0, FN automatic}};

static void messages(void)
{
	static uint8_t buf[1 << 16];
	gasnet_node_t me = gasnet_mynode(), peer = (me + 1) % gasnet_nodes();
	gasnet_handlerarg_t a = (gasnet_handlerarg_t)me;
	size_t most = gasnet_AMMaxMedium() < sizeof(buf) ? gasnet_AMMaxMedium() : sizeof(buf);
	int expected;

	CHECK(gasnet_AMMaxArgs() >= 16 && gasnet_AMMaxLongRequest() >= 512 &&
	      gasnet_AMMaxLongReply() >= 512);
	memset(buf, (int)(me + 3), sizeof(buf));
	for (size_t s = 0; s <= most; s = s ? s * 2 : 1) {
		barrier_all();
		pongs = 0;
		barrier_all();
		GASNET_Safe(gasnet_AMRequestShort1(peer, hidx_ping, a));
		GASNET_Safe(gasnet_AMRequestShort0(peer, hidx_auto));
		GASNET_Safe(gasnet_AMRequestMedium1(peer, hidx_medium, buf, s, a));
		GASNET_Safe(
		    gasnet_AMRequestLong2(peer, hidx_long, buf, s, seginfo[peer].addr, a, -7));
		expected = 4;
		GASNET_BLOCKUNTIL(pongs == expected);
		GASNET_Safe(
		    gasnet_AMRequestLongAsync(peer, hidx_long, buf, s, seginfo[peer].addr, a, -7));
		GASNET_BLOCKUNTIL(pongs == expected + 1);
	}
}

static void transfers(void)
{
	enum { MANY = 64 };
	static uint64_t from[MANY], back[MANY];
	gasnet_node_t peer = (gasnet_mynode() + 1) % gasnet_nodes();
	uint64_t *there = (uint64_t *)seginfo[peer].addr;
	gasnet_handle_t handle[MANY];
	gasnet_valget_handle_t value;

	for (int i = 0; i < MANY; i++)
		from[i] = gasnet_mynode() * 100 + (uint64_t)i;
	barrier_all();
	gasnet_put(peer, there, from, sizeof(from));
	gasnet_get(back, peer, there, sizeof(back));
	CHECK(!memcmp(from, back, sizeof(back)));
	for (int i = 0; i < MANY; i++) {
		from[i]++;
		handle[i] = i % 2 ? gasnet_put_nb(peer, there + i, from + i, 8)
				  : gasnet_put_nb_bulk(peer, there + i, from + i, 8);
	}
	gasnet_wait_syncnb_some(handle, MANY);
	gasnet_wait_syncnb_all(handle, MANY);
	for (int i = 0; i < MANY; i++)
		handle[i] = gasnet_get_nb(back + i, peer, there + i, 8);
	while (gasnet_try_syncnb_all(handle, MANY) == GASNET_ERR_NOT_READY)
		gasnet_AMPoll();
	CHECK(!memcmp(from, back, sizeof(back)) && handle[0] == GASNET_INVALID_HANDLE);
	for (int i = 0; i < MANY; i++) {
		from[i] *= 3;
		gasnet_put_nbi(peer, there + i, from + i, 8);
	}
	gasnet_wait_syncnbi_puts();
	gasnet_begin_nbi_accessregion();
	for (int i = 0; i < MANY; i++)
		gasnet_get_nbi_bulk(back + i, peer, there + i, 8);
	handle[0] = gasnet_end_nbi_accessregion();
	gasnet_wait_syncnb(handle[0]);
	gasnet_wait_syncnbi_all();
	CHECK(!memcmp(from, back, sizeof(back)));
	gasnet_put_val(peer, there, 0xabcdef, 2);
	CHECK(gasnet_get_val(peer, there, 2) == 0xcdef);
	handle[0] = gasnet_put_nb_val(peer, there, 77, SIZEOF_GASNET_REGISTER_VALUE_T);
	gasnet_wait_syncnb(handle[0]);
	value = gasnet_get_nb_val(peer, there, 4);
	CHECK(gasnet_wait_syncnb_valget(value) == 77);
	gasnet_put_nbi_val(peer, there, 78, 1);
	gasnet_wait_syncnbi_all();
	CHECK(gasnet_get_val(peer, there, 1) == 78);
	gasnet_memset(peer, there, 0x55, 1000);
	handle[0] = gasnet_memset_nb(peer, (char *)there + 1000, 0x55, 1000);
	gasnet_wait_syncnb(handle[0]);
	gasnet_memset_nbi(peer, (char *)there + 2000, 0x55, 48);
	gasnet_wait_syncnbi_all();
	for (size_t i = 0; i < 2048; i += sizeof(back)) {
		gasnet_get_bulk(back, peer, (char *)there + i, sizeof(back));
		CHECK(all_bytes(back, sizeof(back), 0x55));
	}
	barrier_all();
}

static void job(void)
{
	gasnet_nodeinfo_t *info = (gasnet_nodeinfo_t *)malloc(gasnet_nodes() * sizeof(*info));
	gasnet_hsl_t own;

	GASNET_Safe(gasnet_getNodeInfo(info, (int)gasnet_nodes()));
	for (gasnet_node_t i = 0; i < gasnet_nodes(); i++)
		CHECK(info[i].host < gasnet_nodes() && info[i].supernode < gasnet_nodes());
	free(info);
	gasnet_hsl_init(&own);
	gasnet_hold_interrupts();
	gasnet_hsl_lock(&own);
	CHECK(gasnet_hsl_trylock(&own) == GASNET_ERR_NOT_READY);
	gasnet_hsl_unlock(&own);
	gasnet_resume_interrupts();
	gasnet_hsl_destroy(&own);
	CHECK(gasnet_nodes() < GASNET_MAXNODES);
	CHECK(gasnet_getenv("PATH") != NULL);
	for (int i = 0; i < 5; i++) {
		gasnet_barrier_notify(i, 0);
		GASNET_Safe(gasnet_barrier_wait(i, 0));
		gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
		while (gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_ERR_NOT_READY)
			gasnet_AMPoll();
	}
}

int main(int argc, char **argv)
{
	GASNET_Safe(gasnet_init(&argc, &argv));
	GASNET_Safe(
	    gasnet_attach(table, sizeof(table) / sizeof(gasnet_handlerentry_t), GUEST_SEGMENT, 0));
	hidx_auto = table[6].index;
	CHECK(hidx_auto >= 128);
	rank = gasnet_mynode();
	ranks = gasnet_nodes();
	gasnet_QueryGexObjects(&myclient, &myep, &myteam, &mysegment);
	seginfo = (gasnet_seginfo_t *)malloc(gasnet_nodes() * sizeof(gasnet_seginfo_t));
	GASNET_Safe(gasnet_getSegmentInfo(seginfo, (int)gasnet_nodes()));
	CHECK(seginfo[rank].addr == gex_Segment_QueryAddr(mysegment) &&
	      seginfo[rank].size >= GUEST_SEGMENT);
	GASNET_BEGIN_FUNCTION();
	CASE(messages, "short, medium, long, and answers");
	CASE(transfers, "puts, gets, values, handles, memset");
	CASE(job, "nodes, locks, barriers");
	barrier_all();
	gasnet_exit(gasnett_atomic_read(&failed_checks, 0) != 0);
	return 0;
}
