/* SPDX-License-Identifier: BSD-3-Clause */
/* The segment of each process: memory that neighbours map, and what each knows of the others'. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gasnet/core/segment.h"
#include "gasnet/core/team.h"

struct part { /* what a process tells the others about its segment */
	uint64_t addr, bytes;
};

uintptr_t gasnet_getMaxLocalSegmentSize(void)
{
	return gexi_world.env.segment_max;
}

uintptr_t gasnet_getMaxGlobalSegmentSize(void)
{
	return gexi_world.segment_max_global;
}

size_t gexi_segment_max_default(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 1u << 30;
	uint64_t share = memory / 2 / (gexi_world.host_count ? gexi_world.host_count : 1);
	const uint64_t most = (uint64_t)4 << 30, least = (uint64_t)16 << 20;

	/* Programs allocate the whole of it, so it has to exist. */
	share = share > most ? most : share < least ? least : share;
	return share & ~(uint64_t)(GASNET_PAGESIZE - 1);
}

static void map_peer(uint32_t task, const struct part *part)
{
	struct gexi_peer *p = gexi_peer(task);
	char *at = NULL;

	p->seg_addr = (uintptr_t)part->addr;
	p->seg_bytes = (uintptr_t)part->bytes;
	p->has_segment = part->bytes != 0;
	if (task == gexi_world.me || !p->has_segment || !gexi_world.node)
		return;
	for (uint32_t i = 0; i < gexi_world.nbrhd_count; i++)
		if (gexi_world.nbrhd[i].gex_jobrank == task && gexi_world.env.shm)
			at = gexi_world.node(task, (void *)p->seg_addr, p->seg_bytes);
	if (!at)
		return;
	p->delta = at - (char *)p->seg_addr;
	p->is_mapped = true;
}

int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size)
{
	struct part own = {0}, *all;
	void *addr = NULL;

	if (!gexi_world.client)
		return GASNET_ERR_NOT_INIT;
	if (!tm || gexi_world.ep.segment || !size || size % GASNET_PAGESIZE ||
	    size > gexi_world.env.segment_max)
		return GASNET_ERR_BAD_ARG;
	if (gexi_world.alloc)
		addr = gexi_world.alloc(size, GASNET_PAGESIZE);
	else
		addr = aligned_alloc(GASNET_PAGESIZE, size);
	all = malloc(tm->size * sizeof(*all));
	if (!addr || !all)
		gexi_die("gex_Segment_Attach: no memory for a segment of %zu bytes; ask for less",
			 (size_t)size);
	own = (struct part){(uint64_t)(uintptr_t)addr, size};
	gexi_world.segment = (struct gexi_segment){.addr = addr, .bytes = size};
	gexi_world.ep.segment = &gexi_world.segment;
	gexi_allgather(tm, &own, all, sizeof(own));
	for (uint32_t i = 0; i < tm->size; i++)
		map_peer(gexi_task_of(tm, i), &all[i]);
	free(all);
	if (segment_p)
		*segment_p = &gexi_world.segment;
	gexi_barrier(tm);
	return GASNET_OK;
}

int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
			   uintptr_t *size_p)
{
	uint32_t task = gexi_task_of(tm, rank);
	const struct gexi_peer *p = gexi_peer(task);

	if (!p->has_segment)
		return 1;
	if (owneraddr_p)
		*owneraddr_p = (void *)p->seg_addr;
	if (localaddr_p)
		*localaddr_p = task == gexi_world.me ? (void *)p->seg_addr
						     : gexi_local(p, (void *)p->seg_addr);
	if (size_p)
		*size_p = p->seg_bytes;
	return 0;
}

GEXI_COLD void gexi_check_bounds_slow(const char *call, uint32_t task, const void *addr,
				      size_t bytes)
{
	const struct gexi_peer *p = gexi_peer(task);
	uintptr_t at = (uintptr_t)addr;

	if (!p->has_segment)
		gexi_die("%s: process %u has no segment", call, task);
	if (at < p->seg_addr || bytes > p->seg_bytes || at - p->seg_addr > p->seg_bytes - bytes)
		gexi_die("%s: %zu bytes at %p are not in the segment of process %u, %p to %p", call,
			 bytes, addr, task, (void *)p->seg_addr,
			 (void *)(p->seg_addr + p->seg_bytes));
}
