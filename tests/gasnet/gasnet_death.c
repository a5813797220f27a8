/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process 2 dies or leaves while the others use it: every process that needs it ends, and says so.
 *
 *   gasnet_death WHAT HOW
 *
 * WHAT: the operation that processes 0 and 1 repeat. HOW: what process 2 does after some progress
 * calls: kill, exit, or in a handler (handler). The others print "no error" if nothing happens.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <gasnetex.h>

enum { VICTIM = 2, SEGMENT = 1 << 20, BIG = 60000, POLLS = 200, LIMIT_S = 30 };
enum { H_SHORT = 200, H_PAYLOAD, H_REPLY, H_DIE };

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t team;
static gex_Segment_t segment;
static gex_AD_t domain;
static gex_Rank_t me, n;
static int replies, sent;
static unsigned char data[BIG];
static char *there; /* segment of the victim */

static void on_short(gex_Token_t token)
{
	gex_AM_ReplyShort0(token, H_REPLY, 0);
}

static void on_payload(gex_Token_t token, void *buf, size_t bytes)
{
	gex_AM_ReplyShort0(token, H_REPLY, 0);
}

static void on_reply(gex_Token_t token)
{
	replies++;
}

static void on_die(gex_Token_t token)
{
	kill(getpid(), SIGKILL);
}

static gex_AM_Entry_t table[] = {
    {H_SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_PAYLOAD, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 0},
    {H_REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0},
    {H_DIE, (gex_AM_Fn_t)on_die, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
};

/* ---- operations; each is complete when it returns ---- */

static void wait_reply(void)
{
	sent++;
	GASNET_BLOCKUNTIL(replies == sent);
}

static void do_short(void)
{
	gex_AM_RequestShort0(team, VICTIM, H_SHORT, 0);
	wait_reply();
}

static void do_medium(void)
{
	gex_AM_RequestMedium0(team, VICTIM, H_PAYLOAD, data, BIG, GEX_EVENT_NOW, 0);
	wait_reply();
}

static void do_long(void)
{
	gex_AM_RequestLong0(team, VICTIM, H_PAYLOAD, data, BIG, there, GEX_EVENT_NOW, 0);
	wait_reply();
}

static void do_negotiated(void)
{
	gex_AM_SrcDesc_t sd =
	    gex_AM_PrepareRequestMedium(team, VICTIM, NULL, BIG / 2, BIG / 2, NULL, 0, 0);

	gex_AM_CommitRequestMedium0(sd, H_PAYLOAD, BIG / 2);
	wait_reply();
}

/* Requests without waiting for answers, so that credits run out. */
static void do_flood(void)
{
	for (int i = 0; i < 100; i++)
		gex_AM_RequestShort0(team, VICTIM, H_SHORT, 0);
}

static void do_put(void)
{
	gex_Event_t lc, e = gex_RMA_PutNB(team, VICTIM, there, data, BIG, &lc, 0);

	gex_Event_Wait(lc);
	gex_Event_Wait(e);
}

static void do_get(void)
{
	gex_RMA_GetNBI(team, data, VICTIM, there, BIG, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
}

static void do_atomic(void)
{
	uint64_t old;

	gex_Event_Wait(
	    gex_AD_OpNB_U64(domain, &old, VICTIM, there + 64 * (size_t)me, GEX_OP_FADD, 1, 0, 0));
}

static void do_strided(void)
{
	const ptrdiff_t stride[] = {64};
	const size_t count[] = {500};

	gex_VIS_StridedPutBlocking(team, VICTIM, there, stride, data, stride, 8, count, 1, 0);
	gex_VIS_StridedGetBlocking(team, data, stride, VICTIM, there, stride, 8, count, 1, 0);
}

static void do_barrier(void)
{
	gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void do_broadcast(void)
{
	gex_Event_Wait(gex_Coll_BroadcastNB(team, VICTIM, data, data, BIG, 0));
}

static void do_reduce(void)
{
	double x[100] = {0}, sum[100];

	gex_Event_Wait(
	    gex_Coll_ReduceToAllNB(team, sum, x, GEX_DT_DBL, 8, 100, GEX_OP_ADD, NULL, NULL, 0));
}

static void do_split(void)
{
	gex_TM_t part;

	gex_TM_Split(&part, team, 0, 0, NULL, 0, 0);
	gex_TM_Destroy(part, NULL, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
	int is_collective;
} whats[] = {
    {"short", do_short, 0},     {"medium", do_medium, 0},   {"long", do_long, 0},
    {"np", do_negotiated, 0},   {"flood", do_flood, 0},     {"put", do_put, 0},
    {"get", do_get, 0},         {"atomic", do_atomic, 0},   {"strided", do_strided, 0},
    {"barrier", do_barrier, 1}, {"bcast", do_broadcast, 1}, {"reduce", do_reduce, 1},
    {"split", do_split, 1},
};

static void leave_job(const char *how)
{
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
	size_t w = 0, count = sizeof(whats) / sizeof(whats[0]);
	time_t end = time(NULL) + LIMIT_S;
	void *at;

	while (w < count && strcmp(whats[w].name, what))
		w++;
	if (w == count || gex_Client_Init(&client, &ep, &team, "death", NULL, NULL, 0) ||
	    gex_EP_RegisterHandlers(ep, table, sizeof(table) / sizeof(table[0])) ||
	    gex_Segment_Attach(&segment, team, SEGMENT))
		return 2;
	me = gex_TM_QueryRank(team);
	n = gex_TM_QuerySize(team);
	gex_Segment_QueryBound(team, VICTIM, &at, NULL, NULL);
	there = at;
	gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_FADD, 0);
	do_barrier();
	for (int i = 0; me == VICTIM && i < POLLS; i++) {
		if (whats[w].is_collective && i % 10 == 0)
			whats[w].run();
		gasnet_AMPoll();
	}
	if (me == VICTIM && strcmp(how, "handler"))
		leave_job(how);
	if (me == 0 && !strcmp(how, "handler"))
		gex_AM_RequestShort0(team, VICTIM, H_DIE, 0);
	while (time(NULL) < end) {
		if (me != VICTIM || whats[w].is_collective)
			whats[w].run();
		gasnet_AMPoll();
	}
	printf("no error\n");
	gasnet_exit(0);
	return 1;
}
