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
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "tests/port/malformed.h"
#include "tests/port/pair.h"

/* The frame with this key goes from side `from` to the other, which checks all of it. */
static void exchange(struct side *s, int from, uint32_t bytes, uint32_t key)
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
			got = side_receive(s, &f, 1, 2000);
			if (got) {
				t_child_check(f.bytes == bytes);
				t_child_check(f.peer == s->peer);
				t_child_check(((uintptr_t)f.data & 7) == 0);
				t_child_check(pattern_is(f.data, bytes, key));
				drv_port_rx_done(s->port, &f, 1);
			}
			side_tell(s, (uint64_t)got);
		}
		if (got)
			return;
		s->lost++;
	}
	t_child_check(!"four times the same frame did not arrive");
}

static void losses_check(const struct side *s, unsigned sent)
{
	if (s->lost)
		fprintf(stderr, "side %d: %u of %u lost\n", s->index, s->lost, sent);
	t_child_check(s->lost <= (s->pair->lossless ? 0 : 2 + sent / 50));
}

/* Side 1 has not been told of side 0: frames come from peer -1, until it is told. */
static void check_unknown(struct side *s)
{
	if (s->index == 0)
		s->peer = drv_port_peer(s->port, s->other);
	t_child_check(s->index == 1 || s->peer == 0);
	exchange(s, 0, 100, 1); /* the side that answers expects s->peer, -1 */
	side_sync(s);
	if (s->index == 1) {
		s->peer = drv_port_peer(s->port, s->other);
		t_child_check(s->peer == 0);
	}
	t_child_check(drv_port_peer(s->port, s->other) == 0);
	side_sync(s);
	exchange(s, 0, 100, 2);
	exchange(s, 1, 100, 3);
}

static void check_texts(struct side *s)
{
	char small[2];

	t_child_check(drv_port_peer(s->port, "no such thing") < 0);
	t_child_check(drv_port_peer(s->port, "") < 0);
	t_child_check(drv_port_address(s->port, small, sizeof small) < 0);
	t_child_check(strlen(s->own) > 0);
}

static void check_sizes(struct side *s)
{
	uint32_t max = s->bytes_max, sent = 0;
	uint64_t tx = s->port->stat.tx_frames, rx = s->port->stat.rx_frames;

	for (int from = 0; from < 2; from++) {
		for (uint32_t n = 1; n <= 280 && n <= max; n++, sent++)
			exchange(s, from, n, n);
		for (uint32_t p = 512; p < max; p *= 2)
			for (uint32_t n = p - 1; n <= p + 1 && n <= max; n++, sent++)
				exchange(s, from, n, n);
		for (uint32_t n = max - (max > 20 ? 20 : 0); n <= max; n++, sent++)
			exchange(s, from, n, n);
	}
	losses_check(s, sent);
	t_child_check(s->port->stat.tx_frames - tx >= sent / 2);
	t_child_check(s->port->stat.rx_frames - rx >= sent / 2);
}

static uint32_t burst_bytes(struct side *s)
{
	return 8 + (uint32_t)drv_rng_below(&s->rng, drv_rng_below(&s->rng, 4) ? 200 : s->bytes_max - 7);
}

