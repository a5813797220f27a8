/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program of the kinds of calls that ofi_mpi.c has not: collectives that do not block, of
 * neighbours and between groups; persistent requests, probes, cancelled receives, attributes,
 * files, a spawn that is refused; messages of one tag by calls that take different ways.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, tasks, right, left;

#define CHECK_WHO "task %d", me
#include "tests/harness/check_count.h"

#define MANY   50000
#define TRIPLE (tasks * (tasks - 1) / 2)

static int out[MANY], in[MANY];

static void fill(int from)
{
	for (int i = 0; i < MANY; i++)
		out[i] = from + i;
}

/* ---- collectives ---- */

static void collectives_that_do_not_block(void)
{
	int mine = me + 1, sum = 0, word = me == 1 ? 77 : 0, prefix = 0, most = 0, part = 0;
	int *all = calloc((size_t)tasks, sizeof *all), *parts = calloc((size_t)tasks, sizeof *all);
	int *each = calloc((size_t)tasks, sizeof *all), *one = calloc((size_t)tasks, sizeof *all);
	MPI_Request r[8];
	int done = 0;

	for (int i = 0; i < tasks; i++) {
		each[i] = me * 100 + i;
		one[i] = 1;
	}
	MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
	MPI_Ibcast(&word, 1, MPI_INT, 1 % tasks, MPI_COMM_WORLD, &r[1]);
	MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &r[2]);
	MPI_Ialltoall(each, 1, MPI_INT, parts, 1, MPI_INT, MPI_COMM_WORLD, &r[3]);
	MPI_Iscan(&mine, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[4]);
	MPI_Ireduce(&mine, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD, &r[5]);
	MPI_Ireduce_scatter(each, &part, one, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[6]);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[7]);
	MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
	CHECK(sum == TRIPLE + tasks && (tasks < 2 || word == 77));
	CHECK(prefix == (me + 1) * (me + 2) / 2 && (me || most == tasks));
	CHECK(part == 100 * TRIPLE + tasks * me);
	for (int i = 0; i < tasks; i++)
		CHECK(all[i] == i + 1 && parts[i] == i * 100 + me);
	fill(me);
	MPI_Iallreduce(out, in, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, r);
	while (!done)
		MPI_Test(r, &done, MPI_STATUS_IGNORE);
	CHECK(in[MANY - 1] == TRIPLE + tasks * (MANY - 1));
	free(all);
	free(parts);
	free(each);
	free(one);
}

static void collectives_of_neighbours(void)
{
	int sides[2] = {0, 0}, wrap[2] = {1, 1}, weight = 1, id, from[4], ahead[4], low, high, got;
	MPI_Comm grid, ring;
	MPI_Request r;

	MPI_Dims_create(tasks, 2, sides);
	MPI_Cart_create(MPI_COMM_WORLD, 2, sides, wrap, 0, &grid);
	MPI_Comm_rank(grid, &id);
	MPI_Cart_shift(grid, 0, 1, &low, &high);
	MPI_Neighbor_allgather(&id, 1, MPI_INT, from, 1, MPI_INT, grid);
	CHECK(from[0] == low && from[1] == high);
	MPI_Ineighbor_allgather(&id, 1, MPI_INT, ahead, 1, MPI_INT, grid, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(!memcmp(from, ahead, sizeof from));
	MPI_Comm_free(&grid);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight,
				       MPI_INFO_NULL, 0, &ring);
	MPI_Neighbor_allgather(&me, 1, MPI_INT, &got, 1, MPI_INT, ring);
	CHECK(got == left);
	MPI_Comm_free(&ring);
}

