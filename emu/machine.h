/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine: its times (emu/timing.def) and its structure (emu/machine.def), as rows of a name and
 * a value. The default is Blue Gene/Q. Pure functions; a struct emu_machine has no pointers and may
 * lie in shared memory.
 */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "emu/directory.h"
#include "emu/router.h"
#include "emu/timing.h"

#define EMU_WORD_BYTES 16

struct emu_hardware {
#define NUMBER(name, value, low, high, text) uint32_t name;
#define WORD(name, value, check, text)       char name[EMU_WORD_BYTES];
#include "emu/machine.def"
#undef NUMBER
#undef WORD
};

struct emu_machine {
	struct emu_timing timing;
	struct emu_hardware hw;
};

void emu_machine_default(struct emu_machine *m);

/*
 * Change rows: "hop_ns=35,zone0=AB/CD/E". A name that ends in _ps may be written with _ns. NULL or
 * "" changes nothing. Returns 0, or -EINVAL with a sentence in err, which names the nearest row if
 * there is no row of that name; then nothing is changed.
 */
int emu_machine_set(struct emu_machine *m, const char *text, char *err, size_t err_bytes);

struct emu_machine_row {
	const char *name, *source;
	char value[EMU_WORD_BYTES];
	int is_time; /* picoseconds, for the virtual clock only */
};
/* Fill in row i, for lists: times first. Returns 0, or -ENOENT past the end. */
int emu_machine_row(const struct emu_machine *m, unsigned i, struct emu_machine_row *row);

/* Return the dimensions of row mesh: bit d for dimension d. */
unsigned emu_machine_mesh(const struct emu_machine *m);
/* Return the mode that row agas names. */
enum emu_directory_mode emu_machine_directory(const struct emu_machine *m);
/* Fill in the parameters of this machine's routers. */
void emu_machine_router(const struct emu_machine *m, struct emu_router_conf *conf);

#endif