/* n frames handed over at once arrive each once and whole; in several receive bursts of `step`. */
/* alike: all of one size, the last one perhaps shorter; some ports let those travel as one. */
static void burst(struct side *s, unsigned n, unsigned step, uint32_t key, int alike)
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
		until = drv_clock_ns() + 5000000000u;
		for (unsigned i = 0; i < n;) {
			int taken = drv_port_tx_send(s->port, f + i, n - i);

			t_child_check(taken >= 0 && taken <= (int)(n - i) && drv_clock_ns() < until);
			i += (unsigned)taken;
			if (!taken)
				sched_yield();
		}
		s->lost += n - (unsigned)side_hear(s);
		return;
	}
	while (got < n) {
		struct drv_frame f[DRV_PORT_BURST];
		int k = side_receive(s, f, step, s->pair->lossless ? 20000 : 1000);

		for (int i = 0; i < k; i++) {
			uint32_t number;

			t_child_check(f[i].bytes >= 8 && f[i].peer == s->peer && !((uintptr_t)f[i].data & 7));
			memcpy(&number, f[i].data, 4);
			number -= key;
			t_child_check(number < n && !(seen >> number & 1));
			seen |= 1ull << number;
			t_child_check(f[i].bytes == bytes[number]);
			t_child_check(pattern_is(f[i].data + 4, f[i].bytes - 4, key + number));
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
	static const unsigned steps[] = { 1, 3, 7, DRV_PORT_BURST };
	unsigned sent = 0;

	s->lost = 0;
	/* More frames than any pool has buffers: what is given back is used again. */
	for (unsigned round = 0; round < (t_sanitized() ? 4 : 8); round++)
		for (unsigned n = 1; n <= DRV_PORT_BURST; sent += n++)
			burst(s, n, steps[(round + n) % 4], sent + 1, (int)(round & 1));
	losses_check(s, sent);
}

/* Buffers run out with -EAGAIN, are counted, and come back. */
static void check_tx_buffers(struct side *s)
{
	struct drv_frame *f = calloc(100000, sizeof *f);
	uint64_t busy = s->port->stat.tx_busy;
	unsigned n = 0;
	int rc = 0;

	t_child_check(f != NULL);
	while (n < 100000 && !(rc = drv_port_tx_get(s->port, &f[n])))
		memset(f[n++].data, 0xee, s->port->frame_bytes_max);
	t_child_check(rc == -EAGAIN);
	t_child_check(n >= DRV_PORT_BURST);
	t_child_check(s->port->stat.tx_busy == busy + 1);
	for (unsigned i = 0; i < n; i++)
		drv_port_tx_put(s->port, &f[i]);
	t_child_check(!drv_port_tx_get(s->port, &f[0]));
	drv_port_tx_put(s->port, &f[0]);
	free(f);
	side_sync(s);
	exchange(s, 0, 64, 11);
	exchange(s, 1, 64, 12);
}

/* Nobody receives: sending says "not now" or loses; what then arrives is whole and comes once. */
static void check_flood(struct side *s)
{
	enum { FRAMES = 20000 };
	unsigned char *seen = calloc(1, FRAMES);
	uint32_t taken = 0, got = 0;

	t_child_check(seen != NULL);
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
				t_child_check(f[i].bytes == 200 && number < taken && !seen[number]++);
				t_child_check(pattern_is(f[i].data + 4, 196, number));
			}
			drv_port_rx_done(s->port, f, (unsigned)k);
			got += (uint32_t)k;
			if (!k)
				break;
		}
		t_child_check(got > 0 && (!s->pair->lossless || got == taken));
		side_tell(s, got);
	}
	free(seen);
	exchange(s, 0, 300, 21);
	exchange(s, 1, 300, 22);
}

/* Poll the descriptor of an armed port until a frame comes. */
static void sleep_for_frame(struct side *s, struct drv_frame *f)
{
	uint64_t until = drv_clock_ns() + 10000000000u;

	for (;;) {
		struct pollfd p = { .fd = drv_port_arm(s->port), .events = POLLIN };

		t_child_check(p.fd >= 0 && drv_clock_ns() < until);
		if (drv_port_rx(s->port, f, 1) == 1)
			return;
		t_child_check(poll(&p, 1, 10000) == 1);
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
			t_child_check(pattern_is(f.data, f.bytes, i) && f.bytes == 64);
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
		struct pollfd p = { .fd = drv_port_arm(s->port), .events = POLLIN };

		t_child_check(i < 20 && p.fd >= 0);
		t_child_check(drv_port_rx(s->port, &f, 1) == 0);
		slept = poll(&p, 1, 20) == 0;
	}
	side_sync(s);
	exchange(s, 0, 64, 31);
	exchange(s, 1, 64, 32);
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
		exchange(h->side, 0, 64 + i, h->key + i);
	__atomic_store_n(&h->done, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&h->stay, __ATOMIC_ACQUIRE)) /* no system call: a program that computes */
		drv_cpu_relax();
	return NULL;
}

