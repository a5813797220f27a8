/* SPDX-License-Identifier: BSD-3-Clause */
/* The distributed half of the matrix-vector product: rows and vector over processes, and the ways
 * to fetch x. */
#ifndef BENCH_SPMV_H
#define BENCH_SPMV_H

#include <stddef.h>
#include <stdint.h>

#include <armci.h>

#include "bench/apps/mtx.h"

/* How a process gets the elements of x of other owners. */
enum spmv_fetch {
	SPMV_VECTOR,    /* one vector get per owner */
	SPMV_RUNS,      /* one get for each run of neighbouring elements */
	SPMV_AGGREGATE, /* one get per element, collected in one aggregate handle per owner */
	SPMV_SINGLE,    /* one get per element */
	SPMV_FETCHES,
};
extern const char *const spmv_fetch_name[SPMV_FETCHES];

/* One process's part. Row r belongs to the process with row_bound[p] <= r < row_bound[p + 1]; x
 * likewise. */
struct spmv {
	int me, nproc;
	size_t rows, cols, entries; /* of the whole matrix */
	size_t *row_bound, *col_bound, *entry_bound;
	/* The rows of this process. Columns are renumbered: own elements first, then the ghosts in
	 * ascending order. */
	struct mtx part;
	void **part_mem[3]; /* ARMCI memory of part.start, .col, .value */
	/* Two vectors of own elements, one after the other: read one, write the other. */
	void **x_mem;
	void **y_mem; /* own rows */
	double *work; /* own elements, then ghosts */
	size_t own, ghosts;
	size_t *ghost;       /* global column of each ghost */
	size_t *ghost_bound; /* per owner: ghosts [ghost_bound[p], ghost_bound[p + 1]) */
	size_t runs;
	void **from, **to;   /* per ghost: remote (of the current vector) and local address */
	armci_hdl_t *handle; /* per owner */
};

/*
 * Collective. Distribute the rows of m, which process 0 holds, so that each process gets about the
 * same number of entries. Process 0 calls progress (may be NULL) with 0 .. 1. Returns 0, or -1 if
 * any process ran out of memory.
 */
int spmv_deal(struct spmv *s, const struct mtx *m, mtx_progress_fn progress, void *arg);
void spmv_free(struct spmv *s);

/* Set x to the start vector in every process; ends with a barrier. */
void spmv_start(struct spmv *s);
double spmv_start_value(size_t col);
/* Copy own elements and ghosts of vector `which` (0 or 1) into work. */
void spmv_fetch(struct spmv *s, int which, enum spmv_fetch how);
/* Compute y = A work. */
void spmv_multiply(struct spmv *s);
/* Set vector `which` to y / scale; only for square matrices. */
void spmv_update(struct spmv *s, int which, double scale);
/* Collective. Return the largest |y| of all processes. */
double spmv_absmax(struct spmv *s);
/* Gather y of all processes at process 0. The caller puts barriers around it. */
void spmv_gather(struct spmv *s, double *y);

#endif
