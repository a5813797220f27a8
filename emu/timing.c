/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/timing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *name, *source;
	uint32_t value;
	size_t at;
};

static const struct row rows[] = {
#define HW(name, value, text) {#name, text, value, offsetof(struct emu_timing, name)},
#include "emu/timing.def"
#undef HW
};

#define ROWS      (sizeof rows / sizeof rows[0])
#define VALUE_MAX 4e9 /* ps; it must fit the field */

static uint32_t *row_value(struct emu_timing *t, const struct row *r)
{
	return (uint32_t *)((char *)t + r->at);
}

void emu_timing_default(struct emu_timing *t)
{
	for (unsigned i = 0; i < ROWS; i++)
		*row_value(t, &rows[i]) = rows[i].value;
}

const char *emu_timing_row(const struct emu_timing *t, unsigned i, uint32_t *value,
			   const char **source)
{
	if (i >= ROWS)
		return NULL;
	*value = *(const uint32_t *)((const char *)t + rows[i].at);
	*source = rows[i].source;
	return rows[i].name;
}

/* Return the row with this name and the unit of a value in ps, or NULL. */
static const struct row *row_find(const char *name, size_t bytes, double *unit)
{
	for (unsigned i = 0; i < ROWS; i++) {
		size_t n = strlen(rows[i].name);

		*unit = 1;
		if (n == bytes && !memcmp(rows[i].name, name, n))
			return &rows[i];
		*unit = 1000;
		if (n == bytes && !memcmp(rows[i].name, name, n - 2) &&
		    !memcmp(name + n - 2, "ns", 2) && !memcmp(rows[i].name + n - 2, "ps", 2))
			return &rows[i];
	}
	return NULL;
}

int emu_timing_set(struct emu_timing *t, const char *text, char *err, size_t err_bytes)
{
	struct emu_timing next = *t;

	while (text && *text) {
		size_t name = strcspn(text, "=,"), all = strcspn(text, ",");
		const struct row *r;
		double unit, value;
		char *end;

		r = row_find(text, name, &unit);
		if (!r || text[name] != '=') {
			snprintf(err, err_bytes,
				 "hardware time '%.*s': expected name=value with a name of "
				 "emu/timing.def, such as hop_ns=35",
				 (int)all, text);
			return -EINVAL;
		}
		value = strtod(text + name + 1, &end) * unit;
		if (end == text + name + 1 || end != text + all ||
		    !(value >= 0 && value <= VALUE_MAX)) {
			snprintf(err, err_bytes,
				 "hardware time '%.*s': the value must be a number from 0 to %g, "
				 "without a unit: the name has it (hop_ps=38000 or hop_ns=38)",
				 (int)all, text, VALUE_MAX / unit);
			return -EINVAL;
		}
		*row_value(&next, r) = (uint32_t)(value + 0.5);
		text += all + (text[all] == ',');
	}
	*t = next;
	return 0;
}
