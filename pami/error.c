/* SPDX-License-Identifier: BSD-3-Clause */
/* Results, and the text behind them. */
#include <stdio.h>
#include <string.h>

#include "pami/state.h"

static __thread const char *last_text;

PAMI_COLD pami_result_t pami_fail(pami_result_t result, const char *text)
{
	last_text = text;
	return result;
}

static PAMI_COLD pami_result_t failed(int error)
{
	switch (-error) {
	case EINVAL:
		return pami_fail(PAMI_INVAL, "invalid argument");
	case EAGAIN:
		return pami_fail(PAMI_EAGAIN, "not now");
	case ENOMEM:
		return pami_fail(PAMI_ENOMEM, "out of memory");
	case ESHUTDOWN:
		return pami_fail(PAMI_SHUTDOWN, "the task at the other end is gone");
	case EFAULT:
		return pami_fail(PAMI_ERROR, "an address of the transfer is not mapped");
	case EPERM:
		return pami_fail(PAMI_ERROR, "the target does not allow this access");
	case ECHILD:
		return pami_fail(PAMI_ERROR, "called in a forked child of the process that joined the job");
	default:
		return pami_fail(PAMI_ERROR, "the messaging unit refused the operation");
	}
}

pami_result_t pami_result(int error)
{
	return PAMI_LIKELY(!error) ? PAMI_SUCCESS : failed(error);
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
