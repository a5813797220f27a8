/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote atomics.
 *
 * Memory that this process maps: the processor's atomic instruction, complete when the call returns
 * (HOT). Elsewhere, if the messaging units carry out every operation of the domain on its type
 * (torus run --hw mu_atomics), PAMI_Rmw: no software of the owner takes part. Else a message
 * carries operation, address and operands; the owner's processor applies it and answers with the
 * old value. With TGEX_RATOMIC=nic the message goes to context GEXI_SERVE, which is served beside
 * the owner's program; with am all messages go to GEXI_MAIN, so the owner has to poll. All ways end
 * in the same instructions, so operations of one domain are atomic with each other whichever way
 * they take, and every set of operations can be mixed. In virtual time a domain of the messaging
 * units does not use the processor, not even on memory of this process: the units' operations have
 * their times.
 */
#include <stdlib.h>
#include <string.h>

#include "gasnet/am/am.h"
#include "gasnet/core/team.h"
#include "gasnet/ratomic/ratomic.h"

struct gexi_ad {
	/* For operations on memory of this process without a look at team or peer, whose loads the
	 * atomic instruction of the operation before would hold up. */
	gex_DT_t own_dt; /* 0: look */
	gex_Rank_t own;  /* rank of this process */
	gex_TM_t team;
	gex_DT_t dt;
	gex_OP_t ops;
	gex_Flags_t flags;
	bool is_by_mu;     /* the messaging units carry out every operation */
	bool is_by_mu_all; /* also on memory that this process maps */
	const void *cdata;
	struct gexi_ad *next; /* in the list of destroyed ones */
};
static struct gexi_ad *destroyed; /* lock */

/* The messages to the owner and back. */
struct request {
	uint64_t addr, operand1, operand2, event;
	uint32_t op, dt;
};
struct answer {
	uint64_t event, old;
};

/* ---- operations on memory of this process or of a neighbour ---- */

#define FETCHING(op) ((op) >> 16 && (op) != GEX_OP_GET ? (op) >> 16 : (op))

/* Compute `next` from `old` until no other changes the location meanwhile. */
#define LOOP(T, B, p, expression)                                                                  \
	do {                                                                                       \
		B old_bits = atomic_load_relaxed(p), next_bits;                                    \
		T old, next;                                                                       \
		do {                                                                               \
			memcpy(&old, &old_bits, sizeof(old));                                      \
			next = (expression);                                                       \
			memcpy(&next_bits, &next, sizeof(next));                                   \
		} while (!atomic_cas_weak_acq_rel(p, &old_bits, next_bits));                       \
		return old;                                                                        \
	} while (0)

/* T: the type; U: computes without overflow that C leaves undefined; B: its bits. */
#define COMMON(T, U, B)                                                                            \
	case GEX_OP_MULT:                                                                          \
		LOOP(T, B, p, (T)((U)old * (U)a));                                                 \
	case GEX_OP_MIN:                                                                           \
		LOOP(T, B, p, old < a ? old : a);                                                  \
	case GEX_OP_MAX:                                                                           \
		LOOP(T, B, p, old > a ? old : a);

#define INTEGER(name, T, U)                                                                        \
	static inline T apply_##name(void *at, gex_OP_t op, T a, T b)                              \
	{                                                                                          \
		T *p = at, expected = a;                                                           \
                                                                                                   \
		switch (FETCHING(op)) {                                                            \
		case GEX_OP_ADD:                                                                   \
			return atomic_fetch_add_acq_rel(p, a);                                     \
		case GEX_OP_SUB:                                                                   \
			return atomic_fetch_sub_acq_rel(p, a);                                     \
		case GEX_OP_INC:                                                                   \
			return atomic_fetch_add_acq_rel(p, 1);                                     \
		case GEX_OP_DEC:                                                                   \
			return atomic_fetch_sub_acq_rel(p, 1);                                     \
		case GEX_OP_AND:                                                                   \
			return atomic_fetch_and_acq_rel(p, a);                                     \
		case GEX_OP_OR:                                                                    \
			return atomic_fetch_or_acq_rel(p, a);                                      \
		case GEX_OP_XOR:                                                                   \
			LOOP(T, T, p, old ^ a);                                                    \
			COMMON(T, U, T)                                                            \
		case GEX_OP_SET:                                                                   \
			return atomic_exchange_acq_rel(p, a);                                      \
		case GEX_OP_GET:                                                                   \
			return atomic_load_acquire(p);                                             \
		case GEX_OP_CAS:                                                                   \
			atomic_cas_acq_rel(p, &expected, b);                                       \
			return expected;                                                           \
		default:                                                                           \
			gexi_die("%#x is not one operation of an atomic domain", op);              \
		}                                                                                  \
	}
