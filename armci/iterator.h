/* SPDX-License-Identifier: BSD-3-Clause */
/* Walking the segments of a strided patch, first level fastest. Local. */
#ifndef ARMCI_ITERATOR_H
#define ARMCI_ITERATOR_H

#include "armci.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	char *base_ptr;
	int stride_levels;
	int stride_arr[ARMCI_MAX_STRIDE_LEVEL];
	int seg_count[ARMCI_MAX_STRIDE_LEVEL + 1];
	int size, pos, itr[ARMCI_MAX_STRIDE_LEVEL];
} stride_info_t;

/* The layout is that of ARMCI_PutS; stands at the first segment. */
void armci_stride_info_init(stride_info_t *info, void *base, int stride_levels, const int *stride_arr,
			    const int *seg_count);
void armci_stride_info_destroy(stride_info_t *info);
/* Segments in all; index of the current one. */
int armci_stride_info_size(stride_info_t *info);
int armci_stride_info_count(stride_info_t *info);
int armci_stride_info_pos(stride_info_t *info);
void armci_stride_info_next(stride_info_t *info);
int armci_stride_info_has_more(stride_info_t *info);
/* Of the current segment: address, bytes, offset in bytes from the base. */
void *armci_stride_info_seg_ptr(stride_info_t *info);
int armci_stride_info_seg_size(stride_info_t *info);
int armci_stride_info_seg_off(stride_info_t *info);

#ifdef __cplusplus
}
#endif

#endif
