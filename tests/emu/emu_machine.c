/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/machine.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/t.h"

static struct emu_machine standard_machine(void)
{
	struct emu_machine m;

	emu_machine_default(&m);
	return m;
}

static void every_row_has_a_value_and_a_source(void)
{
	struct emu_machine m = standard_machine();
	struct emu_machine_row row;
	unsigned i, times = 0;
	char item[64], err[256];

	for (i = 0; !emu_machine_row(&m, i, &row); i++) {
		times += row.is_time != 0;
		CHECK(strlen(row.source) > 20);
		CHECK(row.value[0] != 0);
		/* What is printed can be read. */
		snprintf(item, sizeof item, "%s=%s", row.name, row.value);
		CHECK_EQ(emu_machine_set(&m, item, err, sizeof err), 0);
	}
	CHECK_EQ(times, sizeof m.timing / sizeof(uint32_t));
	CHECK(i > times + 15);
	struct emu_machine same = standard_machine();
	CHECK_EQ(memcmp(&m, &same, sizeof m), 0);
}

static void rows_of_both_tables(void)
{
	struct emu_machine m = standard_machine();
	struct emu_router_conf conf;
	char err[256];

	CHECK_EQ(emu_machine_set(&m,
				 "hop_ns=20,vc_dynamic_slots=3,through_share=0,zone1=AB/C/DE,"
				 "order=EDCBA,tie=minus,mesh=BD,coll_slots=2",
				 err, sizeof err),
		 0);
	CHECK_EQ(m.timing.hop_ps, 20000);
	CHECK_EQ(emu_machine_mesh(&m), 0xa);
	emu_machine_router(&m, &conf);
	CHECK_EQ(conf.slots[EMU_VC_DYNAMIC], 3);
	CHECK_EQ(conf.slots[EMU_VC_BUBBLE], 7);
	CHECK_EQ(conf.coll_slots, 2);
	CHECK(conf.has_share && conf.share == 0);
	CHECK(conf.routing.zone[1][0] == 3 && conf.routing.zone[1][1] == 4 &&
	      conf.routing.zone[1][2] == 24 && conf.routing.zone[0][0] == 0);
	CHECK(conf.routing.has_order && conf.routing.order[0] == 4);
	CHECK_EQ(conf.routing.tie, EMU_TIE_MINUS);
}

/* The default machine is the routers' default. */
static void default_is_the_default(void)
{
	struct emu_machine m = standard_machine();
	struct emu_shape s = {{4, 4, 4, 8, 2}, 1, 0};
	struct emu_router_conf conf;
	struct emu_route a, b;

	emu_machine_router(&m, &conf);
	emu_route_init(&a, &s);
	emu_route_init_as(&b, &s, &conf.routing);
	CHECK_EQ(memcmp(&a, &b, sizeof a), 0);
	for (int v = 0; v < EMU_VCS; v++)
		CHECK_EQ(conf.slots[v], EMU_VC_SLOTS_DEFAULT);
	CHECK(conf.share == 15 && conf.injection_slots == EMU_INJECTION_SLOTS);
}

static void orders_and_ties_are_followed(void)
{
	struct emu_machine m = standard_machine();
	struct emu_shape s = {{4, 4, 4, 8, 2}, 1, 0};
	struct emu_coord x = {{2, 2, 2, 4, 1}, 0};
	struct emu_router_conf conf;
	struct emu_route r;
	unsigned hints;
	char err[256];

	CHECK_EQ(emu_machine_set(&m, "order=EDCBA,tie=minus", err, sizeof err), 0);
	emu_machine_router(&m, &conf);
	emu_route_init_as(&r, &s, &conf.routing);
	CHECK_EQ(emu_route_hints(&r, 0, emu_coord_word(&x), 0, &hints), 0);
	CHECK_EQ(hints, 0x2aa); /* five ties, all minus */
	CHECK_EQ(emu_route_next(&r, 31, hints), 8);
	CHECK_EQ(emu_machine_set(&m, "tie=plus", err, sizeof err), 0);
	emu_machine_router(&m, &conf);
	emu_route_init_as(&r, &s, &conf.routing);
	emu_route_hints(&r, 0, emu_coord_word(&x), 0, &hints);
	CHECK_EQ(hints, 0x155);
}

static void mistakes_are_named(void)
{
	static const char *const bad[][2] = {
	    {"hop_pss=3", "hop_ps"},
	    {"zones=AB", "zone"},
	    {"vc_dynamic_slots=1", "2 to 64"},
	    {"vc_dynamic_slots=x", "2 to 64"},
	    {"zone0=AB", "all five"},
	    {"zone0=ABCDEF", "sets"},
	    {"zone0=A/B/C/D/E/A", "sets"},
	    {"order=AABCD", "order"},
	    {"order=ABCDEA", "order"},
	    {"tie=left", "parity"},
	    {"mesh=F", "letters"},
	    {"routing_low=5", "0 to 4"},
	    {"routing_in=5", "0 to 4"},
	    {"coll_slots", "name=value"},
	    {"=3", "name=value"},
	    {"hop_ps=-1", "number"},
	    {"zone0=AB/CD/E/E/E/E/E/E", "shorter"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct emu_machine m = standard_machine(), same = standard_machine();
		char text[80], err[256] = "";

		snprintf(text, sizeof text, "coll_slots=3,%s", bad[i][0]);
		CHECK_EQ(emu_machine_set(&m, text, err, sizeof err), -EINVAL);
		CHECK_EQ(memcmp(&m, &same, sizeof m), 0);
		if (!strstr(err, bad[i][1]))
			fprintf(stderr, "%s: '%s' lacks '%s'\n", text, err, bad[i][1]);
		CHECK(strstr(err, bad[i][1]));
	}
}

T_MAIN(T(every_row_has_a_value_and_a_source), T(rows_of_both_tables), T(default_is_the_default),
       T(orders_and_ties_are_followed), T(mistakes_are_named))
