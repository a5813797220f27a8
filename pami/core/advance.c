/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: progress. One iteration handles deferred completions, queued sends and held messages (todo
 * says which of them exist), then posted work, then polls the messaging unit, which calls
 * pami_receive() and completion functions. The bench pami_latency guards it.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "pami/coll/progress.h"
#include "pami/core/advance.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/lock.h"
#include "pami/core/macros.h"
#include "pami/core/post.h"
#include "pami/p2p/absent.h"
#include "pami/p2p/answer.h"
#include "pami/p2p/inbound.h"
#include "pami/p2p/queue.h"
#include "pami/p2p/request.h"

/* Calls the notes that exist now. A callback that calls progress continues with the next note. */
static int advance_notes(struct pami_context *ctx)
{
	uint32_t last = ctx->completion.notes_end;
	int events = 0;

	for (; (int32_t)(last - ctx->completion.notes_first) > 0; events++) {
		struct pami_completion_note t =
		    ctx->completion.note[ctx->completion.notes_first++ % PAMI_COMPLETION_NOTES];

		mu_charge(MU_COST_complete, 1);
		t.fn(ctx, t.cookie, PAMI_SUCCESS);
	}
	if (ctx->completion.notes_first == ctx->completion.notes_end)
		ctx->todo &= ~(unsigned)PAMI_TODO_NOTES;
	return events;
}

/* The MU is polled at least once in so many progress calls. */
#define UNPOLLED_MAX 8

/*
 * May this progress call return without a poll of the MU? Yes, if nothing else is to do: the caller
 * probably waits for the completions it just got.
 */
static inline bool can_skip_poll(struct pami_context *ctx)
{
	return !mu_virtual && ++ctx->unpolled < UNPOLLED_MAX;
}

/* Returns the number of events. Negative: as many, and the caller does not poll the MU. */
static __attribute__((noinline)) int advance_todo(struct pami_context *ctx)
{
	int events = 0;

	if (ctx->todo & PAMI_TODO_NOTES) {
		events = advance_notes(ctx);
		if (!(ctx->todo & ~(unsigned)PAMI_TODO_SHORT) && can_skip_poll(ctx))
			return -events;
	}
	if (ctx->todo & PAMI_TODO_DEFERRED) {
		struct pami_request *r = ctx->completion.deferred;

		/* Take the list first: callbacks may defer more. */
		ctx->completion.deferred = NULL;
		ctx->completion.deferred_tail = &ctx->completion.deferred;
		ctx->todo &= ~(unsigned)PAMI_TODO_DEFERRED;
		while (r) {
			struct pami_request *next = r->next;

			r->run(r, r->deferred_result);
			r = next;
			events++;
		}
		if (!(ctx->todo & ~(unsigned)PAMI_TODO_SHORT) && can_skip_poll(ctx))
			return -events;
	}
	if (ctx->todo & PAMI_TODO_QUEUE)
		pami_queue_drain(ctx);
	if (ctx->todo & PAMI_TODO_HELD)
		events += (int)pami_inbound_release_held(ctx);
	if (ctx->todo & PAMI_TODO_COLL) {
		int found = pami_coll_poll(ctx);

		/* Collectives in shared memory progress without the MU. */
		if (found && can_skip_poll(ctx))
			return -(events + found);
		events += found;
	}
	return events;
}

static inline int poll_all(struct pami_context *ctx)
{
	int events = 0;

	if (PAMI_UNLIKELY(ctx->todo & PAMI_TODO_ANSWERS) && pami_answers_flush(ctx)) {
		/* Receive nothing while earlier messages are not answered. */
		mu_make_room(ctx->channel);
		return 0;
	}
	if (ctx->todo & PAMI_TODO_SHORT) {
		events = pami_short_poll(ctx);
		if (events && ++ctx->unpolled < UNPOLLED_MAX)
			return events;
	}
	if (PAMI_UNLIKELY(ctx->todo & ~(unsigned)PAMI_TODO_SHORT)) {
		int found = advance_todo(ctx);

		if (found < 0)
			return events - found;
		events += found;
	}
	if (PAMI_UNLIKELY(pami_posted_has_work(&ctx->posted) || ctx->retry.first))
		events += (int)pami_post_run(ctx);
	ctx->unpolled = 0;
	return events + mu_poll_once(ctx->channel);
}

