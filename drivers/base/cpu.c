/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "drivers/base/module.h"
#include "drivers/base/settings.h"

/*
 * Return the processors in the order of hwloc, or 0 if its module is absent. The first commthread
 * loads the module, so a program without commthreads never loads it.
 */
static unsigned order_hwloc(unsigned *cpu, unsigned max)
{
	char why[512];
	void *fn = drv_module_symbol("cpu_hwloc", QUINTORUS_BUILD_MODULES, "drv_cpu_order", why,
				     sizeof why);

	return fn ? ((drv_cpu_order_fn)fn)(cpu, max) : 0;
}

/* Return the processors that this process may use. If cpu is NULL, only count them. */
static unsigned order_plain(unsigned *cpu, unsigned max)
{
	cpu_set_t set;
	unsigned n = 0;

	if (sched_getaffinity(getpid(), sizeof set, &set))
		return 0;
	for (unsigned i = 0; i < CPU_SETSIZE && n < max; i++)
		if (CPU_ISSET(i, &set)) {
			if (cpu)
				cpu[n] = i;
			n++;
		}
	return n;
}

static unsigned cpu_order[DRV_CPU_MAX], cpus;

static void order_once(void)
{
	cpus = order_hwloc(cpu_order, DRV_CPU_MAX);
	if (!cpus)
		cpus = order_plain(cpu_order, DRV_CPU_MAX);
}

void drv_cpu_bind_service(unsigned share, unsigned shares, unsigned number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned share_cpus, first;
	cpu_set_t set;

	if (!drv_setting_flag(DRV_QUINTORUS_BIND))
		return;
	/* Check whether there is a choice before asking hwloc, which takes tens of milliseconds. */
	if (shares && order_plain(NULL, DRV_CPU_MAX) / shares < 2)
		return;
	pthread_once(&once, order_once);
	share_cpus = shares ? cpus / shares : cpus;
	if (share_cpus < 2 || share >= shares)
		return;
	first = share * share_cpus;
	CPU_ZERO(&set);
	/* The first processor of a share is left to the program. */
	CPU_SET(cpu_order[first + share_cpus - 1 - number % (share_cpus - 1)], &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set))
		drv_warn("commthread %u: cannot be bound to processor %u; QUINTORUS_BIND=off does "
			 "not try",
			 number, cpu_order[first + share_cpus - 1 - number % (share_cpus - 1)]);
}

unsigned drv_count_threads(int task_directory)
{
	struct stat st;
	int failed = task_directory < 0 ? stat("/proc/self/task", &st) : fstat(task_directory, &st);

	/* The directory has two links and one for each thread. */
	return failed || st.st_nlink < 3 ? 0 : (unsigned)st.st_nlink - 2;
}
