/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine of a job: the default, changed by a machine file, changed by --hw. A machine file has
 * lines "name = value", sections in brackets (for the reader only) and comments after ';' or '#'.
 */
#ifndef TOOLS_MACHINE_H
#define TOOLS_MACHINE_H

#include <stddef.h>

#include "emu/machine.h"

#define MACHINE_ROWS_MAX   64
#define MACHINE_TEXT_BYTES 4096

enum machine_origin { MACHINE_DEFAULT, MACHINE_FILE, MACHINE_OPTION };

struct machine {
	struct emu_machine m;
	unsigned char origin[MACHINE_ROWS_MAX]; /* enum machine_origin of each row */
};

/*
 * file: a path, or the name of a machine installed with Quintorus ("bgq"); hw: "name=value,...".
 * Both may be NULL. Returns 0, or -EINVAL with a sentence in err.
 */
int machine_make(struct machine *k, const char *file, const char *hw, char *err, size_t err_bytes);

/* All rows that differ from the default, as emu_machine_set() reads them; "" if none does. text has
 * MACHINE_TEXT_BYTES. */
void machine_text(const struct emu_machine *m, char *text);

#endif
