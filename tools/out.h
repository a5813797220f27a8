/* SPDX-License-Identifier: BSD-3-Clause */
/* Output on its way to a descriptor that may be slow, which must not stop the rest of us. */
#ifndef TOOLS_OUT_H
#define TOOLS_OUT_H

#include <stddef.h>
#include <stdint.h>

struct out {
	int fd;
	char *data; /* data[at .. bytes) waits */
	size_t at, bytes, room;
	int broken; /* the reader is gone: the rest is dropped */
};

static inline size_t out_pending(const struct out *o) { return o->bytes - o->at; }

void out_put(struct out *o, const void *data, size_t bytes);
/* Each line of data with "[task] " before it; a last line without an end gets one. */
void out_put_tagged(struct out *o, uint32_t task, const char *data, size_t bytes);
/* Write what the descriptor takes without waiting. */
void out_flush(struct out *o);

#endif
