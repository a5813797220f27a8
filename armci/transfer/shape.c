/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided layouts: merged, measured, walked and packed. Local work only. */
#include <string.h>

#include "armci/core/api.h"
#include "armci/transfer/shape.h"

static void level_drop(struct armci_shape *s, int k)
{
	int i;

	for (i = k; i < s->levels; i++)
		s->count[i] = s->count[i + 1];
	for (i = k - 1; i < s->levels - 1; i++) {
		s->lstride[i] = s->lstride[i + 1];
		s->rstride[i] = s->rstride[i + 1];
	}
	s->levels--;
}

size_t armci_shape_normalise(struct armci_shape *s)
{
	int k;

	for (k = 0; k <= s->levels; k++)
		if (!s->count[k])
			return 0;
	for (k = s->levels; k >= 1; k--)
		if (s->count[k] == 1)
			level_drop(s, k);
	while (s->levels && s->lstride[0] == (int64_t)s->count[0] &&
	       s->rstride[0] == (int64_t)s->count[0]) {
		size_t bytes = s->count[0] * s->count[1];

		level_drop(s, 1);
		s->count[0] = bytes;
	}
	/* Merge a level whose items follow on those of the level below, on both sides. */
	for (k = 1; k < s->levels; k++)
		while (k < s->levels && s->lstride[k] == s->lstride[k - 1] * (int64_t)s->count[k] &&
		       s->rstride[k] == s->rstride[k - 1] * (int64_t)s->count[k]) {
			size_t count = s->count[k] * s->count[k + 1];

			level_drop(s, k + 1);
			s->count[k] = count;
		}
	return armci_shape_bytes(s, s->levels);
}

/* Items [from, from + n) of level k (k = 0: bytes) of s, as a shape with k levels. */
static struct armci_shape take_slab(const struct armci_shape *s, int k, size_t from, size_t n)
{
	struct armci_shape t = *s;

	t.levels = k;
	t.count[k] = n;
	t.local += k ? s->lstride[k - 1] * (int64_t)from : (int64_t)from;
	t.remote += k ? (uintptr_t)(s->rstride[k - 1] * (int64_t)from) : from;
	return t;
}

int armci_shape_cut(const struct armci_shape *s, size_t most, armci_slab_fn fn, void *arg)
{
	int k = s->levels, rc = 0;
	size_t item = k ? armci_shape_bytes(s, k - 1) : 1, per = most / item, i;

	if (per >= s->count[k])
		return fn(arg, s);
	if (per == 0) { /* One item of the outermost level is too long, so cut the item. */
		for (i = 0; i < s->count[k] && !rc; i++) {
			struct armci_shape t = take_slab(s, k, i, 1);

			t.levels = k - 1;
			rc = armci_shape_cut(&t, most, fn, arg);
		}
		return rc;
	}
	for (i = 0; i < s->count[k] && !rc; i += per) {
		struct armci_shape t =
		    take_slab(s, k, i, s->count[k] - i < per ? s->count[k] - i : per);

		rc = fn(arg, &t);
	}
	return rc;
}

size_t armci_shape_bytes(const struct armci_shape *s, int levels)
{
	size_t bytes = s->count[0];
	int k;

	for (k = 1; k <= levels; k++)
		bytes *= s->count[k];
	return bytes;
}

void armci_shape_extent(const struct armci_shape *s, int64_t *lo, int64_t *hi)
{
	int k;

	*lo = 0;
	*hi = (int64_t)s->count[0];
	for (k = 1; k <= s->levels; k++) {
		int64_t reach = s->rstride[k - 1] * (int64_t)(s->count[k] - 1);

		if (reach < 0)
			*lo += reach;
		else
			*hi += reach;
	}
}

void armci_shape_walk(const struct armci_shape *s, armci_piece_fn fn, void *arg)
{
	size_t at[ARMCI_LEVELS + 1] = {0};
	char *local = s->local;
	uintptr_t remote = s->remote;
	int k;

	for (;;) {
		fn(arg, local, remote, s->count[0]);
		for (k = 1; k <= s->levels; k++) {
			local += s->lstride[k - 1];
			remote += (uintptr_t)s->rstride[k - 1];
			if (++at[k] < s->count[k])
				break;
			local -= s->lstride[k - 1] * (int64_t)s->count[k];
			remote -= (uintptr_t)(s->rstride[k - 1] * (int64_t)s->count[k]);
			at[k] = 0;
		}
		if (k > s->levels)
			return;
	}
}

struct cursor {
	char *buf;
};

static void piece_pack(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct cursor *c = arg;

	armci_copy(c->buf, local, bytes);
	c->buf += bytes;
}

static void piece_unpack(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct cursor *c = arg;

	armci_copy(local, c->buf, bytes);
	c->buf += bytes;
}

void armci_shape_pack(const struct armci_shape *s, char *buf)
{
	struct cursor c = {buf};

	armci_shape_walk(s, piece_pack, &c);
}

void armci_shape_unpack(const struct armci_shape *s, const char *buf)
{
	struct cursor c = {(char *)(uintptr_t)buf};

	armci_shape_walk(s, piece_unpack, &c);
}

static bool shape_of_patch(struct armci_shape *s, void *ptr, int levels, const int *stride,
			   const int *count)
{
	int k;

	if (levels < 0 || levels > ARMCI_LEVELS)
		return false;
	s->local = ptr;
	s->remote = 0;
	s->levels = levels;
	for (k = 0; k <= levels; k++) {
		if (count[k] <= 0)
			return false;
		s->count[k] = (size_t)count[k];
		if (k)
			s->lstride[k - 1] = s->rstride[k - 1] = stride[k - 1];
	}
	return true;
}

#pragma GCC visibility push(default)

void armci_write_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf)
{
	struct armci_shape s;

	if (shape_of_patch(&s, ptr, stride_levels, stride_arr, count))
		armci_shape_pack(&s, buf);
}

void armci_read_strided(void *ptr, int stride_levels, int *stride_arr, int *count, char *buf)
{
	struct armci_shape s;

	if (shape_of_patch(&s, ptr, stride_levels, stride_arr, count))
		armci_shape_unpack(&s, buf);
}

#pragma GCC visibility pop
