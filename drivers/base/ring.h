/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring of records in shared memory: many producers (in any process), one consumer.
 *
 *           head (published late)         tail (next free line for producers)
 *              v                             v
 *   | . . . . [R1 ][R2      ][R3 ][R4   ] . . . . . . . |     64-byte lines; positions count up
 *                                                             for ever, line = position mod lines
 * A record occupies whole lines and never wraps: a pad record fills the end of the ring. The first
 * line of a record starts with a flag word, (position + 1) << 16 | lines, which is written last:
 *
 *   line 0   0  flag        8 bytes; the producer stores it with release order (W1), the consumer
 *                           loads it with acquire order (R1)
 *            8  bytes       u32, bytes of payload
 *           12  tag         u32, free for the user
 *           16  header      32 bytes (an MU packet header)
 *           48  payload     up to 16 bytes here, the rest in the following lines
 *
 * The consumer reads flags only, so a message moves one cache line between two cores. A producer
 * reads the shared head only when its last copy of the head says that the ring is full. The flag
 * contains the position, so the consumer need not clear a record of one line. It clears the first
 * word of each further line when it releases a record, since a later lap could read that word as a
 * flag.
 *
 * A producer that dies between reserve and publish stops the ring. Where a job continues without
 * that producer, each producer first writes down which lines it is about to take (struct
 * drv_ring_claim, in memory that outlives the producer), and the consumer skips the lines that a
 * dead producer took. Bench: bench/micro/pami_rate.c.
 */
#ifndef DRIVERS_BASE_RING_H
#define DRIVERS_BASE_RING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "drivers/base/atomic.h"

#define DRV_RING_LINE         64u
#define DRV_RING_HEADER       48u /* bytes of a record before its payload */
#define DRV_RING_RECORD_LINES 0xfff0u
#define DRV_RING_PAD          0xffffu /* line count of a pad record */

struct drv_ring_record {
	uint64_t flag;
	uint32_t bytes;
	uint32_t tag;
	unsigned char header[32];
	unsigned char payload[];
};

struct drv_ring {
	_Alignas(64) uint64_t tail;  /* written by producers, atomically */
	_Alignas(64) uint64_t head;  /* the consumer writes it; producers read it when full */
	_Alignas(64) uint32_t lines; /* a power of two; constant */
	uint32_t user;  /* free for the user: read by producers beside a record, rarely written */
	uint32_t asked; /* free for the user: read by the consumer */
	/* Free for the user, and read by the consumer: bitmap of lanes that producers have. */
	uint32_t lanes_claimed;
	_Alignas(64) unsigned char line[];
};

/* A producer's private view of one ring: the head that it read last. Start with zeros. */
struct drv_ring_tx {
	uint64_t head_seen;
};

/* The consumer's private state. Start with zeros. */
struct drv_ring_rx {
	uint64_t head;      /* next position to read */
	uint64_t published; /* what ring->head says */
};

/*
 * The lines that one producer is about to take, or took last: positions [at, end) of a ring. Each
 * position is taken once. So a claim on lines that were never published belongs to the producer
 * that took them, or to one that tried to take them at the same time and failed; a living producer
 * of the latter kind soon claims other lines.
 */
struct drv_ring_claim {
	uint64_t ring; /* the user's name of the ring; 0: no claim */
	uint64_t at, end;
};

#define DRV_RING_AHEAD 8 /* lines; measured by bench/micro/qlimits ring */

