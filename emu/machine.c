/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/machine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/settings.h"

#define ALL_DIMS ((1u << EMU_DIMS) - 1)

/* ---- checks of words: each returns what is expected, or NULL if the word is right ---- */

static int dim_of(char c)
{
	return c >= 'A' && c <= 'E' ? c - 'A' : -1;
}

/* Read one set of dimensions. Returns 0 if the text does not begin with one. */
static unsigned read_set(const char **text)
{
	unsigned set = 0;

	for (int d; (d = dim_of(**text)) >= 0; ++*text)
		set |= 1u << d;
	return set;
}

static bool is_auto(const char *word)
{
	return !strcmp(word, "auto");
}

/* Parse "AB/CD/E". Returns the number of sets, 0: it is none. */
static unsigned read_zone(const char *word, uint8_t *sets)
{
	unsigned n = 0, all = 0;

	do {
		unsigned set = read_set(&word);

		if (!set || n == EMU_DIMS)
			return 0;
		sets[n++] = (uint8_t)set;
		all |= set;
	} while (*word++ == '/');
	return word[-1] || all != ALL_DIMS ? 0 : n;
}

static const char *is_zone(const char *word)
{
	uint8_t sets[EMU_DIMS];

	return is_auto(word) || read_zone(word, sets)
		   ? NULL
		   : "auto, or up to five sets of the letters A to E with '/' between them, which "
		     "together have all five, such as ABCD/E";
}

static const char *is_order(const char *word)
{
	const char *at = word;

	return is_auto(word) || (strlen(word) == EMU_DIMS && read_set(&at) == ALL_DIMS)
		   ? NULL
		   : "auto, or the letters A to E in some order, such as DABCE";
}

static const char *is_tie(const char *word)
{
	return !strcmp(word, "parity") || !strcmp(word, "plus") || !strcmp(word, "minus")
		   ? NULL
		   : "parity, plus or minus";
}

static const char *is_mesh(const char *word)
{
	const char *at = word;

	return !strcmp(word, "none") || (read_set(&at) && !*at) ? NULL : "none, or letters A to E";
}

static const char *is_flexibility(const char *word)
{
	char *end;
	double value = strtod(word, &end);

	return is_auto(word) || (end != word && !*end && value >= 0 && value <= 4)
		   ? NULL
		   : "auto, or a number from 0 to 4";
}

static int agas_mode(const char *word)
{
	static const char *const name[] = {"software", "hw-central", "hw-home", "hw-torus"};

	for (int i = 0; i < 4; i++)
		if (!strcmp(word, name[i]))
			return i;
	return -1;
}

static const char *is_agas(const char *word)
{
	return agas_mode(word) >= 0 ? NULL : "software, hw-central, hw-home or hw-torus";
}

static const char *is_route(const char *word)
{
	return is_auto(word) || (word[0] >= '0' && word[0] <= '4' && !word[1]) ? NULL
									       : "auto, or 0 to 4";
}

static const char *is_rec_fifo(const char *word)
{
	return !strcmp(word, "spill") || !strcmp(word, "strict") ? NULL : "spill or strict";
}

static const char *is_atomics(const char *word)
{
	return !strcmp(word, "off") || !strcmp(word, "chip") || !strcmp(word, "full")
		   ? NULL
		   : "off, chip or full";
}

/* ---- rows ---- */

struct row {
	const char *name, *source;
	size_t at;
	uint32_t value, low, high;           /* of numbers */
	const char *word;                    /* NULL: a number */
	const char *(*check)(const char *w); /* of words */
};

