/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_Client_Init: the PAMI client and its contexts, what processes tell each other at the start.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "gasnet/am/am.h"
#include "gasnet/core/env.h"
#include "gasnet/core/exit.h"
#include "gasnet/core/segment.h"
#include "gasnet/core/team.h"
#include "gasnet/ratomic/ratomic.h"
#include "gasnet/vis/transfer.h"

typedef void (*progress_fn)(pami_context_t, void *);
typedef pami_result_t (*register_fn)(pami_context_t, progress_fn, progress_fn, progress_fn, void *);
typedef pami_result_t (*enable_fn)(pami_context_t, int);

/* event type of EXT_async_progress: also while this process waits on GEXI_MAIN */
enum { ASYNC_SHARED = 1000 };

struct gexi_world gexi_world;
static struct gexi_team world_team;

void gexi_die(const char *format, ...)
{
	char reason[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	fflush(stdout);
	/* One call writes the line: standard error has no buffer, and others write to it, too. */
	fprintf(stderr, "gasnet: process %u of %u: %s\n", gexi_world.me, gexi_world.nproc, reason);
	fflush(NULL);
	_exit(1); /* The launcher ends the other processes. */
}

void gexi_no_address(const char *call)
{
	gexi_die("%s: the address in this process is NULL", call);
}

/* ---- the client and its contexts ---- */

static void *open_symbol(const char *extension, const char *symbol)
{
	pami_extension_t e;

	if (PAMI_Extension_open(gexi_world.client, extension, &e) != PAMI_SUCCESS)
		return NULL;
	return PAMI_Extension_symbol(e, symbol); /* valid also after e was closed */
}

static void on_death(pami_context_t context, void *cookie)
{
	for (uint32_t t = 0; gexi_world.is_gone && t < gexi_world.nproc; t++)
		if (t != gexi_world.me && gexi_world.is_gone(t) && !gexi_world.is_exiting)
			gexi_die("process %u has died or left the job without gasnet_exit", t);
}

/* Stands in if PAMI has no extension for messages in place. */
static pami_result_t no_place(pami_context_t context, pami_quintorus_place_t *place)
{
	return PAMI_EAGAIN;
}

static pami_result_t no_words(pami_context_t context, pami_endpoint_t dest, size_t dispatch,
			      uint64_t header, const uint64_t *data, size_t count)
{
	return PAMI_EAGAIN;
}

static pami_result_t no_padded(pami_context_t context, pami_endpoint_t dest, size_t dispatch,
			       const uint64_t *header, size_t count, const void *data,
			       size_t data_bytes)
{
	return PAMI_EAGAIN;
}

void gexi_spend_copy_slow(size_t bytes)
{
	if (gexi_world.spend)
		gexi_world.spend(gexi_world.store_ps + bytes * gexi_world.byte_ps);
}

static void open_extensions(void)
{
	pami_quintorus_virtual_is_on_fn is_on =
	    (pami_quintorus_virtual_is_on_fn)open_symbol(PAMI_EXT_QUINTORUS_VIRTUAL, "is_on");
	pami_quintorus_virtual_cost_fn cost =
	    (pami_quintorus_virtual_cost_fn)open_symbol(PAMI_EXT_QUINTORUS_VIRTUAL, "cost");
	pami_quintorus_watch_fn watch =
	    (pami_quintorus_watch_fn)open_symbol(PAMI_EXT_QUINTORUS_DEATHS, "watch");
	pami_quintorus_credit_open_fn credit;

	gexi_world.is_virtual = is_on && is_on();
	gexi_world.store_ps = cost ? cost("node_store") : 0;
	gexi_world.byte_ps = cost ? cost("copy_byte") : 0;
	gexi_world.is_gone = (pami_quintorus_gone_fn)open_symbol(PAMI_EXT_QUINTORUS_DEATHS, "gone");
	gexi_world.has_atomic =
	    (pami_quintorus_has_atomic_fn)open_symbol(PAMI_EXT_QUINTORUS_ATOMICS, "has");
	gexi_world.count_atomic =
	    (pami_quintorus_count_atomic_fn)open_symbol(PAMI_EXT_QUINTORUS_ATOMICS, "count");
	gexi_world.spend =
	    (pami_quintorus_virtual_spend_fn)open_symbol(PAMI_EXT_QUINTORUS_VIRTUAL, "spend");
	gexi_world.alloc = (pami_quintorus_alloc_fn)open_symbol(PAMI_EXT_QUINTORUS_MEMORY, "alloc");
	gexi_world.free = (pami_quintorus_free_fn)open_symbol(PAMI_EXT_QUINTORUS_MEMORY, "free");
	gexi_world.local = (pami_quintorus_local_fn)open_symbol(PAMI_EXT_QUINTORUS_MEMORY, "local");
	gexi_world.node = (pami_quintorus_node_fn)open_symbol(PAMI_EXT_QUINTORUS_MEMORY, "node");
	gexi_world.advancev =
	    (pami_quintorus_advancev_fn)open_symbol(PAMI_EXT_QUINTORUS_WAIT, "advancev");
	gexi_world.room = (pami_quintorus_room_fn)open_symbol(PAMI_EXT_QUINTORUS_WAIT, "room");
	gexi_world.reserve =
	    (pami_quintorus_reserve_fn)open_symbol(PAMI_EXT_QUINTORUS_PLACE, "reserve");
	gexi_world.commit =
	    (pami_quintorus_commit_fn)open_symbol(PAMI_EXT_QUINTORUS_PLACE, "commit");
	gexi_world.get_pieces =
	    (pami_quintorus_get_pieces_fn)open_symbol(PAMI_EXT_QUINTORUS_PIECES, "get");
	gexi_world.settle =
	    (pami_quintorus_credit_settle_fn)open_symbol(PAMI_EXT_QUINTORUS_CREDIT, "settle");
	credit = (pami_quintorus_credit_open_fn)open_symbol(PAMI_EXT_QUINTORUS_CREDIT, "open");
	if (!credit || credit(gexi_world.context[GEXI_MAIN], &gexi_peer(0)->credit,
			      sizeof(struct gexi_peer), gexi_world.env.credits) != PAMI_SUCCESS)
		gexi_die("PAMI has no %s", PAMI_EXT_QUINTORUS_CREDIT);
	gexi_world.words = (pami_quintorus_words_fn)open_symbol(PAMI_EXT_QUINTORUS_PLACE, "words");
	gexi_world.polls_plainly = !gexi_world.is_par;
	gexi_world.credits_kept = pami_quintorus_credit_kept(gexi_world.env.credits);
	if (!gexi_world.words)
		gexi_world.words = no_words;
	gexi_world.padded =
	    (pami_quintorus_padded_fn)open_symbol(PAMI_EXT_QUINTORUS_PLACE, "padded");
	gexi_world.framed =
	    (pami_quintorus_framed_fn)open_symbol(PAMI_EXT_QUINTORUS_PLACE, "framed");
	if (!gexi_world.framed)
		gexi_world.framed = PAMI_Send;
	if (!gexi_world.padded)
		gexi_world.padded = no_padded;
	if (!gexi_world.reserve || !gexi_world.commit)
		gexi_world.reserve = no_place;
	if (!gexi_world.advancev)
		gexi_world.advancev = PAMI_Context_advancev;
	if (watch)
		watch(gexi_world.context[GEXI_MAIN], on_death, NULL);
}

void gexi_serve_start(void)
{
	register_fn enter = (register_fn)open_symbol("EXT_async_progress", "register");
	enable_fn enable = (enable_fn)open_symbol("EXT_async_progress", "enable");
	pami_context_t serve = gexi_world.context[GEXI_SERVE];

	if (gexi_world.serves_beside || gexi_world.serves_in_polls)
		return;
	/* PAMI refuses this if there are no commthreads. */
	if (enter && enable && enter(serve, NULL, NULL, NULL, NULL) == PAMI_SUCCESS &&
	    enable(serve, ASYNC_SHARED) == PAMI_SUCCESS)
		gexi_world.serves_beside = true;
	else
		gexi_world.serves_in_polls = true;
	gexi_world.polls_plainly = !gexi_world.is_par && !gexi_world.serves_in_polls;
}

static int open_client(const char *name)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};
	pami_result_t rc = PAMI_Client_create(name, &gexi_world.client, NULL, 0);

	if (rc == PAMI_SUCCESS)
		rc = PAMI_Client_query(gexi_world.client, q, 2);
	if (rc == PAMI_SUCCESS)
		rc = PAMI_Context_createv(gexi_world.client, NULL, 0, gexi_world.context,
					  GEXI_CONTEXTS);
	if (rc != PAMI_SUCCESS) {
		drv_error("gasnet: cannot join the job (PAMI result %d)", (int)rc);
		gexi_world.client = NULL;
		return GASNET_ERR_RESOURCE;
	}
	gexi_world.me = (uint32_t)q[0].value.intval;
	gexi_world.nproc = (uint32_t)q[1].value.intval;
	return GASNET_OK;
}

