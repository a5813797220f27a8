/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 6: the sum of a number of each task, by messages of the program and by the network.
 *
 *	torus run --clock virtual --shape 2x2x2x2x2 ./sum
 */
#include "lab.h"

#define STEPS 10

enum { PART = 1 };
struct part {
	int step, round;
	double value;
};
static volatile int came[2][STEPS]; /* of this round and of the next one */
static double part[2][STEPS];
static int rounds;

static void on_part(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	struct part p;

	memcpy(&p, data, sizeof p);
	part[p.round & 1][p.step] = p.value;
	came[p.round & 1][p.step] = 1;
}

/* Send a value to a task for a step of this round. */
static void send_part(int task, int step, double value)
{
	struct part p = {step, rounds, value};

	lab_send(task, PART, &p, sizeof p);
}

/* Wait for the value that another task sent for a step of this round. */
static double wait_part(int step)
{
	lab_wait(came[rounds & 1][step]);
	came[rounds & 1][step] = 0;
	return part[rounds & 1][step];
}

/* The sum of all tasks' values, in every task. The number of tasks is a power of two. */
static double sum_by_messages(double value)
{
	/* TODO, step 3: recursive doubling. In step s each task exchanges what it has with the task
	 * whose number differs in bit s (send_part(), wait_part()), and adds. */
	rounds++;
	return value;
}

static double sum_by_network(double value)
{
	double sum = 0;
	pami_xfer_t x;

	memset(&x, 0, sizeof x);
	x.algorithm = lab_algorithm(PAMI_XFER_ALLREDUCE);
	x.cmd.xfer_allreduce.sndbuf = (char *)&value;
	x.cmd.xfer_allreduce.stype = PAMI_TYPE_DOUBLE;
	x.cmd.xfer_allreduce.stypecount = 1;
	x.cmd.xfer_allreduce.rcvbuf = (char *)&sum;
	x.cmd.xfer_allreduce.rtype = PAMI_TYPE_DOUBLE;
	x.cmd.xfer_allreduce.rtypecount = 1;
	x.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
	lab_collective(&x);
	return sum;
}

int main(void)
{
	double start, sum[2], us[2];

	lab_begin();
	if (tasks & (tasks - 1) || tasks > 1 << STEPS) {
		if (!me)
			fprintf(stderr, "sum: the number of tasks must be a power of two\n");
		return 2;
	}
	lab_on_message(PART, on_part, NULL);
	/* Twice: the first time makes what the second one finds. */
	for (int i = 0; i < 2; i++) {
		lab_barrier();
		start = lab_us();
		sum[0] = sum_by_messages(me + 1);
		us[0] = lab_us() - start;
		lab_barrier();
		start = lab_us();
		sum[1] = sum_by_network(me + 1);
		us[1] = lab_us() - start;
	}
	if (me == 0)
		printf("%d tasks: messages %.0f in %.2f us, network %.0f in %.2f us\n", tasks,
		       sum[0], us[0], sum[1], us[1]);
	lab_end();
	return 0;
}
