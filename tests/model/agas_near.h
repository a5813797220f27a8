/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of tests/model/agas_move.c in which the source carries out its request by itself in
 * memory of the owner, a task of its host (emu/near_access.h, whose functions run here), on its
 * state. Included there, once.
 */
#ifndef TESTS_MODEL_AGAS_NEAR_H
#define TESTS_MODEL_AGAS_NEAR_H

#define CLAIMED 0x80u /* in the slot of the state */

/* The steps of the source. The owner and a death may come between any two. */
enum near_step { NEAR_NONE, NEAR_ENTERED, NEAR_ACCESSES, NEAR_IS_OVER };

static atomic_u64 load_slot(void)
{
	return (atomic_u64){(now.slot & CLAIMED ? EMU_NEAR_CLAIMED : 0) | (now.slot & ~CLAIMED)};
}

static void store_slot(atomic_u64 slot)
{
	now.slot = (uint8_t)((slot.plain & EMU_NEAR_CLAIMED ? CLAIMED : 0) | (slot.plain & 0x7f));
}

/* The lease of a rank is named by 1 + the rank. */
static uint32_t claim_near(struct agas_block *b)
{
	atomic_u64 slot = load_slot();
	bool claimed = emu_near_claim(&slot, at_rank + 1);

	store_slot(slot);
	if (claimed)
		agas_block_add_pins(b, 1);
	return claimed;
}

static void release_near(void)
{
	atomic_u64 slot = load_slot();

	if (emu_near_release(&slot, at_rank + 1))
		pin_release();
	store_slot(slot);
}

/* A pin of this rank that is the near access's. */
static unsigned near_pins(unsigned r)
{
	return now.slot == ((r + 1) | CLAIMED);
}

/* The table names the lease of rank `hint`, whose block may have left long ago. */
static void near_begin(void)
{
	atomic_u64 slot = load_slot();

	now.request = 1;
	now.sent_to = NOBODY;
	if (!emu_near_enter(&slot, conf.hint + 1u))
		note_violation("the slot is in use");
	store_slot(slot);
	now.near = NEAR_ENTERED;
}

static void near_look(void)
{
	struct emu_lease l;

	load_rank(conf.hint);
	l = (struct emu_lease){.word = block.word.plain};
	now.near_memory = now.memory[at_rank];
	now.near = emu_near_may_access(&l) ? NEAR_ACCESSES : NEAR_IS_OVER;
}

/* The memory of an owner that has died is still there, and nobody will see what is in it. */
static void near_access(void)
{
	load_rank(conf.hint);
	if (is_alive(at_rank) && (!now.memory[at_rank] || now.memory[at_rank] != now.near_memory))
		note_violation("a near access reached memory that was released");
	now.effects++;
	now.near_done = 1;
	now.near = NEAR_IS_OVER;
}

static void near_leave(void)
{
	struct message end = {.kind = END_NEAR};
	atomic_u64 slot = load_slot();

	if (!emu_near_leave(&slot, conf.hint + 1u) && !(defect == NEAR_ENTER && !now.slot))
		channel_add(conf.source, conf.hint, end);
	store_slot(slot);
	now.near = NEAR_NONE;
	if (now.near_done)
		request_end(0);
	else
		request_begin(conf.hint); /* by a packet, which the network leads anywhere */
}

/* A step of a near access; as make_step(). */
static bool make_near_step(unsigned *n)
{
	if (!now.near || !is_alive(conf.source) || (*n)--)
		return false;
	switch ((enum near_step)now.near) {
	case NEAR_ENTERED:
		near_look();
		break;
	case NEAR_ACCESSES:
		near_access();
		break;
	case NEAR_IS_OVER:
		near_leave();
		break;
	case NEAR_NONE:
		break;
	}
	return true;
}

/* The loaded rank learns of the death of the source. */
static void near_death(void)
{
	if (now.dead != conf.source || (now.slot & ~CLAIMED) != at_rank + 1)
		return;
	if (defect == NEAR_DEATH)
		return;
	release_near();
	now.slot = 0;
}

#endif