INTEGER(I32, int32_t, uint32_t)
INTEGER(U32, uint32_t, uint32_t)
INTEGER(I64, int64_t, uint64_t)
INTEGER(U64, uint64_t, uint64_t)

/* CAS compares bits. */
#define REAL(name, T, B)                                                                           \
	static inline T apply_##name(void *at, gex_OP_t op, T a, T b)                              \
	{                                                                                          \
		B *p = at, bits, next;                                                             \
		T result;                                                                          \
                                                                                                   \
		memcpy(&bits, &a, sizeof(bits));                                                   \
		memcpy(&next, &b, sizeof(next));                                                   \
		switch (FETCHING(op)) {                                                            \
		case GEX_OP_ADD:                                                                   \
			LOOP(T, B, p, old + a);                                                    \
		case GEX_OP_SUB:                                                                   \
			LOOP(T, B, p, old - a);                                                    \
		case GEX_OP_INC:                                                                   \
			LOOP(T, B, p, old + 1);                                                    \
		case GEX_OP_DEC:                                                                   \
			LOOP(T, B, p, old - 1);                                                    \
			COMMON(T, T, B)                                                            \
		case GEX_OP_SET:                                                                   \
			bits = atomic_exchange_acq_rel(p, bits);                                   \
			break;                                                                     \
		case GEX_OP_GET:                                                                   \
			bits = atomic_load_acquire(p);                                             \
			break;                                                                     \
		case GEX_OP_CAS:                                                                   \
			atomic_cas_acq_rel(p, &bits, next);                                        \
			break;                                                                     \
		default:                                                                           \
			gexi_die("%#x is not one operation of an atomic domain on reals", op);     \
		}                                                                                  \
		memcpy(&result, &bits, sizeof(result));                                            \
		return result;                                                                     \
	}
REAL(FLT, float, uint32_t)
REAL(DBL, double, uint64_t)

static size_t bytes_of(gex_DT_t dt)
{
	return dt & (GEX_DT_I32 | GEX_DT_U32 | GEX_DT_FLT) ? 4 : 8;
}

/* Operands and result as bits. */
static uint64_t apply_op(gex_DT_t dt, void *p, gex_OP_t op, uint64_t operand1, uint64_t operand2)
{
	uint64_t old = 0;

	switch (dt) {
#define CASE(name, T)                                                                              \
	case GEX_DT_##name: {                                                                      \
		T a, b, result;                                                                    \
                                                                                                   \
		memcpy(&a, &operand1, sizeof(a));                                                  \
		memcpy(&b, &operand2, sizeof(b));                                                  \
		result = apply_##name(p, op, a, b);                                                \
		memcpy(&old, &result, sizeof(result));                                             \
		break;                                                                             \
	}
		CASE(I32, int32_t)
		CASE(U32, uint32_t)
		CASE(I64, int64_t)
		CASE(U64, uint64_t)
		CASE(FLT, float)
		CASE(DBL, double)
#undef CASE
	default:
		gexi_die("%#x is not a type of an atomic domain", dt);
	}
	return old;
}

/* ---- messages ---- */

/* Runs at the owner; on GEXI_SERVE a thread of the library may run it. */
static void on_request(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t data_bytes,
		       pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct request *r = header;
	struct answer a = {
	    .event = r->event,
	    .old = apply_op(r->dt, (void *)(uintptr_t)r->addr, r->op, r->operand1, r->operand2)};
	pami_send_immediate_t s = {
	    .header = {&a, sizeof(a)}, .dispatch = GEXI_DISPATCH_RATOMIC_DONE, .dest = origin};

	PAMI_Send_immediate(context, &s);
}

