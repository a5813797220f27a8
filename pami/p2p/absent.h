/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts that a client could have made and did not. Once its contexts exist their number is
 * final, and the client announces to every task which ones will never exist. A call that names one
 * of them as its target gives PAMI_INVAL. A message that was sent before the sender knew is refused
 * here: the operation that waits for an answer gets an error.
 */
#ifndef PAMI_P2P_ABSENT_H
#define PAMI_P2P_ABSENT_H

#include "pami/pami.h"

struct pami_client;

/* The client's contexts exist now. Announce to all tasks which ones never will. */
void pami_absent_announce(struct pami_client *c);
/* The client's contexts have been destroyed. There may be more of the next ones. */
void pami_absent_close(struct pami_client *c);
/*
 * Refuse messages for contexts that the client never made. Any thread that advances a context of
 * the client. Returns the number of refused messages.
 */
int pami_absent_serve(struct pami_client *c);

#endif
