/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterates over the segments of a strided patch, first level fastest. Local. */
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

/*
 * Start at the first segment. The layout is that of ARMCI_PutS. base may be NULL: addresses are
 * then offsets.
 */
void armci_stride_info_init(stride_info_t *info, void *base, int stride_levels,
			    const int *stride_arr, const int *seg_count);
/* End the iteration; the iterator owns nothing. */
void armci_stride_info_destroy(stride_info_t *info);
/* Number of segments. */
int armci_stride_info_size(stride_info_t *info);
/* As armci_stride_info_size. */
int armci_stride_info_count(stride_info_t *info);
/* Index of the current segment, from 0; the number of segments after the last one. */
int armci_stride_info_pos(stride_info_t *info);
/* Move to the next segment. */
void armci_stride_info_next(stride_info_t *info);
/* Non-zero while there is a current segment. */
int armci_stride_info_has_more(stride_info_t *info);
/* Address of the current segment. */
void *armci_stride_info_seg_ptr(stride_info_t *info);
/* Bytes of each segment. */
int armci_stride_info_seg_size(stride_info_t *info);
/* Offset in bytes of the current segment from the base. */
int armci_stride_info_seg_off(stride_info_t *info);

#ifdef __cplusplus
}
#endif

#endif
