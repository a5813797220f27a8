/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies that survive bad addresses. All return 0, -EFAULT (a page is not there), -EPERM (the
 * kernel refuses access to the other process), -ENOMEM or -ESHUTDOWN (the other process has ended).
 */
#ifndef MU_ENGINE_MEMORY_H
#define MU_ENGINE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "mu/process.h"

/*
 * May own memory that another task named be read directly? 1: yes; 0: only by mu_copy_in();
 * -EFAULT: some is not there. range: NULL, or what was checked so far.
 */
int mu_check_in(struct mu_process *p, uint64_t from_va, uint64_t bytes,
		struct mu_checked_range *range);
/* Read it. */
int mu_copy_in(struct mu_process *p, void *to, uint64_t from_va, uint64_t bytes,
	       struct mu_checked_range *range);
/* Write own memory that another task named. range: as above. */
int mu_copy_out(struct mu_process *p, uint64_t to_va, const void *from, uint64_t bytes,
		struct mu_checked_range *range);
/* The program is about to run, or has run: what was checked may be gone. */
static inline void mu_forget_checks(struct mu_checked_range *range)
{
	range->asked = 0;
	range->is_writable = range->is_odd = false;
}
/* Write own memory that our own caller named: not checked, as memcpy() would not. */
int mu_copy_own(uint64_t to_va, const void *from, uint64_t bytes);
/* Write and read memory of another task of this host. */
int mu_copy_to(struct mu_process *p, uint32_t local, uint64_t to_va, const void *from,
	       uint64_t bytes);
int mu_copy_from(struct mu_process *p, uint32_t local, void *to, uint64_t from_va, uint64_t bytes);
/* The same by process_vm_readv() or process_vm_writev(), of the memory of any process. */
int mu_copy_by_kernel(pid_t pid, void *mine, uint64_t theirs, uint64_t bytes, bool write);
/* Close what the copies keep open. No copy runs any more. */
void mu_copy_cleanup(void);

/* Subtract from a reception counter in own memory. Other addresses are ignored. */
void mu_counter_sub(struct mu_process *p, uint64_t counter, uint64_t bytes);

/* share.c: as mu_copy_to() (put) or mu_copy_from(). The other task helps if it polls `channel`. */
int mu_share_copy(struct mu_channel *ch, uint32_t task, unsigned channel, void *mine,
		  uint64_t theirs, uint64_t bytes, int put);
void mu_share_take_chunk(struct mu_channel *ch);

/* Is [va, va + bytes) inside this process's mapping of the segment, which is safe to touch? */
static inline bool mu_is_in_segment(const struct mu_process *p, uint64_t va, uint64_t bytes)
{
	uint64_t off = va - (uint64_t)(uintptr_t)p->host;

	return off < p->host->bytes && mu_host_is_mapped(p->host, off, bytes);
}

/* Is it inside the mapping of the arenas? Puts may go there, and not to the rest of the segment. */
static inline bool mu_is_in_arenas(const struct mu_process *p, uint64_t va, uint64_t bytes)
{
	return va >= (uint64_t)(uintptr_t)p->host + mu_host_arenas_at(p->host) &&
	       mu_is_in_segment(p, va, bytes);
}

/* process_vm_readv() and process_vm_writev() between tasks are not permitted here. */
static inline int mu_is_cma_refused(const struct mu_process *p)
{
	return atomic_load_relaxed(&p->cma_refused);
}

/*
 * Does this process copy from and to private memory of the task itself? Until a near task has
 * attached, what it is sent goes through its ring, as to other tasks. If that was a put, all that
 * follows goes there too: a get or flush carried out here could pass it.
 */
static inline bool mu_is_copied_directly(const struct mu_process *p, uint32_t task)
{
	return p->near[task] && !mu_is_cma_refused(p) &&
	       mu_host_has_attached(p->host, p->entry[task].local) &&
	       !atomic_load_relaxed(&p->puts_by_ring[task]);
}
static inline void mu_cma_set_refused(struct mu_process *p)
{
	atomic_store_relaxed(&p->cma_refused, 1);
}

#endif
