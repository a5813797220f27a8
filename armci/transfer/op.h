/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outstanding operations, the requests they belong to, and the waits for them. All of it is under
 * the library's lock.
 */
#ifndef ARMCI_OP_H
#define ARMCI_OP_H

#include "armci/core/world.h"
#include "armci/transfer/shape.h"

/* Operations that one call or one handle waits for. */
struct armci_req {
	uint32_t pending;
	uint32_t failed;
	uint32_t slot; /* + 1 if handles name it, else 0 */
	uint32_t next_free;
	uint64_t generation; /* A handle with another generation has nothing pending. */
};

struct armci_op {
	struct armci_op *next_free;
	struct armci_req *req;
	struct armci_seg *seg; /* the segment it writes, or NULL */
	int proc;
	uint8_t class;
	bool local, remote; /* not yet locally, not yet remotely complete */
	bool counted;       /* It counts in `pending` of the target. */
	bool sending;       /* PAMI still reads buffer or header. */
	bool own_region;    /* `region` was made for this operation. */
	bool owed;          /* The target owes the answer, which has not begun to arrive. */
	uint32_t window;    /* bytes reserved in the target's window */
	void *buffer;       /* freed with the operation */
	void *value_to;     /* where an answered value goes, or NULL */
	size_t value_bytes;
	/* armci_op_create() does not clear the fields from here on. */
	uint64_t generation; /* how often this structure was used */
	uint64_t number;     /* in the order in which operations were started */
	uint32_t index;      /* in the table of transfer/op.c */
	uint64_t value;      /* a small source that the caller may reuse at once */
	uint64_t header[8];  /* of a message that PAMI is sending */
	pami_memregion_t region;
	struct armci_shape shape; /* where the answer of a packed get goes; set only for one */
	struct armci_list list;   /* the same for a list, if count > 0; owns list.local */
};

/* ---- requests and handles ---- */

/* Wait until nothing is pending. 0 or FAIL6. */
int armci_req_wait(struct armci_req *req);
/*
 * The request behind a handle that takes more operations, or NULL for the implicit handle (NULL).
 * It cannot complete before armci_req_end().
 */
struct armci_req *armci_req_begin(armci_hdl_t *h);
void armci_req_end(struct armci_req *req);
/* Wait until nothing of the handle is pending. 0 or FAIL6. */
int armci_handle_wait(armci_hdl_t *h);
bool armci_handle_is_pending(const armci_hdl_t *h);
/* Free all requests and operations, at ARMCI_Finalize. */
void armci_req_release_all(void);

/* ---- operations ---- */

/* A new operation, counted at its target and in req (NULL: implicit). May wait for old ones. */
struct armci_op *armci_op_create(int proc, struct armci_req *req);
/* Count it as a write of [offset, offset + bytes) of seg until it is remotely complete. */
void armci_op_count_write(struct armci_op *op, struct armci_seg *seg, enum armci_class class,
			  size_t offset, size_t bytes);
/* Count it as a write to no segment: fences wait for its acknowledgement. */
void armci_op_expect_ack(struct armci_op *op);
/* Local completion, remote completion, and the end of PAMI's use of buffer and header. */
void armci_op_complete_local(struct armci_op *op, bool ok);
void armci_op_complete_remote(struct armci_op *op, bool ok);
void armci_op_complete_send(struct armci_op *op);
/* Wait until the target's window has room for `bytes` of payload, and reserve them. */
void armci_window_reserve(struct armci_op *op, size_t bytes);
/* A number that names the operation in a message. */
uint64_t armci_op_token(const struct armci_op *op);
/* Return the operation whose target owes the answer with this token, or NULL if it has ended
 * already. */
struct armci_op *armci_op_find(uint64_t token);
/* End the operations whose answer a dead process owes. Not from a callback of PAMI. */
void armci_end_operations_of_dead(void);

/* ---- order and fences ---- */

/*
 * Wait until an access of this class to [offset, offset + bytes) of seg can no longer overtake an
 * earlier write of this process.
 */
void armci_order_access(struct armci_seg *seg, int proc, size_t offset, size_t bytes,
			enum armci_class class);
/* Wait for the writes to proc that went by message, so that what follows comes after all writes. */
void armci_order_after_messages(int proc);
/* Wait until the non-blocking operations to proc are locally complete; -1: those to all. */
void armci_wait_pending(int proc);
void armci_fence_all(void);
void armci_fence(int proc);
/* As armci_fence(), without sending what aggregate handles have collected. */
void armci_fence_sent(int proc);

#endif
