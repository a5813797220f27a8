/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states that a search has reached: each once, in the order of discovery, with the state from
 * which it was reached first. A breadth-first search takes them one after the other by number.
 *
 * States are plain bytes, so clear a state before you fill it in. Begin with zeros and `bytes`.
 */
#ifndef TESTS_MODEL_STATE_SET_H
#define TESTS_MODEL_STATE_SET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state_set {
	size_t bytes; /* of a state */
	uint32_t count, room, mask;
	unsigned char *states;   /* [room] */
	uint32_t *parent, *slot; /* [room] number of the predecessor; place in the table */
	uint32_t *table;         /* [mask + 1] number of a state + 1; 0: free */
};

static inline const void *state_set_get(const struct state_set *s, uint32_t number)
{
	return s->states + number * s->bytes;
}

static inline uint32_t state_set_place(const struct state_set *s, const void *state)
{
	const unsigned char *p = state;
	uint64_t h = 14695981039346656037u, word;
	size_t i;

	for (i = 0; i + 8 <= s->bytes; i += 8) {
		memcpy(&word, p + i, 8);
		h = (h ^ word) * 1099511628211u;
		h ^= h >> 32;
	}
	for (; i < s->bytes; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return (uint32_t)(h ^ h >> 29) & s->mask;
}

static inline void state_set_enter(struct state_set *s, uint32_t number, uint32_t place)
{
	s->table[place] = number + 1;
	s->slot[number] = place;
}

/* Double the room. Ends the process if there is no memory. */
static inline void state_set_grow(struct state_set *s)
{
	s->room = s->room ? s->room * 2 : 1u << 12;
	s->mask = s->room * 2 - 1;
	s->states = realloc(s->states, s->room * s->bytes);
	s->parent = realloc(s->parent, s->room * sizeof *s->parent);
	s->slot = realloc(s->slot, s->room * sizeof *s->slot);
	free(s->table);
	s->table = calloc((size_t)s->mask + 1, sizeof *s->table);
	if (!s->states || !s->parent || !s->slot || !s->table) {
		fprintf(stderr, "no memory for %u states\n", s->room);
		exit(2);
	}
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t at = state_set_place(s, state_set_get(s, i));

		while (s->table[at])
			at = (at + 1) & s->mask;
		state_set_enter(s, i, at);
	}
}

/* Add a state that was reached from state number `from`, unless it is there. */
static inline void state_set_add(struct state_set *s, const void *state, uint32_t from)
{
	uint32_t at;

	if (s->count == s->room)
		state_set_grow(s);
	for (at = state_set_place(s, state); s->table[at]; at = (at + 1) & s->mask)
		if (!memcmp(state_set_get(s, s->table[at] - 1), state, s->bytes))
			return;
	memcpy(s->states + s->count * s->bytes, state, s->bytes);
	s->parent[s->count] = from;
	state_set_enter(s, s->count++, at);
}

/* Remove all states and keep the memory. Takes time for each state, not for the room. */
static inline void state_set_clear(struct state_set *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->table[s->slot[i]] = 0;
	s->count = 0;
}

static inline void state_set_free(struct state_set *s)
{
	free(s->states);
	free(s->parent);
	free(s->slot);
	free(s->table);
	*s = (struct state_set){.bytes = s->bytes};
}

#endif