static int open_peers(void)
{
	size_t n = gexi_world.nproc;

	gexi_world.peer = aligned_alloc(64, n * sizeof(*gexi_world.peer));
	if (!gexi_world.peer) {
		drv_error("gasnet: no memory for the table of %zu processes", n);
		return GASNET_ERR_RESOURCE;
	}
	memset(gexi_world.peer, 0, n * sizeof(*gexi_world.peer));
	for (uint32_t t = 0; t < n; t++)
		for (unsigned c = 0; c < GEXI_CONTEXTS; c++)
			PAMI_Endpoint_create(gexi_world.client, t, c, &gexi_peer(t)->endpoint[c]);
	/* A process reaches its own memory as it is, in every clock. */
	gexi_peer(gexi_world.me)->is_mapped = gexi_world.env.shm != 0;
	world_team = (struct gexi_team){.rank = gexi_world.me, .size = gexi_world.nproc};
	if (PAMI_Geometry_world(gexi_world.client, &world_team.geometry) != PAMI_SUCCESS)
		return GASNET_ERR_RESOURCE;
	gexi_world.team = &world_team;
	return GASNET_OK;
}

/* ---- neighbourhoods and hosts ---- */

struct hello {            /* what each process tells all others at the start */
	uint64_t machine; /* the same number on one machine */
	uint64_t slots;   /* address of its message slots */
	uint64_t probe;   /* address in its shared memory; 0: it has none */
	uint64_t segment_max;
	uint32_t leader; /* lowest job rank of its neighbourhood */
	uint32_t spare;
};

