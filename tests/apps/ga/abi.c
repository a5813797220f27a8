/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Debian's Global Arrays library was compiled against another ARMCI (ARMCI-MPI). Calls mean the
 * same there, but some constants have other numbers and a handle has 8 bytes. Linked with
 * -Wl,--wrap=NAME for each name below, this file stands between that binary and libarmci.
 * Everything else passes through: both kinds of group begin with the communicator and have room for
 * ours, vector descriptors are alike.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "armci/armci.h"

#define HANDLES 4096 /* outstanding at once; GA uses 256 */

/* Theirs: at first use it names one of our handles by number; 0, as INIT_HANDLE leaves it, none. */
struct their_handle {
	int number, aggregate;
};

static armci_hdl_t handle[HANDLES];
static atomic_u8 taken[HANDLES]; /* by any thread */

static armci_hdl_t *own_handle(struct their_handle *h)
{
	static unsigned next;

	if (!h)
		return NULL;
	if (h->number)
		return &handle[h->number];
	for (int i = 0; i < HANDLES; i++) {
		int k = (int)(atomic_fetch_add_relaxed(&next, 1) % (HANDLES - 1)) + 1;

		if (!atomic_exchange_acquire(&taken[k], 1)) {
			h->number = k;
			ARMCI_INIT_HANDLE(&handle[k]);
			return &handle[k];
		}
	}
	fprintf(stderr, "abi: more than %d handles\n", HANDLES);
	exit(1);
}

static void release_handle(struct their_handle *h)
{
	atomic_store_release(&taken[h->number], 0);
	h->number = 0;
}

static int one_of(const int *ours_of, int n, int theirs, const char *what)
{
	if (theirs < 0 || theirs >= n) {
		fprintf(stderr, "abi: %s %d is unknown\n", what, theirs);
		exit(1);
	}
	return ours_of[theirs];
}

static int acc_of(int op)
{
	static const int list[] = {ARMCI_ACC_INT, ARMCI_ACC_LNG, ARMCI_ACC_FLT,
				   ARMCI_ACC_DBL, ARMCI_ACC_CPL, ARMCI_ACC_DCP};

	return one_of(list, 6, op, "accumulate type");
}

static int rmw_of(int op)
{
	static const int list[] = {ARMCI_FETCH_AND_ADD, ARMCI_FETCH_AND_ADD_LONG, ARMCI_SWAP,
				   ARMCI_SWAP_LONG};

	return one_of(list, 4, op, "read-modify-write");
}

static int type_of(int t)
{
	static const int list[] = {ARMCI_INT, ARMCI_LONG, ARMCI_LONG_LONG, ARMCI_FLOAT,
				   ARMCI_DOUBLE};

	return one_of(list, 5, t, "type");
}

static int scope_of(int s)
{
	static const int list[] = {SCOPE_ALL, SCOPE_NODE, SCOPE_MASTERS};

	return one_of(list, 3, s, "scope");
}

/* Declares the wrapped function (as in armci.h, but with their handle) and the one behind it. */
#define WRAP(result, name, ...)                                                                    \
	result __wrap_##name(__VA_ARGS__);                                                         \
	result __wrap_##name(__VA_ARGS__)

void __real_ARMCI_INIT_HANDLE(armci_hdl_t *h);
int __real_ARMCI_Wait(armci_hdl_t *h);
int __real_ARMCI_Test(armci_hdl_t *h);
int __real_ARMCI_NbPutS(void *, int *, void *, int *, int *, int, int, armci_hdl_t *);
int __real_ARMCI_NbGetS(void *, int *, void *, int *, int *, int, int, armci_hdl_t *);
int __real_ARMCI_NbAccS(int, void *, void *, int *, void *, int *, int *, int, int, armci_hdl_t *);
int __real_ARMCI_AccS(int, void *, void *, int *, void *, int *, int *, int, int);
int __real_ARMCI_AccV(int, void *, armci_giov_t *, int, int);
int __real_ARMCI_Rmw(int, void *, void *, int, int);
void __real_armci_msg_gop_scope(int, void *, int, char *, int);
void __real_armci_msg_group_gop_scope(int, void *, int, char *, int, ARMCI_Group *);
void __real_armci_msg_group_bcast_scope(int, void *, int, int, ARMCI_Group *);
void __real_armci_msg_sel_scope(int, void *, int, char *, int, int);
void __real_armci_msg_bintree(int, int *, int *, int *, int *);

WRAP(void, ARMCI_INIT_HANDLE, struct their_handle *h)
{
	memset(h, 0, sizeof *h);
}

WRAP(int, ARMCI_Wait, struct their_handle *h)
{
	int rc = 0;

	if (h && h->number) {
		rc = __real_ARMCI_Wait(&handle[h->number]);
		release_handle(h);
	}
	return rc;
}

WRAP(int, ARMCI_Test, struct their_handle *h)
{
	int rc = h && h->number ? __real_ARMCI_Test(&handle[h->number]) : 0;

	if (!rc && h && h->number)
		release_handle(h);
	return rc;
}

WRAP(int, ARMCI_NbPutS, void *src, int *ss, void *dst, int *ds, int *count, int levels, int proc,
     struct their_handle *h)
{
	return __real_ARMCI_NbPutS(src, ss, dst, ds, count, levels, proc, own_handle(h));
}

WRAP(int, ARMCI_NbGetS, void *src, int *ss, void *dst, int *ds, int *count, int levels, int proc,
     struct their_handle *h)
{
	return __real_ARMCI_NbGetS(src, ss, dst, ds, count, levels, proc, own_handle(h));
}

WRAP(int, ARMCI_NbAccS, int op, void *scale, void *src, int *ss, void *dst, int *ds, int *count,
     int levels, int proc, struct their_handle *h)
{
	return __real_ARMCI_NbAccS(acc_of(op), scale, src, ss, dst, ds, count, levels, proc,
				   own_handle(h));
}

WRAP(int, ARMCI_AccS, int op, void *scale, void *src, int *ss, void *dst, int *ds, int *count,
     int levels, int proc)
{
	return __real_ARMCI_AccS(acc_of(op), scale, src, ss, dst, ds, count, levels, proc);
}

WRAP(int, ARMCI_AccV, int op, void *scale, armci_giov_t *iov, int n, int proc)
{
	return __real_ARMCI_AccV(acc_of(op), scale, iov, n, proc);
}

WRAP(int, ARMCI_Rmw, int op, void *local, void *remote, int value, int proc)
{
	return __real_ARMCI_Rmw(rmw_of(op), local, remote, value, proc);
}

WRAP(void, armci_msg_gop_scope, int s, void *x, int n, char *op, int t)
{
	__real_armci_msg_gop_scope(scope_of(s), x, n, op, type_of(t));
}

WRAP(void, armci_msg_group_gop_scope, int s, void *x, int n, char *op, int t, ARMCI_Group *g)
{
	__real_armci_msg_group_gop_scope(scope_of(s), x, n, op, type_of(t), g);
}

WRAP(void, armci_msg_group_bcast_scope, int s, void *buf, int len, int root, ARMCI_Group *g)
{
	__real_armci_msg_group_bcast_scope(scope_of(s), buf, len, root, g);
}

WRAP(void, armci_msg_sel_scope, int s, void *x, int n, char *op, int t, int contribute)
{
	__real_armci_msg_sel_scope(scope_of(s), x, n, op, type_of(t), contribute);
}

WRAP(void, armci_msg_bintree, int s, int *root, int *up, int *left, int *right)
{
	__real_armci_msg_bintree(scope_of(s), root, up, left, right);
}
