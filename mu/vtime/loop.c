/* SPDX-License-Identifier: BSD-3-Clause */
/* vtime/loop.h: whether the state of a thread repeats. loop_step.c carries out its instructions. */
#include "mu/vtime/loop.h"

#include <errno.h>
#include <string.h>

#include "mu/vtime/loop_insn.h"

#define RED_ZONE 128u /* bytes below the stack pointer that signal handlers leave alone */

static bool is_same_state(const struct mu_loop *a, const struct mu_loop *b)
{
	return a->ip == b->ip && a->flags == b->flags && a->known == b->known &&
	       a->words == b->words && !memcmp(a->reg, b->reg, sizeof a->reg) &&
	       a->vectors_known == b->vectors_known &&
	       !memcmp(a->vector, b->vector, sizeof a->vector) &&
	       !memcmp(a->word, b->word, a->words * sizeof *a->word);
}

/* Is a word in the part of the stack that [lowest, top) bounds? */
static bool is_between(const struct mu_loop_word *w, uint64_t lowest, uint64_t top)
{
	return w->at >= lowest && w->at < top;
}

/*
 * Has the thread itself made the stores that were kept aside? If not, it has yet to come to the
 * loop. From `lowest` to `top` are the frames of functions that the loop calls: they are dead in
 * between, and the signal handler may use them. In its descriptor libc marks that a thread sleeps,
 * which concerns no other thread.
 */
static bool are_stores_made(const struct mu_loop *l, uint64_t lowest, uint64_t top)
{
	for (uint32_t i = 0; i < l->words; i++) {
		const struct mu_loop_word *w = &l->word[i];

		if (!is_between(w, lowest, top) && w->at - l->fs >= MU_INSN_DESCRIPTOR &&
		    (mu_loop_read(l, w->at, 8, false) ^ w->value) & w->mask)
			return false;
	}
	return true;
}

/* Those that are known of `now`; the loop does not depend on how it found the others. */
static bool are_vectors_same(const struct mu_loop *l, const struct mu_loop *now)
{
	for (unsigned n = 0; n < 16; n++)
		if ((now->vectors_known >> n & 1) && l->vector[n] != now->vector[n])
			return false;
	return true;
}

/*
 * A word of which the loop changes the bits to and fro is in memory as the thread has left it. `l`
 * is in the loop, which takes at most `steps`: does it come to the point at which the thread is
 * (`now`), with memory as it is?
 */
static bool comes_to(struct mu_loop *l, const struct mu_loop *now, unsigned steps, uint64_t lowest,
		     uint64_t top)
{
	for (unsigned n = 0; n < steps && mu_loop_step(l); n++)
		if (l->ip == now->ip && !((l->flags ^ now->flags) & l->known) &&
		    !memcmp(l->reg, now->reg, sizeof l->reg) && are_vectors_same(l, now) &&
		    are_stores_made(l, lowest, top))
			return true;
	return false;
}

/*
 * A signal ends a sleep. If the thread was interrupted there, return its state as loop_step.c has
 * it behind a sleep: the loop comes to that place only by a system call that is one.
 */
static void end_pause_here(struct mu_loop *now)
{
	const uint64_t code = 0x050f; /* the instruction "syscall" */

	if ((now->reg[0] && now->reg[0] != (uint64_t)-EINTR) || now->ip % 4096 < 2)
		return;
	if (mu_loop_read(now, now->ip - 2, 2, false) == code)
		mu_loop_end_pause(now);
}

/* Brent's way to find that a sequence repeats: compare each state with the one at the last power of
 * two. */
bool mu_loop_is_waiting(struct mu_loop *l)
{
	uint64_t top = l->reg[MU_LOOP_RSP] - RED_ZONE, lowest = top;
	struct mu_loop past = *l, now = *l;
	unsigned past_n = 0;

	end_pause_here(&now);
	for (unsigned n = 1; n <= MU_LOOP_STEPS; n++) {
		if (!mu_loop_step(l))
			return false;
		if (l->reg[MU_LOOP_RSP] - RED_ZONE < lowest)
			lowest = l->reg[MU_LOOP_RSP] - RED_ZONE;
		if (is_same_state(l, &past))
			return are_stores_made(l, lowest, top) ||
			       comes_to(l, &now, n - past_n, lowest, top);
		if (!(n & (n - 1))) {
			past = *l;
			past_n = n;
		}
	}
	return false;
}