static void groups_of_two_halves(void)
{
	int low = me < tasks / 2, size, sum = -1, expected = 0, word;
	MPI_Comm half, both, merged;

	if (tasks < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, low, me, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? tasks / 2 : 0, 9, &both);
	MPI_Comm_remote_size(both, &size);
	CHECK(size == (low ? tasks - tasks / 2 : tasks / 2));
	MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, both);
	for (int i = low ? tasks / 2 : 0; i < (low ? tasks : tasks / 2); i++)
		expected += i;
	CHECK(sum == expected);
	word = me ? 0 : 55;
	MPI_Bcast(&word, 1, MPI_INT, low ? (me ? MPI_PROC_NULL : MPI_ROOT) : 0, both);
	CHECK(low || word == 55);
	MPI_Intercomm_merge(both, !low, &merged);
	MPI_Comm_size(merged, &size);
	CHECK(size == tasks);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&both);
	MPI_Comm_free(&half);
}

/* ---- requests ---- */

static void persistent_and_buffered(void)
{
	int bytes = 100000 + MPI_BSEND_OVERHEAD;
	void *buffer = malloc((size_t)bytes);
	MPI_Request r[2];

	MPI_Recv_init(in, 3000, MPI_INT, left, 4, MPI_COMM_WORLD, &r[0]);
	MPI_Ssend_init(out, 3000, MPI_INT, right, 4, MPI_COMM_WORLD, &r[1]);
	for (int k = 0; k < 10; k++) {
		fill(me * k);
		MPI_Startall(2, r);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		CHECK(in[2999] == left * k + 2999);
	}
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
	MPI_Buffer_attach(buffer, bytes);
	MPI_Bsend(out, 2000, MPI_INT, right, 7, MPI_COMM_WORLD);
	MPI_Recv(in, 2000, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(in[1999] == left * 9 + 1999);
	MPI_Buffer_detach(&buffer, &bytes);
	free(buffer);
}

static void probes_and_cancels(void)
{
	int found = 0, count, cancelled;
	MPI_Message message;
	MPI_Status status;
	MPI_Request r, take;

	fill(me);
	MPI_Isend(out, MANY, MPI_INT, right, 8, MPI_COMM_WORLD, &r);
	while (!found)
		MPI_Improbe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &found, &message, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == MANY && status.MPI_SOURCE == left);
	MPI_Imrecv(in, count, MPI_INT, &message, &take);
	MPI_Wait(&take, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(in[MANY - 1] == left + MANY - 1);
	MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &found, &status);
	CHECK(!found);
	MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 777, MPI_COMM_WORLD, &r);
	MPI_Cancel(&r);
	MPI_Wait(&r, &status);
	MPI_Test_cancelled(&status, &cancelled);
	CHECK(cancelled);
}

/* A synchronous send is over when MPI_Mrecv takes its message, and not before. */
static void synchronous_sends_to_probes(void)
{
	static const int length[] = {0, 1, 100, MANY};
	MPI_Message message;
	MPI_Request r, take;

	for (int i = 0; i < 8; i++) {
		int n = length[i / 2], to = i % 2 ? me : right, from = i % 2 ? me : left, over;

		fill(me + i);
		in[0] = -1;
		MPI_Issend(out, n, MPI_INT, to, 19, MPI_COMM_WORLD, &r);
		MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		for (int k = 0; k < 10 && to == me; k++) {
			MPI_Test(&r, &over, MPI_STATUS_IGNORE);
			CHECK(!over);
		}
		MPI_Imrecv(in, n, MPI_INT, &message, &take);
		MPI_Wait(&take, MPI_STATUS_IGNORE);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		CHECK(!n || (in[0] == from + i && in[n - 1] == from + i + n - 1));
	}
}

