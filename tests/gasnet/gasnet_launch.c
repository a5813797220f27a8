/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of GASNet under any launcher: messages, puts and atomics between all processes, then an end
 * that the argument names. Each process prints PASS before it ends.
 */
#include <gasnetex.h>

#include <unistd.h>

static gex_Rank_t me, n;
#define CHECK_WHO         "process %u", me
#define CHECK_END(status) gasnet_exit(status)
#include "tests/harness/check_count.h"

enum { hidx_add = 200, hidx_done, hidx_leave, SEGMENT = 1 << 16 };
static gex_TM_t team;
static volatile int sum, answers;

static void add(gex_Token_t token, gex_AM_Arg_t number)
{
	sum += number;
	gex_AM_ReplyShort0(token, hidx_done, 0);
}

static void done(gex_Token_t token)
{
	(void)token;
	answers++;
}

static void leave(gex_Token_t token, gex_AM_Arg_t status)
{
	(void)token;
	gasnet_exit(status);
}

static gex_AM_Entry_t table[] = {
    {hidx_add, (gex_AM_Fn_t)add, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 1, NULL, NULL},
    {hidx_done, (gex_AM_Fn_t)done, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 0, NULL, NULL},
    {hidx_leave, (gex_AM_Fn_t)leave, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 1, NULL, NULL},
};

static void work(void)
{
	uint64_t value = me + 100, got;
	gex_AD_t ad;

	gex_AD_Create(&ad, team, GEX_DT_U64, GEX_OP_FADD, 0);
	for (gex_Rank_t r = 0; r < n; r++) {
		void *there;

		REQUIRE(!gex_Segment_QueryBound(team, r, &there, NULL, NULL));
		gex_AM_RequestShort1(team, r, hidx_add, 0, (gex_AM_Arg_t)me + 1);
		gex_RMA_PutBlocking(team, r, (uint64_t *)there + 1 + me, &value, 8, 0);
		gex_RMA_GetBlocking(team, &got, r, (uint64_t *)there + 1 + me, 8, 0);
		REQUIRE(got == value);
		gex_Event_Wait(gex_AD_OpNB_U64(ad, &got, r, there, GEX_OP_FADD, 1, 0, 0));
		REQUIRE(got < n);
	}
	GASNET_BLOCKUNTIL(answers == (int)n && sum == (int)(n * (n + 1) / 2));
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
	gex_AD_Destroy(ad);
}

static void *leave_soon(void *status)
{
	usleep(100000);
	gasnet_exit(*(int *)status);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "all";
	static int seven = 7;
	gex_Segment_t segment;
	gex_Client_t client;
	pthread_t thread;
	gex_EP_t ep;

	REQUIRE(!gex_Client_Init(&client, &ep, &team, "launch", &argc, &argv, 0));
	me = gex_TM_QueryRank(team);
	n = gex_TM_QuerySize(team);
	REQUIRE(!gex_Segment_Attach(&segment, team, SEGMENT));
	memset(gex_Segment_QueryAddr(segment), 0, SEGMENT);
	REQUIRE(!gex_EP_RegisterHandlers(ep, table, 3));
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
	work();
	printf("PASS %u of %u\n", me, n);
	fflush(stdout);
	if (!strcmp(how, "all")) /* every process ends the job well */
		gasnet_exit(0);
	if (!strcmp(how, "main"))
		return 0;
	if (!strcmp(how, "first") || !strcmp(how, "last")) { /* one ends after the others have */
		if (me != (*how == 'f' ? 0 : n - 1))
			return 0;
		usleep(300000);
		gasnet_exit(0);
	}
	if (me == n - 1) { /* one ends it, and the others poll or not */
		if (!strcmp(how, "thread"))
			pthread_create(&thread, NULL, leave_soon, &seven);
		else if (!strcmp(how, "handler"))
			gex_AM_RequestShort1(team, 0, hidx_leave, 0, 7);
		else
			gasnet_exit(7);
	}
	for (;;)
		if (!strcmp(how, "deaf"))
			sleep(1);
		else
			gasnet_AMPoll();
}
