/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A put of several packets that a messaging unit carries out (emu/directory.h), as functions of the
 * unit's record of it and of the lease of the block. They touch no packet and no memory of a block,
 * so the model checker (tests/model/agas_move.c) runs these very functions.
 *
 *	source: unit ---- LONG_PUT ---> owner: unit    opens a record and pins the block
 *	        unit <--- remote get -- owner: unit
 *	        unit ---- direct put -> owner: unit    each packet names the record
 *	        unit <--- ANSWER ------ owner: unit    after the last byte; the pin is released
 *
 * The pin is one of those that the software of the owner counts, so the block leaves only after it
 * is released. The unit releases it only while the block is OWNED. If the block is to leave or to
 * be freed, software has to learn of its last pin, so the unit gives the pin to software: the
 * message END, in place of the ANSWER. Software releases it as any other pin, and answers the
 * source.
 *
 * If the source dies, the unit closes the record in the same way. What its packets still bring is
 * for a record that is closed, and the unit drops it: the generation tells a record from the next
 * one in its place. A unit that knows of the death opens no record for that source.
 */
#ifndef EMU_LONG_PUT_H
#define EMU_LONG_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/directory.h"

/* The model checker leaves out one line at a time, and must then find a violation. */
#ifndef EMU_DEFECT
#define EMU_DEFECT(line) 0
#endif

struct emu_long_put {
	uint32_t left; /* bytes to come */
	uint16_t generation;
	bool open;
};

enum emu_long_next {
	EMU_LONG_ANSWER,  /* the pin is released: answer the source */
	EMU_LONG_SOFTWARE /* send END to the software of the owner, which has the pin now */
};

static inline bool emu_lease_is_owned(const struct emu_lease *l)
{
	return l->word >> 32 == EMU_BIND_OWNED;
}

/* Open a record and pin the block. Returns false if software has to carry out the put. */
static inline bool emu_long_open(struct emu_long_put *w, struct emu_lease *l, uint32_t bytes,
				 bool source_is_dead)
{
	if ((source_is_dead && !EMU_DEFECT(DEAD_SOURCE)) || !emu_lease_is_owned(l))
		return false;
	if (!EMU_DEFECT(UNIT_PIN))
		l->word++;
	w->left = bytes;
	w->open = true;
	return true;
}

/* May the unit write the bytes of a packet that names this record? */
static inline bool emu_long_accepts(const struct emu_long_put *w, uint16_t generation)
{
	return (w->open && w->generation == generation) || EMU_DEFECT(LATE_DATA);
}

/* No packet will be written any more. `failed`: the source has to learn of it from software. */
static inline enum emu_long_next emu_long_close(struct emu_long_put *w, struct emu_lease *l,
						bool failed)
{
	w->open = false;
	w->generation++;
	if (failed || (!emu_lease_is_owned(l) && !EMU_DEFECT(UNIT_UNPIN)))
		return EMU_LONG_SOFTWARE;
	if (!EMU_DEFECT(UNIT_PIN))
		l->word--;
	return EMU_LONG_ANSWER;
}

/* The bytes of a packet have been written. Returns true if they were the last: close the record. */
static inline bool emu_long_data(struct emu_long_put *w, uint32_t bytes)
{
	w->left -= bytes;
	return !w->left;
}

#endif
