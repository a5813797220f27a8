/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/timing.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/t.h"

static void every_row_has_a_value_and_a_source(void)
{
	struct emu_timing t;
	const char *name, *source;
	uint32_t value;
	unsigned i;

	emu_timing_default(&t);
	for (i = 0; (name = emu_timing_row(&t, i, &value, &source)); i++) {
		CHECK(value > 0);
		CHECK(strlen(source) > 20);
		CHECK(strstr(name, "_ps"));
	}
	CHECK_EQ(i, sizeof t / sizeof(uint32_t));
}

/* The figures that the table has to agree with before any calibration. docs/hardware.md 12.1. */
static void link_gives_the_published_peak(void)
{
	struct emu_timing t;

	emu_timing_default(&t);
	double gb_per_s = 512.0 / (552.0 * t.link_ps_per_byte) * 1000;
	CHECK_NEAR(gb_per_s, 1.8, 0.005);
	CHECK(t.hop_ps >= 35000 && t.hop_ps <= 40000);
	CHECK(t.mu_ps_per_byte <= t.link_ps_per_byte); /* one stream saturates a link */
}

static void overrides_change_the_timing(void)
{
	struct emu_timing t, u;
	char err[256];

	emu_timing_default(&t);
	u = t;
	CHECK_EQ(emu_timing_set(&t, NULL, err, sizeof err), 0);
	CHECK_EQ(emu_timing_set(&t, "hop_ns=35,link_ps_per_byte=250", err, sizeof err), 0);
	CHECK_EQ(t.hop_ps, 35000);
	CHECK_EQ(t.link_ps_per_byte, 250);
	CHECK_EQ(emu_timing_set(&t, "mu_inject_ns=0.5", err, sizeof err), 0);
	CHECK_EQ(t.mu_inject_ps, 500);
	CHECK_EQ(t.mu_receive_ps, u.mu_receive_ps);
}

static void nonsense_is_refused_whole(void)
{
	static const char *const bad[] = {"hop_ps",
					  "hop_ps=",
					  "hop=3",
					  "hop_ns=3,",
					  "hop_ps=3x",
					  "hop_ps=-1",
					  "hop_ps=5e9",
					  "hop_ns=1,,hop_ns=2",
					  "hop_ps=1 hop_ps=2",
					  "=",
					  "hop_ps=nan"};
	struct emu_timing t, u;
	char err[256];

	emu_timing_default(&t);
	u = t;
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char text[80];

		snprintf(text, sizeof text, "mu_packet_ps=77,%s", bad[i]);
		err[0] = 0;
		int rc = emu_timing_set(&t, text, err, sizeof err);
		if (!strcmp(bad[i], "hop_ns=3,")) /* a comma at the end is harmless */
			CHECK_EQ(rc, 0);
		else
			CHECK(rc == -EINVAL && strlen(err) > 20 && !memcmp(&t, &u, sizeof t));
		t = u;
	}
}

T_MAIN(T(every_row_has_a_value_and_a_source), T(link_gives_the_published_peak),
       T(overrides_change_the_timing), T(nonsense_is_refused_whole))