static void on_answer(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		      const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		      pami_recv_t *recv)
{
	const struct answer *a = header;
	struct gexi_event *e = (struct gexi_event *)(uintptr_t)a->event;
	struct gexi_completion implicit = e->completion;

	pami_quintorus_credit_arrive(&gexi_peer(origin >> 6)->credit, 1);
	if (e->result)
		memcpy(e->result, &a->old, e->result_bytes);
	if (!implicit.fn) {
		gexi_event_root(context, e, PAMI_SUCCESS);
		return;
	}
	gexi_event_free(e);
	implicit.fn(context, implicit.cookie, PAMI_SUCCESS);
}

void gexi_ratomic_open(void)
{
	pami_dispatch_callback_function request = {.p2p = on_request}, answer = {.p2p = on_answer};
	pami_dispatch_hint_t hint = {0};

	for (int c = 0; c < GEXI_CONTEXTS; c++)
		if (PAMI_Dispatch_set(gexi_world.context[c], GEXI_DISPATCH_RATOMIC, request, NULL,
				      hint) != PAMI_SUCCESS ||
		    PAMI_Dispatch_set(gexi_world.context[c], GEXI_DISPATCH_RATOMIC_DONE, answer,
				      NULL, hint) != PAMI_SUCCESS)
			gexi_die("cannot register the messages of remote atomics");
}

/* ---- the messaging units ---- */

struct mu_form { /* what PAMI_Rmw is asked for */
	pami_atomic_t operation;
	pami_type_t type;
	uint64_t value, test;
};

/* False: PAMI has no such operation. */
static bool find_mu_form(gex_DT_t dt, gex_OP_t op, uint64_t a, uint64_t b, struct mu_form *f)
{
	bool is_real = dt & (GEX_DT_FLT | GEX_DT_DBL);
	unsigned fetch = op >> 16 ? PAMI_ATOMIC_FETCH : 0, change;

	*f = (struct mu_form){.type = bytes_of(dt) == 4 ? PAMI_TYPE_UNSIGNED_INT
							: PAMI_TYPE_UNSIGNED_LONG_LONG,
			      .value = a};
	switch (FETCHING(op)) {
	case GEX_OP_SET:
		change = PAMI_ATOMIC_SET;
		break;
	case GEX_OP_GET:
		change = 0;
		f->value = 0;
		break;
	case GEX_OP_CAS:
		change = PAMI_ATOMIC_SET | PAMI_ATOMIC_COMPARE;
		f->value = b;
		f->test = a;
		break;
	case GEX_OP_ADD:
	case GEX_OP_SUB:
	case GEX_OP_INC:
	case GEX_OP_DEC:
		if (is_real)
			return false;
		change = PAMI_ATOMIC_ADD;
		f->value = FETCHING(op) == GEX_OP_ADD   ? a
			   : FETCHING(op) == GEX_OP_SUB ? -a
			   : FETCHING(op) == GEX_OP_INC ? 1
							: -(uint64_t)1;
		break;
	case GEX_OP_AND:
		change = PAMI_ATOMIC_AND;
		break;
	case GEX_OP_OR:
		change = PAMI_ATOMIC_OR;
		break;
	case GEX_OP_XOR:
		change = PAMI_ATOMIC_XOR;
		break;
	default:
		return false;
	}
	f->operation = (pami_atomic_t)(change | fetch);
	return true;
}

/* Do the messaging units have every operation of the domain, whatever its operands? */
static bool is_domain_of_mu(gex_DT_t dt, gex_OP_t ops)
{
	struct mu_form f;

	for (gex_OP_t op = 1; op && op <= ops; op <<= 1)
		if (ops & op && (!find_mu_form(dt, op, 2, 2, &f) ||
				 !gexi_world.has_atomic(f.operation, f.type, f.value)))
			return false;
	return true;
}

static unsigned category_of(gex_OP_t op)
{
	return op == GEX_OP_SET ? GEXI_EC_PUT : op == GEX_OP_GET ? GEXI_EC_GET : GEXI_EC_RMW;
}

static GEXI_COLD void cannot_send(uint32_t task)
{
	gexi_die("an atomic operation cannot be sent: process %u has died or left the job", task);
}

