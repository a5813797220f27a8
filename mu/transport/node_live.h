/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric torus, real clock: this process's handle on its host's routers (mu/transport/node_live.c).
 */
#ifndef MU_LIVE_H
#define MU_LIVE_H

#include "mu/process.h"

struct mu_live;

int mu_live_open(struct mu_host *host, struct mu_live **live);
/* In the agent, beside the holder of the wires (NULL: one host). Hosts marked lost by then are lost
 * to it. */
struct mu_holder;
int mu_live_open_for(struct mu_host *host, struct mu_holder *holder, struct mu_live **live);
void mu_live_close(struct mu_live *live); /* NULL is fine */
/* One packet (bytes <= 512) of task p->task into its node's router. 0, -EAGAIN or -EFAULT. */
int mu_live_send(struct mu_live *live, uint32_t task, const MUHWI_PacketHeader_t *h,
		 const void *payload, uint32_t bytes, int guarded);
/* One packet of a FIFO of the node (collective, or along a line). 0, -EAGAIN, -EINVAL or -EFAULT.
 */
int mu_live_send_node(struct mu_live *live, const MUHWI_PacketHeader_t *h, const void *payload,
		      uint32_t bytes);
/* mu_class_set() and mu_gi_write() of mu/coll.h. */
int mu_live_class_set(struct mu_live *live, unsigned id, int *gi);
void mu_live_gi(struct mu_live *live, unsigned id, enum emu_gi_user user, unsigned bits);
/* Step routers that have work. Returns work done. */
int mu_live_poll(struct mu_live *live);
/* Does a router wait to be stepped by this process, or a task for the agent? Then do not sleep. */
int mu_live_has_work(struct mu_live *live);
/* Agent: are packets of local task `local` in the routers of this host? MU_ON_DEATH_ERROR only. */
int mu_live_has_packets_of(struct mu_live *live, uint32_t local);
/* Agent: the task has ended and is marked so. Give back the packets that it held. */
void mu_live_task_ended(struct mu_live *live, uint32_t local);
/* Agent: the host is lost and marked so. Drop packets that would enter its routers. */
void mu_live_host_lost(struct mu_live *live, uint32_t host);
/* Does the way from node a to node b, or back, cross a host that is lost? */
int mu_live_is_cut(struct mu_live *live, uint32_t a, uint32_t b);
/* A run for the routers arrived over a wire. Takes it always: returns 0. */
int mu_live_receive_run(struct mu_live *live, uint32_t host, unsigned kind, uint32_t tag,
			const unsigned char *payload, uint32_t bytes);
/*
 * rec_fifo=strict: a reception FIFO is full, from which software has taken so much. Returns true
 * once, when that has lasted two seconds. From then on it looks for a circle of packets that wait
 * for each other, every two seconds, and logs one that it has seen twice, once a host. All of the
 * circle must be on this host. Any thread that has the FIFO; live NULL: there are no routers.
 */
struct mu_full_watch;
bool mu_live_note_full(struct mu_live *live, struct mu_full_watch *w, uint64_t taken);

#endif
