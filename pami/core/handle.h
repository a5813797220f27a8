/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the objects that handles point to. It never returns to the system: each kind has a free
 * list. So a program that uses a stale handle gets PAMI_INVAL instead of SIGSEGV, as long as the
 * memory has not become a new object. The owner clears the object's magic number before it frees
 * the object.
 *
 * bytes: the size of the kind, always the same. Objects are aligned to 64 bytes. Any thread may
 * call. (Contexts have an array of their own, core/context.h: their check is on the hot path.)
 */
#ifndef PAMI_CORE_HANDLE_H
#define PAMI_CORE_HANDLE_H

#include <stdbool.h>
#include <stddef.h>

enum pami_handle_kind {
	PAMI_HANDLE_CLIENT,
	PAMI_HANDLE_GEOMETRY,
	PAMI_HANDLE_TYPE,
	PAMI_HANDLE_KINDS
};

/* A zeroed object. NULL: out of memory. */
void *pami_handle_new(enum pami_handle_kind kind, size_t bytes);
/* handle may be NULL. */
void pami_handle_free(enum pami_handle_kind kind, size_t bytes, void *handle);
/*
 * Is it the address of an object of this kind, in use or free? Reads nothing at that address, so
 * the handle may be anything.
 */
bool pami_handle_is_known(enum pami_handle_kind kind, const void *handle);

#endif
