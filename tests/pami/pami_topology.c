/* SPDX-License-Identifier: BSD-3-Clause */
/* Member orders against plain lists: rank and endpoint both ways, equal hashes, memory held. */
#include <errno.h>
#include <stdlib.h>

#include "pami/geometry/topology.h"
#include "tests/harness/t.h"

static void check_agrees(const struct pami_topology *t, const uint32_t *list, uint32_t n)
{
	REQUIRE_EQ(t->size, n);
	for (uint32_t r = 0; r < n; r++) {
		CHECK_EQ(pami_topology_endpoint(t, r), list[r]);
		CHECK_EQ(pami_topology_rank(t, list[r]), (int32_t)r);
	}
	for (uint32_t e = 0; e < 5000; e++) { /* no other endpoint is a member */
		int32_t r = pami_topology_rank(t, e);

		CHECK(r < 0 || list[r] == e);
	}
}

static int make_topology(struct pami_topology *t, const uint32_t *list, uint32_t n)
{
	int rc = 0;

	pami_topology_init(t);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = pami_topology_add(t, list[i], 1, 0);
	return rc ? rc : pami_topology_end(t, 1);
}

/* A box of a million tasks, task by task: one block. */
static void boxes_are_small(void)
{
	struct pami_topology t;

	pami_topology_init(&t);
	for (uint32_t a = 0; a < 10; a++)
		for (uint32_t b = 0; b < 10; b++)
			for (uint32_t c = 0; c < 100; c++)
				for (uint32_t d = 0; d < 100; d++)
					CHECK_EQ(pami_topology_add(
						     &t, (((a * 16 + b) * 128 + c) * 128 + d) << 6,
						     1, 0),
						 0);
	REQUIRE_EQ(pami_topology_end(&t, 1), 0);
	CHECK_EQ(t.size, 1000000);
	CHECK(pami_topology_bytes(&t) < 4096);
	for (uint32_t r = 0; r < t.size; r += 997)
		CHECK_EQ(pami_topology_rank(&t, pami_topology_endpoint(&t, r)), (int32_t)r);
	CHECK_EQ(pami_topology_rank(&t, 100 << 6), -1);
	pami_topology_fini(&t);
}

static void random_lists(void)
{
	for (int round = 0; round < 300; round++) {
		uint32_t list[200], n = 1 + (uint32_t)drv_rng_below(t_rng(), 200), at = 0;
		struct pami_topology t;

		for (uint32_t i = 0; i < n; i++) { /* runs, mostly */
			at +=
			    drv_rng_below(t_rng(), 5) ? 3 : 1 + (uint32_t)drv_rng_below(t_rng(), 9);
			list[i] = at;
		}
		for (uint32_t i = 0; round % 3 == 0 && i < n; i++) { /* or any order */
			uint32_t k = (uint32_t)drv_rng_below(t_rng(), n), swap = list[i];

			list[i] = list[k];
			list[k] = swap;
		}
		REQUIRE_EQ(make_topology(&t, list, n), 0);
		check_agrees(&t, list, n);
		pami_topology_fini(&t);
		if (n > 1) {
			list[n - 1] = list[drv_rng_below(t_rng(), n - 1)];
			CHECK_EQ(make_topology(&t, list, n), -EINVAL);
			pami_topology_fini(&t);
		}
	}
}

static void all_contexts(void)
{
	struct pami_topology t, u;
	uint32_t list[4 * 7], n = 0;

	pami_topology_init(&t);
	CHECK_EQ(pami_topology_add(&t, 0, 3, 64), 0);
	CHECK_EQ(pami_topology_add(&t, 9 * 64, 4, 64), 0);
	REQUIRE_EQ(pami_topology_end(&t, 4), 0);
	for (uint32_t i = 0; i < 7; i++)
		for (uint32_t c = 0; c < 4; c++)
			list[n++] = (i < 3 ? i : i + 6) * 64 + c;
	check_agrees(&t, list, n);
	REQUIRE_EQ(make_topology(&u, list, n), 0);
	CHECK_EQ(pami_topology_hash(&t), pami_topology_hash(&u));
	list[0] = 5;
	pami_topology_fini(&u);
	REQUIRE_EQ(make_topology(&u, list, n), 0);
	CHECK(pami_topology_hash(&t) != pami_topology_hash(&u));
	pami_topology_fini(&t);
	pami_topology_fini(&u);
	pami_topology_init(&t);
	CHECK_EQ(pami_topology_end(&t, 1), -EINVAL);
}

T_MAIN(T(boxes_are_small), T(random_lists), T(all_contexts))
