/* SPDX-License-Identifier: BSD-3-Clause */
/* Building types, and walking them. */
#include <stdlib.h>
#include <string.h>

#include "pami/query.h"
#include "pami/state.h"
#include "pami/type.h"

static struct pami_type *type_of(pami_type_t type)
{
	struct pami_type *t = type;

	return t && t->magic == PAMI_TYPE_MAGIC ? t : NULL;
}

PAMI_EXPORT pami_result_t PAMI_Type_create(pami_type_t *type)
{
	struct pami_type *t = calloc(1, sizeof *t);

	if (!t)
		return pami_result(-ENOMEM);
	t->magic = PAMI_TYPE_MAGIC;
	t->refs = 1;
	t->element = PAMI_ELEMENT_NONE;
	*type = t;
	return PAMI_SUCCESS;
}

static size_t gcd(size_t a, size_t b)
{
	while (b) {
		size_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* Append a vector of runs; runs that touch become one. */
static int add_piece(struct pami_type *t, size_t disp, size_t bytes, size_t count, size_t stride)
{
	struct pami_type_piece *last = t->pieces ? &t->piece[t->pieces - 1] : NULL;

	if (!bytes || !count)
		return 0;
	if (count > 1 && stride == bytes) {
		bytes *= count;
		count = 1;
	}
	if (last && last->count == 1 && count == 1 && last->disp + last->bytes == disp) {
		last->bytes += bytes;
		t->data_size += bytes;
		return 0;
	}
	if (t->pieces == t->room) {
		size_t room = t->room ? 2 * t->room : 4;
		struct pami_type_piece *more = realloc(t->piece, room * sizeof *more);

		if (!more)
			return -ENOMEM;
		t->piece = more;
		t->room = room;
	}
	t->piece[t->pieces++] = (struct pami_type_piece){ disp, bytes, count, stride, t->data_size };
	t->data_size += bytes * count;
	return 0;
}

PAMI_EXPORT pami_result_t PAMI_Type_add_simple(pami_type_t type, size_t bytes, size_t offset, size_t count,
                                               size_t stride)
{
	struct pami_type *t = type_of(type);

	if (!t || t->complete)
		return pami_fail(PAMI_INVAL, "not a type, or complete already");
	if (add_piece(t, t->extent + offset, bytes, count, stride))
		return pami_result(-ENOMEM);
	if (count && bytes) {
		t->divisor = gcd(t->divisor, bytes);
		t->element = PAMI_ELEMENT_NONE;
	}
	t->extent += offset + count * stride;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Type_add_typed(pami_type_t type, pami_type_t subtype, size_t offset,
                                              size_t count, size_t stride)
{
	struct pami_type *t = type_of(type), *sub = type_of(subtype);
	const struct pami_type_piece *p;
	int rc = 0;

	if (!t || t->complete)
		return pami_fail(PAMI_INVAL, "not a type, or complete already");
	if (!sub || !sub->complete)
		return pami_fail(PAMI_INVAL, "the subtype is not complete");
	if (count && sub->data_size) {
		t->element = t->data_size && t->element != sub->element ? PAMI_ELEMENT_NONE : sub->element;
		t->divisor = gcd(t->divisor, sub->divisor);
	}
	t->extent += offset;
	if (sub->pieces == 1 && sub->piece[0].count == 1) {
		p = sub->piece;
		rc = add_piece(t, t->extent + p->disp, p->bytes, count, stride);
	} else {
		for (size_t i = 0; i < count && !rc; i++)
			for (p = sub->piece; p < sub->piece + sub->pieces && !rc; p++)
				rc = add_piece(t, t->extent + i * stride + p->disp, p->bytes, p->count,
				               p->stride);
	}
	t->extent += count * stride;
	return pami_result(rc);
}

/* Is one instance, and so any number, one run of bytes at 0? */
static int one_run(const struct pami_type *t)
{
	return t->pieces == 1 && t->piece[0].count == 1 && !t->piece[0].disp && t->piece[0].bytes == t->extent;
}

void pami_type_freeze(struct pami_type *t)
{
	for (const struct pami_type_piece *p = t->piece; p < t->piece + t->pieces; p++) {
		intptr_t a = (intptr_t)p->disp, b = (intptr_t)(p->disp + (p->count - 1) * p->stride);
		intptr_t lo = a < b ? a : b, hi = (a < b ? b : a) + (intptr_t)p->bytes;

		t->lo = p == t->piece || lo < t->lo ? lo : t->lo;
		t->hi = p == t->piece || hi > t->hi ? hi : t->hi;
	}
	t->contiguous = (uint8_t)one_run(t);
	t->complete = 1;
}

PAMI_EXPORT pami_result_t PAMI_Type_complete(pami_type_t type, size_t atom_size)
{
	struct pami_type *t = type_of(type);

	if (!t || t->complete)
		return pami_fail(PAMI_INVAL, "not a type, or complete already");
	if (!atom_size || atom_size > PAMI_ATOM_MAX || t->divisor % atom_size)
		return pami_fail(PAMI_INVAL, "the atom size is not 1 .. 128 or does not divide every piece");
	t->atom = atom_size;
	pami_type_freeze(t);
	return PAMI_SUCCESS;
}

void pami_type_retain(pami_type_t type)
{
	struct pami_type *t = type;

	if (!t->predefined)
		__atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED);
}

void pami_type_release(pami_type_t type)
{
	struct pami_type *t = type;

	if (t->predefined || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	t->magic = 0;
	free(t->piece);
	free(t->image);
	free(t);
}

PAMI_EXPORT pami_result_t PAMI_Type_destroy(pami_type_t *type)
{
	struct pami_type *t = type ? type_of(*type) : NULL;

	if (!t || t->predefined)
		return pami_fail(PAMI_INVAL, "not a type that was created");
	pami_type_release(t);
	*type = NULL;
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Type_query(pami_type_t type, pami_configuration_t configuration[],
                                          size_t num_configs)
{
	struct pami_type *t = type_of(type);

	if (!t || !t->complete)
		return pami_fail(PAMI_INVAL, "not a complete type");
	for (size_t i = 0; i < num_configs; i++)
		switch ((int)configuration[i].name) {
		case PAMI_TYPE_DATA_SIZE:
			configuration[i].value.intval = t->data_size;
			break;
		case PAMI_TYPE_DATA_EXTENT:
			configuration[i].value.intval = t->extent;
			break;
		case PAMI_TYPE_ATOM_SIZE:
			configuration[i].value.intval = t->atom;
			break;
		default:
			return pami_query_unknown();
		}
	return PAMI_SUCCESS;
}

void pami_cursor_start(struct pami_cursor *c, pami_type_t type, void *base, size_t offset)
{
	const struct pami_type *t = type;
	size_t lo = 0, hi = t->pieces, rest;

	*c = (struct pami_cursor){ .t = t, .instance = (uintptr_t)base };
	if (!t->data_size)
		return;
	c->instance += offset / t->data_size * t->extent;
	rest = offset % t->data_size;
	while (hi - lo > 1) { /* the last piece that starts at or before `rest` */
		size_t mid = lo + (hi - lo) / 2;

		if (t->piece[mid].start <= rest)
			lo = mid;
		else
			hi = mid;
	}
	c->piece = lo;
	c->run = (rest - t->piece[lo].start) / t->piece[lo].bytes;
	c->byte = (rest - t->piece[lo].start) % t->piece[lo].bytes;
}

size_t pami_cursor_run(const struct pami_cursor *c, char **at)
{
	const struct pami_type_piece *p = &c->t->piece[c->piece];

	if (!c->t->data_size)
		return 0;
	*at = (char *)(c->instance + p->disp + c->run * p->stride + c->byte);
	return p->bytes - c->byte;
}

void pami_cursor_move(struct pami_cursor *c, size_t n)
{
	const struct pami_type_piece *p = &c->t->piece[c->piece];

	c->byte += n;
	if (c->byte < p->bytes)
		return;
	c->byte = 0;
	if (++c->run < p->count)
		return;
	c->run = 0;
	if (++c->piece < c->t->pieces)
		return;
	c->piece = 0;
	c->instance += c->t->extent;
}

/* n runs of `bytes`: apart by one stride here, by the other there. */
static void copy_runs(char *to, size_t to_stride, const char *from, size_t from_stride, size_t bytes, size_t n)
{
#define RUNS(size)                                                                                   \
	case size:                                                                                   \
		for (; n; n--, to += to_stride, from += from_stride)                                 \
			memcpy(to, from, size);                                                      \
		return
	switch (bytes) {
		RUNS(4);
		RUNS(8);
		RUNS(16);
		RUNS(32);
		RUNS(64);
	default:
		for (; n; n--, to += to_stride, from += from_stride)
			memcpy(to, from, bytes);
	}
#undef RUNS
}

/*
 * Hot: between a layout and a plain stream, whole pieces at a time. Returns how many bytes: up to the end of the
 * cursor's piece, or to that of the stream.
 */
static size_t copy_piece(struct pami_cursor *c, char *stream, size_t bytes, int scatter)
{
	const struct pami_type_piece *p = &c->t->piece[c->piece];
	char *at = (char *)(c->instance + p->disp + c->run * p->stride + c->byte);
	size_t n = p->count - c->run, done = p->bytes - c->byte;

	if (c->byte || bytes < p->bytes) { /* a part of a run */
		done = done < bytes ? done : bytes;
		memcpy(scatter ? at : stream, scatter ? stream : at, done);
		pami_cursor_move(c, done);
		return done;
	}
	if (n > bytes / p->bytes)
		n = bytes / p->bytes;
	if (scatter)
		copy_runs(at, p->stride, stream, p->bytes, p->bytes, n);
	else
		copy_runs(stream, p->bytes, at, p->stride, p->bytes, n);
	c->run += n - 1; /* the last of them by pami_cursor_move(), which knows what comes then */
	pami_cursor_move(c, p->bytes);
	return n * p->bytes;
}

static void copy_stream(pami_type_t t, void *base, size_t offset, char *stream, size_t bytes, int scatter)
{
	struct pami_cursor c;

	pami_cursor_start(&c, t, base, offset);
	if (!c.t->data_size)
		return;
	while (bytes) {
		size_t n = copy_piece(&c, stream, bytes, scatter);

		stream += n;
		bytes -= n;
	}
}

/* Move between two cursors; target's element decides what predefined functions do. */
static void transform(struct pami_cursor *to, struct pami_cursor *from, size_t bytes, unsigned element,
                      pami_data_function fn, void *cookie)
{
	while (bytes) {
		char *target = NULL, *source = NULL;
		size_t n = pami_cursor_run(to, &target), m = pami_cursor_run(from, &source);

		n = n < m ? n : m;
		n = n < bytes ? n : bytes;
		if (!n)
			return; /* a type without data */
		pami_data_apply(fn, element, target, source, n, cookie);
		pami_cursor_move(to, n);
		pami_cursor_move(from, n);
		bytes -= n;
	}
}

static unsigned element_of(const struct pami_type *a, const struct pami_type *b)
{
	return a->element != PAMI_ELEMENT_NONE && a->element != PAMI_ELEMENT_BYTE ? a->element : b->element;
}

/* A function on each run of a layout and its part of a plain stream. */
static void apply_stream(pami_type_t t, void *base, size_t offset, char *stream, size_t bytes, int scatter,
                         pami_data_function fn, void *cookie)
{
	unsigned element = ((struct pami_type *)t)->element;
	struct pami_cursor c;

	if (pami_type_contiguous(t)) {
		char *at = (char *)base + offset;

		pami_data_apply(fn, element, scatter ? at : stream, scatter ? stream : at, bytes, cookie);
		return;
	}
	if (fn == pami_data_copy) {
		copy_stream(t, base, offset, stream, bytes, scatter);
		return;
	}
	pami_cursor_start(&c, t, base, offset);
	while (bytes) {
		char *at = NULL;
		size_t n = pami_cursor_run(&c, &at);

		n = n < bytes ? n : bytes;
		if (!n)
			return; /* a type without data */
		pami_data_apply(fn, element, scatter ? at : stream, scatter ? stream : at, n, cookie);
		pami_cursor_move(&c, n);
		stream += n;
		bytes -= n;
	}
}

void pami_type_scatter(pami_type_t t, void *base, size_t offset, const void *from, size_t bytes,
                       pami_data_function fn, void *cookie)
{
	apply_stream(t, base, offset, (char *)(uintptr_t)from, bytes, 1, fn, cookie);
}

void pami_type_gather(pami_type_t t, const void *base, size_t offset, void *to, size_t bytes,
                      pami_data_function fn, void *cookie)
{
	apply_stream(t, (void *)(uintptr_t)base, offset, to, bytes, 0, fn, cookie);
}

int pami_type_reachable(pami_type_t t, const void *base, size_t bytes, int write)
{
	uintptr_t from = 1, to = 0; /* known to be there */
	struct pami_cursor c;

	pami_cursor_start(&c, t, (void *)(uintptr_t)base, 0);
	while (bytes) {
		char *at = NULL;
		size_t n = pami_cursor_run(&c, &at);

		n = n < bytes ? n : bytes;
		if (!n)
			return 0;
		if ((uintptr_t)at < from || (uintptr_t)at + n > to || (uintptr_t)at + n < (uintptr_t)at) {
			if (mu_reachable((uintptr_t)at, n, write))
				return -EFAULT;
			from = (uintptr_t)at & ~(uintptr_t)4095;
			to = ((uintptr_t)at + n + 4095) & ~(uintptr_t)4095;
		}
		pami_cursor_move(&c, n);
		bytes -= n;
	}
	return 0;
}

/* Where `bytes` payload bytes (more than 0) from `offset` on may lie. */
static void span(const struct pami_type *t, const void *base, size_t offset, size_t bytes, intptr_t *lo, intptr_t *hi)
{
	size_t first, last;

	if (t->contiguous) {
		*lo = (intptr_t)base + (intptr_t)offset;
		*hi = *lo + (intptr_t)bytes;
		return;
	}
	first = (size_t)(uintptr_t)base + offset / t->data_size * t->extent;
	last = (size_t)(uintptr_t)base + (offset + bytes - 1) / t->data_size * t->extent;
	*lo = (intptr_t)((intptr_t)first < (intptr_t)last ? first : last) + t->lo;
	*hi = (intptr_t)((intptr_t)first < (intptr_t)last ? last : first) + t->hi;
}

/* Copy between layouts of which one may be a plain stream. */
static void copy_apart(void *src, pami_type_t src_type, size_t src_offset, void *dst, pami_type_t dst_type,
                       size_t dst_offset, size_t size)
{
	struct pami_cursor from, to;

	if (pami_type_contiguous(src_type)) {
		copy_stream(dst_type, dst, dst_offset, (char *)src + src_offset, size, 1);
	} else if (pami_type_contiguous(dst_type)) {
		copy_stream(src_type, src, src_offset, (char *)dst + dst_offset, size, 0);
	} else {
		pami_cursor_start(&from, src_type, src, src_offset);
		pami_cursor_start(&to, dst_type, dst, dst_offset);
		transform(&to, &from, size, PAMI_ELEMENT_NONE, pami_data_copy, NULL);
	}
}

/* As if all were read before any is written. */
static int copy_any(void *src, pami_type_t src_type, size_t src_offset, void *dst, pami_type_t dst_type,
                    size_t dst_offset, size_t size)
{
	intptr_t src_lo, src_hi, dst_lo, dst_hi;
	char *between;

	if (pami_type_contiguous(src_type) && pami_type_contiguous(dst_type)) {
		memmove((char *)dst + dst_offset, (char *)src + src_offset, size);
		return 0;
	}
	span(src_type, src, src_offset, size, &src_lo, &src_hi);
	span(dst_type, dst, dst_offset, size, &dst_lo, &dst_hi);
	if (src_hi <= dst_lo || dst_hi <= src_lo) {
		copy_apart(src, src_type, src_offset, dst, dst_type, dst_offset, size);
		return 0;
	}
	between = malloc(size);
	if (!between)
		return -ENOMEM;
	pami_type_gather(src_type, src, src_offset, between, size, pami_data_copy, NULL);
	pami_type_scatter(dst_type, dst, dst_offset, between, size, pami_data_copy, NULL);
	free(between);
	return 0;
}

PAMI_EXPORT pami_result_t PAMI_Type_transform_data(void *src_addr, pami_type_t src_type, size_t src_offset,
                                                   void *dst_addr, pami_type_t dst_type, size_t dst_offset,
                                                   size_t size, pami_data_function data_fn, void *cookie)
{
	struct pami_cursor from, to;

	if (!pami_type_takes(src_type, size) || !pami_type_takes(dst_type, size) || !data_fn)
		return pami_fail(PAMI_INVAL, "not a complete type, one without data, or no data function");
	if (!size)
		return PAMI_SUCCESS;
	if (data_fn == pami_data_copy)
		return pami_result(copy_any(src_addr, src_type, src_offset, dst_addr, dst_type, dst_offset, size));
	pami_cursor_start(&from, src_type, src_addr, src_offset);
	pami_cursor_start(&to, dst_type, dst_addr, dst_offset);
	transform(&to, &from, size, element_of(dst_type, src_type), data_fn, cookie);
	return PAMI_SUCCESS;
}
