/* SPDX-License-Identifier: BSD-3-Clause */
/* EXT_quintorus_virtual: virtual time for libraries that stand between a program and its clocks. */
#include "pami/ext_virtual.h"

#include "mu/mu.h"
#include "mu/vtime/cost.h"
#include "mu/vtime/vtask.h"
#include "mu/vtime/vthread.h"
#include "pami/ext/ext.h"

static int is_on(void)
{
	return mu_virtual;
}

static uint64_t read_clock(int as_program)
{
	if (as_program && mu_virtual)
		mu_timebase();
	return mu_vt_now_ps();
}

static void exclude_thread(int tid, int on)
{
	mu_vthread_exclude(tid, on != 0);
}

static const struct pami_ext_symbol symbols[] = {
    {"is_on", (void *)is_on, NULL},
    {"read", (void *)read_clock, NULL},
    {"spend", (void *)mu_vt_spend, NULL},
    {"sync", (void *)mu_vt_sync, NULL},
    {"exclude", (void *)exclude_thread, NULL},
    {"cost", (void *)mu_cost_of, NULL},
    {"keep_turn", (void *)mu_vt_keep_turn, NULL},
    {"may_spin", (void *)mu_vt_may_spin, NULL},
    {"doubt", (void *)mu_vt_doubt, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_virtual = {PAMI_EXT_QUINTORUS_VIRTUAL, NULL, symbols};
