/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the short lane. A barrier, and a broadcast or allreduce of up to 56 bytes, of a team, when nothing
 * else is under way on its memory: said inside the call, heard by the next progress calls, with no object and
 * no message. Everything else, and every doubt, goes the way of coll.c. Guarded by bench/pami_coll.
 */
#include "pami/coll_shm.h"
#include "pami/coll_state.h"

/* The usual one without a call. */
static inline void copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, bytes);
}

static int broadcast_args(struct pami_geometry *g, const pami_broadcast_t *b, struct pami_short *now)
{
	struct pami_type *t = b->type;
	int32_t root;

	if (!pami_type_usable(t) || !pami_type_contiguous(t))
		return 0;
	now->bytes = b->typecount * t->data_size;
	if (b->typecount > PAMI_SHM_INLINE || now->bytes > PAMI_SHM_INLINE)
		return 0;
	root = pami_geometry_rank(g, b->root);
	now->root = (uint32_t)root;
	now->target = b->buf;
	return root >= 0;
}

static int allreduce_args(const pami_allreduce_t *a, struct pami_short *now)
{
	struct pami_type *s = a->stype, *r = a->rtype;

	if (a->sndbuf == PAMI_IN_PLACE || !pami_type_usable(s) || !pami_type_contiguous(s) ||
	    !pami_type_usable(r) || !pami_type_contiguous(r) || !r->data_size || !pami_data_valid(a->op, s->element))
		return 0;
	now->bytes = a->stypecount * s->data_size;
	if (a->stypecount > PAMI_SHM_INLINE || now->bytes > PAMI_SHM_INLINE || now->bytes % r->data_size)
		return 0;
	now->element = s->element;
	now->target = a->rcvbuf;
	now->op = a->op;
	now->op_cookie = a->data_cookie;
	return 1;
}

/*
 * Is it the team's memory that coll_table.def names? Asked once for a type, where that is so for any number of
 * bytes here; a class route may come and go.
 */
static int is_default(struct pami_shm *s, const struct pami_geometry *g, unsigned type, size_t bytes)
{
	if (PAMI_UNLIKELY(!s->lane[type]))
		s->lane[type] = pami_coll_choose_soft(g, type, 0)->team &&
						pami_coll_choose_soft(g, type, PAMI_SHM_INLINE)->team ?
					PAMI_LANE_ALWAYS :
					PAMI_LANE_ASK;
	return (s->lane[type] == PAMI_LANE_ALWAYS && !g->hw) || pami_coll_choose(g, type, bytes)->team;
}

/* May my slot of turn k be written? As far as is known, and as the others say now: no waiting here. */
static int slot_free(struct pami_shm *s, uint64_t k)
{
	uint64_t before = s->wrote[k % PAMI_SHM_SLOTS];

	if (PAMI_LIKELY(s->all_done >= before))
		return 1;
	for (uint32_t i = 0; i < s->members; i++) {
		if (i == s->me || s->known[i] >= before)
			continue;
		s->known[i] = __atomic_load_n(&s->done[i].count, __ATOMIC_ACQUIRE);
		if (s->known[i] < before)
			return 0;
	}
	s->all_done = before;
	return 1;
}

