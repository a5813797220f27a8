/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a holder tells other hosts: once each number, also while a host is missing, and a host that
 * comes later hears the newest word.
 */
#include <stdio.h>

#include "drivers/base/atomic.h"
#include "drivers/wire.h"
#include "mu/transport/port_holder_state.h"
#include "mu/transport/port_holder.h"
#include "tests/harness/t.h"

enum { HOSTS = 3, ROUNDS = 500 };

static struct mu_host *host[HOSTS];
static struct mu_holder *holder[HOSTS];

static void open_hosts(void)
{
	static struct emu_coord at[HOSTS] = {{{0}, 0}, {{1}, 0}, {{2}, 0}};
	static uint16_t on[HOSTS] = {0, 1, 2};
	struct mu_host_conf conf = {.job = 1,
				    .seed = 1,
				    .tasks = HOSTS,
				    .hosts = HOSTS,
				    .shape = {{HOSTS, 1, 1, 1, 1}, 1, 0},
				    .port = "loop:announced",
				    .coords = at,
				    .task_host = on};
	int fd;

	for (uint32_t i = 0; i < HOSTS; i++) {
		conf.host = i;
		REQUIRE_EQ(mu_host_create(&conf, &host[i], &fd), 0);
		REQUIRE_EQ(mu_holder_open(host[i], &holder[i]), 0);
	}
}

/* Make host `a` known to host `b`. */
static void introduce(unsigned a, unsigned b)
{
	snprintf(host[b]->peer[a].address, sizeof host[b]->peer[a].address, "%s",
		 host[a]->own_address);
	atomic_store_release(&host[b]->peer[a].ready, 1);
}

static void poll_all(unsigned rounds)
{
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < HOSTS; i++) {
			mu_holder_poll(holder[i]);
			mu_holder_flush(holder[i]);
		}
}

static void announce(uint64_t word)
{
	atomic_store_release(&mu_host_announced(host[0])[0], word);
	atomic_fetch_add_seq_cst(&host[0]->announcements, 1);
}

static void wait_until_told(unsigned to, uint64_t word)
{
	while (atomic_load_acquire(&mu_host_announced(host[to])[0]) != word)
		poll_all(1);
}

/* Frames that the first host has sent for the first time. */
static uint64_t count_sent(void)
{
	uint64_t frames = 0;

	for (uint32_t i = 1; i < HOSTS; i++) {
		struct drv_wire_stat s;

		drv_wires_stat(holder[0]->wires, i, &s);
		frames += s.tx_frames - s.resent;
	}
	return frames;
}

static void words_are_told_once(void)
{
	uint64_t before;

	open_hosts();
	/* A holder of several queues sends words again that it has sent, with a newer number. */
	holder[0]->queues = 2;
	introduce(0, 1);
	introduce(1, 0);
	announce(7);
	wait_until_told(1, 7);
	before = count_sent();
	announce(8);
	wait_until_told(1, 8);
	poll_all(ROUNDS); /* host 2 is not there yet */
	CHECK(count_sent() - before < ROUNDS / 10);
	CHECK_EQ(atomic_load_acquire(&mu_host_announced(host[2])[0]), 0);
	introduce(0, 2);
	introduce(2, 0);
	wait_until_told(2, 8);
	CHECK_EQ(holder[0]->announced.seen, 2);
	announce(9);
	wait_until_told(1, 9);
	wait_until_told(2, 9);
	for (unsigned i = 0; i < HOSTS; i++) {
		mu_holder_close(holder[i], 0);
		mu_host_unmap(host[i]);
	}
}

T_MAIN(T(words_are_told_once))
