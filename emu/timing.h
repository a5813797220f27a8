/* SPDX-License-Identifier: BSD-3-Clause */
/* Every modelled delay of the hardware, in picoseconds, each with its source: emu/timing.def. */
#ifndef EMU_TIMING_H
#define EMU_TIMING_H

#include <stddef.h>
#include <stdint.h>

struct emu_timing {
#define HW(name, value, text) uint32_t name;
#include "emu/timing.def"
#undef HW
};

/* Set the values of the machine, Blue Gene/Q. */
void emu_timing_default(struct emu_timing *t);

/*
 * Override rows: "hop_ns=35,link_ps_per_byte=250". A name that ends in _ps may be written with _ns;
 * its value is then in nanoseconds. Values may have a fraction. NULL or "" changes nothing. Returns
 * 0, or -EINVAL with a sentence in err and without a change.
 */
int emu_timing_set(struct emu_timing *t, const char *text, char *err, size_t err_bytes);

/* Return the name of row i and set *value to its value, for lists; NULL behind the last row. */
const char *emu_timing_row(const struct emu_timing *t, unsigned i, uint32_t *value,
			   const char **source);

#endif
