/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in the style of existing ARMCI programs: arrays of up to nine dimensions with random
 * patches, strides that are not multiples of one another, every type of accumulate, vectors,
 * handles of each kind, memory of different sizes and none, groups of one, waiting by spinning on a
 * flag, locks taken in turns. The data come from memory that is private, local or shared. It uses
 * armci.h alone, so that it also runs on other ARMCI libraries (-DOTHER leaves out what those
 * lack).
 *
 *   armci_classic [ROUNDS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <armci.h>

#include "drivers/base/atomic.h"

enum { ELEMENTS = 6000, DIMS = 9 };

static int me, n;
static unsigned long long state;

#define CHECK_WHO "process %d", me
#include "tests/harness/check_count.h"

static unsigned draw_below(unsigned bound)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % bound;
}

/* ---- types ---- */

static const struct type {
	int op, parts; /* numbers in an element */
	size_t bytes;  /* bytes of a number */
	char kind;
} types[] = {
    {ARMCI_ACC_INT, 1, sizeof(int), 'i'},       {ARMCI_ACC_LNG, 1, sizeof(long), 'l'},
    {ARMCI_ACC_FLT, 1, sizeof(float), 'f'},     {ARMCI_ACC_DBL, 1, sizeof(double), 'd'},
    {ARMCI_ACC_CPL, 2, 2 * sizeof(float), 'f'}, {ARMCI_ACC_DCP, 2, 2 * sizeof(double), 'd'},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static double number_at(const struct type *t, const void *p, int i)
{
	switch (t->kind) {
	case 'i':
		return ((const int *)p)[i];
	case 'l':
		return (double)((const long *)p)[i];
	case 'f':
		return ((const float *)p)[i];
	default:
		return ((const double *)p)[i];
	}
}

static void number_set(const struct type *t, void *p, int i, double v)
{
	switch (t->kind) {
	case 'i':
		((int *)p)[i] = (int)v;
		break;
	case 'l':
		((long *)p)[i] = (long)v;
		break;
	case 'f':
		((float *)p)[i] = (float)v;
		break;
	default:
		((double *)p)[i] = v;
	}
}

/* to += scale * from for one element; small whole numbers, exact in every type */
static void add_scaled(const struct type *t, void *to, const void *scale, const void *from)
{
	double a = number_at(t, scale, 0), b = t->parts == 2 ? number_at(t, scale, 1) : 0;
	double c = number_at(t, from, 0), d = t->parts == 2 ? number_at(t, from, 1) : 0;

	number_set(t, to, 0, number_at(t, to, 0) + a * c - b * d);
	if (t->parts == 2)
		number_set(t, to, 1, number_at(t, to, 1) + a * d + b * c);
}

/* ---- patches ---- */

struct patch {
	int levels, count[DIMS], near[DIMS], far[DIMS];
	size_t near_span, far_span; /* bytes from the first to the end of the last */
};

/*
 * Strides at least as long as the items they step over, with random gaps in elements, and some
 * levels of one item.
 */
static void patch_make(struct patch *p, size_t element)
{
	int k, left = ELEMENTS / 8;

	p->levels = (int)draw_below(DIMS);
	p->count[0] = (int)element * (1 + (int)draw_below(12));
	p->near_span = p->far_span = (size_t)p->count[0];
	left /= p->count[0] / (int)element;
	for (k = 0; k < p->levels; k++) {
		int most = left < 5 ? left : 5;

		p->count[k + 1] =
		    most > 1 && draw_below(3) ? 1 + (int)draw_below((unsigned)most) : 1;
		left /= p->count[k + 1];
		p->near[k] = (int)(p->near_span + element * (draw_below(2) ? draw_below(3) : 0));
		p->far[k] = (int)(p->far_span + element * (draw_below(2) ? draw_below(3) : 0));
		if ((size_t)p->near[k] * (size_t)p->count[k + 1] > ELEMENTS * element ||
		    (size_t)p->far[k] * (size_t)p->count[k + 1] > ELEMENTS * element)
			p->count[k + 1] = 1;
		p->near_span += (size_t)p->near[k] * (size_t)(p->count[k + 1] - 1);
		p->far_span += (size_t)p->far[k] * (size_t)(p->count[k + 1] - 1);
	}
}

/* Segment i of a patch: offsets on both sides. 0: there is no such segment. */
static int find_segment(const struct patch *p, int i, size_t *near, size_t *far)
{
	int k;

	*near = *far = 0;
	for (k = 0; k < p->levels; k++) {
		int at = i % p->count[k + 1];

		i /= p->count[k + 1];
		*near += (size_t)at * (size_t)p->near[k];
		*far += (size_t)at * (size_t)p->far[k];
	}
	return i == 0;
}

/* One round: each process works on the memory of the next one, which no other process writes. */
static void move_patches(void **mem, char *const *buffer, char *model, const struct type *t)
{
	int to = (me + 1) % n, what = (int)draw_below(3), nb = (int)draw_below(3), i, k;
	char *local = buffer[draw_below(3)], *there = (char *)mem[to];
	double scale[2] = {0, 0}, kept[2];
	size_t near, far, at_near, at_far;
	struct patch p;
	armci_hdl_t h, *hp = nb == 2 ? NULL : &h;

	patch_make(&p, t->bytes);
	at_near = t->bytes * draw_below((unsigned)(ELEMENTS + 1 - p.near_span / t->bytes));
	at_far = t->bytes * draw_below((unsigned)(ELEMENTS + 1 - p.far_span / t->bytes));
	for (i = 0; i < t->parts; i++)
		number_set(t, scale, i, 1 + (double)draw_below(3));
	memcpy(kept, scale, sizeof(kept));
	for (i = 0; i < ELEMENTS * t->parts; i++)
		number_set(t, local, i, (double)draw_below(50));
	ARMCI_INIT_HANDLE(&h);
	if (what == 0 && !nb)
		CHECK(!ARMCI_PutS(local + at_near, p.near, there + at_far, p.far, p.count, p.levels,
				  to));
	else if (what == 0)
		CHECK(!ARMCI_NbPutS(local + at_near, p.near, there + at_far, p.far, p.count,
				    p.levels, to, hp));
	else if (what == 1 && !nb)
		CHECK(!ARMCI_AccS(t->op, scale, local + at_near, p.near, there + at_far, p.far,
				  p.count, p.levels, to));
	else if (what == 1)
		CHECK(!ARMCI_NbAccS(t->op, scale, local + at_near, p.near, there + at_far, p.far,
				    p.count, p.levels, to, hp));
	else if (!nb)
		CHECK(!ARMCI_GetS(there + at_far, p.far, local + at_near, p.near, p.count, p.levels,
				  to));
	else
		CHECK(!ARMCI_NbGetS(there + at_far, p.far, local + at_near, p.near, p.count,
				    p.levels, to, hp));
	memset(scale, 0x7f, sizeof(scale)); /* read during the call */
	if (nb == 1)
		CHECK(!ARMCI_Wait(&h) && !ARMCI_Wait(&h) && !ARMCI_Test(&h));
	else if (nb)
		CHECK(!ARMCI_WaitAll());
	for (i = 0; find_segment(&p, i, &near, &far); i++) {
		char *m = model + at_far + far, *l = local + at_near + near;

		if (what == 0)
			memcpy(m, l, (size_t)p.count[0]);
		else if (what == 2)
			CHECK(!memcmp(m, l, (size_t)p.count[0]));
		for (k = 0; what == 1 && k < p.count[0]; k += (int)t->bytes)
			add_scaled(t, m + k, kept, l + k);
	}
	CHECK(!ARMCI_Get(there, buffer[2], (int)(ELEMENTS * t->bytes), to));
	CHECK(!memcmp(buffer[2], model, ELEMENTS * t->bytes));
}

static void arrays_match_the_model(int rounds)
{
	size_t bytes = ELEMENTS * 16;
	void **mem = calloc((size_t)n, sizeof(*mem));
	char *buffer[3], *model = calloc(1, bytes);
	int k, i;

	CHECK(!ARMCI_Malloc(mem, (armci_size_t)(2 * bytes)));
	buffer[0] = malloc(bytes);
	buffer[1] = ARMCI_Malloc_local((armci_size_t)bytes);
	buffer[2] = (char *)mem[me] + bytes; /* shared memory as a local buffer */
	for (k = 0; k < TYPES; k++) {
		ARMCI_Barrier();
		memset(mem[me], 0, bytes);
		memset(model, 0, bytes);
		ARMCI_Barrier();
		for (i = 0; i < rounds; i++)
			move_patches(mem, buffer, model, &types[k]);
	}
	ARMCI_Barrier();
	free(buffer[0]);
	free(model);
	ARMCI_Free_local(buffer[1]);
	CHECK(!ARMCI_Free(mem[me]));
	free(mem);
}

/*
 * ---- vectors and collected transfers ----
 *
 * One element at many places; several descriptors, some of them empty.
 */

static void vectors_match_the_model(void)
{
	enum { MANY = 1000 };
	static double here[MANY], back[MANY];
	static void *near[MANY], *far[MANY];
	void **mem = calloc((size_t)n, sizeof(*mem));
	int to = (me + 1) % n, i;
	double two = 2;
	armci_giov_t v[4];
	armci_hdl_t h;

	CHECK(!ARMCI_Malloc(mem, MANY * 3 * (armci_size_t)sizeof(double)));
	memset(mem[me], 0, MANY * 3 * sizeof(double));
	ARMCI_Barrier();
	for (i = 0; i < MANY; i++) {
		here[i] = me * 10000 + i;
		near[i] = here + i;
		far[i] = (double *)mem[to] + 3 * (MANY - 1 - i);
	}
	memset(v, 0, sizeof(v));
	v[0].src_ptr_array = near;
	v[0].dst_ptr_array = far;
	v[0].bytes = sizeof(double);
	v[0].ptr_array_len = 300;
	v[1] = v[0];
	v[1].ptr_array_len = 0;
	v[2] = v[0];
	v[2].src_ptr_array += 300;
	v[2].dst_ptr_array += 300;
	v[2].ptr_array_len = MANY - 300;
	CHECK(!ARMCI_PutV(v, 3, to));
	ARMCI_INIT_HANDLE(&h);
	/* The sum is 3 times the value that was put. */
	CHECK(!ARMCI_NbAccV(ARMCI_ACC_DBL, &two, v, 3, to, &h) && !ARMCI_Wait(&h));
	v[0].src_ptr_array = far;
	v[0].dst_ptr_array = near;
	v[0].ptr_array_len = MANY;
	memset(here, 0, sizeof(here));
	CHECK(!ARMCI_GetV(v, 1, to));
	for (i = 0; i < MANY; i++)
		CHECK(here[i] == 3.0 * (me * 10000 + i));
	ARMCI_INIT_HANDLE(&h);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	for (i = 0; i < MANY; i++)
		CHECK(!ARMCI_NbPutValueDouble(i, far[i], to, &h));
	CHECK(!ARMCI_Wait(&h));
	ARMCI_UNSET_AGGREGATE_HANDLE(&h);
	ARMCI_INIT_HANDLE(&h);
	ARMCI_SET_AGGREGATE_HANDLE(&h);
	for (i = 0; i < MANY; i++)
		CHECK(!ARMCI_NbGet(far[i], back + i, sizeof(double), to, &h));
	CHECK(!ARMCI_Wait(&h));
	for (i = 0; i < MANY; i++)
		CHECK(back[i] == i);
	ARMCI_Barrier();
	CHECK(!ARMCI_Free(mem[me]));
	free(mem);
}

/* ---- memory of different sizes and none, many allocations, freed in another order ---- */

static void irregular_allocations_come_and_go(void)
{
	enum { SETS = 12 };
	void **mem[SETS];
	int s, p, v, order[SETS], all[SETS];

	for (s = 0; s < SETS; s++) {
		long bytes = s == SETS - 1 ? 0 : (me + s) % 3 * (me + 1) * 40;

		mem[s] = calloc((size_t)n, sizeof(*mem[s]));
		CHECK(!ARMCI_Malloc(mem[s], bytes));
		CHECK(!bytes || mem[s][me]);
		all[s] = s;
	}
	for (s = 0; s < SETS - 1; s++)
		for (p = 0; p < n; p++) {
			long bytes = (p + s) % 3 * (p + 1) * 40;

			if (bytes && p % n == (me + 1) % n) {
				v = 1000 * s + p;
				CHECK(!ARMCI_Put(&v, (char *)mem[s][p] + bytes - sizeof(int),
						 sizeof(int), p));
				v = 0;
				CHECK(!ARMCI_Get((char *)mem[s][p] + bytes - sizeof(int), &v,
						 sizeof(int), p) &&
				      v == 1000 * s + p);
			}
			/* Nothing to move, perhaps to NULL. */
			CHECK(!ARMCI_Put(&v, mem[s][p], 0, p));
		}
	ARMCI_Barrier();
	for (s = 0; s < SETS; s++) /* The shuffle is the same at all processes. */
		order[s] = all[(s * 5 + 3) % SETS];
	for (s = 0; s < SETS; s++) {
		CHECK(!ARMCI_Free(mem[order[s]][me]));
		free(mem[order[s]]);
	}
}

/*
 * ---- groups ----
 *
 * Every process makes a group of one at the same time, then halves are made. Memory is indexed by
 * rank in the group.
 */

static void groups_count_their_members(void)
{
	int list[64], count = 0, p, rank = -2, size = -2, v, one = 1;
	void *part[64];
	ARMCI_Group alone, half, copy;

	list[0] = me;
	ARMCI_Group_create(1, list, &alone);
	CHECK(!ARMCI_Group_rank(&alone, &rank) && rank == 0);
	ARMCI_Group_size(&alone, &size);
	CHECK(size == 1 && ARMCI_Absolute_id(&alone, 0) == me);
	for (p = 0; p < n && p < 64; p++)
		if (p % 2 == me % 2)
			list[count++] = p;
	ARMCI_Group_create(count, list, &half);
	copy = half;
	memset(&half, 0, sizeof(half));
	CHECK(!ARMCI_Group_rank(&copy, &rank) && list[rank] == me);
	CHECK(!ARMCI_Malloc_group(part, 3 * sizeof(int), &copy));
	memset(part[rank], 0, 3 * sizeof(int));
	armci_msg_group_barrier(&copy);
	for (p = 0; p < count; p++)
		CHECK(!ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &v, part[p], rank + 1, list[p]) &&
		      !ARMCI_Acc(ARMCI_ACC_INT, &one, &rank, (int *)part[p] + 2, sizeof(int),
				 list[p]));
	ARMCI_AllFence();
	armci_msg_group_barrier(&copy);
	CHECK(((int *)part[rank])[0] == count * (count + 1) / 2 &&
	      ((int *)part[rank])[2] == count * (count - 1) / 2);
	v = rank;
	armci_msg_group_igop(&v, 1, "+", &copy);
	CHECK(v == count * (count - 1) / 2);
	CHECK(!ARMCI_Free_group(part[rank], &copy));
	ARMCI_Group_free(&copy);
	ARMCI_Group_free(&alone);
}

