/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups, locality, messages, notifications and extensions of libarmci. armci_groups CASE ... runs
 * the named cases; without arguments, all. tests/armci/armci_groups.sh starts it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <armcix.h>
#include <iterator.h>

#include "tests/armci/armci_memory.h"

static int next, prev;

/* The ranks first, first + step, ... */
static int *list_ranks(int first, int step, int *count)
{
	int *list = malloc((size_t)n * sizeof(*list)), i;

	*count = 0;
	for (i = first; i < n; i += step)
		list[(*count)++] = i;
	return list;
}

/* Use a group of the world ranks first, first + step, ... with this process in it, in every way. */
static void use_group(ARMCI_Group *g, int first, int step)
{
	int size, rank, sum = 1, i, v;
	void *part[64];
	double d[3];

	ARMCI_Group_size(g, &size);
	CHECK(ARMCI_Group_rank(g, &rank) == 0 && rank == (me - first) / step);
	CHECK(size == (n - first + step - 1) / step);
	for (i = 0; i < size; i++)
		CHECK(ARMCI_Absolute_id(g, i) == first + i * step);
	CHECK(ARMCI_Absolute_id(g, size) == -1 && ARMCI_Absolute_id(g, -1) == -1);
	armci_msg_group_igop(&sum, 1, "+", g);
	CHECK(sum == size);
	d[0] = rank;
	d[1] = -rank - 1;
	d[2] = 1;
	armci_msg_group_dgop(d, 3, "absmax", g);
	CHECK(d[0] == size - 1 && d[1] == size && d[2] == 1);
	for (i = 0; i < size; i++) {
		v = rank == i ? 70 + i : 0;
		armci_msg_group_bcast_scope(SCOPE_ALL, &v, sizeof(v), ARMCI_Absolute_id(g, i), g);
		CHECK(v == 70 + i);
	}
	armci_msg_group_barrier(g);
	CHECK(ARMCI_Malloc_group(part, rank == 0 && size > 1 ? 0 : 64 * (rank + 1), g) == 0);
	CHECK((part[rank] == NULL) == (rank == 0 && size > 1));
	if (part[rank])
		memset(part[rank], 0, (size_t)(64 * (rank + 1)));
	armci_msg_group_barrier(g);
	v = size - 1; /* Transfers name the last member's memory by world rank. */
	CHECK(ARMCI_PutValueInt(rank + 5, (int *)part[v] + rank, ARMCI_Absolute_id(g, v)) == 0);
	ARMCI_GroupFence(g);
	armci_msg_group_barrier(g);
	for (i = 0; rank == v && i < size; i++)
		CHECK(((int *)part[rank])[i] == i + 5);
	armci_exchange_address_grp(part, size, g);
	CHECK(ARMCI_Free_group(part[rank], g) == 0);
	CHECK(ARMCI_Malloc_group_memdev(part, 0, g, "any") == 0 &&
	      ARMCI_Free_memdev(part[rank]) == 0);
}

static void case_groups(void)
{
	ARMCI_Group world, g, h, other;
	int count, rank, *list, round, i;

	ARMCI_Group_get_world(&world);
	use_group(&world, 0, 1);
	for (round = 0; round < 5; round++) {
		/* Even and odd processes in the same call name disjoint lists. */
		list = list_ranks(me % 2, 2, &count);
		ARMCI_Group_create(count, list, &g);
		use_group(&g, me % 2, 2);
		free(list);
		/* Split the even processes of each half again, by a copy of the handle. */
		h = g;
		list = malloc((size_t)count * sizeof(*list));
		for (i = 0; 2 * i < count; i++)
			list[i] = 2 * i;
		ARMCI_Group_create_child(i, list, &other, &h);
		free(list);
		if (ARMCI_Group_rank(&other, &rank) == 0)
			use_group(&other, me % 2, 4);
		else
			CHECK(rank < 0 && other.size == 0 && ARMCI_Absolute_id(&other, 0) == -1);
		ARMCI_Group_free(&other);
		/* a group of process 0 alone */
		ARMCI_Group_set_default(&world);
		i = 0;
		ARMCI_Group_create(1, &i, &other);
		CHECK((ARMCI_Group_rank(&other, &rank) == 0) == (me == 0));
		if (me == 0)
			use_group(&other, 0, n);
		ARMCI_Group_free(&other);
		ARMCI_Group_free(&g);
	}
	/* The default group is the parent of new groups and has no other effect. */
	list = list_ranks(0, 1, &count);
	for (i = 0; i < n / 2; i++) { /* in reverse order */
		int t = list[i];

		list[i] = list[n - 1 - i];
		list[n - 1 - i] = t;
	}
	ARMCI_Group_create(n, list, &g);
	free(list);
	ARMCI_Group_set_default(&g);
	ARMCI_Group_get_default(&h);
	i = 0;
	ARMCI_Group_create(1, &i, &other);
	CHECK((other.rank == 0) == (me == n - 1) && h.rank == n - 1 - me);
	ARMCI_Group_free(&other);
	ARMCI_Group_free(&g);
	ARMCI_Group_create(0, NULL, &other); /* The world is the parent again. */
	CHECK(other.rank < 0);
	ARMCI_Group_free(&world); /* Freeing the world has no effect. */
	use_group(&world, 0, 1);
}

