/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What drivers/port.h promises, as one body that is run over every port and wrapper. A driver that
 * is added gets a line in the table at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/port_udp.h"
#include "tests/drivers/malformed.h"
#include "tests/drivers/modules.h"
#include "tests/drivers/pair.h"

/* The frame with this key goes from side `from` to the other, which checks all of it. */
static void exchange_frame(struct side *s, int from, uint32_t bytes, uint32_t key)
{
	for (int attempt = 0; attempt < 4; attempt++) {
		struct drv_frame f;
		int got = 1;

		if (s->index == from) {
			f = side_get(s);
			pattern_fill(f.data, bytes, key);
			f.bytes = bytes;
			side_send(s, &f);
			got = (int)side_hear(s);
		} else {
			got = side_receive(s, &f, 1, 10000);
			if (got) {
				if (f.bytes != bytes || f.peer != s->peer)
					fprintf(stderr,
						"failed: side %d, attempt %d: %u bytes of peer %d, "
						"not %u of %d\n",
						s->index, attempt, f.bytes, f.peer, bytes, s->peer);
				REQUIRE(f.bytes == bytes);
				REQUIRE(f.peer == s->peer);
				REQUIRE(((uintptr_t)f.data & 7) == 0);
				REQUIRE(pattern_is(f.data, bytes, key));
				drv_port_rx_done(s->port, &f, 1);
			}
			side_tell(s, (uint64_t)got);
		}
		if (got)
			return;
		s->lost++;
	}
	REQUIRE(!"four times the same frame did not arrive");
}

static void losses_check(const struct side *s, unsigned sent)
{
	if (s->lost)
		fprintf(stderr, "side %d: %u of %u lost\n", s->index, s->lost, sent);
	REQUIRE(s->lost <= (s->pair->lossless ? 0 : 2 + sent / 50));
}

/* Side 1 has not been told of side 0: frames come from peer -1, until it is told. */
static void check_unknown(struct side *s)
{
	if (s->index == 0)
		s->peer = drv_port_peer(s->port, s->other);
	REQUIRE(s->index == 1 || s->peer == 0);
	exchange_frame(s, 0, 100, 1); /* the side that answers expects s->peer, -1 */
	side_sync(s);
	if (s->index == 1) {
		s->peer = drv_port_peer(s->port, s->other);
		REQUIRE(s->peer == 0);
	}
	REQUIRE(drv_port_peer(s->port, s->other) == 0);
	side_sync(s);
	exchange_frame(s, 0, 100, 2);
	exchange_frame(s, 1, 100, 3);
}

static void check_texts(struct side *s)
{
	char small[2];

	REQUIRE(drv_port_peer(s->port, "no such thing") < 0);
	REQUIRE(drv_port_peer(s->port, "") < 0);
	REQUIRE(drv_port_address(s->port, small, sizeof small) < 0);
	REQUIRE(strlen(s->own) > 0);
}

static void check_sizes(struct side *s)
{
	uint32_t max = s->bytes_max, sent = 0;
	uint64_t tx = s->port->stat.tx_frames, rx = s->port->stat.rx_frames;

	for (int from = 0; from < 2; from++) {
		for (uint32_t n = 1; n <= 280 && n <= max; n++, sent++)
			exchange_frame(s, from, n, n);
		for (uint32_t p = 512; p < max; p *= 2)
			for (uint32_t n = p - 1; n <= p + 1 && n <= max; n++, sent++)
				exchange_frame(s, from, n, n);
		for (uint32_t n = max - (max > 20 ? 20 : 0); n <= max; n++, sent++)
			exchange_frame(s, from, n, n);
	}
	losses_check(s, sent);
	REQUIRE(s->port->stat.tx_frames - tx >= sent / 2);
	REQUIRE(s->port->stat.rx_frames - rx >= sent / 2);
}

static uint32_t burst_bytes(struct side *s)
{
	return 8 +
	       (uint32_t)drv_rng_below(&s->rng, drv_rng_below(&s->rng, 4) ? 200 : s->bytes_max - 7);
}