/* ---- locks in turns, without a fence; counters; swap ---- */

static void locks_exclude(void)
{
	enum { TURNS = 40 };
	void **mem = calloc((size_t)n, sizeof(*mem));
	int i, to, v;
	long sum, old;

	CHECK(!ARMCI_Malloc(mem, 2 * sizeof(long)));
	memset(mem[me], 0, 2 * sizeof(long));
	CHECK(!ARMCI_Create_mutexes(me % 2 ? 0 : 2));
	ARMCI_Barrier();
	for (i = 0; i < TURNS; i++) {
		to = (me + i) % n / 2 * 2;
		ARMCI_Lock(i % 2, to);
		v = ARMCI_GetValueInt((int *)mem[to] + i % 2, to);
		CHECK(!ARMCI_PutValueInt(v + 1, (int *)mem[to] + i % 2, to));
		ARMCI_Unlock(i % 2, to);
		CHECK(!ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, (long *)mem[0] + 1, -3, 0));
	}
	ARMCI_Barrier();
	sum = ((int *)mem[me])[0] + ((int *)mem[me])[1];
	armci_msg_lgop(&sum, 1, "+");
	CHECK(sum == (long)TURNS * n);
	CHECK(ARMCI_GetValueLong((long *)mem[0] + 1, 0) == -3L * TURNS * n);
	CHECK(!ARMCI_Destroy_mutexes());
	old = me + 5;
	ARMCI_Barrier();
	CHECK(!ARMCI_Rmw(ARMCI_SWAP_LONG, &old, mem[(me + 1) % n], 0, (me + 1) % n));
	ARMCI_Barrier();
	CHECK(*(long *)mem[me] == (me + n - 1) % n + 5);
	ARMCI_Barrier();
	CHECK(!ARMCI_Free(mem[me]));
	free(mem);
}

