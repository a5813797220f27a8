/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char log_name[32];
static int log_level = -1;

static int level_from_environment(void)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	const char *text = getenv("QUINTORUS_LOG");

	for (int i = 0; text && i < 4; i++)
		if (!strcmp(text, names[i]))
			return i;
	return DRV_LOG_WARN;
}

void drv_log_name(const char *name)
{
	snprintf(log_name, sizeof log_name, "%s", name);
}

int drv_log_enabled(enum drv_log_level level)
{
	int now = __atomic_load_n(&log_level, __ATOMIC_RELAXED);

	if (now < 0) {
		now = level_from_environment();
		__atomic_store_n(&log_level, now, __ATOMIC_RELAXED);
	}
	return (int)level <= now;
}

void drv_log(enum drv_log_level level, const char *format, ...)
{
	static const char *const tags[] = { "error", "warning", "info", "debug" };
	char line[1024];
	int n;
	va_list ap;

	if (!drv_log_enabled(level))
		return;
	n = snprintf(line, sizeof line, "quintorus%s%s: %s: ", log_name[0] ? " " : "", log_name,
	             tags[level]);
	va_start(ap, format);
	n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, ap);
	va_end(ap);
	if (n > (int)sizeof line - 2)
		n = sizeof line - 2;
	line[n++] = '\n';
	/* One write, so that lines of several processes do not mix. */
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}