/* n frames handed over at once arrive each once and whole; in several receive bursts of `step`. */
/* alike: all of one size, the last one perhaps shorter; some ports let those travel as one. */
static void send_burst(struct side *s, unsigned n, unsigned step, uint32_t key, int alike)
{
	uint32_t bytes[DRV_PORT_BURST];
	uint64_t seen = 0, until;
	unsigned got = 0;

	for (unsigned i = 0; i < n; i++)
		bytes[i] = alike && i ? bytes[0] : burst_bytes(s);
	if (alike && n % 2 && bytes[0] > 8)
		bytes[n - 1] = 8 + bytes[0] / 2 - 4;
	if (s->index == 0) {
		struct drv_frame f[DRV_PORT_BURST];

		for (unsigned i = 0; i < n; i++) {
			uint32_t number = key + i;

			f[i] = side_get(s);
			f[i].bytes = bytes[i];
			pattern_fill(f[i].data + 4, bytes[i] - 4, number);
			memcpy(f[i].data, &number, 4);
		}
		until = drv_clock_ns() + 20000000000u;
		for (unsigned i = 0; i < n;) {
			int taken = drv_port_tx_send(s->port, f + i, n - i);

			REQUIRE(taken >= 0 && taken <= (int)(n - i) && drv_clock_ns() < until);
			i += (unsigned)taken;
			if (!taken)
				sched_yield();
		}
		s->lost += n - (unsigned)side_hear(s);
		return;
	}
	while (got < n) {
		struct drv_frame f[DRV_PORT_BURST];
		int k = side_receive(s, f, step, s->pair->lossless ? 20000 : 5000);

		for (int i = 0; i < k; i++) {
			uint32_t number;

			REQUIRE(f[i].bytes >= 8 && f[i].peer == s->peer &&
				!((uintptr_t)f[i].data & 7));
			memcpy(&number, f[i].data, 4);
			number -= key;
			REQUIRE(number < n && !(seen >> number & 1));
			seen |= 1ull << number;
			REQUIRE(f[i].bytes == bytes[number]);
			REQUIRE(pattern_is(f[i].data + 4, f[i].bytes - 4, key + number));
		}
		drv_port_rx_done(s->port, f, (unsigned)k);
		got += (unsigned)k;
		if (!k)
			break;
	}
	s->lost += n - got;
	side_tell(s, got);
}

static void check_bursts(struct side *s)
{
	static const unsigned steps[] = {1, 3, 7, DRV_PORT_BURST};
	unsigned sent = 0;

	s->lost = 0;
	/* More frames than any pool has buffers: what is given back is used again. */
	for (unsigned round = 0; round < (t_sanitized() ? 4 : 8); round++)
		for (unsigned n = 1; n <= DRV_PORT_BURST; sent += n++)
			send_burst(s, n, steps[(round + n) % 4], sent + 1, (int)(round & 1));
	losses_check(s, sent);
}

/* Buffers run out with -EAGAIN, are counted, and come back. */
static void check_tx_buffers(struct side *s)
{
	struct drv_frame *f = calloc(100000, sizeof *f);
	uint64_t busy = s->port->stat.tx_busy;
	unsigned n = 0;
	int rc = 0;

	REQUIRE(f != NULL);
	while (n < 100000 && !(rc = drv_port_tx_get(s->port, &f[n])))
		memset(f[n++].data, 0xee, s->port->frame_bytes_max);
	REQUIRE(rc == -EAGAIN);
	REQUIRE(n >= DRV_PORT_BURST);
	REQUIRE(s->port->stat.tx_busy == busy + 1);
	for (unsigned i = 0; i < n; i++)
		drv_port_tx_put(s->port, &f[i]);
	REQUIRE(!drv_port_tx_get(s->port, &f[0]));
	drv_port_tx_put(s->port, &f[0]);
	free(f);
	side_sync(s);
	exchange_frame(s, 0, 64, 11);
	exchange_frame(s, 1, 64, 12);
}

