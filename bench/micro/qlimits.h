/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that the parts of qlimits share. */
#ifndef BENCH_QLIMITS_H
#define BENCH_QLIMITS_H

#include "bench/bench.h"

enum { LIMIT_REPETITIONS = 7, LIMIT_HOSTS_REPETITIONS = 21 };

/* Yield the processor if there is only one core; otherwise return at once. */
void limit_relax(void);
/* Print the median of the repetitions as a row, and free them. */
void limit_out(const char *variant, size_t bytes, const char *unit, struct bench_samples *s);

/* Returns the exit status. self, peer: files; serve: answer instead of measuring. */
int limit_port(const char *spec, const char *self, const char *peer, int serve);
/* Returns the exit status. address: IPv4 of the serving side, with or without a port. */
int limit_udp(const char *address, int serve);

#endif
