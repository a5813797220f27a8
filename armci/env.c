/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from the environment: one table of names, defaults and meanings. Unknown names are ignored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "armci/state.h"
#include "drivers/base/log.h"

struct armci_env armci_env;

enum kind { BOOLEAN, BYTES, MEGABYTES, MICROSECONDS, CHOICE, TEXT, ACCEPTED };

struct setting {
	const char *name;
	enum kind kind;
	size_t offset; /* in armci_env: bool, size_t, int or const char * */
	const char *standard;
	const char *choices; /* of a CHOICE, separated by spaces; the value is the place */
	const char *meaning;
};

#define AT(field) offsetof(struct armci_env, field)

static const struct setting settings[] = {
#define ARMCI_SETTING(name, kind, field, standard, choices, meaning)                                    \
	{name, kind, AT(field), standard, choices, meaning},
#include "armci/env.def"
#undef ARMCI_SETTING
};

static bool is_true(const char *s)
{
	return strchr("tTyY1", *s) != NULL;
}

/* Place of a word in a list of words, or -1. */
static int choice_of(const char *choices, const char *word)
{
	size_t n = strlen(word);
	int place = 0;

	while (*choices) {
		size_t k = strcspn(choices, " ");

		if (k == n && !strncasecmp(choices, word, n))
			return place;
		choices += k + (choices[k] == ' ');
		place++;
	}
	return -1;
}

static int number_of(const char *text, size_t unit, size_t *value)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 0);

	if (end == text || (*end && !strchr("kKmMgG", *end)))
		return -1;
	if (*end)
		v <<= *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : 30;
	*value = (size_t)v * unit;
	return 0;
}

/* At most a second: who waits longer for an answer takes the process for dead. */
static int microseconds_of(const char *text, long *value)
{
	char *end;

	*value = -1;
	if (!*text)
		return 0;
	*value = strtol(text, &end, 10);
	return end == text || *end || *value < 0 || *value > 1000000 ? -1 : 0;
}

static int setting_read(const struct setting *s)
{
	const char *text = getenv(s->name);
	void *at = (char *)&armci_env + s->offset;

	if (!text || !*text)
		text = s->standard;
	switch (s->kind) {
	case BOOLEAN:
		*(bool *)at = is_true(text);
		return 0;
	case BYTES:
		return number_of(text, 1, at);
	case MEGABYTES:
		/* An older name of another setting: says nothing unless it is there. */
		return *text ? number_of(text, 1u << 20, at) : 0;
	case MICROSECONDS:
		return microseconds_of(text, at);
	case ACCEPTED:
		return 0;
	case CHOICE:
		*(int *)at = choice_of(s->choices, text);
		return *(int *)at < 0 ? -1 : 0;
	default:
		*(const char **)at = text;
		return 0;
	}
}

int armci_env_read(void)
{
	size_t i;

	memset(&armci_env, 0, sizeof(armci_env));
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (setting_read(&settings[i])) {
			drv_error("armci: %s=%s: %s%s", settings[i].name, getenv(settings[i].name),
				  settings[i].kind == CHOICE	     ? "is none of: "
				  : settings[i].kind == MICROSECONDS ? "is no number from 0 to 1000000"
								     : "is no number",
				  settings[i].kind == CHOICE ? settings[i].choices : "");
			return FAIL6;
		}
	return 0;
}

void armci_env_print(void)
{
	bool help = armci_env.verbose == ARMCI_VERBOSE_HELP;
	size_t i;

	if (!armci_env.verbose)
		return;
	fprintf(stderr, "armci: %d processes, progress %s, accumulate by %s instructions\n",
		armci_world.nproc, armci_world.thread ? "asynchronous" : "in calls only",
		armci_acc_chosen());
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const struct setting *s = &settings[i];
		const char *set = getenv(s->name);

		if (help)
			fprintf(stderr, "  %-24s %s (default %s%s%s)\n", s->name, s->meaning,
				*s->standard ? s->standard : "none", s->choices ? " of: " : "",
				s->choices ? s->choices : "");
		else if ((set && *set) || armci_env.verbose > 1)
			fprintf(stderr, "armci: %s=%s\n", s->name, set && *set ? set : s->standard);
	}
}
