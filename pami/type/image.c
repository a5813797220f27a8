/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat images of types, for sending them: the fields of the type, then its pieces. An image comes
 * from another task, so everything in it that could make a loop endless or overflow is checked.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "pami/core/error.h"
#include "pami/core/handle.h"
#include "pami/core/macros.h"
#include "pami/type/type.h"

#define IMAGE_MAGIC 0x51544d47u

struct pami_type_image {
	uint32_t magic;
	uint32_t element;
	uint64_t atom, divisor, data_size, extent, pieces;
	struct pami_type_piece piece[];
};

int pami_type_image(pami_type_t type, void **address, size_t *size)
{
	struct pami_type *t = type;
	size_t bytes = sizeof(struct pami_type_image) + t->pieces * sizeof *t->piece;
	struct pami_type_image *made, *there = atomic_ptr_load_acquire(&t->image);

	if (!there) {
		made = malloc(bytes);
		if (!made)
			return -ENOMEM;
		*made = (struct pami_type_image){IMAGE_MAGIC,  t->element, t->atom,  t->divisor,
						 t->data_size, t->extent,  t->pieces};
		if (t->pieces)
			memcpy(made->piece, t->piece, t->pieces * sizeof *t->piece);
		/* Several threads may get here at a time: the first one's image stays. */
		if (atomic_ptr_cas_acq_rel(&t->image, &there, made))
			there = made;
		else
			free(made);
	}
	*address = there;
	*size = bytes;
	return 0;
}

static bool has_valid_pieces(const struct pami_type *t)
{
	size_t start = 0, bytes;

	for (size_t i = 0; i < t->pieces; i++) {
		const struct pami_type_piece *p = &t->piece[i];

		if (!p->bytes || !p->count || p->start != start ||
		    __builtin_mul_overflow(p->bytes, p->count, &bytes) ||
		    __builtin_add_overflow(start, bytes, &start))
			return false;
	}
	return start == t->data_size;
}

int pami_type_from_image(pami_type_t *type, const void *address, size_t size)
{
	struct pami_type_image image;
	struct pami_type *t;

	if (size < sizeof image)
		return -EINVAL;
	memcpy(&image, address, sizeof image);
	if (image.magic != IMAGE_MAGIC || !image.atom || image.atom > PAMI_ATOM_MAX ||
	    (image.element >= PAMI_ELEMENTS && image.element != PAMI_ELEMENT_NONE) ||
	    image.pieces > (size - sizeof image) / sizeof *t->piece)
		return -EINVAL;
	t = pami_handle_new(PAMI_HANDLE_TYPE, sizeof *t);
	if (!t)
		return -ENOMEM;
	t->magic = PAMI_TYPE_MAGIC;
	atomic_store_relaxed(&t->refs, 1);
	t->element = (uint8_t)image.element;
	t->atom = image.atom;
	t->divisor = image.divisor;
	t->data_size = image.data_size;
	t->extent = image.extent;
	t->pieces = t->room = image.pieces;
	if (t->pieces) {
		t->piece = malloc(t->pieces * sizeof *t->piece);
		if (t->piece)
			memcpy(t->piece, (const char *)address + sizeof image,
			       t->pieces * sizeof *t->piece);
	}
	if ((t->pieces && !t->piece) || !has_valid_pieces(t)) {
		pami_type_release(t);
		return -EINVAL;
	}
	pami_type_freeze(t);
	*type = t;
	return 0;
}

PAMI_EXPORT pami_result_t PAMI_Type_serialize(pami_type_t type, void **address, size_t *size)
{
	if (!pami_type_is_usable(type) || !address || !size)
		return pami_fail(PAMI_INVAL, "not a complete type");
	return pami_result(pami_type_image(type, address, size));
}

PAMI_EXPORT pami_result_t PAMI_Type_deserialize(pami_type_t *type, void *address, size_t size)
{
	if (!type || !address)
		return pami_fail(PAMI_INVAL, "no image, or no address for the type");
	return pami_result(pami_type_from_image(type, address, size));
}
