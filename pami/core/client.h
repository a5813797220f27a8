/* SPDX-License-Identifier: BSD-3-Clause */
/* A client: a program's or a library's own set of contexts and geometries. */
#ifndef PAMI_CORE_CLIENT_H
#define PAMI_CORE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/mu.h"
#include "pami/core/handle.h"
#include "pami/core/limits.h"
#include "pami/pami.h"

struct pami_absent;
struct pami_context;
struct pami_geometry;
struct pami_geometry_table;

#define PAMI_CLIENT_MAGIC 0x51434c49u

/* The thread that creates and destroys contexts writes it. */
struct pami_client {
	uint32_t magic;
	uint32_t slot;     /* 0 .. PAMI_CLIENTS_MAX - 1, the same number on every task */
	uint32_t contexts; /* how many contexts it may have */
	uint32_t created;  /* how many exist */
	uint32_t base;     /* MU channel of its context 0 */
	const struct mu_job *job;
	struct pami_context *context[PAMI_CONTEXTS_MAX]; /* by offset; NULL: does not exist */
	/* Contexts that it never made; NULL: it made all, or none yet. */
	struct pami_absent *absent;
	bool remade; /* this is not the first client or the first contexts here */
	struct pami_geometry *world;
	struct pami_geometry_table *geometries;
	char name[64];
};

/* Does the handle name a client? The handle may be anything. */
static inline bool pami_client_is_valid(pami_client_t client)
{
	return pami_handle_is_known(PAMI_HANDLE_CLIENT, client) &&
	       /* NULL is no known handle. */
	       /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	       ((struct pami_client *)client)->magic == PAMI_CLIENT_MAGIC;
}

/* Any client of this process, or NULL. For extensions that were opened without one. */
struct pami_client *pami_client_any(void);

#endif
