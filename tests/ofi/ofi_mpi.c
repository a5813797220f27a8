/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program: point to point of many sizes, wildcards, probes, collectives, one-sided, threads.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int me, tasks, level;

#define CHECK_WHO "task %d", me
#include "tests/harness/check_count.h"

static void messages_go_round_the_ring(void)
{
	for (int n = 0; n <= 3000000; n = n * 3 + 1) {
		char *out = malloc((size_t)n + 1), *in = malloc((size_t)n + 1);
		MPI_Status status;
		int count;

		memset(out, me + n, (size_t)n);
		MPI_Sendrecv(out, n, MPI_CHAR, (me + 1) % tasks, 5, in, n, MPI_CHAR,
			     (me + tasks - 1) % tasks, 5, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_CHAR, &count);
		CHECK(count == n && status.MPI_SOURCE == (me + tasks - 1) % tasks);
		for (int i = 0; i < n; i++)
			if (in[i] != (char)((me + tasks - 1) % tasks + n)) {
				CHECK(!"data");
				break;
			}
		free(out);
		free(in);
	}
}

/*
 * Everybody sends to task 0, which takes from any, by probe and by receive. Synchronous sends only
 * to receives: without mca_coll_quintorus.so Open MPI 4.1.4 never answers one that MPI_Mrecv
 * takes (ofi_kinds.c).
 */
static void wildcards_match_everybody(void)
{
	int expected[64] = {0}, number[2000];
	MPI_Status status;

	if (me) {
		for (int i = 0; i < 50; i++) {
			number[0] = i;
			if (i % 6 || tasks > 2)
				MPI_Send(number, 1 + i * 37, MPI_INT, 0, 3, MPI_COMM_WORLD);
			else
				MPI_Ssend(number, 1 + i * 37, MPI_INT, 0, 3, MPI_COMM_WORLD);
		}
		return;
	}
	for (int i = 0; i < 50 * (tasks - 1); i++) {
		int count;

		if (i % 2) {
			MPI_Message message;

			MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
			MPI_Get_count(&status, MPI_INT, &count);
			MPI_Mrecv(number, count, MPI_INT, &message, &status);
		} else {
			MPI_Recv(number, 2000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
				 &status);
			MPI_Get_count(&status, MPI_INT, &count);
		}
		CHECK(number[0] == expected[status.MPI_SOURCE]++);
		CHECK(count == 1 + number[0] * 37);
	}
}

static void collectives_compute(void)
{
	enum { N = 20000 };
	static double a[N], b[N];
	int *all = malloc((size_t)tasks * sizeof *all), x = me * me;
	double sum = tasks * (tasks - 1) / 2.0;

	for (int i = 0; i < N; i++)
		a[i] = me + i;
	MPI_Allreduce(a, b, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < N; i++)
		CHECK(b[i] == sum + (double)tasks * i);
	MPI_Allgather(&x, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	for (int t = 0; t < tasks; t++)
		CHECK(all[t] == t * t);
	MPI_Bcast(a, N, MPI_DOUBLE, tasks - 1, MPI_COMM_WORLD);
	CHECK(a[7] == tasks - 1 + 7);
	for (int i = 0; i < tasks; i++)
		all[i] = 100 * me + i;
	MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	for (int t = 0; t < tasks; t++)
		CHECK(all[t] == 100 * t + me);
	free(all);
}

static void twice_sum(void *in, void *out, int *count, MPI_Datatype *type)
{
	for (int i = 0; i < *count; i++)
		((int *)out)[i] += ((int *)in)[i];
}

/* Reductions of several types and operations, in place and not, to each root. */
static void check_reductions(MPI_Comm comm)
{
	int rank, size, in[3], out[3] = {-1, -1, -1}, low = 0, bits, user;
	MPI_Op own;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int root = 0; root < size; root++) {
		for (int i = 0; i < 3; i++)
			in[i] = out[i] = rank + i;
		MPI_Reduce(rank == root && root % 2 ? MPI_IN_PLACE : in, out, 3, MPI_INT, MPI_SUM,
			   root, comm);
		for (int i = 0; i < 3; i++)
			CHECK(out[i] ==
			      (rank == root ? size * (size - 1) / 2 + size * i : rank + i));
	}
	in[0] = rank + 5;
	MPI_Allreduce(in, &low, 1, MPI_INT, MPI_MIN, comm);
	CHECK(low == 5);
	bits = 1 << rank;
	MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_INT, MPI_BOR, comm);
	CHECK(bits == (1 << size) - 1);
	MPI_Op_create(twice_sum, 1, &own);
	MPI_Allreduce(in, &user, 1, MPI_INT, own, comm);
	CHECK(user == size * (size - 1) / 2 + 5 * size);
	MPI_Op_free(&own);
}

