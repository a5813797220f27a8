/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening extensions, and looking up their symbols. Small extensions are in this file, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mu/channel/room.h"
#include "mu/segment/arena_node.h"
#include "pami/core/advance.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/ext/ext.h"
#include "pami/p2p/receive.h"
#include "pami/ext_atomics.h"
#include "pami/ext_deaths.h"
#include "pami/ext_memory.h"
#include "pami/ext_wait.h"

static const struct pami_ext *const extensions[] = {
    &pami_ext_async,   &pami_ext_torus,  &pami_ext_local,  &pami_ext_mapping, &pami_ext_test,
    &pami_ext_memory,  &pami_ext_deaths, &pami_ext_wait,   &pami_ext_atomics, &pami_ext_virtual,
    &pami_ext_address, &pami_ext_place,  &pami_ext_credit, &pami_ext_pieces,
};

PAMI_EXPORT pami_result_t PAMI_Extension_open(pami_client_t client, const char *name,
					      pami_extension_t *extension)
{
	if (!extension)
		return pami_fail(PAMI_INVAL, "no address for the extension handle");
	*extension = NULL;
	for (size_t i = 0; name && i < sizeof extensions / sizeof *extensions; i++) {
		const struct pami_ext *e = extensions[i];

		if (strcmp(e->name, name))
			continue;
		if (e->open && e->open())
			return pami_fail(PAMI_ERROR,
					 "the extension needs a client, and none exists");
		*extension = (void *)(uintptr_t)e;
		return PAMI_SUCCESS;
	}
	return pami_fail(PAMI_UNIMPL, "no such extension");
}

PAMI_EXPORT pami_result_t PAMI_Extension_close(pami_extension_t extension)
{
	return PAMI_SUCCESS;
}

PAMI_EXPORT void *PAMI_Extension_symbol(pami_extension_t extension, const char *name)
{
	const struct pami_ext *e = NULL;

	for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
		if (extensions[i] == extension)
			e = extensions[i];
	if (e && name)
		for (const struct pami_ext_symbol *s = e->symbol; s->name; s++)
			if (!strcasecmp(s->name, name))
				return s->get ? s->get() : s->value;
	return NULL;
}

/* ---- EXT_test_extension ---- */

struct where {
	size_t line;
	char func[128];
};

static void test_foo(void)
{
	fprintf(stderr, "%s: %s, line %d\n", __FILE__, __func__, __LINE__);
}

static void test_bar(struct where *w)
{
	w->line = __LINE__;
	snprintf(w->func, sizeof w->func, "%s", __func__);
}

static const struct pami_ext_symbol test_symbols[] = {
    {"foo", (void *)test_foo, NULL},
    {"bar", (void *)test_bar, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_test = {"EXT_test_extension", NULL, test_symbols};

/* ---- EXT_quintorus_memory ---- */

static void *memory_local(pami_task_t task, void *va, size_t bytes)
{
	return mu_arena_address(task, (uint64_t)(uintptr_t)va, bytes);
}

static void *memory_node(pami_task_t task, void *va, size_t bytes)
{
	return mu_arena_address_of_node(task, (uint64_t)(uintptr_t)va, bytes);
}

static const struct pami_ext_symbol memory_symbols[] = {
    {"alloc", (void *)mu_arena_alloc, NULL},
    {"free", (void *)mu_arena_free, NULL},
    {"local", (void *)memory_local, NULL},
    {"node", (void *)memory_node, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_memory = {PAMI_EXT_QUINTORUS_MEMORY, NULL, memory_symbols};

/* ---- EXT_quintorus_deaths ---- */

static pami_result_t deaths_watch(pami_context_t context, pami_quintorus_death_fn fn, void *cookie)
{
	struct pami_context *ctx = context;

	if (!pami_context_is_valid(context))
		return pami_fail(PAMI_INVAL, "no such context");
	ctx->deaths.notify = fn;
	ctx->deaths.cookie = cookie;
	return PAMI_SUCCESS;
}

static int deaths_gone(pami_task_t task)
{
	return mu_task_is_unreachable(task);
}

static const struct pami_ext_symbol deaths_symbols[] = {
    {"watch", (void *)deaths_watch, NULL},
    {"gone", (void *)deaths_gone, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_deaths = {PAMI_EXT_QUINTORUS_DEATHS, NULL, deaths_symbols};

/* ---- EXT_quintorus_wait ---- */

static int wait_room(pami_context_t context)
{
	struct pami_context *ctx = pami_context_of(context);

	return pami_context_is_valid(context) && !ctx->queue.first && mu_has_room(ctx->channel);
}

static const struct pami_ext_symbol wait_symbols[] = {
    {"advancev", (void *)pami_advance_wait, NULL},
    {"room", (void *)wait_room, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_wait = {PAMI_EXT_QUINTORUS_WAIT, NULL, wait_symbols};

/* ---- EXT_quintorus_atomics ---- */

static const struct pami_ext_symbol atomics_symbols[] = {
    {"has", (void *)pami_rmw_is_by_mu, NULL},
    {"count", (void *)pami_rmw_count, NULL},
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_atomics = {PAMI_EXT_QUINTORUS_ATOMICS, NULL, atomics_symbols};
