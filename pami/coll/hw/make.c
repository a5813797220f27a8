/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes for geometries: an agreement of all members on a number, the tree and the first
 * barrier, and the way back.
 *
 *   1  AND of what all members want and of the numbers that are free at their nodes
 *   2  leaders claim the lowest number; AND: did all get it? If not: 1 again, without this number
 *   3  leaders program their part of the tree; AND: did all get the interrupt, too?
 *   4  all leaders give signal 100; when they see it alone: AND, as a barrier: ready
 */
#include <stdlib.h>

#include "drivers/base/log.h"
#include "pami/coll/hw/board.h"
#include "pami/core/context.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/geometry/geometry.h"

#define WANTED (1ull << 63) /* in an AND: all members want a class route */
#define NODES_MAX                                                                                  \
	65536u /* members of a geometry that may get a class route: each looks at all of them */
#define PATIENCE_S 5.0 /* how long to wait for a router that is at work */

/* ---- The members of each node ---- */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t node_of_rank(const struct pami_geometry *g, uint32_t rank)
{
	struct emu_coord x;

	mu_task_coord(pami_endpoint_task(pami_geometry_endpoint(g, rank)), &x);
	return emu_coord_node(&g->client->job->shape, &x);
}

static void hw_delete(struct pami_hw *hw)
{
	if (hw) {
		free(hw->local);
		free(hw->task);
		free(hw->served);
	}
	free(hw);
}

static struct pami_hw *hw_new(struct pami_geometry *g, uint32_t rank)
{
	const struct mu_job *job = g->client->job;
	struct pami_hw *hw = calloc(1, sizeof *hw);

	if (!hw)
		return NULL;
	hw->local = malloc(job->local_tasks * g->offsets * sizeof *hw->local);
	hw->task = malloc(job->local_tasks * g->offsets * sizeof *hw->task);
	hw->served = calloc((size_t)job->local_tasks * g->offsets, sizeof *hw->served);
	if (!hw->local || !hw->task || !hw->served) {
		hw_delete(hw);
		return NULL;
	}
	for (uint32_t t = 0; t < job->local_tasks; t++)
		for (uint32_t o = 0; o < g->offsets; o++) {
			int32_t r =
			    pami_geometry_rank(g, pami_endpoint((uint32_t)job->local_list[t], o));

			if (r >= 0)
				hw->local[hw->locals++] = (uint32_t)r;
		}
	qsort(hw->local, hw->locals, sizeof *hw->local, by_number);
	while (hw->me < hw->locals && hw->local[hw->me] != rank)
		hw->me++;
	for (uint32_t i = 0; i < hw->locals; i++)
		hw->task[i] = pami_endpoint_task(pami_geometry_endpoint(g, hw->local[i]));
	hw->count.state = 4;
	return hw;
}

struct pami_hw *pami_hw_world(struct pami_geometry *g)
{
	const struct mu_job *job = g->client->job;
	struct pami_hw *hw;

	/* Of several clients of a process the first has the class route. */
	if (!mu_class_has_world() || job->nodes < 2 || g->client->slot)
		return NULL;
	hw = hw_new(g, (uint32_t)g->member[0].rank);
	if (hw) {
		const struct pami_hw_count *kept = &pami_board_member(mu_board(0), hw->me)->kept;

		if (kept->state) /* a client before this one used the class route */
			hw->count = *kept;
		hw->tickets = hw->count.turn;
		hw->gi = 1;
		hw->nodes = job->nodes;
		hw->boxed = 1;
		emu_node_coord(&job->shape, 0, &hw->box.low);
		emu_node_coord(&job->shape, job->nodes - 1, &hw->box.high);
	}
	return hw;
}

/* Compute the own node's part in the tree. Returns -ENOTCONN: no tree; -EINVAL: one node only. */
static int compute_route(const struct pami_geometry *g, struct pami_hw *hw, ClassRoute_t *c)
{
	const struct emu_shape *shape = &g->client->job->shape;
	uint32_t *nodes = malloc(g->size * sizeof *nodes), n = 0;
	struct emu_coord root, x;
	unsigned depth;
	int first, rc = 0;

	if (!nodes)
		return -ENOMEM;
	for (uint32_t r = 0; r < g->size; r++)
		nodes[r] = node_of_rank(g, r);
	qsort(nodes, g->size, sizeof *nodes, by_number);
	for (uint32_t r = 0; r < g->size; r++)
		if (!n || nodes[n - 1] != nodes[r])
			nodes[n++] = nodes[r];
	hw->nodes = n;
	hw->boxed = (uint8_t)emu_class_is_box(shape, nodes, n, &hw->box);
	if (n < 2) {
		rc = -EINVAL;
	} else if (hw->boxed) {
		emu_class_root(&hw->box, &root, &first);
		emu_node_coord(shape, g->client->job->node, &x);
		emu_class_build(&hw->box, &root, &x, NULL, first, c);
	} else {
		rc = emu_class_span(shape, nodes, n, g->client->job->node, c, &depth);
	}
	c->input |= BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_SUBCOMM;
	free(nodes);
	return rc;
}

