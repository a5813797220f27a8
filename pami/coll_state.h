/* SPDX-License-Identifier: BSD-3-Clause */
/* What coll.c (operations) and coll_message.c (their messages) keep for a context. */
#ifndef PAMI_COLL_STATE_H
#define PAMI_COLL_STATE_H

#include "pami/coll.h"

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

/* Arrived before its receive was posted. */
struct coll_message {
	struct coll_message *next;
	struct coll_header header;
	struct pami_inbound *inbound; /* more than one packet; or NULL: data follows */
	size_t bytes;
	_Alignas(16) unsigned char data[];
};

#define BUCKETS 64u

struct coll_chain { /* oldest first */
	struct pami_coll *first, **last;
};

/*
 * A message that is dropped leaves its operation waiting for ever: while there is no memory, so many of a packet are
 * kept, and so many receives posted.
 */
#define RESERVE       8u
#define RESERVE_BYTES (sizeof(struct coll_message) + MU_PACKET_BYTES)

#define PAMI_COLL_SPARES 2u
#define SPARE_MIN (64u << 10)
#define SPARE_MAX (8u << 20)

struct pami_coll_state {
	struct coll_chain active[BUCKETS];
	struct coll_message *early[BUCKETS], **early_last[BUCKETS];
	size_t early_bytes;
	struct coll_message *reserve;                /* of RESERVE_BYTES each */
	uint32_t reserves;
	struct pami_coll *poll, **poll_last;         /* to be stepped at each progress call */
	struct pami_shm *shorts;                     /* with an operation of the short lane */
	struct {
		pami_algorithm_t algorithm; /* what was asked for last, and what that is; good while */
		uint32_t ended;             /* no geometry ended since */
		struct pami_geometry *geometry;
		struct pami_geometry_member *member;
		const struct pami_algorithm_info *info;
	} last;
	struct pami_coll *finished, **finished_last; /* callbacks to come */
	struct pami_coll *free_coll;
	struct pami_coll_recv *free_recv;
	struct pami_am_held *held;
	void *spare[PAMI_COLL_SPARES]; /* large buffers for the next operation: fresh ones cost a fault a page */
};

static inline unsigned bucket(uint64_t key, uint32_t sequence)
{
	return (unsigned)((key ^ key >> 32) * 31 + sequence) % BUCKETS;
}

static inline void pami_coll_recv_free(struct pami_context *ctx, struct pami_coll_recv *r)
{
	r->next = ctx->coll->free_recv;
	ctx->coll->free_recv = r;
}

/* Fill up what is kept for when there is no memory. 0, -ENOMEM. */
int pami_coll_reserve(struct pami_context *ctx);
/* Go on with an operation as far as it goes. Returns whether it came to its end. */
int pami_coll_run(struct pami_coll *c);

#endif
