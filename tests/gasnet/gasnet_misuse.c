/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong use of the library, one kind in each run: gasnet_misuse NAME, or no NAME for the list of
 * kinds, each with the words that the library says of it. Results that calls return are checked
 * here; the other kinds end the process. "no error": nothing happened.
 */
#include <gasnetex.h>

#include <pthread.h>

enum { SEGMENT = 1 << 16 };
enum {
	H_SHORT = 200,
	H_MEDIUM,
	H_REPLY,
	H_TWICE,
	H_REPLY_REPLIES,
	H_WAITS,
	H_NONE,
	H_REQUESTS,
	H_PUTS,
	H_POLLS,
	H_TESTS,
	H_KEEPS_LOCK,
	H_KEEPS_REPLY,
	H_LONG
};

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t team;
static gex_Segment_t segment;
static gex_AD_t domain;
static gex_Rank_t n;
static char *own;
static char buf[1 << 17];
static int done;

static void on_short(gex_Token_t token, gex_AM_Arg_t a)
{
	done++;
}
static void on_medium(gex_Token_t token, void *p, size_t bytes)
{
	done++;
}
static void on_reply(gex_Token_t token)
{
	done++;
}
static void on_twice(gex_Token_t token)
{
	gex_AM_ReplyShort0(token, H_REPLY, 0);
	gex_AM_ReplyShort0(token, H_REPLY, 0);
}
static void on_reply_replies(gex_Token_t token)
{
	gex_AM_ReplyShort0(token, H_REPLY, 0);
}
static void on_waits(gex_Token_t token)
{
	gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED);
}
static gex_HSL_t shared_lock = GEX_HSL_INITIALIZER;

static void on_requests(gex_Token_t token)
{
	gex_AM_RequestShort1(team, 0, H_SHORT, 0, 1);
}
static void on_puts(gex_Token_t token)
{
	gex_RMA_PutNBI(team, 0, own, buf, 8, GEX_EVENT_NOW, 0);
}
static void on_polls(gex_Token_t token)
{
	gasnet_AMPoll();
}
static void on_tests(gex_Token_t token)
{
	gex_NBI_Test(GEX_EC_ALL, 0);
}
static void on_keeps_lock(gex_Token_t token)
{
	gex_HSL_Lock(&shared_lock);
}
static void on_keeps_reply(gex_Token_t token)
{
	gex_AM_PrepareReplyMedium(token, NULL, 1, 10, NULL, 0, 0);
}
static gex_AM_Entry_t table[] = {
    {H_SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "takes_one"},
    {H_MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0},
    {H_REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0},
    {H_TWICE, (gex_AM_Fn_t)on_twice, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_REPLY_REPLIES, (gex_AM_Fn_t)on_reply_replies, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP, 0},
    {H_WAITS, (gex_AM_Fn_t)on_waits, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_REQUESTS, (gex_AM_Fn_t)on_requests, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_PUTS, (gex_AM_Fn_t)on_puts, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_POLLS, (gex_AM_Fn_t)on_polls, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_TESTS, (gex_AM_Fn_t)on_tests, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_KEEPS_LOCK, (gex_AM_Fn_t)on_keeps_lock, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_KEEPS_REPLY, (gex_AM_Fn_t)on_keeps_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0},
    {H_LONG, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 0},
};

static void poll_until_done(void)
{
	for (int i = 0; i < 1000 && !done; i++)
		gasnet_AMPoll();
}

/* ---- events ---- */

static void event_twice(void)
{
	gex_Event_t e;

	gex_NBI_BeginAccessRegion(0);
	e = gex_NBI_EndAccessRegion(0);
	if (e == GEX_EVENT_INVALID) /* A barrier of several processes is an event. */
		e = gex_Coll_BarrierNB(team, 0);
	gex_Event_Wait(e);
	gex_Event_Wait(e);
}
static void event_no_op(void)
{
	gex_Event_Wait(GEX_EVENT_NO_OP);
}
static void region_nested(void)
{
	gex_NBI_BeginAccessRegion(0);
	gex_NBI_BeginAccessRegion(0);
}
static void region_not_open(void)
{
	gex_NBI_EndAccessRegion(0);
}

/* ---- active messages ---- */

