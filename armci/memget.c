/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that one process makes and describes to others (ARMCI_Memget), and the brackets around direct
 * access. A process knows such memory from its first ARMCI_Memat of the descriptor on.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/alloc.h"

struct given {
	struct given *next;
	int proc;
	struct armci_seg seg;
};

/* In armci_meminfo_t.idlist. */
struct card {
	uint64_t va, bytes;
};
_Static_assert(sizeof(struct card) <= sizeof(((armci_meminfo_t *)0)->idlist), "does not fit");

static struct given *all;

static struct given *given_find(int proc, uintptr_t va)
{
	struct given *g;

	for (g = all; g && (g->proc != proc || g->seg.va != va); g = g->next)
		;
	return g;
}

static struct given *given_create(int proc, const struct card *c, pami_memregion_t *own)
{
	struct given *g = calloc(1, sizeof(*g));

	if (!g)
		armci_die("no memory for a segment of process %d", proc);
	g->proc = proc;
	armci_seg_set(&g->seg, proc, c->va, c->bytes);
	g->seg.own = own;
	if (armci_map_add(&armci_world.map[proc], &g->seg) ||
	    (proc == armci_world.me && armci_region_offer(&g->seg)))
		armci_die("no memory for the segment table");
	g->next = all;
	all = g;
	return g;
}

static void given_destroy(struct given *g)
{
	struct given **p;

	for (p = &all; *p != g; p = &(*p)->next)
		;
	*p = g->next;
	armci_map_remove(&armci_world.map[g->proc], &g->seg);
	armci_seg_release(&g->seg);
	if (g->proc == armci_world.me) {
		armci_region_withdraw(&g->seg);
		armci_memory_put((void *)g->seg.va, g->seg.bytes, g->seg.own);
	}
	free(g);
}

void armci_memget_release(void)
{
	while (all)
		given_destroy(all);
}

void PARMCI_Memget(size_t bytes, armci_meminfo_t *info, int memflg)
{
	ARMCI_ENTER;
	pami_memregion_t *region = NULL;
	struct card c;

	if (!bytes || !info || memflg)
		armci_die("ARMCI_Memget: %zu bytes, flags %d", bytes, memflg);
	memset(info, 0, sizeof(*info));
	memset(&c, 0, sizeof(c));
	c.va = (uintptr_t)armci_memory_get(bytes, &region);
	c.bytes = bytes;
	if (!c.va)
		armci_die("ARMCI_Memget: no memory for %zu bytes", bytes);
	given_create(armci_world.me, &c, region);
	info->armci_addr = info->addr = (char *)(uintptr_t)c.va;
	info->size = bytes;
	info->cpid = armci_world.me;
	memcpy(info->idlist, &c, sizeof(c));
}
ARMCI_ALIAS(Memget);

void *PARMCI_Memat(armci_meminfo_t *info, long offset)
{
	ARMCI_ENTER;
	struct given *g;
	struct card c;

	if (!info || armci_check_proc(info->cpid))
		armci_die("ARMCI_Memat: no descriptor");
	if (info->cpid == armci_world.me)
		return info->addr;
	memcpy(&c, info->idlist, sizeof(c));
	if (!c.bytes)
		return NULL; /* after ARMCI_Memctl */
	g = given_find(info->cpid, (uintptr_t)c.va);
	if (!g)
		g = given_create(info->cpid, &c, NULL);
	return (char *)g->seg.name + offset;
}
ARMCI_ALIAS(Memat);

/* Only the creator frees; the others forget. */
void PARMCI_Memctl(armci_meminfo_t *info)
{
	ARMCI_ENTER;
	struct given *g;
	struct card c;

	if (!info || armci_check_proc(info->cpid))
		armci_die("ARMCI_Memctl: no descriptor");
	memcpy(&c, info->idlist, sizeof(c));
	armci_fence(info->cpid);
	g = given_find(info->cpid, (uintptr_t)c.va);
	if (g)
		given_destroy(g);
	info->armci_addr = info->addr = NULL;
	memset(info->idlist, 0, sizeof(info->idlist));
}
ARMCI_ALIAS(Memctl);

void PARMCI_Access_begin(void *ptr)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
ARMCI_ALIAS(Access_begin);

void PARMCI_Access_end(void *ptr)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
ARMCI_ALIAS(Access_end);

#pragma GCC visibility push(default)

/* Nothing to undo: the next ARMCI_Memat finds the memory where it was. */
void ARMCI_Memdt(armci_meminfo_t *info, long offset) {}

void ARMCI_Copy(void *src, void *dst, int bytes)
{
	if (bytes > 0)
		memmove(dst, src, (size_t)bytes);
}

#pragma GCC visibility pop