static const struct row rows[] = {
#define NUMBER(name, value, low, high, text)                                                       \
	{#name, text, offsetof(struct emu_hardware, name), value, low, high, NULL, NULL},
#define WORD(name, value, check, text)                                                             \
	{#name, text, offsetof(struct emu_hardware, name), 0, 0, 0, value, check},
#include "emu/machine.def"
#undef NUMBER
#undef WORD
};

#define ROWS (sizeof rows / sizeof rows[0])

static uint32_t *number_of(struct emu_machine *m, const struct row *r)
{
	return (uint32_t *)((char *)&m->hw + r->at);
}

static char *word_of(struct emu_machine *m, const struct row *r)
{
	return (char *)&m->hw + r->at;
}

void emu_machine_default(struct emu_machine *m)
{
	memset(m, 0, sizeof *m);
	emu_timing_default(&m->timing);
	for (unsigned i = 0; i < ROWS; i++)
		if (rows[i].word)
			strcpy(word_of(m, &rows[i]), rows[i].word);
		else
			*number_of(m, &rows[i]) = rows[i].value;
}

int emu_machine_row(const struct emu_machine *m, unsigned i, struct emu_machine_row *row)
{
	struct emu_machine copy = *m;
	unsigned times = 0;
	uint32_t value;

	memset(row, 0, sizeof *row);
	row->name = emu_timing_row(&m->timing, i, &value, &row->source);
	if (row->name) {
		row->is_time = 1;
		snprintf(row->value, sizeof row->value, "%u", value);
		return 0;
	}
	while (emu_timing_row(&m->timing, times, &value, &row->source))
		times++;
	if (i - times >= ROWS)
		return -ENOENT;
	row->name = rows[i - times].name;
	row->source = rows[i - times].source;
	if (rows[i - times].word)
		memcpy(row->value, word_of(&copy, &rows[i - times]), sizeof row->value);
	else
		snprintf(row->value, sizeof row->value, "%u", *number_of(&copy, &rows[i - times]));
	return 0;
}

/* The row whose name is nearest to a mistaken one. */
static const char *nearest_name(const struct emu_machine *m, const char *name)
{
	unsigned least = UINT32_MAX;
	const char *nearest = "";
	struct emu_machine_row row;
	char lower[64]; /* of which all names are */

	snprintf(lower, sizeof lower, "%s", name);
	for (char *c = lower; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	for (unsigned i = 0; !emu_machine_row(m, i, &row); i++)
		if (drv_is_nearer(lower, row.name, &least))
			nearest = row.name;
	return nearest;
}

static bool is_time(const struct emu_machine *m, const char *name)
{
	size_t bytes = strlen(name);
	const char *source, *row;
	uint32_t value;

	for (unsigned i = 0; (row = emu_timing_row(&m->timing, i, &value, &source)); i++)
		if (!strcmp(row, name) ||
		    (strlen(row) == bytes && !strncmp(row, name, bytes - 2) &&
		     !strcmp(name + bytes - 2, "ns") && !strcmp(row + bytes - 2, "ps")))
			return true;
	return false;
}

static int row_set(struct emu_machine *m, const struct row *r, const char *value, char *err,
		   size_t err_bytes)
{
	unsigned long long number;
	const char *expected;
	char *end;

	if (r->word) {
		expected = strlen(value) < EMU_WORD_BYTES ? r->check(value) : "a shorter word";
		if (expected) {
			snprintf(err, err_bytes, "%s=%s: expected %s", r->name, value, expected);
			return -EINVAL;
		}
		strcpy(word_of(m, r), value);
		return 0;
	}
	number = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || number < r->low || number > r->high) {
		snprintf(err, err_bytes, "%s=%s: expected a number from %u to %u", r->name, value,
			 r->low, r->high);
		return -EINVAL;
	}
	*number_of(m, r) = (uint32_t)number;
	return 0;
}

/* Set one row; `item` is "name=value". */
static int item_set(struct emu_machine *m, char *item, char *err, size_t err_bytes)
{
	char *value = strchr(item, '=');

	if (!value || value == item) {
		snprintf(err, err_bytes,
			 "'%s': write name=value, such as hop_ns=35 (torus machine lists "
			 "the names)",
			 item);
		return -EINVAL;
	}
	*value = 0;
	if (is_time(m, item)) {
		*value = '=';
		return emu_timing_set(&m->timing, item, err, err_bytes);
	}
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, item))
			return row_set(m, &rows[i], value + 1, err, err_bytes);
	if (strpbrk(item, " \t")) {
		snprintf(err, err_bytes, "'%s=%s': write name=value without blanks", item,
			 value + 1);
		return -EINVAL;
	}
	snprintf(err, err_bytes,
		 "there is no row '%s'; the nearest is %s (torus machine lists all)", item,
		 nearest_name(m, item));
	return -EINVAL;
}

int emu_machine_set(struct emu_machine *m, const char *text, char *err, size_t err_bytes)
{
	struct emu_machine next = *m;
	char item[128];
	int rc;

	while (text && *text) {
		size_t bytes = strcspn(text, ",");

		if (bytes >= sizeof item) {
			snprintf(err, err_bytes, "'%.40s...' is too long for a row", text);
			return -EINVAL;
		}
		memcpy(item, text, bytes);
		item[bytes] = 0;
		rc = item_set(&next, item, err, err_bytes);
		if (rc)
			return rc;
		text += bytes + (text[bytes] == ',');
	}
	*m = next;
	return 0;
}

/* ---- what others make of it ---- */

enum emu_directory_mode emu_machine_directory(const struct emu_machine *m)
{
	int mode = agas_mode(m->hw.agas);

	return mode < 0 ? EMU_DIRECTORY_NONE : (enum emu_directory_mode)mode;
}

unsigned emu_machine_mesh(const struct emu_machine *m)
{
	const char *at = m->hw.mesh;

	return strcmp(at, "none") ? read_set(&at) : 0;
}

static void routing_make(const struct emu_hardware *hw, struct emu_routing *r)
{
	const char *const zone[EMU_ZONES] = {hw->zone0, hw->zone1, hw->zone2, hw->zone3};

	memset(r, 0, sizeof *r);
	r->tie = !strcmp(hw->tie, "plus")    ? EMU_TIE_PLUS
		 : !strcmp(hw->tie, "minus") ? EMU_TIE_MINUS
					     : EMU_TIE_PARITY;
	if (!is_auto(hw->order)) {
		r->has_order = 1;
		for (unsigned i = 0; i < EMU_DIMS; i++)
			r->order[i] = (uint8_t)dim_of(hw->order[i]);
	}
	for (unsigned z = 0; z < EMU_ZONES; z++)
		if (!is_auto(zone[z]))
			read_zone(zone[z], r->zone[z]);
}

void emu_machine_router(const struct emu_machine *m, struct emu_router_conf *conf)
{
	const struct emu_hardware *hw = &m->hw;

	memset(conf, 0, sizeof *conf);
	conf->slots[EMU_VC_DYNAMIC] = (uint16_t)hw->vc_dynamic_slots;
	conf->slots[EMU_VC_BUBBLE] = (uint16_t)hw->vc_deterministic_slots;
	conf->slots[EMU_VC_HIGH] = (uint16_t)hw->vc_high_slots;
	conf->slots[EMU_VC_SYSTEM] = (uint16_t)hw->vc_system_slots;
	conf->coll_slots = (uint8_t)hw->coll_slots;
	conf->injection_slots = (uint8_t)hw->injection_slots;
	conf->has_share = 1;
	conf->share = (uint8_t)hw->through_share;
	conf->link_errors = hw->link_errors_per_million;
	conf->link_error_ps = m->timing.link_error_ps;
	conf->link_sums = (uint8_t)hw->link_checksums;
	routing_make(hw, &conf->routing);
}
