/* SPDX-License-Identifier: BSD-3-Clause */
/* The strided iterator. */
#include <string.h>

#include "armci/core/world.h"

#pragma GCC visibility push(default)

void armci_stride_info_init(stride_info_t *info, void *base, int stride_levels,
			    const int *stride_arr, const int *seg_count)
{
	int k;

	if (stride_levels < 0 || stride_levels > ARMCI_MAX_STRIDE_LEVEL)
		armci_die("armci_stride_info_init: %d is not a number of stride levels",
			  stride_levels);
	memset(info, 0, sizeof(*info));
	info->base_ptr = base;
	info->stride_levels = stride_levels;
	info->size = 1;
	info->seg_count[0] = seg_count[0];
	for (k = 0; k < stride_levels; k++) {
		info->stride_arr[k] = stride_arr[k];
		info->seg_count[k + 1] = seg_count[k + 1];
		info->size *= seg_count[k + 1];
	}
}

void armci_stride_info_destroy(stride_info_t *info) {}

int armci_stride_info_size(stride_info_t *info)
{
	return info->size;
}

int armci_stride_info_count(stride_info_t *info)
{
	return info->size;
}

int armci_stride_info_pos(stride_info_t *info)
{
	return info->pos;
}

void armci_stride_info_next(stride_info_t *info)
{
	int k;

	info->pos++;
	for (k = 0; k < info->stride_levels; k++) {
		if (++info->itr[k] < info->seg_count[k + 1])
			return;
		info->itr[k] = 0;
	}
}

int armci_stride_info_has_more(stride_info_t *info)
{
	return info->pos < info->size;
}

int armci_stride_info_seg_off(stride_info_t *info)
{
	int k, off = 0;

	for (k = 0; k < info->stride_levels; k++)
		off += info->itr[k] * info->stride_arr[k];
	return off;
}

void *armci_stride_info_seg_ptr(stride_info_t *info)
{
	ptrdiff_t off = 0;
	int k;

	for (k = 0; k < info->stride_levels; k++)
		off += (ptrdiff_t)info->itr[k] * info->stride_arr[k];
	return info->base_ptr + off;
}

int armci_stride_info_seg_size(stride_info_t *info)
{
	return info->seg_count[0];
}

#pragma GCC visibility pop
