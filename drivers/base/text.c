/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *drv_text_read(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(DRV_TEXT_BYTES_MAX + 1) : NULL;
	int error;

	if (!text) {
		error = errno;
		if (f)
			fclose(f);
		errno = error;
		return NULL;
	}
	errno = 0;
	*bytes = fread(text, 1, DRV_TEXT_BYTES_MAX, f);
	error = ferror(f) ? errno : *bytes == DRV_TEXT_BYTES_MAX ? EFBIG : 0;
	fclose(f);
	text[*bytes] = 0;
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	return text;
}

FILE *drv_text_open(const char *path, char **text)
{
	size_t bytes = 0;
	FILE *f;

	*text = drv_text_read(path, &bytes);
	if (!*text)
		return NULL;
	for (char *zero = *text; (zero = memchr(zero, 0, bytes - (size_t)(zero - *text)));)
		*zero = 1;
	f = fmemopen(*text, bytes, "r");
	if (!f) {
		free(*text);
		*text = NULL;
	}
	return f;
}
