/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring of records in shared memory: many producers (any process), one consumer.
 *
 *           head (published late)         tail (producers' next free line)
 *              v                             v
 *   | . . . . [R1 ][R2      ][R3 ][R4   ] . . . . . . . |     64-byte lines, positions count up
 *                                                             forever, line = position mod lines
 * A record takes whole lines, never wraps (a pad record fills the end). Its first line starts
 * with a flag word, (position + 1) << 16 | lines, written last:
 *
 *   line 0   0  flag        8 bytes, release store by the producer (W1), acquire by the consumer (R1)
 *            8  bytes       u32, payload bytes
 *           12  tag         u32, free for the user
 *           16  header      32 bytes (an MU packet header)
 *           48  payload     up to 16 bytes here, the rest in the following lines
 *
 * The consumer looks at flags only, so a message costs one line moving between two caches; the
 * shared head is read by a producer only when its last look says "full". The flag holds the
 * position, so a one-line record needs no clean-up; the first words of further lines, which a
 * later lap could take for a flag, are cleared by the consumer when it releases them.
 *
 * A producer that dies between reserve and publish stops the ring. Where a job goes on without it,
 * producers say beforehand what they are about to take (struct drv_ring_claim, in memory that
 * outlives them), and the consumer skips what a dead one has taken.
 * Bench: bench/ring.c.
 */
#ifndef DRIVERS_BASE_RING_H
#define DRIVERS_BASE_RING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
	_Alignas(64) uint64_t tail; /* producers, atomic */
	_Alignas(64) uint64_t head; /* consumer publishes, producers read when full */
	_Alignas(64) uint32_t lines; /* power of two, constant */
	uint32_t user;               /* free for the user: what producers look at beside a record, rarely written */
	uint32_t asked;              /* the same, what the consumer looks at */
	uint32_t lanes;              /* the same */
	_Alignas(64) unsigned char line[];
};

/* Producer's private view of one ring: head as last seen. Zero it to start. */
struct drv_ring_tx {
	uint64_t head_seen;
};

/* Consumer's private state. Zero it to start. */
struct drv_ring_rx {
	uint64_t head;      /* next position to read */
	uint64_t published; /* what ring->head says */
};

/*
 * What one producer is about to take, or took last: positions [at, end) of a ring. Positions never
 * come back, so a claim on a place that was never published is its owner's, or that of somebody
 * who tried to take it at the same time and lost; those alive soon claim something else.
 */
struct drv_ring_claim {
	uint64_t ring; /* the user's name of the ring; 0: nothing */
	uint64_t at, end;
};

#define DRV_RING_AHEAD 8 /* lines; bench/qlimits ring */

