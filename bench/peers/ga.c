/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global Arrays, two processes: process 0 accesses the part of process 1. bench/figures/ga_figures
 * compiles this twice, with our ARMCI and with ARMCI-MPI, and starts it with mpirun. It prints
 * lines: operation, bytes, median of 7 in microseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ga.h>
#include <macdecls.h>

enum { REPETITIONS = 7, SIDE = 512 };

enum op { GET, PUT, ACC, GET_PATCH, ACC_PATCH, GATHER, COUNTER };
static const char *const names[] = {"get",       "put",    "acc",     "get patch",
				    "acc patch", "gather", "read_inc"};

static int row, counter, matrix;
static double *buf;
static int *list[1024], at[1024][1];

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void run_once(enum op op, int n)
{
	int half = 1 << 20, lo[2] = {half, 0}, hi[2] = {half + n - 1, 0}, ld[1] = {n},
	    zero[1] = {0};
	double one = 1;

	if (op == GET_PATCH || op == ACC_PATCH) {
		lo[0] = SIDE / 2 + 5;
		hi[0] = lo[0] + n - 1;
		lo[1] = 17;
		hi[1] = lo[1] + n - 1;
	}
	switch (op) {
	case GET:
		NGA_Get(row, lo, hi, buf, ld);
		break;
	case PUT:
		NGA_Put(row, lo, hi, buf, ld);
		break;
	case ACC:
		NGA_Acc(row, lo, hi, buf, ld, &one);
		break;
	case GET_PATCH:
		NGA_Get(matrix, lo, hi, buf, ld);
		break;
	case ACC_PATCH:
		NGA_Acc(matrix, lo, hi, buf, ld, &one);
		break;
	case GATHER:
		NGA_Gather(row, buf, list, n);
		break;
	default:
		NGA_Read_inc(counter, zero, 1);
	}
}

static void measure_op(enum op op, int n, int bytes)
{
	double us[REPETITIONS] = {0};
	int times = 4;

	for (int r = -1; r < REPETITIONS; r++) {
		double start = MPI_Wtime(), s;

		for (int i = 0; i < times; i++)
			run_once(op, n);
		GA_Init_fence();
		GA_Fence();
		s = MPI_Wtime() - start;
		if (r < 0) /* warm up, and find how many make 10 ms */
			times = s / times < 10e-3 / 2000 ? 2000 : (int)(10e-3 / (s / times)) + 1;
		else
			us[r] = s / times * 1e6;
	}
	qsort(us, REPETITIONS, sizeof *us, compare_doubles);
	printf("%s,%d,%.3f\n", names[op], bytes, us[REPETITIONS / 2]);
}

int main(int argc, char **argv)
{
	int length = 2 << 20, dims[2] = {SIDE, SIDE}, chunk[2] = {-1, SIDE}, one = 1, map[1] = {0},
	    block[1] = {1};

	MPI_Init(&argc, &argv);
	GA_Initialize();
	MA_init(C_DBL, 1 << 20, 1 << 20);
	if (GA_Nnodes() != 2)
		GA_Error("two processes, please", 1);
	row = NGA_Create(C_DBL, 1, &length, "row", (int[]){-1});
	matrix = NGA_Create(C_DBL, 2, dims, "matrix", chunk);
	counter = GA_Create_handle();
	GA_Set_data(counter, 1, &one, C_LONG);
	GA_Set_irreg_distr(counter, map, block);
	GA_Set_restricted(counter, (int[]){1}, 1);
	GA_Allocate(counter);
	GA_Zero(row);
	GA_Zero(matrix);
	GA_Zero(counter);
	buf = calloc(1 << 17, sizeof *buf);
	for (int i = 0; i < 1024; i++) {
		at[i][0] = (1 << 20) + 7 * i;
		list[i] = at[i];
	}
	GA_Sync();
	if (GA_Nodeid() == 0) {
		for (int n = 1; n <= 1 << 17; n *= n == 1 ? 128 : 32) {
			measure_op(GET, n, n * 8);
			measure_op(PUT, n, n * 8);
			measure_op(ACC, n, n * 8);
		}
		for (int n = 8; n <= 128; n *= 4) {
			measure_op(GET_PATCH, n, n * n * 8);
			measure_op(ACC_PATCH, n, n * n * 8);
		}
		measure_op(GATHER, 1000, 8000);
		measure_op(COUNTER, 1, 8);
	}
	MPI_Barrier(MPI_COMM_WORLD); /* process 1 waits in MPI: our operations need nothing of it */
	GA_Terminate();
	MPI_Finalize();
	return 0;
}
