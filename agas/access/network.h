/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory in the network (pami/ext_address.h): this rank's requests go to addresses, its
 * answers and DONEs teach the routers, and the tables of its node follow its records. The network
 * only chooses the rank that a request reaches first; there access/serve.c decides as for any
 * request. In virtual time the messaging unit there carries out puts and gets of up to a packet if
 * the lease of the block, the beginning of its record, says that the block is OWNED. Under the
 * library's lock. Accesses of blocks of this host, in real time, need no such directory.
 */
#ifndef AGAS_ACCESS_NETWORK_H
#define AGAS_ACCESS_NETWORK_H

#include <stdbool.h>

#include "agas/access/wire.h"
#include "agas/core/world.h"

/* Find out whether the job has such a directory. */
void agas_network_open(void);
void agas_network_close(void);
/* Returns true if requests go to addresses: the job has a directory, and no rank has died. */
bool agas_network_leads(void);
/* Returns whether a put of so many bytes fits a packet. */
bool agas_network_fits(size_t bytes);
/* Send a request to its address. Returns false if it does not fit a packet or there is no room
 * now. */
bool agas_network_request(const struct agas_request *r, const void *payload, size_t bytes);
/* Real time: the rank that the tables name for a message that does not fit a packet. */
uint32_t agas_network_lead(uint64_t gva);
/* Answer as the owner. Returns false for the same reasons; then nothing was sent. */
bool agas_network_answer(const struct agas_request *r, const struct agas_reply *reply,
			 const void *data, size_t bytes);
/* Send a message of a move, which tells the routers on its way that the block is here. */
bool agas_network_update(const struct agas_move_msg *m);
/*
 * Write into the tables of this node what became of a block and, at its home, where the block is.
 */
void agas_network_bind(const struct agas_block *b, enum agas_state state);
void agas_network_home(uint64_t key, uint32_t owner, uint16_t version);
/* The dispatch function of all these packets. */
void agas_network_receive(pami_context_t context, void *cookie, const void *header,
			  size_t header_bytes, const void *data, size_t bytes,
			  pami_endpoint_t origin, pami_recv_t *recv);
/*
 * Return the most bytes of a block that one request of a put or get of so many bytes names. Units
 * send the data of gets that fit a packet. Of much more, the owner sends all at once. A put of a
 * few packets that is alone in flight goes in pieces; any other is one request.
 */
size_t agas_network_piece(enum agas_request_kind kind, size_t bytes);
/*
 * Blocks of this host, in real time: does this rank carry out their accesses by itself? (PUT, GET
 * and ATOMIC; emu/near_access.h.)
 */
bool agas_network_reaches(void);
/*
 * Carry out such an access if the block is near, and, unless owner is AGAS_NETWORK_ANY, if that
 * rank owns it. local: payload, or where the data of a get goes; *value: of an ATOMIC. Returns
 * false if nothing was done. Any thread, with or without the lock.
 */
#define AGAS_NETWORK_ANY UINT32_MAX
bool agas_network_access(const struct agas_request *r, void *local, uint64_t *value,
			 uint32_t owner);
/* Does the network find blocks that are near, so that no owner need be named? */
bool agas_network_finds(void);
/* The function of agas_party, or NULL. */
uint32_t (*agas_network_claim(void))(struct agas_block *b);
/* A rank has died: release the pins of its accesses. */
void agas_network_death(uint32_t dead);
/* Return how many seconds a caller of agas_remap() waits for the controller of a central table. */
double agas_network_delay(void);

#endif