static void bad_rank(void)
{
	gex_AM_RequestShort1(team, n, H_SHORT, 0, 1);
}
static void no_team(void)
{
	gex_AM_RequestShort1(GEX_TM_INVALID, 0, H_SHORT, 0, 1);
}
static void no_handler(void)
{
	gex_AM_RequestShort0(team, 0, H_NONE, 0);
	poll_until_done();
}
static void wrong_arity_is_refused(void)
{
	gex_AM_RequestShort2(team, 0, H_SHORT, 0, 1, 2);
	poll_until_done();
}
static void wrong_category_is_refused(void)
{
	gex_AM_RequestMedium1(team, 0, H_SHORT, buf, 1, GEX_EVENT_NOW, 0, 2);
	poll_until_done();
}
static void wrong_direction_is_refused(void)
{
	gex_AM_RequestShort0(team, 0, H_REPLY, 0);
	poll_until_done();
}
static void too_long(void)
{
	gex_AM_RequestMedium0(team, 0, H_MEDIUM, buf,
			      gex_AM_MaxRequestMedium(team, 0, GEX_EVENT_NOW, 0, 0) + 1,
			      GEX_EVENT_NOW, 0);
}
static void lc_defer(void)
{
	gex_AM_RequestMedium0(team, 0, H_MEDIUM, buf, 1, GEX_EVENT_DEFER, 0);
}
static void reply_twice(void)
{
	gex_AM_RequestShort0(team, 0, H_TWICE, 0);
	poll_until_done();
	poll_until_done();
}
static void reply_to_reply(void)
{
	table[0] = (gex_AM_Entry_t){0, (gex_AM_Fn_t)on_reply_replies,
				    GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0};
	gex_VIS_SetPeerCompletionHandler(H_REPLY_REPLIES, NULL, 0, 0);
	gex_AM_RequestShort0(team, 0, H_REPLY_REPLIES, 0); /* answered by H_REPLY */
	poll_until_done();
	printf("no error, rightly\n");
}
static void handler_waits(void)
{
	gex_AM_RequestShort0(team, 0, H_WAITS, 0);
	poll_until_done();
}
static void index_taken(void)
{
	if (gex_EP_RegisterHandlers(ep, table, 1) == GASNET_ERR_RESOURCE)
		printf("refused\n");
}
static void index_low(void)
{
	gex_AM_Entry_t e = {GEX_AM_INDEX_BASE - 1, (gex_AM_Fn_t)on_reply,
			    GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0};

	if (gex_EP_RegisterHandlers(ep, &e, 1) == GASNET_ERR_BAD_ARG)
		printf("refused\n");
}

/* ---- negotiated payload ---- */

static void prepare_twice(void)
{
	gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, NULL, 0, 0);
	gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, NULL, 0, 0);
}
static void prepare_least(void)
{
	gex_AM_PrepareRequestMedium(team, 0, NULL, 11, 10, NULL, 0, 0);
}
static void prepare_lc(void)
{
	gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, GEX_EVENT_NOW, 0, 0);
}
static void commit_twice(void)
{
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, NULL, 0, 0);

	gex_AM_CommitRequestMedium0(sd, H_MEDIUM, 1);
	gex_AM_CommitRequestMedium0(sd, H_MEDIUM, 1);
}
static void commit_long(void)
{
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, NULL, 0, 0);

	gex_AM_CommitRequestMedium0(sd, H_MEDIUM, 11);
}
static void commit_nargs(void)
{
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, NULL, 0, 0);

	gex_AM_CommitRequestMedium1(sd, H_MEDIUM, 1, 5);
}
static void commit_category(void)
{
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, NULL, 0, 0);

	gex_AM_CommitRequestLong0(sd, H_MEDIUM, 1, own);
}

/* ---- segments ---- */

static void put_bounds(void)
{
	gex_RMA_PutBlocking(team, 0, own + SEGMENT - 1, buf, 2, 0);
}
static void get_bounds(void)
{
	gex_RMA_GetBlocking(team, buf, 0, own - 1, 2, 0);
}
static void put_lc(void)
{
	gex_RMA_PutNB(team, 0, own, buf, 8, GEX_EVENT_GROUP, 0);
}
static void long_bounds(void)
{
	gex_AM_RequestLong0(team, 0, H_MEDIUM, buf, SEGMENT + 1, own, GEX_EVENT_NOW, 0);
}
static void strided_bounds(void)
{
	const ptrdiff_t stride[] = {SEGMENT / 2};
	const size_t count[] = {3};

	gex_VIS_StridedPutBlocking(team, 0, own, stride, buf, stride, 8, count, 1, 0);
}
static void list_lengths(void)
{
	gex_Memvec_t a = {own, 8}, b = {buf, 9};

	gex_VIS_VectorPutBlocking(team, 0, 1, &a, 1, &b, 0);
}
static void attach_twice(void)
{
	if (gex_Segment_Attach(&segment, team, SEGMENT) == GASNET_ERR_BAD_ARG)
		printf("refused\n");
}