static void case_many_groups(void)
{
	ARMCI_Group g[20];
	int i, k, sum, count, *list = list_ranks(0, 1, &count);

	for (k = 0; k < 20; k++) {
		for (i = 0; i < 20; i++)
			ARMCI_Group_create(n - (i % 2 && n > 1), list, &g[i]);
		for (i = 0; i < 20; i++) {
			sum = 1;
			if (g[i].rank >= 0)
				armci_msg_group_igop(&sum, 1, "+", &g[i]);
			CHECK(sum == (g[i].rank >= 0 ? g[i].size : 1));
		}
		for (i = 19; i >= 0; i -= 2)
			ARMCI_Group_free(&g[i]);
		for (i = 0; i < 20; i += 2)
			ARMCI_Group_free(&g[i]);
	}
	free(list);
}

static void case_split(void)
{
	ARMCI_Group world, g;
	int rank, size;

	ARMCI_Group_get_world(&world);
	CHECK(ARMCIX_Group_split(&world, me % 3, -me, &g) == 0);
	ARMCI_Group_size(&g, &size);
	CHECK(ARMCI_Group_rank(&g, &rank) == 0 && size == (n - me % 3 + 2) / 3);
	CHECK(ARMCI_Absolute_id(&g, rank) == me && (rank == 0) == (me + 3 >= n));
	ARMCI_Group_free(&g);
	CHECK(ARMCIX_Group_split(&world, me ? 1 : -1, 0, &g) == 0);
	CHECK((ARMCI_Group_rank(&g, &rank) != 0) == (me == 0));
	ARMCI_Group_free(&g);
	CHECK(ARMCIX_Group_dup(&world, &g) == 0 && g.size == n && g.rank == me);
	ARMCI_Group_free(&g);
}

static void case_locality(void)
{
	ARMCI_Group world;
	int id = armci_domain_my_id(ARMCI_DOMAIN_SMP), count = armci_domain_count(ARMCI_DOMAIN_SMP);
	int i, k, seen = 0, v, sum, masters, first;

	memory_open(64);
	for (i = 0; i < count; i++)
		for (k = 0; k < armci_domain_nprocs(ARMCI_DOMAIN_SMP, i); k++, seen++) {
			CHECK(armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, i, k) == seen);
			CHECK(armci_domain_id(ARMCI_DOMAIN_SMP, seen) == i);
			CHECK(ARMCI_Same_node(seen) == (i == id));
			CHECK(armci_domain_same_id(ARMCI_DOMAIN_SMP, seen) == (i == id));
			CHECK(armci_sameclusnode(seen) == (i == id));
		}
	CHECK(seen == n);
	first = armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, id, 0);
	CHECK(armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1) ==
	      armci_domain_nprocs(ARMCI_DOMAIN_SMP, id));
	/* Memory within the domain is loaded and stored directly. */
	((int *)mem[me])[3] = 900 + me;
	ARMCI_Barrier();
	for (i = 0; i < n; i++)
		if (ARMCI_Same_node(i))
			CHECK(((volatile int *)mem[i])[3] == 900 + i);
	CHECK(ARMCI_Uses_shm() == (count < n));
	ARMCI_Group_get_world(&world);
	CHECK(ARMCI_Uses_shm_grp(&world) == ARMCI_Uses_shm());
	ARMCI_Set_shm_limit(1ul << 40);
	/* scopes */
	sum = 1;
	armci_msg_gop_scope(SCOPE_NODE, &sum, 1, "+", ARMCI_INT);
	CHECK(sum == armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1));
	masters = 1;
	armci_msg_gop_scope(SCOPE_MASTERS, &masters, 1, "+", ARMCI_INT);
	CHECK(masters == (me == first ? count : 1));
	armci_msg_group_gop_scope(SCOPE_NODE, &sum, 1, "max", ARMCI_INT, &world);
	v = me == first ? first + 11 : 0;
	armci_msg_clus_brdcst(&v, sizeof(v));
	CHECK(v == first + 11);
	v = 1;
	armci_msg_clus_igop(&v, 1, "+");
	CHECK(v == armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1));
	v = me == 0 ? 5 : 6;
	armci_msg_bcast_scope(SCOPE_MASTERS, &v, sizeof(v), 0);
	CHECK(v == (me == first ? 5 : 6));
	v = -3 - me;
	armci_msg_reduce_scope(SCOPE_ALL, &v, 1, "absmin", ARMCI_INT);
	CHECK(v == 3);
	memory_close();
}

