/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings of JSON. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdio.h>

/* Print text in quotes, with what JSON does not allow in a string escaped. NULL prints null. */
void json_print_text(FILE *f, const char *text);

#endif
