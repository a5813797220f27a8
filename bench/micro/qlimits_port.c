/* SPDX-License-Identifier: BSD-3-Clause */
/* qlimits port: frames over a driver port, between two processes that exchange addresses through
 * two files. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "bench/micro/qlimits.h"
#include "drivers/base/clock.h"
#include "drivers/port.h"

struct port_run {
	struct drv_port *port;
	int peer;
	struct bench_samples frames;
};

static int port_send(struct port_run *p, const void *data, uint32_t bytes)
{
	struct drv_frame f;

	if (drv_port_tx_get(p->port, &f))
		return -EAGAIN;
	memcpy(f.data, data, 16);
	f.bytes = bytes;
	f.peer = p->peer;
	while (drv_port_tx_send(p->port, &f, 1) != 1)
		limit_relax();
	return 0;
}

/* Receive frames for at most `us`, and copy the first 16 bytes of the last one. Returns how many
 * (0: timeout). */
static unsigned port_receive(struct port_run *p, uint64_t head[2], uint64_t us)
{
	struct drv_frame f[DRV_PORT_BURST];
	uint64_t until = drv_clock_ns() + us * 1000;

	for (;;) {
		int n = drv_port_rx(p->port, f, DRV_PORT_BURST);

		if (n > 0) {
			memcpy(head, f[n - 1].data, 16);
			drv_port_rx_done(p->port, f, (unsigned)n);
			return (unsigned)n;
		}
		if (n < 0 || drv_clock_ns() > until)
			return 0;
		limit_relax();
	}
}

enum { PING = 1, FLOOD, FLOOD_END, QUIT };

/* Answer pings; count the frames of a flood and send the count at its end. */
static void port_serve(struct port_run *p)
{
	struct drv_frame f[DRV_PORT_BURST];
	uint64_t counted = 0, head[2];

	for (;;) {
		int n = drv_port_rx(p->port, f, DRV_PORT_BURST);
		uint64_t answer[2] = {0, 0};
		uint32_t bytes = 64;

		for (int i = 0; i < n; i++) {
			memcpy(head, f[i].data, 16);
			counted = head[0] == FLOOD ? counted + 1 : counted;
			if (head[0] == PING || head[0] == FLOOD_END) {
				answer[0] = head[0];
				answer[1] = head[0] == PING ? head[1] : counted;
				bytes = head[0] == PING ? f[i].bytes : 64;
				counted = 0;
			} else if (head[0] == QUIT) {
				drv_port_rx_done(p->port, f, (unsigned)n);
				return;
			}
		}
		if (n > 0)
			drv_port_rx_done(p->port, f, (unsigned)n);
		if (answer[0])
			while (port_send(p, answer, bytes))
				limit_relax();
		if (n <= 0)
			limit_relax();
	}
}

static void port_pings(struct port_run *p, uint32_t bytes)
{
	struct bench_samples s = {0};
	uint64_t head[2], lost = 0;
	const int trips = 5000;

	for (int r = 0; r <= LIMIT_HOSTS_REPETITIONS; r++) {
		uint64_t start = drv_clock_ns();

		for (int i = 0; i < trips; i++) {
			uint64_t ping[2] = {PING, (uint64_t)r << 32 | (unsigned)i};

			while (port_send(p, ping, bytes))
				limit_relax();
			lost += port_receive(p, head, 100000) == 0;
		}
		if (r > 0)
			bench_samples_add(&s, (double)(drv_clock_ns() - start) * 0.5e-3 / trips);
	}
	if (lost)
		fprintf(stderr, "qlimits: %llu frames of %u bytes lost\n", (unsigned long long)lost,
			bytes);
	limit_out("port", bytes, "us", &s);
}

/* Send up to n frames as one burst. Polling the port lets the driver free frames that it has sent.
 */
static uint64_t port_burst(struct port_run *p, const void *data, uint32_t bytes, uint64_t n)
{
	struct drv_frame f[DRV_PORT_BURST];
	unsigned got = 0, sent = 0;
	uint64_t ignored[2];

	while (got < DRV_PORT_BURST && got < n && !drv_port_tx_get(p->port, &f[got])) {
		memcpy(f[got].data, data, 16);
		f[got].bytes = bytes;
		f[got].peer = p->peer;
		got++;
	}
	if (!got)
		port_receive(p, ignored, 0);
	while (sent < got) {
		int k = drv_port_tx_send(p->port, f + sent, got - sent);

		if (k <= 0)
			limit_relax();
		else
			sent += (unsigned)k;
	}
	return got;
}

static void port_flood(struct port_run *p, uint32_t bytes)
{
	struct bench_samples rate = {0}, bandwidth = {0};
	const uint64_t frames = bytes > 4096 ? 20000 : 50000;

	for (int r = 0; r <= LIMIT_HOSTS_REPETITIONS; r++) {
		uint64_t data[2] = {FLOOD, 0}, head[2] = {0, 0}, start = drv_clock_ns();
		double seconds;

		for (uint64_t i = 0; i < frames;)
			i += port_burst(p, data, bytes, frames - i);
		data[0] = FLOOD_END;
		do {
			while (port_send(p, data, 64))
				limit_relax();
		} while (port_receive(p, head, 100000) == 0 || head[0] != FLOOD_END);
		seconds = (double)(drv_clock_ns() - start) * 1e-9;
		if (r > 0) {
			bench_samples_add(&rate, (double)head[1] / seconds * 1e-6);
			bench_samples_add(&bandwidth, (double)head[1] * bytes / seconds * 1e-9);
		}
	}
	limit_out("port rate", bytes, "M/s", &rate);
	limit_out("port flood", bytes, "GB/s", &bandwidth);
}

static int exchange_addresses(struct port_run *p, const char *self, const char *peer)
{
	char address[DRV_PORT_ADDRESS_BYTES], part[4096];
	FILE *f;
	int rc = drv_port_address(p->port, address, sizeof(address));

	if (rc)
		return rc;
	snprintf(part, sizeof(part), "%s.part", self);
	f = fopen(part, "w");
	if (!f)
		return -errno;
	fputs(address, f);
	fclose(f);
	if (rename(part, self))
		return -errno;
	for (uint64_t until = drv_clock_ns() + 20000000000u; access(peer, R_OK); sched_yield())
		if (drv_clock_ns() > until)
			return -ETIMEDOUT;
	f = fopen(peer, "r");
	if (!f || !fgets(address, sizeof(address), f))
		return -EIO;
	fclose(f);
	p->peer = drv_port_peer(p->port, address);
	return p->peer < 0 ? p->peer : 0;
}

int limit_port(const char *spec, const char *self, const char *peer, int serve)
{
	uint64_t quit[2] = {QUIT, 0};
	struct port_run p = {0};
	int rc;

	if (!self || !peer) {
		fprintf(
		    stderr,
		    "qlimits port: --self FILE and --peer FILE say where the addresses are left\n");
		return 2;
	}
	if (drv_port_open(spec, &p.port))
		return 1;
	rc = exchange_addresses(&p, self, peer);
	if (rc) {
		fprintf(stderr, "qlimits port: no address of the other side in %s: %s\n", peer,
			strerror(-rc));
	} else if (serve) {
		port_serve(&p);
	} else {
		port_pings(&p, 64);
		port_pings(&p, p.port->frame_bytes_max);
		port_flood(&p, 64);
		port_flood(&p, p.port->frame_bytes_max);
		for (int i = 0; i < 10; i++)
			port_send(&p, quit, 64);
	}
	drv_port_close(p.port);
	return rc != 0;
}
