/* SPDX-License-Identifier: BSD-3-Clause */
/* Vector transfers: sets of equally long segments. Each set becomes a list. */
#include "armci/core/api.h"
#include "armci/core/world.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/shape.h"
#include "armci/transfer/xfer.h"

static int check_arguments(const armci_giov_t *darr, int len, int proc)
{
	int i;

	if (len < 0)
		return FAIL4;
	if (len && !darr)
		return FAIL;
	if (armci_check_proc(proc))
		return FAIL5;
	for (i = 0; i < len; i++) {
		if (darr[i].bytes < 0)
			return FAIL3;
		if (darr[i].ptr_array_len < 0)
			return FAIL4;
		if (darr[i].bytes && darr[i].ptr_array_len &&
		    (!darr[i].src_ptr_array || !darr[i].dst_ptr_array))
			return FAIL2;
	}
	return 0;
}

static struct armci_list list_of(enum armci_kind kind, const armci_giov_t *g)
{
	bool get = kind == ARMCI_KIND_GET;

	return (struct armci_list){
	    .local = get ? g->dst_ptr_array : g->src_ptr_array,
	    .remote = get ? g->src_ptr_array : g->dst_ptr_array,
	    .count = (size_t)g->ptr_array_len,
	    .bytes = (size_t)g->bytes,
	};
}

/* Only local addresses are checked here; the search for the segment checks remote ones. */
static bool has_null(const struct armci_list *l)
{
	size_t i;

	for (i = 0; i < l->count && l->local[i]; i++)
		;
	return i < l->count;
}

static int start_vector(enum armci_kind kind, const struct armci_acc *acc, const armci_giov_t *darr,
			int len, int proc, enum armci_wait wait, armci_hdl_t *h)
{
	int i, rc = check_arguments(darr, len, proc);

	for (i = 0; i < len && !rc; i++) { /* Check all sets before any data move. */
		struct armci_list l = list_of(kind, &darr[i]);

		if (l.bytes && has_null(&l))
			return FAIL;
	}
	for (i = 0; i < len && !rc; i++) {
		struct armci_list l = list_of(kind, &darr[i]);

		rc = armci_run_list(kind, acc, &l, proc, wait, h);
	}
	return rc;
}

static int vector_acc(int op, void *scale, const armci_giov_t *darr, int len, int proc,
		      enum armci_wait wait, armci_hdl_t *h)
{
	struct armci_acc acc;
	int i;

	if (!armci_acc_set(&acc, op, scale))
		return FAIL;
	for (i = 0; darr && i < len; i++)
		if (darr[i].bytes % (int)armci_acc_element_bytes(op))
			return FAIL3;
	return start_vector(ARMCI_KIND_ACC, &acc, darr, len, proc, wait, h);
}

int PARMCI_PutV(armci_giov_t *darr, int len, int proc)
{
	return start_vector(ARMCI_KIND_PUT, NULL, darr, len, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(PutV);

int PARMCI_GetV(armci_giov_t *darr, int len, int proc)
{
	return start_vector(ARMCI_KIND_GET, NULL, darr, len, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(GetV);

int PARMCI_AccV(int op, void *scale, armci_giov_t *darr, int len, int proc)
{
	return vector_acc(op, scale, darr, len, proc, ARMCI_BLOCKING, NULL);
}
ARMCI_ALIAS(AccV);

int PARMCI_NbPutV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h)
{
	return start_vector(ARMCI_KIND_PUT, NULL, darr, len, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbPutV);

int PARMCI_NbGetV(armci_giov_t *darr, int len, int proc, armci_hdl_t *h)
{
	return start_vector(ARMCI_KIND_GET, NULL, darr, len, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbGetV);

int PARMCI_NbAccV(int op, void *scale, armci_giov_t *darr, int len, int proc, armci_hdl_t *h)
{
	return vector_acc(op, scale, darr, len, proc, ARMCI_NONBLOCKING, h);
}
ARMCI_ALIAS(NbAccV);