/* ---- atomics ---- */

static void atomic_absent(void)
{
	gex_AD_OpNB_U64(domain, NULL, 0, own, GEX_OP_ADD, 1, 0, 0);
}
static void atomic_type(void)
{
	uint32_t old;

	gex_AD_OpNB_U32(domain, &old, 0, own, GEX_OP_FADD, 1, 0, 0);
}
static void atomic_odd(void)
{
	uint64_t old;

	gex_AD_OpNB_U64(domain, &old, 0, own + 4, GEX_OP_FADD, 1, 0, 0);
}
static void atomic_bounds(void)
{
	uint64_t old;

	gex_AD_OpNB_U64(domain, &old, 0, own + SEGMENT, GEX_OP_FADD, 1, 0, 0);
}

/* ---- barriers and locks ---- */

static void barrier_twice(void)
{
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
}
static void barrier_wait(void)
{
	gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}
static void lock_twice(void)
{
	static gex_HSL_t lock = GEX_HSL_INITIALIZER;

	gex_HSL_Lock(&lock);
	if (gex_HSL_Trylock(&lock) != GASNET_ERR_NOT_READY)
		return;
	gex_HSL_Lock(&lock);
}
static void unlock_free(void)
{
	gex_HSL_t lock;

	gex_HSL_Init(&lock);
	if (gex_HSL_Trylock(&lock) != GASNET_OK)
		return;
	gex_HSL_Unlock(&lock);
	gex_HSL_Unlock(&lock);
}

/* ---- calls at the wrong time ---- */

static void send_and_poll(gex_AM_Index_t index)
{
	gex_AM_RequestShort0(team, 0, index, 0);
	poll_until_done();
}
static void handler_requests(void)
{
	send_and_poll(H_REQUESTS);
}
static void handler_puts(void)
{
	send_and_poll(H_PUTS);
}
static void handler_polls(void)
{
	send_and_poll(H_POLLS);
}
static void handler_tests(void)
{
	send_and_poll(H_TESTS);
}
static void handler_keeps_lock(void)
{
	send_and_poll(H_KEEPS_LOCK);
}
static void handler_keeps_reply(void)
{
	send_and_poll(H_KEEPS_REPLY);
}
static void lock_and_poll(void)
{
	gex_HSL_Lock(&shared_lock);
	gasnet_AMPoll();
}
static void lock_and_put(void)
{
	gex_HSL_Lock(&shared_lock);
	gex_RMA_PutBlocking(team, 0, own, buf, 8, 0);
}
static void prepare_and_send(void)
{
	gex_AM_PrepareRequestMedium(team, 0, NULL, 1, 10, NULL, 0, 0);
	gex_AM_RequestShort1(team, 0, H_SHORT, 0, 1);
}
static void region_waits(void)
{
	gex_NBI_BeginAccessRegion(0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
}
static void *call_library(void *unused)
{
	gasnet_AMPoll();
	return unused;
}
static void second_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, call_library, NULL);
	pthread_join(thread, NULL);
}
static void lock_destroyed(void)
{
	gex_HSL_Lock(&shared_lock);
	gex_HSL_Destroy(&shared_lock);
}

/* ---- addresses, objects ---- */

