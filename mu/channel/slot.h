/* SPDX-License-Identifier: BSD-3-Clause */
/* A slot of the injection FIFO, for the files of this folder that fill one themselves (send.c). */
#ifndef MU_CHANNEL_SLOT_H
#define MU_CHANNEL_SLOT_H

#include "mu/channel/channel.h"

/* The next slot, to be filled in place and sent. 0, -EAGAIN, -EINVAL or -ESHUTDOWN. */
int mu_slot_next(struct mu_channel *ch, uint32_t task, uint32_t channel, MUHWI_Descriptor_t **d,
		 struct mu_slot **slot);
/* Publish it, and run the engine. */
void mu_slot_send(struct mu_channel *ch);

#endif
