/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire: the cost of a wire on a port, without the layers above: half round trip, runs of 8 bytes a
 * second one way, bytes a second one way. Guards the hot paths of drivers/wire*.c.
 *
 *   usage: wire_bench PORT PORT [NAMESPACE NAMESPACE] [--json]
 *
 * Two processes have one port each, e.g. wire_bench shm:x shm:x or, between two namespaces joined
 * by veth, wire_bench dpdk:net_af_packet,iface=va dpdk:net_af_packet,iface=vb qa qb. Both spin.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "bench/bench.h"
#include "drivers/base/clock.h"
#include "drivers/wire.h"

#define REPETITIONS 5

enum { SIGNAL = 1, DATA }; /* kinds of runs: counted, or their bytes */

/* Shared by the two processes; all else goes over the wire. */
static struct shared {
	char address[2][DRV_PORT_ADDRESS_BYTES];
	uint32_t ready[2];
} * shared;

static struct drv_wires *wires;
static uint32_t me, other;
static uint64_t got, got_bytes;

static int take_run(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
		    const unsigned char *payload, uint32_t bytes)
{
	(void)arg, (void)host, (void)tag, (void)payload;
	if (kind == DATA)
		got_bytes += bytes;
	else
		got++;
	return 0;
}

static void poll_once(void)
{
	if (drv_wires_poll(wires, drv_clock_ns(), take_run, NULL) < 0)
		exit(1);
}

static void wait_for(uint64_t count)
{
	while (got < count)
		poll_once();
	got -= count;
}

static void send_run(uint32_t kind, const void *data, uint32_t bytes)
{
	unsigned char *p;

	while (!(p = drv_wire_reserve(wires, other, bytes)))
		poll_once();
	memcpy(p, data, bytes);
	drv_wire_commit(wires, other, kind, 0, bytes);
}

static void send_now(uint32_t bytes)
{
	static const char data[64];

	send_run(SIGNAL, data, bytes);
	drv_wire_flush(wires, other, 0);
}

/* Both: ready; then drained. */
static void meet_peer(void)
{
	send_now(1);
	wait_for(1);
	while (!drv_wires_are_idle(wires))
		poll_once();
}

static void print_row(const char *variant, size_t bytes, const char *unit, struct bench_samples *s,
		      enum bench_format format)
{
	struct bench_row r = {.bench = "wire",
			      .variant = variant,
			      .bytes = bytes,
			      .unit = unit,
			      .repetitions = REPETITIONS,
			      .from = -1,
			      .to = -1,
			      .hops = -1,
			      .check = ""};

	if (me)
		return;
	bench_row_value(&r, s);
	bench_out_row(format, &r);
}

static double since_us(uint64_t start_ns)
{
	return (double)(drv_clock_ns() - start_ns) * 1e-3;
}

static void measure_latency(uint32_t bytes, enum bench_format format)
{
	struct bench_samples s = {0};

	for (int k = -1; k < REPETITIONS; k++) {
		const int n = 20000;
		uint64_t start;

		meet_peer();
		start = drv_clock_ns();
		for (int i = 0; i < n; i++) {
			if (!me)
				send_now(bytes);
			wait_for(1);
			if (me)
				send_now(bytes);
		}
		if (k >= 0)
			bench_samples_add(&s, since_us(start) / n / 2);
	}
	print_row("half round trip", bytes, "us", &s, format);
	bench_samples_free(&s);
}

/* One way in windows of 64 messages, as the benches above do. */
static void measure_rate(enum bench_format format)
{
	struct bench_samples s = {0};

	for (int k = -1; k < REPETITIONS; k++) {
		const int rounds = 10000, window = 64;
		uint64_t start;

		meet_peer();
		start = drv_clock_ns();
		for (int i = 0; i < rounds; i++) {
			for (int m = 0; !me && m < window; m++)
				send_now(8);
			if (me && i % 16 == 15)
				wait_for(16 * (uint64_t)window), send_now(1);
			if (!me && i % 16 == 15 && i > 16)
				wait_for(1);
			if (!me)
				poll_once();
		}
		if (!me)
			wait_for(1);
		if (k >= 0)
			bench_samples_add(&s, rounds * window / since_us(start));
	}
	print_row("runs, one way", 8, "M/s", &s, format);
	bench_samples_free(&s);
}

