/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARMCI_Init and ARMCI_Finalize: the PAMI client, its two contexts and their progress; and how a
 * job ends.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "armci/core/api.h"
#include "armci/core/counter.h"
#include "armci/core/env.h"
#include "armci/core/limits.h"
#include "armci/core/locality.h"
#include "armci/core/pool.h"
#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"
#include "armci/memory/alloc.h"
#include "armci/memory/region.h"
#include "armci/memory/seg.h"
#include "armci/mpi/beside.h"
#include "armci/remote/am.h"
#include "armci/remote/mail.h"
#include "armci/remote/mutex.h"
#include "armci/remote/notify.h"
#include "armci/remote/serve.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/agg.h"
#include "armci/transfer/op.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "pami/ext_atomics.h"
#include "pami/ext_deaths.h"
#include "pami/ext_wait.h"

typedef void (*progress_fn)(pami_context_t, void *);
typedef pami_result_t (*register_fn)(pami_context_t, progress_fn, progress_fn, progress_fn, void *);
typedef pami_result_t (*enable_fn)(pami_context_t, int);
typedef void (*pace_fn)(int64_t ns);

/* event type of EXT_async_progress: also while this process waits on ORIGIN */
enum { ASYNC_SHARED = 1000 };

struct armci_world armci_world;

static struct {
	pami_extension_t progress, memory, deaths, wait, atomics;
	enable_fn disable;
} ext;

void armci_die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	if (armci_world.nproc)
		fprintf(stderr, "armci: process %d of %d: ", armci_world.me, armci_world.nproc);
	else
		fprintf(stderr, "armci: before ARMCI_Init, or after ARMCI_Finalize: ");
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(NULL);
	_exit(1); /* The launcher ends the other processes. */
}

int armci_check_proc(int proc)
{
	return proc < 0 || proc >= armci_world.nproc ? FAIL5 : 0;
}

void armci_serve_lock(void)
{
	if (!armci_world.single)
		PAMI_Context_lock(armci_world.context[ARMCI_SERVE]);
}

void armci_serve_unlock(void)
{
	if (!armci_world.single)
		PAMI_Context_unlock(armci_world.context[ARMCI_SERVE]);
}

/* ---- processes that die ---- */

bool armci_is_dead(int proc)
{
	return armci_world.is_dead && armci_world.is_dead((pami_task_t)proc);
}

static void on_death(pami_context_t context, void *cookie)
{
	int i;

	if (context == armci_world.context[ARMCI_SERVE]) {
		for (i = 0; i < armci_world.nproc; i++)
			if (armci_is_dead(i))
				atomic_store_release(&armci_world.target[i].dead_on_serve, 1);
		armci_mutex_remove_dead(context);
	}
	if (context == armci_world.context[ARMCI_ORIGIN])
		atomic_store_relaxed(&armci_world.death_seen, 1);
}

static void open_deaths(void)
{
	pami_quintorus_watch_fn watch;
	int i;

	if (PAMI_Extension_open(armci_world.client, PAMI_EXT_QUINTORUS_DEATHS, &ext.deaths) !=
	    PAMI_SUCCESS)
		return; /* Another PAMI: operations wait for what dead processes owe. */
	watch = (pami_quintorus_watch_fn)PAMI_Extension_symbol(ext.deaths, "watch");
	armci_world.is_dead = (pami_quintorus_gone_fn)PAMI_Extension_symbol(ext.deaths, "gone");
	for (i = 0; watch && i < (armci_world.single ? 1 : ARMCI_CONTEXTS); i++)
		watch(armci_world.context[i], on_death, NULL);
	atomic_store_relaxed(&armci_world.death_seen, 1); /* some may have died before */
	armci_spin_set_holder(armci_world.me, armci_is_dead);
}

