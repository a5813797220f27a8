/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Jacobi iteration in two dimensions on any number of tasks: each has a block of the same size
 * and exchanges its edges. Plain MPI, as other people write it. usage: jacobi [STEPS]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 16 }; /* rows and columns of a block */

static double u[N + 2][N + 2], v[N + 2][N + 2];

/* Neighbours: below, above, left, right. The types of their edges are a row and a column. */
static void exchange_edges(MPI_Comm grid, const int *near, MPI_Datatype column)
{
	MPI_Request r[8];

	MPI_Irecv(&u[0][1], N, MPI_DOUBLE, near[0], 1, grid, &r[0]);
	MPI_Irecv(&u[N + 1][1], N, MPI_DOUBLE, near[1], 0, grid, &r[1]);
	MPI_Irecv(&u[1][0], 1, column, near[2], 3, grid, &r[2]);
	MPI_Irecv(&u[1][N + 1], 1, column, near[3], 2, grid, &r[3]);
	MPI_Isend(&u[1][1], N, MPI_DOUBLE, near[0], 0, grid, &r[4]);
	MPI_Isend(&u[N][1], N, MPI_DOUBLE, near[1], 1, grid, &r[5]);
	MPI_Isend(&u[1][1], 1, column, near[2], 2, grid, &r[6]);
	MPI_Isend(&u[1][N], 1, column, near[3], 3, grid, &r[7]);
	MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

/* Returns the square of the change. */
static double relax(void)
{
	double change = 0;

	for (int i = 1; i <= N; i++)
		for (int k = 1; k <= N; k++) {
			v[i][k] = 0.25 * (u[i - 1][k] + u[i + 1][k] + u[i][k - 1] + u[i][k + 1]);
			change += (v[i][k] - u[i][k]) * (v[i][k] - u[i][k]);
		}
	for (int i = 1; i <= N; i++)
		for (int k = 1; k <= N; k++)
			u[i][k] = v[i][k];
	return change;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 10, dims[2] = {0, 0}, periods[2] = {0, 0};
	int tasks, me, near[4];
	double change = 0, all = 0, sum = 0, start;
	MPI_Datatype column;
	MPI_Comm grid;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	MPI_Dims_create(tasks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
	MPI_Comm_rank(grid, &me);
	MPI_Cart_shift(grid, 0, 1, &near[0], &near[1]);
	MPI_Cart_shift(grid, 1, 1, &near[2], &near[3]);
	MPI_Type_vector(N, 1, N + 2, MPI_DOUBLE, &column);
	MPI_Type_commit(&column);
	for (int k = 0; k < N + 2 && near[0] == MPI_PROC_NULL; k++)
		u[0][k] = 1; /* the warm edge */
	start = MPI_Wtime();
	for (int i = 0; i < steps; i++) {
		exchange_edges(grid, near, column);
		change = relax();
		MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
	}
	for (int i = 1; i <= N; i++)
		for (int k = 1; k <= N; k++)
			sum += u[i][k];
	MPI_Reduce(&sum, &change, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
	if (!me)
		printf("jacobi of %d x %d blocks: sum %.9f, last change %.9f, %.3f us\n", dims[0],
		       dims[1], change, sqrt(all), (MPI_Wtime() - start) * 1e6);
	MPI_Type_free(&column);
	MPI_Comm_free(&grid);
	MPI_Finalize();
	return 0;
}
