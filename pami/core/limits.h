/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits. The constants size tables; struct pami_limits holds what a user can set. It is the only
 * place that says which protocol carries a message.
 */
#ifndef PAMI_CORE_LIMITS_H
#define PAMI_CORE_LIMITS_H

#include <stddef.h>

#include "pami/pami.h"

#define PAMI_CLIENTS_MAX  32
#define PAMI_CONTEXTS_MAX 64 /* per client: an endpoint holds the offset in six bits */
#define PAMI_CHANNELS_MAX 64 /* contexts of all clients: an announced word has a bit for each */

/*
 * All lengths are bytes. The protocol of a message depends on header bytes + data bytes; a message
 * that fits one packet always goes as SHORT. Written by pami_limits_load(), then constant.
 */
struct pami_limits {
	size_t immediate_max; /* QUINTORUS_IMMEDIATE: 512 .. 8192, default 512 */
	size_t eager_max;     /* QUINTORUS_EAGER: longer messages go by rendezvous */
	size_t stage_max;     /* a longer eager message is sent from the user's buffer, uncopied */
	/* QUINTORUS_EAGER_NEAR: the same two limits for a target on this host. */
	size_t near_eager_max;
	size_t near_stage_max;
	size_t queue_max; /* QUINTORUS_QUEUE: sends that wait for the injection FIFO */
	size_t held_max;  /* QUINTORUS_HELD: messages held because their dispatch id is not set */
	/* QUINTORUS_CONTEXTS: contexts of a client, a power of two 2 .. 64. 0: set by the job. */
	unsigned contexts;
	/* QUINTORUS_HWTHREADS: the answer to PAMI_CLIENT_HWTHREADS_AVAILABLE. 0: count them. */
	unsigned hw_threads;
	pami_result_t idle; /* what a progress call returns if it found nothing: PAMI_EAGAIN */
};
extern struct pami_limits pami_limits;

/* Read the settings. PAMI_Client_create calls this before the first client exists. */
void pami_limits_load(void);

#endif
