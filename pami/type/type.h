/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types are lists of pieces. These functions build types and move bytes between layouts.
 *
 * A piece is a small vector: `count` runs of `bytes` bytes, `stride` apart. `start` is the payload
 * offset of its first byte in one instance of the type. A complete type never changes, so any
 * number of threads may use it.
 */
#ifndef PAMI_TYPE_H
#define PAMI_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "pami/core/handle.h"
#include "pami/pami.h"

/* The predefined types, in the order of pami.h. */
enum pami_element {
	PAMI_ELEMENT_BYTE,
	PAMI_ELEMENT_SCHAR,
	PAMI_ELEMENT_UCHAR,
	PAMI_ELEMENT_SHORT,
	PAMI_ELEMENT_USHORT,
	PAMI_ELEMENT_INT,
	PAMI_ELEMENT_UINT,
	PAMI_ELEMENT_LONG,
	PAMI_ELEMENT_ULONG,
	PAMI_ELEMENT_LLONG,
	PAMI_ELEMENT_ULLONG,
	PAMI_ELEMENT_FLOAT,
	PAMI_ELEMENT_DOUBLE,
	PAMI_ELEMENT_LDOUBLE,
	PAMI_ELEMENT_LOGICAL1,
	PAMI_ELEMENT_LOGICAL2,
	PAMI_ELEMENT_LOGICAL4,
	PAMI_ELEMENT_LOGICAL8,
	PAMI_ELEMENT_CFLOAT,
	PAMI_ELEMENT_CDOUBLE,
	PAMI_ELEMENT_LOC_2INT,
	PAMI_ELEMENT_LOC_2FLOAT,
	PAMI_ELEMENT_LOC_2DOUBLE,
	PAMI_ELEMENT_LOC_SHORT_INT,
	PAMI_ELEMENT_LOC_FLOAT_INT,
	PAMI_ELEMENT_LOC_DOUBLE_INT,
	PAMI_ELEMENT_LOC_LONG_INT,
	PAMI_ELEMENT_LOC_LDOUBLE_INT,
	PAMI_ELEMENTS,
	PAMI_ELEMENT_NONE = 255 /* pieces of bytes, or of several types */
};

struct pami_type_piece {
	size_t disp, bytes, count, stride, start;
};

#define PAMI_TYPE_MAGIC 0x51545950u
#define PAMI_ATOM_MAX   128

struct pami_type {
	uint32_t magic;
	atomic_u32 refs; /* predefined types have no count */
	uint8_t complete, contiguous, predefined, element;
	size_t atom;
	size_t divisor; /* greatest common divisor of all piece lengths */
	size_t data_size, extent;
	size_t pieces, room;
	struct pami_type_piece *piece;
	ATOMIC(struct pami_type_image *) image; /* pami_type_image() makes it once; NULL: not yet */
	intptr_t lo, hi; /* the bytes of one instance lie in [lo, hi); unset if contiguous */
};

extern struct pami_type pami_type_predefined[PAMI_ELEMENTS];
#define PAMI_BYTES ((pami_type_t)&pami_type_predefined[PAMI_ELEMENT_BYTE])

/* Does the handle name a type, complete or not? The handle may be anything. */
static inline bool pami_type_is_valid(pami_type_t t)
{
	uintptr_t at = (uintptr_t)t - (uintptr_t)pami_type_predefined;

	if (at >= sizeof pami_type_predefined)
		return pami_handle_is_known(PAMI_HANDLE_TYPE, t) &&
		       ((struct pami_type *)t)->magic == PAMI_TYPE_MAGIC;
	return at % sizeof pami_type_predefined[0] == 0;
}

/* Is it a complete type of this process? */
static inline bool pami_type_is_usable(pami_type_t t)
{
	return pami_type_is_valid(t) && ((struct pami_type *)t)->complete;
}

/* Are instances, however many, one run of bytes? */
static inline bool pami_type_is_contiguous(pami_type_t t)
{
	return ((struct pami_type *)t)->contiguous;
}

/* Is it usable, and can so many payload bytes lie in it? A type without data holds 0 bytes. */
static inline bool pami_type_can_hold(pami_type_t t, size_t bytes)
{
	return pami_type_is_usable(t) && (!bytes || ((struct pami_type *)t)->data_size);
}

/* All pieces are there: compute the other fields, and make the type complete. */
void pami_type_freeze(struct pami_type *t);

/* The flat image of a complete type; it belongs to the type. 0 or -ENOMEM. */
int pami_type_image(pami_type_t t, void **address, size_t *size);
/* A new complete type from an image, which is not trusted. 0, -ENOMEM or -EINVAL. */
int pami_type_from_image(pami_type_t *t, const void *address, size_t size);

void pami_type_retain(pami_type_t t);
void pami_type_release(pami_type_t t);

/* A position in a layout, which repeats instances of t. */
struct pami_cursor {
	const struct pami_type *t;
	uintptr_t instance; /* address of the current instance; displacements wrap */
	size_t piece, run;  /* in the instance */
	size_t byte;        /* in the run */
};

/* Start `offset` payload bytes behind the layout's base. */
void pami_cursor_start(struct pami_cursor *c, pami_type_t t, void *base, size_t offset);
/* How many bytes of the current run are left, at address *at. 0 only for types without data. */
size_t pami_cursor_run(const struct pami_cursor *c, char **at);
/* Advance by n bytes, at most to the end of the run. */
void pami_cursor_move(struct pami_cursor *c, size_t n);

/* Apply fn between a contiguous stream and a layout: into the layout (scatter), or into the stream
 * (gather). */
void pami_type_scatter(pami_type_t t, void *base, size_t offset, const void *from, size_t bytes,
		       pami_data_function fn, void *cookie);
void pami_type_gather(pami_type_t t, const void *base, size_t offset, void *to, size_t bytes,
		      pami_data_function fn, void *cookie);

/* Check that all of the payload bytes in that layout can be read (write: written). 0 or -EFAULT. */
int pami_type_check_memory(pami_type_t t, const void *base, size_t bytes, int write);

/*
 * Do `bytes` payload bytes in that layout, which can hold them, lie between `before` bytes ahead of
 * its base and `room` bytes behind it?
 */
bool pami_type_is_within(pami_type_t t, size_t bytes, size_t before, size_t room);

/* target = target op source, over whole elements. A predefined function needs an element that it is
 * defined for. */
void pami_data_apply(pami_data_function fn, unsigned element, void *target, const void *source,
		     size_t bytes, void *cookie);
/* Is fn defined for this element? User functions are, for all. */
bool pami_data_is_valid(pami_data_function fn, unsigned element);

void pami_data_copy(void *target, void *source, size_t bytes, void *cookie);
void pami_data_noop(void *target, void *source, size_t bytes, void *cookie);

#endif