/* Bring a line here for writing. */
static inline void drv_ring_own(void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Bytes of memory a ring of `lines` lines needs. */
static inline size_t drv_ring_bytes(uint32_t lines)
{
	return sizeof(struct drv_ring) + (size_t)lines * DRV_RING_LINE;
}

/* Make a ring in zeroed memory (64-byte aligned). lines: a power of two, at least 16. */
static inline void drv_ring_init(struct drv_ring *r, uint32_t lines)
{
	r->lines = lines;
}

/* Largest payload one record may carry: a quarter of the ring, so that pads never starve it. */
static inline uint32_t drv_ring_payload_max(const struct drv_ring *r)
{
	uint32_t lines = r->lines / 4;

	if (lines > DRV_RING_RECORD_LINES)
		lines = DRV_RING_RECORD_LINES;
	return lines * DRV_RING_LINE - DRV_RING_HEADER;
}

/*
 * Reserve a record for `bytes` of payload; NULL when the ring is full (nothing is changed).
 * Fill header, payload, then drv_ring_publish(); between the two the consumer waits, so do
 * nothing else. Any process, any thread; tx may be shared (its field only grows).
 * claim: this producer's own, or NULL; name: the ring's name in it.
 */
static inline struct drv_ring_record *drv_ring_reserve_claimed(struct drv_ring *r, struct drv_ring_tx *tx,
                                                               uint32_t bytes, uint64_t *position,
                                                               struct drv_ring_claim *claim, uint64_t name)
{
	uint32_t k = (bytes + DRV_RING_HEADER + DRV_RING_LINE - 1) / DRV_RING_LINE;
	uint64_t t = __atomic_load_n(&r->tail, __ATOMIC_RELAXED);
	uint64_t lines = r->lines;

	for (;;) {
		uint64_t at = t & (lines - 1);
		uint64_t pad = at + k > lines ? lines - at : 0;
		uint64_t end = t + pad + k;
		uint64_t seen = __atomic_load_n(&tx->head_seen, __ATOMIC_RELAXED);

		if (__builtin_expect(end - seen > lines, 0)) {
			seen = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE); /* pairs with W2 */
			__atomic_store_n(&tx->head_seen, seen, __ATOMIC_RELAXED);
			if (end - seen > lines) {
				uint64_t again = __atomic_load_n(&r->tail, __ATOMIC_RELAXED);

				if (again == t) {
					if (claim)
						__atomic_store_n(&claim->ring, 0, __ATOMIC_RELEASE);
					return NULL;
				}
				t = again;
				continue;
			}
		}
		if (__builtin_expect(claim != NULL, 0)) {
			__atomic_store_n(&claim->at, t, __ATOMIC_RELAXED);
			__atomic_store_n(&claim->end, end, __ATOMIC_RELAXED);
			__atomic_store_n(&claim->ring, name, __ATOMIC_RELEASE);
		}
		if (!__atomic_compare_exchange_n(&r->tail, &t, end, 0, __ATOMIC_ACQ_REL,
		                                 __ATOMIC_RELAXED))
			continue;
		if (__builtin_expect(pad != 0, 0)) {
			struct drv_ring_record *p = (void *)(r->line + at * DRV_RING_LINE);

			p->bytes = (uint32_t)pad;
			__atomic_store_n(&p->flag, (t + 1) << 16 | DRV_RING_PAD, __ATOMIC_RELEASE);
			t += pad;
		}
		/*
		 * Fetch a line that is needed soon: the next locked instruction would wait for this
		 * record's lines to come over from the consumer, one after the other.
		 */
		drv_ring_own(r->line + ((t + DRV_RING_AHEAD) & (lines - 1)) * DRV_RING_LINE);
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

/* Hand the filled record over (W1). `position` as drv_ring_reserve() gave it. */
static inline void drv_ring_publish(struct drv_ring_record *rec, uint64_t position)
{
	__atomic_store_n(&rec->flag, position, __ATOMIC_RELEASE);
}

/* Tell producers how far we are (W2). Call when idle; drv_ring_release() does it now and then. */
static inline void drv_ring_publish_head(struct drv_ring *r, struct drv_ring_rx *rx)
{
	if (rx->published != rx->head) {
		rx->published = rx->head;
		__atomic_store_n(&r->head, rx->head, __ATOMIC_RELEASE);
	}
}

/* Is there a record (or pad) to take? Changes nothing; any thread of the consumer. */
static inline int drv_ring_ready(struct drv_ring *r, const struct drv_ring_rx *rx)
{
	uint64_t head = __atomic_load_n(&rx->head, __ATOMIC_RELAXED);
	struct drv_ring_record *rec = (void *)(r->line + (head & (r->lines - 1)) * DRV_RING_LINE);

	return __atomic_load_n(&rec->flag, __ATOMIC_ACQUIRE) >> 16 == ((head + 1) & 0xffffffffffffu);
}

/* The next record, or NULL. Stays valid until drv_ring_release(). Consumer only. */
static inline struct drv_ring_record *drv_ring_peek(struct drv_ring *r, struct drv_ring_rx *rx)
{
	for (;;) {
		struct drv_ring_record *rec =
			(void *)(r->line + (rx->head & (r->lines - 1)) * DRV_RING_LINE);
		uint64_t flag = __atomic_load_n(&rec->flag, __ATOMIC_ACQUIRE); /* R1 */

		if (flag >> 16 != ((rx->head + 1) & 0xffffffffffffu))
			return NULL;
		if (__builtin_expect((flag & 0xffff) != DRV_RING_PAD, 1))
			return rec;
		__atomic_store_n(&rx->head, rx->head + rec->bytes, __ATOMIC_RELAXED); /* its lines hold old positions or zero: nothing to clear */
	}
}

/* Go on at `end`: what lies before it was reserved by a producer that is dead. Consumer only. */
static inline void drv_ring_skip(struct drv_ring *r, struct drv_ring_rx *rx, uint64_t end)
{
	for (uint64_t at = rx->head; at != end; at++)
		memset(r->line + (at & (r->lines - 1)) * DRV_RING_LINE, 0, 8);
	__atomic_store_n(&rx->head, end, __ATOMIC_RELAXED);
	drv_ring_publish_head(r, rx);
}

/* Give the record of the last peek back. Consumer only. */
static inline void drv_ring_release(struct drv_ring *r, struct drv_ring_rx *rx,
                                    struct drv_ring_record *rec)
{
	uint32_t k = (uint32_t)(rec->flag & 0xffff);

	for (uint32_t i = 1; i < k; i++)
		memset((unsigned char *)rec + (size_t)i * DRV_RING_LINE, 0, 8);
	__atomic_store_n(&rx->head, rx->head + k, __ATOMIC_RELAXED); /* drv_ring_ready() reads it elsewhere */
	if (rx->head - rx->published >= r->lines / 4)
		drv_ring_publish_head(r, rx);
}

#endif