/* Frames that their sender keeps arrive as others do, do not change, and come back. */
static void check_keep(struct side *s)
{
	uint32_t n = s->port->keep_max < 100 ? s->port->keep_max : 100;
	uint32_t bytes = s->bytes_max < 1000 ? s->bytes_max : 1000;
	struct drv_frame *kept = calloc(n + 1, sizeof *kept);

	REQUIRE(kept != NULL);
	s->lost = 0;
	side_tell(s, n);
	if (s->index == 1)
		n = (uint32_t)side_hear(s);
	else
		side_hear(s);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < n; i++) {
			struct drv_frame f;

			if (s->index == 1) {
				int got = side_receive(s, &f, 1, 20000);

				REQUIRE(!got || (f.bytes == bytes && pattern_is(f.data, bytes, i)));
				drv_port_rx_done(s->port, &f, (unsigned)got);
				side_tell(s, (uint64_t)got);
				continue;
			}
			kept[i] = side_get(s);
			kept[i].bytes = bytes;
			kept[i].keep = true;
			pattern_fill(kept[i].data, bytes, i);
			side_send(s, &kept[i]);
			s->lost += !side_hear(s);
		}
		for (uint32_t i = 0; s->index == 0 && i < n; i++) {
			REQUIRE(pattern_is(kept[i].data, bytes, i));
			drv_port_tx_put(s->port, &kept[i]);
		}
	}
	free(kept);
	losses_check(s, 3 * n);
	side_sync(s);
}

/* Frames whose last bytes lie elsewhere arrive whole, although those bytes change at once. */
static void check_gather(struct side *s)
{
	uint32_t max = s->bytes_max, n = 0;
	unsigned char *data = malloc(max);

	REQUIRE(data != NULL);
	for (int from = 0; from < 2 && drv_port_gathers(s->port); from++) {
		for (uint32_t bytes = 32; bytes <= max; bytes = bytes * 3 / 2, n++) {
			uint32_t head = 16 * (1 + n % (bytes / 16 - 1));
			struct drv_frame f;

			if (s->index != from) {
				REQUIRE(side_receive(s, &f, 1, 20000) == 1);
				REQUIRE(f.bytes == bytes && f.peer == s->peer);
				REQUIRE(pattern_is(f.data, bytes, n));
				drv_port_rx_done(s->port, &f, 1);
				side_tell(s, 1);
				continue;
			}
			f = side_get(s);
			pattern_fill(data, bytes, n);
			memcpy(f.data, data, head);
			f.bytes = head;
			f.peer = s->peer;
			while (!drv_port_tx_gather(s->port, &f, data + head, bytes - head))
				sched_yield();
			memset(data, 0xee, max);
			side_hear(s);
		}
	}
	free(data);
	side_sync(s);
}

/* No port receives: sending says "not now" or loses; what then arrives is whole and comes once. */
static void check_flood(struct side *s)
{
	enum { FRAMES = 20000 };
	unsigned char *seen = calloc(1, FRAMES);
	uint32_t taken = 0, got = 0;

	REQUIRE(seen != NULL);
	if (s->index == 0) {
		for (unsigned refused = 0; taken < FRAMES && refused < 1000;) {
			struct drv_frame f;

			if (drv_port_tx_get(s->port, &f)) {
				refused++;
				continue;
			}
			f.bytes = 200;
			f.peer = s->peer;
			pattern_fill(f.data + 4, 196, taken);
			memcpy(f.data, &taken, 4);
			if (drv_port_tx_send(s->port, &f, 1) == 1) {
				taken++;
			} else {
				drv_port_tx_put(s->port, &f);
				refused++;
			}
		}
		side_tell(s, taken);
		side_hear(s);
	} else {
		taken = (uint32_t)side_hear(s);
		for (;;) {
			struct drv_frame f[DRV_PORT_BURST];
			int k = side_receive(s, f, DRV_PORT_BURST, got == taken ? 20 : 300);

			for (int i = 0; i < k; i++) {
				uint32_t number;

				memcpy(&number, f[i].data, 4);
				REQUIRE(f[i].bytes == 200 && number < taken && !seen[number]++);
				REQUIRE(pattern_is(f[i].data + 4, 196, number));
			}
			drv_port_rx_done(s->port, f, (unsigned)k);
			got += (uint32_t)k;
			if (!k)
				break;
		}
		REQUIRE(got > 0 && (!s->pair->lossless || got == taken));
		side_tell(s, got);
	}
	free(seen);
	exchange_frame(s, 0, 300, 21);
	exchange_frame(s, 1, 300, 22);
}

