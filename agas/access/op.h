/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that this rank has started and that are not complete. Under the library's lock. */
#ifndef AGAS_ACCESS_OP_H
#define AGAS_ACCESS_OP_H

#include "agas/access/wire.h"
#include "agas/core/world.h"

enum agas_op_kind { AGAS_OP_REQUEST, AGAS_OP_MOVE, AGAS_OP_CONTROL };

struct agas_op {
	uint32_t index, generation;
	uint8_t op_kind;
	bool used;
	bool answered;  /* the answer came, but PAMI still reads the payload */
	bool sending;   /* PAMI will call back */
	bool asks_home; /* the answer to a QUERY that comes first */
	bool waits;     /* for retry_at */
	uint8_t error;  /* enum agas_why */
	uint32_t sent_to;
	uint32_t acks; /* CONTROL: answers to come */
	uint32_t tries;
	struct agas_request r; /* REQUEST */
	char *local;           /* PUT, CALL: payload; GET: where the data goes */
	void *copy;            /* payload that the library frees */
	uint64_t *value_to;    /* ATOMIC, QUERY, CONTROL: where the value goes */
	struct agas_req *req;  /* NULL: counted by agas_fence() alone */
	/* NULL, or called under the lock when the operation has ended, with op->error and
	 * op->owner. It may start other operations but must not wait. */
	void (*then)(const struct agas_op *op);
	void *then_arg;
	uint32_t owner;              /* QUERY: the owner that the home has named */
	double retry_at, give_up_at; /* seconds; 0: not */
	struct agas_op *next;        /* of the free ones */
};

/* A request's id: the whole generation of its operation at the source, and the id of the operation,
 * which is its place there and the lower bits of the generation. */
#define AGAS_PLACE_BITS 20
#define AGAS_PLACE_MASK ((1u << AGAS_PLACE_BITS) - 1)

static inline uint64_t agas_id_make(uint64_t generation, uint32_t place)
{
	return generation << 32 | (uint32_t)(generation << AGAS_PLACE_BITS) |
	       (place & AGAS_PLACE_MASK);
}

static inline uint32_t agas_id_place(uint64_t id)
{
	return (uint32_t)id & AGAS_PLACE_MASK;
}

static inline uint64_t agas_id_generation(uint64_t id)
{
	return id >> 32;
}

/* Create an operation as part of req (NULL: of the fence). Outside handlers the call waits if too
 * many operations are in flight. Returns NULL if there is no memory. */
struct agas_op *agas_op_create(enum agas_op_kind kind, struct agas_req *req);
uint64_t agas_op_id(const struct agas_op *op);
/* Find the operation of an id. Returns NULL if it has ended. */
struct agas_op *agas_op_find(uint64_t id);
/* End an operation whose answer has arrived, or will never arrive. */
void agas_op_complete(struct agas_op *op, uint8_t why);
/* End a MOVE without an error, `seconds` from now. */
void agas_op_complete_later(struct agas_op *op, double seconds);
/* Begin a request. `op->r` has kind, gva, bytes and operands. */
void agas_op_start(struct agas_op *op);
/* Wait until a request of the caller is complete. */
int agas_req_wait(struct agas_req *req);

/* Handle an answer of another rank, or of this one; data as in serve.c. */
void agas_op_answer(const struct agas_reply *reply, const void *data);
void agas_op_receive_reply(pami_context_t context, void *cookie, const void *header,
			   size_t header_bytes, const void *data, size_t bytes,
			   pami_endpoint_t origin, pami_recv_t *recv);
/* Remember an owner. */
void agas_cache_learn(uint64_t key, uint32_t owner, uint16_t version);

/* Returns true if some operation is backing off or has a time limit. */
bool agas_ops_wait_for_time(void);
/* Send again the requests whose backoff is over, and end those whose time limit has passed. */
void agas_ops_poll(void);
/* End the operations that the death has ended, and set a time limit for the others. */
void agas_ops_death(uint32_t dead);
uint32_t agas_ops_count(void);
void agas_ops_release(void);

#endif
