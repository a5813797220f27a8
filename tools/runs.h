/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run directory: one file of counters for each host of a job on this machine,
 * DIR/JOB.HOST.stat (drivers/base/stat.h). It is the owner's, and readable by the group. Files of
 * jobs that have ended stay until RUNS_KEPT newer jobs have ended.
 */
#ifndef TOOLS_RUNS_H
#define TOOLS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/base/stat.h"
#include "emu/router.h"

#define RUNS_KEPT 4

/* Make the directory of this user if it is not there, and remove files of old jobs. 0; -ENOENT:
 * switched off; else a negative errno with a sentence in why. */
int runs_prepare(char *dir, size_t bytes, char *why, size_t why_bytes);

/* One job as its files tell it: one view for each host of it on this machine. */
struct runs_job {
	uint64_t job;
	struct drv_stat_view *host;
	uint32_t hosts;
	char directory[256];
};

/*
 * Find a job: `which` is its number (hexadecimal, or the first digits of it) or a file of counters;
 * NULL: the newest one that runs, else the newest. Looks into $QUINTORUS_RUN_DIR, or else the
 * directories of all users that this one may read. 0, or a negative errno with a sentence in why.
 * Free with runs_close().
 */
int runs_open(struct runs_job *j, const char *which, char *why, size_t why_bytes);
/* Read all values again. 0, or a negative errno if a file is no longer there. */
int runs_refresh(struct runs_job *j);
void runs_close(struct runs_job *j);

/* The number of the host whose file is the i-th. */
uint32_t runs_host(const struct runs_job *j, uint32_t i);
bool runs_is_live(const struct runs_job *j);
/* The last sample of any host, CLOCK_REALTIME. */
uint64_t runs_sampled_ns(const struct runs_job *j);
/* "2x2x2x1x1" of the job's facts; all ones if they have none. */
void runs_shape(const struct runs_job *j, struct emu_shape *shape);

/* The family of a name in a host's file, or UINT32_MAX. */
uint32_t runs_family(const struct drv_stat_view *v, const char *name);

/* A number of a row's label, such as its task; UINT32_MAX if the key is not there. */
uint32_t runs_number(const struct drv_stat_row *row, const char *key);

/* Print a line for each job that this user may see. Returns how many. */
int runs_list(void);

#endif