/* Poll the descriptor of an armed port until a frame comes. */
static void sleep_for_frame(struct side *s, struct drv_frame *f)
{
	uint64_t until = drv_clock_ns() + 10000000000u;

	for (;;) {
		struct pollfd p = {.fd = drv_port_arm(s->port), .events = POLLIN};

		REQUIRE(p.fd >= 0 && drv_clock_ns() < until);
		if (drv_port_rx(s->port, f, 1) == 1)
			return;
		REQUIRE(poll(&p, 1, 10000) == 1);
		if (drv_port_rx(s->port, f, 1) == 1)
			return;
	}
}

static void check_sleep(struct side *s)
{
	struct drv_frame f;
	int can = drv_port_arm(s->port) >= 0;

	side_tell(s, (uint64_t)can);
	can &= (int)side_hear(s);
	if (!can)
		return;
	for (uint32_t i = 0; i < 100; i++) {
		if (s->index == 1) {
			side_tell(s, i);
			sleep_for_frame(s, &f);
			REQUIRE(pattern_is(f.data, f.bytes, i) && f.bytes == 64);
			drv_port_rx_done(s->port, &f, 1);
			continue;
		}
		side_hear(s);
		if (i % 3 == 0) /* let it fall asleep; else it may be before, while or after */
			poll(NULL, 0, 2);
		f = side_get(s);
		pattern_fill(f.data, 64, i);
		f.bytes = 64;
		side_send(s, &f);
	}
	side_sync(s);
	/* With nothing coming, an armed port lets its holder sleep. */
	for (int i = 0, slept = 0; !slept; i++) {
		struct pollfd p = {.fd = drv_port_arm(s->port), .events = POLLIN};

		REQUIRE(i < 20 && p.fd >= 0);
		REQUIRE(drv_port_rx(s->port, &f, 1) == 0);
		slept = poll(&p, 1, 20) == 0;
	}
	side_sync(s);
	exchange_frame(s, 0, 64, 31);
	exchange_frame(s, 1, 64, 32);
}

static uint32_t wakes_round; /* that the reader of check_wakes() is about to sleep in */

static void wait_for_round(uint32_t round)
{
	for (unsigned i = 1; atomic_load_acquire(&wakes_round) != round; i++) {
		drv_cpu_relax();
		if (i % 1024 == 0) /* the reader may want this processor */
			sched_yield();
	}
}

static void spin_for_ns(uint64_t ns)
{
	uint64_t until = drv_clock_ns() + ns;

	while (drv_clock_ns() < until)
		drv_cpu_relax();
}

/*
 * Frames come at each moment at which their reader polls, arms the port and falls asleep. The last
 * one is longer. With less than two processors free there are few, since each costs a time slice.
 */
static void check_wakes(struct side *s)
{
	enum { ROUNDS = 60000, SPREAD_NS = 6000, POLLS = 80, LAST = 72 };
	uint64_t until = drv_clock_ns() + 3000000000u;
	struct drv_frame f = {.bytes = 0};

	side_open(s);
	s->peer = drv_port_peer(s->port, s->other);
	REQUIRE(s->peer >= 0);
	side_sync(s);
	exchange_frame(s, 0, 64, 41);
	exchange_frame(s, 1, 64, 42);
	for (uint32_t i = 1, bytes = 64; bytes != LAST; i++) {
		uint64_t polls = drv_rng_below(&s->rng, POLLS);

		if (s->index == 0) {
			wait_for_round(i);
			bytes = i == ROUNDS || drv_clock_ns() > until ? LAST : bytes;
			f = side_get(s);
			pattern_fill(f.data, bytes, i);
			f.bytes = bytes;
			spin_for_ns(drv_rng_below(&s->rng, SPREAD_NS));
			side_send(s, &f);
			continue;
		}
		while (polls-- && !drv_port_rx(s->port, &f, 1))
			;
		atomic_store_release(&wakes_round, i);
		sleep_for_frame(s, &f);
		bytes = f.bytes;
		REQUIRE(pattern_is(f.data, bytes, i));
		drv_port_rx_done(s->port, &f, 1);
	}
	side_sync(s);
}

struct handed {
	struct side *side;
	uint32_t key;
	int stay; /* compute until told to end */
	int done;
};

static void *handed_thread(void *arg)
{
	struct handed *h = arg;

	for (uint32_t i = 0; i < 20; i++)
		exchange_frame(h->side, 0, 64 + i, h->key + i);
	atomic_store_release(&h->done, 1);
	while (atomic_load_acquire(&h->stay)) /* no system call: a program that computes */
		drv_cpu_relax();
	return NULL;
}