static void case_select(void)
{
	struct {
		double key;
		int who;
	} r = {(double)((me * 7 + 3) % n), me};
	int root, up, left, right, k;
	long l[2] = {me, -me};

	armci_msg_sel_scope(SCOPE_ALL, &r, sizeof(r), "max", ARMCI_DOUBLE, 1);
	CHECK(r.key == (r.who * 7 + 3) % n);
	armci_msg_sel(l, sizeof(l), "min and more", ARMCI_LONG, me == n - 1);
	CHECK(l[0] == n - 1 && l[1] == 1 - n);
	armci_msg_bintree(SCOPE_ALL, &root, &up, &left, &right);
	CHECK(root == 0 && up == (me ? (me - 1) / 2 : -1));
	CHECK(left == (2 * me + 1 < n ? 2 * me + 1 : -1) &&
	      right == (2 * me + 2 < n ? 2 * me + 2 : -1));
	/* A sum up the tree and down again, by messages. */
	k = 1;
	if (left >= 0) {
		int c;

		armci_msg_rcv(32100, &c, sizeof(c), NULL, left);
		k += c;
	}
	if (right >= 0) {
		int c;

		armci_msg_rcv(32100, &c, sizeof(c), NULL, right);
		k += c;
	}
	if (up >= 0) {
		armci_msg_snd(32100, &k, sizeof(k), up);
		armci_msg_rcv(32100, &k, sizeof(k), NULL, up);
	}
	if (left >= 0)
		armci_msg_snd(32100, &k, sizeof(k), left);
	if (right >= 0)
		armci_msg_snd(32100, &k, sizeof(k), right);
	CHECK(k == n);
	armci_msg_bintree(SCOPE_NODE, &root, &up, &left, &right);
	CHECK(root == armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, -1, 0) &&
	      (up < 0) == (root == me));
	armci_msg_bintree(SCOPE_MASTERS, &root, &up, &left, &right);
	CHECK(root == 0);
}

static void case_messages(void)
{
	static const int sizes[] = {0, 1, 100, 500, 513, 9000, 70000, 3000000};
	size_t most = 3000000, i, k;
	char *out = malloc(most), *in = malloc(most);
	int got, who, round, sum = 0;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int s = sizes[i];

		memset(out, me + (int)i, (size_t)s);
		if (me % 2 == 0)
			armci_msg_snd(7, out, s, next);
		armci_msg_rcv(7, in, (int)most, &got, prev);
		if (me % 2)
			armci_msg_snd(7, out, s, next);
		CHECK(got == s);
		for (k = 0; k < (size_t)s && in[k] == (char)(prev + (int)i); k++)
			;
		CHECK(k == (size_t)s);
		/* A message to the process itself, before it is received. */
		armci_msg_snd(9, out, s, me);
		armci_msg_rcv(9, in, s, NULL, me);
		CHECK(!memcmp(in, out, (size_t)s));
	}
	/* Tags are matched, in order within each tag; received in the other order. */
	for (round = 0; round < 50; round++) {
		armci_msg_snd(round % 2, &round, sizeof(round), next);
	}
	for (k = 0; k < 2; k++)
		for (round = 1 - (int)k; round < 50; round += 2) {
			armci_msg_rcv(1 - (int)k, &got, sizeof(got), NULL, prev);
			CHECK(got == round);
		}
	if (me) {
		armci_msg_snd(3, &me, sizeof(me), 0);
	} else {
		for (i = 1; i < (size_t)n; i++) {
			who = armci_msg_rcvany(3, &got, sizeof(got), NULL);
			CHECK(who == got);
			sum += got;
		}
		CHECK(sum == n * (n - 1) / 2);
	}
	free(out);
	free(in);
}

