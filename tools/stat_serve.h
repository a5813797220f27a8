/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters in the text format of Prometheus, printed or served over HTTP. */
#ifndef TOOLS_STAT_SERVE_H
#define TOOLS_STAT_SERVE_H

#include <stdio.h>

#include "tools/runs.h"

/* Print all counters of a job. */
void stat_print_prometheus(FILE *f, const struct runs_job *job);

/*
 * Serve them at http://ADDRESS/metrics until a signal ends this process. address: "PORT" or
 * "127.x.y.z:PORT" ("[::1]:PORT"); others are refused, because everybody who reaches the address
 * reads the counters. Port 0 takes a free one, which is printed. which: as in runs_open(), looked
 * up again at each request. Returns the exit status.
 */
int stat_serve(const char *address, const char *which);

#endif
