/* SPDX-License-Identifier: BSD-3-Clause */
/* Distribute the matrix, find the ghosts, fetch them, multiply. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/spmv.h"

enum { PUT_BYTES = 16 << 20 };

const char *const spmv_fetch_name[SPMV_FETCHES] = {"vector", "runs", "aggregate", "single"};

/* ---- distribution ---- */

static void bounds_even(size_t *bound, int nproc, size_t n)
{
	int p;

	for (p = 0; p <= nproc; p++)
		bound[p] =
		    n / (size_t)nproc * (size_t)p + n % (size_t)nproc * (size_t)p / (size_t)nproc;
}

/* Cut where the entries reach p / nproc of the total. */
static void bounds_by_entries(struct spmv *s, const struct mtx *m)
{
	size_t row = 0;
	int p;

	for (p = 0; p < s->nproc; p++) {
		while (row < m->rows && (double)m->start[row] * s->nproc < (double)m->entries * p)
			row++;
		s->row_bound[p] = row;
	}
	s->row_bound[0] = 0;
	s->row_bound[s->nproc] = m->rows;
	for (p = 0; p <= s->nproc; p++)
		s->entry_bound[p] = m->start[s->row_bound[p]];
}

/* Get the bounds of all processes from process 0. Returns 0, or -1 if any process is out of memory.
 */
static int share_bounds(struct spmv *s, const struct mtx *m)
{
	size_t n = (size_t)s->nproc + 1, head[3] = {m->rows, m->cols, m->entries};
	int bad;

	armci_msg_bcast(head, (int)sizeof(head), 0);
	s->rows = head[0];
	s->cols = head[1];
	s->entries = head[2];
	s->row_bound = calloc(n, sizeof(size_t));
	s->col_bound = calloc(n, sizeof(size_t));
	s->entry_bound = calloc(n, sizeof(size_t));
	bad = !s->row_bound || !s->col_bound || !s->entry_bound;
	armci_msg_igop(&bad, 1, "max");
	if (bad)
		return -1;
	if (s->me == 0)
		bounds_by_entries(s, m);
	armci_msg_bcast(s->row_bound, (int)(n * sizeof(size_t)), 0);
	armci_msg_bcast(s->entry_bound, (int)(n * sizeof(size_t)), 0);
	if (s->rows == s->cols)
		memcpy(s->col_bound, s->row_bound, n * sizeof(size_t));
	else
		bounds_even(s->col_bound, s->nproc, s->cols);
	return 0;
}

static void **allocate_shared(struct spmv *s, size_t bytes)
{
	void **ptrs = calloc((size_t)s->nproc, sizeof(*ptrs));
	int bad = !ptrs;

	armci_msg_igop(&bad, 1, "max");
	if (!bad && ARMCI_Malloc(ptrs, (armci_size_t)bytes) == 0)
		return ptrs;
	free(ptrs);
	return NULL;
}

static void put_long(const void *from, void *to, size_t bytes, int proc)
{
	size_t at, n;

	for (at = 0; at < bytes; at += n) {
		n = bytes - at < PUT_BYTES ? bytes - at : PUT_BYTES;
		ARMCI_Put((char *)(uintptr_t)from + at, (char *)to + at, (int)n, proc);
	}
}

/* Process 0 writes the rows of every process into place. */
static void deal_parts(struct spmv *s, const struct mtx *m, mtx_progress_fn progress, void *arg)
{
	int p;

	for (p = 0; p < s->nproc; p++) {
		size_t row = s->row_bound[p], entry = s->entry_bound[p];
		size_t rows = s->row_bound[p + 1] - row, entries = s->entry_bound[p + 1] - entry;

		put_long(m->start + row, s->part_mem[0][p], (rows + 1) * sizeof(size_t), p);
		put_long(m->col + entry, s->part_mem[1][p], entries * sizeof(uint32_t), p);
		put_long(m->value + entry, s->part_mem[2][p], entries * sizeof(double), p);
		if (progress)
			progress(arg, (p + 1.0) / s->nproc);
	}
}

