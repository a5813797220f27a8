/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of operations in flight: a list for each context. */
#include <stdint.h>
#include <stdlib.h>

#include "pami/core/context.h"
#include "pami/core/macros.h"
#include "pami/core/scratch.h"

struct pami_scratch {
	struct pami_scratch *next, **at;
	_Alignas(16) unsigned char data[];
};

void *pami_scratch_alloc(struct pami_context *ctx, size_t bytes)
{
	struct pami_scratch *s = bytes < SIZE_MAX - sizeof *s ? calloc(1, sizeof *s + bytes) : NULL;

	if (!s)
		return NULL;
	s->next = ctx->scratch;
	s->at = &ctx->scratch;
	if (s->next)
		s->next->at = &s->next;
	ctx->scratch = s;
	return s->data;
}

void pami_scratch_free(void *p)
{
	struct pami_scratch *s;

	if (!p)
		return;
	s = PAMI_CONTAINER(p, struct pami_scratch, data);
	*s->at = s->next;
	if (s->next)
		s->next->at = s->at;
	free(s);
}

void pami_scratch_free_all(struct pami_context *ctx)
{
	for (struct pami_scratch *s = ctx->scratch, *next; s; s = next) {
		next = s->next;
		free(s);
	}
	ctx->scratch = NULL;
}
