/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that knows nothing of this tree: C and C++, built with pkg-config libagas. It makes
 * every call of agas.h and agas_hpx.h. Argument "wrong": calls with wrong arguments instead.
 */
#include <agas.h>
#include <agas_hpx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, ranks, failures;

static void check(int ok, const char *what, int line)
{
	if (ok)
		return;
	failures++;
	fprintf(stderr, "rank %d, line %d: %s\n", me, line, what);
}

#define CHECK(x) check((x) != 0, #x, __LINE__)

/* ---- agas.h ---- */

static int place_last(size_t i, size_t n, void *arg)
{
	return (int)((i + (size_t) * (int *)arg) % (size_t)ranks + n * 0);
}

static int count(gva_t target, void *lva, const void *arg, size_t n, int source)
{
	uint64_t v;

	CHECK(n == sizeof(v) && source >= 0 && source < ranks && target);
	memcpy(&v, arg, sizeof(v));
	*(uint64_t *)lva += v;
	return AGAS_DONE;
}

/* The address of rank 0, at all ranks. */
static gva_t tell(gva_t value)
{
	static gva_t box;

	if (!box)
		box = agas_map_all(8, AGAS_CYCLIC);
	if (me == 0)
		agas_put(box, &value, sizeof(value));
	agas_barrier();
	agas_get(&value, box, sizeof(value));
	agas_barrier();
	return value;
}

static void use_pages(gva_t base, size_t pages, int action)
{
	size_t page = agas_page_size(), i;
	uint64_t v, one = 1, old;
	agas_req_t r;
	void *at;

	for (i = (size_t)me; i < pages; i += (size_t)ranks) {
		gva_t a = base + i * page;

		v = 1000 + i;
		CHECK(agas_put_nb(a, &v, sizeof(v), &r) == 0);
		CHECK(agas_wait(&r) == 0 && agas_test(&r) == 1);
		v = 0;
		CHECK(agas_get_nb(&v, a, sizeof(v), &r) == 0);
		while (!agas_test(&r))
			agas_progress();
		CHECK(v == 1000 + i);
		CHECK(agas_fetch_xor64(a, 3, &old) == 0 && old == 1000 + i);
		CHECK(agas_swap64(a, 5, &old) == 0 && old == ((1000 + i) ^ 3));
		CHECK(agas_compare_swap64(a, 5, 6, &old) == 0 && old == 5);
		CHECK(agas_fetch_add64(a, 1, NULL) == 0);
		CHECK(agas_call(a, action, &one, sizeof(one)) == 0);
		CHECK(agas_call_nb(a, action, &one, sizeof(one), &r) == 0 && agas_wait(&r) == 0);
		CHECK(agas_fence() == 0);
		CHECK(agas_remap(a, me) == 0);
		CHECK(agas_owner(a) == me && agas_home(a) >= 0 && agas_home(a) < ranks);
		CHECK(agas_try_pin(a, &at) == 1);
		CHECK(*(uint64_t *)at == 9);
		CHECK(agas_lva_to_gva(at) == a && agas_lva_to_gva((char *)at + 7) == a + 7);
		CHECK(agas_lva_to_gva(&at) == 0);
		agas_unpin(a);
		CHECK(agas_remap_nb(a, (me + 1) % ranks, &r) == 0 && agas_wait(&r) == 0);
		CHECK(ranks == 1 || agas_try_pin(a, NULL) == 0);
	}
	agas_barrier();
}

static void core(void)
{
	size_t page = agas_page_size(), n = 2 * (size_t)ranks + 1;
	int action = agas_register(count), kind;
	struct agas_stats s;
	gva_t base;

	CHECK(action >= 0 && agas_call_max() >= 8);
	agas_barrier();
	for (kind = 0; kind < 4; kind++) {
		base = 0;
		if (me == 0)
			base = kind == 0   ? agas_map(n * page)
			       : kind == 1 ? agas_map_cyclic(n * page)
			       : kind == 2 ? agas_map_blocked(n * page)
					   : agas_map_user(n * page, place_last, &ranks);
		base = tell(base);
		CHECK(base != 0);
		use_pages(base, n, action);
		CHECK(agas_balance(AGAS_BALANCE_LEAST, 1.4) >= 0);
		if (me == ranks - 1)
			agas_unmap(base, n * page);
		agas_barrier();
	}
	agas_stats(&s, 0);
	CHECK(s.requests + s.local > 0 && s.lookups >= s.local);
	CHECK(strlen(agas_error_text(AGAS_EDEAD)) > 0);
}

