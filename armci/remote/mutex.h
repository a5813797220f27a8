/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes of other processes. */
#ifndef ARMCI_MUTEX_H
#define ARMCI_MUTEX_H

#include "pami/pami.h"

struct armci_request;

/* Make the mutex that the library uses itself, one at each process. Collective. 0 or FAIL6. */
int armci_mutex_init(void);
/* Lock and unlock that mutex of proc. 0, or FAIL6: proc died. */
int armci_mutex_lock_internal(int proc);
int armci_mutex_unlock_internal(int proc);
void armci_mutex_release(void);
/* On SERVE: a request to lock or unlock. */
void armci_mutex_serve(pami_context_t context, const struct armci_request *r,
		       pami_endpoint_t origin);
/* On SERVE: take processes that died out of the queues, and take their mutexes from them. */
void armci_mutex_remove_dead(pami_context_t context);

#endif