static void open_wait(void)
{
	pami_quintorus_advancev_fn advancev = NULL;

	if (PAMI_Extension_open(armci_world.client, PAMI_EXT_QUINTORUS_WAIT, &ext.wait) ==
	    PAMI_SUCCESS)
		advancev = (pami_quintorus_advancev_fn)PAMI_Extension_symbol(ext.wait, "advancev");
	armci_wait_set(advancev);
}

static void open_atomics(void)
{
	if (PAMI_Extension_open(armci_world.client, PAMI_EXT_QUINTORUS_ATOMICS, &ext.atomics) ==
	    PAMI_SUCCESS)
		armci_world.has_atomic =
		    (pami_quintorus_has_atomic_fn)PAMI_Extension_symbol(ext.atomics, "has");
}

static int open_progress(void)
{
	register_fn enter;
	enable_fn enable;
	pace_fn pace;

	if (!armci_env.thread)
		return 0;
	if (PAMI_Extension_open(armci_world.client, "EXT_async_progress", &ext.progress) !=
	    PAMI_SUCCESS)
		return 0; /* SERVE then progresses only inside this process's own ARMCI calls. */
	enter = (register_fn)PAMI_Extension_symbol(ext.progress, "register");
	enable = (enable_fn)PAMI_Extension_symbol(ext.progress, "enable");
	ext.disable = (enable_fn)PAMI_Extension_symbol(ext.progress, "disable");
	if (!enter || !enable || !ext.disable)
		return 0;
	pace = (pace_fn)PAMI_Extension_symbol(ext.progress, "pace");
	if (armci_env.progress_us >= 0 && pace)
		pace(armci_env.progress_us * 1000);
	/* Without a function of ours the extension locks the context and advances it. */
	if (enter(armci_world.context[ARMCI_SERVE], NULL, NULL, NULL, NULL) != PAMI_SUCCESS)
		return FAIL6;
	if (enable(armci_world.context[ARMCI_SERVE], ASYNC_SHARED) != PAMI_SUCCESS)
		return 0; /* PAMI_MAX_COMMTHREADS=0 */
	armci_world.thread = true;
	return 0;
}

static void open_memory(void)
{
	struct armci_ext_memory *m = &armci_world.memory;
	pami_extension_t e;

	if (PAMI_Extension_open(armci_world.client, "EXT_quintorus_memory", &e) != PAMI_SUCCESS)
		return;
	ext.memory = e;
	m->alloc = (void *(*)(size_t, size_t))PAMI_Extension_symbol(e, "alloc");
	m->free = (void (*)(void *))PAMI_Extension_symbol(e, "free");
	m->local = (void *(*)(pami_task_t, void *, size_t))PAMI_Extension_symbol(e, "local");
	if (!m->alloc || !m->free || !m->local)
		memset(m, 0, sizeof(*m));
}

/* Equal numbers for equal values of ARMCI_HOSTNAME (FNV-1a). */
static uint64_t name_hash(const char *s)
{
	uint64_t h = 14695981039346656037u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 1099511628211u;
	return h;
}

/* Do not map the memory of processes with another ARMCI_HOSTNAME. */
static int unmap_other_names(void)
{
	uint64_t own = name_hash(armci_env.host),
		 *all = malloc((size_t)armci_world.nproc * sizeof(*all));
	int i;

	if (!all) {
		drv_error("armci: no memory for the names of %d processes", armci_world.nproc);
		return FAIL6;
	}
	if (armci_coll_allgather(armci_world.all, &own, all, sizeof(own))) {
		free(all);
		return FAIL6;
	}
	for (i = 0; i < armci_world.nproc; i++)
		if (all[i] != own)
			armci_world.mapped[i] = 0;
	free(all);
	return 0;
}

