/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/json.h"

void json_print_text(FILE *f, const char *text)
{
	if (!text) {
		fputs("null", f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		/* In a page, "</script" would end the script that holds the text. */
		if (c == '<')
			fputs("\\u003c", f);
		else if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < ' ')
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}
