/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "ofi/vtime/compute.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "ofi/vtime/virtual.h"

#define ENV_COMPUTE "QUINTORUS_COMPUTE"
#define DECLARED_S  1e6 /* longest declaration: beyond it is a mistake */

enum mode { NONE, DECLARED, MEASURED, RECORDED, REPLAYED };

static struct {
	enum mode mode;
	double factor;
	FILE *file; /* RECORDED, REPLAYED: a line of picoseconds a call */
	char name[4096];
	uint64_t from; /* ns of processor time when the program went on */
	bool runs;     /* `from` is set */
	uint64_t line;
} me;

static __thread bool is_measured; /* the thread that called first */

static void open_trace(const char *base)
{
	const char *task = getenv(ENV_TASK);

	snprintf(me.name, sizeof me.name, "%s.%s", base, task ? task : "0");
	me.file = fopen(me.name, "re");
	me.mode = me.file ? REPLAYED : RECORDED;
	if (!me.file)
		me.file = fopen(me.name, "we");
	if (!me.file) {
		fprintf(stderr, "quintorus: --compute trace: %s: %s; computation takes no time\n",
			me.name, strerror(errno));
		me.mode = NONE;
	}
}

static void choose_mode(void)
{
	const char *how = getenv(ENV_COMPUTE);

	is_measured = true;
	me.factor = 1;
	if (!how)
		return;
	if (!strcmp(how, "declared"))
		me.mode = DECLARED;
	else if (!strncmp(how, "measured", 8))
		me.mode = MEASURED;
	else if (!strncmp(how, "trace:", 6))
		open_trace(how + 6);
	if (me.mode == MEASURED && how[8] == ':')
		me.factor = strtod(how + 9, NULL);
	if (me.mode == MEASURED)
		virtual_time()->doubt();
}

static enum mode get_mode(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose_mode);
	return me.mode;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* from this object: the real one */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t replay_time(void)
{
	uint64_t ps = 0;

	me.line++;
	if (!me.file || fscanf(me.file, "%" SCNu64, &ps) == 1)
		return ps;
	fprintf(stderr,
		"quintorus: --compute trace: %s ends at call %" PRIu64
		" of MPI: another program or input made it; from here on computation takes no "
		"time. Remove it to measure again\n",
		me.name, me.line);
	fclose(me.file);
	me.file = NULL;
	virtual_time()->doubt();
	return 0;
}

void compute_end(void)
{
	uint64_t ps;

	if (get_mode() < MEASURED || !is_measured || !me.runs)
		return;
	me.runs = false;
	if (me.mode == REPLAYED) {
		ps = replay_time();
	} else {
		ps = (uint64_t)((double)(cpu_ns() - me.from) * 1000 * me.factor);
		if (me.mode == RECORDED)
			fprintf(me.file, "%" PRIu64 "\n", ps);
	}
	if (ps)
		virtual_time()->spend(ps);
}

void compute_begin(void)
{
	if (get_mode() < MEASURED || !is_measured)
		return;
	me.from = cpu_ns();
	me.runs = true;
}

void compute_declare(double seconds)
{
	if (get_mode() != DECLARED)
		return;
	if (!(seconds >= 0 && seconds <= DECLARED_S))
		fprintf(stderr, "quintorus: MPI_Pcontrol declares %g s: give 0 to %g\n", seconds,
			DECLARED_S);
	else if (virtual_time()->is_on())
		virtual_time()->spend((uint64_t)(seconds * 1e12));
}
