/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/core/world.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <unistd.h>

#include "ofi/core/provider.h"

struct ofi_world ofi_world;

typedef pami_result_t (*register_fn)(pami_context_t, void *, void *, void *, void *);
typedef pami_result_t (*enable_fn)(pami_context_t, int);

enum { ASYNC_ALL = 0 };

static struct {
	pthread_mutex_t mutex;
	unsigned users;
	pami_extension_t wait, deaths, progress, time;
	register_fn enter;
	enable_fn enable, disable;
} world = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *find_symbol(pami_extension_t *extension, const char *name, const char *symbol_name)
{
	if (!*extension && PAMI_Extension_open(ofi_world.client, name, extension) != PAMI_SUCCESS)
		return NULL;
	return PAMI_Extension_symbol(*extension, symbol_name);
}

static void open_extensions(void)
{
	pami_quintorus_virtual_is_on_fn is_on = (pami_quintorus_virtual_is_on_fn)find_symbol(
	    &world.time, PAMI_EXT_QUINTORUS_VIRTUAL, "is_on");

	ofi_world.is_virtual = is_on && is_on();
	ofi_world.wait = (pami_quintorus_advancev_fn)find_symbol(
	    &world.wait, PAMI_EXT_QUINTORUS_WAIT, "advancev");
	if (!ofi_world.wait)
		ofi_world.wait = PAMI_Context_advancev;
	ofi_world.watch =
	    (pami_quintorus_watch_fn)find_symbol(&world.deaths, PAMI_EXT_QUINTORUS_DEATHS, "watch");
	ofi_world.gone =
	    (pami_quintorus_gone_fn)find_symbol(&world.deaths, PAMI_EXT_QUINTORUS_DEATHS, "gone");
	world.enter = (register_fn)find_symbol(&world.progress, "EXT_async_progress", "register");
	world.enable = (enable_fn)find_symbol(&world.progress, "EXT_async_progress", "enable");
	world.disable = (enable_fn)find_symbol(&world.progress, "EXT_async_progress", "disable");
}

static int open_client(void)
{
	pami_configuration_t q[] = {{.name = PAMI_CLIENT_TASK_ID},
				    {.name = PAMI_CLIENT_NUM_TASKS},
				    {.name = PAMI_CLIENT_NUM_CONTEXTS}};
	pami_configuration_t d = {.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX};
	pami_context_t context[OFI_CONTEXTS];

	if (PAMI_Client_create("libfabric", &ofi_world.client, NULL, 0) != PAMI_SUCCESS)
		return -FI_EOTHER;
	if (PAMI_Client_query(ofi_world.client, q, 3) != PAMI_SUCCESS)
		goto err_client;
	ofi_world.me = (uint32_t)q[0].value.intval;
	ofi_world.tasks = (uint32_t)q[1].value.intval;
	ofi_world.contexts = q[2].value.intval < OFI_CONTEXTS ? q[2].value.intval : OFI_CONTEXTS;
	ofi_world.job = ofi_world.tasks > 1 ? 0 : (uint64_t)getpid();
	if (PAMI_Context_createv(ofi_world.client, NULL, 0, context, ofi_world.contexts) !=
	    PAMI_SUCCESS)
		goto err_client;
	if (PAMI_Dispatch_query(context[0], 0, &d, 1) != PAMI_SUCCESS)
		goto err_contexts;
	ofi_world.immediate_bytes = d.value.intval;
	for (size_t i = 0; i < ofi_world.contexts; i++)
		ofi_world.slot[i] = (struct ofi_slot){.context = context[i]};
	return 0;
err_contexts:
	PAMI_Context_destroyv(context, ofi_world.contexts);
err_client:
	PAMI_Client_destroy(&ofi_world.client);
	return -FI_EOTHER;
}

int ofi_world_open(void)
{
	int rc = 0;

	pthread_mutex_lock(&world.mutex);
	if (!world.users)
		rc = open_client();
	if (rc)
		OFI_WARN(FI_LOG_DOMAIN, "cannot join the job: start the program with torus run, or "
					"with mpirun");
	else if (!world.users++)
		open_extensions();
	pthread_mutex_unlock(&world.mutex);
	return rc;
}

static void close_extension(pami_extension_t *extension)
{
	if (*extension)
		PAMI_Extension_close(*extension);
	*extension = NULL;
}

void ofi_world_close(void)
{
	pami_context_t context[OFI_CONTEXTS];

	pthread_mutex_lock(&world.mutex);
	if (!--world.users) {
		close_extension(&world.wait);
		close_extension(&world.deaths);
		close_extension(&world.progress);
		close_extension(&world.time);
		for (size_t i = 0; i < ofi_world.contexts; i++)
			context[i] = ofi_world.slot[i].context;
		PAMI_Context_destroyv(context, ofi_world.contexts);
		PAMI_Client_destroy(&ofi_world.client);
		memset(&ofi_world, 0, sizeof ofi_world);
	}
	pthread_mutex_unlock(&world.mutex);
}

static bool is_free(size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (i >= ofi_world.contexts || ofi_world.slot[i].taken)
			return false;
	return true;
}

static void mark_taken(size_t first, size_t count, bool taken)
{
	for (size_t i = first; i < first + count; i++)
		ofi_world.slot[i].taken = taken;
}

int ofi_world_take(size_t count, bool tagged)
{
	size_t first = tagged ? 0 : 1;

	pthread_mutex_lock(&world.mutex);
	while (first + count <= ofi_world.contexts && !is_free(first, count))
		first++;
	if (first + count > ofi_world.contexts && is_free(0, count))
		first = 0;
	if (first + count <= ofi_world.contexts)
		mark_taken(first, count, true);
	pthread_mutex_unlock(&world.mutex);
	if (first + count <= ofi_world.contexts)
		return (int)first;
	OFI_WARN(FI_LOG_EP_CTRL, "no %zu contexts in a row are free of the %zu that a process has",
		 count, ofi_world.contexts);
	return -FI_EMFILE;
}

void ofi_world_give(size_t first, size_t count)
{
	pthread_mutex_lock(&world.mutex);
	mark_taken(first, count, false);
	pthread_mutex_unlock(&world.mutex);
}

int ofi_world_progress(pami_context_t context, bool on)
{
	if (!on) {
		world.disable(context, ASYNC_ALL);
		return 0;
	}
	if (!world.enter || !world.enable || !world.disable ||
	    world.enter(context, NULL, NULL, NULL, NULL) != PAMI_SUCCESS ||
	    world.enable(context, ASYNC_ALL) != PAMI_SUCCESS) {
		OFI_WARN(FI_LOG_EP_CTRL,
			 "automatic progress needs commthreads, and the job has none "
			 "(PAMI_MAX_COMMTHREADS=0?)");
		return -FI_ENOSYS;
	}
	return 0;
}
