/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of links in real time. Each process that polls reads the clock and advances the shared
 * state of the script. The lock holder of a router passes it the faults that hold on its links. A
 * node injects under one state of the script at a time: when a cut begins or ends, its packets wait
 * until those of the state before have arrived, so that none overtakes another on a new way.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/base/log.h"
#include "emu/live_state.h"

static uint64_t time_of(const struct emu_faults *f, uint32_t passed)
{
	return passed ? f->time[passed - 1] : 0;
}

static void cut_link(void *arg, uint32_t node, unsigned link)
{
	emu_cuts_set(arg, node, link, true);
}

/* List the links that are cut in each state of the script. */
static int make_cuts(struct emu_live *live)
{
	struct emu_faults *f = &live->faults;

	live->cuts = calloc(f->times + 1, sizeof *live->cuts);
	if (!live->cuts)
		return -ENOMEM;
	for (uint32_t e = 0; e <= f->times; e++) {
		if (emu_cuts_init(&live->cuts[e], &live->mem->route))
			return -ENOMEM;
		for (uint32_t i = 0; e && i < f->count; i++)
			if (f->fault[i].kind == EMU_FAULT_CUT &&
			    emu_fault_is_active(&f->fault[i], time_of(f, e)))
				emu_fault_each_link(f, i, cut_link, &live->cuts[e]);
	}
	return 0;
}

int emu_live_faults(struct emu_live *live, const char *script, uint32_t tasks, uint32_t hosts,
		    uint64_t seed, uint64_t start_ns)
{
	struct emu_faults *f = &live->faults;
	char err[256];
	int rc = emu_faults_parse(script, &live->mem->route.shape, tasks, hosts, seed, f, err,
				  sizeof err);

	if (rc) {
		drv_error("%s", err);
		return rc;
	}
	live->start_ns = start_ns;
	live->has_link_faults = emu_faults_have(f, EMU_FAULTS_OF_LINKS);
	live->timed = emu_faults_have(f, EMU_FAULTS_TIMED);
	for (uint32_t i = 0; i < f->count; i++)
		live->holds |= f->fault[i].kind == EMU_FAULT_CUT &&
			       f->fault[i].place < EMU_FAULT_AT_HOST &&
			       (f->fault[i].at_ps || f->fault[i].end_ps != UINT64_MAX);
	if (emu_faults_have(f, EMU_FAULT_BIT(EMU_FAULT_CUT)))
		rc = make_cuts(live);
	live->has_faults = live->has_link_faults || live->cuts;
	if (!rc && live->has_faults)
		live_faults_tick(live);
	return rc;
}

void live_faults_free(struct emu_live *live)
{
	for (uint32_t e = 0; live->cuts && e <= live->faults.times; e++)
		emu_cuts_fini(&live->cuts[e]);
	free(live->cuts);
	emu_faults_free(&live->faults);
}

void live_faults_tick(struct emu_live *live)
{
	uint32_t passed = emu_faults_passed(&live->faults, live_now_ps(live));
	uint32_t known = atomic_load_relaxed(&live->mem->faults_passed);

	while (known < passed)
		if (atomic_cas_seq_cst(&live->mem->faults_passed, &known, passed)) {
			for (uint32_t i = 0; i < live->mem->local_nodes; i++)
				set_flag(live, i, KICK);
			return;
		}
}

void live_faults_apply(struct emu_live *live, uint32_t local)
{
	struct live_node *n = node_of(live, local);
	uint32_t passed = atomic_load_seq_cst(&live->mem->faults_passed);
	struct emu_link_fault x;

	if (n->faults_known == passed || !live->has_link_faults)
		return;
	n->faults_known = passed;
	for (unsigned l = 0; l < EMU_LINKS; l++) {
		emu_faults_of_link(&live->faults, time_of(&live->faults, passed), n->node, l, &x);
		emu_router_link_fault(router_of(n), l, &x);
	}
}

bool live_flight_begin(struct emu_live *live, uint32_t local)
{
	atomic_u64 *flights = &node_of(live, local)->flights;
	uint64_t was = atomic_load_seq_cst(flights), passed;

	do {
		passed = atomic_load_seq_cst(&live->mem->faults_passed);
		if (was >> 32 != passed && (uint32_t)was)
			return false;
	} while (!atomic_cas_seq_cst(flights, &was, passed << 32 | ((uint32_t)was + 1)));
	return true;
}

void live_flight_end(struct emu_live *live, uint32_t local)
{
	struct live_node *n = node_of(live, local);

	if ((uint32_t)atomic_fetch_sub_acq_rel(&n->flights, 1) == 1 &&
	    atomic_load_seq_cst(&n->refused) && live->ops.room &&
	    atomic_exchange_seq_cst(&n->refused, 0))
		live->ops.room(live->arg, local);
}

int live_route_around(struct emu_live *live, uint32_t local, MUHWI_Pt2PtNetworkHeader_t *h)
{
	struct live_node *n = node_of(live, local);
	uint32_t state = live->holds ? (uint32_t)(atomic_load_seq_cst(&n->flights) >> 32)
				     : atomic_load_seq_cst(&live->mem->faults_passed);

	return h->Byte2.Byte2 & MUHWI_PACKET_DEPOSIT
		   ? 0
		   : emu_cuts_apply(&live->cuts[state], n->node, h);
}