/*
 * As start_atomic(). Implicit operations outside of an access region are counted by the messaging
 * unit, so that no function runs for each.
 */
static gex_Event_t start_at_mu(gex_AD_t ad, void *result, uint32_t task, void *addr, gex_OP_t op,
			       uint64_t operand1, uint64_t operand2, gex_Flags_t flags,
			       bool is_implicit)
{
	struct gexi_completion done = {gexi_event_root, NULL};
	struct gexi_thread *self = gexi_self();
	struct gexi_event *e = NULL;
	struct mu_form f;
	uint64_t *count = NULL;
	pami_result_t rc;
	pami_rmw_t rmw;

	if (gexi_gives_up(flags))
		return GEX_EVENT_NO_OP;
	find_mu_form(ad->dt, op, operand1, operand2, &f);
	if (is_implicit) {
		if (gexi_world.count_atomic && !self->region)
			count = (uint64_t *)(void *)&self->done[category_of(op)];
		done = gexi_nbi_start(category_of(op));
	} else {
		done.cookie = e = gexi_event_new();
		atomic_store_relaxed(&e->pending, 1);
	}
	rmw = (pami_rmw_t){.dest = gexi_peer(task)->endpoint[GEXI_MAIN],
			   .cookie = done.cookie,
			   .done_fn = done.fn,
			   .local = result,
			   .remote = addr,
			   .value = &f.value,
			   .test = &f.test,
			   .operation = f.operation,
			   .type = f.type};
	gexi_lock();
	rc = count ? gexi_world.count_atomic(gexi_world.context[GEXI_MAIN], &rmw, count)
		   : PAMI_Rmw(gexi_world.context[GEXI_MAIN], &rmw);
	if (rc != PAMI_SUCCESS)
		cannot_send(task);
	gexi_poll_sometimes(GEXI_POLL_EVERY_ATOMIC);
	gexi_unlock();
	return e ? gexi_event_handle(e) : GEX_EVENT_INVALID;
}

/* ---- requests ---- */

/* is_paid: its credit was taken. */
static void send_request(uint32_t task, const struct request *r, bool is_paid)
{
	pami_send_immediate_t s = {
	    .header = {(void *)(uintptr_t)r, sizeof(*r)},
	    .dispatch = GEXI_DISPATCH_RATOMIC,
	    .dest = gexi_peer(task)->endpoint[gexi_world.env.ratomic ? GEXI_SERVE : GEXI_MAIN],
	};

	gexi_lock();
	if (!is_paid)
		gexi_credit_take(gexi_peer(task), 1, 0); /* the answer returns it */
	if (PAMI_Send_immediate(gexi_world.context[GEXI_MAIN], &s) != PAMI_SUCCESS)
		cannot_send(task);
	gexi_poll_sometimes(GEXI_POLL_EVERY_ATOMIC);
	gexi_unlock();
}

static GEXI_COLD bool pay_now(uint32_t task)
{
	bool has;

	gexi_lock();
	has = gexi_credit_take(gexi_peer(task), 1, GEX_FLAG_IMMEDIATE);
	gexi_unlock();
	return has;
}

/* Operands are bits. Returns the event of an explicit operation, else GEX_EVENT_INVALID;
 * GEX_EVENT_NO_OP: nothing was started. */
static gex_Event_t start_atomic(gex_AD_t ad, void *result, uint32_t task, void *addr, gex_OP_t op,
				uint64_t operand1, uint64_t operand2, gex_Flags_t flags,
				bool is_implicit)
{
	bool is_immediate = flags & GEX_FLAG_IMMEDIATE;
	struct gexi_event *e;
	struct request r;

	if (ad->is_by_mu)
		return start_at_mu(ad, result, task, addr, op, operand1, operand2, flags,
				   is_implicit);
	if (GEXI_UNLIKELY(is_immediate) && !pay_now(task))
		return GEX_EVENT_NO_OP;
	e = gexi_event_new();
	r = (struct request){.addr = (uint64_t)(uintptr_t)addr,
			     .operand1 = operand1,
			     .operand2 = operand2,
			     .event = (uint64_t)(uintptr_t)e,
			     .op = op,
			     .dt = ad->dt};

	e->result = op >> 16 ? result : NULL;
	e->result_bytes = (uint32_t)bytes_of(ad->dt);
	e->completion.fn = NULL;
	atomic_store_relaxed(&e->pending, 1);
	if (is_implicit)
		e->completion = gexi_nbi_start(category_of(op));
	send_request(task, &r, is_immediate);
	return is_implicit ? GEX_EVENT_INVALID : gexi_event_handle(e);
}