#ifndef OTHER
/*
 * ---- ghost cells: a strided put with a flag to each neighbour, which spins on it; notifications
 * ----
 */

static void ghost_cells_arrive(int spins)
{
	enum { SIDE = 40, STEPS = 20 };
	void **mem = calloc((size_t)n, sizeof(*mem));
	int right = (me + 1) % n, left = (me + n - 1) % n, step, i, seen;
	int near[1] = {sizeof(double)}, far[1] = {SIDE * sizeof(double)},
	    count[2] = {sizeof(double), SIDE};
	double column[SIDE], *mine;
	volatile int *flag;

	CHECK(!ARMCI_Malloc(mem, SIDE * SIDE * sizeof(double) + 64));
	mine = mem[me];
	memset(mine, 0, SIDE * SIDE * sizeof(double) + 64);
	flag = (volatile int *)(mine + SIDE * SIDE);
	ARMCI_Barrier();
	for (step = 1; step <= STEPS; step++) {
		for (i = 0; i < SIDE; i++)
			column[i] = 1000 * me + 10 * step + i;
		if (spins) {
			CHECK(!ARMCI_PutS_flag(column, near, mem[right], far, count, 1,
					       (int *)((double *)mem[right] + SIDE * SIDE), step,
					       right));
			while (atomic_load_acquire(flag) < step)
				;
		} else {
			CHECK(!ARMCI_PutS(column, near, mem[right], far, count, 1, right));
			CHECK(armci_notify(right) == step);
			CHECK(armci_notify_wait(left, &seen) >= step && seen == step);
		}
		for (i = 0; i < SIDE; i++)
			CHECK(mine[i * SIDE] == 1000 * left + 10 * step + i);
		armci_msg_barrier();
	}
	ARMCI_Barrier();
	CHECK(!ARMCI_Free(mem[me]));
	free(mem);
}

