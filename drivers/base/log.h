/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log: one line per event on stderr, values searchable ("node 12", not "node=12").
 *
 * Level from QUINTORUS_LOG = error | warn (default) | info | debug. Whoever first knows a cause
 * logs it once; the others pass the error up. Never on a hot path. Any thread.
 */
#ifndef DRIVERS_BASE_LOG_H
#define DRIVERS_BASE_LOG_H

enum drv_log_level { DRV_LOG_ERROR, DRV_LOG_WARN, DRV_LOG_INFO, DRV_LOG_DEBUG };

/* Name put before each line, e.g. "task 3" or "agent 0"; copied, at most 31 characters. */
void drv_log_name(const char *name);
int drv_log_enabled(enum drv_log_level level);
void drv_log(enum drv_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define drv_error(...) drv_log(DRV_LOG_ERROR, __VA_ARGS__)
#define drv_warn(...)  drv_log(DRV_LOG_WARN, __VA_ARGS__)
#define drv_info(...)  drv_log(DRV_LOG_INFO, __VA_ARGS__)
#define drv_debug(...)                                                                             \
	do {                                                                                       \
		if (drv_log_enabled(DRV_LOG_DEBUG))                                                \
			drv_log(DRV_LOG_DEBUG, __VA_ARGS__);                                       \
	} while (0)

#endif