/* ---- The agreement ---- */

enum { ASK, TAKE, PROGRAM, SIGNAL, READY, GIVE_BACK };

struct update {
	struct pami_geometry *g;
	struct pami_hw *hw; /* the new one */
	ClassRoute_t route;
	uint64_t tried; /* numbers that a member found taken */
	unsigned id;
	int stage, asks, gi;
	uint32_t round; /* of the AND */
	uint32_t step;
	uint64_t value, heard;
	pami_event_function fn;
	void *cookie;
};

/* value = AND over all members. Returns true when it is. */
static bool and_over_all(struct pami_coll *c, int *rc)
{
	struct update *u = c->user;
	uint64_t distance;

	if (u->round)
		u->value &= u->heard;
	distance = (uint64_t)1 << u->round;
	if (distance >= c->size) {
		u->round = 0;
		u->step += 32;
		return true;
	}
	*rc = pami_coll_send(c, (uint32_t)((c->rank + distance) % c->size), u->step + u->round,
			     &u->value, 8);
	if (!*rc)
		*rc = pami_coll_recv(c, (uint32_t)((c->rank + c->size - distance) % c->size),
				     u->step + u->round, &u->heard, 8);
	u->round++;
	return false;
}

static bool is_leader(const struct update *u)
{
	return u->hw && !u->hw->me;
}

/* Begin the next AND. */
static void begin_and(struct update *u, int stage, uint64_t value)
{
	u->stage = stage;
	u->asks = 1;
	u->value = value;
}

static int give_back(struct pami_coll *c, struct pami_hw *hw)
{
	int rc;

	if (!hw->claimed)
		return 0;
	rc = mu_class_release(c->context->channel, hw->id);
	if (rc == -EAGAIN || rc == -EBUSY)
		return rc;
	hw->claimed = 0;
	return 0;
}

/* No class route is free: continue without one. */
static int give_up(struct pami_coll *c)
{
	struct update *u = c->user;

	if (u->hw && give_back(c, u->hw))
		return PAMI_COLL_POLL;
	hw_delete(u->hw);
	u->hw = NULL;
	return PAMI_COLL_DONE;
}

/* Return the numbers that this member could use, as bits. */
static uint64_t free_numbers(struct update *u)
{
	if (!u->hw || u->g->homes || u->g->size > NODES_MAX ||
	    compute_route(u->g, u->hw, &u->route))
		return 0;
	return u->hw->me ? 0xffff : mu_class_find_free(MU_ROUTE_BOTH);
}

static int run_stage(struct pami_coll *c)
{
	struct update *u = c->user;
	struct mu_channel *ch = c->context->channel;
	int rc;

	switch (u->stage) {
	case ASK:
		if (!(u->value & WANTED)) {
			begin_and(u, GIVE_BACK, 1);
			return 0;
		}
		if (u->g->hw) /* it has one already */
			return PAMI_COLL_DONE;
		u->value &= 0xffff & ~u->tried;
		if (!u->value)
			return give_up(c);
		u->id = (unsigned)__builtin_ctzll(u->value);
		u->hw->id = (uint8_t)u->id;
		u->hw->claimed = is_leader(u) && !mu_class_claim(ch, u->id);
		if (u->hw->claimed) /* another geometry may have left data there */
			pami_board_clear(mu_board(u->id), u->g->client->job->shape.t);
		begin_and(u, TAKE, !is_leader(u) || u->hw->claimed);
		return 0;
	case TAKE:
		if (!u->value) {
			if (give_back(c, u->hw))
				return PAMI_COLL_POLL;
			u->tried |= 1ull << u->id;
			begin_and(u, ASK, WANTED | free_numbers(u));
			return 0;
		}
		rc = u->gi = 0;
		if (is_leader(u))
			rc = mu_class_set(ch, u->id, &u->route, &u->gi);
		/* The thread at the router may not run just now. */
		if (rc == -EAGAIN || rc == -EBUSY)
			return PAMI_COLL_POLL;
		begin_and(u, PROGRAM, (rc ? 0u : 1u) | (rc || u->gi ? 0u : 2u));
		return 0;
	case PROGRAM:
		if (!(u->value & 1))
			return give_up(c);
		u->hw->gi = u->value >> 1 & 1;
		if (u->hw->gi && is_leader(u))
			mu_gi_write(ch, u->id, 4);
		u->stage = SIGNAL; /* fall through */
	case SIGNAL:
		if (u->hw->gi && is_leader(u) && mu_gi_read(ch, u->id) != 4)
			return PAMI_COLL_POLL;
		begin_and(u, READY, 1);
		return 0;
	case READY:
		u->g->hw = u->hw;
		u->hw = NULL;
		return PAMI_COLL_DONE;
	default: /* GIVE_BACK: all members are here, so no operation is under way */
		if (u->g->hw && give_back(c, u->g->hw))
			return PAMI_COLL_POLL;
		hw_delete(u->g->hw);
		u->g->hw = NULL;
		return give_up(c);
	}
}

