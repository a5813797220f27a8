/* SPDX-License-Identifier: BSD-3-Clause */
/* Where threads of the library's own run: bound with hwloc where its module loads, else without. */
#ifndef DRIVERS_BASE_CPU_H
#define DRIVERS_BASE_CPU_H

/*
 * Bind the calling thread, service thread `number` of the process that is `share` of `shares` on this
 * machine: the processors this process may use are divided among them in the machine's order (cores of a
 * NUMA node side by side), and service threads take a share's last processor, the one before it ...,
 * while the program's own start with the first. Not bound: where a share is a single processor, or with
 * QUINTORUS_BIND=off.
 */
void drv_cpu_bind_service(unsigned share, unsigned shares, unsigned number);

/* The module (cpu_hwloc.c): processors the process may use in the machine's order; how many. */
#define DRV_CPU_MAX 1024
typedef unsigned (*drv_cpu_order_fn)(unsigned *os_index, unsigned max);

#endif