/* Choose the processes whose memory this one maps: those of its torus node, or as settings say. */
static int choose_mapped(void)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_NUM_LOCAL_TASKS},
				     {.name = PAMI_CLIENT_LOCAL_TASKS}};
	size_t i;

	if (!armci_world.memory.local || armci_env.direct == ARMCI_MAP_NONE || armci_env.alone)
		memset(armci_world.mapped, 0, (size_t)armci_world.nproc);
	else if (armci_env.direct == ARMCI_MAP_HOST)
		memset(armci_world.mapped, 1, (size_t)armci_world.nproc);
	else if (PAMI_Client_query(armci_world.client, q, 2) == PAMI_SUCCESS)
		for (i = 0; i < q[0].value.intval; i++)
			armci_world.mapped[q[1].value.intarray[i]] = 1;
	return unmap_other_names();
}

void *armci_mapped_at(int proc, uintptr_t va, size_t bytes)
{
	if (proc == armci_world.me)
		return (void *)va;
	DRV_ASSERT(!armci_world.mapped[proc] || armci_world.memory.local);
	return armci_world.mapped[proc]
		   ? armci_world.memory.local((pami_task_t)proc, (void *)va, bytes)
		   : NULL;
}

int armci_client_open(void)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};
	pami_result_t rc;

	if (armci_world.client)
		return 0;
	rc = PAMI_Client_create("armci", &armci_world.client, NULL, 0);
	if (rc == PAMI_SUCCESS)
		rc = PAMI_Client_query(armci_world.client, q, 2);
	if (rc != PAMI_SUCCESS) {
		drv_error("armci: cannot create the PAMI client (PAMI result %d)", (int)rc);
		armci_world.client = NULL;
		return FAIL6;
	}
	armci_world.me = (int)q[0].value.intval;
	armci_world.nproc = (int)q[1].value.intval;
	return 0;
}

static int open_contexts(void)
{
	bool single = armci_env.contexts == ARMCI_CONTEXTS_ONE;
	pami_result_t rc = PAMI_Context_createv(armci_world.client, NULL, 0, armci_world.context,
						single ? 1 : ARMCI_CONTEXTS);

	if (rc == PAMI_SUCCESS) {
		if (single)
			armci_world.context[ARMCI_SERVE] = armci_world.context[ARMCI_ORIGIN];
		armci_world.single = single;
		armci_threads_open(single);
		return 0;
	}
	drv_error("armci: cannot create the PAMI contexts (PAMI result %d)", (int)rc);
	PAMI_Client_destroy(&armci_world.client);
	armci_world.client = NULL;
	return FAIL6;
}

static int set_dispatch(void)
{
	pami_dispatch_hint_t hint = {.consistency = PAMI_HINT_ENABLE},
			     follow = {.consistency = PAMI_HINT_ENABLE,
				       .use_rdma = PAMI_HINT_DISABLE};
	pami_dispatch_callback_function request = {.p2p = armci_serve_request},
					reply = {.p2p = armci_am_reply},
					mail = {.p2p = armci_mail_receive};
	pami_configuration_t q[2] = {{.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX},
				     {.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX}};
	pami_context_t origin = armci_world.context[ARMCI_ORIGIN],
		       serve = armci_world.context[ARMCI_SERVE];

	/* Both contexts know both ids, since a context may send only ids it knows. */
	if ((!armci_world.single &&
	     (PAMI_Dispatch_set(serve, ARMCI_DISPATCH_REQUEST, request, NULL, hint) !=
		  PAMI_SUCCESS ||
	      PAMI_Dispatch_set(serve, ARMCI_DISPATCH_REPLY, reply, NULL, hint) != PAMI_SUCCESS ||
	      PAMI_Dispatch_set(serve, ARMCI_DISPATCH_DATA, reply, NULL, follow) !=
		  PAMI_SUCCESS)) ||
	    PAMI_Dispatch_set(origin, ARMCI_DISPATCH_REQUEST, request, NULL, hint) !=
		PAMI_SUCCESS ||
	    PAMI_Dispatch_set(origin, ARMCI_DISPATCH_REPLY, reply, NULL, hint) != PAMI_SUCCESS ||
	    PAMI_Dispatch_set(origin, ARMCI_DISPATCH_DATA, reply, NULL, follow) != PAMI_SUCCESS ||
	    PAMI_Dispatch_set(origin, ARMCI_DISPATCH_MAIL, mail, NULL, hint) != PAMI_SUCCESS ||
	    PAMI_Dispatch_query(origin, ARMCI_DISPATCH_REQUEST, q, 2) != PAMI_SUCCESS) {
		drv_error("armci: cannot register active messages");
		return FAIL6;
	}
	armci_world.immediate_max =
	    q[0].value.intval < q[1].value.intval ? q[0].value.intval : q[1].value.intval;
	return 0;
}

