/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the guest programs share: named cases, each with the habit of other people's programs that
 * it repeats, and checks. Nothing here knows PAMI or ARMCI, so each program calls them its own way.
 * `program CASE...` runs only the cases named, `program '!CASE'...` all others.
 */
#ifndef TESTS_GUESTS_GUEST_H
#define TESTS_GUESTS_GUEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *guest_name = "start";

#define CHECK_WHO "%s", guest_name
#include "tests/harness/check_count.h"

static inline double guest_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Does the command line want this case? Words name cases, !words leave cases out; no word: all. */
static inline int guest_wants(int argc, char **argv, const char *name)
{
	int named = 0;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '!' && !strcmp(argv[i] + 1, name))
			return 0;
		if (!strcmp(argv[i], name))
			return 1;
		named |= argv[i][0] != '!';
	}
	return !named;
}

/* Run one case, if the command line wants it. Every task runs the same cases. */
static inline void guest_case(int argc, char **argv, const char *name, const char *habit,
			      void (*run)(void))
{
	double start = guest_now();

	if (!guest_wants(argc, argv, name))
		return;
	guest_name = name;
	fprintf(stderr, "%s: %s\n", name, habit);
	run();
	fprintf(stderr, "%s took %.0f ms\n", name, 1e3 * (guest_now() - start));
}

#define CASE(name, habit) guest_case(argc, argv, #name, habit, name)

#endif
