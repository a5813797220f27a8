/* SPDX-License-Identifier: BSD-3-Clause */
/* The payload of a put, in memory. */
#ifndef MUSPI_PUT_H
#define MUSPI_PUT_H

#include <string.h>

#include "drivers/base/atomic.h"

/*
 * Copy a packet's payload, 1 to 512 bytes. Programs watch aligned words, and the end of a message:
 * the last word is one store, after all before it.
 */
static inline void unit_put_bytes(uint64_t to, const void *from, uint32_t bytes)
{
	uint64_t end = to + bytes, word8;
	uint32_t last = bytes >= 8 && end % 8 == 0 ? 8 : bytes >= 4 && end % 4 == 0 ? 4 : 1, word4;
	const unsigned char *tail = (const unsigned char *)from + (bytes - last);

	memcpy((void *)(uintptr_t)to, from, bytes - last);
	end -= last;
	if (last == 8) {
		memcpy(&word8, tail, 8);
		atomic_store_release((uint64_t *)(uintptr_t)end, word8);
	} else if (last == 4) {
		memcpy(&word4, tail, 4);
		atomic_store_release((uint32_t *)(uintptr_t)end, word4);
	} else {
		atomic_store_release((uint8_t *)(uintptr_t)end, *tail);
	}
}

#endif
