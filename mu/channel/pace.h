/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paced gets (docs/hardware.md 13.6): a long get from far away is asked for in pieces, of
 * which a channel has a bounded number in flight, so that it does not fill the network between two
 * tasks. On the chip an agent program on the 17th core did so; here the user thread of the channel
 * asks for the next piece when one has arrived, in its polls.
 */
#ifndef MU_PACE_H
#define MU_PACE_H

#include "mu/channel/channel.h"

/* Begin a paced get of arguments that start_get() has checked. 0, or -EAGAIN: no memory. User
 * thread. */
int mu_pace_get(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local,
		uint64_t remote, size_t bytes, struct mu_op *done, bool may_pass);

/* Ask for one piece of it, routed as the whole is: as mu_get(). In send.c. */
int mu_pace_get_piece(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local,
		      uint64_t remote, size_t bytes, uint64_t whole, struct mu_op *done,
		      bool may_pass);

/* Forget the gets that wait or are in flight; their operations do not complete. NULL: nothing. */
void mu_pace_free(struct mu_pace *pace);

#endif