/* ---- agas_hpx.h ---- */

static hpx_addr_t place_there(uint32_t i, size_t n, size_t bsize)
{
	return HPX_THERE((i + n + bsize) % (size_t)ranks);
}

/* Every element is written by one rank and read by the next, with each kind of completion. */
static void use_array(hpx_addr_t a, size_t n, uint32_t bsize)
{
	hpx_addr_t sent = hpx_lco_and_new((int64_t)n), there = hpx_lco_and_new((int64_t)n);
	size_t i;
	uint64_t v;

	for (i = 0; i < n; i++) {
		hpx_addr_t at = hpx_addr_add(a, (int64_t)(i * bsize) + 8 * me, bsize);

		v = i * 100 + (size_t)me;
		CHECK(hpx_addr_sub(at, a, bsize) == (int64_t)(i * bsize) + 8 * me);
		CHECK(hpx_gas_memput(at, &v, sizeof(v), sent, there) == HPX_SUCCESS);
		v = 0;
	}
	CHECK(hpx_lco_wait(sent) == HPX_SUCCESS && hpx_lco_wait(there) == HPX_SUCCESS);
	hpx_lco_delete(sent, HPX_NULL);
	hpx_lco_delete_sync(there);
	agas_barrier();
	for (i = 0; i < n; i++) {
		int whom = (me + 1) % ranks;
		hpx_addr_t at = hpx_addr_add(a, (int64_t)(i * bsize) + 8 * whom, bsize);
		hpx_addr_t done = hpx_lco_future_new(0);

		v = 0;
		CHECK(hpx_gas_memget(&v, at, sizeof(v), done) == HPX_SUCCESS);
		CHECK(hpx_lco_wait(done) == HPX_SUCCESS && v == i * 100 + (size_t)whom);
		hpx_lco_reset_sync(done);
		CHECK(hpx_gas_memput_lsync(at, &v, sizeof(v), done) == HPX_SUCCESS);
		CHECK(hpx_lco_wait(done) == HPX_SUCCESS);
		CHECK(hpx_gas_memput_rsync(at, &v, sizeof(v)) == HPX_SUCCESS);
		CHECK(hpx_gas_memget_sync(&v, at, sizeof(v)) == HPX_SUCCESS);
		hpx_lco_delete(done, HPX_NULL);
	}
	agas_barrier();
}

/* A block of this rank moves to the next one and a copy of it comes back. */
static void move_and_copy(void)
{
	hpx_addr_t a = hpx_gas_calloc_local(2, 64, 0), b = hpx_addr_add(a, 64, 64);
	hpx_addr_t there = hpx_gas_calloc_local_at_sync(1, 64, 0, HPX_THERE((me + 1) % ranks));
	hpx_addr_t done = hpx_lco_future_new(sizeof(hpx_addr_t)), found = HPX_NULL;
	char *at, text[64];

	CHECK(a && there && done);
	CHECK(hpx_gas_try_pin(a, NULL));
	CHECK(hpx_gas_try_pin(a, (void **)&at));
	snprintf(at, 64, "from rank %d", me);
	CHECK(agas_lva_to_gva(at + 5) == hpx_addr_add(a, 5, 100));
	hpx_gas_unpin(a);
	hpx_gas_set_attr(a, HPX_GAS_ATTR_LB);
	hpx_gas_move(a, there, done); /* to the owner of a block */
	CHECK(hpx_lco_wait(done) == HPX_SUCCESS);
	CHECK(hpx_gas_try_pin(a, NULL) == (ranks == 1));
	hpx_lco_reset_sync(done);
	CHECK(hpx_gas_memcpy(b, a, 64, done) == HPX_SUCCESS && hpx_lco_wait(done) == HPX_SUCCESS);
	CHECK(hpx_gas_memcpy_sync(there, b, 64) == HPX_SUCCESS);
	CHECK(hpx_gas_memget_sync(text, there, 64) == HPX_SUCCESS);
	CHECK(atoi(text + 10) == me);
	hpx_lco_reset_sync(done);
	hpx_gas_move(a, HPX_HERE, done);
	CHECK(hpx_lco_wait(done) == HPX_SUCCESS && hpx_gas_try_pin(a, NULL));

	/* An allocation elsewhere, whose address comes through a future. */
	hpx_lco_reset_sync(done);
	hpx_gas_alloc_local_at_async(3, 100, 0, HPX_THERE((me + 1) % ranks), done);
	CHECK(hpx_lco_get(done, sizeof(found), &found) == HPX_SUCCESS && found);
	CHECK(hpx_gas_memput_rsync(found, text, 64) == HPX_SUCCESS);
	CHECK(hpx_gas_free_sync(found) == HPX_SUCCESS);
	found = HPX_HERE;
	hpx_lco_reset_sync(done);
	hpx_lco_set(done, sizeof(found), &found, HPX_NULL, HPX_NULL);
	found = HPX_NULL;
	CHECK(hpx_lco_get(done, sizeof(found), &found) == HPX_SUCCESS && found == HPX_HERE);

	/* Freeing does not wait for the pin; the future does. */
	CHECK(hpx_gas_try_pin(a, (void **)&at));
	hpx_lco_reset_sync(done);
	hpx_gas_free(a, done);
	hpx_gas_unpin(a);
	CHECK(hpx_lco_wait(done) == HPX_SUCCESS);
	hpx_gas_free(there, HPX_NULL);
	CHECK(agas_fence() == 0);
	CHECK(hpx_gas_memget_sync(text, there, 8) == AGAS_EUNMAPPED);
	CHECK(!hpx_gas_try_pin(a, NULL));
	hpx_lco_delete(done, HPX_NULL);
	agas_barrier();
}

