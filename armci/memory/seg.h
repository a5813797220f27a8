/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments of registered memory, and the tables that find a segment by address. */
#ifndef ARMCI_SEG_H
#define ARMCI_SEG_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "pami/pami.h"

/* Two writes of different classes travel by different ways and may arrive in any order. */
enum armci_class {
	ARMCI_CLASS_PUT,
	ARMCI_CLASS_PACKED,
	ARMCI_CLASS_ACC,
	ARMCI_CLASSES,
	ARMCI_CLASS_READ = ARMCI_CLASSES
};

/* Writes outstanding to one segment: their number, and offsets [lo, hi) that contain them all. */
struct armci_writes {
	uint32_t count;
	size_t lo, hi;
};

struct armci_region;

/*
 * The part of one process in a collective allocation, as this process reaches it. The first block
 * is constant while the segment is in a table, and threads read it without the lock. The rest is
 * under the library's lock.
 */
struct armci_seg {
	uintptr_t name; /* first address, as the program of this process names it */
	uintptr_t va;   /* first address at the owner */
	size_t bytes;
	char *direct;          /* where this process loads and stores it, or NULL */
	pami_memregion_t *own; /* region of this process's own memory; NULL: none could be made */

	struct armci_region *cached; /* region of another process's memory, while it is cached */
	struct armci_writes *writes; /* [ARMCI_CLASSES], allocated by the first write */
	uint8_t status;              /* bit c: writes of class c are outstanding */
	bool regionless;             /* The owner has no region for it. */
};

/* Segments of one process, ascending by name and disjoint. A table is replaced, never changed. */
struct armci_table {
	uint32_t count;
	struct armci_seg *seg[];
};

/* Written under the library's lock, read without it between armci_read_begin() and its end. */
struct armci_map {
	ATOMIC(struct armci_table *) table; /* NULL: empty */
	ATOMIC(struct armci_seg *) last;    /* the segment found last, or NULL */
};

/* 0, or FAIL6 where there is no memory. */
int armci_map_add(struct armci_map *map, struct armci_seg *seg);
/* Take the segment out. No thread reads it any more when this returns. */
void armci_map_remove(struct armci_map *map, struct armci_seg *seg);
void armci_map_release(struct armci_map *map);
/* The segment that holds [name, name + bytes), or NULL. Under the library's lock. */
struct armci_seg *armci_map_find(struct armci_map *map, uintptr_t name, size_t bytes);
/* As armci_map_find() without the lock, between armci_read_begin() and armci_read_end(). */
struct armci_seg *armci_map_read(const struct armci_map *map, uintptr_t name, size_t bytes);

static inline bool armci_seg_holds(const struct armci_seg *s, uintptr_t name, size_t bytes)
{
	return name >= s->name && bytes <= s->bytes && name - s->name <= s->bytes - bytes;
}
/* The segment of proc that holds [name, name + bytes). Ends the job where there is none. */
struct armci_seg *armci_seg_find(int proc, uintptr_t name, size_t bytes);
/* Release what belongs to the segment, before its memory is released. */
void armci_seg_release(struct armci_seg *seg);
/* The region of this process that holds [p, p + bytes) and the offset of p there, or NULL. */
pami_memregion_t *armci_local_find(const void *p, size_t bytes, size_t *offset);

#endif