/* ---- the published names ---- */

static GEXI_COLD void check_fail(const char *why, gex_OP_t op)
{
	gexi_die("an atomic operation (%#x) on a domain: %s", op, why);
}

static inline uint32_t check_and_translate(gex_AD_t ad, gex_DT_t dt, const void *result,
					   gex_Rank_t rank, void *addr, gex_OP_t op,
					   gex_Flags_t flags, size_t bytes)
{
	uint32_t task;

	if (GEXI_UNLIKELY(!ad || ad->dt != dt))
		check_fail("the domain is invalid, was destroyed, or has another data type", op);
	if (GEXI_UNLIKELY(!(op & ad->ops) || op & (op - 1)))
		check_fail("the domain was created without it", op);
	task = flags & GEX_FLAG_RANK_IS_JOBRANK ? gexi_task_of(gexi_world.team, rank)
						: gexi_task_of(ad->team, rank);
	gexi_check_bounds("an atomic operation", task, addr, bytes);
	if (GEXI_UNLIKELY(gexi_world.is_debug && (uintptr_t)addr % bytes))
		check_fail("its target is not a multiple of its size", op);
	if (op >> 16)
		gexi_check_local("an atomic operation that fetches", result, bytes);
	gexi_check_may_call("an atomic operation");
	return task;
}

/* Is the target this process, and nothing to be checked but the operation? */
static inline bool is_own(gex_AD_t ad, gex_DT_t dt, gex_Rank_t rank, gex_OP_t op, gex_Flags_t flags)
{
	return ad && ad->own_dt == dt && rank == ad->own && op & ad->ops && !(op & (op - 1)) &&
	       !(flags & GEX_FLAG_RANK_IS_JOBRANK);
}

/* The most frequent operation, by no function that is called: stores of registers would go before
 * the atomic instruction, which waits for them. */
