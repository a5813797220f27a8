/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lane of small records in shared memory: one producer, one consumer. The producers of a ring
 * (ring.h) pay a locked instruction for each record, and that instruction waits until the lines of
 * earlier records have come over from the consumer. A lane needs no such instruction, and two small
 * records share a cache line.
 *
 * Records occupy whole units of 32 bytes and never wrap: a pad record fills the end of the lane.
 * Positions count units for ever; unit = position mod DRV_LANE_UNITS. First unit of a record:
 *
 *    0  flag     (position + 1) << 16 | kind << 8 | units; the producer stores it with release
 *                order (W1), the consumer loads it with acquire order (R1)
 *    8  bytes    u16, bytes of payload
 *   10  head     14 bytes, free for the user (software bytes of an MU packet)
 *   24  payload  8 bytes here, the rest in the following units
 *
 * The flag contains the position, so the consumer need not clear a record of one unit. It clears
 * the first word of each further unit, since a later lap could read that word as a flag. The store
 * is no loss: when the consumer cleared only words that could be flags (one of 512 at random), the
 * rate of records of two units fell from 35 to 27 M/s, and messages of 448 bytes took 5 % longer
 * (2026-11-24, AMD EPYC). A producer that dies has either published a record or not; neither stops
 * the lane.
 *
 * A producer may use a lane and a ring to the same consumer. Its records keep their order:
 *   A ring record behind lane records: when the consumer sees the ring record, it first takes
 *     everything that the lane contains then (at most all its units).
 *   A lane record behind ring records: the producer first writes an AFTER record that contains the
 *     end of the last of them. The consumer does not pass it until it has reached that position of
 *     the ring.
 * Bench: bench/micro/pami_rate.c. Test: tests/drivers/base_lane.c.
 */
#ifndef DRIVERS_BASE_LANE_H
#define DRIVERS_BASE_LANE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "drivers/base/atomic.h"

#define DRV_LANE_UNIT        32u
#define DRV_LANE_UNITS       512u /* a power of two */
#define DRV_LANE_HEAD        14u
#define DRV_LANE_FIXED       24u /* bytes of a record before its payload */
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
	_Alignas(64) uint64_t owner; /* 0: no producer yet; the producer sets it once */
	_Alignas(64) uint64_t head;  /* written by the consumer after each quarter of the lane */
	_Alignas(64) uint64_t tail;  /* private to the producer; here, so that it outlives the
					producer's other state */
	uint64_t head_seen;
	uint64_t after; /* the next record must come after this position of the ring; 0: it need
			   not wait */
	_Alignas(64) unsigned char unit[DRV_LANE_UNITS][DRV_LANE_UNIT];
};

/* The consumer's private state. drv_lane_publish_head() stores its head in the lane. */
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

/*
 * Write a pad record at `tail`, because the end of the lane is too short for the next record.
 * Returns the position behind the pad.
 */
static __attribute__((noinline, unused)) uint64_t drv_lane_pad(struct drv_lane *l, uint64_t tail,
							       uint64_t units)
{
	atomic_store_release(&drv_lane_at(l, tail)->flag, drv_lane_flag(tail, DRV_LANE_PAD, units));
	return tail + units;
}

/*
 * Reserve a record for `bytes` bytes of payload (DRV_LANE_PAYLOAD_MAX at most). Returns NULL and
 * changes nothing if the lane is full. Fill in head and payload, then call drv_lane_publish() with
 * *flag. Producer only.
 */
