/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients. The client in slot k uses the MU channels k * contexts .. (k + 1) * contexts - 1. Tasks
 * create their clients in the same order, so a client has the same slot on every task. Slots are
 * given out in turn.
 */
#include <stdio.h>
#include <stdlib.h>

#include "drivers/base/assert.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/handle.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"

struct pami_limits pami_limits;

static struct pami_client *clients[PAMI_CLIENTS_MAX]; /* by slot */
static uint32_t clients_made;
static uint32_t slots_used; /* bitmap of those that a client has had */
_Static_assert(PAMI_CLIENTS_MAX <= 32, "a bit for each slot");

/* Clamp the setting, because limits are added to each other. */
static size_t limit_bytes(enum drv_setting_id id)
{
	uint64_t bytes = drv_setting_number(id);

	return bytes < SIZE_MAX / 4 ? (size_t)bytes : SIZE_MAX / 4;
}

void pami_limits_load(void)
{
	pami_limits.immediate_max = limit_bytes(DRV_QUINTORUS_IMMEDIATE);
	pami_limits.eager_max = limit_bytes(DRV_QUINTORUS_EAGER);
	pami_limits.stage_max = 65536;
	if (drv_setting_is_set(DRV_QUINTORUS_EAGER_NEAR))
		pami_limits.near_eager_max = limit_bytes(DRV_QUINTORUS_EAGER_NEAR);
	else if (drv_setting_is_set(DRV_QUINTORUS_EAGER))
		pami_limits.near_eager_max = pami_limits.eager_max;
	else
		pami_limits.near_eager_max = 256u << 10;
	pami_limits.near_stage_max = 2048;
	pami_limits.queue_max = limit_bytes(DRV_QUINTORUS_QUEUE);
	pami_limits.held_max = limit_bytes(DRV_QUINTORUS_HELD);
	pami_limits.contexts = (uint32_t)drv_setting_number(DRV_QUINTORUS_CONTEXTS);
	pami_limits.hw_threads = (unsigned)drv_setting_number(DRV_QUINTORUS_HWTHREADS);
	/* A message that the receiver dispatches at once must not arrive by rendezvous. */
	if (pami_limits.eager_max < pami_limits.immediate_max)
		pami_limits.eager_max = pami_limits.immediate_max;
	if (pami_limits.near_eager_max < pami_limits.immediate_max)
		pami_limits.near_eager_max = pami_limits.immediate_max;
	/* PAMI_Send_immediate must copy: the user may change the buffer when it returns. */
	if (pami_limits.near_stage_max < pami_limits.immediate_max)
		pami_limits.near_stage_max = pami_limits.immediate_max;
	pami_limits.idle = drv_setting_choice(DRV_QUINTORUS_ADVANCE) ? PAMI_SUCCESS : PAMI_EAGAIN;
}

/* How many contexts a client may have: up to 16, and so few that four clients find channels. */
static uint32_t count_contexts(const struct mu_job *job)
{
	uint32_t n = pami_limits.contexts, limit = job->channels;

	if (!n)
		for (n = 16; n > 2 && n * 4 > limit; n /= 2)
			;
	while (n > limit && n > 1)
		n /= 2;
	return n;
}

/* The slot of the next client, or -1. It is the same on all tasks that create and destroy their
 * clients in the same order. */
static int find_free_slot(uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++)
		if (!clients[(clients_made + i) % slots])
			return (int)((clients_made + i) % slots);
	return -1;
}

static int client_init(struct pami_client *c, const char *name)
{
	uint32_t slots;
	int slot;

	c->contexts = count_contexts(c->job);
	slots = c->job->channels < PAMI_CHANNELS_MAX ? c->job->channels : PAMI_CHANNELS_MAX;
	DRV_ASSERT(c->contexts);
	slots /= c->contexts;
	slots = slots > PAMI_CLIENTS_MAX ? PAMI_CLIENTS_MAX : slots;
	slot = find_free_slot(slots);
	if (slot < 0) {
		drv_error(
		    "%u clients exist, as many as %u channels allow with %u contexts each; lower "
		    "QUINTORUS_CONTEXTS",
		    slots, c->job->channels, c->contexts);
		return -ENOSPC;
	}
	c->magic = PAMI_CLIENT_MAGIC;
	c->slot = (uint32_t)slot;
	c->base = c->slot * c->contexts;
	c->remade = slots_used >> slot & 1;
	slots_used |= 1u << slot;
	snprintf(c->name, sizeof c->name, "%s", name ? name : "");
	return pami_geometry_world_create(c);
}

PAMI_EXPORT pami_result_t PAMI_Client_create(const char *name, pami_client_t *client,
					     pami_configuration_t configuration[],
					     size_t num_configs)
{
	struct pami_client *c;
	int rc;

	if (!client)
		return pami_fail(PAMI_INVAL, "no place for the client handle");
	if (!clients_made)
		pami_limits_load();
	c = pami_handle_new(PAMI_HANDLE_CLIENT, sizeof *c);
	if (!c)
		return pami_result(-ENOMEM);
	rc = mu_attach(&c->job);
	if (rc)
		goto err_free;
	if (!clients_made && !c->job->task)
		drv_settings_log_ineffective("mu");
	rc = client_init(c, name);
	if (rc)
		goto err_detach;
	clients[c->slot] = c;
	clients_made++;
	*client = c;
	return PAMI_SUCCESS;

err_detach:
	mu_detach();
err_free:
	c->magic = 0;
	pami_handle_free(PAMI_HANDLE_CLIENT, sizeof *c, c);
	return pami_result(rc);
}

PAMI_EXPORT pami_result_t PAMI_Client_destroy(pami_client_t *client)
{
	struct pami_client *c = client ? *client : NULL;

	if (!pami_client_is_valid(c))
		return pami_fail(PAMI_INVAL, "not a client");
	for (uint32_t i = 0; i < c->contexts; i++)
		if (c->context[i] && pami_context_is_in_callback(c->context[i]))
			return pami_fail(PAMI_INVAL, PAMI_IN_CALLBACK);
	for (uint32_t i = 0; i < c->contexts; i++)
		if (c->context[i])
			pami_context_destroy(c->context[i]);
	clients[c->slot] = NULL;
	c->magic = 0;
	if (mu_is_forked()) {
		*client = PAMI_CLIENT_NULL;
		return PAMI_SUCCESS;
	}
	pami_geometry_world_destroy(c);
	mu_detach();
	pami_handle_free(PAMI_HANDLE_CLIENT, sizeof *c, c);
	*client = PAMI_CLIENT_NULL;
	return PAMI_SUCCESS;
}

bool pami_is_context(const void *p)
{
	for (int i = 0; i < PAMI_CLIENTS_MAX; i++)
		for (uint32_t k = 0; clients[i] && k < clients[i]->contexts; k++)
			if (p && clients[i]->context[k] == p)
				return true;
	return false;
}

struct pami_client *pami_client_any(void)
{
	for (int i = 0; i < PAMI_CLIENTS_MAX; i++)
		if (clients[i])
			return clients[i];
	return NULL;
}
