/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving blocks: the records of this rank, and the messages of protocol.h. Under the library's
 * lock unless it says otherwise. */
#ifndef AGAS_MOVE_MOVE_H
#define AGAS_MOVE_MOVE_H

#include "agas/core/world.h"

struct agas_op;
struct agas_req;

/* Any thread. The record may be of another block by the time the caller looks at it. */
struct agas_block *agas_block_find(uint64_t key);
/* Pin the block if it is here; else return NULL. The caller releases the pin with
 * agas_block_release(). Any thread. */
struct agas_block *agas_block_acquire(uint64_t key);
/* Any thread. */
void agas_block_release(struct agas_block *b);
/* Return the global address of a byte of a block that is here, or 0. Looks at every block. */
uint64_t agas_address_of(const void *lva);
/* Find the record, or make an empty one. Returns NULL if there is no memory. */
struct agas_block *agas_block_make(uint64_t key);
/* Create a block here, with zeroed memory. Returns false if there is no memory or the block
 * exists. */
bool agas_block_install(uint64_t key, uint32_t attributes);
/* Remove the record of a block that is not here and that no operation needs. */
void agas_block_forget(uint64_t key);

struct agas_home *agas_home_find(uint64_t key);
bool agas_home_install(uint64_t key, uint32_t owner, uint64_t blocks, uint32_t user_bytes);
/* Return the most exact of AGAS_WHY_UNMAPPED, FREED and NEVER, at the home of a block that it does
 * not know. */
uint8_t agas_home_why_unmapped(uint64_t key);
/* Begin to free a block; note->left counts down when it is freed. Returns false if there is no such
 * block. */
bool agas_home_free(uint64_t key, struct agas_freeing *note);

/* This rank as a party of the protocol. */
struct agas_party agas_party_of(uint64_t key);
/* Begin to move the block of gva to a rank, as part of req (NULL: of the fence). 0 or an error. */
int agas_move_to(const char *call, uint64_t gva, int pe, struct agas_req *req);
void agas_move_start(struct agas_op *op, uint64_t key, uint32_t target);
void agas_move_receive(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv);
void agas_moves_death(uint32_t dead);
/* No rank accesses a block any more: take them out of the tables of this host. */
void agas_blocks_unbind(void);
/* Free all records and memory. PAMI's client still exists. */
void agas_blocks_release(void);
bool agas_blocks_open(void);
uint64_t agas_blocks_count(void);

#endif
