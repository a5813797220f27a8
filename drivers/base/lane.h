/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lane of small records in shared memory: one producer, one consumer. Beside a ring (ring.h), whose
 * many producers pay a locked instruction a record, which waits until the lines of earlier records
 * have come over from the consumer; and two small records share a line here.
 *
 * Records take whole units of 32 bytes and never wrap (a pad record fills the end). Positions count
 * units up for ever, unit = position mod DRV_LANE_UNITS. The first unit of a record:
 *
 *    0  flag     (position + 1) << 16 | kind << 8 | units: release store (W1), acquire load (R1)
 *    8  bytes    u16, of the payload
 *   10  head     14 bytes, the user's (an MU packet's software bytes)
 *   24  payload  8 bytes here, the rest in the following units
 *
 * The flag holds the position, so a record of one unit needs no clean-up; the first words of further
 * units, which a later lap could take for a flag, are cleared by the consumer. A producer that dies
 * has published a record or has not: nothing stops.
 *
 * Order with the ring beside it, of the records of one producer in both:
 *   a ring record after lane records  the consumer takes what the lane holds (at most all units of it)
 *                                     after it saw the ring record and before it takes that
 *   a lane record after ring records  an AFTER record goes first, with the end of the last of them: the
 *                                     consumer leaves the lane alone until it has got there in the ring
 * Bench: bench/pami_rate.c. Test: tests/unit/base_lane.c.
 */
#ifndef DRIVERS_BASE_LANE_H
#define DRIVERS_BASE_LANE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DRV_LANE_UNIT        32u
#define DRV_LANE_UNITS       512u /* power of two */
#define DRV_LANE_HEAD        14u
#define DRV_LANE_FIXED       24u  /* bytes of a record before its payload */
#define DRV_LANE_PAYLOAD_MAX 1024u

enum drv_lane_kind { DRV_LANE_DATA, DRV_LANE_PAD, DRV_LANE_AFTER };

struct drv_lane_record {
	uint64_t flag;
	uint16_t bytes;
	unsigned char head[DRV_LANE_HEAD];
	unsigned char payload[];
};
_Static_assert(offsetof(struct drv_lane_record, payload) == DRV_LANE_FIXED, "as documented");

struct drv_lane {
	_Alignas(64) uint64_t owner; /* 0: nobody's; set once, by whoever will produce */
	_Alignas(64) uint64_t head;  /* the consumer's: published when a quarter was taken */
	_Alignas(64) uint64_t tail;  /* the producer's own, here so that it outlives what it keeps elsewhere */
	uint64_t head_seen;
	uint64_t after; /* the next record comes after this position of the ring; 0: nothing to wait for */
	_Alignas(64) unsigned char unit[DRV_LANE_UNITS][DRV_LANE_UNIT];
};

/* Consumer's private state; its head is stored in the lane by drv_lane_publish_head(). */
struct drv_lane_rx {
	uint64_t head, published;
};

static inline struct drv_lane_record *drv_lane_at(struct drv_lane *l, uint64_t position)
{
	return (void *)l->unit[position & (DRV_LANE_UNITS - 1)];
}

static inline uint64_t drv_lane_flag(uint64_t position, enum drv_lane_kind kind, uint64_t units)
{
	return (position + 1) << 16 | (uint64_t)kind << 8 | units;
}

static inline unsigned drv_lane_units(uint64_t flag)
{
	return (unsigned)(flag & 0xff);
}

static inline enum drv_lane_kind drv_lane_kind(uint64_t flag)
{
	return (enum drv_lane_kind)(flag >> 8 & 0xff);
}

/* The end of the lane is too short for the record: the place after a pad. */
static __attribute__((noinline, unused)) uint64_t drv_lane_pad(struct drv_lane *l, uint64_t tail, uint64_t units)
{
	__atomic_store_n(&drv_lane_at(l, tail)->flag, drv_lane_flag(tail, DRV_LANE_PAD, units), __ATOMIC_RELEASE);
	return tail + units;
}

/*
 * A record for `bytes` of payload (DRV_LANE_PAYLOAD_MAX at most), or NULL: the lane is full, nothing is
 * changed. Fill head and payload, then drv_lane_publish() with *flag. Producer only.
 */