/* The port goes from thread to thread; the one that had it computes, or ends. */
static void check_threads(struct side *s)
{
	for (int stay = 0; stay < 2; stay++) {
		struct handed h = {.side = s, .key = 100, .stay = stay};
		pthread_t t;

		REQUIRE(!pthread_create(&t, NULL, handed_thread, &h));
		while (!atomic_load_acquire(&h.done))
			sched_yield();
		for (uint32_t i = 0; i < 20; i++)
			exchange_frame(s, 0, 64 + i, 200 + i);
		atomic_store_release(&h.stay, 0);
		pthread_join(t, NULL);
		for (uint32_t i = 0; i < 20; i++)
			exchange_frame(s, 1, 64 + i, 300 + i);
	}
}

static void check_malformed(struct side *s)
{
	const struct pair *p = s->pair;
	uint64_t dropped = s->port->stat.rx_dropped;
	unsigned strangers = 0, marked = 0;

	if (!p->malformed)
		return;
	side_sync(s);
	if (s->index == 0) {
		struct drv_frame f;

		p->malformed(s);
		f = side_get(s);
		f.bytes = 77;
		pattern_fill(f.data, 77, 77);
		side_send(s, &f);
		REQUIRE(side_hear(s));
		return;
	}
	while (!marked) {
		struct drv_frame f;

		REQUIRE(side_receive(s, &f, 1, 10000));
		marked = f.peer == s->peer;
		strangers += f.peer == -1;
		REQUIRE(marked ? f.bytes == 77 && pattern_is(f.data, 77, 77) : f.peer == -1);
		drv_port_rx_done(s->port, &f, 1);
	}
	REQUIRE(strangers == p->malformed_frames);
	for (int i = 0; i < 1000; i++) { /* some drivers look at strangers now and then only */
		struct drv_frame f;

		REQUIRE(drv_port_rx(s->port, &f, 1) == 0);
	}
	REQUIRE(s->port->stat.rx_dropped - dropped >= p->malformed_drops);
	side_tell(s, 1);
}

static void check_reopen(struct side *s)
{
	REQUIRE(s->interrupted == 0);
	for (int i = 0; i < 3; i++) {
		side_sync(s);
		side_close(s);
		side_sync(s);
		side_open(s);
		s->peer = drv_port_peer(s->port, s->other);
		REQUIRE(s->peer == 0);
		side_sync(s);
		exchange_frame(s, 0, 500, 41);
		exchange_frame(s, 1, 500, 42);
	}
}

/* Frames to a port that is no more are taken. */
static void check_gone(struct side *s)
{
	side_sync(s);
	if (s->index == 1) {
		side_close(s);
		side_sync(s);
		return;
	}
	side_sync(s);
	for (int i = 0; i < 3000; i++) {
		struct drv_frame f = side_get(s);

		f.bytes = 100;
		memset(f.data, 0, 100);
		side_send(s, &f);
	}
	REQUIRE(drv_port_rx(s->port, &(struct drv_frame){0}, 1) == 0);
	side_close(s);
}