static void measure_bandwidth(uint32_t message, enum bench_format format)
{
	struct bench_samples s = {0};
	unsigned char *data = malloc(message);

	memset(data, 1, message);
	for (int k = -1; k < REPETITIONS; k++) {
		const int n = 100;
		uint64_t start, bytes = (uint64_t)n * message;

		meet_peer();
		start = drv_clock_ns();
		for (int i = 0; !me && i < n; i++)
			for (uint32_t at = 0; at < message;) {
				uint32_t piece = drv_wires_run_max(wires, other);

				piece = piece < message - at ? piece : message - at;
				send_run(DATA, data + at, piece);
				at += piece;
			}
		if (me) {
			while (got_bytes < bytes)
				poll_once();
			got_bytes -= bytes;
			send_now(1);
		} else {
			wait_for(1);
		}
		if (k >= 0)
			bench_samples_add(&s, (double)bytes / since_us(start) * 1e-3);
	}
	print_row("stream", message, "GB/s", &s, format);
	bench_samples_free(&s);
	free(data);
}

static void enter_namespace(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "/var/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		exit(1);
	}
	close(fd);
}

static enum drv_seal_kind seal;

static void connect_other(struct drv_port *port)
{
	struct drv_wire_conf conf = {.job = (uint64_t)getpgrp(),
				     .self = me,
				     .hosts = 2,
				     .seal = seal,
				     .key = "a bench's key"};
	struct drv_wire_stat stat;

	if (drv_port_address(port, shared->address[me], DRV_PORT_ADDRESS_BYTES) ||
	    drv_wires_open(&wires, port, &conf))
		exit(1);
	atomic_store_release(&shared->ready[me], 1);
	while (!atomic_load_acquire(&shared->ready[other]))
		usleep(1000);
	if (drv_wires_connect(wires, other, shared->address[other]))
		exit(1);
	do {
		poll_once();
		drv_wires_stat(wires, other, &stat);
	} while (!stat.connected || drv_wires_deadline(wires) != UINT64_MAX);
}

static int run_side(const char *spec, enum bench_format format)
{
	struct drv_wire_stat stat;
	struct drv_port *port;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(me, &one);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		sched_setaffinity(0, sizeof one, &one);
	if (drv_port_open(spec, &port))
		return 1;
	connect_other(port);
	measure_latency(8, format);
	measure_latency(512, format);
	measure_rate(format);
	measure_bandwidth(1u << 20, format);
	meet_peer();
	drv_wires_stat(wires, other, &stat);
	printf("# host %u: frames of %u bytes, window %u frames, rtt %.1f us; sent %llu, resent "
	       "%llu, bare acks %llu\n",
	       me, stat.frame_bytes, stat.window, (double)stat.rtt_ns * 1e-3,
	       (unsigned long long)stat.tx_frames, (unsigned long long)stat.resent,
	       (unsigned long long)stat.acks_bare);
	drv_wires_close(wires);
	return 0;
}

int main(int argc, char **argv)
{
	enum bench_format format = BENCH_TABLE;
	const char *facts[] = {"ports", argc > 1 ? argv[1] : "", "seal", "none", NULL};
	int status, kind, failed = 0;
	pid_t child;

	if (argc > 1 && !strcmp(argv[argc - 1], "--json")) {
		format = BENCH_JSON;
		argc--;
	}
	if (argc > 2 && !strcmp(argv[argc - 2], "--seal") &&
	    (kind = drv_seal_parse(argv[argc - 1])) >= 0) {
		seal = (enum drv_seal_kind)kind;
		facts[3] = argv[argc - 1];
		argc -= 2;
	}
	if (argc != 3 && argc != 5) {
		fprintf(
		    stderr,
		    "usage: wire_bench PORT PORT [NAMESPACE NAMESPACE] [--seal KIND] [--json]\n");
		return 2;
	}
	shared =
	    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	bench_out_begin(format, facts);
	fflush(stdout);
	child = fork();
	if (child < 0)
		return 1;
	me = child == 0;
	other = !me;
	if (me)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 5)
		enter_namespace(argv[3 + me]);
	failed = run_side(argv[1 + me], format);
	fflush(stdout);
	if (me)
		_exit(failed);
	if (failed)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return failed || status;
}