static void null_source(void)
{
	gex_AM_RequestMedium0(team, 0, H_MEDIUM, NULL, 8, GEX_EVENT_NOW, 0);
}
static void null_put(void)
{
	gex_RMA_PutBlocking(team, 0, own, NULL, 8, 0);
}
static void null_get(void)
{
	gex_RMA_GetBlocking(team, NULL, 0, own, 8, 0);
}
static void null_fetch(void)
{
	gex_AD_OpNB_U64(domain, NULL, 0, own, GEX_OP_FADD, 1, 0, 0);
}
static void null_strides(void)
{
	const size_t count[] = {3};

	gex_VIS_StridedPutBlocking(team, 0, own, NULL, buf, NULL, 8, count, 1, 0);
}
static void leaf_of_no_op(void)
{
	gex_Event_QueryLeaf(GEX_EVENT_NO_OP, GEX_EC_LC);
}
static void address_of_no_op(void)
{
	gex_AM_SrcDescAddr(GEX_AM_SRCDESC_NO_OP);
}
static void commit_elsewhere(void)
{
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestLong(team, 0, NULL, 8, 8, own, NULL, 0, 0);

	gex_AM_CommitRequestLong0(sd, H_LONG, 8, own + 8);
}
static void flags_without_category(void)
{
	gex_AM_Entry_t e = {0, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_REQUEST, 0};

	gex_EP_RegisterHandlers(ep, &e, 1);
}
static void domain_twice(void)
{
	gex_AD_Destroy(domain);
	gex_AD_Destroy(domain);
}
static void domain_destroyed(void)
{
	uint64_t old;

	gex_AD_Destroy(domain);
	gex_AD_OpNB_U64(domain, &old, 0, own, GEX_OP_FADD, 1, 0, 0);
}
static void team_twice(void)
{
	gex_TM_t half;

	gex_TM_Split(&half, team, 0, 0, NULL, 0, 0);
	gex_TM_Destroy(half, NULL, 0);
	gex_TM_Destroy(half, NULL, 0);
}
static void team_destroyed(void)
{
	gex_TM_t half;

	gex_TM_Split(&half, team, 0, 0, NULL, 0, 0);
	gex_TM_Destroy(half, NULL, 0);
	gex_Coll_BarrierNB(half, 0);
}
static void rank_of_no_team(void)
{
	gex_TM_QueryRank(GEX_TM_INVALID);
}

#define KIND(name, words)                                                                          \
	{                                                                                          \
#name, name, words                                                                 \
	}