/* The other side's last line tells how far it came when one fails. */
#define STEP(name)                                                                                 \
	do {                                                                                       \
		fprintf(stderr, "side %d: " #name "\n", s->index);                                 \
		check_##name(s);                                                                   \
	} while (0)

static void check_contract(struct side *s)
{
	side_open(s);
	STEP(texts);
	STEP(unknown);
	STEP(sizes);
	STEP(bursts);
	STEP(keep);
	STEP(gather);
	STEP(tx_buffers);
	STEP(flood);
	STEP(sleep);
	STEP(threads);
	STEP(malformed);
	STEP(reopen);
	STEP(gone);
}

/* ---- and every port ---- */

static void run_pair(const struct pair *p)
{
	const char *why = pair_why_not(p->place);

	if (why)
		T_SKIP("%s", why);
	CHECK_EQ(pair_run(p, check_contract, 90), 0);
}

static void loop_keeps_the_contract(void)
{
	run_pair(&(struct pair){{"loop:t", "loop:t"}, PAIR_THREADS, .lossless = 1});
}

static void loop_two_sizes(void)
{
	run_pair(&(struct pair){{"loop:t", "loop:t,frame=700"}, PAIR_THREADS, .lossless = 1});
}

static void fault_free_loop(void)
{
	run_pair(&(struct pair){
	    {"fault()+loop:t", "fault(seed=3)+fault(loss=0)+loop:t"}, PAIR_THREADS, .lossless = 1});
}

static void shm_threads(void)
{
	run_pair(&(struct pair){{"shm:t", "shm:t"}, PAIR_THREADS, .lossless = 1});
}

static void shm_keeps_the_contract(void)
{
	run_pair(&(struct pair){{"shm:t", "shm:t"},
				PAIR_PROCESSES,
				.lossless = 1,
				.malformed = malformed_shm,
				.malformed_drops = 4});
}

static void shm_small_and_large(void)
{
	run_pair(&(struct pair){{"shm:,slots=4,frame=65536", "shm:,frame=1000,slots=500"},
				PAIR_PROCESSES,
				.lossless = 1});
}

static void fault_free_shm(void)
{
	run_pair(&(struct pair){{"fault()+shm:t", "fault()+shm:t"}, PAIR_PROCESSES, .lossless = 1});
}

static void run_wakes(const char *spec, const char *other)
{
	const struct pair p = {{spec, other}, PAIR_THREADS};

	CHECK_EQ(pair_run(&p, check_wakes, 120), 0);
}

static void loop_wakes_sleeper(void)
{
	run_wakes("loop:t", "loop:t");
}

static void shm_wakes_sleeper(void)
{
	run_wakes("shm:t", "shm:t");
}

/* Packet sockets need CAP_NET_RAW. */
static void need_packet_sockets(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		T_SKIP("no packet sockets here: needs root or CAP_NET_RAW");
	close(fd);
}

static void packet_threads(void)
{
	need_packet_sockets();
	run_pair(&(struct pair){{"packet:127.0.0.1", "packet:127.0.0.2,frame=1400"}, PAIR_THREADS});
}

static void packet_wakes_sleeper(void)
{
	need_packet_sockets();
	run_wakes("packet:127.0.0.1", "packet:127.0.0.2");
}

static void packet_loopback(void)
{
	need_packet_sockets();
	run_pair(&(struct pair){{"packet:127.0.0.1", "packet:127.0.0.1,frame=9000"},
				PAIR_PROCESSES,
				.malformed = malformed_uring,
				.malformed_frames = 1,
				.malformed_drops = 2});
}

static void packet_veth(void)
{
	need_packet_sockets();
	run_pair(
	    &(struct pair){{"packet:10.0.0.1:7000", "packet:10.0.0.2:7000"}, PAIR_NETNS, 1500});
}

static void packet_reaches_uring(void)
{
	need_packet_sockets();
	NEEDS_MODULE("uring");
	run_pair(&(struct pair){{"packet:10.0.0.1:7000", "uring:10.0.0.2:7000"}, PAIR_NETNS, 1500});
}

static void fault_free_packet(void)
{
	need_packet_sockets();
	run_pair(&(struct pair){{"fault()+packet:127.0.0.1", "packet:127.0.0.1"}, PAIR_PROCESSES});
}

static void uring_threads(void)
{
	NEEDS_MODULE("uring");
	run_pair(&(struct pair){{"uring:127.0.0.1", "uring:127.0.0.2,frame=1400"}, PAIR_THREADS});
}

static void uring_wakes_sleeper(void)
{
	NEEDS_MODULE("uring");
	run_wakes("uring:127.0.0.1", "uring:127.0.0.2");
}

static void uring_loopback(void)
{
	NEEDS_MODULE("uring");
	run_pair(&(struct pair){{"uring:127.0.0.1", "uring:127.0.0.1,frame=9000"},
				PAIR_PROCESSES,
				.malformed = malformed_uring,
				.malformed_frames = 1,
				.malformed_drops = 2});
}

static void uring_zero_copy(void)
{
	NEEDS_MODULE("uring");
	run_pair(&(struct pair){
	    {"uring:127.0.0.1,frame=9000,zc=1000", "uring:127.0.0.1,frame=5000,zc=1"},
	    PAIR_PROCESSES});
}

static void uring_veth(void)
{
	NEEDS_MODULE("uring");
	run_pair(&(struct pair){{"uring:10.0.0.1:7000", "uring:10.0.0.2:7000"}, PAIR_NETNS, 9000});
}

static void fault_free_uring(void)
{
	NEEDS_MODULE("uring");
	run_pair(&(struct pair){{"fault()+uring:127.0.0.1", "uring:127.0.0.1"}, PAIR_PROCESSES});
}

/* Open at the address of a port that is closed and whose socket a forked child still has. */
static int reopen_beside_child(void *spec)
{
	char own[DRV_PORT_ADDRESS_BYTES], other[DRV_PORT_ADDRESS_BYTES], again[300];
	struct drv_port *p = NULL, *q = NULL, *second = NULL;
	struct drv_frame f;
	int go[2], peer;
	pid_t child;

	REQUIRE_EQ(drv_port_open(spec, &p), 0);
	REQUIRE_EQ(drv_port_open(spec, &q), 0);
	REQUIRE_EQ(drv_port_address(p, own, sizeof own), 0);
	REQUIRE_EQ(drv_port_address(q, other, sizeof other), 0);
	snprintf(again, sizeof again, "%s%s", (const char *)spec, strrchr(own, ':'));
	REQUIRE_EQ(drv_port_open(again, &second), -EADDRINUSE);
	REQUIRE_EQ(pipe(go), 0);
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &f, 1) != 0);
	}
	drv_port_close(p);
	REQUIRE_EQ(drv_port_open(again, &p), 0);
	REQUIRE_EQ(drv_port_open(again, &second), -EADDRINUSE);
	peer = drv_port_peer(q, own);
	REQUIRE_EQ(drv_port_peer(p, other), 0);
	REQUIRE_EQ(drv_port_tx_get(q, &f), 0);
	pattern_fill(f.data, 100, 7);
	f.bytes = 100;
	f.peer = peer;
	REQUIRE_EQ(drv_port_tx_send(q, &f, 1), 1);
	for (int i = 0; i < 5000 && !drv_port_rx(p, &f, 1); i++)
		poll(NULL, 0, 1);
	REQUIRE(f.bytes == 100 && pattern_is(f.data, 100, 7));
	drv_port_rx_done(p, &f, 1);
	drv_port_close(p);
	drv_port_close(q);
	close(go[1]);
	return t_wait(child, 10);
}

