/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers: below the published calls, above PAMI and active messages. */
#ifndef ARMCI_XFER_H
#define ARMCI_XFER_H

#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/op.h"
#include "armci/transfer/shape.h"

/* ---- transfers within mapped memory, without the lock ---- */

/* How this thread reaches mapped memory of another process. */
struct armci_reach {
	atomic_u32 *stripes; /* the owner's accumulate locks, or NULL */
	uintptr_t shift;     /* from the name to the owner's address */
};

/*
 * May this thread load and store [name, name + bytes) of proc now? Only if the memory is mapped and
 * no earlier write of this process to proc is outstanding, which the access could overtake.
 */
static inline bool armci_can_reach(int proc, uintptr_t name, size_t bytes, struct armci_reach *d)
{
	struct armci_thread *t = &armci_self;
	const struct armci_map *map = &armci_world.map[proc];
	const struct armci_seg *seg;
	bool found;

	if (atomic_load_relaxed(&armci_world.target[proc].unacked) || !armci_read_begin(t))
		return false;
	seg = atomic_ptr_load_acquire(&map->last);
	/* With a single thread the caller searches under the lock, which remembers the segment. */
	if (!seg || !armci_seg_holds(seg, name, bytes))
		seg = atomic_load_relaxed(&armci_threads_several) ? armci_map_read(map, name, bytes)
								  : NULL;
	found = seg && seg->direct;
	if (found) {
		d->stripes = armci_world.stripes[proc];
		d->shift = seg->va - seg->name;
	}
	armci_read_end(t);
	return found;
}

static inline void armci_count_copy(void)
{
	struct armci_thread *t = &armci_self;

	atomic_store_relaxed(&t->copies, atomic_load_relaxed(&t->copies) + 1);
}

/* Move all of s and return true, or move nothing and return false. */
bool armci_direct_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s,
			int proc);
/* Move entries from the first on; returns how many. */
size_t armci_direct_list(enum armci_kind kind, const struct armci_acc *acc,
			 const struct armci_list *list, int proc);

/* ---- transfers under the lock. 0 or FAIL6 ---- */

int armci_xfer_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s,
		     int proc, struct armci_req *req);
int armci_xfer_list(enum armci_kind kind, const struct armci_acc *acc,
		    const struct armci_list *list, int proc, struct armci_req *req);
/* A get of a contiguous piece of seg by RDMA, as part of req. */
int armci_xfer_get_rdma(struct armci_seg *seg, int proc, struct armci_req *req, char *local,
			size_t offset, size_t bytes);
/* Put one int by RDMA (or a store), after all earlier puts by RDMA. */
int armci_xfer_flag(uintptr_t remote, int value, int proc);

/* ---- the published calls, after their arguments were checked. 0 or FAIL6 ---- */

enum armci_wait {
	ARMCI_BLOCKING,
	ARMCI_NONBLOCKING,
	ARMCI_VALUE /* non-blocking; the source is read before the call returns */
};

/* A blocking call, or one into handle h (NULL: implicit). */
int armci_run_contig(enum armci_kind kind, void *local, uintptr_t remote, size_t bytes, int proc,
		     enum armci_wait wait, armci_hdl_t *h);
int armci_run_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s,
		    int proc, enum armci_wait wait, armci_hdl_t *h);
int armci_run_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *list,
		   int proc, enum armci_wait wait, armci_hdl_t *h);

#endif
