/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages above 2 GiB: many numbers, a contiguous type, a type with gaps; what a receive says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (3ull << 30)

static int me, bad;

static void check(int right, const char *what)
{
	if (right)
		return;
	bad = 1;
	printf("task %d: %s\n", me, what);
}

static double *make(size_t n, int fill)
{
	double *a = malloc(n * sizeof *a);

	if (!a) {
		printf("task %d: no memory\n", me);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (size_t i = 0; i < n; i++)
		a[i] = fill ? (double)i : -1;
	return a;
}

/* Task 0 sends `count` elements of a type, `kept` of each 4 numbers. Task 1 looks at a few. */
static void exchange(MPI_Datatype type, int count, size_t numbers, size_t kept, const char *what)
{
	double *a = make(numbers, !me);
	MPI_Status status;
	MPI_Count got = 0;

	if (!me) {
		MPI_Send(a, count, type, 1, 1, MPI_COMM_WORLD);
	} else {
		MPI_Recv(a, count, type, 0, 1, MPI_COMM_WORLD, &status);
		MPI_Get_elements_x(&status, MPI_DOUBLE, &got);
		check((size_t)got == numbers / 4 * kept, what);
		for (size_t i = 0; i < numbers; i += 4093)
			if (a[i] != (i % 4 < kept ? (double)i : -1)) {
				check(0, what);
				break;
			}
		check(a[numbers - 1] == (kept == 4 ? (double)(numbers - 1) : -1), what);
	}
	free(a);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	size_t numbers = BYTES / sizeof(double);
	MPI_Datatype gaps, part;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	exchange(MPI_DOUBLE, (int)numbers, numbers, 4, "3 GiB of numbers");
	MPI_Type_contiguous(1 << 20, MPI_DOUBLE, &part);
	MPI_Type_commit(&part);
	exchange(part, (int)(numbers >> 20), numbers, 4, "3 GiB of a contiguous type");
	MPI_Type_vector((int)(numbers / 4), 3, 4, MPI_DOUBLE, &gaps);
	MPI_Type_commit(&gaps);
	exchange(gaps, 1, numbers, 3, "three of each four numbers of 3 GiB");
	MPI_Finalize();
	if (!bad)
		printf("PASS %d of 2\n", me);
	return bad;
}
