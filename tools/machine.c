/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/machine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef QT_HAVE_INIH
#include <ini.h>
#endif

#include "drivers/base/text.h"

#define LINE_BYTES_MAX 198u /* the buffer of inih has 200, with the ends of line and text */

struct reader {
	struct machine *k;
	char *err;
	size_t err_bytes;
};

/* Does the item that begins here name this row? A time may be written in nanoseconds. */
static bool is_named(const char *at, const struct emu_machine_row *row)
{
	size_t bytes = strlen(row->name), name = strcspn(at, "=,");

	return name == bytes && (!strncmp(at, row->name, bytes) ||
				 (row->is_time && !strncmp(at, row->name, bytes - 2)));
}

/* Note which rows a text names. */
static void note_origin(struct machine *k, const char *text, enum machine_origin origin)
{
	struct emu_machine_row row;

	for (unsigned i = 0; i < MACHINE_ROWS_MAX && !emu_machine_row(&k->m, i, &row); i++)
		for (const char *at = text; at && *at; at = strchr(at, ','), at += at != NULL)
			if (is_named(at, &row))
				k->origin[i] = (unsigned char)origin;
}

#ifdef QT_HAVE_INIH
/* Has an earlier line of the file set the row? */
static bool is_set_before(const struct machine *k, const char *item)
{
	struct emu_machine_row row;

	for (unsigned i = 0; i < MACHINE_ROWS_MAX && !emu_machine_row(&k->m, i, &row); i++)
		if (k->origin[i] == MACHINE_FILE && is_named(item, &row))
			return true;
	return false;
}

/* Called by inih for each line. Returns 0 to refuse the line. */
static int take_line(void *arg, const char *section, const char *name, const char *value)
{
	struct reader *r = arg;
	size_t bytes = strcspn(value, "#"); /* inih ends a value at a semicolon only */
	char item[256];

	if (r->err[0]) /* inih reads on after an error */
		return 0;
	while (bytes && (value[bytes - 1] == ' ' || value[bytes - 1] == '\t'))
		bytes--;
	snprintf(item, sizeof item, "%s=%.*s", name, (int)bytes, value);
	if (strpbrk(item + strlen(name) + 1, ",=")) {
		snprintf(r->err, r->err_bytes, "%s = %.*s: one value a line, after one =", name,
			 (int)bytes, value);
		return 0;
	}
	if (is_set_before(r->k, item)) {
		snprintf(r->err, r->err_bytes,
			 "%s: an earlier line of the file has set this row: leave one of them",
			 name);
		return 0;
	}
	if (emu_machine_set(&r->k->m, item, r->err, r->err_bytes))
		return 0;
	note_origin(r->k, item, MACHINE_FILE);
	return 1;
}

/* The path of a machine file, or of one of those that come with torus if no file has the name. */
static void find_path(const char *file, char *path, size_t path_bytes)
{
	static const char *const place[] = {QT_MACHINES_DIR, TOOLS_MACHINES_SOURCE};

	for (size_t i = 0;
	     !strchr(file, '/') && access(file, R_OK) && i < sizeof place / sizeof *place; i++) {
		snprintf(path, path_bytes, "%s/%s%s", place[i], file,
			 strstr(file, ".ini") ? "" : ".ini");
		if (!access(path, R_OK))
			return;
	}
	snprintf(path, path_bytes, "%s", file);
}

/* Return the first line that is no text, or that inih would cut in two, with why; 0: none. */
static int find_wrong_line(const char *text, size_t bytes, const char **why)
{
	const char *at = text, *end = text + bytes;

	for (int line = 1; at < end; line++) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((next ? next : end) - at);

		for (size_t i = 0; i < length; i++)
			if (((unsigned char)at[i] < ' ' && !strchr("\t\r\f", at[i])) ||
			    at[i] == 0 || at[i] == 127) {
				*why = "bytes that are no text: a machine file is text";
				return line;
			}
		if (length >= LINE_BYTES_MAX) {
			*why = "the line is too long: at most 197 characters";
			return line;
		}
		at += length + 1;
	}
	return 0;
}

static int read_file(struct machine *k, const char *file, char *err, size_t err_bytes)
{
	const char *wrong = "write name = value, such as hop_ps = 38000";
	char path[1024], why[512] = "", *text;
	struct reader r = {k, why, sizeof why};
	size_t bytes = 0;
	int line;

	find_path(file, path, sizeof path);
	text = drv_text_read(path, &bytes);
	if (!text) {
		snprintf(err, err_bytes,
			 "--machine %s: cannot read it: %s; give the path of a machine file, or "
			 "bgq, ethernet or successor",
			 file, strerror(errno));
		return -EINVAL;
	}
	line = find_wrong_line(text, bytes, &wrong);
	if (!line)
		line = ini_parse_string(text, take_line, &r);
	free(text);
	if (line == 0)
		return 0;
	snprintf(err, err_bytes, "--machine %s: line %d: %s", path, line, why[0] ? why : wrong);
	return -EINVAL;
}
#else
static int read_file(struct machine *k, const char *file, char *err, size_t err_bytes)
{
	snprintf(err, err_bytes,
		 "--machine %s: this torus was built without libinih; install libinih-dev and "
		 "build again, or use --hw",
		 file);
	return -EINVAL;
}
#endif

int machine_make(struct machine *k, const char *file, const char *hw, char *err, size_t err_bytes)
{
	int rc;

	memset(k, 0, sizeof *k);
	emu_machine_default(&k->m);
	rc = file ? read_file(k, file, err, err_bytes) : 0;
	if (!rc)
		rc = emu_machine_set(&k->m, hw, err, err_bytes);
	if (!rc && hw)
		note_origin(k, hw, MACHINE_OPTION);
	return rc;
}

void machine_text(const struct emu_machine *m, char *text)
{
	struct emu_machine standard;
	struct emu_machine_row row, usual;
	size_t n = 0;

	emu_machine_default(&standard);
	text[0] = 0;
	for (unsigned i = 0; !emu_machine_row(m, i, &row); i++) {
		emu_machine_row(&standard, i, &usual);
		if (strcmp(row.value, usual.value) && n < MACHINE_TEXT_BYTES - 64)
			n += (size_t)snprintf(text + n, MACHINE_TEXT_BYTES - n, "%s%s=%s",
					      n ? "," : "", row.name, row.value);
	}
}
