/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel calls for memory, places and the job (spi/include/kernel/memory.h, location.h, process.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emu/route.h"
#include "hwi/include/bqc/nd_500_dcr.h"
#include "muspi/unit.h"

/* ---- memory ---- */

UNIT_API uint32_t Kernel_CreateMemoryRegion(Kernel_MemoryRegion_t *region, void *va, size_t bytes)
{
	uint64_t at = (uint64_t)(uintptr_t)va;

	if (!region || !va || !bytes || at + bytes < at)
		return 2;
	*region = (Kernel_MemoryRegion_t){bytes, va, va};
	return 0;
}

UNIT_API uint32_t Kernel_DestroyMemoryRegion(Kernel_MemoryRegion_t *region)
{
	unit_forget_pages();
	return region ? 0 : 2;
}

UNIT_API uint32_t Kernel_QueryMemoryRegion(Kernel_MemoryRegion_t *region, void **va, size_t *bytes)
{
	if (!region || !va || !bytes)
		return 2;
	*va = region->BaseVa;
	*bytes = region->Bytes;
	return 0;
}

UNIT_API uint32_t Kernel_CreateGlobalMemoryRegion(const Kernel_MemoryRegion_t *region,
						  Kernel_MemoryRegion_t *global)
{
	if (!region || !global)
		return 2;
	*global = *region;
	return 0;
}

UNIT_API uint32_t Kernel_Physical2Virtual(void *pa, void **va)
{
	if (!va)
		return 2;
	*va = pa;
	return pa ? 0 : 2;
}

UNIT_API uint32_t Kernel_Physical2GlobalVirtual(void *pa, void **va)
{
	return Kernel_Physical2Virtual(pa, va);
}

UNIT_API uint64_t Kernel_L2AtomicsAllocate(void *va, size_t bytes)
{
	(void)va, (void)bytes;
	return 0;
}

UNIT_API uint64_t Kernel_L2AtomicsBaseAddress(void)
{
	return 0;
}

UNIT_API int Kernel_GetMemorySize(enum KERNEL_MEMSIZETYPE type, uint64_t *bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
	uint64_t left = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page;
	struct rlimit stack = {0};

	if (!bytes)
		return EINVAL;
	getrlimit(RLIMIT_STACK, &stack);
	switch (type) {
	case KERNEL_MEMSIZE_HEAPAVAIL:
	case KERNEL_MEMSIZE_ESTHEAPAVAIL:
		*bytes = left;
		break;
	case KERNEL_MEMSIZE_HEAP:
	case KERNEL_MEMSIZE_HEAPMAX:
		*bytes = all;
		break;
	case KERNEL_MEMSIZE_STACK:
	case KERNEL_MEMSIZE_ESTSTACK:
	case KERNEL_MEMSIZE_STACKAVAIL:
	case KERNEL_MEMSIZE_ESTSTACKAVAIL:
		*bytes = stack.rlim_cur == RLIM_INFINITY ? all : stack.rlim_cur;
		break;
	case KERNEL_MEMSIZE_SHARED:
	case KERNEL_MEMSIZE_PERSIST:
	case KERNEL_MEMSIZE_GUARD:
	case KERNEL_MEMSIZE_MMAP:
		*bytes = 0;
		break;
	default:
		return EINVAL;
	}
	return 0;
}

/* ---- the job ---- */

UNIT_API int Kernel_GetPersonality(Personality_t *p, size_t bytes)
{
	const struct emu_shape *s;
	Personality_t own;
	int rc = unit_attach();

	if (rc)
		return rc;
	if (!p || bytes > sizeof own)
		return EINVAL;
	memset(&own, 0, sizeof own);
	s = &unit.job->shape;
	own.Version = PERSONALITY_VERSION;
	own.PersonalitySizeWords = (uint8_t)(sizeof own / 4);
	own.Kernel_Config.FreqMHz = 1600;
	own.DDR_Config.DDRSizeMB = 16384;
	own.Network_Config.Anodes = s->n[0];
	own.Network_Config.Bnodes = s->n[1];
	own.Network_Config.Cnodes = s->n[2];
	own.Network_Config.Dnodes = s->n[3];
	own.Network_Config.Enodes = s->n[4];
	own.Network_Config.Acoord = unit.job->coord.c[0];
	own.Network_Config.Bcoord = unit.job->coord.c[1];
	own.Network_Config.Ccoord = unit.job->coord.c[2];
	own.Network_Config.Dcoord = unit.job->coord.c[3];
	own.Network_Config.Ecoord = unit.job->coord.c[4];
	for (int d = 0; d < EMU_DIMS; d++)
		if (!(s->mesh >> d & 1))
			own.Network_Config.NetFlags |= ND_ENABLE_TORUS(d);
	memcpy(p, &own, bytes);
	return 0;
}

UNIT_API uint32_t Kernel_ProcessCount(void)
{
	return unit_attach() ? 1 : unit.job->shape.t;
}

UNIT_API uint32_t Kernel_ProcessorCount(void)
{
	return 64 / Kernel_ProcessCount();
}

UNIT_API uint32_t Kernel_GetRank(void)
{
	return unit_attach() ? 0 : unit.job->task;
}

UNIT_API int Kernel_GetJobID(void)
{
	return unit_attach() ? 0 : (int)(unit.job->id & 0x7fffffff);
}

UNIT_API uint32_t Kernel_MyTcoord(void)
{
	return unit_attach() ? 0 : unit.job->coord.t;
}

UNIT_API uint32_t Kernel_RanksToCoords(size_t bytes, BG_CoordinateMapping_t *map, uint64_t *n)
{
	int rc = unit_attach();

	if (rc)
		return (uint32_t)rc;
	if (!map || !n || bytes / sizeof *map < unit.job->tasks || unit.job->shape.n[4] > 2)
		return EINVAL;
	for (uint32_t i = 0; i < unit.job->tasks; i++) {
		struct emu_coord x;

		mu_task_coord(i, &x);
		map[i].a = x.c[0];
		map[i].b = x.c[1];
		map[i].c = x.c[2];
		map[i].d = x.c[3];
		map[i].e = x.c[4] & 1;
		map[i].t = x.t;
		map[i].reserved = 0;
	}
	*n = unit.job->tasks;
	return 0;
}

UNIT_API uint32_t Kernel_JobCoords(BG_JobCoords_t *coords)
{
	const struct emu_shape *s;
	int rc = unit_attach();

	if (rc)
		return (uint32_t)rc;
	if (!coords)
		return EINVAL;
	s = &unit.job->shape;
	memset(coords, 0, sizeof *coords);
	coords->shape.a = s->n[0];
	coords->shape.b = s->n[1];
	coords->shape.c = s->n[2];
	coords->shape.d = s->n[3];
	coords->shape.e = s->n[4];
	coords->shape.core = 16;
	return 0;
}

UNIT_API uint32_t Kernel_GetMapping(size_t bytes, char *text, uint32_t *is_file)
{
	int rc = unit_attach();
	const char *mapping;

	if (rc)
		return (uint32_t)rc;
	mapping = mu_mapping();
	if (!text || !is_file || strlen(mapping) >= bytes)
		return EINVAL;
	memcpy(text, mapping, strlen(mapping) + 1);
	*is_file = strlen(mapping) != 6 || strspn(mapping, "ABCDET") != 6;
	return 0;
}

/* ---- hardware threads ---- */

UNIT_API uint32_t Kernel_ProcessorID(void)
{
	static atomic_u32 next;
	static __thread uint32_t mine; /* + 1 */
	uint32_t count = Kernel_ProcessorCount();

	if (!mine)
		mine = (getpid() == gettid() ? 0 : 1 + atomic_fetch_add_relaxed(&next, 1)) + 1;
	return Kernel_MyTcoord() * count + (mine - 1) % (count ? count : 1);
}

UNIT_API uint32_t Kernel_ProcessorCoreID(void)
{
	return Kernel_ProcessorID() / 4;
}

UNIT_API uint32_t Kernel_ProcessorThreadID(void)
{
	return Kernel_ProcessorID() % 4;
}

UNIT_API uint32_t Kernel_PhysicalProcessorID(void)
{
	return Kernel_ProcessorCoreID();
}

UNIT_API uint32_t Kernel_PhysicalHWThreadID(void)
{
	return Kernel_ProcessorThreadID();
}

UNIT_API uint32_t Kernel_PhysicalHWThreadIndex(void)
{
	return Kernel_ProcessorID();
}

UNIT_API uint32_t Kernel_BlockThreadId(void)
{
	return unit_attach() ? 0 : unit.job->node * 68 + Kernel_ProcessorID();
}

UNIT_API uint64_t Kernel_ThreadMask(uint32_t t)
{
	uint32_t count = Kernel_ProcessorCount(), first = t * count;
	uint64_t mask = 0;

	for (uint32_t i = first; i < first + count && i < 64; i++)
		mask |= _BN(i);
	return mask;
}

/* ---- one register of the network ---- */

UNIT_API uint64_t quintorus_mu_cut_offs(void)
{
	static const unsigned last[2][EMU_DIMS] = {{7, 13, 19, 25, 31}, {39, 45, 51, 57, 63}};
	struct emu_coord x;
	uint64_t all = 0;
	unsigned sum = 0;

	if (unit_attach())
		return 0;
	x = unit.job->coord;
	for (int d = 0; d < EMU_DIMS; d++)
		sum += x.c[d];
	for (int d = 0; d < EMU_DIMS; d++) {
		int n = unit.job->shape.n[d], a = n / 2, b = a ? a - 1 : 0, c = x.c[d];
		int plus = c + (sum & 1 ? b : a), minus = c - (sum & 1 ? a : b);

		if (unit.job->shape.mesh >> d & 1) {
			plus = n - 1;
			minus = 0;
		}
		plus = plus > n - 1 ? n - 1 : plus;
		minus = minus < 0 ? 0 : minus;
		all |= (uint64_t)plus << (63 - last[0][d]) | (uint64_t)minus << (63 - last[1][d]);
	}
	return all;
}
