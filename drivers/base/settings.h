/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings from the environment. settings.def lists them all; no other file calls getenv for a
 * setting. Read a setting once, where the object that it belongs to is opened: each getter searches
 * the environment and parses the text. An empty value counts as not set. Any thread may read, as
 * long as no thread changes the environment at the same time.
 */
#ifndef DRIVERS_BASE_SETTINGS_H
#define DRIVERS_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTING_ANY UINT64_MAX /* no upper limit */

enum drv_setting_id {
#define SETTING(name, kind, layer, standard, low, high, choices, help) DRV_##name,
#include "drivers/base/settings.def"
#undef SETTING
	DRV_SETTINGS
};

enum drv_setting_kind {
	DRV_SETTING_NUMBER,
	DRV_SETTING_POWER,
	DRV_SETTING_BYTES,
	DRV_SETTING_CHOICE,
	DRV_SETTING_FLAG,
	DRV_SETTING_SWITCH,
	DRV_SETTING_TEXT,
	DRV_SETTING_NONE,
	DRV_SETTING_INTERNAL
};

struct drv_setting {
	const char *name, *layer;
	enum drv_setting_kind kind;
	/* As a user would write it, or how the code chooses, in parentheses. */
	const char *standard;
	uint64_t low, high;
	const char *choices; /* of a CHOICE, separated by spaces */
	const char *help;
};

extern const struct drv_setting drv_settings[DRV_SETTINGS];

/*
 * Each getter returns the value in the environment, otherwise the default. A default in parentheses
 * or "" gives 0 or NULL. A value that is not allowed counts as not set and logs one warning in each
 * process.
 *   number  for NUMBER, POWER, BYTES and INTERNAL
 *   choice  the position of the word
 *   flag    for FLAG and SWITCH
 */
uint64_t drv_setting_number(enum drv_setting_id id);
unsigned drv_setting_choice(enum drv_setting_id id);
bool drv_setting_flag(enum drv_setting_id id);
const char *drv_setting_text(enum drv_setting_id id);

/* True if the environment contains an allowed value. */
bool drv_setting_is_set(enum drv_setting_id id);

/*
 * Return 0, or log an error and return -EINVAL if the value is not allowed. For settings without
 * which it is better not to start.
 */
int drv_setting_check(enum drv_setting_id id);

/* Parse `text` for a setting. Returns 0, or -EINVAL with a sentence in why. value may be NULL. */
int drv_setting_parse(const struct drv_setting *s, const char *text, uint64_t *value, char *why,
		      size_t bytes);

/*
 * Return true if fewer than *least insertions, deletions and replacements of one character turn
 * `word` into `name` (at most 64 characters), and set *least to their number. Any thread.
 */
bool drv_is_nearer(const char *word, const char *name, unsigned *least);

/* Return the setting whose name is most similar to `name`, or NULL if none is. */
const struct drv_setting *drv_setting_nearest(const char *name);

/*
 * Check all settings. The program that starts a job calls this once. `report` gets a sentence for
 * each value that is not allowed (is_error) and for each name QUINTORUS_* that is not a setting.
 * Returns the number of errors.
 */
typedef void drv_settings_report_fn(bool is_error, const char *sentence);
unsigned drv_settings_check_all(drv_settings_report_fn *report);

/* The same, with the sentences as lines of the log. */
unsigned drv_settings_log_all(void);

/*
 * Log the settings of `layer` that are set but have no effect. One task of a job calls this once.
 */
void drv_settings_log_ineffective(const char *layer);

#endif