static inline struct drv_lane_record *drv_lane_reserve(struct drv_lane *l, uint32_t bytes,
						       uint64_t *flag)
{
	uint64_t k = (bytes + DRV_LANE_FIXED + DRV_LANE_UNIT - 1) / DRV_LANE_UNIT;
	uint64_t t = l->tail, at = t & (DRV_LANE_UNITS - 1);
	uint64_t pad = at + k > DRV_LANE_UNITS ? DRV_LANE_UNITS - at : 0;
	struct drv_lane_record *rec;

	if (__builtin_expect(t + pad + k - l->head_seen > DRV_LANE_UNITS, 0)) {
		l->head_seen = atomic_load_acquire(&l->head); /* pairs with W2 */
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

/* Hand the filled record to the consumer (W1). Producer only. */
static inline void drv_lane_publish(struct drv_lane_record *rec, uint64_t flag)
{
	atomic_store_release(&rec->flag, flag);
}

/* Write the AFTER record that l->after asks for. Returns 0 if the lane is full. Producer only. */
static inline int drv_lane_put_after(struct drv_lane *l)
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
 * True if there is a record to take. Changes nothing; any thread of the consumer. A thread that is
 * preempted after it has read the head may then read a unit that is in use again. The answer is a
 * hint that is wrong only as long as that head is out of date, so the thread sanitizer does not
 * check this function.
 */
__attribute__((no_sanitize("thread"))) static inline int
drv_lane_is_ready(struct drv_lane *l, const struct drv_lane_rx *rx)
{
	uint64_t head = atomic_load_relaxed(&rx->head);

	return atomic_load_acquire(&drv_lane_at(l, head)->flag) >> 16 ==
	       ((head + 1) & 0xffffffffffffu);
}

/* Tell the producer which units are free (W2). Consumer only. */
static inline void drv_lane_publish_head(struct drv_lane *l, struct drv_lane_rx *rx)
{
	rx->published = rx->head;
	atomic_store_release(&l->head, rx->head);
}

static inline void drv_lane_skip(struct drv_lane *l, struct drv_lane_rx *rx, unsigned units)
{
	/* Other threads read the head in drv_lane_is_ready(). */
	atomic_store_relaxed(&rx->head, rx->head + units);
	if (__builtin_expect(rx->head - rx->published >= DRV_LANE_UNITS / 4, 0))
		drv_lane_publish_head(l, rx);
}

/*
 * Return the next record, or NULL if there is none or if it must wait until the consumer has passed
 * a position of the ring; `ring_head` is the position that it has reached. The record is valid
 * until drv_lane_release(), which needs *flag. Consumer only.
 */
static inline struct drv_lane_record *drv_lane_peek(struct drv_lane *l, struct drv_lane_rx *rx,
						    uint64_t ring_head, uint64_t *flag)
{
	for (;;) {
		struct drv_lane_record *rec = drv_lane_at(l, rx->head);
		uint64_t f = atomic_load_acquire(&rec->flag), after; /* R1 */

		if (f >> 16 != ((rx->head + 1) & 0xffffffffffffu))
			return NULL;
		*flag = f;
		if (__builtin_expect(drv_lane_kind(f) == DRV_LANE_DATA, 1))
			return rec;
		/* A pad reaches to the end of the lane, and an AFTER record has one unit. No other
		 * record is sound. */
		if (__builtin_expect(
			drv_lane_kind(f) > DRV_LANE_AFTER ||
			    drv_lane_units(f) !=
				(drv_lane_kind(f) == DRV_LANE_AFTER
				     ? 1
				     : DRV_LANE_UNITS - (rx->head & (DRV_LANE_UNITS - 1))),
			0))
			return rec;
		if (drv_lane_kind(f) == DRV_LANE_AFTER) {
			memcpy(&after, rec->payload, 8);
			if ((int64_t)(ring_head - after) < 0)
				return NULL;
		}
		/* The units of a pad contain old positions or zero, so nothing is cleared. */
		drv_lane_skip(l, rx, drv_lane_units(f));
	}
}

/*
 * Does the record that the last peek returned lie in the lane, and its payload in it? Otherwise a
 * process wrote to the lane what no producer writes: do not read or release the record. Consumer
 * only.
 */
static inline int drv_lane_is_sound(const struct drv_lane_rx *rx, const struct drv_lane_record *rec,
				    uint64_t flag)
{
	unsigned k = drv_lane_units(flag);

	return drv_lane_kind(flag) == DRV_LANE_DATA &&
	       k - 1 < DRV_LANE_UNITS - (unsigned)(rx->head & (DRV_LANE_UNITS - 1)) &&
	       rec->bytes + DRV_LANE_FIXED <= k * DRV_LANE_UNIT;
}

/* Release the record that the last peek returned. Consumer only. */
static inline void drv_lane_release(struct drv_lane *l, struct drv_lane_rx *rx,
				    struct drv_lane_record *rec, uint64_t flag)
{
	unsigned k = drv_lane_units(flag);

	for (unsigned i = 1; i < k; i++) /* atomic, since drv_lane_is_ready() may read any unit */
		atomic_store_relaxed(
		    (uint64_t *)(void *)((unsigned char *)rec + (size_t)i * DRV_LANE_UNIT), 0);
	drv_lane_skip(l, rx, k);
}

#endif
