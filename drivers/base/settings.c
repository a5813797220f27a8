/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"

#define NAME_LONGEST 64
#define WHY_BYTES    512

extern char **environ;

const struct drv_setting drv_settings[DRV_SETTINGS] = {
#define SETTING(name, kind, layer, standard, low, high, choices, help)                             \
	{#name, #layer, DRV_SETTING_##kind, standard, low, high, choices, help},
#include "drivers/base/settings.def"
#undef SETTING
};

static int parse_number(const char *text, bool has_unit, uint64_t *value)
{
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	unsigned shift = 0;
	char *end;

	/* strtoull() would accept a sign and turn -1 into a huge number. */
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, base);
	if (errno)
		return -EINVAL;
	if (has_unit && *end) {
		const char *unit = strchr("kKmMgG", *end++);

		if (!unit)
			return -EINVAL;
		shift = *unit == 'k' || *unit == 'K' ? 10 : *unit == 'm' || *unit == 'M' ? 20 : 30;
	}
	if (*end || *value > UINT64_MAX >> shift)
		return -EINVAL;
	*value <<= shift;
	return 0;
}

static int parse_choice(const char *choices, const char *word, uint64_t *position)
{
	size_t bytes = strlen(word);

	for (*position = 0; *choices; (*position)++) {
		size_t k = strcspn(choices, " ");

		if (k == bytes && !strncasecmp(choices, word, k))
			return 0;
		choices += k + (choices[k] == ' ');
	}
	return -EINVAL;
}

/* Describe the allowed values, as the object of the verb "give". */
static void describe_allowed(const struct drv_setting *s, char *text, size_t bytes)
{
	const char *noun = s->kind == DRV_SETTING_POWER ? "a power of two" : "a whole number";
	const char *unit = s->kind == DRV_SETTING_BYTES ? ", which may end in k, m or g" : "";

	if (s->kind == DRV_SETTING_CHOICE)
		snprintf(text, bytes, "one of: %s", s->choices);
	else if (s->kind == DRV_SETTING_SWITCH)
		snprintf(text, bytes, "on or off");
	else if (s->high == SETTING_ANY)
		snprintf(text, bytes, "%s of at least %" PRIu64 "%s", noun, s->low, unit);
	else
		snprintf(text, bytes, "%s from %" PRIu64 " to %" PRIu64 "%s", noun, s->low, s->high,
			 unit);
}

int drv_setting_parse(const struct drv_setting *s, const char *text, uint64_t *value, char *why,
		      size_t bytes)
{
	char allowed[256];
	uint64_t parsed = 0;
	int rc = 0;

	switch (s->kind) {
	case DRV_SETTING_NUMBER:
	case DRV_SETTING_POWER:
	case DRV_SETTING_BYTES:
	case DRV_SETTING_INTERNAL:
		rc = parse_number(text, s->kind == DRV_SETTING_BYTES, &parsed);
		if (!rc && (parsed < s->low || parsed > s->high ||
			    (s->kind == DRV_SETTING_POWER && (parsed & (parsed - 1)))))
			rc = -EINVAL;
		break;
	case DRV_SETTING_CHOICE:
		rc = parse_choice(s->choices, text, &parsed);
		break;
	case DRV_SETTING_FLAG:
		parsed = *text && strchr("tTyY1", *text) != NULL;
		break;
	case DRV_SETTING_SWITCH:
		rc = parse_choice("off on 0 1 no yes false true", text, &parsed);
		parsed &= 1;
		break;
	case DRV_SETTING_TEXT:
	case DRV_SETTING_NONE:
		break;
	}
	if (rc) {
		describe_allowed(s, allowed, sizeof allowed);
		snprintf(why, bytes, "%s is \"%s\": give %s", s->name, text, allowed);
	} else if (value) {
		*value = parsed;
	}
	return rc;
}

static const char *find_text(const struct drv_setting *s)
{
	const char *text = getenv(s->name);

	return text && *text ? text : NULL;
}

/* True at the first call for each setting. */
static bool is_first_report(enum drv_setting_id id)
{
	static atomic_u8 reported[DRV_SETTINGS];

	return !atomic_exchange_relaxed(&reported[id], 1);
}

static uint64_t parse_default(const struct drv_setting *s)
{
	uint64_t value = 0;
	char why[WHY_BYTES];

	if (*s->standard && *s->standard != '(')
		drv_setting_parse(s, s->standard, &value, why, sizeof why);
	return value;
}

/* True if the environment contains an allowed value. */
static bool find_value(enum drv_setting_id id, uint64_t *value)
{
	const struct drv_setting *s = &drv_settings[id];
	const char *text = find_text(s);
	char why[WHY_BYTES];

	if (!text)
		return false;
	if (!drv_setting_parse(s, text, value, why, sizeof why))
		return true;
	if (is_first_report(id))
		drv_warn("%s. Using the default%s%s.", why, *s->standard == '(' ? " " : ", ",
			 *s->standard ? s->standard : "none");
	return false;
}

