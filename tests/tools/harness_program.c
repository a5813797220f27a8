/* SPDX-License-Identifier: BSD-3-Clause */
/* Not a test by itself: cases that pass, fail, skip and die, for tools/harness.sh. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/t.h"

static void passing_case(void)
{
	printf("a line of the case\n");
	CHECK(1);
}

static void failing_case(void)
{
	CHECK_EQ(1 + 1, 3);
}

static void fails_in_a_string(void)
{
	CHECK_STR("a", NULL);
}

static void fails_nearly(void)
{
	CHECK_NEAR(1.0, 1.5, 0.25);
}

static void stops_at_require(void)
{
	REQUIRE_EQ(1, 2);
	abort();
}

static void skipping_case(void)
{
	T_SKIP("no %s here", "luck");
}

static void dying_case(void)
{
	abort();
}

static int succeeding_child(void *arg)
{
	REQUIRE(arg == NULL);
	return 0;
}

static int sleeping_child(void *arg)
{
	pause();
	return 0;
}

static int failing_child(void *arg)
{
	CHECK_STR("a", "b");
	return 0;
}

static void children_end_as_told(void)
{
	CHECK_EQ(t_wait(t_child(failing_child, NULL), 10), 1);
	CHECK_EQ(t_wait(t_child(succeeding_child, NULL), 10), 0);
	CHECK_EQ(t_wait(t_child(succeeding_child, &(int){0}), 10), 1);
	CHECK_EQ(t_wait(t_child(sleeping_child, NULL), 0), 128 + 9);
}

static void directory_is_removed(void)
{
	FILE *f;
	char path[256];

	snprintf(path, sizeof(path), "%s/file", t_dir());
	f = fopen(path, "w");
	REQUIRE(f);
	fclose(f);
	fprintf(stderr, "directory %s\n", t_dir());
}

static void chance_is_repeated(void)
{
	fprintf(stderr, "chance %llx\n", (unsigned long long)drv_rng_next(t_rng()));
}

T_MAIN(T(passing_case), T(failing_case), T(fails_in_a_string), T(fails_nearly), T(stops_at_require),
       T(skipping_case), T(dying_case), T(children_end_as_told), T(directory_is_removed),
       T(chance_is_repeated))
