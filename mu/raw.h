/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets under software's own headers, for a user of the MU that programs its FIFOs itself
 * (libmuspi). Such packets travel as all others do, and the engine of the target's channel hands
 * them to a function instead of dispatching them.
 *
 * The header of a raw packet is what software wrote, with two exceptions while it travels: the FIFO
 * or table id says which channel of the target's node it is for, and bytes 9 and 10 (Reserved4,
 * which the chip keeps for itself) hold the id that software wrote, and a kind of software's own.
 */
#ifndef MU_RAW_H
#define MU_RAW_H

#include <pthread.h>

#include "mu/hw/desc.h"
#include "mu/mu.h"
#include "mu/segment/node_table.h"

#define MU_RAW_KINDS 32

/*
 * A raw piece: its header as software wrote it, of the first packet of the piece; up to 8 KiB of
 * payload, which the function may only read while it runs. Any thread of the process, with the
 * engine of the channel locked, as mu_note_fn; it calls no function of the MU but mu_wake_self().
 * Negative: it is called again later, and what follows waits.
 */
typedef int (*mu_raw_fn)(void *arg, uint32_t source_task, unsigned kind,
			 const MUHWI_PacketHeader_t *header, const unsigned char *payload,
			 uint32_t bytes);
void mu_channel_on_raw(struct mu_channel *ch, mu_raw_fn fn);

/*
 * Send what the descriptor says to a channel of `task`, whose node the descriptor names. kind: 0
 * .. MU_RAW_KINDS - 1. pin: the engine, 0 .. 9 by link and 10 for the own node; descriptors of one
 * pin and destination stay in order. The payload is read until op is done. 0, -EAGAIN, -EINVAL or
 * -ESHUTDOWN. User thread.
 */
int mu_send_raw(struct mu_channel *ch, uint32_t task, uint32_t channel, const MUHWI_Descriptor_t *d,
		unsigned kind, unsigned pin, struct mu_op *op);

/*
 * Do routers combine raw collective packets, and carry global interrupts of programs? They do where
 * there are routers (fabric torus, or virtual time) and every node has a task. Elsewhere software
 * does.
 */
bool mu_routers_combine(void);
/*
 * Contribute a packet, of at most 512 bytes of whole words, to the class route in its header, whose
 * virtual channel becomes the route's. Where the route delivers, `channel` of the node's T 0 gets a
 * raw packet of this kind, or kind + 1 (MU_RAW_MISMATCH): the contributions that this node's router
 * combined differed in their headers or sizes. kind is even. Else as mu_send_raw().
 */
int mu_send_raw_collective(struct mu_channel *ch, uint32_t channel, const MUHWI_Descriptor_t *d,
			   const ClassRoute_t *route, unsigned kind, struct mu_op *op);
/* Program a half of a route (MU_ROUTE_PACKETS or MU_ROUTE_SIGNALS) in the router of the own node:
 * 0, 1 .. 5 (emu/class.h), or -EBUSY: packets are there. Waits while another process steps the
 * router. User thread. */
int mu_router_set_route(struct mu_channel *ch, unsigned id, unsigned half,
			const ClassRoute_t *route);

/* Start a thread of the library, with all signals blocked. 0 or a negative errno. */
int mu_service_thread_start(void *(*run)(void *), void *arg, pthread_t *thread);
/* The own node's part in a tree over the nodes that have tasks. 0; -ENOTCONN: links do not connect
 * them; -ENOMEM. */
int mu_job_class(ClassRoute_t *c);
/* What the tasks of a node share: see segment/node_table.h. */
struct mu_node_table *mu_own_node_table(void);
/* What the job was started with: letters, or the path of a map file. */
const char *mu_mapping(void);
/* Virtual time: this task hands in descriptors by stores and waits for its memory without calls, as
 * programs do that use the registers. poll: takes what was handed in, and passes the turn. */
void mu_uses_registers(void (*poll)(void));
/* Virtual time: wait until the calling thread has the turn. */
void mu_take_turn(void);
/* Is the process attached more than once, as with a client of PAMI beside the registers? */
bool mu_is_shared(void);
/* A channel that PAMI uses last. */
unsigned mu_last_channel(void);
/* Does the machine hold packets back in the network for reception FIFOs that are full? */
bool mu_rec_fifo_is_strict(void);
/* mu_live_note_full() of mu/transport/node_live.h. */
struct mu_full_watch;
bool mu_note_full(struct mu_full_watch *w, uint64_t taken);

#endif