#define QUICK_INTEGER(name, T, done)                                                               \
	if (GEXI_LIKELY(op == GEX_OP_FADD && is_own(ad, GEX_DT_##name, rank, op, flags))) {        \
		T *own = addr;                                                                     \
                                                                                                   \
		*result_p = atomic_fetch_add_acq_rel(own, operand1);                               \
		return done;                                                                       \
	}
#define QUICK_NONE(name, T, done)

#define DEFINE(name, T, QUICK)                                                                     \
	static __attribute__((noinline))                                                           \
	gex_Event_t op_##name(gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr, gex_OP_t op,  \
			      T operand1, T operand2, gex_Flags_t flags, bool is_implicit)         \
	{                                                                                          \
		uint64_t bits1 = 0, bits2 = 0;                                                     \
		void *local = addr;                                                                \
		uint32_t task = 0;                                                                 \
		T old;                                                                             \
                                                                                                   \
		if (GEXI_UNLIKELY(!is_own(ad, GEX_DT_##name, rank, op, flags))) {                  \
			task = check_and_translate(ad, GEX_DT_##name, result_p, rank, addr, op,    \
						   flags, sizeof(T));                              \
			local = ad->is_by_mu_all ? NULL : gexi_local(gexi_peer(task), addr);       \
		}                                                                                  \
		if (GEXI_LIKELY(local != NULL)) {                                                  \
			gexi_spend_copy(sizeof(T));                                                \
			old = apply_##name(local, op, operand1, operand2);                         \
			if (op >> 16)                                                              \
				*result_p = old;                                                   \
			return GEX_EVENT_INVALID;                                                  \
		}                                                                                  \
		memcpy(&bits1, &operand1, sizeof(T));                                              \
		memcpy(&bits2, &operand2, sizeof(T));                                              \
		return start_atomic(ad, result_p, task, addr, op, bits1, bits2, flags,             \
				    is_implicit);                                                  \
	}                                                                                          \
	gex_Event_t gex_AD_OpNB_##name(gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr,      \
				       gex_OP_t op, T operand1, T operand2, gex_Flags_t flags)     \
	{                                                                                          \
		QUICK(name, T, GEX_EVENT_INVALID)                                                  \
		return op_##name(ad, result_p, rank, addr, op, operand1, operand2, flags, false);  \
	}                                                                                          \
	int gex_AD_OpNBI_##name(gex_AD_t ad, T *result_p, gex_Rank_t rank, void *addr,             \
				gex_OP_t op, T operand1, T operand2, gex_Flags_t flags)            \
	{                                                                                          \
		QUICK(name, T, 0)                                                                  \
		return op_##name(ad, result_p, rank, addr, op, operand1, operand2, flags, true) == \
		       GEX_EVENT_NO_OP;                                                            \
	}
DEFINE(I32, int32_t, QUICK_INTEGER)
DEFINE(U32, uint32_t, QUICK_INTEGER)
DEFINE(I64, int64_t, QUICK_INTEGER)
DEFINE(U64, uint64_t, QUICK_INTEGER)
DEFINE(FLT, float, QUICK_NONE)
DEFINE(DBL, double, QUICK_NONE)

static bool is_one_type(gex_DT_t dt)
{
	return dt && !(dt & (dt - 1)) && dt <= GEX_DT_DBL;
}

/* No process sends requests if every process loads and stores in every segment. */
static bool is_all_mapped(void)
{
	for (uint32_t t = 0; t < gexi_world.nproc; t++)
		if (!gexi_peer(t)->is_mapped)
			return false;
	return true;
}

void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
{
	const gex_OP_t bitwise =
	    GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR | GEX_OP_FAND | GEX_OP_FOR | GEX_OP_FXOR;
	struct gexi_ad *ad;

	gexi_lock();
	ad = destroyed;
	if (ad)
		destroyed = ad->next;
	gexi_unlock();
	if (!ad)
		ad = malloc(sizeof(*ad));
	if (!ad || !tm || !is_one_type(dt))
		gexi_die("gex_AD_Create: %s", !ad   ? "no memory"
					      : !tm ? "no team"
						    : "not one type from I32 to DBL");
	if (dt & (GEX_DT_FLT | GEX_DT_DBL) && ops & bitwise)
		gexi_die("gex_AD_Create: bitwise operations need an integer type");
	*ad = (struct gexi_ad){.team = tm, .dt = dt, .ops = ops, .flags = flags};
	ad->is_by_mu = gexi_world.env.ratomic && gexi_world.has_atomic && is_domain_of_mu(dt, ops);
	ad->is_by_mu_all = ad->is_by_mu && gexi_world.is_virtual;
	ad->own = tm->rank;
	if (!gexi_world.is_virtual && !gexi_world.is_debug && gexi_peer(gexi_world.me)->is_mapped)
		ad->own_dt = dt;
	if (gexi_world.env.ratomic && !ad->is_by_mu && !is_all_mapped())
		gexi_serve_start();
	gexi_barrier(tm);
	*ad_p = ad;
}

/* The object stays, so that a later use is noticed, and is used again. */
void gex_AD_Destroy(gex_AD_t ad)
{
	if (!ad || !ad->dt)
		gexi_die("gex_AD_Destroy: the domain is invalid or was destroyed before");
	ad->dt = ad->own_dt = 0;
	gexi_lock();
	ad->next = destroyed;
	destroyed = ad;
	gexi_unlock();
}

gex_TM_t gex_AD_QueryTM(gex_AD_t ad)
{
	return ad->team;
}

gex_DT_t gex_AD_QueryDT(gex_AD_t ad)
{
	return ad->dt;
}

gex_OP_t gex_AD_QueryOps(gex_AD_t ad)
{
	return ad->ops;
}

gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad)
{
	return ad->flags;
}

void *gex_AD_QueryCData(gex_AD_t ad)
{
	return (void *)(uintptr_t)ad->cdata;
}

void gex_AD_SetCData(gex_AD_t ad, const void *value)
{
	ad->cdata = value;
}