/* The port goes from thread to thread; the one that had it computes, or ends. */
static void check_threads(struct side *s)
{
	for (int stay = 0; stay < 2; stay++) {
		struct handed h = { .side = s, .key = 100, .stay = stay };
		pthread_t t;

		t_child_check(!pthread_create(&t, NULL, handed_thread, &h));
		while (!__atomic_load_n(&h.done, __ATOMIC_ACQUIRE))
			sched_yield();
		for (uint32_t i = 0; i < 20; i++)
			exchange(s, 0, 64 + i, 200 + i);
		__atomic_store_n(&h.stay, 0, __ATOMIC_RELEASE);
		pthread_join(t, NULL);
		for (uint32_t i = 0; i < 20; i++)
			exchange(s, 1, 64 + i, 300 + i);
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
		t_child_check(side_hear(s));
		return;
	}
	while (!marked) {
		struct drv_frame f;

		t_child_check(side_receive(s, &f, 1, 10000));
		marked = f.peer == s->peer;
		strangers += f.peer == -1;
		t_child_check(marked ? f.bytes == 77 && pattern_is(f.data, 77, 77) : f.peer == -1);
		drv_port_rx_done(s->port, &f, 1);
	}
	t_child_check(strangers == p->malformed_frames);
	for (int i = 0; i < 1000; i++) { /* some drivers look at strangers now and then only */
		struct drv_frame f;

		t_child_check(drv_port_rx(s->port, &f, 1) == 0);
	}
	t_child_check(s->port->stat.rx_dropped - dropped >= p->malformed_drops);
	side_tell(s, 1);
}

