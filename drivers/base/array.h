/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow by doubling. Not for hot paths: they call realloc(). */
#ifndef DRIVERS_BASE_ARRAY_H
#define DRIVERS_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Double the room of an array of items of `item_bytes` bytes; an empty one (at NULL, *room 0) gets
 * room for `first` items. Returns the array's new address and sets *room, or returns NULL if there
 * is no memory: the array and *room then stay as they are.
 */
static inline void *drv_array_grow(void *at, size_t *room, size_t item_bytes, size_t first)
{
	size_t more = *room ? 2 * *room : first;
	void *grown = realloc(at, more * item_bytes);

	if (grown)
		*room = more;
	return grown;
}

#endif