/* ---- messages: a ring, a tree; selection ---- */

static void messages_combine(void)
{
	struct {
		double value;
		int who;
	} record = {(me * 7) % n, me};
	int root, up, left, right, v = me, sum = me, w, len;

	armci_msg_snd(5, &v, sizeof(v), me); /* first to the process itself */
	armci_msg_snd(6, &v, 0, me);
	armci_msg_rcv(6, &w, sizeof(w), &len, me);
	CHECK(len == 0);
	armci_msg_rcv(5, &w, sizeof(w), NULL, me);
	CHECK(w == me);
	armci_msg_bintree(SCOPE_ALL, &root, &up, &left, &right);
	if (left >= 0) {
		armci_msg_rcv(7, &w, sizeof(w), NULL, left);
		sum += w;
	}
	if (right >= 0) {
		armci_msg_rcv(7, &w, sizeof(w), NULL, right);
		sum += w;
	}
	if (up >= 0)
		armci_msg_snd(7, &sum, sizeof(sum), up);
	else
		CHECK(me == root && sum == n * (n - 1) / 2);
	armci_msg_sel_scope(SCOPE_ALL, &record, sizeof(record), (char *)"max   garbage",
			    ARMCI_DOUBLE, 1);
	CHECK((record.who * 7) % n == record.value);
	v = me - n;
	armci_msg_igop(&v, 1, (char *)"absmax");
	CHECK(v == n);
	CHECK(!ARMCI_Same_node(me) == 0 && armci_domain_same_id(ARMCI_DOMAIN_SMP, me));
}
#endif

