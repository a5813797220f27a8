/* SPDX-License-Identifier: BSD-3-Clause */
/* Contiguous transfers and single values. */
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/agg.h"
#include "armci/transfer/shape.h"
#include "armci/transfer/xfer.h"

/*
 * Hot: copy within memory that this process maps, without the lock. Returns false if it is not such
 * a transfer.
 */
static inline bool try_copy(enum armci_kind kind, void *local, uintptr_t remote, size_t bytes,
			    int proc)
{
	struct armci_reach d;

	if (kind == ARMCI_KIND_ACC || !armci_can_reach(proc, remote, bytes, &d))
		return false;
	armci_count_copy();
	if (kind == ARMCI_KIND_PUT)
		memmove((void *)remote, local, bytes);
	else
		memmove(local, (void *)remote, bytes);
	return true;
}

static bool add_to_collection(enum armci_kind kind, const struct armci_acc *acc, void *local,
			      void *remote, int bytes, int proc, armci_hdl_t *h)
{
	ARMCI_ENTER;

	return armci_agg_add_alike(h, kind, local, remote, bytes, proc) ||
	       armci_agg_add_piece(h, kind, acc, local, (uintptr_t)remote, (size_t)bytes, proc);
}

static int start_contig(enum armci_kind kind, const struct armci_acc *acc, void *local,
			void *remote, int bytes, int proc, enum armci_wait wait, armci_hdl_t *h)
{
	struct armci_shape s;

	if (bytes < 0)
		return FAIL3;
	if (armci_check_proc(proc))
		return FAIL5;
	if (!bytes)
		return 0;
	if (!local)
		return FAIL;
	if (try_copy(kind, local, (uintptr_t)remote, (size_t)bytes, proc))
		return 0;
	if (wait == ARMCI_NONBLOCKING && h && h->armci_flags & ARMCI_HANDLE_AGGREGATE &&
	    add_to_collection(kind, acc, local, remote, bytes, proc, h))
		return 0;
	if (kind != ARMCI_KIND_ACC)
		return armci_run_contig(kind, local, (uintptr_t)remote, (size_t)bytes, proc, wait,
					h);
	s.local = local;
	s.remote = (uintptr_t)remote;
	s.levels = 0;
	s.count[0] = (size_t)bytes;
	return armci_run_shape(kind, acc, &s, proc, wait, h);
}

static int contig_acc(int op, void *scale, void *src, void *dst, int bytes, int proc,
		      enum armci_wait wait, armci_hdl_t *h)
{
	struct armci_acc acc;

	if (!armci_acc_set(&acc, op, scale))
		return FAIL;
	if (bytes % (int)armci_acc_element_bytes(op))
		return FAIL3;
	return start_contig(ARMCI_KIND_ACC, &acc, src, dst, bytes, proc, wait, h);
}

int PARMCI_Put(void *src, void *dst, int bytes, int proc)
{
	return start_contig(ARMCI_KIND_PUT, NULL, src, dst, bytes, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(Put);

int PARMCI_Get(void *src, void *dst, int bytes, int proc)
{
	return start_contig(ARMCI_KIND_GET, NULL, dst, src, bytes, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(Get);

int PARMCI_Acc(int op, void *scale, void *src, void *dst, int bytes, int proc)
{
	return contig_acc(op, scale, src, dst, bytes, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(Acc);

int PARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *h)
{
	return start_contig(ARMCI_KIND_PUT, NULL, src, dst, bytes, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbPut);

int PARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *h)
{
	return start_contig(ARMCI_KIND_GET, NULL, dst, src, bytes, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbGet);

int PARMCI_NbAcc(int op, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *h)
{
	return contig_acc(op, scale, src, dst, bytes, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbAcc);

/* Every form reads the value during the call. */
#define VALUE(name, type)                                                                          \
	int PARMCI_PutValue##name(type v, void *dst, int proc)                                     \
	{                                                                                          \
		return PARMCI_Put(&v, dst, (int)sizeof(v), proc);                                  \
	}                                                                                          \
	ARMCI_ALIAS(PutValue##name);                                                               \
                                                                                                   \
	type PARMCI_GetValue##name(void *src, int proc)                                            \
	{                                                                                          \
		type v = 0;                                                                        \
                                                                                                   \
		if (PARMCI_Get(src, &v, (int)sizeof(v), proc))                                     \
			armci_die("ARMCI_GetValue" #name ": process %d does not answer", proc);    \
		return v;                                                                          \
	}                                                                                          \
	ARMCI_ALIAS(GetValue##name);                                                               \
                                                                                                   \
	int PARMCI_NbPutValue##name(type v, void *dst, int proc, armci_hdl_t *h)                   \
	{                                                                                          \
		return armci_run_value(&v, sizeof(v), dst, proc, h);                               \
	}                                                                                          \
	ARMCI_ALIAS(NbPutValue##name)

static int armci_run_value(const void *v, size_t bytes, void *dst, int proc, armci_hdl_t *h)
{
	struct armci_shape s = {
	    .local = (char *)(uintptr_t)v, .remote = (uintptr_t)dst, .count = {bytes}};

	if (armci_check_proc(proc))
		return FAIL5;
	return armci_run_shape(ARMCI_KIND_PUT, NULL, &s, proc, ARMCI_VALUE, h);
}

VALUE(Int, int);
VALUE(Long, long);
VALUE(Float, float);
VALUE(Double, double);
