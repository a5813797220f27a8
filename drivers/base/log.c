/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/settings.h"

static char log_name[32];
static int log_level = -1;

void drv_log_name(const char *name)
{
	snprintf(log_name, sizeof log_name, "%s", name);
}

int drv_log_enabled(enum drv_log_level level)
{
	int now = atomic_load_relaxed(&log_level);

	if (now < 0) {
		/* Reading the setting may log that its value is not allowed. */
		atomic_store_relaxed(&log_level, DRV_LOG_WARN);
		now = (int)drv_setting_choice(DRV_QUINTORUS_LOG);
		atomic_store_relaxed(&log_level, now);
	}
	return (int)level <= now;
}

/*
 * A place in the code that logs; its format string identifies it. It may print PLACE_LINES lines at
 * once and regains one line each second. Two places that hash to the same entry share its lines.
 */
#define PLACES      256u
#define PLACE_LINES 16u

struct place {
	uint32_t printed; /* lines that count against PLACE_LINES */
	uint32_t omitted; /* since the last printed line */
	uint64_t since;   /* second of the last refill */
};

static struct place places[PLACES];

static uint64_t now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/*
 * True if the place may print a line now. *omitted becomes the number of lines that were left out
 * before it. Threads that log at the same place at the same time may print one line more or less.
 */
static bool may_print(const char *format, uint32_t *omitted)
{
	struct place *p = &places[((uintptr_t)format * 0x9e3779b97f4a7c15u) >> 56];
	uint64_t now = now_seconds(), since = atomic_load_relaxed(&p->since);
	uint32_t printed = atomic_load_relaxed(&p->printed);

	*omitted = 0;
	if (now != since && atomic_cas_relaxed(&p->since, &since, now)) {
		uint64_t back = now - since;

		printed = back < printed ? printed - (uint32_t)back : 0;
		atomic_store_relaxed(&p->printed, printed);
	}
	if (printed >= PLACE_LINES) {
		atomic_fetch_add_relaxed(&p->omitted, 1);
		return 0;
	}
	atomic_fetch_add_relaxed(&p->printed, 1);
	*omitted = atomic_exchange_relaxed(&p->omitted, 0);
	return 1;
}

void drv_log(enum drv_log_level level, const char *format, ...)
{
	static const char *const tags[] = {"error", "warning", "info", "debug"};
	char line[1024], more[64] = "";
	uint32_t omitted = 0;
	int n;
	va_list ap;

	if (!drv_log_enabled(level) || (level != DRV_LOG_DEBUG && !may_print(format, &omitted)))
		return;
	n = snprintf(line, sizeof line, "quintorus%s%s: %s: ", log_name[0] ? " " : "", log_name,
		     tags[level]);
	va_start(ap, format);
	n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, ap);
	va_end(ap);
	if (omitted)
		snprintf(more, sizeof more, " (%u lines like this were left out)", omitted);
	if (n > (int)(sizeof line - sizeof more) - 2)
		n = (int)(sizeof line - sizeof more) - 2;
	n += snprintf(line + n, sizeof more, "%s", more);
	line[n++] = '\n';
	/* A single write, so that lines of several processes do not mix. */
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}
