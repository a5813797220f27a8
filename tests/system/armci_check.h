/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks in ARMCI test programs: each process counts, process 0 says PASS or FAIL for all. */
#ifndef TESTS_SYSTEM_ARMCI_CHECK_H
#define TESTS_SYSTEM_ARMCI_CHECK_H

#include <stdio.h>

#include <armci.h>

static int check_failures;

#define CHECK(ok)                                                                                       \
	do {                                                                                            \
		if (!(ok) && check_failures++ < 10)                                                     \
			fprintf(stderr, "process %d: %s:%d: %s is false\n", armci_msg_me(), __FILE__,   \
				__LINE__, #ok);                                                         \
	} while (0)

/* Collective; the exit status. */
static inline int check_report(const char *name)
{
	int all = check_failures;

	armci_msg_igop(&all, 1, "+");
	if (armci_msg_me() == 0)
		printf("%s %s (%d processes)\n", all ? "FAIL" : "PASS", name, armci_msg_nproc());
	fflush(stdout);
	return all != 0;
}

#endif
