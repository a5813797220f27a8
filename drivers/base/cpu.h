/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of processors for the threads of the library. hwloc gives the order of processors if
 * its module loads.
 */
#ifndef DRIVERS_BASE_CPU_H
#define DRIVERS_BASE_CPU_H

/*
 * Bind the calling thread to a processor. It is service thread `number` of process `share` of
 * `shares` on this machine. The processors that this process may use are divided among the
 * processes in the order of the machine (cores of a NUMA node side by side). Service threads take
 * the last processor of a share, then the one before it, and so on; the threads of the program
 * start with the first. The call does nothing if a share is a single processor, or with
 * QUINTORUS_BIND=off.
 */
void drv_cpu_bind_service(unsigned share, unsigned shares, unsigned number);

/*
 * How many threads does this process have? 0: /proc does not tell. task_directory: a descriptor of
 * /proc/self/task, with which the call takes 0.3 us, or -1 (1.4 us). Any thread.
 */
unsigned drv_count_threads(int task_directory);

/*
 * The entry of the module (cpu_hwloc.c): writes the processors that the process may use, in the
 * order of the machine, and returns their number.
 */
#define DRV_CPU_MAX 1024
typedef unsigned (*drv_cpu_order_fn)(unsigned *os_index, unsigned max);

#endif
