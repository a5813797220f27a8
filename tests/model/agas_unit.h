/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of tests/model/agas_move.c in which units carry out requests of a packet, and let a
 * request wait whose block arrives or has just left, on its state. Included there, once.
 */
#ifndef TESTS_MODEL_AGAS_UNIT_H
#define TESTS_MODEL_AGAS_UNIT_H

static bool has_memory(enum agas_state s)
{
	return s == AGAS_OWNED || s == AGAS_MOVING_OUT;
}

/* The state of the block at the loaded rank was `before`: what memory it has now, and what software
 * tells the unit about it. */
static void tell_unit(enum agas_state before)
{
	enum agas_state s = agas_block_state(&block);

	if (!conf.units && !conf.near)
		return;
	if (!has_memory(s))
		now.memory[at_rank] = 0;
	else if (!has_memory(before))
		now.memory[at_rank] = ++now.memories;
	/* What arrives gets the next memory, since one move after the other ends. */
	now.told[at_rank] = s == AGAS_OWNED      ? now.memory[at_rank]
			    : s == AGAS_INCOMING ? now.memories + 1
						 : 0;
}

/* A request has reached the unit of the loaded rank. Returns false if it leaves it to software. */
static bool unit_takes_request(void)
{
	if (!now.unit[at_rank] || (agas_block_state(&block) != AGAS_OWNED && defect != UNIT_STATE))
		return false;
	if (defect == UNIT_MEMORY && now.unit[at_rank] != now.memory[at_rank])
		note_violation("a unit accessed memory that was released");
	take_effect();
	answer_request(0);
	return true;
}

static bool unit_knows(void)
{
	enum agas_state s = agas_block_state(&block);

	return now.unit[at_rank] && (s == AGAS_INCOMING || s == AGAS_REMOTE);
}

/* A request is at the loaded rank, with its unit if there is one. */
static void take_request(uint8_t hops, uint8_t flags)
{
	if (conf.units && (conf.lasts ? unit_opens() : unit_takes_request()))
		return;
	if (!conf.units || !unit_knows()) {
		route_request(hops, flags);
		return;
	}
	now.unit_waits = (uint8_t)(at_rank + 1);
	now.waits_hops = hops;
	now.waits_flags = flags;
}

/* A request has waited in a unit, which looks again or gives it to software. */
static void end_waiting(bool by_software)
{
	uint8_t hops = now.waits_hops, flags = now.waits_flags;

	load_rank(now.unit_waits - 1u);
	now.unit_waits = now.waits_hops = now.waits_flags = 0;
	if (defect == UNIT_WAITS) {
		take_effect();
		answer_request(0);
	} else if (by_software) {
		route_request(hops, flags);
	} else {
		take_request(hops, flags);
	}
	finish_event();
}

/* A step of a request that waits; as make_step(). */
static bool make_waiting_step(unsigned *n)
{
	for (int by_software = 0; by_software < 2; by_software++)
		if (!(*n)--) {
			end_waiting(by_software);
			return true;
		}
	return false;
}

#endif
