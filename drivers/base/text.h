/* SPDX-License-Identifier: BSD-3-Clause */
/* Small text files that a user names: of machines, costs, faults and hosts. */
#ifndef DRIVERS_BASE_TEXT_H
#define DRIVERS_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

#define DRV_TEXT_BYTES_MAX (1u << 20)

/*
 * Read all of a file, which may be a pipe. Returns its text with a 0 behind it, to be freed, or
 * NULL with errno: EISDIR for a directory, and EFBIG from DRV_TEXT_BYTES_MAX bytes on, so that a
 * device without an end is refused. *bytes: without the 0 at the end; others may be inside.
 */
char *drv_text_read(const char *path, size_t *bytes);

/*
 * The same, opened to be read line by line. A 0 inside becomes a 1, which no parser of lines takes
 * for the end of its line. Close the file first, then free *text. Returns NULL with errno.
 */
FILE *drv_text_open(const char *path, char **text);

#endif
