/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results. Inside the library a function returns 0 or a negative errno; these functions turn it
 * into the pami_result_t of a public call or of a callback, and remember and print the reason.
 */
#ifndef PAMI_CORE_ERROR_H
#define PAMI_CORE_ERROR_H

#include <errno.h>

#include "pami/core/macros.h"
#include "pami/pami.h"

/*
 * Keep `text` for PAMI_Error_text() and print it on standard error, once for each place in the
 * program that makes the call (drivers/base/failure.h). PAMI_EAGAIN, PAMI_SHUTDOWN and PAMI_UNIMPL
 * are not printed: programs get them in normal use. Returns `result`.
 *
 * call  name of the public function
 * text  static string
 */
pami_result_t pami_fail_in(const char *call, pami_result_t result, const char *text);
#define pami_fail(result, text) pami_fail_in(__func__, result, text)

/* Print a mistake of the program that does no harm in the same way. Returns PAMI_SUCCESS. */
pami_result_t pami_accept_in(const char *call, const char *text);
#define pami_accept(text) pami_accept_in(__func__, text)

/*
 * Fail with PAMI_INVAL: `context` is not a context (or was destroyed), or, if it is one, a pointer
 * parameter is NULL. Every public function of a context checks these first and then calls this.
 */
pami_result_t pami_fail_invalid_in(const char *call, pami_context_t context);
#define pami_fail_invalid(context) pami_fail_invalid_in(__func__, context)

/* The text for a context that its client never made. */
#define PAMI_NEVER_MADE                                                                            \
	"no such endpoint: the client at the target has made its contexts, and fewer than that"

/* Fail with the result and the text that belong to a negative errno. */
pami_result_t pami_fail_errno(const char *call, int error);

/* The result of a public call: `error` is 0 or a negative errno. */
static inline pami_result_t pami_result_in(const char *call, int error)
{
	return PAMI_LIKELY(!error) ? PAMI_SUCCESS : pami_fail_errno(call, error);
}
#define pami_result(error) pami_result_in(__func__, error)

/* As pami_fail_errno(), for an operation that fails after its call has returned: the printed line
 * names the callback. */
pami_result_t pami_callback_failed(pami_event_function fn, int error);

/* The result that the callback `fn` gets: `error` is 0 or a negative errno. */
static inline pami_result_t pami_callback_result(pami_event_function fn, int error)
{
	return PAMI_LIKELY(!error) ? PAMI_SUCCESS : pami_callback_failed(fn, error);
}

#endif
