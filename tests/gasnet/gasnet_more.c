/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote atomics, collectives, and random vector, indexed and strided transfers against a model
 * that moves byte by byte. Each task works in a part of its own of each segment. QT_SEED is the
 * seed. gasnet_more pieces: only the transfers, and fewer. The digest printed last depends on the
 * seed and the number of tasks alone, whatever way the bytes went.
 */
#include <gasnetex.h>

#include "tests/gasnet/gasnet_random.h"

enum { PART = 1 << 16, TASKS = 8, SEGMENT = PART * TASKS };

static uint8_t *part_of(gex_Rank_t rank)
{
	void *owner;

	CALL(gex_Segment_QueryBound(team, rank, &owner, NULL, NULL));
	return (uint8_t *)owner + (size_t)PART * (me % TASKS);
}

/* ---- atomics ---- */

/* A counter that all tasks take tickets from: the tickets are 0 .. total - 1, each once. */
static void test_tickets(uint64_t *word0, int rounds)
{
	gex_AD_t ad;
	uint64_t sum = 0, all, ticket, total = (uint64_t)rounds * n;

	gex_AD_Create(&ad, team, GEX_DT_U64, GEX_OP_FINC | GEX_OP_GET | GEX_OP_ADD | GEX_OP_SET, 0);
	REQUIRE(gex_AD_QueryDT(ad) == GEX_DT_U64 && gex_AD_QueryTM(ad) == team);
	for (int i = 0; i < rounds; i++) {
		gex_Event_Wait(gex_AD_OpNB_U64(ad, &ticket, 0, word0, GEX_OP_FINC, 0, 0, 0));
		REQUIRE(ticket < total);
		sum += ticket;
	}
	gex_Event_Wait(
	    gex_Coll_ReduceToAllNB(team, &all, &sum, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
	REQUIRE(all == total * (total - 1) / 2);
	for (int i = 0; i < rounds; i++)
		CALL(gex_AD_OpNBI_U64(ad, NULL, 0, word0, GEX_OP_ADD, 3, 0, 0));
	gex_NBI_Wait(GEX_EC_RMW, 0);
	run_barrier();
	CALL(gex_AD_OpNBI_U64(ad, &ticket, 0, word0, GEX_OP_GET, 0, 0, 0));
	gex_NBI_Wait(GEX_EC_GET, 0);
	REQUIRE(ticket == 4 * total);
	run_barrier();
	gex_AD_Destroy(ad);
}

#define ATOMICS(name, T, is_real)                                                                  \
	static T one_##name(gex_AD_t ad, gex_Rank_t r, void *p, gex_OP_t op, T a, T b)             \
	{                                                                                          \
		T result = 77;                                                                     \
                                                                                                   \
		gex_Event_Wait(gex_AD_OpNB_##name(ad, &result, r, p, op, a, b, 0));                \
		return result;                                                                     \
	}                                                                                          \
	static void test_##name(gex_Rank_t r)                                                      \
	{                                                                                          \
		gex_OP_t bits = GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR, ops;                          \
		T *p = (T *)(void *)(part_of(r) + 128);                                            \
		gex_AD_t ad;                                                                       \
                                                                                                   \
		ops = GEX_OP_ADD | GEX_OP_SUB | GEX_OP_MULT | GEX_OP_MIN | GEX_OP_MAX |            \
		      GEX_OP_INC | GEX_OP_DEC | GEX_OP_SET | GEX_OP_CAS | (is_real ? 0 : bits);    \
		ops |= GEX_OP_TO_FETCHING(ops) | GEX_OP_GET;                                       \
		gex_AD_Create(&ad, team, GEX_DT_##name, ops, 0);                                   \
		REQUIRE(one_##name(ad, r, p, GEX_OP_SET, 5, 0) == 77);                             \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FADD, 7, 0) == 5);                             \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FSUB, 2, 0) == 12);                            \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FMULT, 3, 0) == 10);                           \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FMIN, 4, 0) == 30);                            \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FMAX, 9, 0) == 4);                             \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FINC, 0, 0) == 9);                             \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FDEC, 0, 0) == 10);                            \
		REQUIRE(one_##name(ad, r, p, GEX_OP_SWAP, 12, 0) == 9);                            \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FCAS, 11, 1) == 12);                           \
		REQUIRE(one_##name(ad, r, p, GEX_OP_FCAS, 12, 6) == 12);                           \
		REQUIRE(one_##name(ad, r, p, GEX_OP_CAS, 6, 14) == 77);                            \
		REQUIRE(one_##name(ad, r, p, GEX_OP_ADD, 1, 0) == 77);                             \
		REQUIRE(one_##name(ad, r, p, GEX_OP_GET, 0, 0) == 15);                             \
		if (!is_real) {                                                                    \
			REQUIRE(one_##name(ad, r, p, GEX_OP_FAND, 6, 0) == 15);                    \
			REQUIRE(one_##name(ad, r, p, GEX_OP_FOR, 9, 0) == 6);                      \
			REQUIRE(one_##name(ad, r, p, GEX_OP_FXOR, 5, 0) == 15);                    \
			REQUIRE(one_##name(ad, r, p, GEX_OP_GET, 0, 0) == 10);                     \
		}                                                                                  \
		run_barrier();                                                                     \
		gex_AD_Destroy(ad);                                                                \
	}
ATOMICS(I32, int32_t, 0)
ATOMICS(U32, uint32_t, 0)
ATOMICS(I64, int64_t, 0)
ATOMICS(U64, uint64_t, 0)
ATOMICS(FLT, float, 1)
ATOMICS(DBL, double, 1)

/* Results that do not fit wrap, and signs count where the type has them. */
static void test_edges(gex_Rank_t r)
{
	gex_OP_t ops = GEX_OP_FADD | GEX_OP_FSUB | GEX_OP_FMULT | GEX_OP_FMIN | GEX_OP_FMAX |
		       GEX_OP_FDEC | GEX_OP_FINC | GEX_OP_SET | GEX_OP_GET;
	void *p = part_of(r) + 256;
	gex_AD_t i32, u32, i64, u64;

	gex_AD_Create(&i32, team, GEX_DT_I32, ops, 0);
	gex_AD_Create(&u32, team, GEX_DT_U32, ops, 0);
	gex_AD_Create(&i64, team, GEX_DT_I64, ops, 0);
	gex_AD_Create(&u64, team, GEX_DT_U64, ops, 0);
	one_I32(i32, r, p, GEX_OP_SET, INT32_MAX, 0);
	REQUIRE(one_I32(i32, r, p, GEX_OP_FINC, 0, 0) == INT32_MAX);
	REQUIRE(one_I32(i32, r, p, GEX_OP_FMAX, -5, 0) == INT32_MIN);
	REQUIRE(one_I32(i32, r, p, GEX_OP_FMIN, 3, 0) == -5);
	REQUIRE(one_I32(i32, r, p, GEX_OP_FSUB, INT32_MIN, 0) == -5);
	REQUIRE(one_I32(i32, r, p, GEX_OP_FMULT, 2, 0) == INT32_MAX - 4);
	REQUIRE(one_I32(i32, r, p, GEX_OP_GET, 0, 0) == -10);
	one_U32(u32, r, p, GEX_OP_SET, 0, 0);
	REQUIRE(one_U32(u32, r, p, GEX_OP_FDEC, 0, 0) == 0);
	REQUIRE(one_U32(u32, r, p, GEX_OP_FMIN, 7, 0) == UINT32_MAX);
	REQUIRE(one_U32(u32, r, p, GEX_OP_FSUB, 8, 0) == 7);
	REQUIRE(one_U32(u32, r, p, GEX_OP_FADD, 2, 0) == UINT32_MAX);
	REQUIRE(one_U32(u32, r, p, GEX_OP_GET, 0, 0) == 1);
	one_I64(i64, r, p, GEX_OP_SET, INT64_MIN, 0);
	REQUIRE(one_I64(i64, r, p, GEX_OP_FDEC, 0, 0) == INT64_MIN);
	REQUIRE(one_I64(i64, r, p, GEX_OP_FMIN, -1, 0) == INT64_MAX);
	REQUIRE(one_I64(i64, r, p, GEX_OP_FADD, INT64_MAX, 0) == -1);
	REQUIRE(one_I64(i64, r, p, GEX_OP_FMAX, INT64_MIN, 0) == INT64_MAX - 1);
	one_U64(u64, r, p, GEX_OP_SET, UINT64_MAX, 0);
	REQUIRE(one_U64(u64, r, p, GEX_OP_FINC, 0, 0) == UINT64_MAX);
	REQUIRE(one_U64(u64, r, p, GEX_OP_FDEC, 0, 0) == 0);
	REQUIRE(one_U64(u64, r, p, GEX_OP_FMULT, UINT64_MAX, 0) == UINT64_MAX);
	REQUIRE(one_U64(u64, r, p, GEX_OP_GET, 0, 0) == 1);
	run_barrier();
	gex_AD_Destroy(i32);
	gex_AD_Destroy(u32);
	gex_AD_Destroy(i64);
	gex_AD_Destroy(u64);
}

/* A lock of compare-and-swap: whoever has it alone changes a number that is no atomic. */
static void test_lock(uint64_t *word0, int rounds)
{
	uint64_t *number = word0 + 8, all = (uint64_t)rounds * n, value;
	gex_AD_t ad;

	gex_AD_Create(&ad, team, GEX_DT_U64, GEX_OP_FCAS | GEX_OP_SET, 0);
	for (int i = 0; i < rounds; i++) {
		while (one_U64(ad, 0, word0 + 16, GEX_OP_FCAS, 0, me + 1))
			gasnet_AMPoll();
		value = gex_RMA_GetBlockingVal(team, 0, number, 8, 0);
		CALL(gex_RMA_PutBlockingVal(team, 0, number, value + 1, 8, 0));
		one_U64(ad, 0, word0 + 16, GEX_OP_SET, 0, 0);
	}
	run_barrier();
	REQUIRE(gex_RMA_GetBlockingVal(team, 0, number, 8, 0) == all);
	run_barrier();
	gex_AD_Destroy(ad);
}

/* ---- collectives ---- */

/* Products of 2 x 2 matrices: the order matters. */
static void multiply_matrices(const void *arg1, void *arg2, size_t count, const void *cdata)
{
	REQUIRE(cdata == &team);
	for (size_t i = 0; i < count; i++) {
		const int64_t *a = (const int64_t *)arg1 + 4 * i;
		int64_t *b = (int64_t *)arg2 + 4 * i,
			c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
				a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};

		memcpy(b, c, sizeof(c));
	}
}

static void test_collectives(void)
{
	int64_t own[4] = {1, (int64_t)me + 1, me % 2, 1}, got[4], expected[4] = {1, 0, 0, 1};
	double x = me + 1, sum = 0;
	static uint8_t data[5000], copy[5000];

	for (gex_Rank_t i = 0; i < n; i++) {
		int64_t b[4] = {1, (int64_t)i + 1, i % 2, 1}, a[4];

		memcpy(a, expected, sizeof(a));
		multiply_matrices(a, b, 1, &team);
		memcpy(expected, b, sizeof(b));
	}
	gex_Event_Wait(gex_Coll_ReduceToAllNB(team, got, own, GEX_DT_USER, 32, 1, GEX_OP_USER_NC,
					      multiply_matrices, &team, 0));
	REQUIRE(!memcmp(got, expected, sizeof(got)));
	for (gex_Rank_t root = 0; root < n; root++) {
		memset(got, 0, sizeof(got));
		gex_Event_Wait(gex_Coll_ReduceToOneNB(team, root, got, own, GEX_DT_USER, 32, 1,
						      GEX_OP_USER_NC, multiply_matrices, &team, 0));
		REQUIRE(me != root || !memcmp(got, expected, sizeof(got)));
		sum = 0;
		gex_Event_Wait(gex_Coll_ReduceToOneNB(team, root, me == root ? &sum : NULL, &x,
						      GEX_DT_DBL, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
		REQUIRE(me != root || sum == n * (n + 1) / 2);
		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)(i + root);
		memset(copy, 0, sizeof(copy));
		gex_Event_Wait(gex_Coll_BroadcastNB(team, root, copy, me == root ? data : NULL,
						    sizeof(data), 0));
		REQUIRE(!memcmp(copy, data, sizeof(data)));
	}
}

/* ---- vector, indexed, strided ---- */

static uint8_t local[PART], model_local[PART], model_peer[PART], fetched[PART];

/* How a transfer is made and waited for. */
static int how;
#define RUN(name, ...)                                                                             \
	do {                                                                                       \
		how = (int)draw_below(3);                                                          \
		if (how == 0)                                                                      \
			gex_Event_Wait(gex_VIS_##name##NB(__VA_ARGS__));                           \
		else if (how == 1)                                                                 \
			CALL(gex_VIS_##name##NBI(__VA_ARGS__));                                    \
		else                                                                               \
			CALL(gex_VIS_##name##Blocking(__VA_ARGS__));                               \
		gex_NBI_Wait(GEX_EC_ALL, 0);                                                       \
	} while (0)

/* Bytes of a piece: often one that has a loop of its own. */
static size_t random_piece(size_t limit)
{
	static const size_t special[] = {4, 8, 16, 64};

	return draw_below(2) ? special[draw_below(4)] : 1 + draw_below((uint32_t)limit);
}

static void test_lists(gex_Rank_t peer)
{
	uint8_t *there = part_of(peer);
	gex_Memvec_t a[RANDOM_PIECES], b[RANDOM_PIECES];
	void *pa[64], *pb[64];
	size_t total = draw_below(2) ? draw_below(400) : draw_below(20000), na, nb, chunk, k, each;

	na = random_list(a, local, total);
	nb = random_list(b, there, total);
	if (draw_below(2)) {
		model_lists(b, a, total, model_peer, model_local, there, local);
		RUN(VectorPut, team, peer, nb, b, na, a,
		    draw_below(2) ? GEX_FLAG_ENABLE_LEAF_LC : 0);
	} else {
		model_lists(a, b, total, model_local, model_peer, local, there);
		RUN(VectorGet, team, na, a, peer, nb, b, 0);
	}
	chunk = random_piece(draw_below(2) ? 16 : 700);
	k = 1 + draw_below(31);
	each = 1 + draw_below(2); /* chunks here for one there */
	for (size_t i = 0; i < each * k; i++) {
		pa[i] = local + i * (chunk + draw_below(9) % 3 + 2);
		a[i] = (gex_Memvec_t){pa[i], chunk};
	}
	for (size_t i = 1; i < each * k; i++) { /* keep them apart */
		pa[i] = (uint8_t *)pa[i - 1] + chunk + draw_below(5);
		a[i].gex_addr = pa[i];
	}
	for (size_t i = 0; i < k; i++) {
		pb[i] = there + i * (each * chunk + 3);
		b[i] = (gex_Memvec_t){pb[i], each * chunk};
	}
	if (draw_below(2)) {
		model_lists(b, a, each * k * chunk, model_peer, model_local, there, local);
		RUN(IndexedPut, team, peer, k, pb, each * chunk, each * k, pa, chunk, 0);
	} else {
		model_lists(a, b, each * k * chunk, model_local, model_peer, local, there);
		RUN(IndexedGet, team, each * k, pa, chunk, peer, k, pb, each * chunk, 0);
	}
}

static void test_strided(gex_Rank_t peer)
{
	size_t levels = draw_below(RANDOM_LEVELS + 1), count[RANDOM_LEVELS],
	       bytes = random_piece(draw_below(3) ? 24 : 900);
	ptrdiff_t self[RANDOM_LEVELS], remote[RANDOM_LEVELS];
	size_t self_at, remote_at;
	uint8_t *there = part_of(peer);

	random_counts(levels, count, bytes);
	self_at = random_strides(levels, count, bytes, self);
	remote_at = random_strides(levels, count, bytes, remote);
	if (levels && !draw_below(20))
		count[draw_below((uint32_t)levels)] = 0;
	if (draw_below(2)) {
		if (levels && !draw_below(5)) {
			self[0] = 0; /* a source may repeat */
			self_at = 40000;
		}
		model_strided(model_peer + remote_at, remote, model_local + self_at, self, bytes,
			      count, levels);
		RUN(StridedPut, team, peer, there + remote_at, remote, local + self_at, self, bytes,
		    count, levels, 0);
	} else {
		model_strided(model_local + self_at, self, model_peer + remote_at, remote, bytes,
			      count, levels);
		RUN(StridedGet, team, local + self_at, self, peer, there + remote_at, remote, bytes,
		    count, levels, 0);
	}
}

static volatile int landed;
static void on_landed(gex_Token_t token, void *buf, size_t bytes)
{
	REQUIRE(bytes == 5 && !memcmp(buf, "done", 5));
	landed++;
}

/* Of what all tasks have seen: their own memory, and what they fetched. */
static uint64_t digest;

static void add_to_digest(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		digest = (digest ^ p[i]) * 1099511628211u;
}

static void test_transfers(int rounds)
{
	const ptrdiff_t stride[] = {16};
	const size_t count[] = {4};
	gex_AM_Entry_t entry = {200, (gex_AM_Fn_t)on_landed, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY,
				0};

	CALL(gex_EP_RegisterHandlers(ep, &entry, 1));
	run_barrier();
	for (gex_Rank_t r = 0; r < n; r++) {
		gex_Rank_t peer = (me + r) % n;

		for (size_t i = 0; i < PART; i++)
			model_local[i] = (uint8_t)draw_below(256);
		for (size_t i = 0; i < PART; i++)
			model_peer[i] = (uint8_t)draw_below(256);
		memcpy(local, model_local, PART);
		CALL(gex_RMA_PutBlocking(team, peer, part_of(peer), model_peer, PART, 0));
		for (int i = 0; i < rounds; i++) {
			if (draw_below(2))
				test_strided(peer);
			else
				test_lists(peer);
			REQUIRE(!memcmp(local, model_local, PART));
			if (i % 8)
				continue;
			CALL(gex_RMA_GetBlocking(team, fetched, peer, part_of(peer), PART, 0));
			REQUIRE(!memcmp(fetched, model_peer, PART));
		}
		CALL(gex_RMA_GetBlocking(team, fetched, peer, part_of(peer), PART, 0));
		REQUIRE(!memcmp(fetched, model_peer, PART));
		add_to_digest(local, PART);
		add_to_digest(fetched, PART);
		run_barrier();
	}
	gex_VIS_SetPeerCompletionHandler(200, "done", 5, 0);
	gex_Event_Wait(gex_VIS_StridedPutNB(team, (me + 1) % n, part_of((me + 1) % n), stride,
					    local, stride, 8, count, 1, 0));
	GASNET_BLOCKUNTIL(landed == 1);
}

static void test_atomics_and_collectives(int is_virtual)
{
	void *base0;

	CALL(gex_Segment_QueryBound(team, 0, &base0, NULL, NULL));
	test_tickets((uint64_t *)base0 + 512, is_virtual ? 20 : 300);
	test_lock((uint64_t *)base0 + 512, is_virtual ? 5 : 30);
	for (gex_Rank_t r = 0; r < n; r++) {
		gex_Rank_t peer = (me + r) % n;

		test_I32(peer);
		test_U32(peer);
		test_I64(peer);
		test_U64(peer);
		test_FLT(peer);
		test_DBL(peer);
		test_edges(peer);
	}
	test_collectives();
}

int main(int argc, char **argv)
{
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	int only_pieces = argc > 1 && !strcmp(argv[1], "pieces");
	uint64_t all;
	const char *text = getenv("QT_SEED");
	gex_Client_t client;
	gex_Segment_t segment;

	seed = text ? (uint32_t)atoi(text) : 1;
	CALL(gex_Client_Init(&client, &ep, &team, "more", &argc, &argv, 0));
	me = gex_TM_QueryRank(team);
	n = gex_TM_QuerySize(team);
	state = seed * 7919 + me * 104729 + 1;
	REQUIRE(n <= TASKS);
	CALL(gex_Segment_Attach(&segment, team, SEGMENT));
	memset(gex_Segment_QueryAddr(segment), 0, SEGMENT);
	run_barrier();
	if (!only_pieces)
		test_atomics_and_collectives(is_virtual);
	test_transfers(is_virtual || only_pieces ? 40 : 200);
	gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &all, &digest, GEX_DT_U64, 8, 1, GEX_OP_ADD,
					      NULL, NULL, 0));
	run_barrier();
	if (!me)
		printf("more: all right with %u tasks, seed %u, digest %016llx\n", n, seed,
		       (unsigned long long)all);
	gasnet_exit(0);
	return 1;
}
