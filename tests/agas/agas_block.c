/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The word of a block's record: threads pin and unpin while the block begins to leave. Exactly one
 * of them, or the thread that lets it leave, sees the last pin go; no pin is taken afterwards, and
 * none is held then.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "agas/move/block.h"
#include "tests/harness/t.h"

enum { PINNERS = 3 };

static struct {
	struct agas_block b;
	atomic_u32 round, finished, holding, last_pins, wrong;
	unsigned rounds;
} run;

/* Pin and unpin until the block leaves. A few pins nest. */
static void use_block(void)
{
	while (agas_block_pin(&run.b)) {
		bool again;

		atomic_fetch_add_relaxed(&run.holding, 1);
		again = agas_block_pin(&run.b);
		if (again && agas_block_unpin(&run.b)) /* the first pin is still held */
			atomic_fetch_add_relaxed(&run.wrong, 1);
		if (atomic_load_relaxed(&run.last_pins))
			atomic_fetch_add_relaxed(&run.wrong, 1); /* the data left under a pin */
		atomic_sub_fetch_acq_rel(&run.holding, 1);
		if (agas_block_unpin(&run.b))
			atomic_fetch_add_relaxed(&run.last_pins, 1);
	}
}

static void *run_pinner(void *arg)
{
	uint32_t r;

	for (r = 1; r <= run.rounds; r++) {
		while (atomic_load_acquire(&run.round) < r)
			sched_yield();
		use_block();
		atomic_fetch_add_acq_rel(&run.finished, 1);
	}
	return NULL;
}

static void last_pin_is_seen_once(void)
{
	pthread_t p[PINNERS];
	uint32_t r, i, once = 0, at_once = 0;

	memset(&run, 0, sizeof(run));
	run.rounds = t_sanitized() ? 60 : 150;
	for (i = 0; i < PINNERS; i++)
		pthread_create(&p[i], NULL, run_pinner, NULL);
	for (r = 1; r <= run.rounds; r++) {
		atomic_store_relaxed(&run.last_pins, 0);
		atomic_store_relaxed(&run.finished, 0);
		agas_block_set_state(&run.b, AGAS_OWNED);
		atomic_store_release(&run.round, r);
		for (i = (uint32_t)drv_rng_below(t_rng(), 8); i; i--)
			sched_yield();
		if (!agas_block_set_state(&run.b, AGAS_MOVING_OUT)) {
			if (atomic_fetch_add_relaxed(&run.last_pins, 1))
				atomic_fetch_add_relaxed(&run.wrong, 1);
			at_once++;
		}
		while (atomic_load_acquire(&run.finished) < PINNERS)
			sched_yield();
		once += atomic_load_relaxed(&run.last_pins) == 1;
		if (agas_block_pins(&run.b) || agas_block_pin(&run.b))
			atomic_fetch_add_relaxed(&run.wrong, 1);
	}
	for (i = 0; i < PINNERS; i++)
		pthread_join(p[i], NULL);
	CHECK_EQ(once, run.rounds);
	CHECK_EQ(atomic_load_relaxed(&run.wrong), 0);
	fprintf(stderr, "%u rounds, %u without a pin\n", run.rounds, at_once);
}

/* Whatever the state, the pins stay when it changes, and the state when they change. */
static void state_and_pins_are_apart(void)
{
	struct agas_block b;
	int s;

	memset(&b, 0, sizeof(b));
	for (s = AGAS_NONE; s < AGAS_STATES; s++) {
		CHECK_EQ(agas_block_set_state(&b, (enum agas_state)s), 0);
		CHECK_EQ(agas_block_pin(&b), s == AGAS_OWNED);
		CHECK_EQ(agas_block_state(&b), s);
		if (s == AGAS_OWNED)
			CHECK(!agas_block_unpin(&b)); /* nothing waits for it */
		CHECK_EQ(agas_block_pins(&b), 0);
	}
	agas_block_set_state(&b, AGAS_OWNED);
	CHECK(agas_block_pin(&b) && agas_block_pin(&b));
	CHECK_EQ(agas_block_set_state(&b, AGAS_MOVING_OUT), 2);
	CHECK(!agas_block_unpin(&b));
	CHECK(agas_block_unpin(&b));
}

T_MAIN(T(state_and_pins_are_apart), T(last_pin_is_seen_once))
