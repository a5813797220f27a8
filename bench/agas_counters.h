/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters that the benches of AGAS print with each run. */
#ifndef BENCH_AGAS_COUNTERS_H
#define BENCH_AGAS_COUNTERS_H

#include <agas.h>

/* Print the counters of this rank that are not 0 as one line. */
void bench_agas_print_counters(const struct agas_stats *s);
/*
 * Print what the network's directory has counted since the job began as one line: the sum of all
 * routers and messaging units. Prints nothing where software has the directory. One rank calls it.
 */
void bench_agas_print_network(void);

#endif
