/* SPDX-License-Identifier: BSD-3-Clause */
/* Not a test by itself: cases that pass, fail, skip and die, for unit/harness.sh. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/t.h"

static void passes(void)
{
	printf("a line of the case\n");
	CU_ASSERT(1);
}

static void fails(void)
{
	CU_ASSERT_EQUAL(1 + 1, 3);
}

static void skips(void)
{
	T_SKIP("no %s here", "luck");
}

static void dies(void)
{
	abort();
}

static int child(void *arg)
{
	t_child_check(arg == NULL);
	return 0;
}

static int sleeper(void *arg)
{
	pause();
	return 0;
}

static void children(void)
{
	CU_ASSERT_EQUAL(t_wait(t_child(child, NULL), 10), 0);
	CU_ASSERT_EQUAL(t_wait(t_child(child, &(int){0}), 10), 1);
	CU_ASSERT_EQUAL(t_wait(t_child(sleeper, NULL), 0), 128 + 9);
}

static void directory(void)
{
	FILE *f;
	char path[256];

	snprintf(path, sizeof(path), "%s/file", t_dir());
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fclose(f);
	fprintf(stderr, "directory %s\n", t_dir());
}

static void chance(void)
{
	fprintf(stderr, "chance %llx\n", (unsigned long long)drv_rng_next(t_rng()));
}

T_MAIN(T(passes), T(fails), T(skips), T(dies), T(children), T(directory), T(chance))
