/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members of a node read each other's memory for long data: through the kernel or, where it
 * refuses, by a request to the owner.
 *
 *   reader   address and bytes into its page  --request-->  owner (in its step of the same
 *            operation): copies a page into the reader's window  --served-->  reader
 *
 * Each member has one request at a time; requests are numbered. An owner does not finish the
 * operation before all members have read.
 */
#include "pami/coll/hw/board_state.h"
#include "pami/core/macros.h"

#define WINDOW 4096u

static void *window_of(const struct pami_coll *c, uint32_t i)
{
	return (char *)pami_board_member(pami_board_of(c), i) + 4096;
}

static void send_request(struct pami_coll *c, uint32_t i, uint64_t va, uint64_t bytes)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board_member *m = pami_board_member(pami_board_of(c), hw->me);

	hw->request = pami_word_load(&m->served) + 1;
	m->address = va;
	m->bytes = bytes;
	pami_word_store(c, &m->request, hw->request << 8 | i, hw->task[i]);
}

bool pami_board_read(struct pami_coll *c, uint32_t i, void *to, uint64_t va, uint64_t bytes,
		     uint64_t *got)
{
	struct pami_hw *hw = pami_hw_of(c);
	struct pami_board_member *m = pami_board_member(pami_board_of(c), hw->me);
	uint64_t n;

	if (PAMI_LIKELY(!*got && !hw->request && !mu_node_read(hw->task[i], to, va, bytes)))
		return true;
	if (hw->request && hw->request_for != got)
		return false;
	n = bytes - *got < WINDOW ? bytes - *got : WINDOW;
	if (hw->request) {
		if (!pami_board_await(c, &m->served, hw->request))
			return false;
		memcpy((char *)to + *got, window_of(c, hw->me), n);
		mu_charge(MU_COST_copy_byte, n);
		hw->request = 0;
		*got += n;
		if (*got == bytes) {
			*got = 0;
			return true;
		}
		n = bytes - *got < WINDOW ? bytes - *got : WINDOW;
	}
	hw->request_for = got;
	send_request(c, i, va + *got, n);
	return false;
}

/* True if the memory lies within data whose address this member has published. */
static bool is_published(const struct pami_coll *c, const struct pami_board_member *m)
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
		uint64_t request = pami_word_load(&m->request), number = request >> 8;

		if (PAMI_LIKELY((request & 0xff) != hw->me || number <= hw->served[i]) ||
		    i == hw->me || number <= pami_word_load(&m->served) || !is_published(c, m))
			continue;
		memcpy(window_of(c, i), (void *)(uintptr_t)m->address, m->bytes);
		mu_charge(MU_COST_copy_byte, m->bytes);
		hw->served[i] = number; /* in virtual time the word m->served changes later */
		pami_word_store(c, &m->served, number, hw->task[i]);
	}
}
