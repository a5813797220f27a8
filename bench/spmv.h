/* SPDX-License-Identifier: BSD-3-Clause */
/* The distributed half of the matrix-vector product: rows and vector over processes, and the ways to
 * fetch x. */
#ifndef BENCH_SPMV_H
#define BENCH_SPMV_H

#include <stddef.h>
#include <stdint.h>

#include <armci.h>

#include "bench/mtx.h"

/* How a process gets the elements of x that others own. */
enum spmv_fetch {
	SPMV_VECTOR,    /* one vector get an owner */
	SPMV_RUNS,      /* a get for each run of neighbouring elements */
	SPMV_AGGREGATE, /* a get an element, collected in one aggregate handle an owner */
	SPMV_SINGLE,    /* a get an element */
	SPMV_FETCHES,
};
extern const char *const spmv_fetch_name[SPMV_FETCHES];

/* One process's part. Row r belongs to the process with row_bound[p] <= r < row_bound[p + 1]; x
 * likewise. */
struct spmv {
	int me, nproc;
	size_t rows, cols, entries; /* of the whole matrix */
	size_t *row_bound, *col_bound, *entry_bound;
	struct mtx part; /* my rows; columns renumbered: own elements first, then the ghosts in ascending
			    order */
	void **part_mem[3]; /* ARMCI memory of part.start, .col, .value */
	void **x_mem; /* two vectors, one after the other, of own elements: read one, write the other */
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
 * Collective. Deal the rows of m, which process 0 holds, so that each process gets about the same number
 * of entries. progress (or NULL) is called by process 0 with 0 .. 1. 0, or -1 where memory ran out
 * anywhere.
 */
int spmv_deal(struct spmv *s, const struct mtx *m, mtx_progress_fn progress, void *arg);
void spmv_free(struct spmv *s);

/* x = the start vector, everywhere; then a barrier. */
void spmv_start(struct spmv *s);
double spmv_start_value(size_t col);
/* Bring own elements and ghosts of vector `which` (0 or 1) into work. */
void spmv_fetch(struct spmv *s, int which, enum spmv_fetch how);
/* y = A work. */
void spmv_multiply(struct spmv *s);
/* Vector `which` = y / scale; only for square matrices. */
void spmv_update(struct spmv *s, int which, double scale);
/* Largest |y| of all processes. Collective. */
double spmv_absmax(struct spmv *s);
/* y of all processes, at process 0. Barriers around it are the caller's. */
void spmv_gather(struct spmv *s, double *y);

#endif