static void hpx(void)
{
	size_t n = 2 * (size_t)ranks + 1;
	uint32_t bsize = 8 * (uint32_t)ranks + 8;
	hpx_addr_t a;
	int kind;

	CHECK(hpx_get_my_rank() == me && hpx_get_num_ranks() == ranks);
	for (kind = 0; kind < 16; kind++) {
		a = HPX_NULL;
		if (me == 0)
			a = kind == 0   ? hpx_gas_alloc_local(n, bsize, 0)
			    : kind == 1 ? hpx_gas_calloc_cyclic(n, bsize, 0)
			    : kind == 2 ? hpx_gas_alloc_cyclic(n, bsize, 4096)
			    : kind == 3 ? hpx_gas_alloc_blocked(n, bsize, 0)
			    : kind == 4 ? hpx_gas_calloc_blocked(n, bsize, 0)
			    : kind == 5 ? hpx_gas_alloc_user(n, bsize, 0, place_there, 0)
			    : kind == 6
				? hpx_gas_alloc(n, bsize, 0, HPX_GAS_DIST_CYCLIC, HPX_GAS_ATTR_NONE)
			    : kind == 7  ? hpx_gas_alloc(n, bsize, 0, place_there, HPX_GAS_ATTR_LB)
			    : kind == 8  ? hpx_gas_alloc_local_attr(n, bsize, 0, HPX_GAS_ATTR_LB)
			    : kind == 9  ? hpx_gas_calloc_local_attr(n, bsize, 0, HPX_GAS_ATTR_RO)
			    : kind == 10 ? hpx_gas_alloc_cyclic_attr(n, bsize, 0, HPX_GAS_ATTR_LB)
			    : kind == 11 ? hpx_gas_calloc_cyclic_attr(n, bsize, 0, HPX_GAS_ATTR_LB)
			    : kind == 12 ? hpx_gas_alloc_blocked_attr(n, bsize, 0, HPX_GAS_ATTR_LB)
			    : kind == 13 ? hpx_gas_calloc_blocked_attr(n, bsize, 0, HPX_GAS_ATTR_LB)
			    : kind == 14
				? hpx_gas_calloc(n, bsize, 0, place_there, HPX_GAS_ATTR_LB)
				: hpx_gas_alloc(n, bsize, 0, HPX_GAS_DIST_BLOCKED, HPX_GAS_ATTR_RO);
		a = tell(a);
		CHECK(a != HPX_NULL);
		use_array(a, n, bsize);
		if (me == ranks - 1)
			CHECK(hpx_gas_free_sync(a) == HPX_SUCCESS);
		agas_barrier();
	}
	move_and_copy();
}

/* ---- wrong arguments, each of which the library explains on stderr ---- */