/* The contexts in which this thread makes progress, the innermost first. */
static _Thread_local struct pami_context *advancing __attribute__((tls_model("initial-exec")));

int pami_advance_once(struct pami_context *ctx)
{
	int events;

	if (PAMI_LIKELY(!ctx->depth++)) {
		ctx->outer = advancing;
		advancing = ctx;
	}
	events = poll_all(ctx);
	if (PAMI_LIKELY(!--ctx->depth))
		advancing = ctx->outer;
	return events;
}

bool pami_is_advancing(const struct pami_context *ctx)
{
	const struct pami_context *c = advancing;

	while (c && c != ctx)
		c = c->outer;
	return c;
}

/* A call with this maximum or a larger one waits until there is an event. */
#define UNTIL_EVENT ((size_t)1 << 31)

/* Polls each context once. Sets *again if posted work returned PAMI_EAGAIN. */
static int advance_round(pami_context_t context[], size_t count, unsigned *again)
{
	int events = 0;

	for (size_t c = 0; c < count; c++) {
		struct pami_context *ctx = pami_context_of(context[c]);

		events += pami_advance_once(ctx);
		*again |= ctx->retry.first ? MU_IDLE_AGAIN : 0;
	}
	return events;
}

/* The same for the contexts whose locks are free. */
static int trylock_round(pami_context_t context[], size_t count, unsigned *again)
{
	int events = 0;

	for (size_t c = 0; c < count; c++) {
		struct pami_context *ctx = pami_context_of(context[c]);

		if (!pami_lock_try(&ctx->lock))
			continue;
		events += advance_round(&context[c], 1, again);
		pami_lock_release(&ctx->lock);
	}
	return events;
}

typedef int (*round_fn)(pami_context_t context[], size_t count, unsigned *again);

/* Virtual time: a call that waits for an event is told from one that may return without. */
static PAMI_COLD void wait_virtual(struct pami_context *ctx, int events, unsigned how,
				   const char *call)
{
	const char *outer;

	mu_call_polls(call);
	if (!events && pami_absent_serve(ctx->client))
		return;
	if (!(how & MU_IDLE_WAIT)) {
		mu_wait(ctx->channel, events, how);
		return;
	}
	outer = mu_call_waits(call);
	mu_wait(ctx->channel, events, how);
	mu_call_waits(outer);
}

/* Serve contexts that were never made after a yield or sleep, at least once in so many empty polls,
 * since QUINTORUS_IDLE=spin has neither, and once in so many calls that found events, since a busy
 * program has no others. */
#define ABSENT_POLLS  1024
#define ABSENT_EVENTS 256

/* Calls of this thread that found events: several threads may advance a context in turns. */
static _Thread_local uint32_t eventful __attribute__((tls_model("initial-exec")));

static inline pami_result_t found_events(const struct pami_context *ctx)
{
	if (PAMI_UNLIKELY(!(++eventful % ABSENT_EVENTS)))
		pami_absent_serve(ctx->client);
	return PAMI_SUCCESS;
}

/*
 * Call round() until it finds an event, at most `maximum` times. Once the thread has yielded or
 * slept, one more round ends the call, because the program may have other work. Posted work that
 * returned PAMI_EAGAIN is not an event, but keeps the thread from sleeping.
 */
static PAMI_INLINE pami_result_t advance_rounds(pami_context_t context[], size_t count,
						size_t maximum, round_fn round, unsigned how,
						const char *call)
{
	int last = 0;

	for (size_t i = 0; i < maximum && !last; i++) {
		unsigned again = 0;
		int events = round(context, count, &again);

		if (PAMI_UNLIKELY(mu_virtual))
			wait_virtual(pami_context_of(context[0]), events, how | again, call);
		else
			last = mu_wait(pami_context_of(context[0])->channel, events, how | again);
		if (events)
			return found_events(pami_context_of(context[0]));
	}
	if (last || (!mu_virtual && !(mu_idle_polls % ABSENT_POLLS)))
		pami_absent_serve(pami_context_of(context[0])->client);
	if (last && mu_waits_is_due())
		pami_waits_note(context, count, round == trylock_round);
	if (last && maximum > 1) {
		unsigned again = 0;

		if (round(context, count, &again)) {
			mu_idle_reset();
			return found_events(pami_context_of(context[0]));
		}
	}
	return pami_limits.idle;
}

