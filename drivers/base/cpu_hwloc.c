/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Module: the order of processors by hwloc, so that each share of a machine is close to its memory.
 */
#include <hwloc.h>
#include <unistd.h>

#include "drivers/base/cpu.h"

__attribute__((visibility("default"))) unsigned drv_cpu_order(unsigned *os_index, unsigned max);

unsigned drv_cpu_order(unsigned *os_index, unsigned max)
{
	hwloc_topology_t t;
	hwloc_bitmap_t may = hwloc_bitmap_alloc();
	hwloc_obj_t pu = NULL;
	unsigned n = 0;

	if (!may || hwloc_topology_init(&t))
		goto out_bitmap;
	if (hwloc_topology_load(t))
		goto out_topology;
	if (hwloc_get_proc_cpubind(t, getpid(), may, HWLOC_CPUBIND_THREAD))
		hwloc_bitmap_copy(may, hwloc_topology_get_allowed_cpuset(t));
	while ((pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu)) && n < max)
		if (hwloc_bitmap_isset(may, pu->os_index))
			os_index[n++] = pu->os_index;
out_topology:
	hwloc_topology_destroy(t);
out_bitmap:
	hwloc_bitmap_free(may);
	return n;
}
