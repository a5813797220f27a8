/* SPDX-License-Identifier: BSD-3-Clause */
/* Long gets that their owner carries out while the caller computes. */
#ifndef ARMCI_ASSIST_H
#define ARMCI_ASSIST_H

#include "armci/transfer/op.h"

struct armci_request;

/*
 * Offer the first bytes of a get to the segment's owner, as part of req. Returns how many bytes
 * were offered; 0 where an offer is not possible or not worth its cost.
 */
size_t armci_assist_get(struct armci_seg *seg, int proc, struct armci_req *req, char *local,
			size_t offset, size_t bytes);
/* Withdraw one offer that its owner did not take in time, and do that copy here. */
void armci_assist_withdraw_late(void);
/* Record for the other processes that a thread of this one polls in a call. */
void armci_assist_note_poll(void);
/* End the offers to processes that died. */
void armci_assist_end_dead(void);
/* On ORIGIN: the owner's answer to an offer. */
void armci_assist_answer(uint64_t token, bool copied);
/* On SERVE: copy as the offer asks, unless its caller has withdrawn it. */
void armci_assist_serve(pami_context_t context, const struct armci_request *r,
			pami_endpoint_t origin);

#endif
