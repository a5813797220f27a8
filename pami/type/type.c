/* SPDX-License-Identifier: BSD-3-Clause */
/* Building types, and moving bytes between layouts. */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/array.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/handle.h"
#include "pami/core/macros.h"
#include "pami/core/query.h"
#include "pami/type/type.h"

static struct pami_type *type_of(pami_type_t type)
{
	return pami_type_is_valid(type) ? type : NULL;
}

PAMI_EXPORT pami_result_t PAMI_Type_create(pami_type_t *type)
{
	struct pami_type *t;

	if (!type)
		return pami_fail(PAMI_INVAL, "no address for the type");
	t = pami_handle_new(PAMI_HANDLE_TYPE, sizeof *t);
	if (!t)
		return pami_result(-ENOMEM);
	t->magic = PAMI_TYPE_MAGIC;
	atomic_store_relaxed(&t->refs, 1);
	t->element = PAMI_ELEMENT_NONE;
	*type = t;
	return PAMI_SUCCESS;
}

static size_t greatest_common_divisor(size_t a, size_t b)
{
	while (b) {
		size_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* Append a vector of runs. Adjacent runs become one. */
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
		struct pami_type_piece *more = drv_array_grow(t->piece, &t->room, sizeof *more, 4);

		if (!more)
			return -ENOMEM;
		t->piece = more;
	}
	DRV_ASSERT(t->piece);
	t->piece[t->pieces++] = (struct pami_type_piece){disp, bytes, count, stride, t->data_size};
	t->data_size += bytes * count;
	return 0;
}

PAMI_EXPORT pami_result_t PAMI_Type_add_simple(pami_type_t type, size_t bytes, size_t offset,
					       size_t count, size_t stride)
{
	struct pami_type *t = type_of(type);

	if (!t || t->complete)
		return pami_fail(PAMI_INVAL, "not a type, or it is complete already");
	if (add_piece(t, t->extent + offset, bytes, count, stride))
		return pami_result(-ENOMEM);
	if (count && bytes) {
		t->divisor = greatest_common_divisor(t->divisor, bytes);
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
		return pami_fail(PAMI_INVAL, "not a type, or it is complete already");
	if (!sub || !sub->complete)
		return pami_fail(PAMI_INVAL, "the subtype is not complete");
	if (count && sub->data_size) {
		t->element =
		    t->data_size && t->element != sub->element ? PAMI_ELEMENT_NONE : sub->element;
		t->divisor = greatest_common_divisor(t->divisor, sub->divisor);
	}
	t->extent += offset;
	if (sub->pieces == 1 && sub->piece[0].count == 1) {
		p = sub->piece;
		rc = add_piece(t, t->extent + p->disp, p->bytes, count, stride);
	} else {
		for (size_t i = 0; i < count && !rc; i++)
			for (p = sub->piece; p < sub->piece + sub->pieces && !rc; p++)
				rc = add_piece(t, t->extent + i * stride + p->disp, p->bytes,
					       p->count, p->stride);
	}
	t->extent += count * stride;
	return pami_result(rc);
}

/* Is one instance, and so any number of them, one run of bytes at 0? */
static bool is_one_run(const struct pami_type *t)
{
	return t->pieces == 1 && t->piece[0].count == 1 && !t->piece[0].disp &&
	       t->piece[0].bytes == t->extent;
}

void pami_type_freeze(struct pami_type *t)
{
	for (const struct pami_type_piece *p = t->piece; p < t->piece + t->pieces; p++) {
		intptr_t a = (intptr_t)p->disp,
			 b = (intptr_t)(p->disp + (p->count - 1) * p->stride);
		intptr_t lo = a < b ? a : b, hi = (a < b ? b : a) + (intptr_t)p->bytes;

		t->lo = p == t->piece || lo < t->lo ? lo : t->lo;
		t->hi = p == t->piece || hi > t->hi ? hi : t->hi;
	}
	t->contiguous = (uint8_t)is_one_run(t);
	t->complete = 1;
}

PAMI_EXPORT pami_result_t PAMI_Type_complete(pami_type_t type, size_t atom_size)
{
	struct pami_type *t = type_of(type);

	if (!t || t->complete)
		return pami_fail(PAMI_INVAL, "not a type, or it is complete already");
	if (!atom_size || atom_size > PAMI_ATOM_MAX || t->divisor % atom_size)
		return pami_fail(PAMI_INVAL,
				 "the atom size is not 1 .. 128 or does not divide every piece");
	t->atom = atom_size;
	pami_type_freeze(t);
	return PAMI_SUCCESS;
}

void pami_type_retain(pami_type_t type)
{
	struct pami_type *t = type;

	if (!t->predefined)
		atomic_fetch_add_relaxed(&t->refs, 1);
}

void pami_type_release(pami_type_t type)
{
	struct pami_type *t = type;

	if (t->predefined || atomic_sub_fetch_acq_rel(&t->refs, 1))
		return;
	t->magic = 0;
	free(t->piece);
	free(atomic_ptr_load_relaxed(&t->image));
	pami_handle_free(PAMI_HANDLE_TYPE, sizeof *t, t);
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

	if (!t || !t->complete || (num_configs && !configuration))
		return pami_fail(PAMI_INVAL, "not a complete type, or no attributes");
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
			return pami_fail_unknown_attribute(__func__);
		}
	return PAMI_SUCCESS;
}

