/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that one process allocates and describes to others (ARMCI_Memget), and the brackets around
 * direct access. Another process knows such memory from its first ARMCI_Memat of the descriptor on.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/memory/alloc.h"
#include "armci/memory/region.h"
#include "armci/memory/seg.h"
#include "armci/transfer/op.h"
#include "drivers/base/atomic.h"

struct described {
	struct described *next;
	int proc;
	struct armci_seg seg;
};

/* What this library keeps in armci_meminfo_t.idlist. */
struct descriptor {
	uint64_t va, bytes;
};
_Static_assert(sizeof(struct descriptor) <= sizeof(((armci_meminfo_t *)0)->idlist), "does not fit");

static struct described *all;

static struct described *described_find(int proc, uintptr_t va)
{
	struct described *g;

	for (g = all; g && (g->proc != proc || g->seg.va != va); g = g->next)
		;
	return g;
}

static struct described *described_create(int proc, const struct descriptor *c,
					  pami_memregion_t *own)
{
	struct described *g = calloc(1, sizeof(*g));

	if (!g)
		armci_die("no memory for a segment of process %d", proc);
	g->proc = proc;
	armci_seg_set(&g->seg, proc, c->va, c->bytes);
	g->seg.own = own;
	if (armci_map_add(&armci_world.map[proc], &g->seg) ||
	    (proc == armci_world.me && armci_region_publish(&g->seg)))
		armci_die("no memory for the segment table");
	g->next = all;
	all = g;
	return g;
}

static void described_destroy(struct described *g)
{
	struct described **p;

	for (p = &all; *p != g; p = &(*p)->next)
		;
	*p = g->next;
	armci_map_remove(&armci_world.map[g->proc], &g->seg);
	armci_seg_release(&g->seg);
	if (g->proc == armci_world.me) {
		armci_region_withhold(&g->seg);
		armci_memory_put((void *)g->seg.va, g->seg.bytes, g->seg.own);
	}
	free(g);
}

void armci_memget_release(void)
{
	while (all)
		described_destroy(all);
}

void PARMCI_Memget(size_t bytes, armci_meminfo_t *info, int memflg)
{
	ARMCI_ENTER;
	pami_memregion_t *region = NULL;
	struct descriptor c;

	if (!bytes || !info || memflg)
		armci_die("ARMCI_Memget: bytes must be positive (%zu), the descriptor not NULL, "
			  "the flags 0 (%d)",
			  bytes, memflg);
	memset(info, 0, sizeof(*info));
	memset(&c, 0, sizeof(c));
	c.va = (uintptr_t)armci_memory_get(bytes, &region);
	c.bytes = bytes;
	if (!c.va)
		armci_die("ARMCI_Memget: no memory for %zu bytes", bytes);
	described_create(armci_world.me, &c, region);
	info->armci_addr = info->addr = (char *)(uintptr_t)c.va;
	info->size = bytes;
	info->cpid = armci_world.me;
	memcpy(info->idlist, &c, sizeof(c));
}
ARMCI_ALIAS(Memget);

void *PARMCI_Memat(armci_meminfo_t *info, long offset)
{
	ARMCI_ENTER;
	struct described *g;
	struct descriptor c;

	if (!info || armci_check_proc(info->cpid))
		armci_die("ARMCI_Memat: the descriptor is NULL or names no process");
	if (info->cpid == armci_world.me)
		return info->addr;
	memcpy(&c, info->idlist, sizeof(c));
	if (!c.bytes)
		return NULL; /* ARMCI_Memctl has ended the descriptor. */
	g = described_find(info->cpid, (uintptr_t)c.va);
	if (!g)
		g = described_create(info->cpid, &c, NULL);
	return (char *)g->seg.name + offset;
}
ARMCI_ALIAS(Memat);

/* The creator frees the memory; another process only removes its segment. */
void PARMCI_Memctl(armci_meminfo_t *info)
{
	ARMCI_ENTER;
	struct described *g;
	struct descriptor c;

	if (!info || armci_check_proc(info->cpid))
		armci_die("ARMCI_Memctl: the descriptor is NULL or names no process");
	memcpy(&c, info->idlist, sizeof(c));
	armci_fence(info->cpid);
	g = described_find(info->cpid, (uintptr_t)c.va);
	if (g)
		described_destroy(g);
	info->armci_addr = info->addr = NULL;
	memset(info->idlist, 0, sizeof(info->idlist));
}
ARMCI_ALIAS(Memctl);

void PARMCI_Access_begin(void *ptr)
{
	atomic_fence_seq_cst();
}
ARMCI_ALIAS(Access_begin);

void PARMCI_Access_end(void *ptr)
{
	atomic_fence_seq_cst();
}
ARMCI_ALIAS(Access_end);

#pragma GCC visibility push(default)

/* Nothing to undo: the memory stays where the next ARMCI_Memat finds it. */
void ARMCI_Memdt(armci_meminfo_t *info, long offset) {}

void ARMCI_Copy(void *src, void *dst, int bytes)
{
	if (bytes > 0 && (!src || !dst))
		armci_die("ARMCI_Copy: NULL in a copy of %d bytes from %p to %p", bytes, src, dst);
	if (bytes > 0)
		memmove(dst, src, (size_t)bytes);
}

#pragma GCC visibility pop
