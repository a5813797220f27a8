/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks that died while the job goes on (torus run --on-death error). */
#ifndef PAMI_P2P_DEATH_H
#define PAMI_P2P_DEATH_H

/*
 * The MU calls this from a progress call after tasks have died and everything that had arrived from
 * them is dispatched. It ends the receives and requests that wait for those tasks with -ESHUTDOWN,
 * then the collectives. The MU has already ended its own operations (struct mu_op).
 *
 * arg: the context
 */
void pami_apply_deaths(void *arg);

#endif
