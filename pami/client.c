/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients. The k-th client of a task has the channels k * contexts .. of the messaging unit, so
 * equal numbers meet on all tasks; with the number of channels used up the count starts over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "pami/state.h"

struct pami_limits pami_limits;

static struct pami_client *clients[PAMI_CLIENTS_MAX]; /* by slot */
static uint32_t clients_made;

/* A number from the environment within lo .. hi, else `normal`. */
static size_t knob(const char *name, size_t lo, size_t hi, size_t normal)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long value;

	if (!text || !*text)
		return normal;
	value = strtoull(text, &end, 0);
	if (*end || value < lo || value > hi) {
		drv_warn("%s is \"%s\": it must be a number from %zu to %zu; using %zu", name, text, lo, hi,
		         normal);
		return normal;
	}
	return (size_t)value;
}

void pami_limits_load(void)
{
	const char *advance = getenv("QUINTORUS_ADVANCE");
	unsigned contexts = (unsigned)knob("QUINTORUS_CONTEXTS", 2, 64, 0);

	if (contexts & (contexts - 1)) {
		drv_warn("QUINTORUS_CONTEXTS is %u: it must be a power of two", contexts);
		contexts = 0;
	}
	pami_limits.immediate_max = knob("QUINTORUS_IMMEDIATE", 512, 8192, 512);
	pami_limits.eager_max = knob("QUINTORUS_EAGER", 0, SIZE_MAX / 4, 8192);
	pami_limits.stage_max = 65536;
	pami_limits.near_eager_max = knob("QUINTORUS_EAGER_NEAR", 0, SIZE_MAX / 4,
	                                  getenv("QUINTORUS_EAGER") ? pami_limits.eager_max : 256u << 10);
	pami_limits.near_stage_max = 2048;
	pami_limits.queue_max = knob("QUINTORUS_QUEUE", 0, SIZE_MAX / 4, 4u << 20);
	pami_limits.held_max = knob("QUINTORUS_HELD", (size_t)1 << 20, SIZE_MAX / 4, (size_t)256 << 20);
	pami_limits.contexts = contexts;
	/* What may be received at once must not arrive by rendezvous. */
	if (pami_limits.eager_max < pami_limits.immediate_max)
		pami_limits.eager_max = pami_limits.immediate_max;
	if (pami_limits.near_eager_max < pami_limits.immediate_max)
		pami_limits.near_eager_max = pami_limits.immediate_max;
	/* What is sent by PAMI_Send_immediate is the user's again at once. */
	if (pami_limits.near_stage_max < pami_limits.immediate_max)
		pami_limits.near_stage_max = pami_limits.immediate_max;
	pami_limits.idle = advance && !strcmp(advance, "success") ? PAMI_SUCCESS : PAMI_EAGAIN;
}

/* Contexts of one client: up to 16, so that four clients find channels (design, decision 12). */
static uint32_t contexts_of(const struct mu_job *job)
{
	uint32_t n = pami_limits.contexts, limit = job->channels;

	if (!n)
		for (n = 16; n > 2 && n * 4 > limit; n /= 2)
			;
	while (n > limit && n > 1)
		n /= 2;
	return n;
}

/* The slot of the next client: the same on all tasks that make and destroy in the same order. */
static int free_slot(uint32_t slots)
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

	c->contexts = contexts_of(c->job);
	slots = c->job->channels / c->contexts;
	slots = slots > PAMI_CLIENTS_MAX ? PAMI_CLIENTS_MAX : slots;
	slot = free_slot(slots);
	if (slot < 0) {
		drv_error("%u clients exist, as many as %u channels allow with %u contexts each; lower "
		          "QUINTORUS_CONTEXTS",
		          slots, c->job->channels, c->contexts);
		return -ENOSPC;
	}
	c->magic = PAMI_CLIENT_MAGIC;
	c->slot = (uint32_t)slot;
	c->base = c->slot * c->contexts;
	snprintf(c->name, sizeof c->name, "%s", name ? name : "");
	return pami_geometry_world_create(c);
}

PAMI_EXPORT pami_result_t PAMI_Client_create(const char *name, pami_client_t *client,
                                             pami_configuration_t configuration[], size_t num_configs)
{
	struct pami_client *c;
	int rc;

	if (!client)
		return pami_fail(PAMI_INVAL, "no place for the client handle");
	if (!clients_made)
		pami_limits_load();
	c = calloc(1, sizeof *c);
	if (!c)
		return pami_result(-ENOMEM);
	rc = mu_attach(&c->job);
	if (rc)
		goto err_free;
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
	free(c);
	return pami_result(rc);
}

PAMI_EXPORT pami_result_t PAMI_Client_destroy(pami_client_t *client)
{
	struct pami_client *c = client ? *client : NULL;

	if (!pami_client_valid(c))
		return pami_fail(PAMI_INVAL, "not a client");
	for (uint32_t i = 0; i < c->contexts; i++) {
		pami_context_t ctx = c->context[i];

		if (ctx)
			PAMI_Context_destroyv(&ctx, 1);
	}
	pami_geometry_world_destroy(c);
	clients[c->slot] = NULL;
	c->magic = 0;
	mu_detach();
	free(c);
	*client = PAMI_CLIENT_NULL;
	return PAMI_SUCCESS;
}

struct pami_client *pami_client_any(void)
{
	for (int i = 0; i < PAMI_CLIENTS_MAX; i++)
		if (clients[i])
			return clients[i];
	return NULL;
}
