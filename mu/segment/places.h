/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which task is at a place (node, T) of the torus: a table that each user builds from the segment.
 */
#ifndef MU_SEGMENT_PLACES_H
#define MU_SEGMENT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/segment/host.h"

struct mu_places {
	struct emu_shape shape;
	uint32_t *task; /* [nodes * T]; UINT32_MAX: no task is there */
};

/* Build the table. Returns 0 or -ENOMEM. */
int mu_places_make(struct mu_places *places, struct mu_host *host);
/* Free the table. A zeroed structure is allowed. */
void mu_places_free(struct mu_places *places);

/* Return the task, or UINT32_MAX. node must belong to the shape. */
static inline uint32_t mu_places_task(const struct mu_places *places, uint32_t node, unsigned t)
{
	return t < places->shape.t ? places->task[node * places->shape.t + t] : UINT32_MAX;
}

/* The same for a destination word of a packet, which may contain anything. */
static inline uint32_t mu_places_task_at(const struct mu_places *places, uint32_t coords,
					 unsigned t)
{
	struct emu_coord x;

	emu_coord_from_word(coords, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		if (x.c[d] >= places->shape.n[d])
			return UINT32_MAX;
	return mu_places_task(places, emu_coord_node(&places->shape, &x), t);
}

/* What was looked up last: mostly the next packet goes there, too. Zeroed, it knows nothing. */
struct mu_places_last {
	uint32_t coords, number, task;
	bool is_known;
};

/*
 * The task whose channel `number` (T * channels + channel) is at the coordinates that a destination
 * word names, or UINT32_MAX. One thread at a time uses a `last`.
 */
static inline uint32_t mu_places_find(const struct mu_places *places, struct mu_places_last *last,
				      uint32_t coords, uint32_t number, unsigned channels)
{
	if (!last->is_known || last->coords != coords || last->number != number)
		*last = (struct mu_places_last){
		    coords, number, mu_places_task_at(places, coords, number / channels), true};
	return last->task;
}

#endif
