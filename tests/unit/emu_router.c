/* SPDX-License-Identifier: BSD-3-Clause */
/* emu/router.c: one or two routers at a time, and small tori. */
#include <errno.h>

#include "tests/emu_net.h"
#include "tests/t.h"

static struct emu_shape shape(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	struct emu_shape s = {{(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e}, 1, 0};

	return s;
}

static void one_packet_each_pair(void)
{
	struct emu_shape s = shape(3, 2, 1, 4, 2);
	struct net *n = net_create(&s, NULL, 500);

	for (uint32_t a = 0; a < n->nodes; a++)
		for (uint32_t b = 0; b < n->nodes; b++)
			net_send(n, a, b, EMU_VC_BUBBLE, 0, 0, 0, 512);
	net_run(n);
	CU_ASSERT_EQUAL(n->delivered, n->sent);
	CU_ASSERT_EQUAL(n->wrong, 0);
	CU_ASSERT_EQUAL(n->disordered, 0);
	net_destroy(n);
}

T_MAIN(T(one_packet_each_pair))