static void case_notify(void)
{
	static double values[5000];
	double one = 1;
	int i, k, seen, far = 16, near = 8, count[2] = {8, 2000};

	memory_open(80000);
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 5000; i++)
			values[i] = k * 10000 + i;
		/* Writes travel by every way: RDMA, packed, accumulated. */
		CHECK(ARMCI_Put(values, mem[next], 20000, next) == 0);
		CHECK(ARMCI_PutS(values, &near, (double *)mem[next] + 3000, &far, count, 1, next) ==
		      0);
		CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &one, values + 1, (double *)mem[next] + 8000, 8000,
				next) == 0);
		CHECK(armci_notify(next) == k + 1);
		CHECK(armci_notify_wait(prev, &seen) >= k + 1 && seen == k + 1);
		CHECK(((double *)mem[me])[2499] == k * 10000 + 2499);
		CHECK(((double *)mem[me])[3000 + 2 * 1999] == k * 10000 + 1999);
		CHECK(((double *)mem[me])[8999] == (k + 1) * 1000.0 + 10000.0 * k * (k + 1) / 2);
		armci_msg_barrier();
	}
	memory_close();
}

/* The target spins on its memory without a call. The data must arrive before the flag. */
static void case_flag(void)
{
	static char data[30000];
	int k, near[1] = {5}, far[1] = {9}, count[2] = {5, 3000};
	volatile int *flag;

	memory_open(40000);
	flag = (volatile int *)((char *)mem[me] + 32000);
	for (k = 1; k <= 10; k++) {
		memset(data, k, sizeof(data));
		if (k % 2)
			CHECK(ARMCI_Put_flag(data, mem[next], 30000,
					     (int *)((char *)mem[next] + 32000), k, next) == 0);
		else
			CHECK(ARMCI_PutS_flag(data, near, mem[next], far, count, 1,
					      (int *)((char *)mem[next] + 32000), k, next) == 0);
		if (next == me)
			ARMCI_Fence(me);
		while (*flag != k)
			;
		atomic_fence_acquire();
		CHECK(((char *)mem[me])[0] == k &&
		      ((char *)mem[me])[k % 2 ? 29999 : 9 * 2999 + 4] == k);
		ARMCI_Barrier();
	}
	memory_close();
}

static void case_memget(void)
{
	armci_meminfo_t info, theirs;
	long *p;
	int i;

	ARMCI_Memget(1000 * sizeof(long), &info, 0);
	for (i = 0; i < 1000; i++)
		((long *)info.addr)[i] = me * 1000 + i;
	CHECK(info.size == 1000 * sizeof(long) && info.cpid == me &&
	      ARMCI_Memat(&info, 0) == info.addr);
	armci_msg_snd(1, &info, sizeof(info), next);
	armci_msg_rcv(1, &theirs, sizeof(theirs), NULL, prev);
	p = ARMCI_Memat(&theirs, 0);
	ARMCI_Barrier();
	CHECK(ARMCI_GetValueLong(p + 500, prev) == prev * 1000 + 500);
	CHECK(ARMCI_Memat(&theirs, 80) == (prev == me ? (void *)p : (void *)(p + 10)));
	CHECK(ARMCI_PutValueLong(-1, p + 7, prev) == 0);
	ARMCI_Memdt(&theirs, 0);
	CHECK(ARMCI_Memat(&theirs, 0) == (void *)p);
	ARMCI_Barrier();
	CHECK(((long *)info.addr)[7] == -1);
	if (prev != me)
		ARMCI_Memctl(&theirs);
	ARMCI_Barrier();
	ARMCI_Memctl(&info);
	CHECK(!info.addr && (prev == me || !theirs.armci_addr));
}

