/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes (drivers/base/lane.h) of a channel at other channels of its host, and those that others
 * have here. A channel that has sent another MU_LANE_RECORDS records through the ring claims a lane
 * there, while there are any.
 */
#ifndef MU_ENGINE_LANE_H
#define MU_ENGINE_LANE_H

#include <stdint.h>

#include "drivers/base/lane.h"
#include "mu/process.h"

#define MU_LANE_RECORDS 8u
#define MU_LANE_REFUSED UINT32_MAX /* mu_near_path.ring_records: all lanes were taken */

/*
 * The lane of this path, ready for a record, or NULL: use the ring. Called where no record fitted
 * the lane, there is none yet, or the lane has something to do first.
 */
struct drv_lane *mu_lane_get(struct mu_channel *ch, struct mu_near_path *path);

/* A record that was put into the ring comes before what follows in the lane. lane may be NULL.
 * position: as published. */
static inline void mu_lane_follow_ring(struct drv_lane *lane, uint64_t position)
{
	if (lane)
		lane->after = (position >> 16) - 1 + (position & 0xffff);
}

/* Engine: up to `budget` records of each lane in the bitmap. The number taken, or -EAGAIN: there
 * was no room to store one. */
int mu_lane_receive(struct mu_channel *ch, uint32_t lanes, int budget, int dispatch);

/* Bitmap of the lanes that others have at this channel. */
static inline uint32_t mu_lanes_in_use(const struct mu_channel *ch)
{
	return atomic_load_acquire(&ch->a->ring.lanes_claimed) & ((1u << MU_LANES) - 1);
}

/* Any thread: does a lane hold a record? only_dead: one of a task that is unreachable. */
int mu_lane_has_record(struct mu_channel *ch, int only_dead);
void mu_lane_open(struct mu_channel *ch);
void mu_lane_close(struct mu_channel *ch);

#endif
