/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memif of two queues, of which one end dies in the middle of bursts. The other end lives, and
 * hears each process that takes its place by both queues.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/port.h"
#include "tests/drivers/modules.h"

#define QUEUES   2u
#define FRAMES   32
#define WAIT_NS  20000000000u
#define LONG_NS  180000000000u
#define DEATH_US 3000u

/* The two ends, by their roles. */
enum end { SERVER, CLIENT };

static const char *const role[] = {"server", "client"};
static const char *const mac[] = {"02:00:00:00:00:0a", "02:00:00:00:00:0b"};

static struct shared {
	atomic_u32 round;
	/* [end][queue] frames of this round that it heard from the other. */
	atomic_u32 heard[2][QUEUES];
	atomic_u32 is_over;
} * shared;

struct worker {
	enum end end;
	unsigned queue;
	struct drv_port *port;
	int peer;
};

static void send_frame(const struct worker *w)
{
	uint32_t round = atomic_load_acquire(&shared->round);
	struct drv_frame f;

	if (drv_port_tx_get(w->port, &f))
		return;
	f.bytes = w->port->frame_bytes_max;
	f.peer = w->peer;
	memset(f.data, 0, f.bytes);
	memcpy(f.data, &round, sizeof round);
	if (drv_port_tx_send(w->port, &f, 1) != 1)
		drv_port_tx_put(w->port, &f);
}

static void *send_and_receive(void *arg)
{
	struct worker *w = arg;
	uint64_t until = drv_clock_ns() + LONG_NS;

	while (!atomic_load_acquire(&shared->is_over) && drv_clock_ns() < until) {
		struct drv_frame f[FRAMES];
		int n;

		send_frame(w);
		n = drv_port_rx(w->port, f, FRAMES);
		for (int i = 0; i < n; i++) {
			uint32_t round;

			memcpy(&round, f[i].data, sizeof round);
			if (round == atomic_load_acquire(&shared->round) && f[i].peer == w->peer)
				atomic_fetch_add_relaxed(&shared->heard[w->end][w->queue], 1);
		}
		if (n > 0)
			drv_port_rx_done(w->port, f, (unsigned)n);
	}
	return NULL;
}

static int run_end(void *arg)
{
	enum end end = *(enum end *)arg;
	struct drv_port *port[QUEUES];
	struct worker w[QUEUES];
	pthread_t thread;
	char spec[160];

	snprintf(spec, sizeof spec,
		 "dpdk:net_memif,role=%s,socket=qt-test-memif-%d,mac=%s,queues=%u", role[end],
		 (int)getppid(), mac[end], QUEUES);
	REQUIRE_EQ(drv_port_open_queues(spec, QUEUES, port, NULL, 0), QUEUES);
	for (unsigned q = 0; q < QUEUES; q++) {
		w[q] = (struct worker){end, q, port[q], drv_port_peer(port[q], mac[!end])};
		REQUIRE(w[q].peer >= 0);
	}
	REQUIRE(!pthread_create(&thread, NULL, send_and_receive, &w[1]));
	send_and_receive(&w[0]);
	pthread_join(thread, NULL);
	for (unsigned q = 0; q < QUEUES; q++)
		drv_port_close(port[q]);
	return 0;
}

static bool has_each_heard(void)
{
	for (unsigned q = 0; q < QUEUES; q++)
		if (!atomic_load_relaxed(&shared->heard[SERVER][q]) ||
		    !atomic_load_relaxed(&shared->heard[CLIENT][q]))
			return false;
	return true;
}

static void check_deaths(enum end stays, enum end dies, unsigned rounds)
{
	pid_t stayer;

	shared = t_shared(sizeof *shared);
	stayer = t_child(run_end, &stays);
	for (unsigned i = 1; i <= rounds && !t_failures(); i++) {
		uint64_t until = drv_clock_ns() + WAIT_NS;
		pid_t other;

		atomic_store_release(&shared->round, i);
		memset(shared->heard, 0, sizeof shared->heard);
		other = t_child(run_end, &dies);
		while (!has_each_heard() && drv_clock_ns() < until)
			usleep(1000);
		CHECK(has_each_heard());
		usleep((useconds_t)drv_rng_below(t_rng(), DEATH_US));
		kill(other, SIGKILL);
		CHECK_EQ(t_wait(other, 20), 128 + SIGKILL);
	}
	atomic_store_release(&shared->is_over, 1);
	CHECK_EQ(t_wait(stayer, 20), 0);
}

static void clients_die(void)
{
	NEEDS_MODULE("dpdk");
	check_deaths(SERVER, CLIENT, 10);
}

static void servers_die(void)
{
	NEEDS_MODULE("dpdk");
	check_deaths(CLIENT, SERVER, 5);
}

T_MAIN(T(clients_die), T(servers_die))
