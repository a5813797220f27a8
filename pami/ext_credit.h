/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_credit: bounded memory of a target that makes no progress.
 *
 * PAMI takes as many messages as the program sends, so a target that does not poll keeps them all.
 * With this extension a context has credits at each other task, and a message that the target has
 * not handled holds some. Without credit a send that must not wait is given up before anything has
 * happened, other targets are not affected, and a send that may wait runs progress. Replies take no
 * credit, so they never wait for requests. The program says which messages take credits and when
 * they are handled; it may carry returned credits in its own messages, else "settle" sends them.
 *
 *     if (!pami_quintorus_credit_take(&peer->credit, limit, 1) &&
 *         (is_immediate || wait(context, task, 1) != PAMI_SUCCESS))
 *             return NOT_SENT;
 *     PAMI_Send_immediate(context, ...);
 *
 *     in the dispatch function, when the message is handled:
 *     if (pami_quintorus_credit_return(&peer->credit, limit, 1))
 *             settle(context, task);
 */
#ifndef PAMI_EXT_CREDIT_H
#define PAMI_EXT_CREDIT_H

#include <stddef.h>
#include <stdint.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_CREDIT "EXT_quintorus_credit"

/* What a context and the context of the same offset in another task owe each other. The program's
 * memory; read and written under the context's lock. */
typedef struct {
	uint32_t used; /* held by messages of this context that the other has not handled */
	uint32_t owed; /* of handled messages of the other, which it does not have back */
} pami_quintorus_credit_t;

/*
 * "open": the context's record of task t is `stride` * t bytes behind `first`, zeroed, until the
 * context is destroyed. The limit is the same in all tasks, 2 or more. Once a context.
 */
typedef pami_result_t (*pami_quintorus_credit_open_fn)(pami_context_t context,
						       pami_quintorus_credit_t *first,
						       size_t stride, uint32_t limit);
/* "settle": send back what is owed to the task. */
typedef void (*pami_quintorus_credit_settle_fn)(pami_context_t context, pami_task_t task);
/* "wait": take credits at the task; run progress until there are some. The caller is in no callback
 * of the context. PAMI_SHUTDOWN: the task has ended. */
typedef pami_result_t (*pami_quintorus_credit_wait_fn)(pami_context_t context, pami_task_t task,
						       uint32_t cost);

/*
 * A task keeps up to half of another's credits before it returns them. So one that holds less than
 * that may send a message of any cost, and no message waits for ever.
 */
static inline uint32_t pami_quintorus_credit_kept(uint32_t limit)
{
	return (limit + 1) / 2;
}

static inline int pami_quintorus_credit_has(const pami_quintorus_credit_t *c, uint32_t limit,
					    uint32_t cost)
{
	return c->used + cost <= limit || c->used < pami_quintorus_credit_kept(limit);
}

/* Take credits for a message. 0: there are none, and nothing has happened. */
static inline int pami_quintorus_credit_take(pami_quintorus_credit_t *c, uint32_t limit,
					     uint32_t cost)
{
	if (!pami_quintorus_credit_has(c, limit, cost))
		return 0;
	c->used += cost;
	return 1;
}

/* A message was handled. Not 0: "settle" now. */
static inline int pami_quintorus_credit_return(pami_quintorus_credit_t *c, uint32_t limit,
					       uint32_t cost)
{
	c->owed += cost;
	return c->owed >= pami_quintorus_credit_kept(limit);
}

/* Credits, at most so many, that a message to the task will carry back to it. */
static inline uint32_t pami_quintorus_credit_carry(pami_quintorus_credit_t *c, uint32_t most)
{
	uint32_t n = c->owed < most ? c->owed : most;

	c->owed -= n;
	return n;
}

/* A message has brought them. */
static inline void pami_quintorus_credit_arrive(pami_quintorus_credit_t *c, uint32_t credits)
{
	c->used -= credits;
}

#endif
