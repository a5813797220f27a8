/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/machine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef QT_HAVE_INIH
#include <ini.h>
#endif

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
	char item[256];

	if (r->err[0]) /* inih reads on after an error */
		return 0;
	if (strpbrk(value, ",=")) {
		snprintf(r->err, r->err_bytes, "%s = %s: one value a line", name, value);
		return 0;
	}
	snprintf(item, sizeof item, "%s=%s", name, value);
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

static int read_file(struct machine *k, const char *file, char *err, size_t err_bytes)
{
	char path[1024], why[512] = "";
	struct reader r = {k, why, sizeof why};
	struct stat status;
	int line;

	snprintf(path, sizeof path, "%s", file);
	if (!strchr(file, '/') && access(file, R_OK))
		snprintf(path, sizeof path, "%s/%s%s", QT_MACHINES_DIR, file,
			 strstr(file, ".ini") ? "" : ".ini");
	/* What can be opened and not read would count as an empty file. */
	errno = 0;
	line =
	    !stat(path, &status) && S_ISDIR(status.st_mode) ? -1 : ini_parse(path, take_line, &r);
	if (line == 0)
		return 0;
	if (line < 0)
		snprintf(
		    err, err_bytes,
		    "--machine %s: cannot read it: %s; give the path of a machine file, or one "
		    "of those in %s",
		    file, strerror(errno ? errno : EISDIR), QT_MACHINES_DIR);
	else
		snprintf(err, err_bytes, "--machine %s: line %d: %s", path, line,
			 why[0] ? why : "write name = value, such as hop_ps = 38000");
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