static const struct {
	const char *name;
	void (*run)(void);
	const char *words; /* a regular expression */
} kinds[] = {
    KIND(event_twice, "is not an event, or it was consumed before"),
    KIND(event_no_op, "GEX_EVENT_NO_OP: the operation was not started"),
    KIND(region_nested, "gex_NBI_BeginAccessRegion: .*do not nest"),
    KIND(region_not_open, "gex_NBI_EndAccessRegion: .*no open region"),
    KIND(bad_rank, "rank 2 is not in a team of 2"),
    KIND(no_team, "the team is GEX_TM_INVALID"),
    KIND(no_handler, "a short message of process [01] for handler 206 .*no such handler"),
    KIND(wrong_arity_is_refused, "for handler 200 takes_one with 2 arguments: .*another number"),
    KIND(wrong_category_is_refused, "for handler 200 takes_one .*other categories"),
    KIND(wrong_direction_is_refused, "for handler 202 .*the other direction"),
    KIND(too_long, "gex_AM_RequestMedium: the payload of [0-9]* bytes is longer than the limit"),
    KIND(lc_defer, "gex_AM_RequestMedium: lc_opt is GEX_EVENT_DEFER"),
    KIND(reply_twice, "gex_AM_ReplyShort: .*a handler replies once"),
    KIND(reply_to_reply, "no error, rightly"),
    KIND(handler_waits, "a collective: in a handler, which may only reply"),
    KIND(handler_requests, "gex_AM_RequestShort: in a handler, which may only reply"),
    KIND(handler_puts, "gex_RMA_PutNBI: in a handler, which may only reply"),
    KIND(handler_polls, "gasnet_AMPoll: in a handler, which may only reply"),
    KIND(handler_tests, "gex_NBI_Test.*: in a handler, which may only reply"),
    KIND(handler_keeps_lock, "handler 211 has returned with a handler-safe lock held"),
    KIND(handler_keeps_reply, "handler 212 has returned with a reply that is prepared"),
    KIND(lock_and_poll, "gasnet_AMPoll: this thread holds a handler-safe lock"),
    KIND(lock_and_put, "gex_RMA_PutBlocking: this thread holds a handler-safe lock"),
    KIND(prepare_and_send, "gex_AM_RequestShort: .*prepared a message that is not committed"),
    KIND(region_waits, "gex_NBI_Wait: this thread has an open access region"),
    KIND(second_thread, "a second thread calls the library, .*GASNET_SEQ"),
    KIND(lock_destroyed, "gex_HSL_Destroy: the handler-safe lock is held"),
    KIND(null_source, "gex_AM_RequestMedium: the address in this process is NULL"),
    KIND(null_put, "gex_RMA_PutBlocking: the address in this process is NULL"),
    KIND(null_get, "gex_RMA_GetNB: the address in this process is NULL"),
    KIND(null_fetch, "an atomic operation that fetches: the address in this process is NULL"),
    KIND(null_strides, "a strided transfer: strides or counts are NULL"),
    KIND(leaf_of_no_op, "GEX_EVENT_NO_OP: the operation was not started"),
    KIND(address_of_no_op, "gex_AM_SrcDescAddr: the message is GEX_AM_SRCDESC_NO_OP"),
    KIND(commit_elsewhere, "gex_AM_Commit: the destination is .* was prepared"),
    KIND(flags_without_category, "gex_EP_RegisterHandlers: .*lacks the category or the direction"),
    KIND(domain_twice, "gex_AD_Destroy: the domain is invalid or was destroyed before"),
    KIND(domain_destroyed, "an atomic operation .*was destroyed"),
    KIND(team_twice, "gex_TM_Destroy: the team was destroyed before"),
    KIND(team_destroyed, "a collective: the team was destroyed"),
    KIND(rank_of_no_team, "the team is GEX_TM_INVALID"),
    KIND(index_taken, "refused"),
    KIND(index_low, "refused"),
    KIND(prepare_twice, "gex_AM_PrepareRequestMedium: .*prepared a message that is not committed"),
    KIND(prepare_least, "gex_AM_PrepareRequestMedium: least is 11, most is 10"),
    KIND(prepare_lc, "gex_AM_PrepareRequestMedium: lc_opt is GEX_EVENT_NOW"),
    KIND(commit_twice, "gex_AM_Commit: the message is not prepared"),
    KIND(commit_long, "gex_AM_Commit: 11 bytes; gex_AM_SrcDescSize is 10"),
    KIND(commit_nargs, "gex_AM_Commit: 1 arguments; 0 were prepared"),
    KIND(commit_category, "gex_AM_Commit: .*another category or direction"),
    KIND(put_bounds, "gex_RMA_PutBlocking: 2 bytes at .* are not in the segment of process 0"),
    KIND(get_bounds, "gex_RMA_Get[A-Za-z]*: 2 bytes at .* are not in the segment of process 0"),
    KIND(put_lc, "gex_RMA_PutNB: lc_opt is GEX_EVENT_GROUP"),
    KIND(long_bounds, "gex_AM_RequestLong: .* are not in the segment of process 0"),
    KIND(strided_bounds, "a transfer of pieces: .* are not in the segment of process 0"),
    KIND(list_lengths, "the two lists have different lengths"),
    KIND(attach_twice, "refused"),
    KIND(atomic_absent, "an atomic operation .*: the domain was created without it"),
    KIND(atomic_type, "an atomic operation .*another data type"),
    KIND(atomic_odd, "an atomic operation .*not a multiple of its size"),
    KIND(atomic_bounds, "an atomic operation: .*not in the segment of process 0"),
    KIND(barrier_twice, "gasnet_barrier_notify: .*no gasnet_barrier_wait"),
    KIND(barrier_wait, "gasnet_barrier_wait: there was no gasnet_barrier_notify"),
    KIND(lock_twice, "gex_HSL_Lock: the handler-safe lock is held"),
    KIND(unlock_free, "gex_HSL_Unlock: the handler-safe lock is free"),
};

int main(int argc, char **argv)
{
	size_t count = sizeof(kinds) / sizeof(kinds[0]);
	void *at;

	if (argc < 2) {
		for (size_t i = 0; i < count; i++)
			printf("%s %s\n", kinds[i].name, kinds[i].words);
		return 0;
	}
	if (gex_Client_Init(&client, &ep, &team, "misuse", &argc, &argv, 0) ||
	    gex_EP_RegisterHandlers(ep, table, sizeof(table) / sizeof(table[0])) ||
	    gex_Segment_Attach(&segment, team, SEGMENT))
		return 2;
	n = gex_TM_QuerySize(team);
	gex_Segment_QueryBound(team, 0, &at, NULL, NULL);
	own = at;
	gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_FADD, 0);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(kinds[i].name, argv[1]))
			kinds[i].run();
	printf("no error\n");
	gasnet_exit(0);
	return 1;
}
