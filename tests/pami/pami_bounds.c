/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts and gets of any size from 0 to SIZE_MAX, beyond the memory at one end or at both: done, or
 * exactly one error on each callback. By regions: nothing outside a region is touched at either
 * end.
 */
#include <sys/mman.h>

#include "tests/harness/pami_job.h"
#include "tests/harness/segment.h"

#define BUFFER (1u << 20) /* bytes that are there; a hole follows */
#define LARGE  (8u << 20)
#define HOLE   ((size_t)1 << 30)
#define NOBODY 0x5a

static unsigned char *mine, *large; /* at the same addresses in all tasks */
/* Not contiguous: 8 bytes of each 16; and 512 of each 1024, of which a megabyte has few pieces. */
static pami_type_t pairs, blocks;

struct outcome {
	int local, remote;
	pami_result_t local_result, remote_result;
};

static void local_done(pami_context_t c, void *cookie, pami_result_t result)
{
	struct outcome *o = cookie;

	o->local++;
	o->local_result = result;
}

static void remote_done(pami_context_t c, void *cookie, pami_result_t result)
{
	struct outcome *o = cookie;

	o->remote++;
	o->remote_result = result;
}

/* Memory with a hole behind it, at an address that is free in every task. */
static void *map_at(uintptr_t address, size_t bytes)
{
	void *p = mmap((void *)address, bytes + HOLE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED || mprotect(p, bytes, PROT_READ | PROT_WRITE)) {
		perror("mmap");
		exit(1);
	}
	return p;
}

enum kind { PUT, GET, PUT_TYPED, GET_TYPED, KINDS };
static const char *const kind_name[KINDS] = {"put", "get", "typed put", "typed get"};

static int is_put(enum kind kind)
{
	return kind == PUT || kind == PUT_TYPED;
}

static pami_result_t start_rma(enum kind kind, size_t task, void *local, void *remote, size_t bytes,
			       struct outcome *o)
{
	pami_rma_t rma = {
	    .dest = get_endpoint(task, 0), .bytes = bytes, .cookie = o, .done_fn = local_done};
	pami_rma_addr_t addr = {local, remote};

	switch (kind) {
	case PUT:
		return PAMI_Put(context, &(pami_put_simple_t){rma, addr, {remote_done}});
	case GET:
		return PAMI_Get(context, &(pami_get_simple_t){rma, addr});
	case PUT_TYPED:
		return PAMI_Put_typed(
		    context,
		    &(pami_put_typed_t){rma, addr, {PAMI_TYPE_BYTE, blocks}, {remote_done}});
	default:
		return PAMI_Get_typed(context,
				      &(pami_get_typed_t){rma, addr, {PAMI_TYPE_BYTE, blocks}});
	}
}

/* Every callback once, with success or not (local_bad, remote_bad: 1 must fail, 0 must not, -1
 * either). */
static void check_rma(const char *what, enum kind kind, size_t task, void *local, void *remote,
		      size_t bytes, int local_bad, int remote_bad)
{
	static unsigned operations;
	struct outcome o = {0};
	pami_result_t result;
	int before = check_failures;

	if (operations++ % job_share())
		return;
	result = start_rma(kind, task, local, remote, bytes, &o);
	if (result != PAMI_SUCCESS) { /* an error of the call: no callback */
		CHECK(local_bad != 0);
		for (int i = 0; i < 100; i++)
			PAMI_Context_advance(context, 1);
		CHECK_EQ(o.local + o.remote, 0);
	} else {
		WAIT(o.local && (o.remote || !is_put(kind)));
		for (int i = 0; i < 100; i++)
			PAMI_Context_advance(context, 1);
		CHECK_EQ(o.local, 1);
		CHECK_EQ(o.remote, is_put(kind));
		if (local_bad >= 0)
			CHECK_EQ(o.local_result != PAMI_SUCCESS, local_bad);
		if (is_put(kind) && remote_bad >= 0)
			CHECK_EQ(o.remote_result != PAMI_SUCCESS, remote_bad);
	}
	if (check_failures != before)
		fprintf(stderr, "task %zu: in a %s of %zu bytes to task %zu: %s\n", me,
			kind_name[kind], bytes, task, what);
}

static void every_size_stays_in_its_range(size_t task)
{
	static const size_t list[] = {0,
				      1,
				      8,
				      511,
				      513,
				      4097,
				      65536,
				      BUFFER / 2,
				      BUFFER + 1,
				      BUFFER + 4096,
				      (1ull << 31) - 1,
				      1ull << 31,
				      (1ull << 32) - 1,
				      1ull << 32,
				      (1ull << 32) + 1,
				      1ull << 40,
				      (1ull << 47) - 1,
				      1ull << 47,
				      (1ull << 47) + 1,
				      1ull << 49,
				      (1ull << 49) + 131072,
				      1ull << 50,
				      SIZE_MAX / 2,
				      SIZE_MAX / 2 + 1,
				      SIZE_MAX - BUFFER,
				      SIZE_MAX - 4095,
				      SIZE_MAX - 7,
				      SIZE_MAX};

	for (enum kind kind = PUT; kind < KINDS; kind++)
		for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
			int bad = list[i] > BUFFER / 2;

			check_rma("both ends too short", kind, task, mine, mine, list[i], bad, bad);
		}
	/* A size of 32 bits that a program computed as negative. */
	check_rma("negative", PUT, task, mine, mine, (size_t)-1000, 1, 1);
	check_rma("negative", GET, task, mine, mine, (size_t)-1000, 1, 1);
}

