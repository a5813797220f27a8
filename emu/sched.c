/* SPDX-License-Identifier: BSD-3-Clause */
/* The event queue. Hot: bench/micro/sim_rate.c. */
#include "emu/sched.h"

#include <errno.h>
#include <stdlib.h>

static inline int is_before(const struct emu_event *a, const struct emu_event *b)
{
	unsigned __int128 x = (unsigned __int128)a->time << 64 | a->order;
	unsigned __int128 y = (unsigned __int128)b->time << 64 | b->order;

	return x < y;
}

int emu_sched_init(struct emu_sched *s, uint32_t room)
{
	if (room < 16)
		room = 16;
	s->heap = malloc(room * sizeof *s->heap);
	if (!s->heap)
		return -ENOMEM;
	s->count = 0;
	s->room = room;
	s->sequence = s->taken = 0;
	return 0;
}

void emu_sched_fini(struct emu_sched *s)
{
	free(s->heap);
	s->heap = NULL;
	s->count = s->room = 0;
}

static __attribute__((noinline)) int heap_grow(struct emu_sched *s)
{
	struct emu_event *more;

	if (s->room > UINT32_MAX / 2)
		return -ENOMEM;
	more = realloc(s->heap, (size_t)s->room * 2 * sizeof *more);
	if (!more)
		return -ENOMEM;
	s->heap = more;
	s->room *= 2;
	return 0;
}

int emu_sched_push(struct emu_sched *s, uint64_t time, uint32_t node, uint32_t port, uint8_t kind,
		   uint32_t arg, uint16_t mark)
{
	struct emu_event e = {.time = time, .kind = kind, .arg = arg, .mark = mark};
	uint32_t i;

	if (__builtin_expect(s->count == s->room, 0) && heap_grow(s))
		return -ENOMEM;
	e.order = (uint64_t)node << 46 | (uint64_t)port << EMU_SCHED_SEQUENCE_BITS |
		  (s->sequence++ & ((1ull << EMU_SCHED_SEQUENCE_BITS) - 1));
	for (i = s->count++; i;) {
		uint32_t parent = (i - 1) / 4;

		if (!is_before(&e, &s->heap[parent]))
			break;
		s->heap[i] = s->heap[parent];
		i = parent;
	}
	s->heap[i] = e;
	return 0;
}

int emu_sched_pop(struct emu_sched *s, struct emu_event *first)
{
	struct emu_event *h = s->heap, last;
	uint32_t n, i = 0;

	if (!s->count)
		return 0;
	*first = h[0];
	s->taken++;
	n = --s->count;
	last = h[n];
	for (;;) {
		uint32_t child = 4 * i + 1, best = child, end = child + 4 < n ? child + 4 : n;

		if (child >= n)
			break;
		for (uint32_t c = child + 1; c < end; c++)
			if (is_before(&h[c], &h[best]))
				best = c;
		if (!is_before(&h[best], &last))
			break;
		h[i] = h[best];
		i = best;
	}
	if (n)
		h[i] = last;
	return 1;
}