/* The root sends every second number of its own, the others store them side by side. */
static void check_broadcasts(MPI_Comm comm)
{
	enum { N = 3000 };
	static int data[2 * N];
	MPI_Datatype second;
	int rank, size;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Type_vector(N, 1, 2, MPI_INT, &second);
	MPI_Type_commit(&second);
	for (int root = 0; root < size; root++) {
		for (int i = 0; i < 2 * N; i++)
			data[i] = rank == root ? i + root : -1;
		if (rank == root)
			MPI_Bcast(data, 1, second, root, comm);
		else
			MPI_Bcast(data, N, MPI_INT, root, comm);
		for (int i = 0; i < N; i += 7)
			CHECK(data[i] == (rank == root ? i : 2 * i) + root);
	}
	MPI_Type_free(&second);
}

/* Communicators of the same members, of some, in another order; more than there are class routes.
 */
static void communicators_are_apart(void)
{
	MPI_Comm comm;

	for (int i = 0; i < 20; i++) {
		if (i % 4 == 3)
			MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		else
			MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? me % 2 : me >= tasks / 2,
				       i % 3 ? -me : me, &comm);
		MPI_Barrier(comm);
		check_reductions(comm);
		check_broadcasts(comm);
		if (i % 5)
			MPI_Comm_free(&comm);
	}
}

static void one_sided(void)
{
	long *memory, one = 1, old;
	double half = 0.5, *sum;
	MPI_Win window, other;

	MPI_Win_allocate(1000 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
			 &window);
	memset(memory, 0, 1000 * sizeof(long));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window);
	for (int t = 0; t < tasks; t++) {
		long out[100];

		for (int k = 0; k < 100; k++)
			out[k] = me * 1000 + k;
		MPI_Put(out, 100, MPI_LONG, t, 100 + 100 * me, 100, MPI_LONG, window);
		MPI_Win_flush(t, window);
		for (int k = 0; k < 20; k++) {
			MPI_Fetch_and_op(&one, &old, MPI_LONG, t, 0, MPI_SUM, window);
			MPI_Win_flush(t, window);
			CHECK(old >= 0 && old < 20 * tasks);
		}
	}
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, me, 0, window);
	CHECK(memory[0] == 20 * tasks);
	for (int t = 0; t < tasks; t++)
		for (int k = 0; k < 100; k++)
			CHECK(memory[100 + 100 * t + k] == t * 1000 + k);
	MPI_Win_unlock(me, window);
	MPI_Win_allocate(8 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &sum,
			 &other);
	memset(sum, 0, 8 * sizeof(double));
	MPI_Win_fence(0, other);
	MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, 3, 1, MPI_DOUBLE, MPI_SUM, other);
	MPI_Win_fence(0, other);
	CHECK(me || sum[3] == 0.5 * tasks);
	MPI_Win_free(&other);
	MPI_Win_free(&window);
}

/*
 * Within a host only where Open MPI takes its shared memory: its osc rdma crashes there, over any
 * transport (ofi/README.md). It exports what mpirun's --mca says.
 */
static void compare_and_swap(void)
{
	long *memory, mine = me + 1, nothing = 0, old = -1;
	int right = (me + 1) % tasks, left = (me + tasks - 1) % tasks;
	MPI_Win window;

	if (getenv("OMPI_MCA_osc") && !strcmp(getenv("OMPI_MCA_osc"), "rdma"))
		return;
	MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
			 &window);
	memset(memory, 0, 8 * sizeof(long));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window);
	MPI_Compare_and_swap(&mine, &nothing, &old, MPI_LONG, right, 5, window);
	MPI_Win_flush(right, window);
	CHECK(old == 0);
	MPI_Compare_and_swap(&mine, &nothing, &old, MPI_LONG, right, 5, window);
	MPI_Win_flush(right, window);
	CHECK(old == me + 1);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(memory[5] == left + 1);
	MPI_Win_free(&window);
}

/* Add 1 to a counter of the target, and return how it was read at first. */
static long count_one(MPI_Win window, int target)
{
	long seen = 0, first = 0, next, old;

	for (int i = 0;; i++) {
		next = seen + 1;
		old = -1;
		MPI_Compare_and_swap(&next, &seen, &old, MPI_LONG, target, 3, window);
		MPI_Win_flush(target, window);
		first = i ? first : old;
		if (old == seen)
			return first;
		seen = old;
	}
}