static void case_mutex_sets(void)
{
	ARMCI_Group g;
	armcix_mutex_hdl_t set, all;
	int count, *list = list_ranks(me % 2, 2, &count), host, i, v;
	ARMCI_Group world;

	memory_open(64);
	ARMCI_Group_get_world(&world);
	ARMCI_Group_create(count, list, &g);
	free(list);
	set = ARMCIX_Create_mutexes_hdl(g.rank == g.size - 1 ? 2 : 0, &g);
	all = ARMCIX_Create_mutexes_hdl(me == 0, &world);
	CHECK(set && all && ARMCI_Create_mutexes(1) == 0);
	host = ARMCI_Absolute_id(&g, g.size - 1);
	for (i = 0; i < 50; i++) {
		/*
		 * Add to a sum under each of three locks at once, without a fence by the program.
		 */
		ARMCIX_Lock_hdl(set, 1, host);
		v = ARMCI_GetValueInt((int *)mem[host] + 1, host);
		CHECK(ARMCI_PutValueInt(v + 1, (int *)mem[host] + 1, host) == 0);
		ARMCIX_Unlock_hdl(set, 1, host);
		while (ARMCIX_Trylock_hdl(all, 0, 0))
			ARMCIX_Progress();
		v = ARMCI_GetValueInt((int *)mem[0] + 2, 0);
		CHECK(ARMCI_PutValueInt(v + 1, (int *)mem[0] + 2, 0) == 0);
		ARMCIX_Unlock_hdl(all, 0, 0);
	}
	ARMCI_Barrier();
	if (me == host)
		CHECK(((int *)mem[me])[1] == 50 * g.size);
	if (me == 0)
		CHECK(((int *)mem[me])[2] == 50 * n);
	CHECK(ARMCI_Destroy_mutexes() == 0);
	CHECK(ARMCIX_Destroy_mutexes_hdl(set) == 0 && ARMCIX_Destroy_mutexes_hdl(all) == 0);
	ARMCI_Group_free(&g);
	memory_close();
}

static void case_swap(void)
{
	long old, next_value, tries = 0;
	int small = 5, set = 6, i;

	memory_open(64);
	for (i = 0; i < 100; i++) { /* A counter made of compare-and-swap. */
		old = ARMCI_GetValueLong((long *)mem[0] + 1, 0);
		for (;;) {
			long expected = old;

			next_value = old + 3;
			CHECK(ARMCIX_Compare_and_swap(ARMCI_SWAP_LONG, &old, &next_value,
						      (long *)mem[0] + 1, 0) == 0);
			if (old == expected)
				break;
			tries++;
		}
	}
	ARMCI_Barrier();
	if (me == 0)
		CHECK(((long *)mem[0])[1] == 300L * n);
	CHECK(ARMCIX_Compare_and_swap(ARMCI_SWAP, &small, &set, mem[me], me) == 0 && small == 0);
	CHECK(ARMCIX_Compare_and_swap(ARMCI_SWAP, &small, &set, mem[me], me) == 0);
	CHECK(*(int *)mem[me] == 6 && tries >= 0);
	CHECK(ARMCIX_Counter("served") >= 0 && ARMCIX_Counter("no such counter") == -1);
	CHECK(ARMCIX_Counter_name(0) != NULL && ARMCIX_Counter_name(1000) == NULL);
	memory_close();
}

static void case_iterator(void)
{
	static const int stride[2] = {100, 1000}, count[3] = {10, 3, 4};
	static char base[5000];
	stride_info_t it;
	int i = 0;

	armci_stride_info_init(&it, base, 2, stride, count);
	CHECK(armci_stride_info_size(&it) == 12 && armci_stride_info_count(&it) == 12);
	for (; armci_stride_info_has_more(&it); armci_stride_info_next(&it), i++) {
		int off = i % 3 * 100 + i / 3 * 1000;

		CHECK(armci_stride_info_pos(&it) == i && armci_stride_info_seg_off(&it) == off);
		CHECK(armci_stride_info_seg_ptr(&it) == base + off);
		CHECK(armci_stride_info_seg_size(&it) == 10);
	}
	CHECK(i == 12);
	armci_stride_info_destroy(&it);
	ARMCI_Copy(base, base + 1, 10);
	ARMCI_Access_begin(base);
	ARMCI_Access_end(base);
}

static const struct check_case cases[] = {
    {"groups", case_groups},         {"many_groups", case_many_groups},
    {"split", case_split},           {"locality", case_locality},
    {"select", case_select},         {"messages", case_messages},
    {"notify", case_notify},         {"flag", case_flag},
    {"memget", case_memget},         {"swap", case_swap},
    {"mutex_sets", case_mutex_sets}, {"iterator", case_iterator},
};

int main(int argc, char **argv)
{
	int rc;

	if (ARMCI_Init())
		return 1;
	me = armci_msg_me();
	n = armci_msg_nproc();
	next = (me + 1) % n;
	prev = (me + n - 1) % n;
	rc = check_run(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
	ARMCI_Finalize();
	return rc;
}
