/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics of the messaging unit with operands: an extension of the chip (docs/hardware.md 5.1).
 *
 * An atomic descriptor travels in a remote get, as the put back of a get does. The target's engine
 * carries the operation out once, which turns the descriptor in its FIFO into that of the answer:
 *
 *                          before                          after
 *   Half_Word1.Unused2     mark, operation, bytes          0
 *   Pa_Payload             address of the word             0
 *   Message_Length         operand                         0: the answer has no payload
 *   software bytes         struct mu_internal_value:       the same:
 *                          value to compare with           old value, errno
 *
 * Pure functions, and one on memory of this process.
 */
#ifndef MU_HW_ATOMIC_H
#define MU_HW_ATOMIC_H

#include <stdbool.h>

#include "drivers/base/atomic.h"
#include "mu/hw/desc.h"

/* The new value of a word; all but MU_ATOMIC_LOAD write it. Numbers are unsigned. */
enum mu_atomic_op {
	MU_ATOMIC_LOAD,
	MU_ATOMIC_SET,
	MU_ATOMIC_ADD,
	MU_ATOMIC_OR,
	MU_ATOMIC_AND,
	MU_ATOMIC_XOR,
	MU_ATOMIC_MIN,
	MU_ATOMIC_MAX,
	MU_ATOMIC_COMPARE = 8 /* bit: only if the old value equals the one to compare with */
};

/* Which of them the machine has: row mu_atomics of emu/machine.def. */
enum mu_atomic_level { MU_ATOMICS_OFF, MU_ATOMICS_CHIP, MU_ATOMICS_FULL };

struct mu_atomic {
	uint8_t op;    /* enum mu_atomic_op */
	uint8_t bytes; /* 4 or 8 */
	bool fetch;    /* the caller wants the old value */
	uint64_t address;
	uint64_t value, test;
};

#define MU_ATOMIC_MARK 0x40000000u

static inline bool mu_desc_is_atomic(const MUHWI_Descriptor_t *d)
{
	return __builtin_expect((d->Half_Word1.Half_Word1 & MU_ATOMIC_MARK) != 0, 0);
}

/* Mark a descriptor. The caller has built the answer's header. */
static inline void mu_desc_set_atomic(MUHWI_Descriptor_t *d, const struct mu_atomic *a)
{
	d->Half_Word1.Half_Word1 = MU_ATOMIC_MARK | (uint32_t)a->bytes << 16 | (uint32_t)a->op << 8;
	d->Pa_Payload = a->address;
	d->Message_Length = a->value;
}

/* Read it back, but for `test`. Returns false if it names no operation on an aligned word. */
static inline bool mu_desc_get_atomic(const MUHWI_Descriptor_t *d, struct mu_atomic *a)
{
	uint32_t word = d->Half_Word1.Half_Word1;

	*a = (struct mu_atomic){.op = (uint8_t)(word >> 8),
				.bytes = (uint8_t)(word >> 16),
				.address = d->Pa_Payload,
				.value = d->Message_Length};
	return a->op < 16 && (a->bytes == 4 || a->bytes == 8) && a->address % a->bytes == 0;
}

/* The word after the operation; *writes: the word is written. 32 bits lie in the lower half. */
static inline uint64_t mu_atomic_next(const struct mu_atomic *a, uint64_t old, bool *writes)
{
	uint64_t mask = a->bytes == 4 ? UINT32_MAX : UINT64_MAX, value = a->value & mask;

	*writes = a->op != MU_ATOMIC_LOAD;
	if ((a->op & MU_ATOMIC_COMPARE) && old != (a->test & mask)) {
		*writes = false;
		return old;
	}
	switch (a->op & (MU_ATOMIC_COMPARE - 1)) {
	case MU_ATOMIC_SET:
		return value;
	case MU_ATOMIC_ADD:
		return (old + value) & mask;
	case MU_ATOMIC_OR:
		return old | value;
	case MU_ATOMIC_AND:
		return old & value;
	case MU_ATOMIC_XOR:
		return old ^ value;
	case MU_ATOMIC_MIN:
		return value < old ? value : old;
	case MU_ATOMIC_MAX:
		return value > old ? value : old;
	default:
		return old;
	}
}

#define MU_ATOMIC_APPLY(type)                                                                      \
	static inline uint64_t mu_atomic_apply_##type(const struct mu_atomic *a, type *at)         \
	{                                                                                          \
		type old, next;                                                                    \
		bool writes;                                                                       \
                                                                                                   \
		if (__builtin_expect(a->op == MU_ATOMIC_ADD, 1))                                   \
			return atomic_fetch_add_acq_rel(at, (type)a->value);                       \
		old = atomic_load_acquire(at);                                                     \
		do                                                                                 \
			next = (type)mu_atomic_next(a, old, &writes);                              \
		while (writes && !atomic_cas_acq_rel(at, &old, next));                             \
		return old;                                                                        \
	}
MU_ATOMIC_APPLY(uint32_t)
MU_ATOMIC_APPLY(uint64_t)

/* Carry it out by the processor's atomics on an aligned word of this process; the old value. */
static inline uint64_t mu_atomic_apply(const struct mu_atomic *a, void *at)
{
	return a->bytes == 4 ? mu_atomic_apply_uint32_t(a, at) : mu_atomic_apply_uint64_t(a, at);
}

/*
 * Does the machine have the operation? The chip's L2 has on 64 bits: load, increment and decrement
 * that return the old value; store, add, or and exclusive or that return nothing.
 */
static inline bool mu_atomic_is_offered(enum mu_atomic_level level, const struct mu_atomic *a)
{
	if (level != MU_ATOMICS_CHIP)
		return level == MU_ATOMICS_FULL;
	if (a->bytes != 8 || a->op == MU_ATOMIC_AND || a->op == MU_ATOMIC_MIN ||
	    a->op > MU_ATOMIC_MAX)
		return false;
	return !a->fetch || a->op == MU_ATOMIC_LOAD ||
	       (a->op == MU_ATOMIC_ADD && (a->value == 1 || a->value == UINT64_MAX));
}

#endif
