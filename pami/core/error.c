/* SPDX-License-Identifier: BSD-3-Clause */
/* Results, their texts, and the lines on standard error. */
#include <stdio.h>
#include <string.h>

#include "drivers/base/failure.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"

static __thread const char *last_text;

static const char *result_name(pami_result_t result)
{
	switch (result) {
	case PAMI_INVAL:
		return "PAMI_INVAL";
	case PAMI_ENOMEM:
		return "PAMI_ENOMEM";
	default:
		return "PAMI_ERROR";
	}
}

/* Programs poll (PAMI_EAGAIN), probe for extensions (PAMI_UNIMPL), and some asked for a job that
 * continues when a task dies (PAMI_SHUTDOWN). */
static bool is_usual(pami_result_t result)
{
	return result == PAMI_EAGAIN || result == PAMI_SHUTDOWN || result == PAMI_UNIMPL;
}

PAMI_COLD pami_result_t pami_fail_in(const char *call, pami_result_t result, const char *text)
{
	last_text = text;
	if (!is_usual(result))
		drv_failure_of_call(call, "PAMI_", result_name(result), text);
	return result;
}

PAMI_COLD pami_result_t pami_accept_in(const char *call, const char *text)
{
	drv_failure_of_call(call, "PAMI_", "PAMI_SUCCESS", text);
	return PAMI_SUCCESS;
}

PAMI_COLD pami_result_t pami_fail_invalid_in(const char *call, pami_context_t context)
{
	return pami_fail_in(call, PAMI_INVAL,
			    pami_context_is_valid(context)
				? "a parameter is missing: a pointer is NULL"
				: "not a context, or one that was destroyed");
}

/* The text and the result of a negative errno. */
static const char *describe_errno(int error, pami_result_t *result)
{
	*result = PAMI_ERROR;
	switch (-error) {
	case EINVAL:
		*result = PAMI_INVAL;
		return "invalid argument";
	case ENXIO: /* answered by pami/p2p/absent.c */
		*result = PAMI_INVAL;
		return PAMI_NEVER_MADE;
	case EAGAIN:
		*result = PAMI_EAGAIN;
		return "not now";
	case ENOMEM:
		*result = PAMI_ENOMEM;
		return "out of memory";
	case ESHUTDOWN:
		*result = PAMI_SHUTDOWN;
		return "the task at the other end has died or left the job";
	case EFAULT:
		return "an address of the transfer is not mapped";
	case EPERM:
		return "the target does not allow this access";
	case EACCES:
		return "the memory region was not made by its owner, or does not allow this access";
	case ERANGE:
		return "the operation goes beyond the end of a memory region";
	case ECHILD:
		return "called in a forked child of the process that joined the job";
	default:
		return "the messaging unit refused the operation";
	}
}

PAMI_COLD pami_result_t pami_fail_errno(const char *call, int error)
{
	pami_result_t result;
	const char *text = describe_errno(error, &result);

	return pami_fail_in(call, result, text);
}

PAMI_COLD pami_result_t pami_callback_failed(pami_event_function fn, int error)
{
	pami_result_t result;

	last_text = describe_errno(error, &result);
	if (!is_usual(result))
		drv_failure_of_callback((const void *)(uintptr_t)fn, result_name(result),
					last_text);
	return result;
}

PAMI_EXPORT size_t PAMI_Error_text(char *string, size_t length)
{
	size_t n = last_text ? strlen(last_text) : 0;

	if (!string || !length)
		return 0;
	if (n > length - 1)
		n = length - 1;
	memcpy(string, last_text ? last_text : "", n);
	string[n] = '\0';
	return n;
}