static uint64_t hash_text(uint64_t h, const char *s) /* FNV-1a */
{
	while (*s)
		h = (h ^ (unsigned char)*s++) * 1099511628211u;
	return h;
}

/* Return a number of this machine: tasks in network namespaces of one machine get the same. */
static uint64_t machine_number(void)
{
	char text[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	if (!text[0])
		gethostname(text, sizeof(text) - 1);
	return hash_text(14695981039346656037u, text);
}

/* The lowest job rank of this process's neighbourhood: tasks of its node, in runs of nbrhd_max. */
static uint32_t neighbourhood_leader(void *probe)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_NUM_LOCAL_TASKS},
				     {.name = PAMI_CLIENT_LOCAL_TASKS}};
	size_t i, n, most = gexi_world.env.nbrhd_max;

	if (!probe || !gexi_world.node || !gexi_world.node(gexi_world.me, probe, 64) ||
	    PAMI_Client_query(gexi_world.client, q, 2) != PAMI_SUCCESS)
		return gexi_world.me;
	n = q[0].value.intval;
	for (i = 0; i < n && q[1].value.intarray[i] != gexi_world.me; i++)
		;
	if (i == n)
		return gexi_world.me;
	return (uint32_t)q[1].value.intarray[most ? i - i % most : 0];
}

/*
 * The job ranks whose key is that of this process, and how many different keys there are. The
 * number of each process's key, in order of appearance, is stored at `number` of its peer.
 */
static gex_RankInfo_t *list_members(const uint64_t key[], size_t number, uint32_t *count,
				    uint32_t *index, uint32_t *sets, uint32_t *set)
{
	struct {
		gex_Rank_t rank;
	} *list = malloc(gexi_world.nproc * sizeof(*list));

	if (!list)
		gexi_die("no memory for a list of processes");
	*count = *sets = 0;
	for (uint32_t t = 0; t < gexi_world.nproc; t++) {
		uint32_t first = 0, set_of_t;

		while (key[first] != key[t])
			first++;
		set_of_t =
		    first == t ? (*sets)++ : *(uint32_t *)((char *)gexi_peer(first) + number);
		*(uint32_t *)((char *)gexi_peer(t) + number) = set_of_t;
		if (key[t] != key[gexi_world.me])
			continue;
		*set = set_of_t;
		if (t == gexi_world.me)
			*index = *count;
		list[(*count)++].rank = t;
	}
	return (gex_RankInfo_t *)list;
}

