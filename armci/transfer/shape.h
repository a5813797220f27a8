/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts of transfers: strided patches and lists of segments. Local work, no communication. */
#ifndef ARMCI_SHAPE_H
#define ARMCI_SHAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "armci/core/api.h"

enum armci_kind { ARMCI_KIND_PUT, ARMCI_KIND_GET, ARMCI_KIND_ACC };

/*
 * What one transfer moves: count[0] bytes at (local, remote), repeated count[k] times at level k
 * with these strides. A contiguous transfer has no levels.
 */
struct armci_shape {
	char *local;
	uintptr_t remote; /* as the program names it; below armci_xfer_shape(), at the owner */
	int levels;
	size_t count[ARMCI_LEVELS + 1];
	int64_t lstride[ARMCI_LEVELS], rstride[ARMCI_LEVELS];
};

/* Segments of equal length: local[i] with remote[i]. */
struct armci_list {
	void **local, **remote;
	size_t count, bytes;
};

/* Remove levels of one item and merge levels that follow on each other. Returns the bytes moved. */
size_t armci_shape_normalise(struct armci_shape *s);
/* Offsets [lo, hi) that the remote side touches, relative to s->remote. */
void armci_shape_extent(const struct armci_shape *s, int64_t *lo, int64_t *hi);
/* Bytes of the first `levels` levels. */
size_t armci_shape_bytes(const struct armci_shape *s, int levels);

/* Call fn(arg, local, remote, bytes) for each contiguous piece, first level fastest. */
typedef void (*armci_piece_fn)(void *arg, char *local, uintptr_t remote, size_t bytes);
void armci_shape_walk(const struct armci_shape *s, armci_piece_fn fn, void *arg);

/*
 * Cut s into parts of at most `most` bytes (at least 1) and call fn for each, in order. Stops at
 * the first result of fn that is not 0 and returns it. Elements stay whole where `most` is a
 * multiple of their length.
 */
typedef int (*armci_slab_fn)(void *arg, const struct armci_shape *s);
int armci_shape_cut(const struct armci_shape *s, size_t most, armci_slab_fn fn, void *arg);

/* Copy the local side into a dense buffer, and back. */
void armci_shape_pack(const struct armci_shape *s, char *buf);
void armci_shape_unpack(const struct armci_shape *s, const char *buf);

/* memcpy of a piece; most pieces are one element, whose copy then needs no call. */
static inline void armci_copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 16)
		memcpy(to, from, 16);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, bytes);
}

#endif
