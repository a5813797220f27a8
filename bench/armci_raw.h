/* SPDX-License-Identifier: BSD-3-Clause */
/* PAMI without ARMCI between the same two processes and pieces of memory, for the column beside ours. */
#ifndef BENCH_ARMCI_RAW_H
#define BENCH_ARMCI_RAW_H

#include "bench/armci_job.h"

struct araw;

/* Collective. at: memory of the peer as ARMCI_Malloc gave it to *it*, local: memory of mine. */
struct araw *araw_open(struct abench *a, void *local, size_t bytes);
void araw_close(struct araw *r);
/* The partner: polls PAMI until process 0 says that it is enough. */
void araw_serve(struct araw *r);
void araw_release(struct araw *r);
/* window operations at a time until `count` are done; put: until they are in place. */
void araw_run(struct araw *r, bool put, size_t bytes, long count, unsigned window);

#endif
