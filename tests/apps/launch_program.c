/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job by mpirun: which task this is, and whether memory of others answers.
 *
 * usage: launch_program [die | error | leave | wait | twice | mpi-first | mpi-last | mpi-ours |
 *                        mpi-thread] [MARK]
 *   die    task 1 kills itself while the others wait for it
 *   wait   all tasks wait for ever
 *   error  task 1 ends the job by ARMCI_Error
 *   leave  task 1 exits without a word
 *   mpi-*  (where MPI was compiled in) MPI_Init before PAMI's start, between it and ARMCI_Init, or
 *          in ARMCI_Init; both count the same tasks, groups have communicators
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef WITH_MPI
#define ARMCI_NO_MPI_H
#endif
#include "armci/armci.h" /* brings MPI's names along, where there is MPI */
#include "pami/pami.h"

#define WORDS 1000

static int me, n, bad;

static void expect_true(int ok, const char *what)
{
	if (!ok) {
		printf("FAIL task %d of %d: %s\n", me, n, what);
		bad = 1;
	}
}

static void environment_is_right(void)
{
	const char *rank = getenv("PMIX_RANK") ? getenv("PMIX_RANK") : getenv("PMI_RANK");

	expect_true(!rank || atoi(rank) == me, "another rank than the launcher's");
}

static void memory_is_shared(void)
{
	long *part[64], *get = ARMCI_Malloc_local(WORDS * sizeof(long)), one = -1;
	int to = (me + 1) % n, from = (me + n - 1) % n;

	expect_true(n <= 64 && get && !ARMCI_Malloc((void **)part, (WORDS + 1) * sizeof(long)),
		    "memory");
	memset(part[me], 0, (WORDS + 1) * sizeof(long));
	ARMCI_Barrier();
	for (int i = 0; i < WORDS; i++)
		get[i] = me * 10000 + i;
	expect_true(!ARMCI_Put(get, part[to], WORDS * sizeof(long), to), "put");
	ARMCI_Barrier();
	for (int i = 0; i < WORDS; i++)
		expect_true(part[me][i] == from * 10000 + i, "what was put here");
	memset(get, 0, WORDS * sizeof(long));
	expect_true(!ARMCI_Get(part[to], get, WORDS * sizeof(long), to), "get");
	for (int i = 0; i < WORDS; i++)
		expect_true(get[i] == me * 10000 + i, "what was got back");
	for (int i = 0; i < 10; i++)
		ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &one, &part[0][WORDS], 1, 0);
	ARMCI_Barrier();
	expect_true(me || part[0][WORDS] == 10L * n, "the counter");
	ARMCI_Free(part[me]);
	ARMCI_Free_local(get);
}

static void with_mpi(void)
{
#ifdef WITH_MPI
	int rank, size, sum = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	expect_true(rank == me && size == n, "MPI counts otherwise");
	MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect_true(sum == n * (n - 1) / 2, "MPI's sum");
#endif
}

/* Odd and even tasks: each group has a communicator of its own, in its order, and none is the
 * world's. */
static void communicators_are_apart(void)
{
#ifdef WITH_MPI
	int list[64], k = 0, zero = 0, rank, size, sum, own, same;
	ARMCI_Group world, group, other, copy;

	ARMCI_Group_get_world(&world);
	MPI_Comm_size(world.comm, &size);
	MPI_Comm_rank(armci_group_comm(&world), &rank);
	MPI_Comm_compare(world.comm, MPI_COMM_WORLD, &same);
	expect_true(size == n && rank == me && same == MPI_CONGRUENT, "the world's communicator");
	for (int round = 0; round < 20; round++) {
		k = 0;
		for (int i = n - 1; i >= 0; i--)
			if (i % 2 == me % 2)
				list[k++] = i;
		ARMCI_Group_create(k, list, &group);
		copy = group;
		ARMCI_Group_rank(&copy, &own);
		MPI_Comm_size(copy.comm, &size);
		MPI_Comm_rank(armci_group_comm(&copy), &rank);
		expect_true(size == k && rank == own && list[rank] == me, "a group's communicator");
		MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, copy.comm);
		expect_true(me % 2 ? sum == (n / 2) * (n / 2)
				   : sum == ((n + 1) / 2 - 1) * ((n + 1) / 2),
			    "a group's sum");
		ARMCI_Group_create(1, &zero, &other);
		expect_true((armci_group_comm(&other) == MPI_COMM_NULL) == (me != 0),
			    "no member, no communicator");
		if (!me)
			ARMCI_Group_free(&other);
		ARMCI_Group_free(&group);
	}
#endif
}

/* ARMCI starts MPI, with the thread level that the program asks ARMCI for. */
static int start_with_threads(void)
{
#ifdef WITH_MPI
	int level = -1, rc = ARMCI_Init_thread(MPI_THREAD_MULTIPLE);

	if (!rc)
		MPI_Query_thread(&level);
	expect_true(level == MPI_THREAD_MULTIPLE, "the thread level of MPI");
	return rc;
#else
	return ARMCI_Init_thread(3);
#endif
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

#ifdef WITH_MPI
	pami_client_t before = NULL;

	if (!strcmp(how, "mpi-last") &&
	    PAMI_Client_create("before MPI", &before, NULL, 0) != PAMI_SUCCESS)
		return 1;
	if (strcmp(how, "mpi-ours") && strcmp(how, "mpi-thread"))
		MPI_Init(&argc, &argv);
#endif
	if (!strcmp(how, "mpi-thread") ? start_with_threads() : ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	environment_is_right();
	if (!strcmp(how, "die") && me == 1)
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "error") && me == 1)
		ARMCI_Error("as told", 3);
	if (!strcmp(how, "leave") && me == 1)
		_exit(0);
	if (!strcmp(how, "wait") || !strcmp(how, "die") || !strcmp(how, "error") ||
	    !strcmp(how, "leave")) {
		printf("waiting\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	memory_is_shared();
	with_mpi();
	communicators_are_apart();
	ARMCI_Finalize();
	if (!strcmp(how, "twice")) {
		expect_true(!ARMCI_Init(), "again");
		memory_is_shared();
		ARMCI_Finalize();
	}
#ifdef WITH_MPI
	if (before)
		PAMI_Client_destroy(&before);
	if (strcmp(how, "mpi-ours") && strcmp(how, "mpi-thread"))
		MPI_Finalize();
	else if (argc > 2) /* else at the end of the process */
		armci_msg_finalize();
#endif
	if (!bad)
		printf("PASS %d of %d\n", me, n);
	return bad;
}
