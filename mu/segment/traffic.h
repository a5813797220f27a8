/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric express: count the traffic that would have crossed links (struct mu_traffic). */
#ifndef MU_SEGMENT_TRAFFIC_H
#define MU_SEGMENT_TRAFFIC_H

#include "mu/process.h"

/* Count so many packets with payload of `bytes` bytes together. */
static inline void mu_traffic_add_packets(struct mu_channel *ch, uint32_t task, uint64_t packets,
					  uint64_t bytes, enum mu_traffic_kind kind)
{
	struct mu_traffic *t = ch->traffic;

	if (!t)
		return;
	t += ch->p->entry[task].node;
	atomic_store_relaxed(&t->kind[kind].packets,
			     atomic_load_relaxed(&t->kind[kind].packets) + packets);
	atomic_store_relaxed(&t->kind[kind].bytes, atomic_load_relaxed(&t->kind[kind].bytes) +
						       packets * (32 + 8) +
						       ((bytes + 31) & ~31ull));
}

/*
 * Count payload that was sent to a task or fetched from it. A packet carries up to 512 bytes, and
 * 40 bytes of header and trailer.
 */
static inline void mu_traffic_add(struct mu_channel *ch, uint32_t task, uint64_t bytes,
				  enum mu_traffic_kind kind)
{
	mu_traffic_add_packets(
	    ch, task, bytes > MU_PACKET_BYTES ? (bytes + MU_PACKET_BYTES - 1) / MU_PACKET_BYTES : 1,
	    bytes, kind);
}

#endif
