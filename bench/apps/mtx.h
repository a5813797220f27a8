/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix Market files: sparse ("coordinate") matrices of real, integer or pattern entries, general,
 * symmetric or skew-symmetric, read into compressed rows with the mirrored entries written out.
 * Entries named twice stay two entries, so that a product adds them. Source: Boisvert, Pozo,
 * Remington, NISTIR 5935.
 */
#ifndef BENCH_MTX_H
#define BENCH_MTX_H

#include <stddef.h>
#include <stdint.h>

struct mtx {
	size_t rows, cols;
	size_t entries; /* including mirrored ones */
	size_t *start;  /* rows + 1: entries of row r are start[r] .. start[r + 1] - 1 */
	uint32_t *col;  /* from 0; in file order within a row */
	double *value;  /* 1 for pattern matrices */
	char kind[40];  /* "real general" ... as the file says */
};

/* Progress of reading, 0 .. 1; called a few dozen times for a long file. NULL: none. */
typedef void (*mtx_progress_fn)(void *arg, double done);

/* Read the file (a regular one, a pipe, or - for stdin). Returns 0, or -1 with one line in error:
 * file, line number, and the mistake. Memory: the file, and 24 bytes an entry. Call mtx_free()
 * after success only. */
int mtx_read(const char *path, struct mtx *m, char *error, size_t error_bytes,
	     mtx_progress_fn progress, void *arg);
/* Read the same from memory; messages use name for the file. text need not end in NUL. */
int mtx_parse(const char *name, const char *text, size_t bytes, struct mtx *m, char *error,
	      size_t error_bytes, mtx_progress_fn progress, void *arg);
void mtx_free(struct mtx *m);

/* Compute y = A x, row by row, entries in order. */
void mtx_product(const struct mtx *m, const double *x, double *y);

#endif