void pami_cursor_start(struct pami_cursor *c, pami_type_t type, void *base, size_t offset)
{
	const struct pami_type *t = type;
	size_t lo = 0, hi = t->pieces, rest;

	*c = (struct pami_cursor){.t = t, .instance = (uintptr_t)base};
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

/* Copy n runs of `bytes`; each side has its stride. */
static void copy_runs(char *to, size_t to_stride, const char *from, size_t from_stride,
		      size_t bytes, size_t n)
{
#define RUNS(size)                                                                                 \
	case size:                                                                                 \
		for (; n; n--, to += to_stride, from += from_stride)                               \
			memcpy(to, from, size);                                                    \
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
 * HOT: copy between a layout and a plain stream, up to the end of the cursor's piece or of the
 * stream. Returns how many bytes.
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
	c->run += n - 1; /* pami_cursor_move() steps over the last run */
	pami_cursor_move(c, p->bytes);
	return n * p->bytes;
}

static void copy_stream(pami_type_t t, void *base, size_t offset, char *stream, size_t bytes,
			int scatter)
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

/* Apply fn from one cursor to the other. `element` selects the predefined function. */
static void transform_between(struct pami_cursor *to, struct pami_cursor *from, size_t bytes,
			      unsigned element, pami_data_function fn, void *cookie)
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

/* The element of two types: that of a, unless a is of bytes. */
static unsigned common_element(const struct pami_type *a, const struct pami_type *b)
{
	return a->element != PAMI_ELEMENT_NONE && a->element != PAMI_ELEMENT_BYTE ? a->element
										  : b->element;
}

/* Apply fn to each run of a layout and its part of a plain stream. */
static void apply_stream(pami_type_t t, void *base, size_t offset, char *stream, size_t bytes,
			 int scatter, pami_data_function fn, void *cookie)
{
	unsigned element = ((struct pami_type *)t)->element;
	struct pami_cursor c;

	if (pami_type_is_contiguous(t)) {
		char *at = (char *)base + offset;

		pami_data_apply(fn, element, scatter ? at : stream, scatter ? stream : at, bytes,
				cookie);
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
		pami_data_apply(fn, element, scatter ? at : stream, scatter ? stream : at, n,
				cookie);
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

int pami_type_check_memory(pami_type_t t, const void *base, size_t bytes, int write)
{
	uintptr_t from = 1, to = 0; /* checked already */
	struct pami_cursor c;

	pami_cursor_start(&c, t, (void *)(uintptr_t)base, 0);
	while (bytes) {
		char *at = NULL;
		size_t n = pami_cursor_run(&c, &at);

		n = n < bytes ? n : bytes;
		if (!n)
			return 0;
		if ((uintptr_t)at < from || (uintptr_t)at + n > to ||
		    (uintptr_t)at + n < (uintptr_t)at) {
			if (mu_check_memory((uintptr_t)at, n, write))
				return -EFAULT;
			from = (uintptr_t)at & ~(uintptr_t)4095;
			to = ((uintptr_t)at + n + 4095) & ~(uintptr_t)4095;
		}
		pami_cursor_move(&c, n);
		bytes -= n;
	}
	return 0;
}

bool pami_type_is_within(pami_type_t type, size_t bytes, size_t before, size_t room)
{
	const struct pami_type *t = type;
	size_t whole = bytes / t->data_size, rest = bytes % t->data_size;
	__int128 step = (intptr_t)t->extent, first = 0, last = step * (whole - 1);
	struct pami_cursor c;

	if (t->contiguous)
		return bytes <= room;
	if (whole && ((first < last ? first : last) + t->lo < -(__int128)before ||
		      (first < last ? last : first) + t->hi > (__int128)room))
		return false;
	pami_cursor_start(&c, type, NULL, bytes - rest);
	while (rest) { /* the part of an instance at the end */
		char *at = NULL;
		size_t n = pami_cursor_run(&c, &at);
		__int128 from = (intptr_t)at;

		n = n < rest ? n : rest;
		if (from < -(__int128)before || from + n > (__int128)room)
			return false;
		pami_cursor_move(&c, n);
		rest -= n;
	}
	return true;
}

/* The range that contains `bytes` payload bytes (more than 0) from `offset` on. */
static void find_span(const struct pami_type *t, const void *base, size_t offset, size_t bytes,
		      intptr_t *lo, intptr_t *hi)
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

/* Copy between layouts that do not overlap. */
static void copy_apart(void *src, pami_type_t src_type, size_t src_offset, void *dst,
		       pami_type_t dst_type, size_t dst_offset, size_t size)
{
	struct pami_cursor from, to;

	if (pami_type_is_contiguous(src_type)) {
		copy_stream(dst_type, dst, dst_offset, (char *)src + src_offset, size, 1);
	} else if (pami_type_is_contiguous(dst_type)) {
		copy_stream(src_type, src, src_offset, (char *)dst + dst_offset, size, 0);
	} else {
		pami_cursor_start(&from, src_type, src, src_offset);
		pami_cursor_start(&to, dst_type, dst, dst_offset);
		transform_between(&to, &from, size, PAMI_ELEMENT_NONE, pami_data_copy, NULL);
	}
}

/* Copy between layouts that may overlap, as if everything were read before anything is written. */
static int copy_any(void *src, pami_type_t src_type, size_t src_offset, void *dst,
		    pami_type_t dst_type, size_t dst_offset, size_t size)
{
	intptr_t src_lo, src_hi, dst_lo, dst_hi;
	char *between;

	if (pami_type_is_contiguous(src_type) && pami_type_is_contiguous(dst_type)) {
		memmove((char *)dst + dst_offset, (char *)src + src_offset, size);
		return 0;
	}
	find_span(src_type, src, src_offset, size, &src_lo, &src_hi);
	find_span(dst_type, dst, dst_offset, size, &dst_lo, &dst_hi);
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

/* Is an address missing? Types with gaps may have addresses as displacements, from base NULL. */
static bool is_missing(const void *base, pami_type_t type)
{
	return pami_is_no_address(base) && pami_type_is_contiguous(type);
}

PAMI_EXPORT pami_result_t PAMI_Type_transform_data(void *src_addr, pami_type_t src_type,
						   size_t src_offset, void *dst_addr,
						   pami_type_t dst_type, size_t dst_offset,
						   size_t size, pami_data_function data_fn,
						   void *cookie)
{
	struct pami_cursor from, to;

	if (!pami_type_can_hold(src_type, size) || !pami_type_can_hold(dst_type, size) ||
	    !data_fn ||
	    (size && (is_missing(src_addr, src_type) || is_missing(dst_addr, dst_type))))
		return pami_fail(
		    PAMI_INVAL,
		    "not a complete type, a type without data, no data function, or no address");
	if (!size)
		return PAMI_SUCCESS;
	if (data_fn == pami_data_copy)
		return pami_result(
		    copy_any(src_addr, src_type, src_offset, dst_addr, dst_type, dst_offset, size));
	pami_cursor_start(&from, src_type, src_addr, src_offset);
	pami_cursor_start(&to, dst_type, dst_addr, dst_offset);
	transform_between(&to, &from, size, common_element(dst_type, src_type), data_fn, cookie);
	return PAMI_SUCCESS;
}