static int owner_of(const struct spmv *s, size_t col)
{
	int lo = 0, hi = s->nproc - 1;

	while (lo < hi) {
		int mid = (lo + hi + 1) / 2;

		if (s->col_bound[mid] <= col)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* Find the columns of other owners that the rows of this process use; renumber the columns of its
 * part. */
static int find_ghosts(struct spmv *s)
{
	size_t from = s->col_bound[s->me], to = s->col_bound[s->me + 1], c, k, g = 0;
	uint32_t *number = calloc(s->cols ? s->cols : 1, sizeof(*number));
	int p;

	if (!number)
		return -1;
	for (k = 0; k < s->part.entries; k++)
		number[s->part.col[k]] = 1;
	for (c = 0; c < s->cols; c++)
		s->ghosts += (c < from || c >= to) && number[c];
	s->own = to - from;
	s->ghost = malloc((s->ghosts + 1) * sizeof(*s->ghost));
	s->ghost_bound = calloc((size_t)s->nproc + 1, sizeof(*s->ghost_bound));
	if (!s->ghost || !s->ghost_bound) {
		free(number);
		return -1;
	}
	for (c = 0; c < s->cols; c++) {
		if (c >= from && c < to) {
			number[c] = (uint32_t)(c - from);
		} else if (number[c]) {
			number[c] = (uint32_t)(s->own + g);
			s->ghost_bound[owner_of(s, c) + 1]++;
			s->runs +=
			    !g || s->ghost[g - 1] + 1 != c || owner_of(s, c) != owner_of(s, c - 1);
			s->ghost[g++] = c;
		}
	}
	for (p = 0; p < s->nproc; p++)
		s->ghost_bound[p + 1] += s->ghost_bound[p];
	for (k = 0; k < s->part.entries; k++)
		s->part.col[k] = number[s->part.col[k]];
	free(number);
	return 0;
}

static int make_part(struct spmv *s)
{
	size_t rows = s->row_bound[s->me + 1] - s->row_bound[s->me], k, first;

	s->part.rows = rows;
	s->part.entries = s->entry_bound[s->me + 1] - s->entry_bound[s->me];
	s->part.start = s->part_mem[0][s->me];
	s->part.col = s->part_mem[1][s->me];
	s->part.value = s->part_mem[2][s->me];
	first = s->part.start[0];
	for (k = 0; k <= rows; k++)
		s->part.start[k] -= first;
	if (find_ghosts(s))
		return -1;
	s->part.cols = s->own + s->ghosts;
	s->work = ARMCI_Malloc_local((armci_size_t)((s->own + s->ghosts + 1) * sizeof(double)));
	s->from = malloc((s->ghosts + 1) * sizeof(void *));
	s->to = malloc((s->ghosts + 1) * sizeof(void *));
	s->handle = calloc((size_t)s->nproc, sizeof(*s->handle));
	if (!s->work || !s->from || !s->to || !s->handle)
		return -1;
	for (k = 0; k < s->ghosts; k++)
		s->to[k] = s->work + s->own + k;
	return 0;
}

int spmv_deal(struct spmv *s, const struct mtx *m, mtx_progress_fn progress, void *arg)
{
	size_t rows, entries, cols;
	int bad;

	memset(s, 0, sizeof(*s));
	s->me = armci_msg_me();
	s->nproc = armci_msg_nproc();
	if (share_bounds(s, m))
		return -1;
	rows = s->row_bound[s->me + 1] - s->row_bound[s->me];
	entries = s->entry_bound[s->me + 1] - s->entry_bound[s->me];
	cols = s->col_bound[s->me + 1] - s->col_bound[s->me];
	if (!(s->part_mem[0] = allocate_shared(s, (rows + 1) * sizeof(size_t))) ||
	    !(s->part_mem[1] = allocate_shared(s, entries * sizeof(uint32_t))) ||
	    !(s->part_mem[2] = allocate_shared(s, entries * sizeof(double))) ||
	    !(s->x_mem = allocate_shared(s, 2 * cols * sizeof(double))) ||
	    !(s->y_mem = allocate_shared(s, rows * sizeof(double))))
		return -1;
	if (s->me == 0)
		deal_parts(s, m, progress, arg);
	ARMCI_Barrier();
	bad = make_part(s) != 0;
	armci_msg_igop(&bad, 1, "max");
	return bad ? -1 : 0;
}

void spmv_free(struct spmv *s)
{
	void **mem[] = {s->part_mem[0], s->part_mem[1], s->part_mem[2], s->x_mem, s->y_mem};
	size_t i;

	for (i = 0; i < sizeof(mem) / sizeof(mem[0]); i++) {
		if (mem[i])
			ARMCI_Free(mem[i][s->me]);
		free(mem[i]);
	}
	if (s->work)
		ARMCI_Free_local(s->work);
	free(s->row_bound);
	free(s->col_bound);
	free(s->entry_bound);
	free(s->ghost);
	free(s->ghost_bound);
	free(s->from);
	free(s->to);
	free(s->handle);
	memset(s, 0, sizeof(*s));
}

/* ---- the product ---- */

double spmv_start_value(size_t col)
{
	return 1 + (double)(col * 2654435761u % 1000003u) / 1000003;
}

static double *own_x(struct spmv *s, int which)
{
	return (double *)s->x_mem[s->me] + (which ? s->own : 0);
}

void spmv_start(struct spmv *s)
{
	double *x = s->own ? own_x(s, 0) : NULL;
	size_t i;

	for (i = 0; i < s->own; i++)
		x[i] = spmv_start_value(s->col_bound[s->me] + i);
	ARMCI_Barrier();
}

/* Compute the addresses of the ghosts that p owns, in its vector `which`. */
static void aim_ghosts(struct spmv *s, int p, int which)
{
	size_t own = s->col_bound[p + 1] - s->col_bound[p], k;
	double *x = (double *)s->x_mem[p] + (which ? own : 0);

	for (k = s->ghost_bound[p]; k < s->ghost_bound[p + 1]; k++)
		s->from[k] = x + (s->ghost[k] - s->col_bound[p]);
}

static void fetch_from(struct spmv *s, int p, enum spmv_fetch how)
{
	size_t k = s->ghost_bound[p], end = s->ghost_bound[p + 1], n;
	armci_giov_t all = {s->from + k, s->to + k, (int)sizeof(double), (int)(end - k)};
	armci_hdl_t *h = NULL;

	switch (how) {
	case SPMV_VECTOR:
		ARMCI_NbGetV(&all, 1, p, NULL);
		return;
	case SPMV_RUNS:
		for (; k < end; k += n) {
			for (n = 1; k + n < end && s->ghost[k + n] == s->ghost[k] + n; n++)
				;
			ARMCI_NbGet(s->from[k], s->to[k], (int)(n * sizeof(double)), p, NULL);
		}
		return;
	case SPMV_AGGREGATE:
		h = &s->handle[p];
		ARMCI_INIT_HANDLE(h);
		ARMCI_SET_AGGREGATE_HANDLE(h);
		break;
	default:
		break;
	}
	for (; k < end; k++)
		ARMCI_NbGet(s->from[k], s->to[k], (int)sizeof(double), p, h);
}

void spmv_fetch(struct spmv *s, int which, enum spmv_fetch how)
{
	int i;

	for (i = 1; i < s->nproc;
	     i++) { /* start at the next process, so that not all ask process 0 first */
		int p = (s->me + i) % s->nproc;

		aim_ghosts(s, p, which);
		fetch_from(s, p, how);
	}
	if (s->own)
		memcpy(s->work, own_x(s, which), s->own * sizeof(double));
	for (i = 0; how == SPMV_AGGREGATE && i < s->nproc; i++)
		ARMCI_Wait(&s->handle[i]);
	ARMCI_WaitAll();
}

void spmv_multiply(struct spmv *s)
{
	if (s->part.rows)
		mtx_product(&s->part, s->work, s->y_mem[s->me]);
}

void spmv_update(struct spmv *s, int which, double scale)
{
	double *x = s->own ? own_x(s, which) : NULL;
	const double *y = s->y_mem[s->me];
	size_t i;

	for (i = 0; i < s->own; i++)
		x[i] = y[i] / scale;
}

double spmv_absmax(struct spmv *s)
{
	const double *y = s->y_mem[s->me];
	double most = 0;
	size_t i;

	for (i = 0; i < s->part.rows; i++)
		most = fmax(most, fabs(y[i]));
	armci_msg_dgop(&most, 1, "max");
	return most;
}

void spmv_gather(struct spmv *s, double *y)
{
	size_t at, n;
	int p;

	for (p = 0; s->me == 0 && p < s->nproc; p++) {
		size_t bytes = (s->row_bound[p + 1] - s->row_bound[p]) * sizeof(double);

		for (at = 0; at < bytes; at += n) {
			n = bytes - at < PUT_BYTES ? bytes - at : PUT_BYTES;
			ARMCI_Get((char *)s->y_mem[p] + at, (char *)(y + s->row_bound[p]) + at,
				  (int)n, p);
		}
	}
}
