/* SPDX-License-Identifier: BSD-3-Clause */
/* PAMI without ARMCI between the same two processes, in the same memory, for comparison. */
#ifndef BENCH_ARMCI_RAW_H
#define BENCH_ARMCI_RAW_H

#include "bench/armci_job.h"

struct araw;

/* Collective. local: memory of this process. */
struct araw *araw_open(struct abench *a, void *local, size_t bytes);
void araw_close(struct araw *r);
/*
 * Set how the peer waits: in a call of ARMCI (as in a barrier), or by polling PAMI alone. Process 0
 * calls araw_set_peer_mode(), which returns when the peer waits so. The peer calls araw_serve(),
 * which returns after ARAW_END.
 */
enum araw_mode { ARAW_ARMCI, ARAW_PAMI, ARAW_END };
void araw_serve(struct araw *r);
void araw_set_peer_mode(struct araw *r, enum araw_mode mode);
/* Fetch-and-add on the first word of the peer, one operation at a time. */
void araw_add(struct araw *r, long count);
/* Run `count` operations, `window` in flight. put: wait until they are in place. */
void araw_run(struct araw *r, bool put, size_t bytes, long count, unsigned window);

#endif
