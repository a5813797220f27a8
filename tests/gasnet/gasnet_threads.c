/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each task in PAR mode: each sends requests and waits for its own replies,
 * puts, gets, counts, and gives events to the next thread to wait for. Handlers count under a lock.
 */
#undef GASNET_DEBUG /* as programs are shipped: the short ways without checks */
#include <gasnetex.h>

enum {
	THREADS = 3,
	PART = 1 << 12,
	SEGMENT = 1 << 18,
	H_REQUEST = 140,
	H_REPLY,
	H_MEDIUM,
	H_MEDIUM_REPLY
};

static gex_TM_t team;
static gex_Rank_t me, n;
static gex_AD_t domain;
static int rounds = 200;
static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static uint64_t requests; /* under the lock */
static gasnett_atomic_t replies[THREADS];

#define CHECK_WHO         "process %u", me
#define CHECK_END(status) gasnet_exit(status)
#include "tests/harness/check_count.h"

#define CALL(call) REQUIRE((call) == GASNET_OK)

static void on_request(gex_Token_t token, gex_AM_Arg_t thread)
{
	gex_HSL_Lock(&lock);
	requests++;
	gex_HSL_Unlock(&lock);
	gex_AM_ReplyShort1(token, H_REPLY, 0, thread);
}

static void on_reply(gex_Token_t token, gex_AM_Arg_t thread)
{
	gasnett_atomic_increment(&replies[thread], GASNETT_ATOMIC_REL);
}

static void on_medium(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t thread)
{
	const uint8_t *p = buf;

	for (size_t i = 0; i < bytes; i++)
		REQUIRE(p[i] == (uint8_t)(thread + bytes));
	gex_HSL_Lock(&lock);
	requests++;
	gex_HSL_Unlock(&lock);
	gex_AM_ReplyMedium1(token, H_MEDIUM_REPLY, buf, bytes, GEX_EVENT_NOW, 0, thread);
}

static void on_medium_reply(gex_Token_t token, void *buf, size_t bytes, gex_AM_Arg_t thread)
{
	REQUIRE(!bytes || *(uint8_t *)buf == (uint8_t)(thread + bytes));
	gasnett_atomic_increment(&replies[thread], GASNETT_ATOMIC_REL);
}

/* Events that a thread gives to the next one. */
static struct {
	pthread_mutex_t mutex;
	gex_Event_t event;
	int is_full;
} gift[THREADS];

static void *run_thread(void *argument)
{
	int self = (int)(intptr_t)argument, next = (self + 1) % THREADS;
	uint64_t mine[PART / 8 / THREADS], back[PART / 8 / THREADS], old;
	uint8_t buf[9000];

	for (int i = 0; i < rounds; i++) {
		gex_Rank_t peer = (me + (gex_Rank_t)i) % n;
		size_t bytes = (size_t)(i * 61 % 9000);
		uint32_t expected = 2 * (uint32_t)i + 2;
		gex_Event_t put, given = GEX_EVENT_INVALID;
		uint8_t *there;
		void *base;

		gex_Segment_QueryBound(team, peer, &base, NULL, NULL);
		there =
		    (uint8_t *)base + (size_t)PART * (1 + me % 32) + sizeof(mine) * (size_t)self;
		memset(buf, (uint8_t)(self + (int)bytes), bytes);
		CALL(gex_AM_RequestShort1(team, peer, H_REQUEST, 0, self));
		CALL(gex_AM_RequestMedium1(team, peer, H_MEDIUM, buf, bytes, GEX_EVENT_NOW, 0,
					   self));
		for (size_t w = 0; w < sizeof(mine) / 8; w++)
			mine[w] = (uint64_t)i * 1000 + w + (uint64_t)self;
		gex_Event_Wait(
		    gex_RMA_PutNB(team, peer, there, mine, sizeof(mine), GEX_EVENT_NOW, 0));
		put = gex_RMA_GetNB(team, back, peer, there, sizeof(back), 0);
		/* Wait for an event of the thread before, and let the next wait for this one. */
		pthread_mutex_lock(&gift[next].mutex);
		if (!gift[next].is_full) {
			gift[next].event =
			    gex_RMA_PutNB(team, peer, there, mine, 8, GEX_EVENT_NOW, 0);
			gift[next].is_full = 1;
		}
		pthread_mutex_unlock(&gift[next].mutex);
		gex_Event_Wait(put);
		REQUIRE(!memcmp(mine, back, sizeof(mine)));
		pthread_mutex_lock(&gift[self].mutex);
		if (gift[self].is_full)
			given = gift[self].event;
		gift[self].is_full = 0;
		pthread_mutex_unlock(&gift[self].mutex);
		gex_Event_Wait(given);
		CALL(gex_RMA_PutNBI(team, peer, there, mine, sizeof(mine), GEX_EVENT_DEFER, 0));
		gex_Segment_QueryBound(team, 0, &base, NULL, NULL);
		CALL(gex_AD_OpNBI_U64(domain, &old, 0, base, GEX_OP_FADD, 1, 0, 0));
		gex_NBI_Wait(GEX_EC_ALL, 0);
		GASNET_BLOCKUNTIL(gasnett_atomic_read(&replies[self], 0) == expected);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	gex_AM_Entry_t table[] = {
	    {H_REQUEST, (gex_AM_Fn_t)on_request, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1},
	    {H_REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1},
	    {H_MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1},
	    {H_MEDIUM_REPLY, (gex_AM_Fn_t)on_medium_reply, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY,
	     1},
	};
	pthread_t thread[THREADS];
	uint64_t total, count;
	gex_Segment_t segment;
	gex_Client_t client;
	gex_EP_t ep;
	void *base;

	if (argc > 1 && !strcmp(argv[1], "virtual"))
		rounds = 20;
	CALL(gex_Client_Init(&client, &ep, &team, "threads", &argc, &argv, 0));
	me = gex_TM_QueryRank(team);
	n = gex_TM_QuerySize(team);
	CALL(gex_EP_RegisterHandlers(ep, table, 4));
	CALL(gex_Segment_Attach(&segment, team, SEGMENT));
	memset(gex_Segment_QueryAddr(segment), 0, SEGMENT);
	for (int t = 0; t < THREADS; t++)
		pthread_mutex_init(&gift[t].mutex, NULL);
	gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_FADD | GEX_OP_GET, 0);
	for (int t = 1; t < THREADS; t++)
		REQUIRE(!pthread_create(&thread[t], NULL, run_thread, (void *)(intptr_t)t));
	run_thread((void *)0);
	for (int t = 1; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	for (int t = 0; t < THREADS; t++)
		if (gift[t].is_full)
			gex_Event_Wait(gift[t].event);
	/* Others may still need answers of this task until all have come here. */
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
	gex_Segment_QueryBound(team, 0, &base, NULL, NULL);
	gex_Event_Wait(gex_AD_OpNB_U64(domain, &count, 0, base, GEX_OP_GET, 0, 0, 0));
	REQUIRE(count == (uint64_t)THREADS * (uint64_t)rounds * n);
	gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &total, &requests, GEX_DT_U64, 8, 1, GEX_OP_ADD,
					      NULL, NULL, 0));
	REQUIRE(total == 2 * (uint64_t)THREADS * (uint64_t)rounds * n);
	gex_AD_Destroy(domain);
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
	if (!me)
		printf("threads: all right with %u tasks\n", n);
	gasnet_exit(0);
	return 1;
}
