/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two tasks on two hosts whose ports have several queues (tests/mu/mu_queues.sh): four channels
 * each. The argument names the body.
 *
 *   order    a thread for each channel, each of which sends to all channels of the other task:
 *            messages, puts and gets between two channels keep their order
 *   alone    each task polls one channel, and what it waits for comes by queues of others, which
 *            no other thread polls
 *   away     puts and gets to a task that makes no call
 *   broken   the wires of task 0 break: that task ends, and waits for nobody
 *   told     what a task announces precedes what any of its channels sends afterwards
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/wire_state.h"
#include "mu/mu.h"
#include "mu/process.h"
#include "mu/transport/port_holder_state.h"
#include "mu/transport/transport.h"
#include "tests/harness/t.h"

#define CHANNELS 4
#define NUMBERS  400u /* messages from each channel to each */
#define PUT_EACH 20u  /* a put, a get and a note of them after so many */

/* What arrived on one channel; its thread alone touches it. */
struct lane {
	struct mu_channel *ch;
	unsigned index;
	uint64_t next[CHANNELS]; /* the number that comes next from each channel of the other */
	unsigned swapped, early; /* numbers out of order; notes ahead of their puts */
	uint64_t word;           /* the newest word */
	unsigned words;
	unsigned told; /* words that were announced before */
	bool met;
};

static struct lane lane[CHANNELS];
static const struct mu_job *job;
static uint64_t others_table; /* address of `table` in the other task */
/* [channel there][channel here] what the other's puts wrote. */
static atomic_u64 table[CHANNELS][CHANNELS];
static uint64_t numbers = NUMBERS;

static uint32_t other(void)
{
	return !job->task;
}

/* Soft byte 0: 'n' a number, 'p' the number of a put that is in place, 'w' a word, 't' a word that
 * was announced before, 'm' the end. Soft byte 1: the channel that sent it. */
static void receive_packet(void *arg, uint32_t source, const unsigned char *soft,
			   const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	struct lane *l = arg;
	unsigned from = soft[1] % CHANNELS;
	uint64_t value = 0;

	memcpy(&value, payload, bytes < 8 ? bytes : 8);
	switch (soft[0]) {
	case 'n':
		l->swapped += value != l->next[from];
		l->next[from] = value + 1;
		break;
	case 'p':
		l->early += atomic_load_acquire(&table[from][l->index]) < value;
		break;
	case 't':
		l->early += atomic_load_acquire(&mu_announced_words()[source]) < value;
		l->told++;
		break;
	case 'm':
		l->met = true;
		break;
	default:
		l->word = value;
		l->words++;
	}
}

static void send(struct lane *l, unsigned to, char kind, uint64_t value)
{
	unsigned char soft[MU_SOFT_BYTES] = {(unsigned char)kind, (unsigned char)l->index};

	while (mu_send_short(l->ch, other(), to, soft, NULL, 0, &value, 8))
		mu_poll(l->ch);
}

/* Polls that never sleep: a thread that goes to sleep looks at all queues. */
static uint64_t wait_word(struct lane *l, unsigned before)
{
	while (l->words == before)
		mu_poll_once(l->ch);
	return l->word;
}

static void note_done(struct mu_op *op, int rc)
{
	op->state[1] = 1;
	CHECK_EQ(rc, 0);
}

static void put_word(struct lane *l, unsigned to, uint64_t remote, const uint64_t *value)
{
	struct mu_op op = {.done = note_done};

	while (mu_put(l->ch, other(), to, value, remote, 8, NULL, &op) == -EAGAIN)
		mu_poll(l->ch);
	while (!op.state[1])
		mu_poll(l->ch);
}

static uint64_t get_word(struct lane *l, unsigned to, uint64_t remote)
{
	struct mu_op op = {.done = note_done};
	uint64_t value = 0;

	while (mu_get(l->ch, other(), to, &value, remote, 8, &op) == -EAGAIN)
		mu_poll(l->ch);
	while (!op.state[1])
		mu_poll(l->ch);
	return value;
}

static void open_channels(void)
{
	for (unsigned i = 0; i < CHANNELS; i++) {
		lane[i].index = i;
		REQUIRE(mu_channel_open(i, receive_packet, &lane[i], &lane[i].ch) == 0);
	}
	send(&lane[0], 0, 'w', (uint64_t)(uintptr_t)table);
	others_table = wait_word(&lane[0], 0);
}

/* Wait for the other task. */
static void meet(void)
{
	send(&lane[0], 0, 'm', 0);
	while (!lane[0].met)
		mu_poll(lane[0].ch);
}

static bool has_all(const struct lane *l)
{
	for (unsigned k = 0; k < CHANNELS; k++)
		if (l->next[k] < numbers)
			return false;
	return true;
}

