/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/flights.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t first_place(const struct flights *f, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15u >> 32) & (f->room - 1);
}

static struct flight *place_of(const struct flights *f, uint64_t key)
{
	uint64_t i = first_place(f, key);

	while (f->at[i].key && f->at[i].key != key)
		i = (i + 1) & (f->room - 1);
	return &f->at[i];
}

int flights_add(struct flights *f, uint64_t key, uint64_t since_ps)
{
	struct flight *to;

	if (2 * (f->used + 1) > f->room) {
		struct flights more = {.room = f->room ? 2 * f->room : 1024, .used = f->used};

		more.at = calloc(more.room, sizeof *more.at);
		if (!more.at)
			return -ENOMEM;
		for (uint64_t i = 0; i < f->room; i++)
			if (f->at[i].key)
				*place_of(&more, f->at[i].key) = f->at[i];
		free(f->at);
		*f = more;
	}
	to = place_of(f, key);
	f->used += !to->key;
	*to = (struct flight){key, since_ps};
	return 0;
}

const struct flight *flights_find(const struct flights *f, uint64_t key)
{
	const struct flight *at = f->room ? place_of(f, key) : NULL;

	return at && at->key ? at : NULL;
}

void flights_remove(struct flights *f, const struct flight *flight)
{
	uint64_t hole = (uint64_t)(flight - f->at), i = hole, mask = f->room - 1;

	/* Entries behind the hole whose home lies at or before it move up: a search stops at the
	 * first free place. */
	for (;;) {
		i = (i + 1) & mask;
		if (!f->at[i].key)
			break;
		if (((i - first_place(f, f->at[i].key)) & mask) >= ((i - hole) & mask)) {
			f->at[hole] = f->at[i];
			hole = i;
		}
	}
	f->at[hole].key = 0;
	f->used--;
}

void flights_free(struct flights *f)
{
	free(f->at);
	*f = (struct flights){0};
}
