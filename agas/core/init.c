/* SPDX-License-Identifier: BSD-3-Clause */
/* agas_init() and agas_fini(): the PAMI client, its context, its progress, and deaths. */
#include <stdlib.h>
#include <string.h>

#include "agas/access/action.h"
#include "agas/access/network.h"
#include "agas/access/op.h"
#include "agas/access/serve.h"
#include "agas/core/coll.h"
#include "agas/core/lock.h"
#include "agas/core/world.h"
#include "agas/hpx/lco.h"
#include "agas/memory/control.h"
#include "agas/move/move.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "pami/ext_deaths.h"
#include "pami/ext_wait.h"

typedef void (*progress_fn)(pami_context_t, void *);
typedef pami_result_t (*register_fn)(pami_context_t, progress_fn, progress_fn, progress_fn, void *);
typedef pami_result_t (*enable_fn)(pami_context_t, int);

/* Event type of EXT_async_progress: also while threads of the program wait elsewhere. */
enum { ASYNC_SHARED = 1000 };

struct agas_world agas_world;
atomic_u64 agas_counter[AGAS_COUNTERS];

static struct {
	pami_extension_t progress, deaths, wait;
	enable_fn disable;
	pami_quintorus_gone_fn is_gone;
} ext;

/* ---- deaths ---- */

bool agas_is_dead(uint32_t rank)
{
	return rank < agas_world.space.ranks && agas_world.dead[rank];
}

/* PAMI calls this when it has dispatched all messages that had arrived from the tasks that died. */
static void on_death(pami_context_t context, void *cookie)
{
	AGAS_HANDLER;
	uint32_t r;

	for (r = 0; ext.is_gone && r < agas_world.space.ranks; r++) {
		if (agas_world.dead[r] || !ext.is_gone((pami_task_t)r))
			continue;
		agas_world.dead[r] = true;
		agas_world.deaths++;
		agas_moves_death(r);
		agas_network_death(r);
		agas_serve_death(r);
		agas_ops_death(r);
	}
}

/* ---- extensions ---- */

static void open_deaths(void)
{
	pami_quintorus_watch_fn watch;

	if (PAMI_Extension_open(agas_world.client, PAMI_EXT_QUINTORUS_DEATHS, &ext.deaths) !=
	    PAMI_SUCCESS)
		return;
	watch = (pami_quintorus_watch_fn)PAMI_Extension_symbol(ext.deaths, "watch");
	ext.is_gone = (pami_quintorus_gone_fn)PAMI_Extension_symbol(ext.deaths, "gone");
	if (watch && ext.is_gone)
		watch(agas_world.context, on_death, NULL);
}

static void open_wait(void)
{
	pami_quintorus_advancev_fn advancev = NULL;

	if (PAMI_Extension_open(agas_world.client, PAMI_EXT_QUINTORUS_WAIT, &ext.wait) ==
	    PAMI_SUCCESS)
		advancev = (pami_quintorus_advancev_fn)PAMI_Extension_symbol(ext.wait, "advancev");
	agas_wait_set(advancev);
}

/* Without asynchronous progress this rank serves other ranks inside its own calls only. */
static void open_progress(void)
{
	register_fn enter;
	enable_fn enable;

	if (!drv_setting_flag(DRV_QUINTORUS_AGAS_PROGRESS) ||
	    PAMI_Extension_open(agas_world.client, "EXT_async_progress", &ext.progress) !=
		PAMI_SUCCESS)
		return;
	enter = (register_fn)PAMI_Extension_symbol(ext.progress, "register");
	enable = (enable_fn)PAMI_Extension_symbol(ext.progress, "enable");
	if (!enter || !enable ||
	    enter(agas_world.context, NULL, NULL, NULL, NULL) != PAMI_SUCCESS ||
	    enable(agas_world.context, ASYNC_SHARED) != PAMI_SUCCESS)
		return;
	ext.disable = (enable_fn)PAMI_Extension_symbol(ext.progress, "disable");
}

/* A task that cannot map its own shared memory runs in virtual time. */
static bool find_virtual(void)
{
	pami_extension_t memory;
	void *(*alloc)(size_t, size_t), *(*local)(pami_task_t, void *, size_t), *p;
	void (*release)(void *);
	bool is_virtual = false;

	if (PAMI_Extension_open(agas_world.client, "EXT_quintorus_memory", &memory) != PAMI_SUCCESS)
		return false;
	alloc = (void *(*)(size_t, size_t))PAMI_Extension_symbol(memory, "alloc");
	release = (void (*)(void *))PAMI_Extension_symbol(memory, "free");
	local = (void *(*)(pami_task_t, void *, size_t))PAMI_Extension_symbol(memory, "local");
	p = alloc && release && local ? alloc(64, 64) : NULL;
	if (p) {
		is_virtual = !local((pami_task_t)agas_world.me, p, 1);
		release(p);
	}
	PAMI_Extension_close(memory);
	return is_virtual;
}

/* ---- begin ---- */

static int log_failure(const char *what, pami_result_t rc)
{
	drv_error("agas: cannot %s (PAMI result %d)", what, (int)rc);
	return AGAS_ESTATE;
}