/* Allocate this process's accumulate locks in memory that its node can map, and map the others'. */
static int share_stripes(void)
{
	size_t bytes = ARMCI_STRIPES * 64 + ARMCI_SHARED_BYTES;
	struct armci_ext_memory *m = &armci_world.memory;
	uint64_t own, *all = calloc((size_t)armci_world.nproc, sizeof(*all));
	int i;

	armci_world.stripe_page = m->alloc ? m->alloc(bytes, 64) : aligned_alloc(64, bytes);
	if (!all || !armci_world.stripe_page) {
		free(all);
		drv_error("armci: no memory for accumulate locks");
		return FAIL6;
	}
	memset(armci_world.stripe_page, 0, bytes);
	own = (uint64_t)(uintptr_t)armci_world.stripe_page;
	if (armci_coll_allgather(armci_world.all, &own, all, sizeof(own))) {
		free(all);
		return FAIL6;
	}
	/* A task that cannot map its own shared memory runs in virtual time. */
	armci_world.is_virtual =
	    m->local && !m->local((pami_task_t)armci_world.me, armci_world.stripe_page, 1);
	for (i = 0; i < armci_world.nproc; i++) {
		char *page =
		    m->local ? m->local((pami_task_t)i, (void *)(uintptr_t)all[i], bytes) : NULL;

		armci_world.stripes[i] = armci_mapped_at(i, (uintptr_t)all[i], bytes);
		armci_world.shared[i] = page ? page + (size_t)ARMCI_STRIPES * 64 : NULL;
	}
	free(all);
	return 0;
}

static int start_tables(void)
{
	size_t n = (size_t)armci_world.nproc;

	armci_world.map = calloc(n, sizeof(*armci_world.map));
	armci_world.target = calloc(n, sizeof(*armci_world.target));
	armci_world.stripes = calloc(n, sizeof(*armci_world.stripes));
	armci_world.shared = calloc(n, sizeof(*armci_world.shared));
	armci_world.mapped = calloc(n, 1);
	if (armci_world.map && armci_world.target && armci_world.stripes && armci_world.shared &&
	    armci_world.mapped)
		return 0;
	drv_error("armci: no memory for the tables of %d processes", armci_world.nproc);
	return FAIL6;
}

static int start_library(void)
{
	int rc = armci_env_read();

	if (!rc) {
		armci_mpi_find();
		rc = armci_client_open();
	}
	if (!rc)
		rc = open_contexts();
	if (!rc)
		rc = start_tables();
	if (!rc)
		rc = set_dispatch();
	if (!rc)
		rc = armci_group_init();
	if (rc)
		return rc;
	armci_mpi_open();
	open_deaths();
	open_wait();
	open_atomics();
	open_memory();
	rc = choose_mapped();
	if (!rc)
		rc = share_stripes();
	if (!rc)
		rc = armci_locality_init();
	if (!rc)
		rc = armci_notify_init();
	if (!rc)
		rc = armci_region_init();
	if (!rc && !armci_acc_choose(armci_env.simd)) {
		drv_error("armci: QUINTORUS_ARMCI_SIMD: this processor lacks those instructions; "
			  "set auto");
		rc = FAIL6;
	}
	if (!rc && armci_env.acc != ARMCI_ACC_TARGET)
		rc = armci_mutex_init();
	if (!rc)
		/* The handlers have all they read, and no request arrives before the barrier. */
		rc = open_progress();
	if (!rc)
		rc = armci_coll_barrier(armci_world.all);
	if (!rc && armci_world.me == 0)
		armci_env_print();
	return rc;
}