uint64_t drv_setting_number(enum drv_setting_id id)
{
	uint64_t value;

	return find_value(id, &value) ? value : parse_default(&drv_settings[id]);
}

unsigned drv_setting_choice(enum drv_setting_id id)
{
	return (unsigned)drv_setting_number(id);
}

bool drv_setting_flag(enum drv_setting_id id)
{
	return drv_setting_number(id) != 0;
}

const char *drv_setting_text(enum drv_setting_id id)
{
	const struct drv_setting *s = &drv_settings[id];
	const char *text = find_text(s);

	return text ? text : *s->standard && *s->standard != '(' ? s->standard : NULL;
}

bool drv_setting_is_set(enum drv_setting_id id)
{
	uint64_t value;

	return find_value(id, &value);
}

int drv_setting_check(enum drv_setting_id id)
{
	const char *text = find_text(&drv_settings[id]);
	char why[WHY_BYTES];

	if (!text || !drv_setting_parse(&drv_settings[id], text, NULL, why, sizeof why))
		return 0;
	drv_error("%s", why);
	return -EINVAL;
}

/* Return how many insertions, deletions and replacements of one character turn `a` into `b`. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[NAME_LONGEST + 1];
	size_t n = strlen(b);

	for (size_t k = 0; k <= n; k++)
		row[k] = (unsigned)k;
	for (size_t i = 1; *a; a++, i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= n; k++) {
			unsigned best = diagonal + (*a != b[k - 1]);

			diagonal = row[k];
			if (row[k] + 1 < best)
				best = row[k] + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[n];
}

bool drv_is_nearer(const char *word, const char *name, unsigned *least)
{
	unsigned distance = edit_distance(word, name);

	if (distance >= *least)
		return false;
	*least = distance;
	return true;
}

const struct drv_setting *drv_setting_nearest(const char *name)
{
	const struct drv_setting *nearest = NULL;
	unsigned least = 4; /* a name with more than three differences is not a misspelling */

	for (size_t i = 0; i < DRV_SETTINGS; i++) {
		if (drv_settings[i].kind == DRV_SETTING_INTERNAL ||
		    strlen(drv_settings[i].name) > NAME_LONGEST)
			continue;
		if (drv_is_nearer(name, drv_settings[i].name, &least))
			nearest = &drv_settings[i];
	}
	return nearest;
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < DRV_SETTINGS; i++)
		if (!strcmp(drv_settings[i].name, name))
			return true;
	return false;
}

static void report_unknown(const char *entry, drv_settings_report_fn *report)
{
	const struct drv_setting *nearest;
	char name[NAME_LONGEST + 1], sentence[WHY_BYTES];

	/* A name that does not fit is cut off. The rest of it cannot be a known name. */
	snprintf(name, sizeof name, "%.*s", (int)strcspn(entry, "="), entry);
	if (is_known(name))
		return;
	nearest = drv_setting_nearest(name);
	snprintf(sentence, sizeof sentence,
		 nearest ? "%s is no setting: did you mean %s? torus settings lists them all"
			 : "%s is no setting: torus settings lists them all",
		 name, nearest ? nearest->name : "");
	report(false, sentence);
}

unsigned drv_settings_check_all(drv_settings_report_fn *report)
{
	unsigned errors = 0;
	char why[WHY_BYTES];

	for (size_t i = 0; i < DRV_SETTINGS; i++) {
		const char *text = find_text(&drv_settings[i]);

		if (!text || !drv_setting_parse(&drv_settings[i], text, NULL, why, sizeof why))
			continue;
		errors++;
		is_first_report((enum drv_setting_id)i); /* so the getters do not report it again */
		report(true, why);
	}
	for (char **entry = environ; entry && *entry; entry++)
		if (!strncmp(*entry, "QUINTORUS_", strlen("QUINTORUS_")))
			report_unknown(*entry, report);
	return errors;
}

static void log_sentence(bool is_error, const char *sentence)
{
	drv_log(is_error ? DRV_LOG_ERROR : DRV_LOG_WARN, "%s", sentence);
}

unsigned drv_settings_log_all(void)
{
	return drv_settings_check_all(log_sentence);
}

void drv_settings_log_ineffective(const char *layer)
{
	for (size_t i = 0; i < DRV_SETTINGS; i++) {
		const struct drv_setting *s = &drv_settings[i];

		if (s->kind == DRV_SETTING_NONE && !strcmp(s->layer, layer) && find_text(s))
			drv_warn("%s has no effect. %s", s->name, s->help);
	}
}
