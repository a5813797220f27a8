/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of qlimits share. */
#ifndef BENCH_QLIMITS_H
#define BENCH_QLIMITS_H

#include "bench/bench.h"

enum { LIMIT_REPETITIONS = 7, LIMIT_HOSTS_REPETITIONS = 21 };

/* Nothing on several cores; yields where there is only one. */
void limit_relax(void);
/* Print the median of the repetitions as a row, and free them. */
void limit_out(const char *variant, size_t bytes, const char *unit, struct bench_samples *s);

/* The exit status. self, peer: files; serve: answer instead of measuring. */
int limit_port(const char *spec, const char *self, const char *peer, int serve);
/* The exit status. address: IPv4 of the one that serves, with or without a port. */
int limit_udp(const char *address, int serve);

#endif