static inline struct drv_lane_record *drv_lane_reserve(struct drv_lane *l, uint32_t bytes, uint64_t *flag)
{
	uint64_t k = (bytes + DRV_LANE_FIXED + DRV_LANE_UNIT - 1) / DRV_LANE_UNIT;
	uint64_t t = l->tail, at = t & (DRV_LANE_UNITS - 1);
	uint64_t pad = at + k > DRV_LANE_UNITS ? DRV_LANE_UNITS - at : 0;
	struct drv_lane_record *rec;

	if (__builtin_expect(t + pad + k - l->head_seen > DRV_LANE_UNITS, 0)) {
		l->head_seen = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE); /* pairs with W2 */
		if (t + pad + k - l->head_seen > DRV_LANE_UNITS)
			return NULL;
	}
	if (__builtin_expect(pad != 0, 0))
		t = drv_lane_pad(l, t, pad);
	l->tail = t + k;
	*flag = drv_lane_flag(t, DRV_LANE_DATA, k);
	rec = drv_lane_at(l, t);
	rec->bytes = (uint16_t)bytes;
	return rec;
}

/* W1 */
static inline void drv_lane_publish(struct drv_lane_record *rec, uint64_t flag)
{
	__atomic_store_n(&rec->flag, flag, __ATOMIC_RELEASE);
}

/* Put the AFTER record that l->after asks for. 0: the lane is full. Producer only. */
static inline int drv_lane_bar(struct drv_lane *l)
{
	uint64_t flag;
	struct drv_lane_record *rec = drv_lane_reserve(l, 8, &flag);

	if (!rec)
		return 0;
	memcpy(rec->payload, &l->after, 8);
	drv_lane_publish(rec, flag | (uint64_t)DRV_LANE_AFTER << 8);
	l->after = 0;
	return 1;
}

/*
 * Is there a record to look at? Changes nothing; any thread of the consumer. One that reads the head and then
 * sleeps looks at a unit in use again, which its owners write in words: the answer is a hint, wrong at most
 * for as long as the head is stale, so the thread sanitizer is not asked.
 */
__attribute__((no_sanitize("thread"))) static inline int drv_lane_ready(struct drv_lane *l, const struct drv_lane_rx *rx)
{
	uint64_t head = __atomic_load_n(&rx->head, __ATOMIC_RELAXED);

	return __atomic_load_n(&drv_lane_at(l, head)->flag, __ATOMIC_ACQUIRE) >> 16 == ((head + 1) & 0xffffffffffffu);
}

/* W2 */
static inline void drv_lane_publish_head(struct drv_lane *l, struct drv_lane_rx *rx)
{
	rx->published = rx->head;
	__atomic_store_n(&l->head, rx->head, __ATOMIC_RELEASE);
}

static inline void drv_lane_skip(struct drv_lane *l, struct drv_lane_rx *rx, unsigned units)
{
	__atomic_store_n(&rx->head, rx->head + units, __ATOMIC_RELAXED); /* drv_lane_ready() reads it elsewhere */
	if (__builtin_expect(rx->head - rx->published >= DRV_LANE_UNITS / 4, 0))
		drv_lane_publish_head(l, rx);
}

/*
 * The next record, or NULL: none, or one that must wait for the ring, which has got to `ring_head`.
 * Valid until drv_lane_release(). *flag: for that. Consumer only.
 */
static inline struct drv_lane_record *drv_lane_peek(struct drv_lane *l, struct drv_lane_rx *rx, uint64_t ring_head,
                                                    uint64_t *flag)
{
	for (;;) {
		struct drv_lane_record *rec = drv_lane_at(l, rx->head);
		uint64_t f = __atomic_load_n(&rec->flag, __ATOMIC_ACQUIRE), after; /* R1 */

		if (f >> 16 != ((rx->head + 1) & 0xffffffffffffu))
			return NULL;
		*flag = f;
		if (__builtin_expect(drv_lane_kind(f) == DRV_LANE_DATA, 1))
			return rec;
		if (drv_lane_kind(f) == DRV_LANE_AFTER) {
			memcpy(&after, rec->payload, 8);
			if ((int64_t)(ring_head - after) < 0)
				return NULL;
		}
		/* The units of a pad hold old positions or zero: nothing to clear. */
		drv_lane_skip(l, rx, drv_lane_units(f));
	}
}

/* Consumer only. */
static inline void drv_lane_release(struct drv_lane *l, struct drv_lane_rx *rx, struct drv_lane_record *rec,
                                    uint64_t flag)
{
	unsigned k = drv_lane_units(flag);

	for (unsigned i = 1; i < k; i++) /* atomic: drv_lane_ready() may look at any unit */
		__atomic_store_n((uint64_t *)(void *)((unsigned char *)rec + (size_t)i * DRV_LANE_UNIT), 0, __ATOMIC_RELAXED);
	drv_lane_skip(l, rx, k);
}

#endif