static void packet_reopens_at_once(void)
{
	need_packet_sockets();
	CHECK_EQ(t_wait(t_child(reopen_beside_child, "packet:127.0.0.1"), 60), 0);
}

static void uring_reopens_at_once(void)
{
	NEEDS_MODULE("uring");
	CHECK_EQ(t_wait(t_child(reopen_beside_child, "uring:127.0.0.1"), 60), 0);
}

/* Bind as a port does that opens at this very moment: for others it could be a closed one. */
static int bind_as_opening_port(struct sockaddr_in *at, int *guard)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int udp = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	socklen_t bytes = sizeof *at;

	*guard = socket(AF_UNIX, SOCK_DGRAM, 0);
	REQUIRE(udp >= 0 && *guard >= 0);
	REQUIRE_EQ(setsockopt(udp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
	REQUIRE_EQ(bind(udp, (const void *)at, sizeof *at), 0);
	REQUIRE_EQ(getsockname(udp, (void *)at, &bytes), 0);
	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "quintorus-udp-%08x-%u",
		 ntohl(at->sin_addr.s_addr), ntohs(at->sin_port));
	REQUIRE_EQ(bind(*guard, (const void *)&name, sizeof name), 0);
	return udp;
}

/* Of two ports that open at one address at the same time, one gets it. */
static void one_of_two_gets_an_address(void)
{
	struct sockaddr_in at, same;
	struct drv_port_why why = {0};
	uint32_t bytes = UDP_FRAME_MAX;
	int first, second, guard;

	REQUIRE_EQ(udp_parse_address("127.0.0.1", 0, &at), 0);
	first = bind_as_opening_port(&at, &guard);
	same = at;
	CHECK_EQ(udp_open(&second, &same, &bytes, &why), -EADDRINUSE);
	close(first);
	CHECK_EQ(udp_open(&second, &same, &bytes, &why), 0);
	udp_close(second);
	close(guard);
}