int pami_short_start(struct pami_context *ctx, struct pami_geometry *g, struct pami_shm *s, unsigned type,
                     const struct pami_algorithm_info *info, const pami_xfer_t *x)
{
	struct pami_coll_state *state = ctx->coll;
	struct pami_short *now = &s->now;
	uint64_t k = s->started;
	const void *data = NULL;

	if (PAMI_UNLIKELY(s->finished != k || !s->ready || s->failed || !g->one_team))
		return 0;
	now->bytes = 0;
	now->root = s->me;
	if (type == PAMI_XFER_BROADCAST) {
		if (!broadcast_args(g, &x->cmd.xfer_broadcast, now))
			return 0;
		data = now->target;
	} else if (type == PAMI_XFER_ALLREDUCE) {
		if (!allreduce_args(&x->cmd.xfer_allreduce, now))
			return 0;
		data = x->cmd.xfer_allreduce.sndbuf;
	}
	if (info->step ? !info->team : !is_default(s, g, type, now->bytes))
		return 0;
	if (now->root == s->me) {
		if (!slot_free(s, k))
			return 0;
		if (now->bytes)
			copy(pami_shm_slot_of(s, s->me, k)->data, data, now->bytes);
		pami_shm_publish(s, k);
		pami_shm_wake_others(s);
	}
	s->started = k + 1;
	now->geometry = g;
	now->at = k;
	now->peer = 0;
	now->type = (uint8_t)type;
	now->watched = 0;
	now->cb_done = x->cb_done;
	now->cookie = x->cookie;
	now->next = NULL;
	if (PAMI_LIKELY(!state->shorts)) {
		state->shorts = s;
	} else {
		struct pami_shm *last = state->shorts;

		while (last->now.next)
			last = last->now.next;
		last->now.next = s;
	}
	ctx->todo |= PAMI_TODO_SHORT;
	return 1;
}

static int hear_all(struct pami_shm *s, struct pami_short *now, int looks)
{
	for (; now->peer < s->members; now->peer++)
		if (now->peer != s->me && !pami_shm_heard(s, now->peer, now->at, looks))
			return 0;
	if (s->all_done < now->at)
		s->all_done = now->at;
	return 1;
}

static void fold(struct pami_shm *s, struct pami_short *now)
{
	unsigned char sum[PAMI_SHM_INLINE] __attribute__((aligned(16)));

	copy(sum, pami_shm_slot_of(s, 0, now->at)->data, now->bytes);
	for (uint32_t i = 1; i < s->members; i++)
		pami_data_apply(now->op, now->element, sum, pami_shm_slot_of(s, i, now->at)->data, now->bytes,
		                now->op_cookie);
	copy(now->target, sum, now->bytes);
}

/* Returns whether it is complete. */
static int look(struct pami_shm *s, struct pami_short *now)
{
	int looks = s->crowded ? 1 : PAMI_SHM_LOOKS;

	if (now->type == PAMI_XFER_BROADCAST) {
		if (now->root == s->me)
			return 1;
		now->peer = now->root;
		if (!pami_shm_heard(s, now->root, now->at, looks))
			return 0;
		if (now->bytes)
			copy(now->target, pami_shm_slot_of(s, now->root, now->at)->data, now->bytes);
		return 1;
	}
	if (!hear_all(s, now, looks))
		return 0;
	if (now->bytes)
		fold(s, now);
	return 1;
}

/* The operation of *at is over. */
static void end(struct pami_context *ctx, struct pami_shm **at, int result)
{
	struct pami_shm *s = *at;

	*at = s->now.next;
	if (!ctx->coll->shorts)
		ctx->todo &= ~(unsigned)PAMI_TODO_SHORT;
	pami_shm_over(s, s->now.at + 1);
	if (s->now.watched)
		mu_watch(ctx->channel, NULL, 0);
	if (s->now.cb_done)
		s->now.cb_done(ctx, s->now.cookie, pami_result(result));
}

int pami_short_poll(struct pami_context *ctx)
{
	for (struct pami_shm **at = &ctx->coll->shorts, *s; (s = *at); at = &s->now.next) {
		struct pami_short *now = &s->now;

		if (look(s, now)) {
			end(ctx, at, 0);
			return 1; /* the callback may have started more, or ended a geometry */
		}
		now->watched = 1;
		mu_watch(ctx->channel, &pami_shm_slot_of(s, now->peer, now->at)->number, now->at + 1);
	}
	return 0;
}

void pami_short_gone(struct pami_context *ctx)
{
	struct pami_shm **list = &ctx->coll->shorts;

	for (struct pami_shm **at = list; *at;)
		if (pami_geometry_dead((*at)->now.geometry)) {
			end(ctx, at, -ESHUTDOWN);
			at = list;
		} else {
			at = &(*at)->now.next;
		}
}
