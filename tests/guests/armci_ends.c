/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders in which ARMCI programs begin, free and end, one a run (the first argument). */
#include <armci.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int is_equal(const char *a, const char *b)
{
	return !strcmp(a, b);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "free_by_one";
	void **p, **q;
	int me, nproc, bad = 0;

	if (is_equal(how, "init_three_times")) {
		ARMCI_Init();
		ARMCI_Init_args(NULL, NULL);
	}
	if (is_equal(how, "cleanup_first"))
		ARMCI_Cleanup();
	if (ARMCI_Initialized() && !is_equal(how, "init_three_times"))
		return 4;
	ARMCI_Init_args(&argc, &argv);
	if (!ARMCI_Initialized())
		return 5;
	me = armci_msg_me();
	nproc = armci_msg_nproc();
	p = calloc((size_t)nproc, sizeof *p);
	q = calloc((size_t)nproc, sizeof *q);
	if (ARMCI_Malloc(p, 1000) || ARMCI_Malloc(q, 1000))
		return 6;
	memset(p[me], me, 1000);
	ARMCI_Barrier();

	if (is_equal(how, "free_by_one")) {
		/* Task 0 frees its part; the others keep theirs until the end, and go on with q. */
		if (me == 0)
			ARMCI_Free(p[me]);
	} else if (is_equal(how, "free_at_different_times")) {
		struct timespec t = {0, 100000000};

		if (me)
			nanosleep(&t, NULL);
		ARMCI_Free(p[me]);
	} else if (is_equal(how, "free_nothing")) {
		/* both are left to ARMCI_Finalize */
	} else if (is_equal(how, "free_in_another_order")) {
		ARMCI_Free(q[me]);
		q[me] = NULL;
		ARMCI_Free(p[me]);
	} else {
		ARMCI_Free(p[me]);
	}
	if (!is_equal(how, "free_in_another_order")) {
		int x = me, y = -1, right = (me + 1) % nproc;

		ARMCI_Put(&x, q[right], sizeof x, right);
		ARMCI_Fence(right);
		ARMCI_Get(q[right], &y, sizeof y, right);
		bad |= y != x;
		armci_msg_barrier();
	}
	fprintf(stderr, "process %d of %d ends%s\n", me, nproc, bad ? " with an error" : "");
	if (is_equal(how, "exit_without_finalize")) {
		ARMCI_Barrier();
		exit(bad);
	}
	if (is_equal(how, "one_calls_error")) {
		if (me == nproc - 1)
			ARMCI_Error("this is what the program says", 0);
		for (;;)
			ARMCI_Barrier();
	}
	if (is_equal(how, "one_leaves_early")) {
		if (me == nproc - 1)
			exit(0);
		ARMCI_Barrier();
		exit(3);
	}
	ARMCI_Finalize();
	if (is_equal(how, "finalize_three_times")) {
		ARMCI_Finalize();
		ARMCI_Finalize();
	}
	ARMCI_Cleanup();
	if (ARMCI_Initialized() && !is_equal(how, "init_three_times"))
		bad = 1;
	free(p);
	free(q);
	return bad;
}