static void *drive(void *arg)
{
	struct lane *l = arg;

	for (uint64_t i = 0; i < numbers; i++) {
		for (unsigned to = 0; to < CHANNELS; to++)
			send(l, to, 'n', i);
		if (i % PUT_EACH)
			continue;
		for (unsigned to = 0; to < CHANNELS; to++) {
			uint64_t at = others_table + (l->index * CHANNELS + to) * 8, value = i + 1;

			put_word(l, to, at, &value);
			send(l, to, 'p', value);
			CHECK_EQ(get_word(l, to, at), value);
		}
	}
	while (!has_all(l))
		mu_poll(l->ch);
	return NULL;
}

static void order_body(void)
{
	pthread_t thread[CHANNELS];

	for (unsigned i = 1; i < CHANNELS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, drive, &lane[i]) == 0);
	drive(&lane[0]);
	/* The others may still wait for what this thread has to send or to answer. */
	for (unsigned i = 1; i < CHANNELS; i++)
		while (pthread_tryjoin_np(thread[i], NULL) == EBUSY)
			mu_poll(lane[0].ch);
	for (unsigned i = 0; i < CHANNELS; i++) {
		CHECK_EQ(lane[i].swapped, 0);
		CHECK_EQ(lane[i].early, 0);
	}
}

static void alone_body(void)
{
	/* The engine thread would poll the queues too, as often as it takes this task for one that
	 * computes. */
	mu_engine_thread_stop(&mu_self);
	/* Nor does any thread of task 1 poll channel 0 from here on, and its first word may not
	 * have left. */
	mu_wire_finish(&mu_self, 1000, 20000);
	for (unsigned i = 0; i < 40; i++) {
		/* Task 0 asks by each channel in turn and polls only that one; task 1 polls only
		 * channel 2, which answers. */
		struct lane *l = &lane[job->task ? 2 : i % CHANNELS];
		unsigned before = l->words;

		if (job->task == 0)
			send(l, 2, 'w', i);
		CHECK_EQ(wait_word(l, before), i);
		if (job->task == 1)
			send(l, i % CHANNELS, 'w', i);
	}
}

static void away_body(void)
{
	atomic_u64 *end = &table[CHANNELS - 1][CHANNELS - 1];
	uint64_t until = drv_clock_ns() + 60000000000u;

	if (job->task == 1) {
		while (!atomic_load_acquire(end) && drv_clock_ns() < until)
			; /* it computes */
		CHECK_EQ(atomic_load_acquire(end), 100);
		return;
	}
	for (uint64_t i = 1; i <= 100; i++) {
		unsigned from = i % CHANNELS, to = i / CHANNELS % CHANNELS;
		uint64_t at = others_table + to * 8;

		put_word(&lane[from], to, at, &i);
		CHECK_EQ(get_word(&lane[(from + 1) % CHANNELS], to, at), i);
	}
	numbers = 100;
	put_word(&lane[1], 2, others_table + sizeof table - 8, &numbers);
}

/* Each word is answered before the next, so all wires are idle and a message leaves at once. */
static void told_body(void)
{
	unsigned taken[CHANNELS] = {0};

	for (uint64_t i = 1; i <= 200; i++) {
		unsigned from = i % CHANNELS, to = i / CHANNELS % CHANNELS;
		struct lane *l = &lane[job->task ? to : from];
		unsigned before = l->words;

		if (job->task == 0) {
			mu_announce(i);
			send(l, to, 't', i);
			wait_word(l, before);
		} else {
			while (l->told == taken[to])
				mu_poll(l->ch);
			taken[to]++;
			send(l, from, 'w', i);
		}
	}
	for (unsigned i = 0; i < CHANNELS; i++)
		CHECK_EQ(lane[i].early, 0);
}

static void broken_body(void)
{
	meet();
	if (job->task == 0) {
		while (!mu_lock_try(&mu_self.queue[1].lock))
			sched_yield();
		mu_self.queue[1].holder->wires->error = -EPROTO;
		mu_lock_release(&mu_self.queue[1].lock);
	}
	for (;;)
		mu_poll(lane[0].ch);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} bodies[] = {{"order", order_body},
		      {"alone", alone_body},
		      {"away", away_body},
		      {"told", told_body},
		      {"broken", broken_body}};
	int rc = 1;

	if (argc < 2 || mu_attach(&job))
		return 2;
	if (argc > 2)
		numbers = strtoull(argv[2], NULL, 10);
	open_channels();
	for (unsigned i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
		if (!strcmp(argv[1], bodies[i].name)) {
			bodies[i].body();
			meet();
			rc = t_failures() != 0;
		}
	for (unsigned i = 0; i < CHANNELS; i++)
		mu_channel_close(lane[i].ch);
	mu_detach();
	return rc;
}