/* Messages that a probe has claimed go into a type with gaps, at once or later. */
static void probed_messages_into_gaps(void)
{
	static const int length[] = {1, 2, 100, MANY / 2};
	MPI_Message message;
	MPI_Datatype gaps;
	MPI_Status status;
	MPI_Request r, take;

	for (int i = 0; i < 8; i++) {
		int n = length[i / 2], count;

		MPI_Type_vector(n, 1, 2, MPI_INT, &gaps);
		MPI_Type_commit(&gaps);
		fill(me + i);
		memset(in, 0xff, sizeof in);
		MPI_Isend(out, n, MPI_INT, right, 21, MPI_COMM_WORLD, &r);
		MPI_Mprobe(left, 21, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		if (i % 2) {
			MPI_Mrecv(in, 1, gaps, &message, &status);
		} else {
			MPI_Imrecv(in, 1, gaps, &message, &take);
			MPI_Wait(&take, &status);
		}
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		MPI_Get_elements(&status, gaps, &count);
		CHECK(count == n && in[0] == left + i && in[1] == -1);
		CHECK(in[2 * (n - 1)] == left + i + n - 1);
		MPI_Type_free(&gaps);
	}
}

/* Nobody can take a send back here, and an attempt does no harm. */
static void cancelled_sends(void)
{
	static const int length[] = {1, 1, 200, MANY};
	MPI_Request r;
	MPI_Status status;

	for (int i = 0; i < 12; i++) {
		int n = length[i % 4], cancelled;

		if (i < 4)
			MPI_Isend(out, n, MPI_INT, right, 22, MPI_COMM_WORLD, &r);
		else if (i < 8)
			MPI_Issend(out, n, MPI_INT, right, 22, MPI_COMM_WORLD, &r);
		else
			MPI_Send_init(out, n, MPI_INT, right, 22, MPI_COMM_WORLD, &r);
		if (i >= 8)
			MPI_Start(&r);
		MPI_Cancel(&r);
		MPI_Recv(in, n, MPI_INT, left, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&r, &status);
		MPI_Test_cancelled(&status, &cancelled);
		CHECK(!cancelled);
		if (i >= 8)
			MPI_Request_free(&r);
	}
}

enum { PLAIN, PERSISTENT, GAPS, PROBED, RECEIVES };

/* Receive 10 integers in one of these ways. Returns the class of the error. */
static int receive_ten(int way, MPI_Datatype gaps)
{
	MPI_Message message;
	MPI_Request take;
	int rc, class;

	if (way == PERSISTENT) {
		MPI_Recv_init(in, 10, MPI_INT, left, 20, MPI_COMM_WORLD, &take);
		MPI_Start(&take);
		rc = MPI_Wait(&take, MPI_STATUS_IGNORE);
		if (take != MPI_REQUEST_NULL)
			MPI_Request_free(&take);
	} else if (way == GAPS) {
		rc = MPI_Recv(in, 10, gaps, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (way == PROBED) {
		MPI_Mprobe(left, 20, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		rc = MPI_Mrecv(in, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
	} else {
		rc = MPI_Recv(in, 10, MPI_INT, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Error_class(rc, &class);
	return class;
}

/*
 * A message longer than its receive is an error of the receive alone, short or long. Also a
 * synchronous send of one ends.
 */
static void truncated_messages(void)
{
	static const int length[] = {100, MANY};
	MPI_Datatype gaps;
	MPI_Request r;

	MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
	MPI_Type_commit(&gaps);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < 4 * RECEIVES; i++) {
		if (i % 2)
			MPI_Issend(out, length[i / 2 % 2], MPI_INT, right, 20, MPI_COMM_WORLD, &r);
		else
			MPI_Isend(out, length[i / 2 % 2], MPI_INT, right, 20, MPI_COMM_WORLD, &r);
		CHECK(receive_ten(i / 4, gaps) == MPI_ERR_TRUNCATE);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Type_free(&gaps);
}

/* ---- messages of one tag by different calls ---- */

enum { ROW = 24, TURN = 300 }; /* MPI_Isend hands every 64th short message to pml cm anyway. */

/* Post the i-th receive of a row: with and without wildcards, and into a type with a gap. */
static void post_in_turn(int i, int *to, MPI_Datatype pair, MPI_Request *r)
{
	int from = i % 2 ? left : MPI_ANY_SOURCE, tag = i % 3 ? 31 : MPI_ANY_TAG;

	if (i % 4 == 3)
		MPI_Irecv(to, 1, pair, from, tag, MPI_COMM_WORLD, r);
	else
		MPI_Irecv(to, 2, MPI_INT, from, tag, MPI_COMM_WORLD, r);
}

/* Send the i-th message of a row: synchronous, from a type with a gap, or plain. */
static void send_in_turn(int i, const int *from, MPI_Datatype pair, MPI_Request *r)
{
	if (i % 5 == 1)
		MPI_Issend(from, 2, MPI_INT, right, 31, MPI_COMM_WORLD, r);
	else if (i % 5 == 2)
		MPI_Isend(from, 1, pair, right, 31, MPI_COMM_WORLD, r);
	else
		MPI_Isend(from, 2, MPI_INT, right, 31, MPI_COMM_WORLD, r);
}

/* Messages arrive in order whatever calls send and receive them, posted before they come or not. */
static void order_of_different_calls(void)
{
	MPI_Request r[2 * ROW];
	MPI_Status status[2 * ROW];
	int to[ROW][3], from[ROW][3];
	MPI_Datatype pair; /* the first and the third of three integers */

	MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	for (int turn = 0; turn < TURN; turn++) {
		bool late = turn % 2; /* Receives come behind the messages. */

		for (int i = 0; i < ROW; i++)
			for (int k = 0; k < 3; k++)
				from[i][k] = turn * ROW + i;
		for (int i = 0; i < ROW && !late; i++)
			post_in_turn(i, to[i], pair, &r[i]);
		if (turn % 7 == 0)
			MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < ROW; i++)
			send_in_turn(i, from[i], pair, &r[ROW + i]);
		for (int i = 0; i < ROW && late; i++)
			post_in_turn(i, to[i], pair, &r[i]);
		MPI_Waitall(2 * ROW, r, status);
		for (int i = 0; i < ROW; i++) {
			int count;

			MPI_Get_count(&status[i], MPI_INT, &count);
			CHECK(to[i][0] == turn * ROW + i && count == 2);
			CHECK(status[i].MPI_SOURCE == left && status[i].MPI_TAG == 31);
		}
	}
	MPI_Type_free(&pair);
}

/* Receives of which the program gives the request back, or cancels too late. */
static void requests_given_back(void)
{
	int value[2] = {me, me + 1}, first = -1, second[2] = {-1, -1}, cancelled, done = 0;
	MPI_Request r;
	MPI_Status status;

	MPI_Irecv(&first, 1, MPI_INT, left, 32, MPI_COMM_WORLD, &r);
	MPI_Request_free(&r);
	CHECK(r == MPI_REQUEST_NULL);
	MPI_Send(value, 1, MPI_INT, right, 32, MPI_COMM_WORLD);
	MPI_Send(value, 2, MPI_INT, right, 33, MPI_COMM_WORLD);
	MPI_Irecv(second, 2, MPI_INT, left, 33, MPI_COMM_WORLD, &r);
	while (!done)
		MPI_Request_get_status(r, &done, MPI_STATUS_IGNORE);
	MPI_Cancel(&r);
	MPI_Wait(&r, &status);
	MPI_Test_cancelled(&status, &cancelled);
	CHECK(!cancelled && second[1] == left + 1 && first == left);
	MPI_Sendrecv(value, 2, MPI_INT, 0, 34, second, 2, MPI_INT, 0, 34, MPI_COMM_SELF,
		     MPI_STATUS_IGNORE);
	CHECK(second[1] == me + 1);
}

/* A short send that needs no request of its own gets the one that is always complete. */
static void short_sends_are_direct(int wanted)
{
	MPI_Request r[2];
	int direct = 0;

	for (int i = 0; i < 8; i++) {
		MPI_Isend(out, 1, MPI_INT, right, 35, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(out, 1, MPI_INT, right, 35, MPI_COMM_WORLD, &r[1]);
		direct += r[0] == r[1];
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		MPI_Recv(in, 1, MPI_INT, left, 35, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(in, 1, MPI_INT, left, 35, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	CHECK(wanted ? direct >= 6 : !direct);
}

/* ---- one-sided: operations that not every transport has ---- */

/* What `op` makes of the number `start`, to which each task applies its rank + 1. */
static long accumulated(MPI_Op op, long start)
{
	long value = start;

	for (long k = 1; k <= tasks; k++) {
		if (op == MPI_MAX)
			value = k > value ? k : value;
		else if (op == MPI_MIN)
			value = k < value ? k : value;
		else if (op == MPI_BAND)
			value &= k;
		else if (op == MPI_BOR)
			value |= k;
		else if (op == MPI_BXOR)
			value ^= k;
		else if (op == MPI_LXOR)
			value = !value != !k;
		else if (op == MPI_PROD)
			value *= k;
		else
			value += k;
	}
	return value;
}

enum { TWICE = 2, SEVERAL = 3 };

/* All tasks use an operation on a long and an int at once, and on rows of them. */
static void accumulate_by(MPI_Op op, MPI_Win win, long *own)
{
	long number[SEVERAL] = {me + 1, me + 1, me + 1}, old, row[SEVERAL];
	int word = me + 1, old_word, *words = (int *)(own + 2 * SEVERAL);

	for (int i = 0; i < 2 * SEVERAL; i++)
		own[i] = 2;
	words[0] = words[1] = 2;
	MPI_Win_fence(0, win);
	for (int to = 0; to < tasks; to++) {
		MPI_Fetch_and_op(number, &old, MPI_LONG, to, 0, op, win);
		MPI_Accumulate(number, TWICE, MPI_LONG, to, 1, TWICE, MPI_LONG, op, win);
		MPI_Get_accumulate(number, SEVERAL, MPI_LONG, row, SEVERAL, MPI_LONG, to, SEVERAL,
				   SEVERAL, MPI_LONG, op, win);
		MPI_Accumulate(&word, 1, MPI_INT, to, 2 * SEVERAL, 1, MPI_INT, op, win);
	}
	MPI_Win_fence(0, win);
	for (int i = 0; i < 2 * SEVERAL; i++)
		CHECK(own[i] == accumulated(op, 2));
	CHECK(words[0] == accumulated(op, 2) && words[1] == 2);
	MPI_Win_fence(0, win);
	MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
	MPI_Fetch_and_op(&word, &old_word, MPI_INT, right, 2 * SEVERAL, op, win);
	MPI_Win_unlock(right, win);
	CHECK(old_word == accumulated(op, 2));
	MPI_Barrier(MPI_COMM_WORLD);
}

static void all_operations_accumulate(void)
{
	const MPI_Op ops[] = {MPI_SUM, MPI_MAX,  MPI_MIN,  MPI_BAND,
			      MPI_BOR, MPI_BXOR, MPI_LXOR, MPI_PROD};
	const MPI_Aint bytes = (2 * SEVERAL + 1) * sizeof(long);
	long *own;
	MPI_Win win;

	for (int made = 0; made < 2; made++) {
		if (made) {
			MPI_Win_allocate(bytes, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own,
					 &win);
		} else {
			own = malloc((size_t)bytes);
			MPI_Win_create(own, bytes, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD,
				       &win);
		}
		for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++)
			accumulate_by(ops[i], win, own);
		MPI_Win_free(&win);
		if (!made)
			free(own);
	}
}

/* ---- attributes, tools, processes ---- */

static int count_deleted(MPI_Comm comm, int key, void *value, void *count)
{
	++*(int *)count;
	return MPI_SUCCESS;
}

static void attributes_and_tools(void)
{
	int key, found, deleted = 0, level, number, *got, *largest;
	MPI_Request r;
	MPI_Comm copy;

	MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_deleted, &key, &deleted);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &number);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_get_attr(copy, key, &got, &found);
	CHECK(found && got == &number);
	MPI_Comm_free(&copy);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	MPI_Comm_free_keyval(&key);
	CHECK(deleted == 2);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &found);
	CHECK(found && *largest >= 32767);
	MPI_Irecv(in, 1, MPI_INT, left, *largest, MPI_COMM_WORLD, &r);
	MPI_Send(&me, 1, MPI_INT, right, *largest, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(in[0] == left);
	CHECK(!MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
	CHECK(!MPI_T_cvar_get_num(&number) && number > 0);
	MPI_T_finalize();
}

static void spawn_is_refused(const char *program)
{
	MPI_Comm child;
	int class, code;

	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	if (!me) {
		MPI_Error_class(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
					       MPI_COMM_SELF, &child, &code),
				&class);
		CHECK(class == MPI_ERR_SPAWN);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- files ---- */

static void settle(MPI_File file)
{
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Blocks side by side, numbers in turn, and through the pointer that all share. */
static void files(const char *name)
{
	enum { N = 4096, RUN = 16 };
	int *all = calloc((size_t)tasks, sizeof *all), sum = 0;
	MPI_Datatype turns;
	MPI_Status status;
	MPI_File file;

	fill(me * N);
	CHECK(!MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			     &file));
	MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
	CHECK(!MPI_File_write_at_all(file, me * N, out, N, MPI_INT, &status));
	settle(file);
	CHECK(!MPI_File_read_at_all(file, right * N, in, N, MPI_INT, &status));
	CHECK(in[0] == right * N && in[N - 1] == right * N + N - 1);
	settle(file);
	MPI_Type_vector(N / RUN, RUN, RUN * tasks, MPI_INT, &turns);
	MPI_Type_commit(&turns);
	MPI_File_set_view(file, me * RUN * (int)sizeof(int), MPI_INT, turns, "native",
			  MPI_INFO_NULL);
	CHECK(!MPI_File_write_all(file, out, N, MPI_INT, &status));
	settle(file);
	MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
	CHECK(!MPI_File_read_at(file, right * RUN, in, RUN, MPI_INT, &status));
	CHECK(in[0] == right * N && in[RUN - 1] == right * N + RUN - 1);
	settle(file);
	MPI_File_set_size(file, 0);
	settle(file);
	CHECK(!MPI_File_write_ordered(file, &me, 1, MPI_INT, &status));
	CHECK(!MPI_File_write_shared(file, &me, 1, MPI_INT, &status));
	settle(file);
	CHECK(!MPI_File_read_at(file, me, in, 1, MPI_INT, &status) && in[0] == me);
	CHECK(!MPI_File_read_at(file, tasks, all, tasks, MPI_INT, &status));
	for (int i = 0; i < tasks; i++)
		sum += all[i];
	CHECK(sum == TRIPLE);
	settle(file);
	MPI_Type_free(&turns);
	MPI_File_close(&file);
	if (!me)
		MPI_File_delete(name, MPI_INFO_NULL);
	free(all);
}

/*
 * usage: ofi_kinds FILE [direct|indirect]: the way that short messages have to take.
 * "PASS RANK of SIZE" and status 0, if all is right.
 */
int main(int argc, char **argv)
{
	int all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	right = (me + 1) % tasks;
	left = (me + tasks - 1) % tasks;
	collectives_that_do_not_block();
	collectives_of_neighbours();
	groups_of_two_halves();
	persistent_and_buffered();
	probes_and_cancels();
	synchronous_sends_to_probes();
	probed_messages_into_gaps();
	cancelled_sends();
	truncated_messages();
	order_of_different_calls();
	requests_given_back();
	if (argc > 2)
		short_sends_are_direct(!strcmp(argv[2], "direct"));
	all_operations_accumulate();
	attributes_and_tools();
	spawn_is_refused(argv[0]);
	files(argv[1]);
	MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (all)
		return 1;
	printf("PASS %d of %d\n", me, tasks);
	return 0;
}
