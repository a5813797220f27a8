/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A strided transfer as seen from the process that starts it: "self" is its side, "peer" the other.
 * gexi_stride_fold() finds an equal transfer with fewer dimensions and longer elements.
 */
#ifndef GASNET_VIS_STRIDE_H
#define GASNET_VIS_STRIDE_H

#include <stdbool.h>
#include <stddef.h>

struct gexi_dimension {
	size_t count;
	ptrdiff_t self, peer; /* bytes from one element to the next */
};

struct gexi_stride {
	size_t bytes; /* of an element; 0: the transfer is empty */
	size_t levels;
	char *self, *peer;          /* of the element with all indices 0 */
	struct gexi_dimension *dim; /* [levels], the caller's memory */
};

/*
 * Take the dimensions of a transfer from the lists of a call. Those of one item are left out, and
 * each that goes on where the one before ends is folded into it, so little is left to fold.
 * s->bytes is set; it becomes 0 if the transfer is empty. s->dim has room for `levels`.
 */
void gexi_stride_describe(struct gexi_stride *s, const size_t *count, const ptrdiff_t *self,
			  const ptrdiff_t *peer, size_t levels);

/*
 * Drop dimensions of one item; turn those with negative peer strides around; sort by peer stride;
 * fold what is contiguous on both sides into the element, and neighbours into each other. The same
 * pairs of bytes are transferred. Afterwards peer strides are not negative and ascend.
 */
void gexi_stride_fold(struct gexi_stride *s);

/* Return the number of all elements. */
size_t gexi_stride_count(const struct gexi_stride *s);

/*
 * Advance the indices [levels] of the dimensions from `first` on to the next element, and both
 * addresses with them. Return false after the last element; all are 0 and back at the start then.
 */
static inline bool gexi_stride_advance(const struct gexi_stride *s, size_t first, size_t *index,
				       char **self, char **peer)
{
	for (size_t d = first; d < s->levels; d++) {
		*self += s->dim[d].self;
		*peer += s->dim[d].peer;
		if (++index[d] < s->dim[d].count)
			return true;
		*self -= s->dim[d].self * (ptrdiff_t)s->dim[d].count;
		*peer -= s->dim[d].peer * (ptrdiff_t)s->dim[d].count;
		index[d] = 0;
	}
	return false;
}

/* Copy every element: from self to peer (to_peer) or back. Both sides are memory of this process.
 */
void gexi_stride_copy(const struct gexi_stride *s, bool to_peer);

/* Copy every element between the side "self" and data without gaps, in the order of dimensions. */
void gexi_stride_pack(const struct gexi_stride *s, char *data, bool to_data);

#endif
