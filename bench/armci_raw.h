/* SPDX-License-Identifier: BSD-3-Clause */
/* PAMI without ARMCI between the same two processes and pieces of memory, for the column beside ours. */
#ifndef BENCH_ARMCI_RAW_H
#define BENCH_ARMCI_RAW_H

#include "bench/armci_job.h"

struct araw;

/* Collective. at: memory of the peer as ARMCI_Malloc gave it to *it*, local: memory of mine. */
struct araw *araw_open(struct abench *a, void *local, size_t bytes);
void araw_close(struct araw *r);
/*
 * The partner waits in a call of ARMCI (as in a barrier) or polls PAMI alone, as process 0 says: returns
 * when that says ARAW_END. Process 0's call returns when the partner does so.
 */
enum araw_mode { ARAW_ARMCI, ARAW_PAMI, ARAW_END };
void araw_serve(struct araw *r);
void araw_partner(struct araw *r, enum araw_mode mode);
/* Fetch-and-add on the peer's first word, one at a time. */
void araw_add(struct araw *r, long count);
/* window operations at a time until `count` are done; put: until they are in place. */
void araw_run(struct araw *r, bool put, size_t bytes, long count, unsigned window);

#endif
