/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types: lists of pieces, and moving bytes between layouts. Source: spec pami.md section 13.
 *
 * A piece is a small vector: `count` runs of `bytes` bytes, `stride` apart. `start` is the payload
 * offset of its first byte in one instance of the type. Complete types never change, so any number
 * of threads may use one.
 */
#ifndef PAMI_TYPE_H
#define PAMI_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include "pami/pami.h"

/* The predefined types, in the order of pami.h. */
enum pami_element {
	PAMI_ELEMENT_BYTE, PAMI_ELEMENT_SCHAR, PAMI_ELEMENT_UCHAR, PAMI_ELEMENT_SHORT,
	PAMI_ELEMENT_USHORT, PAMI_ELEMENT_INT, PAMI_ELEMENT_UINT, PAMI_ELEMENT_LONG, PAMI_ELEMENT_ULONG,
	PAMI_ELEMENT_LLONG, PAMI_ELEMENT_ULLONG, PAMI_ELEMENT_FLOAT, PAMI_ELEMENT_DOUBLE,
	PAMI_ELEMENT_LDOUBLE, PAMI_ELEMENT_LOGICAL1, PAMI_ELEMENT_LOGICAL2, PAMI_ELEMENT_LOGICAL4,
	PAMI_ELEMENT_LOGICAL8, PAMI_ELEMENT_CFLOAT, PAMI_ELEMENT_CDOUBLE, PAMI_ELEMENT_LOC_2INT,
	PAMI_ELEMENT_LOC_2FLOAT, PAMI_ELEMENT_LOC_2DOUBLE, PAMI_ELEMENT_LOC_SHORT_INT,
	PAMI_ELEMENT_LOC_FLOAT_INT, PAMI_ELEMENT_LOC_DOUBLE_INT, PAMI_ELEMENT_LOC_LONG_INT,
	PAMI_ELEMENT_LOC_LDOUBLE_INT, PAMI_ELEMENTS,
	PAMI_ELEMENT_NONE = 255 /* pieces of bytes, or of several types */
};

struct pami_type_piece {
	size_t disp, bytes, count, stride, start;
};

#define PAMI_TYPE_MAGIC 0x51545950u
#define PAMI_ATOM_MAX   128

struct pami_type {
	uint32_t magic;
	uint32_t refs;       /* atomic; predefined types do not count */
	uint8_t complete, contiguous, predefined, element;
	size_t atom;
	size_t divisor;      /* greatest common divisor of all piece lengths */
	size_t data_size, extent;
	size_t pieces, room;
	struct pami_type_piece *piece;
	void *image;         /* of PAMI_Type_serialize(); atomic, made once */
	intptr_t lo, hi;     /* where the bytes of one instance lie, [lo, hi); unset where contiguous */
};

extern struct pami_type pami_type_predefined[PAMI_ELEMENTS];
#define PAMI_BYTES ((pami_type_t)&pami_type_predefined[PAMI_ELEMENT_BYTE])

/* A complete type of this process? */
static inline int pami_type_usable(pami_type_t t)
{
	return t && ((struct pami_type *)t)->magic == PAMI_TYPE_MAGIC && ((struct pami_type *)t)->complete;
}

static inline int pami_type_contiguous(pami_type_t t)
{
	return ((struct pami_type *)t)->contiguous;
}

/* Usable, and so many bytes can go into or out of it: what has no bytes of its own takes none. */
static inline int pami_type_takes(pami_type_t t, size_t bytes)
{
	return pami_type_usable(t) && (!bytes || ((struct pami_type *)t)->data_size);
}

/* All pieces are there: whoever uses the type needs no more than it says. */
void pami_type_freeze(struct pami_type *t);

/* A complete type's flat image, the type's to keep; and a new type from one (not trusted). 0, or
 * -ENOMEM, -EINVAL. */
int pami_type_image(pami_type_t t, void **address, size_t *size);
int pami_type_from_image(pami_type_t *t, const void *address, size_t size);

void pami_type_retain(pami_type_t t);
void pami_type_release(pami_type_t t);

/* A place in a layout: `base` and `offset` payload bytes on through repeated instances of t. */
struct pami_cursor {
	const struct pami_type *t;
	uintptr_t instance;  /* address of the present instance; displacements wrap */
	size_t piece, run;   /* in it */
	size_t byte;         /* in the run */
};

void pami_cursor_start(struct pami_cursor *c, pami_type_t t, void *base, size_t offset);
/* Bytes that lie together here, at *at; 0 only for types without data. */
size_t pami_cursor_run(const struct pami_cursor *c, char **at);
/* Go on by n <= that many bytes. */
void pami_cursor_move(struct pami_cursor *c, size_t n);

/* A contiguous stream into a layout through fn, and out of a layout. */
void pami_type_scatter(pami_type_t t, void *base, size_t offset, const void *from, size_t bytes,
                       pami_data_function fn, void *cookie);
void pami_type_gather(pami_type_t t, const void *base, size_t offset, void *to, size_t bytes,
                      pami_data_function fn, void *cookie);

/* May all of `bytes` payload bytes in that layout be read (write: written)? 0 or -EFAULT. */
int pami_type_reachable(pami_type_t t, const void *base, size_t bytes, int write);

/* target = target op source over whole elements. Predefined functions need a predefined element. */
void pami_data_apply(pami_data_function fn, unsigned element, void *target, const void *source,
                     size_t bytes, void *cookie);
/* May fn be used with this element (user functions: always)? */
int pami_data_valid(pami_data_function fn, unsigned element);

void pami_data_copy(void *target, void *source, size_t bytes, void *cookie);
void pami_data_noop(void *target, void *source, size_t bytes, void *cookie);

#endif