/* One end lacks memory. */
static void one_end(size_t task)
{
	void *hole = mine + BUFFER;

	for (size_t bytes = 8; bytes <= 4u << 20; bytes *= 8) {
		int beyond = bytes > BUFFER;

		check_rma("short remote", PUT, task, large, mine, bytes, beyond ? -1 : 0, beyond);
		check_rma("short remote", GET, task, large, mine, bytes, beyond, 0);
		check_rma("short local", PUT, task, mine, large, bytes, beyond, beyond);
		check_rma("short local", GET, task, mine, large, bytes, beyond, 0);
		check_rma("no remote", PUT, task, mine, hole, bytes, -1, 1);
		check_rma("no remote", GET, task, large, hole, bytes, 1, 0);
		check_rma("no local", PUT, task, hole, large, bytes, 1, 1);
		check_rma("no local", GET, task, hole, large, bytes, 1, 0);
		check_rma("null local", PUT, task, NULL, large, bytes, 1, 1);
		check_rma("null local", GET, task, NULL, large, bytes, 1, 0);
		check_rma("null remote", PUT, task, large, NULL, bytes, -1, 1);
		check_rma("null remote", GET, task, large, NULL, bytes, 1, 0);
	}
}

/* An atomic operation that changes nothing, where none may be. */
static void check_atomic_fails(size_t task, void *remote)
{
	struct outcome o = {0};
	uint64_t zero = 0, old;
	pami_rmw_t rmw = {.dest = get_endpoint(task, 0),
			  .cookie = &o,
			  .done_fn = local_done,
			  .local = &old,
			  .remote = remote,
			  .value = &zero,
			  .operation = PAMI_ATOMIC_FETCH_ADD,
			  .type = PAMI_TYPE_UNSIGNED_LONG_LONG};

	CHECK_EQ(PAMI_Rmw(context, &rmw), PAMI_SUCCESS);
	WAIT(o.local);
	CHECK(o.local_result != PAMI_SUCCESS);
}

/* The memory that the library keeps in the segment of a host is no place for puts and atomics. */
static void library_keeps_its_memory(size_t task, char *segment)
{
	for (size_t bytes = 8; bytes <= 32768; bytes *= 64) {
		check_rma("kept", PUT, task, large, segment, bytes, -1, 1);
		check_rma("kept", PUT, task, large, segment + 4096, bytes, -1, 1);
		check_rma("kept", PUT_TYPED, task, large, segment + 4096, bytes, -1, 1);
	}
	check_atomic_fails(task, segment + 4096);
}

#define REGION 4096 /* bytes at the start of a larger buffer */

static pami_memregion_t *region_of; /* [tasks] of the first REGION bytes of `mine` */
static unsigned char *own;          /* likewise, of a private buffer of two such */

static void exchange_regions(pami_memregion_t *local)
{
	pami_memregion_t remote;
	size_t bytes;

	own = malloc((size_t)2 * REGION);
	region_of = calloc(tasks, sizeof *region_of);
	CHECK_EQ(PAMI_Memregion_create(context, own, REGION, &bytes, local), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_create(context, mine, REGION, &bytes, &remote), PAMI_SUCCESS);
	gather_from_all(&remote, region_of, sizeof remote);
}

/* One operation by regions: its result, and how often the callbacks ran. */
static struct outcome by_region(enum kind kind, size_t task, pami_memregion_t *local, size_t at,
				size_t remote_at, size_t bytes)
{
	struct outcome o = {0};
	pami_rma_t rma = {
	    .dest = get_endpoint(task, 0), .bytes = bytes, .cookie = &o, .done_fn = local_done};
	pami_rdma_t rdma = {{local, at}, {&region_of[task], remote_at}};
	pami_rma_typed_t type = {pairs, pairs};
	pami_result_t result =
	    kind == PUT   ? PAMI_Rput(context, &(pami_rput_simple_t){rma, rdma, {remote_done}})
	    : kind == GET ? PAMI_Rget(context, &(pami_rget_simple_t){rma, rdma})
	    : kind == PUT_TYPED
		? PAMI_Rput_typed(context, &(pami_rput_typed_t){rma, rdma, type, {remote_done}})
		: PAMI_Rget_typed(context, &(pami_rget_typed_t){rma, rdma, type});

	if (result == PAMI_SUCCESS) {
		WAIT(o.local && (o.remote || !is_put(kind)));
		for (int i = 0; i < 20; i++)
			PAMI_Context_advance(context, 1);
		CHECK_EQ(o.local, 1);
		CHECK_EQ(o.remote, is_put(kind));
	} else {
		o.local_result = o.remote_result = result;
	}
	return o;
}

