/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "mu/engine/known_memory.h"

#include <string.h>
#include <sys/mman.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/cpu.h"
#include "drivers/base/settings.h"
#include "mu/process.h"

#define PAGE     4096ull
#define MOST_NS  200 /* out of the library within a run, however slow unmapping is */
#define MEASURED 16
#define WAIT_NS  10000000 /* after other threads were found */

_Thread_local struct mu_known mu_known __attribute__((tls_model("initial-exec")));

/* The fastest of a few. Pages that were touched take longer. */
static uint64_t measure_unmapping(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < MEASURED; i++) {
		void *page =
		    mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t begun = drv_clock_fast_ns(), took;

		if (page == MAP_FAILED)
			return 0;
		munmap(page, PAGE);
		took = drv_clock_fast_ns() - begun;
		best = took < best ? took : best;
	}
	return best;
}

void mu_known_prepare(void)
{
	memset(&mu_known, 0, sizeof mu_known);
	mu_known.is_sole = drv_count_threads(-1) == 1;
}

void mu_known_start(struct mu_process *p)
{
	uint64_t fastest, most;

	mu_known.is_sole = mu_known.is_sole && p->clock->reports_access_errors &&
			   drv_setting_choice(DRV_QUINTORUS_MEMORY_CHECK) == MU_MEMORY_AUTO;
	p->own_threads = mu_known.is_sole ? drv_count_threads(-1) : 0;
	if (!mu_known.is_sole)
		return;
	fastest = measure_unmapping();
	/* The way of a signal there and back takes about as long as unmapping does; half of that
	 * leaves room. */
	mu_known.least_ns = fastest + fastest / 2;
	most = fastest / 4;
	mu_known.most_ns = most < MOST_NS ? most : MOST_NS;
}

void mu_known_stop(void)
{
	memset(&mu_known, 0, sizeof mu_known);
}

void mu_known_share(void)
{
	mu_known.is_inside = false;
	mu_known.left = 0;
}

/* Does no thread but this one run functions of the program? */
static bool is_alone(const struct mu_process *p)
{
	return p->own_threads && drv_count_threads(-1) == p->own_threads &&
	       !atomic_load_relaxed(&p->comm.count);
}

static void remember(uint64_t from, uint64_t to, bool is_writable)
{
	unsigned i;

	for (i = 0; i < mu_known.count; i++) /* it may have been found to be readable only */
		if (mu_known.range[i].from == from && mu_known.range[i].to == to)
			break;
	if (i == mu_known.count) {
		if (mu_known.count < MU_KNOWN_RANGES)
			i = mu_known.count++;
		else
			i = mu_known.next++ % MU_KNOWN_RANGES;
	}
	mu_known.range[i].from = from;
	mu_known.range[i].to = to;
	mu_known.range[i].is_writable = is_writable;
}

void mu_learn_memory(uint64_t from, uint64_t to, bool is_writable)
{
	if (!mu_known.is_sole || !mu_polled_channel) /* only polls are watched */
		return;
	if (!mu_known.is_inside) {
		mu_known.is_watched = true;
		mu_known.asked = drv_clock_fast_ns();
		return;
	}
	mu_known.asked = mu_known.entered;
	if ((int64_t)(mu_known.entered - mu_known.since) < MU_KNOWN_RUN_NS)
		return;
	if (!mu_known.is_alone && !(mu_known.is_alone = is_alone(&mu_self))) {
		mu_known.since = mu_known.entered + WAIT_NS;
		return;
	}
	remember(from, to, is_writable);
}
