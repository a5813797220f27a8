/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep: the grid of all combinations of the values of its axes, and what each run gave.
 *
 *	cmd_sweep.c (options, runs) -> sweep.c (grid, CSV) -> sweep_plot.c (SVG)
 */
#ifndef TOOLS_SWEEP_H
#define TOOLS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SWEEP_AXES_MAX   8
#define SWEEP_VALUES_MAX 1024
#define SWEEP_RUNS_MAX   100000u
#define SWEEP_NUMBERS    6

enum sweep_kind { SWEEP_HW, SWEEP_SHAPE, SWEEP_TASKS, SWEEP_MACHINE, SWEEP_WORD };

struct sweep_axis {
	enum sweep_kind kind;
	char name[48]; /* column of the CSV file */
	char **value;  /* [values] as text */
	uint32_t values;
};

/* The results of a run: rows of sweep_numbers. NAN: not known. */
enum { SWEEP_STATUS, SWEEP_US, SWEEP_SECONDS, SWEEP_PACKETS, SWEEP_HOPS, SWEEP_VALUE };
extern const char *const sweep_numbers[SWEEP_NUMBERS];

struct sweep_run {
	bool done;
	double number[SWEEP_NUMBERS];
};

struct sweep {
	struct sweep_axis axis[SWEEP_AXES_MAX];
	uint32_t axes, runs;
	struct sweep_run *run; /* [runs]; the last axis varies fastest */
	char *title; /* the program and what all runs share: the first line of the CSV file */
};

/*
 * Add an axis: values are a list "10,20,40..80:10,1..64*2": a range has a step, or a factor. NULL
 * name: what comes before '=' in the text. 0, or -EINVAL with a sentence in err.
 */
int sweep_axis_add(struct sweep *s, enum sweep_kind kind, const char *name, const char *text,
		   char *err, size_t err_bytes);
/* All axes are there: make the grid. 0, -ENOMEM, or -EINVAL with a sentence. */
int sweep_grid_make(struct sweep *s, char *err, size_t err_bytes);
void sweep_free(struct sweep *s);

/* The value of an axis in a run. */
const char *sweep_value(const struct sweep *s, uint32_t run, uint32_t axis);

/*
 * Take over the runs of an earlier sweep with the same title and axes that have succeeded. 0 (also
 * if there is no file), or -EINVAL with a sentence: the file is another sweep's.
 */
int sweep_csv_read(struct sweep *s, const char *path, char *err, size_t err_bytes);
/* Write all runs that are done, in the order of the grid; the file changes at once or not at all. 0
 * or a negative errno. */
int sweep_csv_write(const struct sweep *s, const char *path);
void sweep_print_json(FILE *f, const struct sweep *s);
void sweep_print_table(FILE *f, const struct sweep *s);

/* sweep_plot.c. Draw number y over an axis, a line for each combination of the other axes. 0 or a
 * negative errno. */
int sweep_plot(const struct sweep *s, uint32_t x_axis, unsigned y, const char *path);

#endif