static int open_client(void)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};
	pami_result_t rc = PAMI_Client_create("agas", &agas_world.client, NULL, 0);
	uint32_t i;

	if (rc != PAMI_SUCCESS)
		return log_failure("create the PAMI client", rc);
	rc = PAMI_Client_query(agas_world.client, q, 2);
	if (rc == PAMI_SUCCESS)
		rc = PAMI_Context_createv(agas_world.client, NULL, 0, &agas_world.context, 1);
	if (rc != PAMI_SUCCESS)
		return log_failure("create the PAMI context", rc);
	agas_world.me = (uint32_t)q[0].value.intval;
	agas_world.space.ranks = (uint32_t)q[1].value.intval;
	if (agas_world.space.ranks > 65536) {
		drv_error("agas: %u ranks; addresses have room for 65536", agas_world.space.ranks);
		return AGAS_ESTATE;
	}
	agas_world.endpoint = calloc(agas_world.space.ranks, sizeof(*agas_world.endpoint));
	agas_world.dead = calloc(agas_world.space.ranks, sizeof(*agas_world.dead));
	if (!agas_world.endpoint || !agas_world.dead)
		return log_failure("allocate tables", PAMI_ENOMEM);
	for (i = 0; i < agas_world.space.ranks; i++)
		PAMI_Endpoint_create(agas_world.client, i, 0, &agas_world.endpoint[i]);
	return 0;
}

static int set_dispatch(void)
{
	pami_dispatch_hint_t hint = {.consistency = PAMI_HINT_ENABLE};
	static const struct {
		size_t id;
		pami_dispatch_p2p_function fn;
	} all[] = {{AGAS_DISPATCH_REQUEST, agas_serve_receive},
		   {AGAS_DISPATCH_REPLY, agas_op_receive_reply},
		   {AGAS_DISPATCH_MOVE, agas_move_receive},
		   {AGAS_DISPATCH_CONTROL, agas_control_receive},
		   {AGAS_DISPATCH_NETWORK, agas_network_receive},
		   {AGAS_DISPATCH_MEET, agas_coll_receive}};
	pami_configuration_t q[2] = {{.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX},
				     {.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX}};
	pami_result_t rc;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		pami_dispatch_callback_function f = {.p2p = all[i].fn};

		/*
		 * Ranks cannot use a block while it travels. In virtual time rendezvous is faster,
		 * since no core copies its bytes; in real time PAMI chooses the cheaper way.
		 */
		hint.use_rdma = agas_world.is_virtual && all[i].id == AGAS_DISPATCH_MOVE
				    ? PAMI_HINT_ENABLE
				    : PAMI_HINT_DEFAULT;
		rc = PAMI_Dispatch_set(agas_world.context, all[i].id, f, NULL, hint);
		if (rc != PAMI_SUCCESS)
			return log_failure("register active messages", rc);
	}
	rc = PAMI_Dispatch_query(agas_world.context, AGAS_DISPATCH_REQUEST, q, 2);
	if (rc != PAMI_SUCCESS)
		return log_failure("query the limits of active messages", rc);
	agas_world.immediate_max =
	    q[0].value.intval < q[1].value.intval ? q[0].value.intval : q[1].value.intval;
	return 0;
}

static bool read_settings(void)
{
	static const enum drv_setting_id all[] = {
	    DRV_QUINTORUS_AGAS_PAGE,       DRV_QUINTORUS_AGAS_CACHE, DRV_QUINTORUS_AGAS_CACHE_SIZE,
	    DRV_QUINTORUS_AGAS_CACHE_LOCK, DRV_QUINTORUS_AGAS_MISS,  DRV_QUINTORUS_AGAS_PARKED,
	    DRV_QUINTORUS_AGAS_PROGRESS,   DRV_QUINTORUS_AGAS_LOCAL};
	uint64_t page = drv_setting_number(DRV_QUINTORUS_AGAS_PAGE);
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (drv_setting_check(all[i]))
			return false;
	agas_world.space.page_shift = agas_size_class(page);
	agas_world.miss = (enum agas_miss)drv_setting_choice(DRV_QUINTORUS_AGAS_MISS);
	agas_world.parked_max = drv_setting_number(DRV_QUINTORUS_AGAS_PARKED);
	return true;
}

