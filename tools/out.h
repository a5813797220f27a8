/* SPDX-License-Identifier: BSD-3-Clause */
/* Output for a descriptor whose reader may be slow. Writing never blocks the event loop. */
#ifndef TOOLS_OUT_H
#define TOOLS_OUT_H

#include <stddef.h>
#include <stdint.h>

struct out {
	int fd;
	char *data; /* data[at .. bytes) is pending */
	size_t at, bytes, room;
	int error; /* errno of a write that failed, EPIPE where the reader has closed: the rest is
		    * dropped */
};

static inline size_t out_pending(const struct out *o)
{
	return o->bytes - o->at;
}

void out_put(struct out *o, const void *data, size_t bytes);
/* Append each line of data with "[task] " before it. A last line without a line end gets one. */
void out_put_tagged(struct out *o, uint32_t task, const char *data, size_t bytes);
/* Write what the descriptor takes without blocking. */
void out_flush(struct out *o);

#endif
