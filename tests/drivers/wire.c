/* SPDX-License-Identifier: BSD-3-Clause */
/* Wires over the real ports of this machine, plain and behind the fault port; real time. */
#include "drivers/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "tests/harness/t.h"

#define LIMIT_NS 40000000000u /* a loaded machine; the test does not wait for it */

struct end {
	struct drv_wires *wires;
	uint32_t self, sent, got, wrong;
};

static unsigned char pattern_byte(uint32_t number, uint32_t i)
{
	return (unsigned char)(number * 13 + i);
}

static int take_message(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
			const unsigned char *payload, uint32_t bytes)
{
	struct end *e = arg;
	int good = tag == e->got && kind == 3 && host == !e->self && (uintptr_t)payload % 8 == 0;

	for (uint32_t i = 0; i < bytes; i++)
		good &= payload[i] == pattern_byte(tag, i);
	e->wrong += !good;
	e->got++;
	return 0;
}

static int send_one(struct end *e)
{
	uint32_t most = drv_wires_run_max(e->wires, !e->self);
	uint32_t bytes =
	    (uint32_t)drv_rng_below(t_rng(), drv_rng_below(t_rng(), 8) ? 600 : most + 1);
	unsigned char *p = drv_wire_reserve(e->wires, !e->self, bytes);

	if (!p)
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = pattern_byte(e->sent, i);
	drv_wire_commit(e->wires, !e->self, 3, e->sent++, bytes);
	if (!drv_rng_below(t_rng(), 4))
		drv_wire_flush(e->wires, !e->self, 0);
	return 1;
}

static int ends_open(struct end *e, const char *spec, enum drv_seal_kind seal)
{
	char address[2][DRV_PORT_ADDRESS_BYTES];

	for (uint32_t i = 0; i < 2; i++) {
		struct drv_wire_conf conf = {
		    .job = 9, .self = i, .hosts = 2, .seal = seal, .key = "between ports"};
		struct drv_port *port;
		int rc = drv_port_open(spec, &port);

		if (rc) {
			if (i)
				drv_wires_close(e[0].wires);
			return rc;
		}
		e[i] = (struct end){.self = i};
		REQUIRE_EQ(drv_port_address(port, address[i], sizeof address[i]), 0);
		rc = drv_wires_open(&e[i].wires, port, &conf);
		if (rc == -ENOENT && seal) {
			drv_port_close(port);
			return rc;
		}
		REQUIRE_EQ(rc, 0);
	}
	for (uint32_t i = 0; i < 2; i++)
		REQUIRE_EQ(drv_wires_connect(e[i].wires, !i, address[!i]), 0);
	return 0;
}

/* n messages each way; returns 0, or why the port cannot be opened here. */
static int exchange_messages(const char *spec, uint32_t n, enum drv_seal_kind seal,
			     struct drv_wire_stat *stat)
{
	uint64_t start = drv_clock_ns();
	struct end e[2];
	int rc = ends_open(e, spec, seal), done = 0;

	if (rc)
		return rc;
	while (!done && drv_clock_ns() - start < LIMIT_NS) {
		done = 1;
		for (int i = 0; i < 2; i++) {
			while (e[i].sent < n && drv_rng_below(t_rng(), 16) && send_one(&e[i]))
				;
			CHECK(drv_wires_poll(e[i].wires, drv_clock_ns(), take_message, &e[i]) >= 0);
			done &= e[i].sent == n && e[!i].got == n && drv_wires_are_idle(e[i].wires);
		}
	}
	CHECK(done);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(e[i].got, n);
		CHECK_EQ(e[i].wrong, 0);
	}
	drv_wires_stat(e[0].wires, 1, stat);
	drv_wires_close(e[0].wires);
	drv_wires_close(e[1].wires);
	return 0;
}

static void plain_and_faulty(const char *below)
{
	struct drv_wire_stat stat;
	char spec[256];
	int rc = exchange_messages(below, 5000, DRV_SEAL_NONE, &stat);

	if (rc)
		T_SKIP("port %s: %s", below, strerror(-rc));
	CHECK(stat.frame_bytes >= DRV_WIRE_FRAME_BYTES_MIN);
	CHECK_EQ(stat.bad_frames, 0);
	snprintf(spec, sizeof spec,
		 "fault(loss=0.1,dup=0.05,reorder=0.1,corrupt=0.02,delay_us=20,seed=%u)+%s",
		 (unsigned)drv_rng_below(t_rng(), 1000000), below);
	for (int seal = DRV_SEAL_NONE; seal < DRV_SEAL_KINDS; seal++) {
		rc = exchange_messages(spec, 2000, (enum drv_seal_kind)seal, &stat);
		if (rc == -ENOENT && seal)
			break; /* built without OpenSSL: t_unit_drv_seal says so */
		CHECK_EQ(rc, 0);
		CHECK(stat.resent > 0);
	}
}

static void over_loop(void)
{
	plain_and_faulty("loop:wire");
}

static void over_shm(void)
{
	char spec[64];

	snprintf(spec, sizeof spec, "shm:wire%d", (int)getpid());
	plain_and_faulty(spec);
}

static void over_uring(void)
{
	plain_and_faulty("uring:127.0.0.1");
}

T_MAIN(T(over_loop), T(over_shm), T(over_uring))