static int open_tables(void)
{
	enum agas_cache_policy policy =
	    (enum agas_cache_policy)drv_setting_choice(DRV_QUINTORUS_AGAS_CACHE);
	size_t room = drv_setting_number(DRV_QUINTORUS_AGAS_CACHE_SIZE);
	uint32_t shift = agas_world.space.page_shift;
	uint64_t pages = ((uint64_t)1 << (AGAS_OFFSET_BITS - shift)) - 1;

	if (!room && (policy == AGAS_CACHE_RANDOM || policy == AGAS_CACHE_LRU))
		room = 1024;
	agas_world.cache = agas_cache_create(
	    policy, room, shift, (int)drv_setting_choice(DRV_QUINTORUS_AGAS_CACHE_LOCK));
	agas_world.seen = agas_table_create(64, AGAS_TABLE_ALONE, false);
	/* Address 0 is null. Offset 0 of a segment is a rank's HPX_THERE. */
	if (agas_world.cache && agas_world.seen && agas_blocks_open() && agas_serve_open() &&
	    agas_ranges_open(&agas_world.pages, 1, pages) &&
	    agas_ranges_open(&agas_world.rows, (uint64_t)1 << AGAS_SIZE_MAX,
			     AGAS_OFFSET_MASK - ((uint64_t)1 << AGAS_SIZE_MAX)) &&
	    agas_ranges_open(&agas_world.heap, (uint64_t)1 << AGAS_SIZE_MAX,
			     AGAS_OFFSET_MASK - ((uint64_t)1 << AGAS_SIZE_MAX)))
		return 0;
	return log_failure("allocate tables", PAMI_ENOMEM);
}

/* All ranks compute with one page size. */
static int check_page_size(void)
{
	uint32_t mine = agas_world.space.page_shift, root = mine;
	int rc = agas_coll_bcast(&root, sizeof(root), 0);

	if (!rc && root != mine) {
		drv_error(
		    "agas: rank 0 has pages of %llu bytes, rank %u of %llu: give all ranks the "
		    "same QUINTORUS_AGAS_PAGE",
		    1ull << root, agas_world.me, 1ull << mine);
		rc = AGAS_ESTATE;
	}
	return rc;
}

static void close_all(void)
{
	if (ext.disable && agas_world.context)
		ext.disable(agas_world.context, ASYNC_SHARED);
	PAMI_Extension_close(ext.progress);
	PAMI_Extension_close(ext.deaths);
	PAMI_Extension_close(ext.wait);
	if (agas_world.context)
		PAMI_Context_destroyv(&agas_world.context, 1);
	agas_blocks_release();
	agas_network_close();
	if (agas_world.client)
		PAMI_Client_destroy(&agas_world.client);
	agas_ops_release();
	agas_actions_release();
	agas_lcos_release();
	agas_serve_release();
	agas_coll_close();
	agas_cache_destroy(agas_world.cache);
	agas_table_destroy(agas_world.seen);
	agas_ranges_close(&agas_world.heap);
	agas_ranges_close(&agas_world.pages);
	agas_ranges_close(&agas_world.rows);
	free(agas_world.endpoint);
	free(agas_world.dead);
	memset(&agas_world, 0, sizeof(agas_world));
	memset(&ext, 0, sizeof(ext));
	memset(agas_counter, 0, sizeof(agas_counter));
}

static int open_world(void)
{
	int rc = AGAS_ESTATE;

	if (read_settings())
		rc = open_client();
	if (!rc) {
		agas_world.is_virtual = find_virtual();
		rc = set_dispatch();
	}
	if (!rc)
		rc = agas_coll_open();
	if (!rc)
		rc = open_tables();
	if (rc)
		return rc;
	open_wait();
	open_deaths();
	agas_network_open();
	agas_world.goes_out = agas_network_leads() && !drv_setting_flag(DRV_QUINTORUS_AGAS_LOCAL);
	{
		AGAS_LOCK;
		rc = check_page_size();
		if (!rc)
			rc = agas_coll_barrier();
	}
	/* From here on requests may arrive, and every rank can take them. */
	open_progress();
	agas_world.open = !rc;
	return rc;
}

#pragma GCC visibility push(default)

int agas_init(int *argc, char **argv[])
{
	int rc;

	if (agas_world.open)
		return 0;
	rc = open_world();
	if (rc)
		close_all();
	return rc;
}

void agas_fini(void)
{
	if (!agas_world.open)
		return;
	agas_fence();
	{
		AGAS_LOCK;
		/* Meet a second time, so that no rank ends while another still needs its
		 * answers. */
		agas_coll_meet();
		agas_blocks_unbind();
		agas_coll_part();
	}
	close_all();
}

int agas_pe(void)
{
	return agas_world.open ? (int)agas_world.me : AGAS_ESTATE;
}

int agas_npes(void)
{
	return agas_world.open ? (int)agas_world.space.ranks : AGAS_ESTATE;
}

size_t agas_page_size(void)
{
	return agas_world.open ? (size_t)1 << agas_world.space.page_shift : 0;
}

void agas_stats(struct agas_stats *out, int reset)
{
	uint64_t *count = (uint64_t *)out;
	int i;

	memset(out, 0, sizeof(*out));
	if (!agas_world.open)
		return;
	AGAS_LOCK;
	for (i = 0; i < AGAS_COUNTERS; i++) {
		count[i] = atomic_load_relaxed(&agas_counter[i]);
		if (reset)
			atomic_store_relaxed(&agas_counter[i], 0);
	}
	out->cache_entries = agas_cache_count(agas_world.cache);
	out->cache_bytes = agas_cache_bytes(agas_world.cache);
	out->blocks = agas_blocks_count();
	out->homes = agas_table_count(agas_world.homes);
}

#pragma GCC visibility pop
