/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the short lane, for a barrier, and for a broadcast or allreduce of up to 56 bytes, of a team
 * on whose memory no other operation is under way. The call publishes the data, the next progress
 * calls read that of the others; there is no operation object and no message. Every other case goes
 * through coll/engine.c. Guarded by bench/micro/pami_coll.
 */
#include "drivers/base/atomic.h"
#include "pami/coll/shm/shm.h"
#include "pami/coll/state.h"
#include "pami/coll/progress.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"

/*
 * memcpy; without a call for 8 bytes, the usual size. A program that names NULL for bytes that it
 * has faults here, as with memcpy().
 */
static inline void copy_few(void *to, const void *from, size_t bytes)
{
	/* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker) */
	if (bytes == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, bytes);
	/* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
}

/* The arguments of a broadcast or allreduce. Returns false if they are not for this lane. */
static bool broadcast_args(struct pami_geometry *g, const pami_broadcast_t *b,
			   struct pami_short *op)
{
	struct pami_type *t = b->type;
	int32_t root;

	if (!pami_type_is_usable(t) || !pami_type_is_contiguous(t))
		return false;
	op->bytes = b->typecount * t->data_size;
	if (b->typecount > PAMI_SHM_INLINE || op->bytes > PAMI_SHM_INLINE)
		return false;
	root = pami_geometry_rank(g, b->root);
	op->root = (uint32_t)root;
	op->target = b->buf;
	return root >= 0;
}

static bool allreduce_args(const pami_allreduce_t *a, struct pami_short *op)
{
	struct pami_type *s = a->stype, *r = a->rtype;

	if (a->sndbuf == PAMI_IN_PLACE || !pami_type_is_usable(s) || !pami_type_is_contiguous(s) ||
	    !pami_type_is_usable(r) || !pami_type_is_contiguous(r) || !r->data_size ||
	    !pami_data_is_valid(a->op, s->element))
		return false;
	op->bytes = a->stypecount * s->data_size;
	if (a->stypecount > PAMI_SHM_INLINE || op->bytes > PAMI_SHM_INLINE ||
	    op->bytes % r->data_size)
		return false;
	op->element = s->element;
	op->target = a->rcvbuf;
	op->op = a->op;
	op->op_cookie = a->data_cookie;
	return true;
}

/*
 * True if coll/table.def chooses the team's memory. The answer is kept for each type if it is yes
 * for all sizes of this lane and does not depend on a class route, which may come and go.
 */
static bool is_chosen(struct pami_shm *s, const struct pami_geometry *g, unsigned type,
		      size_t bytes)
{
	if (PAMI_UNLIKELY(!s->lane[type]))
		s->lane[type] =
		    pami_coll_choose_soft(g, type, 0)->in_team_memory &&
			    pami_coll_choose_soft(g, type, PAMI_SHM_INLINE)->in_team_memory
			? PAMI_LANE_ALWAYS
			: PAMI_LANE_ASK;
	return (s->lane[type] == PAMI_LANE_ALWAYS && !g->hw) ||
	       pami_coll_choose(g, type, bytes)->in_team_memory;
}

/*
 * True if this member may write its slot of the turn. Reads the counts of the others, but does not
 * wait.
 */
static bool is_slot_free(struct pami_shm *s, uint64_t k)
{
	uint64_t before = s->slot_wait[k % PAMI_SHM_SLOTS];

	if (PAMI_LIKELY(s->all_done >= before))
		return true;
	for (uint32_t i = 0; i < s->members; i++) {
		if (i == s->me || s->done_seen[i] >= before)
			continue;
		s->done_seen[i] = atomic_load_acquire(&s->done[i].count);
		if (s->done_seen[i] < before)
			return false;
	}
	s->all_done = before;
	return true;
}

bool pami_short_start(struct pami_context *ctx, struct pami_geometry *g, struct pami_shm *s,
		      unsigned type, const struct pami_algorithm_info *info, const pami_xfer_t *x)
{
	struct pami_coll_state *state = ctx->coll;
	struct pami_short *op = &s->op;
	uint64_t k = s->started;
	const void *data = NULL;

	if (PAMI_UNLIKELY(s->finished != k || !s->ready || s->failed || !g->one_team))
		return false;
	op->bytes = 0;
	op->root = s->me;
	if (type == PAMI_XFER_BROADCAST) {
		if (!broadcast_args(g, &x->cmd.xfer_broadcast, op))
			return false;
		data = op->target;
	} else if (type == PAMI_XFER_ALLREDUCE) {
		if (!allreduce_args(&x->cmd.xfer_allreduce, op))
			return false;
		data = x->cmd.xfer_allreduce.sndbuf;
	}
	if (info->step ? !info->in_team_memory : !is_chosen(s, g, type, op->bytes))
		return false;
	if (op->root == s->me) {
		if (!is_slot_free(s, k))
			return false;
		if (op->bytes)
			copy_few(pami_shm_slot_of(s, s->me, k)->data, data, op->bytes);
		pami_shm_publish(s, k);
		pami_shm_wake_others(s);
	}
	s->started = k + 1;
	op->geometry = g;
	op->turn = k;
	op->cursor = 0;
	op->type = (uint8_t)type;
	op->watched = false;
	op->cb_done = x->cb_done;
	op->cookie = x->cookie;
	op->next = NULL;
	if (PAMI_LIKELY(!state->shorts)) {
		state->shorts = s;
	} else {
		struct pami_shm *last = state->shorts;

		while (last->op.next)
			last = last->op.next;
		last->op.next = s;
	}
	ctx->todo |= PAMI_TODO_SHORT;
	return true;
}

/* True if all members have published. */
static bool have_all_published(struct pami_shm *s, struct pami_short *op, int loads)
{
	for (; op->cursor < s->members; op->cursor++)
		if (op->cursor != s->me && !pami_shm_is_published(s, op->cursor, op->turn, loads))
			return false;
	pami_shm_note_done(s, op->turn);
	return true;
}

static void combine_members(struct pami_shm *s, struct pami_short *op)
{
	unsigned char sum[PAMI_SHM_INLINE] __attribute__((aligned(16)));

	copy_few(sum, pami_shm_slot_of(s, 0, op->turn)->data, op->bytes);
	for (uint32_t i = 1; i < s->members; i++)
		pami_data_apply(op->op, op->element, sum, pami_shm_slot_of(s, i, op->turn)->data,
				op->bytes, op->op_cookie);
	copy_few(op->target, sum, op->bytes);
}

/* Read what has been published. Returns true if the operation is complete. */
static bool try_complete(struct pami_shm *s, struct pami_short *op)
{
	int loads = s->oversubscribed ? 1 : PAMI_SHM_LOADS;

	if (op->type == PAMI_XFER_BROADCAST) {
		if (op->root == s->me)
			return true;
		op->cursor = op->root;
		if (!pami_shm_is_published(s, op->root, op->turn, loads))
			return false;
		if (op->bytes)
			copy_few(op->target, pami_shm_slot_of(s, op->root, op->turn)->data,
				 op->bytes);
		return true;
	}
	if (!have_all_published(s, op, loads))
		return false;
	if (op->bytes)
		combine_members(s, op);
	return true;
}

/* End the operation of *at, and call back. */
static void end_short(struct pami_context *ctx, struct pami_shm **at, int result)
{
	struct pami_shm *s = *at;

	*at = s->op.next;
	if (!ctx->coll->shorts)
		ctx->todo &= ~(unsigned)PAMI_TODO_SHORT;
	pami_shm_complete_turns(s, s->op.turn + 1);
	pami_coll_count(&ctx->coll->counts[PAMI_COLL_COUNT_DONE]);
	if (s->op.watched)
		mu_watch(ctx->channel, NULL, 0);
	if (s->op.cb_done)
		s->op.cb_done(ctx, s->op.cookie, pami_callback_result(s->op.cb_done, result));
}

int pami_short_poll(struct pami_context *ctx)
{
	for (struct pami_shm **at = &ctx->coll->shorts, *s; (s = *at); at = &s->op.next) {
		struct pami_short *op = &s->op;

		if (try_complete(s, op)) {
			end_short(ctx, at, 0);
			return 1; /* the callback may have changed the list */
		}
		op->watched = true;
		mu_watch(ctx->channel,
			 ATOMIC_AT(&pami_shm_slot_of(s, op->cursor, op->turn)->number),
			 op->turn + 1);
	}
	return 0;
}

void pami_short_apply_deaths(struct pami_context *ctx)
{
	struct pami_shm **list = &ctx->coll->shorts;

	for (struct pami_shm **at = list; *at;)
		if (pami_geometry_is_dead((*at)->op.geometry)) {
			end_short(ctx, at, -ESHUTDOWN);
			at = list;
		} else {
			at = &(*at)->op.next;
		}
}
