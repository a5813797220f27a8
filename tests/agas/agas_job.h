/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs of tests/agas share. They are run as jobs by pami_job.sh. */
#ifndef TESTS_AGAS_JOB_H
#define TESTS_AGAS_JOB_H

#include <agas.h>
#include <agas_hpx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"

static int me, ranks;
static size_t page;
static struct drv_rng rng;

#define CHECK_WHO "rank %d", me
#include "tests/harness/check_count.h"

/* Collective, as job_bcast below. */
static inline void job_begin(void)
{
	const char *seed = getenv("QT_SEED");

	setvbuf(stderr, NULL, _IOLBF, 0);
	if (agas_init(NULL, NULL)) {
		fprintf(stderr, "agas_init failed\n");
		exit(1);
	}
	me = agas_pe();
	ranks = agas_npes();
	page = agas_page_size();
	drv_rng_seed(&rng, (seed ? strtoull(seed, NULL, 0) : 1) * 1000 + (uint64_t)me);
}

static inline int job_end(void)
{
	agas_barrier();
	agas_fini();
	return check_failures != 0;
}

/* The value of rank 0, at all ranks: through a page that all map together. */
static inline uint64_t job_bcast(uint64_t value)
{
	gva_t at = agas_map_all(page, AGAS_CYCLIC);
	uint64_t got = 0;

	if (me == 0)
		CHECK_EQ(agas_put(at, &value, sizeof(value)), 0);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&got, at, sizeof(got)), 0);
	CHECK_EQ(agas_barrier(), 0);
	if (me == 0)
		CHECK_EQ(agas_unmap(at, page), 0);
	CHECK_EQ(agas_barrier(), 0);
	return got;
}

#endif