static PAMI_COLD pami_result_t advance_until_event(pami_context_t context[], size_t count,
						   const char *call)
{
	while (advance_rounds(context, count, 1, advance_round, MU_IDLE_WAIT, call) != PAMI_SUCCESS)
		;
	return PAMI_SUCCESS;
}

/* PAMI_SUCCESS if all handles are contexts. */
static inline pami_result_t check_all(const char *call, const pami_context_t context[],
				      size_t count)
{
	if (PAMI_UNLIKELY(count && !context))
		return pami_fail_in(call, PAMI_INVAL, "no contexts");
	for (size_t c = 0; c < count; c++)
		if (PAMI_UNLIKELY(!pami_context_is_valid(context[c])))
			return pami_fail_invalid_in(call, context[c]);
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Context_advance(pami_context_t context, size_t maximum)
{
	if (PAMI_UNLIKELY(!pami_context_is_valid(context)))
		return pami_fail_invalid(context);
	if (PAMI_UNLIKELY(maximum >= UNTIL_EVENT))
		return advance_until_event(&context, 1, __func__);
	return advance_rounds(&context, 1, maximum, advance_round, MU_IDLE_POLL, __func__);
}

PAMI_EXPORT pami_result_t PAMI_Context_advancev(pami_context_t context[], size_t count,
						size_t maximum)
{
	pami_result_t valid = check_all(__func__, context, count);

	if (PAMI_UNLIKELY(valid != PAMI_SUCCESS))
		return valid;
	if (!count)
		return pami_limits.idle;
	if (PAMI_UNLIKELY(maximum >= UNTIL_EVENT))
		return advance_until_event(context, count, __func__);
	return advance_rounds(context, count, maximum, advance_round, MU_IDLE_POLL, __func__);
}

pami_result_t pami_advance_wait(pami_context_t context[], size_t count, size_t maximum)
{
	pami_result_t valid = check_all(__func__, context, count);

	if (PAMI_UNLIKELY(valid != PAMI_SUCCESS))
		return valid;
	if (!count)
		return pami_limits.idle;
	return advance_rounds(context, count, maximum, advance_round, MU_IDLE_WAIT,
			      "EXT_quintorus_wait advancev");
}

/*
 * Programs cancel their progress threads. Defer that while this thread holds a lock, also in
 * callbacks; the call ends after one yield or sleep, so the delay is short.
 */
struct cancelability {
	int type, state;
};

/*
 * For a thread that was cancellable asynchronously the state does not suffice: glibc (2.36) may
 * have found the thread cancellable and send its signal later. The signal's handler looks only at
 * the cancel type, which is asynchronous within each cancellation point. So pass one cancellation
 * point here, without locks: if the signal is on its way, glibc waits for it there. From then on
 * the state keeps glibc from sending one.
 */
static PAMI_COLD void receive_sent_cancel(void)
{
	int error = errno;
	ssize_t none = read(-1, NULL, 0);

	(void)none;
	errno = error;
}

static inline void defer_cancel(struct cancelability *old)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old->type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old->state);
	if (PAMI_UNLIKELY(old->type == PTHREAD_CANCEL_ASYNCHRONOUS))
		receive_sent_cancel();
}

/* The thread ends here if it was cancelled meanwhile and is cancellable asynchronously. */
static inline void restore_cancel(const struct cancelability *old)
{
	int none;

	pthread_setcancelstate(old->state, &none);
	if (PAMI_UNLIKELY(old->type == PTHREAD_CANCEL_ASYNCHRONOUS))
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &none);
}

PAMI_EXPORT pami_result_t PAMI_Context_trylock_advancev(pami_context_t context[], size_t count,
							size_t maximum)
{
	pami_result_t result = check_all(__func__, context, count);
	struct cancelability cancel;

	if (PAMI_UNLIKELY(result != PAMI_SUCCESS))
		return result;
	if (!count)
		return pami_limits.idle;
	defer_cancel(&cancel);
	result = advance_rounds(context, count, maximum, trylock_round, MU_IDLE_POLL, __func__);
	restore_cancel(&cancel);
	return result;
}