static void check_reopen(struct side *s)
{
	t_child_check(s->interrupted == 0);
	for (int i = 0; i < 3; i++) {
		side_sync(s);
		side_close(s);
		side_sync(s);
		side_open(s);
		s->peer = drv_port_peer(s->port, s->other);
		t_child_check(s->peer == 0);
		side_sync(s);
		exchange(s, 0, 500, 41);
		exchange(s, 1, 500, 42);
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
	for (int i = 0; i < 3000 && !s->pair->unmaps; i++) {
		struct drv_frame f = side_get(s);

		f.bytes = 100;
		memset(f.data, 0, 100);
		side_send(s, &f);
	}
	t_child_check(drv_port_rx(s->port, &(struct drv_frame){ 0 }, 1) == 0);
	side_close(s);
}

/* The other side's last line tells how far it came when one fails. */
#define STEP(name)                                                                                 \
	do {                                                                                       \
		fprintf(stderr, "side %d: " #name "\n", s->index);                                 \
		check_##name(s);                                                                   \
	} while (0)

static void contract(struct side *s)
{
	side_open(s);
	STEP(texts);
	STEP(unknown);
	STEP(sizes);
	STEP(bursts);
	STEP(tx_buffers);
	STEP(flood);
	STEP(sleep);
	STEP(threads);
	STEP(malformed);
	STEP(reopen);
	STEP(gone);
}

/* ---- and every port ---- */

static void run(const struct pair *p)
{
	const char *why = pair_why_not(p->place);

	if (why)
		T_SKIP("%s", why);
	CU_ASSERT_EQUAL(pair_run(p, contract, 90), 0);
}

static int module_there(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/drivers/libqt_port_%s.so", getenv("QT_BUILD") ? getenv("QT_BUILD") : ".",
	         name);
	return !access(path, R_OK);
}

#define NEEDS_MODULE(name)                                                                         \
	do {                                                                                       \
		if (!module_there(name))                                                           \
			T_SKIP("the " name " module was not built");                               \
	} while (0)

static void loop(void)
{
	run(&(struct pair){ { "loop:t", "loop:t" }, PAIR_THREADS, .lossless = 1 });
}

static void loop_two_sizes(void)
{
	run(&(struct pair){ { "loop:t", "loop:t,frame=700" }, PAIR_THREADS, .lossless = 1 });
}

static void fault_free_loop(void)
{
	run(&(struct pair){ { "fault()+loop:t", "fault(seed=3)+fault(loss=0)+loop:t" }, PAIR_THREADS,
	                    .lossless = 1 });
}

static void shm_threads(void)
{
	run(&(struct pair){ { "shm:t", "shm:t" }, PAIR_THREADS, .lossless = 1 });
}

static void shm(void)
{
	run(&(struct pair){ { "shm:t", "shm:t" }, PAIR_PROCESSES, .lossless = 1, .malformed = malformed_shm,
	                    .malformed_drops = 4 });
}

static void shm_small_and_large(void)
{
	run(&(struct pair){ { "shm:,slots=4,frame=65536", "shm:,frame=1000,slots=500" }, PAIR_PROCESSES,
	                    .lossless = 1 });
}

static void fault_free_shm(void)
{
	run(&(struct pair){ { "fault()+shm:t", "fault()+shm:t" }, PAIR_PROCESSES, .lossless = 1 });
}

static void uring_threads(void)
{
	NEEDS_MODULE("uring");
	run(&(struct pair){ { "uring:127.0.0.1", "uring:127.0.0.2,frame=1400" }, PAIR_THREADS });
}

static void uring_loopback(void)
{
	NEEDS_MODULE("uring");
	run(&(struct pair){ { "uring:127.0.0.1", "uring:127.0.0.1,frame=9000" }, PAIR_PROCESSES,
	                    .malformed = malformed_uring, .malformed_frames = 1, .malformed_drops = 2 });
}

static void uring_zero_copy(void)
{
	NEEDS_MODULE("uring");
	run(&(struct pair){ { "uring:127.0.0.1,frame=9000,zc=1000", "uring:127.0.0.1,frame=5000,zc=1" }, PAIR_PROCESSES });
}

static void uring_veth(void)
{
	NEEDS_MODULE("uring");
	run(&(struct pair){ { "uring:10.0.0.1:7000", "uring:10.0.0.2:7000" }, PAIR_NETNS, 9000 });
}

static void fault_free_uring(void)
{
	NEEDS_MODULE("uring");
	run(&(struct pair){ { "fault()+uring:127.0.0.1", "uring:127.0.0.1" }, PAIR_PROCESSES });
}

static void dpdk_af_packet(unsigned mtu)
{
	NEEDS_MODULE("dpdk");
	run(&(struct pair){ { "dpdk:net_af_packet,iface=va", "dpdk:net_af_packet,iface=vb" }, PAIR_NETNS, mtu,
	                    .malformed = malformed_ethernet, .malformed_frames = 1, .malformed_drops = 3 });
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
	run(&(struct pair){ { "fault()+dpdk:net_af_packet,iface=va,mtu=4000", "dpdk:net_af_packet,iface=vb" },
	                    PAIR_NETNS, 9000 });
}

static void dpdk_af_xdp(void)
{
	NEEDS_MODULE("dpdk");
	if (geteuid())
		T_SKIP("XDP programs need root");
	run(&(struct pair){ { "dpdk:net_af_xdp,iface=va", "dpdk:net_af_xdp,iface=vb" }, PAIR_NETNS, 1500,
	                    .malformed = malformed_ethernet, .malformed_frames = 1, .malformed_drops = 3 });
}

static void dpdk_memif(void)
{
	char server[256], client[256];

	NEEDS_MODULE("dpdk");
	snprintf(server, sizeof server, "dpdk:net_memif,role=server,socket-abstract=no,socket=%s/m", t_dir());
	snprintf(client, sizeof client, "dpdk:net_memif,role=client,socket-abstract=no,socket=%s/m", t_dir());
	run(&(struct pair){ { server, client }, PAIR_PROCESSES, .unmaps = 1 });
}

T_MAIN(T(loop), T(loop_two_sizes), T(fault_free_loop), T(shm_threads), T(shm), T(shm_small_and_large),
       T(fault_free_shm), T(uring_threads), T(uring_loopback), T(uring_zero_copy), T(uring_veth),
       T(fault_free_uring), T(dpdk_af_packet_1500), T(dpdk_af_packet_9000), T(dpdk_af_packet_65535),
       T(dpdk_af_packet_and_fault), T(dpdk_af_xdp), T(dpdk_memif))
