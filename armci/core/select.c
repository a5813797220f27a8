/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rarely used calls of the message layer: selection of one record, the tree of a scope, and
 * broadcast by messages.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/locality.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"

static long double first_element(const void *record, int type)
{
	union {
		int i;
		long l;
		long long ll;
		float f;
		double d;
	} v;

	switch (type) {
	case ARMCI_INT:
		memcpy(&v.i, record, sizeof(v.i));
		return v.i;
	case ARMCI_LONG:
		memcpy(&v.l, record, sizeof(v.l));
		return v.l;
	case ARMCI_LONG_LONG:
		memcpy(&v.ll, record, sizeof(v.ll));
		return v.ll;
	case ARMCI_FLOAT:
		memcpy(&v.f, record, sizeof(v.f));
		return v.f;
	case ARMCI_DOUBLE:
		memcpy(&v.d, record, sizeof(v.d));
		return v.d;
	default:
		armci_die("armci_msg_sel: %d is not an element type (ARMCI_INT ...)", type);
	}
}

#pragma GCC visibility push(default)

/* Every process sees all records and takes the first best, so all take the same one. */
void armci_msg_sel_scope(int scope, void *x, int n, const char *op, int type, int contribute)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_scope(armci_world.all, scope);
	bool greatest = !strncmp(op, "max", 3);
	char *own, *all, *best = NULL;
	size_t each = (size_t)n + 1;
	int i, bad;

	if (!greatest && strncmp(op, "min", 3))
		armci_die("armci_msg_sel: '%.8s' is neither min nor max", op);
	if (!g || n <= 0)
		return;
	own = malloc(each);
	all = malloc(each * (size_t)g->size);
	if (!own || !all)
		armci_die("no memory to select among %d records of %d bytes", g->size, n);
	own[0] = contribute != 0;
	memcpy(own + 1, x, (size_t)n);
	bad = armci_coll_allgather(g, own, all, each);
	for (i = 0; !bad && i < g->size; i++) {
		char *r = all + (size_t)i * each;
		long double a, b;

		if (!r[0])
			continue;
		a = first_element(r + 1, type);
		b = best ? first_element(best, type) : a;
		if (!best || (greatest ? a > b : a < b))
			best = r + 1;
	}
	if (best)
		memcpy(x, best, (size_t)n);
	free(own);
	free(all);
}

void armci_msg_sel(void *x, int n, const char *op, int type, int contribute)
{
	ARMCI_ENTER;
	armci_msg_sel_scope(SCOPE_ALL, x, n, op, type, contribute);
}

/* World rank of position i in a scope of `count` processes; -1 past its end. */
static int rank_at(int scope, int i, int count, int root)
{
	if (i < 0 || i >= count)
		return -1;
	return scope == SCOPE_MASTERS ? armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, i, 0)
				      : root + i;
}

void armci_msg_bintree(int scope, int *root, int *up, int *left, int *right)
{
	ARMCI_ENTER;
	int first = armci_domain_first(armci_world.me), me, count;

	*root = 0;
	if (scope == SCOPE_ALL) {
		me = armci_world.me;
		count = armci_world.nproc;
	} else if (scope == SCOPE_NODE) {
		*root = first;
		me = armci_world.me - first;
		count = armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1);
	} else if (scope == SCOPE_MASTERS) {
		me = armci_domain_my_id(ARMCI_DOMAIN_SMP);
		count = armci_domain_count(ARMCI_DOMAIN_SMP);
		if (first != armci_world.me) {
			*up = *left = *right = -1;
			return;
		}
	} else {
		armci_die("armci_msg_bintree: %d is not a scope (SCOPE_ALL ...)", scope);
	}
	*up = me ? rank_at(scope, (me - 1) / 2, count, *root) : -1;
	*left = rank_at(scope, 2 * me + 1, count, *root);
	*right = rank_at(scope, 2 * me + 2, count, *root);
}

/* From rank grp_master of the group to the next grp_clus_nproc - 1 ranks, on the same node. */
void armci_grp_clus_brdcst(void *buf, int len, int grp_master, int grp_clus_nproc,
			   ARMCI_Group *mastergroup)
{
	ARMCI_ENTER;
	int master = ARMCI_Absolute_id(mastergroup, grp_master), i;

	if (armci_world.me != master) {
		armci_msg_rcv(ARMCI_TAG_CLUSTER, buf, len, NULL, master);
		return;
	}
	for (i = 1; i < grp_clus_nproc; i++)
		armci_msg_snd(ARMCI_TAG_CLUSTER, buf, len,
			      ARMCI_Absolute_id(mastergroup, grp_master + i));
}

#pragma GCC visibility pop
