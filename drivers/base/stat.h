/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of named counters, which its owner maps and others read while the owner runs, or after it
 * has died. The file explains itself: each family of counters has a name, a unit and a sentence of
 * help, each row a label, so a reader needs no header of this tree.
 *
 *	struct drv_stat_head   magic, sizes, facts ("key=value" lines), time of the last sample
 *	struct drv_stat_family [families]
 *	struct drv_stat_row    [rows]    which family, and of what: "node=3 link=A+"
 *	uint64_t value         [rows]    written one by one, relaxed
 *
 * Life: the owner holds a lock (flock) on its file while it lives. A file without one was left by
 *an owner that has ended or died, and its values are the last ones.
 */
#ifndef DRIVERS_BASE_STAT_H
#define DRIVERS_BASE_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/base/atomic.h"

#define DRV_STAT_MAGIC       0x3154415453545151ull /* "QQTSTAT1" */
#define DRV_STAT_VERSION     1u
#define DRV_STAT_FACTS_BYTES 3072

enum drv_stat_kind { DRV_STAT_COUNTER, DRV_STAT_GAUGE };

struct drv_stat_head {
	uint64_t magic;
	uint32_t version, families, rows;
	atomic_u32 ended; /* 1: the owner has ended in order */
	uint64_t families_at, rows_at, values_at, bytes;
	uint64_t started_ns;   /* CLOCK_REALTIME */
	atomic_u64 sampled_ns; /* the same, of the values */
	char facts[DRV_STAT_FACTS_BYTES];
};

struct drv_stat_family {
	char name[40]; /* of [a-z0-9_] */
	char unit[16]; /* "packets", "bytes", "ns"; "" for states */
	uint32_t kind; /* enum drv_stat_kind */
	char help[196];
};

struct drv_stat_row {
	uint32_t family;
	char label[44]; /* "key=value" words, "" for none */
};

/* ---- the owner ---- */

struct drv_stat; /* a file being made, then the mapped file */

/* Begin a file with room for this many rows. Returns NULL if there is no memory. */
struct drv_stat *drv_stat_new(uint32_t families_max, uint32_t rows_max);
/* Add a fact, at any time; one that has no room is left out. */
void drv_stat_fact(struct drv_stat *s, const char *key, const char *value);
/* Add a family, a row. Texts are cut to their room. Before drv_stat_publish(). A row past the room
 * given to drv_stat_new() is left out: its number is UINT32_MAX, which set ignores. */
uint32_t drv_stat_family_add(struct drv_stat *s, const char *name, const char *unit,
			     enum drv_stat_kind kind, const char *help);
uint32_t drv_stat_row_add(struct drv_stat *s, uint32_t family, const char *label);
/* Write the file with this mode, lock it, and let it appear under its name at once. Returns 0 or a
 * negative errno. */
int drv_stat_publish(struct drv_stat *s, const char *path, unsigned mode);
/* Set a value; one writer for each row. After drv_stat_publish(). */
void drv_stat_set(struct drv_stat *s, uint32_t row, uint64_t value);
/* Note the time of the values. */
void drv_stat_sampled(struct drv_stat *s);
/* End: the file stays. NULL is fine. */
void drv_stat_end(struct drv_stat *s);

/* ---- readers ---- */

/* A file as it was read. Readers work on a copy, so the end of the owner does not affect them. */
struct drv_stat_view {
	struct drv_stat_head head;
	struct drv_stat_family *family; /* [head.families] */
	struct drv_stat_row *row;       /* [head.rows] */
	uint64_t *value;                /* [head.rows] */
	bool is_live;                   /* its owner lives */
	int fd;
};

/* Open and read. 0; -EPROTO: no such file of this version; else a negative errno. All sizes and
 * texts are checked. */
int drv_stat_view_open(struct drv_stat_view *v, const char *path);
/* Read the values and facts again, and whether the owner lives. 0 or a negative errno. */
int drv_stat_view_refresh(struct drv_stat_view *v);
void drv_stat_view_close(struct drv_stat_view *v);
/* The value of a fact; "" if there is none. Valid until the next call of this thread. */
const char *drv_stat_view_fact(const struct drv_stat_view *v, const char *key);
/* The value of a key in a row's label, copied to text; "" if there is none. Returns text. */
const char *drv_stat_label(const struct drv_stat_row *row, const char *key, char *text,
			   size_t bytes);

#endif