/*
 * All tasks count in all parts of a window at once, each in its own as well. Within a host that
 * needs mca_osc_quintorus.so.
 */
static void compare_and_swap_own(void)
{
	enum { ROUNDS = 200 };
	long memory[4] = {0};
	int outside = 0, half = 0, old_half = -1, one = 1;
	MPI_Win window;

	if (!getenv("OMPI_MCA_mca_base_component_path"))
		return;
	MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_lock_all(0, window);
	for (int i = 0; i < ROUNDS; i++)
		for (int t = 0; t < tasks; t++)
			CHECK(count_one(window, (me + t) % tasks) >= i);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(count_one(window, me) == (long)ROUNDS * tasks);
	MPI_Compare_and_swap(&one, &half, &old_half, MPI_INT, me, 2, window);
	MPI_Win_flush(me, window);
	CHECK(old_half == 0 && *(int *)&memory[2] == 1);
	MPI_Win_unlock_all(window);
	CHECK(memory[3] == (long)ROUNDS * tasks + 1);
	MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
	MPI_Win_lock(MPI_LOCK_SHARED, me, 0, window);
	outside = MPI_Compare_and_swap(memory, memory, memory, MPI_LONG, me, 4, window);
	CHECK(outside != MPI_SUCCESS);
	MPI_Win_unlock(me, window);
	MPI_Win_free(&window);
}

/*
 * Tasks of one host share memory; those of several do not, also if all hosts are on this machine.
 * osc rdma has no shared windows.
 */
static void neighbours_share_memory(int expected)
{
	MPI_Comm neighbours;
	int size, rank, unit;
	MPI_Win window;
	MPI_Aint bytes;
	long *mine, *left;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &neighbours);
	MPI_Comm_size(neighbours, &size);
	MPI_Comm_rank(neighbours, &rank);
	CHECK(size == expected);
	if (getenv("OMPI_MCA_osc") && !strcmp(getenv("OMPI_MCA_osc"), "rdma")) {
		MPI_Comm_free(&neighbours);
		return;
	}
	MPI_Win_allocate_shared(sizeof(long), 1, MPI_INFO_NULL, neighbours, &mine, &window);
	MPI_Win_lock_all(0, window);
	*mine = me;
	MPI_Win_sync(window);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(window);
	MPI_Win_shared_query(window, (rank + size - 1) % size, &bytes, &unit, &left);
	CHECK(*left == me - rank + (rank + size - 1) % size);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
	MPI_Comm_free(&neighbours);
}

/* osc pt2pt, which serves them between hosts, is for one thread. */
static void dynamic_windows(int of_several_hosts)
{
	int right = (me + 1) % tasks, left = (me + tasks - 1) % tasks;
	MPI_Win window;

	if (of_several_hosts && level == MPI_THREAD_MULTIPLE)
		return;
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	for (int round = 0; round < 3; round++) {
		long memory[600] = {0}, out[500], in[500] = {0};
		MPI_Aint at, there;

		MPI_Win_attach(window, memory, sizeof memory);
		MPI_Get_address(memory, &at);
		MPI_Sendrecv(&at, 1, MPI_AINT, left, 1, &there, 1, MPI_AINT, right, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < 500; i++)
			out[i] = me + i;
		MPI_Win_lock_all(0, window);
		MPI_Put(out, 500, MPI_LONG, right, there, 500, MPI_LONG, window);
		MPI_Win_flush(right, window);
		MPI_Accumulate(out, 500, MPI_LONG, right, there, 500, MPI_LONG, MPI_SUM, window);
		MPI_Win_flush(right, window);
		MPI_Get(in, 500, MPI_LONG, right, there, 500, MPI_LONG, window);
		MPI_Win_unlock_all(window);
		CHECK(in[0] == 2 * me && in[499] == 2 * (me + 499));
		MPI_Barrier(MPI_COMM_WORLD);
		CHECK(memory[499] == 2 * (left + 499) && !memory[500]);
		MPI_Win_detach(window, memory);
	}
	MPI_Win_free(&window);
}