/* While `asks` an AND is under way. Then act on its value: begin the next AND, poll, or end. */
static int update_step(struct pami_coll *c)
{
	struct update *u = c->user;
	int rc = 0;

	for (;;) {
		if (u->asks) {
			if (!and_over_all(c, &rc))
				return rc;
			u->asks = 0;
		}
		rc = run_stage(c);
		if (rc || !u->asks)
			return rc;
	}
}

static const struct pami_algorithm_info updating = {.name = "class route", .step = update_step};

/*
 * Wait until the class route is free: the result for another node may still pass through, or the
 * task that steps the router does not run just now.
 */
static int give_back_in_time(struct pami_hw *hw, struct pami_context *ctx)
{
	double until = mu_wtime() + PATIENCE_S;
	int rc;

	while ((rc = mu_class_release(ctx->channel, hw->id)) && mu_wtime() < until)
		mu_make_room(ctx->channel);
	return rc;
}

static void on_updated(struct pami_coll *c)
{
	struct update *u = c->user;

	if (c->result) { /* a member died; no operation has used the new class route */
		if (u->hw && u->hw->claimed && give_back_in_time(u->hw, c->context))
			drv_warn(
			    "class route %u, wanted for geometry %u, is in use: it stays taken",
			    u->hw->id, u->g->id);
		hw_delete(u->hw);
		u->hw = NULL;
	}
	u->g->optimized = u->g->hw != NULL;
	c->cb_done = u->fn;
	c->cookie = u->cookie;
	free(u);
}

int pami_hw_update(struct pami_geometry *g, struct pami_context *ctx, bool on,
		   pami_event_function fn, void *cookie)
{
	struct update *u = calloc(1, sizeof *u);
	struct pami_coll *c = u ? pami_coll_new(ctx) : NULL;

	if (!c) {
		free(u);
		return -ENOMEM;
	}
	c->geometry = g;
	c->topology = &g->topology;
	c->size = g->size;
	c->rank = (uint32_t)g->member[ctx->offset].rank;
	c->kind = PAMI_COLL_HW;
	c->sequence = g->hw_updates++;
	c->key = g->key;
	c->type = PAMI_XFER_BARRIER;
	c->info = &updating;
	c->done = on_updated;
	c->user = u;
	u->g = g;
	u->fn = fn;
	u->cookie = cookie;
	if (on && !g->hw && g->size > 1)
		u->hw = hw_new(g, c->rank);
	begin_and(u, ASK, (on ? WANTED : 0) | (g->hw ? 0xffff : free_numbers(u)));
	if (pami_geometry_is_dead(g)) /* this context may have ended its operations already */
		c->result = -ESHUTDOWN;
	pami_coll_start(c);
	return 0;
}

void pami_hw_abandon(struct pami_geometry *g, struct pami_context *ctx)
{
	struct pami_hw *hw = g->hw;

	if (!hw || !hw->claimed)
		return;
	mu_class_abandon(ctx->channel, hw->id);
	hw->claimed = 0;
}

void pami_hw_free(struct pami_geometry *g, struct pami_context *ctx)
{
	struct pami_hw *hw = g->hw;

	if (hw && !hw->id)
		pami_board_member(mu_board(0), hw->me)->kept = hw->count;
	if (hw && ctx && hw->claimed && give_back_in_time(hw, ctx))
		drv_warn("class route %u of geometry %u is still in use: it stays taken", hw->id,
			 g->id);
	hw_delete(hw);
	g->hw = NULL;
}
