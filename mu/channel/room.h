/* SPDX-License-Identifier: BSD-3-Clause */
/* Is there room in a channel? For callers that give an operation up instead of queueing it. */
#ifndef MU_CHANNEL_ROOM_H
#define MU_CHANNEL_ROOM_H

#include "mu/mu.h"

/* Would a put, get or atomic start now, without -EAGAIN? User thread. */
bool mu_has_room(struct mu_channel *ch);

#endif