/* ---- wrong calls that must be refused ---- */

static void wrong_calls_are_refused(void)
{
	void **mem = calloc((size_t)n, sizeof(*mem));
	int v = 0, count[1] = {4};
	armci_giov_t none = {NULL, NULL, 8, 2};

	CHECK(!ARMCI_Malloc(mem, 64));
	ARMCI_Barrier();
#ifndef OTHER
	CHECK(ARMCI_Put(NULL, mem[0], 8, 0) == FAIL && ARMCI_Put(&v, mem[0], -1, 0) == FAIL3);
	CHECK(ARMCI_Put(&v, mem[0], 4, n) == FAIL5 && ARMCI_Get(mem[0], &v, 4, -1) == FAIL5);
	CHECK(ARMCI_PutS(&v, NULL, mem[0], NULL, count, 9, 0) == FAIL4);
	CHECK(ARMCI_PutS(&v, NULL, mem[0], NULL, count, 1, 0) == FAIL2);
	CHECK(ARMCI_PutS(&v, NULL, mem[0], NULL, NULL, 0, 0) == FAIL2);
	CHECK(ARMCI_PutV(&none, 1, 0) == FAIL2 && ARMCI_PutV(&none, -1, 0) == FAIL4);
	CHECK(ARMCI_Acc(1, &v, &v, mem[0], 4, 0) == FAIL);
#endif
	(void)none;
	CHECK(!ARMCI_PutS(&v, NULL, mem[0], NULL, count, 0, 0));
	ARMCI_Barrier();
	CHECK(!ARMCI_Free(mem[me]));
	free(mem);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	int all;

#ifdef MPI_VERSION /* No MPI is present: torus run. */
	if (!getenv("QUINTORUS_SEGMENT"))
		MPI_Init(&argc, &argv);
#endif
	if (ARMCI_Init_args(&argc, &argv) || ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	state = (argc > 2 ? strtoull(argv[2], NULL, 0) : 1) * 1000003u + (unsigned)me;
	arrays_match_the_model(rounds);
	vectors_match_the_model();
	irregular_allocations_come_and_go();
	groups_count_their_members();
	locks_exclude();
#ifndef OTHER
	if (argc <=
	    /*
	     * A third argument says that the clock is virtual. A process must not spin without a
	     * call there.
	     */
	    3)
		ghost_cells_arrive(1);
	ghost_cells_arrive(0);
	messages_combine();
#endif
	wrong_calls_are_refused();
	all = check_failures;
	armci_msg_igop(&all, 1, (char *)"+");
	if (me == 0)
		printf("%s classic (%d processes)\n", all ? "FAIL" : "PASS", n);
	ARMCI_Finalize();
	ARMCI_Finalize();
#ifdef MPI_VERSION
	if (!getenv("QUINTORUS_SEGMENT"))
		MPI_Finalize();
#endif
	return all != 0;
}
