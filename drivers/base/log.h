/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log: one line per event on standard error, with values that can be searched for ("node 12", not
 * "node=12").
 *
 * The setting QUINTORUS_LOG chooses the level: error, warn (default), info or debug. The function
 * that first detects a cause logs it once; its callers only pass the error on. Do not log on a hot
 * path. Any thread may log.
 *
 * A place in the code prints at most 16 lines at once and then one a second; the next line that it
 * prints says how many were left out. Debug lines have no limit.
 */
#ifndef DRIVERS_BASE_LOG_H
#define DRIVERS_BASE_LOG_H

enum drv_log_level { DRV_LOG_ERROR, DRV_LOG_WARN, DRV_LOG_INFO, DRV_LOG_DEBUG };

/*
 * Set the name in front of each line, such as "task 3" or "agent 0". It is copied; at most 31
 * characters are kept.
 */
void drv_log_name(const char *name);
int drv_log_enabled(enum drv_log_level level);
void drv_log(enum drv_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define drv_error(...) drv_log(DRV_LOG_ERROR, __VA_ARGS__)
#define drv_warn(...)  drv_log(DRV_LOG_WARN, __VA_ARGS__)
#define drv_info(...)  drv_log(DRV_LOG_INFO, __VA_ARGS__)
#define drv_debug(...)                                                                             \
	do {                                                                                       \
		if (drv_log_enabled(DRV_LOG_DEBUG))                                                \
			drv_log(DRV_LOG_DEBUG, __VA_ARGS__);                                       \
	} while (0)

#endif
