/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a context for coll/engine.c (operations) and coll/message.c (their messages). */
#ifndef PAMI_COLL_STATE_H
#define PAMI_COLL_STATE_H

#include "pami/coll/coll.h"
#include "pami/coll/counts.h"

struct coll_header {
	uint64_t key;
	uint32_t sequence, rank, step, kind;
};

struct pami_coll_recv {
	struct pami_coll_recv *next;
	struct pami_coll *coll;
	uint32_t rank, step;
	void *data;
	size_t bytes;
};

/* A message that arrived before its receive was posted. */
struct coll_message {
	struct coll_message *next;
	struct coll_header header;
	struct pami_inbound *inbound; /* of more than one packet; NULL: the data follows */
	size_t bytes;
	_Alignas(16) unsigned char data[];
};

#define BUCKETS 64u

struct coll_chain { /* oldest first */
	struct pami_coll *first, **last;
};

/*
 * An operation whose message is dropped would wait for ever. So this many messages of one packet
 * can be kept, and this many receives posted, when malloc fails.
 */
#define RESERVE       8u
#define RESERVE_BYTES (sizeof(struct coll_message) + MU_PACKET_BYTES)

#define PAMI_COLL_SPARES 2u
#define SPARE_MIN        (64u << 10)
#define SPARE_MAX        (8u << 20)

struct pami_coll_state {
	atomic_u64 *counts;
	struct coll_chain active[BUCKETS];
	struct coll_message *early[BUCKETS], **early_last[BUCKETS];
	size_t early_bytes;           /* of early messages and of `held` */
	struct coll_message *reserve; /* of RESERVE_BYTES each */
	uint32_t reserves;
	/* Operations to be stepped at the next progress call. */
	struct pami_coll *poll, **poll_last;
	/* Operations that are over, and whose callbacks the next progress call runs. */
	struct pami_coll *finished, **finished_last;
	struct pami_shm *shorts; /* team memories with an operation of the short lane */
	/* The algorithm that the last number named; valid while `ended` is the table's count. */
	struct {
		pami_algorithm_t algorithm;
		uint32_t ended;
		struct pami_geometry *geometry;
		struct pami_geometry_member *member;
		const struct pami_algorithm_info *info;
	} last;
	struct pami_coll *free_coll;
	struct pami_coll_recv *free_recv;
	struct pami_am_held *held; /* coll/am.c: messages without a geometry or a dispatch */
	/* Large buffers for the next operation: each page of a fresh one costs a page fault. */
	void *spare[PAMI_COLL_SPARES];
};

static inline unsigned bucket_of(uint64_t key, uint32_t sequence)
{
	return (unsigned)((key ^ key >> 32) * 31 + sequence) % BUCKETS;
}

static inline void pami_coll_recv_free(struct pami_context *ctx, struct pami_coll_recv *r)
{
	r->next = ctx->coll->free_recv;
	ctx->coll->free_recv = r;
}

/* Fill up the reserve. Returns 0 or -ENOMEM. */
int pami_coll_reserve(struct pami_context *ctx);
/* Run an operation until it waits or ends. Returns 1 if it ended, else 0. */
int pami_coll_run(struct pami_coll *c);

#endif
