/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each other's memory, for long data on a board: by the kernel, and where it refuses, by asking.
 *
 *   reader   address and bytes into its page, ask --> owner (in its step of the same operation): copies a page
 *            into the reader's window <-- answered
 *
 * One question a member at a time, numbered. An owner does not finish the operation before all have read.
 */
#include "pami/coll_board_state.h"

#define WINDOW 4096u

static void *window(const struct pami_coll *c, uint32_t i)
{
	return (char *)pami_board_member(pami_board_of(c), i) + 4096;
}

static void ask(struct pami_coll *c, uint32_t i, uint64_t va, uint64_t bytes)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board_member *m = pami_board_member(pami_board_of(c), hw->me);

	hw->asked = mu_node_load(&m->answered.v) + 1;
	m->address = va;
	m->bytes = bytes;
	mu_node_store(c->context->channel, &m->ask.v, hw->asked << 8 | i, hw->task[i]);
}

int pami_board_read(struct pami_coll *c, uint32_t i, void *to, uint64_t va, uint64_t bytes, uint64_t *got)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board_member *m = pami_board_member(pami_board_of(c), hw->me);
	uint64_t n;

	if (PAMI_LIKELY(!*got && !hw->asked && !mu_node_read(hw->task[i], to, va, bytes)))
		return 1;
	if (hw->asked && hw->asked_for != got)
		return 0;
	n = bytes - *got < WINDOW ? bytes - *got : WINDOW;
	if (hw->asked) {
		if (!pami_board_is(c, &m->answered, hw->asked))
			return 0;
		memcpy((char *)to + *got, window(c, hw->me), n);
		mu_charge(MU_COST_copy_byte, n);
		hw->asked = 0;
		*got += n;
		if (*got == bytes) {
			*got = 0;
			return 1;
		}
		n = bytes - *got < WINDOW ? bytes - *got : WINDOW;
	}
	hw->asked_for = got;
	ask(c, i, va + *got, n);
	return 0;
}

/* Is it part of what this member has given an address of? */
static int ours(const struct pami_coll *c, const struct pami_board_member *m)
{
	uint64_t data = (uint64_t)(uintptr_t)c->data, from = pami_board_of(c)->from;

	return m->bytes <= WINDOW && m->bytes <= c->bytes &&
	       (m->address - data <= c->bytes - m->bytes ||
	        (!pami_hw_of(c)->me && m->address - from <= c->bytes - m->bytes));
}

void pami_board_serve(struct pami_coll *c)
{
	struct pami_hw *hw = pami_hw_of(c);

	for (uint32_t i = 0; i < hw->locals; i++) {
		struct pami_board_member *m = pami_board_member(pami_board_of(c), i);
		uint64_t asks = mu_node_load(&m->ask.v), number = asks >> 8;

		if (PAMI_LIKELY((asks & 0xff) != hw->me || number <= hw->served[i]) || i == hw->me ||
		    number <= mu_node_load(&m->answered.v) || !ours(c, m))
			continue;
		memcpy(window(c, i), (void *)(uintptr_t)m->address, m->bytes);
		mu_charge(MU_COST_copy_byte, m->bytes);
		hw->served[i] = number; /* in virtual time the word that says so changes later */
		mu_node_store(c->context->channel, &m->answered.v, number, hw->task[i]);
	}
}