static void dpdk_af_packet(unsigned mtu)
{
#ifdef __SANITIZE_THREAD__
	if (mtu != 1500)
		T_SKIP("DPDK's drivers are not built with the sanitizer; 1500 runs the code around "
		       "them");
#endif
	NEEDS_MODULE("dpdk");
	run_pair(&(struct pair){{"dpdk:net_af_packet,iface=va", "dpdk:net_af_packet,iface=vb"},
				PAIR_NETNS,
				mtu,
				.malformed = malformed_ethernet,
				.malformed_frames = 1,
				.malformed_drops = 3});
}

static void dpdk_af_packet_1500(void)
{
	dpdk_af_packet(1500);
}

static void dpdk_af_packet_9000(void)
{
	dpdk_af_packet(9000);
}

static void dpdk_af_packet_65535(void)
{
	dpdk_af_packet(65535);
}

static void dpdk_af_packet_and_fault(void)
{
	NEEDS_MODULE("dpdk");
	run_pair(&(struct pair){
	    {"fault()+dpdk:net_af_packet,iface=va,mtu=4000", "dpdk:net_af_packet,iface=vb"},
	    PAIR_NETNS,
	    9000});
}

static void dpdk_af_xdp(void)
{
	NEEDS_MODULE("dpdk");
	if (geteuid())
		T_SKIP("XDP programs need root");
	run_pair(&(struct pair){{"dpdk:net_af_xdp,iface=va", "dpdk:net_af_xdp,iface=vb"},
				PAIR_NETNS,
				1500,
				.malformed = malformed_ethernet,
				.malformed_frames = 1,
				.malformed_drops = 3});
}

static void dpdk_memif(void)
{
	char server[256], client[256];

	NEEDS_MODULE("dpdk");
	snprintf(server, sizeof server, "dpdk:net_memif,role=server,socket-abstract=no,socket=%s/m",
		 t_dir());
	snprintf(client, sizeof client, "dpdk:net_memif,role=client,socket-abstract=no,socket=%s/m",
		 t_dir());
	run_pair(&(struct pair){{server, client}, PAIR_PROCESSES});
}

/* net_ring joins a device with itself: what it sends, kept or not, it receives. */
static void dpdk_ring(void)
{
	char own[DRV_PORT_ADDRESS_BYTES];
	struct drv_frame f, got;
	struct drv_port *p;
	int peer;

	NEEDS_MODULE("dpdk");
	REQUIRE_EQ(drv_port_open("dpdk:net_ring", &p), 0);
	REQUIRE_EQ(drv_port_address(p, own, sizeof own), 0);
	peer = drv_port_peer(p, own);
	REQUIRE_EQ(peer, 0);
	for (uint32_t i = 0; i < 5000; i++) {
		REQUIRE_EQ(drv_port_tx_get(p, &f), 0);
		f.bytes = 1 + i % p->frame_bytes_max;
		f.peer = peer;
		f.keep = i & 1;
		pattern_fill(f.data, f.bytes, i);
		REQUIRE_EQ(drv_port_tx_send(p, &f, 1), 1);
		REQUIRE_EQ(drv_port_rx(p, &got, 1), 1);
		REQUIRE_EQ(got.bytes, 1 + i % p->frame_bytes_max);
		REQUIRE_EQ(got.peer, peer);
		REQUIRE(pattern_is(got.data, got.bytes, i));
		drv_port_rx_done(p, &got, 1);
		if (i & 1)
			drv_port_tx_put(p, &f);
	}
	drv_port_close(p);
}

T_MAIN(T(loop_keeps_the_contract), T(loop_two_sizes), T(fault_free_loop), T(loop_wakes_sleeper),
       T(shm_threads), T(shm_keeps_the_contract), T(shm_small_and_large), T(shm_wakes_sleeper),
       T(fault_free_shm), T(packet_threads), T(packet_wakes_sleeper), T(packet_loopback),
       T(packet_veth), T(packet_reaches_uring), T(fault_free_packet), T(uring_threads),
       T(uring_wakes_sleeper), T(uring_loopback), T(uring_zero_copy), T(uring_veth),
       T(fault_free_uring), T(packet_reopens_at_once), T(uring_reopens_at_once),
       T(one_of_two_gets_an_address), T(dpdk_af_packet_1500), T(dpdk_af_packet_9000),
       T(dpdk_af_packet_65535), T(dpdk_af_packet_and_fault), T(dpdk_af_xdp), T(dpdk_memif),
       T(dpdk_ring))