static int meet_others(void)
{
	void *probe = gexi_world.alloc ? gexi_world.alloc(64, 64) : NULL;
	struct hello own = {.machine = machine_number(),
			    .probe = (uint64_t)(uintptr_t)probe,
			    .leader = neighbourhood_leader(probe)},
		     *all;
	struct gexi_world *w = &gexi_world;
	uint64_t *key, least = UINT64_MAX;

	own.slots = (uint64_t)(uintptr_t)gexi_slots_open();
	all = malloc(w->nproc * sizeof(*all));
	key = malloc(w->nproc * sizeof(*key));
	if (!all || !key) {
		drv_error("gasnet: no memory to meet %u processes", w->nproc);
		free(all);
		free(key);
		return GASNET_ERR_RESOURCE;
	}
	gexi_allgather(w->team, &own, all, sizeof(own));
	for (uint32_t t = 0; t < w->nproc; t++)
		key[t] = all[t].machine;
	w->host = list_members(key, offsetof(struct gexi_peer, host), &w->host_count,
			       &w->host_index, &w->host_sets, &w->host_set);
	for (uint32_t t = 0; t < w->nproc; t++)
		key[t] = all[t].leader;
	w->nbrhd = list_members(key, offsetof(struct gexi_peer, nbrhd), &w->nbrhd_count,
				&w->nbrhd_index, &w->nbrhd_sets, &w->nbrhd_set);
	for (uint32_t i = 0; i < w->nbrhd_count; i++) {
		uint32_t t = w->nbrhd[i].gex_jobrank;

		if (all[t].slots && w->env.shm)
			gexi_peer(t)->slots =
			    w->local(t, (void *)(uintptr_t)all[t].slots, gexi_slots_bytes());
	}
	if (!w->env.segment_max)
		w->env.segment_max = gexi_segment_max_default();
	gexi_allgather(w->team, &w->env.segment_max, key, sizeof(*key));
	for (uint32_t t = 0; t < w->nproc; t++)
		least = key[t] < least ? key[t] : least;
	w->segment_max_global = (uintptr_t)least;
	for (uint32_t t = 0; t < w->nproc; t++)
		gexi_peer(t)->is_near =
		    all[t].probe && w->local && w->local(t, (void *)(uintptr_t)all[t].probe, 64);
	if (probe) /* All have the numbers, and nobody reads the memory. */
		w->free(probe);
	free(all);
	free(key);
	return GASNET_OK;
}

/* ---- the published names ---- */

int gexi_client_init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *name,
		     int *argc, char ***argv, gex_Flags_t flags, int mode)
{
	int rc;

	if (!name || !*name)
		return GASNET_ERR_BAD_ARG;
	if (gexi_world.client) {
		drv_error("gasnet: gex_Client_Init was called before in this process");
		return GASNET_ERR_BAD_ARG;
	}
	gexi_world.is_par = (mode & 3) == 2;
	gexi_world.is_seq = (mode & 3) == 0;
	gexi_world.is_debug = (mode & 4) != 0;
	rc = gexi_env_read();
	if (!rc)
		rc = open_client(name);
	if (!rc)
		rc = open_peers();
	if (rc)
		return rc;
	gexi_world.the_client.name = strdup(name);
	gexi_world.the_client.flags = flags;
	open_extensions();
	gexi_am_open();
	gexi_exit_open();
	gexi_ratomic_open();
	gexi_vis_open();
	rc = meet_others();
	if (rc)
		return rc;
	gexi_barrier(gexi_world.team);
	if (client_p)
		*client_p = &gexi_world.the_client;
	if (ep_p)
		*ep_p = &gexi_world.ep;
	if (tm_p)
		*tm_p = gexi_world.team;
	return GASNET_OK;
}
