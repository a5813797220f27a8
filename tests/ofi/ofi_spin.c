/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two tasks that put words into each other's window in turn. Each waits in a loop that reads its
 * own memory and calls nothing.
 */
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 20

int main(int argc, char **argv)
{
	int me;
	MPI_Win win;
	volatile long *mine;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Win_allocate(sizeof *mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&mine, &win);
	*mine = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (long round = 1; round <= ROUNDS; round++)
		for (int turn = 0; turn < 2; turn++) {
			if (turn != me) {
				while (*mine != round)
					;
				continue;
			}
			MPI_Put(&round, 1, MPI_LONG, !me, 0, 1, MPI_LONG, win);
			MPI_Win_flush(!me, win);
		}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!me)
		printf("PASS\n");
	MPI_Win_free(&win);
	return MPI_Finalize();
}
