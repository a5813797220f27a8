/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on messages. An operation is a small machine: its step function posts sends and
 * receives, and is called again, with the next phase, when all of them are complete.
 *
 *   PAMI_Collective --> step(0) --> [messages] --> step(1) --> ... --> PAMI_COLL_DONE --> cb_done
 *
 * Messages are matched by (geometry, sequence number of the operation on it, step, sender's rank);
 * what arrives before the operation was called here waits, data of a rendezvous at its origin.
 */
#ifndef PAMI_COLL_H
#define PAMI_COLL_H

#include "pami/state.h"

struct pami_geometry_member {
	int32_t rank;      /* of this task's context of that offset; -1: no member */
	uint32_t sequence; /* collectives started; touched by that context's thread only */
};

struct pami_geometry {
	struct pami_client *client;
	uint32_t id;    /* 0: world */
	uint32_t key;   /* in messages and algorithm numbers; the same on all members */
	uint32_t size;  /* members */
	pami_endpoint_t *endpoint; /* [size], by rank; NULL: world, rank = task, offset 0 */
	struct pami_geometry_member *member; /* [client->contexts] */
};

struct pami_coll;

#define PAMI_COLL_DONE 1
/* One phase. 0: go on when everything posted is complete; PAMI_COLL_DONE; or negative errno. */
typedef int (*pami_coll_step)(struct pami_coll *c);

struct pami_algorithm_info {
	const char *name;
	pami_xfer_type_t type;
	pami_coll_step step;
	/* Check the parameters, get buffers. 0 or negative errno. NULL: nothing to do. */
	int (*prepare)(struct pami_coll *c);
	/* Results into the user's buffers. NULL: nothing to do. */
	void (*deliver)(struct pami_coll *c);
};
extern const struct pami_algorithm_info pami_coll_barrier, pami_coll_broadcast, pami_coll_allreduce;

struct pami_coll {
	struct pami_coll *next;
	struct pami_context *context;
	struct pami_geometry *geometry;
	const struct pami_algorithm_info *info;
	struct pami_coll_recv *posted;
	struct pami_request *request; /* to complete from the initiating call */
	uint32_t sequence;
	uint32_t rank, size;
	uint32_t phase;
	uint32_t outstanding; /* sends and receives of this phase */
	uint8_t running;
	int result;
	size_t bytes;           /* of the algorithm's buffers */
	unsigned char *own;     /* buffers, freed at the end; or NULL */
	unsigned char *other;
	unsigned char *data;    /* broadcast: what is passed on */
	pami_xfer_t xfer;
};

/* Send to, receive from, a member in this phase; the buffer stays until the next phase. */
int pami_coll_send(struct pami_coll *c, uint32_t rank, uint32_t step, const void *data, size_t bytes);
int pami_coll_recv(struct pami_coll *c, uint32_t rank, uint32_t step, void *data, size_t bytes);

pami_endpoint_t pami_geometry_endpoint(const struct pami_geometry *g, uint32_t rank);
/* Rank of an endpoint, -1: no member. */
int32_t pami_geometry_rank(const struct pami_geometry *g, pami_endpoint_t e);
/* What an algorithm number of this client names, or NULL. */
const struct pami_algorithm_info *pami_geometry_algorithm(struct pami_client *client, pami_algorithm_t a,
                                                          struct pami_geometry **geometry);

#endif
