/* SPDX-License-Identifier: BSD-3-Clause */
/* Accumulate: its arithmetic, and the locks that make it atomic. */
#ifndef ARMCI_ACC_H
#define ARMCI_ACC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/base/atomic.h"

struct armci_req;
struct armci_seg;
struct armci_shape;

struct armci_acc {
	int op; /* ARMCI_ACC_ code */
	unsigned char scale[16];
};

/* The name of this process in locks, and how to ask whether the process that holds one has died. */
void armci_spin_set_holder(int me, bool (*is_dead)(int proc));
/* Spin locks in memory that processes share. A lock that a dead process holds is taken over. */
void armci_spin_lock(atomic_u32 *lock);
void armci_spin_unlock(atomic_u32 *lock);

/* Choose the loops by enum armci_simd; false: this processor lacks those instructions. */
bool armci_acc_choose(int simd);
/* The chosen loops: "plain", "avx2" or "avx512". */
const char *armci_acc_name(void);
/* Bytes of an element; 0 for an unknown op. */
size_t armci_acc_element_bytes(int op);
/* Returns false if op is unknown, or needs a scale and `scale` is NULL. */
bool armci_acc_set(struct armci_acc *acc, int op, const void *scale);
/* dst += scale * src without locks. bytes is a multiple of the element; any alignment. */
void armci_acc_plain(const struct armci_acc *acc, char *dst, const char *src, size_t bytes);
/*
 * As armci_acc_plain(), each element atomic against all other accumulates. va is the owner's
 * address of dst, stripes are the owner's locks.
 */
void armci_acc_locked(const struct armci_acc *acc, atomic_u32 *stripes, char *dst, uintptr_t va,
		      const char *src, size_t bytes);
/*
 * transfer/acc_source.c: accumulate by get, add and put. The caller holds the owner's mutex.
 * Complete at the target on return. 0 or FAIL6.
 */
int armci_acc_source_shape(const struct armci_acc *acc, const struct armci_shape *s,
			   struct armci_seg *seg, int proc);

#endif
