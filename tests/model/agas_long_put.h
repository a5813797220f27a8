/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of tests/model/agas_move.c in which units carry out a long put, on its state. Included
 * there, once.
 */
#ifndef TESTS_MODEL_AGAS_LONG_PUT_H
#define TESTS_MODEL_AGAS_LONG_PUT_H

static struct emu_lease read_lease(void)
{
	return (struct emu_lease){.word = block.word.plain};
}

static struct emu_long_put read_record(void)
{
	return (struct emu_long_put){now.left, now.closed, now.writer_unit == at_rank + 1};
}

/* A long put has reached the unit of the loaded rank. */
static bool unit_opens(void)
{
	struct emu_lease l = read_lease();
	struct emu_long_put w = read_record();

	if (!now.unit[at_rank] ||
	    !emu_long_open(&w, &l, PACKETS,
			   now.unit_seen >> at_rank & 1 && conf.source == now.dead))
		return false;
	block.word.plain = l.word;
	now.left = (uint8_t)w.left;
	now.writer_unit = now.opened = (uint8_t)(at_rank + 1);
	now.writer_memory = now.memory[at_rank];
	now.fetch = is_alive(conf.source);
	return true;
}

static void unit_closes(struct emu_long_put *w, struct emu_lease *l, bool failed)
{
	enum emu_long_next next = emu_long_close(w, l, false);

	block.word.plain = l->word;
	now.closed = (uint8_t)w->generation;
	now.left = now.writer_unit = 0;
	if (next == EMU_LONG_SOFTWARE) {
		now.end = (uint8_t)(at_rank + 1);
		now.end_failed = failed;
	} else if (!failed) {
		answer_request(0);
	}
}

static void packet_arrives(void)
{
	struct emu_lease l;
	struct emu_long_put w;

	now.packets--;
	load_rank(now.opened - 1u);
	l = read_lease();
	w = read_record();
	if (!emu_long_accepts(&w, 0)) {
		store_rank();
		return;
	}
	if (now.memory[at_rank] != now.writer_memory)
		note_violation("a packet of a long put was written to memory that was released");
	if (w.open) {
		if (emu_long_data(&w, 1)) {
			take_effect();
			unit_closes(&w, &l, false);
		}
		now.left = (uint8_t)w.left;
	}
	store_rank();
}

/* The source of its record has died. */
static void unit_death(unsigned r)
{
	struct emu_lease l;
	struct emu_long_put w;

	now.unit_seen |= (uint8_t)(1u << r);
	load_rank(r);
	l = read_lease();
	w = read_record();
	if (w.open && conf.source == now.dead && defect != UNIT_DEATH)
		unit_closes(&w, &l, true);
	store_rank();
}

/* Software takes END. */
static void end_taken(void)
{
	uint8_t failed = now.end_failed;

	now.end = now.end_failed = 0;
	pin_release();
	answer_request(failed ? AGAS_WHY_LOST : 0);
}

/* Pins at a rank that its unit has, or has given to its software. */
static unsigned unit_pins(unsigned r)
{
	return (now.writer_unit == r + 1) + (now.end == r + 1);
}

/* A step of a long put by units; as make_step(). */
static bool make_unit_step(unsigned *n)
{
	unsigned i;

	if (now.fetch && !(*n)--) {
		now.fetch = 0;
		now.packets = PACKETS;
		return true;
	}
	if (now.packets && !(*n)--) {
		packet_arrives();
		return true;
	}
	if (now.packets && conf.source == now.dead && !(*n)--) { /* It does not arrive. */
		now.packets--;
		return true;
	}
	if (now.end && !(*n)--) {
		load_rank(now.end - 1u);
		end_taken();
		finish_event();
		return true;
	}
	for (i = 0; now.dead != NOBODY && i < conf.ranks; i++)
		if (is_alive(i) && !(now.unit_seen >> i & 1) && !(*n)--) {
			unit_death(i);
			return true;
		}
	return false;
}

#endif