static void pieces_beyond_a_region_are_refused(size_t task, pami_memregion_t *local)
{
	static const size_t beyond[] = {REGION + 1, REGION + 8,      (size_t)2 * REGION,
					BUFFER,     (size_t)1 << 40, SIZE_MAX - REGION,
					SIZE_MAX};
	pami_memregion_t forged;
	struct outcome o;

	for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
		/* Beyond the remote region: an error, and nothing has moved. */
		memset(own, 1, (size_t)2 * REGION);
		for (enum kind kind = PUT; kind < KINDS; kind++) {
			o = by_region(kind, task, local, 0, 0, beyond[i]);
			CHECK(o.local_result != PAMI_SUCCESS);
			o = by_region(kind, task, local, 0, beyond[i], 8);
			CHECK(o.local_result != PAMI_SUCCESS);
			o = by_region(kind, task, local, 0, REGION - 8, beyond[i] - REGION + 8);
			CHECK(o.local_result != PAMI_SUCCESS);
		}
		CHECK(own[0] == 1 && own[REGION] == 1);
		/* Beyond the local region: a put is an error. */
		o = by_region(PUT, task, local, beyond[i], 0, 8);
		CHECK(o.local_result != PAMI_SUCCESS && o.remote_result != PAMI_SUCCESS);
		/* Of a get arrives what fits; a library truncates messages that way. */
		o = by_region(GET, task, local, beyond[i], 0, 8);
		CHECK_EQ(o.local_result, PAMI_SUCCESS);
		CHECK_EQ(own[REGION], 1);
	}
	o = by_region(PUT, task, local, 8, 0, REGION);
	CHECK(o.local_result != PAMI_SUCCESS && o.remote_result != PAMI_SUCCESS);
	memset(own, 1, (size_t)2 * REGION);
	o = by_region(GET, task, local, 64, 0, REGION);
	CHECK_EQ(o.local_result, PAMI_SUCCESS);
	CHECK(own[63] == 1 && own[64] == NOBODY && own[REGION - 1] == NOBODY && own[REGION] == 1);
	memset(own, NOBODY, REGION);
	/* Layouts of 8 bytes of each 16: twice as many bytes of the region. */
	for (enum kind kind = PUT_TYPED; kind < KINDS; kind++) {
		o = by_region(kind, task, local, 0, 0, REGION / 2 + 8);
		CHECK(o.local_result != PAMI_SUCCESS);
		o = by_region(kind, task, local, 16, 0, REGION / 2);
		CHECK(o.local_result != PAMI_SUCCESS);
		o = by_region(kind, task, local, 8, 8, REGION / 2);
		CHECK_EQ(o.local_result, PAMI_SUCCESS);
		o = by_region(kind, task, local, 12, 0, REGION / 2 - 4);
		CHECK_EQ(o.local_result, PAMI_SUCCESS);
	}
	/* A local region that was never made. */
	memcpy(forged, *local, sizeof forged);
	forged[2] += 1;
	for (enum kind kind = PUT; kind < KINDS; kind++) {
		o = by_region(kind, task, &forged, 0, 0, 8);
		CHECK(o.local_result != PAMI_SUCCESS);
	}
}

/* `bytes` bytes of each 2 * `bytes`. */
static pami_type_t make_type(size_t bytes)
{
	pami_type_t type;

	CHECK_EQ(PAMI_Type_create(&type), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(type, bytes, 0, 1, 2 * bytes), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(type, 1), PAMI_SUCCESS);
	return type;
}

int main(void)
{
	pami_memregion_t local;
	void *segments[JOB_TASKS_MAX], *segment;

	job_begin(1);
	/* All tasks use these addresses; a task of the virtual clock too. They lie below the area
	 * of the kernel's mappings, in a range that the sanitizers leave to the program. */
	mine = map_at(0x7e9000000000, BUFFER);
	large = map_at(0x7ea000000000, LARGE);
	pairs = make_type(8);
	blocks = make_type(512);
	memset(mine, NOBODY, BUFFER);
	run_barrier();
	every_size_stays_in_its_range(me);
	one_end(me);
	run_barrier();
	if (tasks > 1) {
		every_size_stays_in_its_range((me + 1) % tasks);
		one_end((me + 1) % tasks);
	}
	segment = find_segment();
	CHECK(segment);
	gather_from_all(&segment, segments, sizeof segment);
	library_keeps_its_memory(me, segments[me]);
	library_keeps_its_memory((me + 1) % tasks, segments[(me + 1) % tasks]);
	exchange_regions(&local);
	memset(mine, NOBODY, BUFFER);
	run_barrier();
	for (size_t turn = 0; turn < tasks; turn++) {
		if (turn == me)
			for (size_t t = 0; t < tasks; t++)
				pieces_beyond_a_region_are_refused(t, &local);
		run_barrier();
	}
	CHECK_EQ(mine[REGION], NOBODY);
	PAMI_Memregion_destroy(context, &local);
	CHECK_EQ(by_region(GET, me, &local, 0, 0, 8).local_result, PAMI_INVAL);
	PAMI_Type_destroy(&pairs);
	PAMI_Type_destroy(&blocks);
	return job_end(1);
}
