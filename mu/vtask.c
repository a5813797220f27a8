/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "mu/vtask.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mu/cost.h"

static struct {
	struct mu_vt_area *vt; /* NULL: not in virtual time */
	struct mu_host *host;
	uint32_t local;
	uint64_t now, horizon; /* ps */
	uint64_t flags;        /* MU_VT_WORKED, MU_VT_CLOCK since the last idle poll */
	int worked;            /* did something since the last empty poll */
	int side;              /* acting for a commthread */
	uint64_t main_ps, side_ps[MU_COMMTHREADS];
} me;

static void futex(uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void give_turn(struct mu_vt_area *vt, enum mu_vt_request request)
{
	vt->request = request;
	vt->now_ps = me.now;
	__atomic_store_n(&vt->turn, MU_VT_SIMULATOR, __ATOMIC_RELEASE);
	futex(&vt->turn, FUTEX_WAKE, 1);
}

static void hand_over(enum mu_vt_request request)
{
	struct mu_vt_area *vt = me.vt;

	give_turn(vt, request);
	while (__atomic_load_n(&vt->turn, __ATOMIC_ACQUIRE) != MU_VT_TASK)
		futex(&vt->turn, FUTEX_WAIT, MU_VT_SIMULATOR);
	me.now = vt->now_ps;
	me.horizon = vt->horizon_ps;
}

/* The turn is the parent's: a child must not touch it. */
static void child_after_fork(void)
{
	me.vt = NULL;
	mu_virtual = 0;
}

int mu_vt_attach(struct mu_host *host, uint32_t local)
{
	static int fork_handler;
	const char *costs = getenv(MU_ENV_COSTS);
	int rc = costs && *costs ? mu_cost_load(costs) : 0;

	if (rc)
		return rc;
	if (!fork_handler && !pthread_atfork(NULL, NULL, child_after_fork))
		fork_handler = 1;
	me.host = host;
	me.local = local;
	me.vt = &mu_host_area(host, local)->vt;
	me.now = me.horizon = 0;
	me.flags = MU_VT_WORKED;
	hand_over(MU_VT_ATTACH);
	return 0;
}

void mu_vt_detach(void)
{
	if (!me.vt)
		return;
	give_turn(me.vt, MU_VT_DETACH);
	me.vt = NULL;
	mu_virtual = 0;
}

/* We held the turn without calling and were taken to spin: time went on without us, to here. */
static inline void catch_up(void)
{
	uint64_t spun = __atomic_load_n(&me.vt->arg[MU_VT_ARG_SPUN_PS], __ATOMIC_ACQUIRE);

	if (__builtin_expect(spun > me.now, 0))
		me.now = spun;
}

static inline void work_seen(void)
{
	me.flags |= MU_VT_WORKED;
	me.worked = 1;
}

void mu_charge_now(enum mu_cost cost, uint64_t times)
{
	if (me.vt)
		catch_up();
	me.now += mu_cost_ps[cost] * times;
	if (cost == MU_COST_clock_read)
		me.flags |= MU_VT_CLOCK;
	else if (cost != MU_COST_poll)
		work_seen();
}

void mu_vt_inject(unsigned channel, unsigned slot, int awaited)
{
	struct mu_channel_area *a;
	uint64_t self;

	if (!me.vt)
		return;
	catch_up();
	a = mu_host_channel(me.host, me.local, channel);
	a->when_ps[slot % MU_INJ_SLOTS] = me.now;
	a->inj_slot[slot % MU_INJ_SLOTS].Half_Word0.Unused1 = awaited != 0;
	me.vt->dirty |= 1ull << channel;
	work_seen();
	/* What we start may come back to us, no sooner than this. */
	self = me.now + me.vt->arg[MU_VT_ARG_SELF_PS];
	if (self < me.horizon)
		me.horizon = self;
}

void mu_vt_node(unsigned what)
{
	uint64_t self;

	if (!me.vt)
		return;
	catch_up();
	me.vt->node_dirty |= 1ull << what;
	work_seen();
	if (what >= MU_NODE_ROUTES) {
		hand_over(MU_VT_RUN);
		return;
	}
	self = me.now + me.vt->arg[what < MU_NODE_SIGNALS ? MU_VT_ARG_SELF_PS : MU_VT_ARG_SIGNAL_PS];
	if (self < me.horizon)
		me.horizon = self;
	mu_vt_check();
}

void mu_vt_store(uint64_t *word, uint64_t value, int add, uint64_t wake_at, uint32_t task)
{
	struct mu_vt_area *vt = me.vt;
	uint64_t self;

	if (!vt)
		return;
	catch_up();
	if (vt->stores == MU_VT_STORES)
		hand_over(MU_VT_RUN);
	vt->store[vt->stores++] = (struct mu_vt_store){ .at = (uint64_t)((char *)word - (char *)me.host), .value = value,
		                                        .wake_at = wake_at, .when_ps = me.now, .task = task,
		                                        .add = add != 0 };
	work_seen();
	self = me.now + vt->arg[MU_VT_ARG_STORE_PS];
	if (self < me.horizon)
		me.horizon = self;
	mu_vt_check();
}

void mu_vt_check(void)
{
	if (!me.vt || me.side)
		return;
	catch_up();
	if (me.now >= me.horizon)
		hand_over(MU_VT_RUN);
}

void mu_vt_idle(void)
{
	int worked;

	if (!me.vt || me.side)
		return;
	/* The first empty poll costs no hand-over if nothing can have happened during it. */
	worked = me.worked;
	me.worked = 0;
	if (worked && me.now < me.horizon)
		return;
	me.vt->arg[MU_VT_ARG_POLL_PS] = mu_cost_ps[MU_COST_poll];
	me.vt->arg[MU_VT_ARG_FLAGS] = me.flags;
	me.flags = 0;
	hand_over(MU_VT_IDLE);
}

void mu_vt_side_begin(unsigned k)
{
	me.side = 1;
	me.main_ps = me.now;
	if (me.side_ps[k] > me.now)
		me.now = me.side_ps[k];
}

void mu_vt_side_end(unsigned k)
{
	me.side_ps[k] = me.now;
	me.now = me.main_ps;
	me.side = 0;
}

uint64_t mu_vt_now_ps(void)
{
	return me.now;
}
