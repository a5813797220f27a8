/* SPDX-License-Identifier: BSD-3-Clause */
/* Folding and copying strided layouts (stride.h). A pure module: it knows no job. */
#include <string.h>

#include "gasnet/vis/stride.h"

void gexi_stride_describe(struct gexi_stride *s, const size_t *count, const ptrdiff_t *self,
			  const ptrdiff_t *peer, size_t levels)
{
	ptrdiff_t self_end = 0, peer_end = 0; /* strides of a dimension that goes on */
	size_t kept = 0;

	for (size_t d = 0; d < levels; d++) {
		struct gexi_dimension *x;

		if (count[d] == 1)
			continue;
		if (!count[d])
			s->bytes = 0;
		if (kept && self[d] == self_end && peer[d] == peer_end)
			s->dim[kept - 1].count *= count[d];
		else
			s->dim[kept++] = (struct gexi_dimension){count[d], self[d], peer[d]};
		x = &s->dim[kept - 1];
		self_end = x->self * (ptrdiff_t)x->count;
		peer_end = x->peer * (ptrdiff_t)x->count;
	}
	s->levels = kept;
}

/* Drop dimensions of one item. An empty transfer gets elements of 0 bytes. */
static void drop_single(struct gexi_stride *s)
{
	size_t kept = 0;

	for (size_t d = 0; d < s->levels; d++) {
		if (!s->dim[d].count)
			s->bytes = 0;
		if (s->dim[d].count != 1)
			s->dim[kept++] = s->dim[d];
	}
	s->levels = s->bytes ? kept : 0;
}

/* Walk dimensions with negative peer strides from their other end. */
static void turn_around(struct gexi_stride *s)
{
	for (size_t d = 0; d < s->levels; d++) {
		struct gexi_dimension *x = &s->dim[d];

		if (x->peer >= 0)
			continue;
		s->self += x->self * (ptrdiff_t)(x->count - 1);
		s->peer += x->peer * (ptrdiff_t)(x->count - 1);
		x->self = -x->self;
		x->peer = -x->peer;
	}
}

/* Stable: insertion sort. Dimensions are few, and mostly sorted. */
static void sort_by_peer(struct gexi_stride *s)
{
	for (size_t d = 1; d < s->levels; d++) {
		struct gexi_dimension x = s->dim[d];
		size_t at = d;

		for (; at && s->dim[at - 1].peer > x.peer; at--)
			s->dim[at] = s->dim[at - 1];
		s->dim[at] = x;
	}
}

static void fold_into_element(struct gexi_stride *s)
{
	size_t first = 0;

	while (first < s->levels && s->dim[first].self == (ptrdiff_t)s->bytes &&
	       s->dim[first].peer == (ptrdiff_t)s->bytes)
		s->bytes *= s->dim[first++].count;
	s->levels -= first;
	memmove(s->dim, s->dim + first, s->levels * sizeof(*s->dim));
}

static void fold_neighbours(struct gexi_stride *s)
{
	size_t last = 0;

	if (!s->levels)
		return;
	for (size_t d = 1; d < s->levels; d++) {
		struct gexi_dimension *low = &s->dim[last], *high = &s->dim[d];
		ptrdiff_t n = (ptrdiff_t)low->count;

		if (high->self == low->self * n && high->peer == low->peer * n)
			low->count *= high->count;
		else
			s->dim[++last] = *high;
	}
	s->levels = last + 1;
}

void gexi_stride_fold(struct gexi_stride *s)
{
	drop_single(s);
	turn_around(s);
	sort_by_peer(s);
	fold_into_element(s);
	fold_neighbours(s);
}

size_t gexi_stride_count(const struct gexi_stride *s)
{
	size_t n = 1;

	for (size_t d = 0; d < s->levels; d++)
		n *= s->dim[d].count;
	return n;
}

/* One row; `bytes` is a constant in the cases that matter, so memcpy is a move. */
static inline __attribute__((always_inline)) void copy_row(char *to, ptrdiff_t to_stride,
							   const char *from, ptrdiff_t from_stride,
							   size_t count, size_t bytes)
{
	for (size_t i = 0; i < count; i++)
		memcpy(to + (ptrdiff_t)i * to_stride, from + (ptrdiff_t)i * from_stride, bytes);
}

static void copy_line(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
		      size_t count, size_t bytes)
{
	switch (bytes) {
	case 4:
		copy_row(to, to_stride, from, from_stride, count, 4);
		break;
	case 8:
		copy_row(to, to_stride, from, from_stride, count, 8);
		break;
	case 16:
		copy_row(to, to_stride, from, from_stride, count, 16);
		break;
	case 64:
		copy_row(to, to_stride, from, from_stride, count, 64);
		break;
	default:
		copy_row(to, to_stride, from, from_stride, count, bytes);
	}
}

/* The same where one side has no gaps. */
static inline __attribute__((always_inline)) char *
pack_row(char *self, ptrdiff_t stride, char *data, size_t count, size_t bytes, bool to_data)
{
	for (size_t i = 0; i < count; i++, data += bytes)
		memcpy(to_data ? data : self + (ptrdiff_t)i * stride,
		       to_data ? self + (ptrdiff_t)i * stride : data, bytes);
	return data;
}

static char *pack_levels(char *self, const struct gexi_dimension *dim, size_t levels, size_t bytes,
			 char *data, bool to_data)
{
	size_t count;
	ptrdiff_t stride;

	if (!levels)
		return pack_row(self, 0, data, 1, bytes, to_data);
	count = dim[levels - 1].count;
	stride = dim[levels - 1].self;
	if (levels > 1) {
		for (size_t i = 0; i < count; i++)
			data = pack_levels(self + (ptrdiff_t)i * stride, dim, levels - 1, bytes,
					   data, to_data);
		return data;
	}
	switch (bytes) {
	case 4:
		return pack_row(self, stride, data, count, 4, to_data);
	case 8:
		return pack_row(self, stride, data, count, 8, to_data);
	case 16:
		return pack_row(self, stride, data, count, 16, to_data);
	case 64:
		return pack_row(self, stride, data, count, 64, to_data);
	default:
		return pack_row(self, stride, data, count, bytes, to_data);
	}
}

void gexi_stride_pack(const struct gexi_stride *s, char *data, bool to_data)
{
	pack_levels(s->self, s->dim, s->levels, s->bytes, data, to_data);
}

static void copy_levels(char *to, const char *from, const struct gexi_dimension *dim, size_t levels,
			size_t bytes, bool to_peer)
{
	const struct gexi_dimension *top = &dim[levels - 1];
	ptrdiff_t to_stride = to_peer ? top->peer : top->self,
		  from_stride = to_peer ? top->self : top->peer;

	if (levels == 1) {
		copy_line(to, to_stride, from, from_stride, top->count, bytes);
		return;
	}
	for (size_t i = 0; i < top->count; i++)
		copy_levels(to + (ptrdiff_t)i * to_stride, from + (ptrdiff_t)i * from_stride, dim,
			    levels - 1, bytes, to_peer);
}

void gexi_stride_copy(const struct gexi_stride *s, bool to_peer)
{
	char *to = to_peer ? s->peer : s->self;
	const char *from = to_peer ? s->self : s->peer;

	if (!s->bytes)
		return;
	if (s->levels)
		copy_levels(to, from, s->dim, s->levels, s->bytes, to_peer);
	else
		memmove(to, from, s->bytes);
}
