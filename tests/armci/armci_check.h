/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks in ARMCI test programs. Each process counts its failures, and process 0 prints PASS or
 * FAIL for all.
 */
#ifndef TESTS_ARMCI_CHECK_H
#define TESTS_ARMCI_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <armci.h>

#define CHECK_WHO "process %d", armci_msg_me()
#include "tests/harness/check_count.h"

/* Collective. Returns the exit status. */
static inline int check_report(const char *name)
{
	int all = check_failures;

	armci_msg_igop(&all, 1, "+");
	if (armci_msg_me() == 0)
		printf("%s %s (%d processes)\n", all ? "FAIL" : "PASS", name, armci_msg_nproc());
	fflush(stdout);
	return all != 0;
}

struct check_case {
	const char *name;
	void (*run)(void);
};

/*
 * Run the case with that name, or all if `only` is NULL, with a barrier after each. A name that no
 * case has is a failure. Collective. Returns the exit status.
 */
static inline int check_run(const struct check_case *cases, size_t count, const char *only)
{
	size_t i, runs = 0;

	for (i = 0; i < count; i++) {
		if (only && strcmp(only, cases[i].name))
			continue;
		if (armci_msg_me() == 0 && getenv("ARMCI_TEST_TRACE"))
			fprintf(stderr, "%s\n", cases[i].name);
		cases[i].run();
		ARMCI_Barrier();
		runs++;
	}
	CHECK(runs > 0);
	return check_report(only ? only : "all");
}

#endif