static void *run_talker(void *argument)
{
	int tag = (int)(long)argument, in;

	for (int i = 0; i < 200; i++) {
		int out = me * 1000 + i;

		MPI_Sendrecv(&out, 1, MPI_INT, (me + 1) % tasks, tag, &in, 1, MPI_INT,
			     (me + tasks - 1) % tasks, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(in == (me + tasks - 1) % tasks * 1000 + i);
	}
	return NULL;
}

static void threads_talk_at_once(void)
{
	pthread_t t[3];

	if (level < MPI_THREAD_MULTIPLE)
		return;
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run_talker, (void *)(10 + i));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

/* Kill the agents of this job, which have the mark of the test in their environment. */
static void kill_agents(void)
{
	CHECK(!system("for p in $(grep -lzs \"^QT_MARK=$QT_MARK$\" /proc/[0-9]*/environ); do "
		      "p=${p%/environ}; [ \"$(cat $p/comm 2>&1)\" != torus-agent ] || "
		      "kill -9 ${p#/proc/}; done"));
}

/* Dies in the way that `how` names, and writes the time in ms into the file first. */
static void die_now(const char *how, const char *file)
{
	FILE *f = fopen(file, "w");
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now); /* real, also in virtual time */
	fprintf(f, "%lld\n", now.tv_sec * 1000LL + now.tv_nsec / 1000000);
	fclose(f);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "abort"))
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "agent")) {
		kill_agents();
		return;
	}
	_Exit(3);
}

static void *die_soon(void *argv)
{
	char **a = argv;
	struct timespec pause = {.tv_nsec = 200000000};

	syscall(SYS_nanosleep, &pause, NULL);
	die_now(a[2], a[4]);
	return NULL;
}

/* Never returns: what all tasks do until the launcher ends them. */
static void work_until_killed(const char *what)
{
	enum { BYTES = 4 << 20 };
	char *out = calloc(1, BYTES), *in = malloc(BYTES);
	int next = (me + 1) % tasks, previous = (me + tasks - 1) % tasks;

	if (!strcmp(what, "barrier"))
		MPI_Barrier(MPI_COMM_WORLD); /* Task 1 does not come. */
	if (!strcmp(what, "receive"))
		MPI_Recv(in, 8, MPI_BYTE, next, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	while (!strcmp(what, "allreduce"))
		MPI_Allreduce(out, in, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	while (!strcmp(what, "rendezvous"))
		MPI_Sendrecv(out, BYTES, MPI_BYTE, next, 98, in, BYTES, MPI_BYTE, previous, 98,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	while (!strcmp(what, "compute"))
		;
	printf("FAIL: %s returned\n", what);
	exit(99);
}

/*
 * Task 1 dies: outside MPI if the others are in a barrier, otherwise by a thread of its own while
 * it does the same as they.
 */
static void die_at_work(char **argv)
{
	pthread_t t;

	if (me == 1 && !strcmp(argv[3], "barrier"))
		die_now(argv[2], argv[4]);
	if (me == 1)
		pthread_create(&t, NULL, die_soon, argv);
	work_until_killed(argv[3]);
}

/* Start another job, whose processes this one cannot reach. */
static void spawn_itself(char *program)
{
	char *arguments[] = {"single", NULL};
	MPI_Comm children;

	MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
		       MPI_ERRCODES_IGNORE);
}

/*
 * "PASS RANK of SIZE" and status 0, if all is right. "single": one thread. "single hosts N": on
 * several hosts of N tasks. "die HOW WORK FILE": task 1 dies and writes the time into FILE, while
 * all do that work; if HOW is "agent" it kills the agents of the hosts instead. "spawn": starts
 * another job.
 */
int main(int argc, char **argv)
{
	int all, die = argc > 4 && !strcmp(argv[1], "die");
	int single = argc > 1 && !strcmp(argv[1], "single");
	int on_each = argc > 3 && !strcmp(argv[2], "hosts") ? atoi(argv[3]) : 0;

	MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	messages_go_round_the_ring();
	if (die)
		die_at_work(argv);
	if (argc > 1 && !strcmp(argv[1], "spawn"))
		spawn_itself(argv[0]);
	wildcards_match_everybody();
	collectives_compute();
	check_reductions(MPI_COMM_WORLD);
	check_broadcasts(MPI_COMM_WORLD);
	communicators_are_apart();
	one_sided();
	compare_and_swap();
	compare_and_swap_own();
	neighbours_share_memory(on_each ? on_each : tasks);
	dynamic_windows(on_each);
	threads_talk_at_once();
	MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (all)
		return 1;
	printf("PASS %d of %d\n", me, tasks);
	return 0;
}