/* Bring a cache line to this core for writing. */
static inline void drv_ring_prefetch(void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Return the bytes of memory that a ring of `lines` lines needs. */
static inline size_t drv_ring_bytes(uint32_t lines)
{
	return sizeof(struct drv_ring) + (size_t)lines * DRV_RING_LINE;
}

/*
 * Initialise a ring in zeroed memory that is aligned to 64 bytes. lines: a power of two, at least
 * 16.
 */
static inline void drv_ring_init(struct drv_ring *r, uint32_t lines)
{
	r->lines = lines;
}

/*
 * Return the largest payload of one record: a quarter of the ring, so that pad records leave room.
 */
static inline uint32_t drv_ring_payload_max(const struct drv_ring *r)
{
	uint32_t lines = r->lines / 4;

	if (lines > DRV_RING_RECORD_LINES)
		lines = DRV_RING_RECORD_LINES;
	return lines * DRV_RING_LINE - DRV_RING_HEADER;
}

/*
 * Reserve a record for `bytes` bytes of payload. Returns NULL and changes nothing if the ring is
 * full. Fill in header and payload, then call drv_ring_publish(); do nothing else in between,
 * because the consumer waits for this record. Any process, any thread; several threads may share
 * tx. claim: this producer's own claim, or NULL; name: the name of the ring that goes into the
 * claim.
 */
static inline struct drv_ring_record *
drv_ring_reserve_claimed(struct drv_ring *r, struct drv_ring_tx *tx, uint32_t bytes,
			 uint64_t *position, struct drv_ring_claim *claim, uint64_t name)
{
	uint32_t k = (bytes + DRV_RING_HEADER + DRV_RING_LINE - 1) / DRV_RING_LINE;
	uint64_t t = atomic_load_relaxed(&r->tail);
	uint64_t lines = r->lines;

	for (;;) {
		uint64_t at = t & (lines - 1);
		uint64_t pad = at + k > lines ? lines - at : 0;
		uint64_t end = t + pad + k;
		uint64_t seen = atomic_load_relaxed(&tx->head_seen);

		if (__builtin_expect(end - seen > lines, 0)) {
			seen = atomic_load_acquire(&r->head); /* pairs with W2 */
			atomic_store_relaxed(&tx->head_seen, seen);
			if (end - seen > lines) {
				uint64_t again = atomic_load_relaxed(&r->tail);

				if (again == t) {
					if (claim)
						atomic_store_release(&claim->ring, 0);
					return NULL;
				}
				t = again;
				continue;
			}
		}
		if (__builtin_expect(claim != NULL, 0)) {
			atomic_store_relaxed(&claim->at, t);
			atomic_store_relaxed(&claim->end, end);
			atomic_store_release(&claim->ring, name);
		}
		if (!atomic_cas_acq_rel(&r->tail, &t, end))
			continue;
		if (__builtin_expect(pad != 0, 0)) {
			struct drv_ring_record *p = (void *)(r->line + at * DRV_RING_LINE);

			p->bytes = (uint32_t)pad;
			atomic_store_release(&p->flag, (t + 1) << 16 | DRV_RING_PAD);
			t += pad;
		}
		/*
		 * Fetch a line that will be needed soon. Otherwise the next locked instruction
		 * would wait until the lines of this record have come over from the consumer, one
		 * after the other.
		 */
		drv_ring_prefetch(r->line + ((t + DRV_RING_AHEAD) & (lines - 1)) * DRV_RING_LINE);
		*position = (t + 1) << 16 | k;
		struct drv_ring_record *rec = (void *)(r->line + (t & (lines - 1)) * DRV_RING_LINE);
		rec->bytes = bytes;
		return rec;
	}
}

static inline struct drv_ring_record *drv_ring_reserve(struct drv_ring *r, struct drv_ring_tx *tx,
						       uint32_t bytes, uint64_t *position)
{
	return drv_ring_reserve_claimed(r, tx, bytes, position, NULL, 0);
}

/* Hand the filled record to the consumer (W1). drv_ring_reserve() returned `position`. */
static inline void drv_ring_publish(struct drv_ring_record *rec, uint64_t position)
{
	atomic_store_release(&rec->flag, position);
}

/*
 * Tell producers which lines are free (W2). Call when idle; drv_ring_release() calls it now and
 * then.
 */
static inline void drv_ring_publish_head(struct drv_ring *r, struct drv_ring_rx *rx)
{
	if (rx->published != rx->head) {
		rx->published = rx->head;
		atomic_store_release(&r->head, rx->head);
	}
}

/* True if there is a record or a pad to take. Changes nothing; any thread of the consumer. */
static inline int drv_ring_is_ready(struct drv_ring *r, const struct drv_ring_rx *rx)
{
	uint64_t head = atomic_load_relaxed(&rx->head);
	struct drv_ring_record *rec = (void *)(r->line + (head & (r->lines - 1)) * DRV_RING_LINE);

	return atomic_load_acquire(&rec->flag) >> 16 == ((head + 1) & 0xffffffffffffu);
}

/* Return the next record, or NULL. It is valid until drv_ring_release(). Consumer only. */
static inline struct drv_ring_record *drv_ring_peek(struct drv_ring *r, struct drv_ring_rx *rx)
{
	for (;;) {
		struct drv_ring_record *rec =
		    (void *)(r->line + (rx->head & (r->lines - 1)) * DRV_RING_LINE);
		uint64_t flag = atomic_load_acquire(&rec->flag); /* R1 */

		if (flag >> 16 != ((rx->head + 1) & 0xffffffffffffu))
			return NULL;
		if (__builtin_expect((flag & 0xffff) != DRV_RING_PAD, 1))
			return rec;
		if (__builtin_expect(rec->bytes != r->lines - (rx->head & (r->lines - 1)), 0))
			return rec; /* not sound */
		atomic_store_relaxed(&rx->head,
				     rx->head + rec->bytes); /* its lines contain old positions or
								zero, so nothing is cleared */
	}
}

/*
 * Does the record that the last peek returned lie in the ring, and its payload in it? Otherwise a
 * process wrote to the ring what no producer writes: do not read or release the record, since what
 * follows it is lost. Consumer only.
 */
static inline int drv_ring_is_sound(const struct drv_ring *r, const struct drv_ring_rx *rx,
				    const struct drv_ring_record *rec)
{
	uint64_t k = atomic_load_relaxed(&rec->flag) & 0xffff;

	return k - 1 < r->lines - (rx->head & (r->lines - 1)) &&
	       rec->bytes + (uint64_t)DRV_RING_HEADER <= k * DRV_RING_LINE;
}

/* Continue at position `end`: a dead producer reserved the lines before it. Consumer only. */
static inline void drv_ring_skip(struct drv_ring *r, struct drv_ring_rx *rx, uint64_t end)
{
	for (uint64_t at = rx->head; at != end; at++)
		memset(r->line + (at & (r->lines - 1)) * DRV_RING_LINE, 0, 8);
	atomic_store_relaxed(&rx->head, end);
	drv_ring_publish_head(r, rx);
}

/* Release the record that the last peek returned. Consumer only. */
static inline void drv_ring_release(struct drv_ring *r, struct drv_ring_rx *rx,
				    struct drv_ring_record *rec)
{
	uint32_t k = (uint32_t)(rec->flag & 0xffff);

	for (uint32_t i = 1; i < k; i++)
		memset((unsigned char *)rec + (size_t)i * DRV_RING_LINE, 0, 8);
	/* Other threads read the head in drv_ring_is_ready(). */
	atomic_store_relaxed(&rx->head, rx->head + k);
	if (rx->head - rx->published >= r->lines / 4)
		drv_ring_publish_head(r, rx);
}

#endif
