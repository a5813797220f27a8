/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided transfers: checks the published arguments and makes a shape of them. */
#include "armci/core/api.h"
#include "armci/core/world.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/shape.h"
#include "armci/transfer/xfer.h"

struct strided {
	void *local;
	int *local_stride;
	void *remote;
	int *remote_stride;
	int *count;
	int levels;
};

/* 1: there is something to move; 0: nothing; else an error. */
static int shape_of(const struct strided *a, int proc, struct armci_shape *s)
{
	int k, empty = 0;

	if (!a->count)
		return FAIL2;
	if (a->levels < 0 || a->levels > ARMCI_LEVELS)
		return FAIL4;
	if (a->levels && (!a->local_stride || !a->remote_stride))
		return FAIL2;
	if (armci_check_proc(proc))
		return FAIL5;
	for (k = 0; k <= a->levels; k++) {
		if (a->count[k] < 0)
			return FAIL3;
		empty |= !a->count[k];
	}
	if (empty)
		return 0;
	if (!a->local)
		return FAIL;
	s->local = a->local;
	s->remote = (uintptr_t)a->remote;
	s->levels = a->levels;
	for (k = 0; k <= a->levels; k++)
		s->count[k] = (size_t)a->count[k];
	for (k = 0; k < a->levels; k++) {
		s->lstride[k] = a->local_stride[k];
		s->rstride[k] = a->remote_stride[k];
	}
	return 1;
}

static int start_strided(enum armci_kind kind, const struct armci_acc *acc, const struct strided *a,
			 int proc, enum armci_wait wait, armci_hdl_t *h)
{
	struct armci_shape s;
	int rc = shape_of(a, proc, &s);

	return rc <= 0 ? rc : armci_run_shape(kind, acc, &s, proc, wait, h);
}

static int strided_acc(int op, void *scale, const struct strided *a, int proc, enum armci_wait wait,
		       armci_hdl_t *h)
{
	struct armci_acc acc;

	if (!armci_acc_set(&acc, op, scale))
		return FAIL;
	if (a->count && a->count[0] % (int)armci_acc_element_bytes(op))
		return FAIL3;
	return start_strided(ARMCI_KIND_ACC, &acc, a, proc, wait, h);
}

int PARMCI_PutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		int stride_levels, int proc)
{
	struct strided a = {src, src_stride_ar, dst, dst_stride_ar, count, stride_levels};

	return start_strided(ARMCI_KIND_PUT, NULL, &a, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(PutS);

int PARMCI_GetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		int stride_levels, int proc)
{
	struct strided a = {dst, dst_stride_ar, src, src_stride_ar, count, stride_levels};

	return start_strided(ARMCI_KIND_GET, NULL, &a, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(GetS);

int PARMCI_AccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
		int *count, int stride_levels, int proc)
{
	struct strided a = {src, src_stride_ar, dst, dst_stride_ar, count, stride_levels};

	return strided_acc(op, scale, &a, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(AccS);

int PARMCI_NbPutS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		  int stride_levels, int proc, armci_hdl_t *h)
{
	struct strided a = {src, src_stride_ar, dst, dst_stride_ar, count, stride_levels};

	return start_strided(ARMCI_KIND_PUT, NULL, &a, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbPutS);

int PARMCI_NbGetS(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		  int stride_levels, int proc, armci_hdl_t *h)
{
	struct strided a = {dst, dst_stride_ar, src, src_stride_ar, count, stride_levels};

	return start_strided(ARMCI_KIND_GET, NULL, &a, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbGetS);

int PARMCI_NbAccS(int op, void *scale, void *src, int *src_stride_ar, void *dst, int *dst_stride_ar,
		  int *count, int stride_levels, int proc, armci_hdl_t *h)
{
	struct strided a = {src, src_stride_ar, dst, dst_stride_ar, count, stride_levels};

	return strided_acc(op, scale, &a, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbAccS);