int PARMCI_Init(void)
{
	ARMCI_ENTER;
	static bool failed;
	int rc;

	if (failed) {
		drv_error("armci: ARMCI_Init failed before in this process and cannot be repeated");
		return FAIL6;
	}
	if (atomic_fetch_add_relaxed(&armci_world.users, 1))
		return 0;
	rc = start_library();
	failed = rc != 0;
	if (rc)
		atomic_store_relaxed(&armci_world.users, 0);
	return rc;
}
ARMCI_ALIAS(Init);

int PARMCI_Init_args(int *argc, char ***argv)
{
	return PARMCI_Init();
}
ARMCI_ALIAS(Init_args);

int PARMCI_Initialized(void)
{
	return atomic_load_relaxed(&armci_world.users) > 0;
}
ARMCI_ALIAS(Initialized);

int PARMCI_Finalize(void)
{
	ARMCI_ENTER;
	bool died;
	int i;

	if (!PARMCI_Initialized() || atomic_sub_fetch_relaxed(&armci_world.users, 1))
		return 0;
	armci_fence_all();
	while (armci_world.offers_pending) /* Owners may still use this memory. */
		armci_poll();
	died = armci_coll_barrier(armci_world.all) != 0;
	if (died) {
		armci_finalize_announce();
		armci_finalize_await();
	}
	armci_notify_release();
	armci_memget_release();
	armci_alloc_release_all();
	if (armci_env.verbose == 2)
		armci_counter_print();
	/* From here on no process sends a request. */
	if (armci_coll_barrier(armci_world.all) && !died)
		armci_finalize_announce();
	if (ext.disable && armci_world.thread)
		ext.disable(armci_world.context[ARMCI_SERVE], ASYNC_SHARED);
	armci_pool_release();
	if (armci_world.memory.free)
		armci_world.memory.free(armci_world.stripe_page);
	else
		free(armci_world.stripe_page);
	PAMI_Extension_close(ext.progress);
	PAMI_Extension_close(ext.memory);
	PAMI_Extension_close(ext.deaths);
	PAMI_Extension_close(ext.atomics);
	armci_threads_close();
	PAMI_Context_destroyv(armci_world.context, armci_world.single ? 1 : ARMCI_CONTEXTS);
	PAMI_Client_destroy(&armci_world.client);
	armci_pool_reset();
	armci_req_release_all();
	armci_mail_release();
	armci_agg_release();
	armci_mutex_release();
	armci_region_release();
	armci_mpi_close();
	armci_group_release_all();
	armci_locality_release();
	for (i = 0; i < armci_world.nproc; i++)
		armci_map_release(&armci_world.map[i]);
	free(armci_world.map);
	free(armci_world.target);
	free(armci_world.stripes);
	free(armci_world.shared);
	free(armci_world.mapped);
	memset(&armci_world, 0, sizeof(armci_world));
	memset(&ext, 0, sizeof(ext));
	memset(armci_counter, 0, sizeof(armci_counter));
	return 0;
}
ARMCI_ALIAS(Finalize);

/* Nothing outlives the process: its segments are anonymous and end with the job's agent. */
void ARMCI_Cleanup(void) {}

void ARMCI_Error(const char *msg, int code)
{
	fflush(stdout);
	fprintf(stderr, "armci: process %d of %d: %s (code %d)\n", armci_world.me,
		armci_world.nproc, msg ? msg : "error", code);
	fflush(NULL);
	_exit(code & 0xff ? code & 0xff : 1);
}

void armci_msg_abort(int code)
{
	ARMCI_Error("aborted", code);
}

#pragma GCC visibility push(default)

int ARMCIX_Is_dead(int proc)
{
	return proc >= 0 && proc < armci_world.nproc && armci_is_dead(proc);
}

#pragma GCC visibility pop