static void wrong(void)
{
	size_t page = agas_page_size();
	gva_t a = agas_map_cyclic(2 * page), never = a + 100000 * page;
	hpx_addr_t h = hpx_gas_alloc_cyclic(2, 100, 0), lco = hpx_lco_future_new(0);
	char data[16] = "";
	uint64_t v;

	hpx_lco_delete(lco, HPX_NULL);
	CHECK(hpx_lco_wait(lco) == AGAS_EINVAL);
	CHECK(hpx_lco_wait(HPX_NULL) == AGAS_EINVAL);
	lco = hpx_lco_future_new(0);
	CHECK(agas_put(0, data, 8) == AGAS_EINVAL);
	CHECK(agas_put(a, data, (size_t)-1) == AGAS_EINVAL);
	CHECK(agas_put(a, NULL, 8) == AGAS_EINVAL);
	CHECK(agas_put(never, data, 8) == 0 && agas_fence() == AGAS_EUNMAPPED);
	CHECK(agas_fetch_add64(never, 1, &v) == AGAS_EUNMAPPED);
	CHECK(agas_fetch_add64(a + 4, 1, &v) == AGAS_EINVAL);
	CHECK(agas_remap(never, 0) == AGAS_EUNMAPPED);
	CHECK(agas_remap(a, ranks) == AGAS_EINVAL);
	CHECK(agas_call(a, 77, NULL, 0) == 0 && agas_fence() == AGAS_EACTION);
	CHECK(!agas_map((size_t)-1) && !agas_map_cyclic(0));
	CHECK(!hpx_gas_alloc_local(0, 8, 0) && !hpx_gas_alloc_cyclic(1, (size_t)1 << 33, 0));
	CHECK(!hpx_gas_alloc(1, 8, 0, (hpx_gas_dist_t)0, 0) && !hpx_gas_alloc_blocked(1, 8, 3));
	CHECK(!hpx_gas_alloc_local_at_sync(1, 8, 0, HPX_NULL));
	CHECK(hpx_gas_memput_rsync(HPX_NULL, data, 8) == AGAS_EINVAL);
	CHECK(hpx_gas_memput_rsync(h, data, 4096) == AGAS_EINVAL);
	CHECK(hpx_gas_memput_rsync(a, data, 2 * page) == AGAS_EINVAL);
	CHECK(hpx_gas_memget(data, h + (1 << 30), 8, lco) == 0);
	CHECK(hpx_lco_wait(lco) == AGAS_EUNMAPPED);
	CHECK(hpx_gas_free_sync(hpx_addr_add(h, 100, 100)) == AGAS_EINVAL);
	CHECK(hpx_gas_free_sync(a) == AGAS_EINVAL);
	hpx_gas_free(h, HPX_NULL);
	CHECK(agas_fence() == 0);
	CHECK(hpx_gas_memput_rsync(h, data, 8) == AGAS_EUNMAPPED);
	CHECK(hpx_gas_free_sync(h) == AGAS_EUNMAPPED);
	hpx_lco_delete(lco, HPX_NULL);
	CHECK(agas_unmap(a, 2 * page) == 0);
	CHECK(agas_unmap(a, page) == AGAS_EUNMAPPED);
	CHECK(agas_put(a, data, 8) == 0 && agas_fence() == AGAS_EUNMAPPED);
}

int main(int argc, char **argv)
{
	size_t unused = 0;

	if (argc > 1 &&
	    !strcmp(argv[1], "early")) { /* before agas_init(): no call may fail badly */
		CHECK(agas_put(4096, &unused, 8) == AGAS_ESTATE && !agas_map(8));
		CHECK(agas_fence() == AGAS_ESTATE && agas_pe() < 0 && !hpx_lco_future_new(0));
		CHECK(!hpx_gas_alloc_local_at_sync(1, 8, 0, HPX_NULL));
		hpx_gas_free(4096, HPX_NULL);
		hpx_gas_move(4096, HPX_THERE(1), HPX_NULL);
		CHECK(hpx_lco_wait(1) == AGAS_ESTATE && agas_owner(4096) == AGAS_ESTATE);
	}
	if (agas_init(&argc, &argv))
		return 2;
	me = agas_pe();
	ranks = agas_npes();
	if (argc > 1 && !strcmp(argv[1], "wrong")) {
		if (me == 0)
			wrong();
	} else {
		core();
		hpx();
	}
	agas_barrier();
	agas_fini();
	printf("rank %d of %d: %s\n", me, ranks, failures ? "WRONG" : "right");
	return failures != 0;
}
