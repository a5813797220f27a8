/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/atomic.h"
#include "drivers/base/failure.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/base/settings.h"

#define PLACES_MAX      64   /* lines that a process prints at most */
#define STACK_WALKS_MAX 4096 /* limits the cost for a program that fails in a loop */
#define FRAMES          24

static uint64_t reported[PLACES_MAX];
static int stack_walks;

static bool is_quiet(void)
{
	return drv_setting_choice(DRV_QUINTORUS_ERRORS) == 1;
}

static uint64_t mix_bits(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	return z ^ (z >> 31);
}

/* True for the first caller with these values, as long as the table has room. */
static bool is_first(const void *place, const void *result, const void *why)
{
	uint64_t key =
	    mix_bits(mix_bits(mix_bits((uintptr_t)place) ^ (uintptr_t)result) ^ (uintptr_t)why) | 1;

	for (int i = 0; i < PLACES_MAX; i++) {
		uint64_t old = 0;

		if (atomic_cas_relaxed(&reported[i], &old, key)) {
			if (i == PLACES_MAX - 1)
				drv_warn("%d failed calls were reported; no more of them will be",
					 PLACES_MAX - 1);
			return i < PLACES_MAX - 1;
		}
		if (old == key)
			return 0;
	}
	return 0;
}

/*
 * Return the innermost return address outside this library. Set *call to the name of the public
 * function that was called from there.
 */
static const void *find_caller(const char **call, const char *prefix)
{
	void *frame[FRAMES];
	int n = backtrace(frame, FRAMES);
	Dl_info own, at;
	bool is_inside = false;

	if (!dladdr((const void *)(uintptr_t)find_caller, &own))
		return NULL;
	for (int i = 0; i < n; i++) {
		if (!dladdr(frame[i], &at) || at.dli_fbase != own.dli_fbase) {
			if (is_inside)
				return frame[i];
			continue; /* the first frame may be backtrace() of a sanitizer */
		}
		is_inside = true;
		if (at.dli_sname && !strncmp(at.dli_sname, prefix, strlen(prefix)))
			*call = at.dli_sname;
	}
	return NULL;
}

/*
 * Describe where an address lies. back: 1 for a return address, since the call lies before it;
 * otherwise 0.
 */
static void describe_place(const void *place, unsigned back, char *text, size_t size)
{
	Dl_info at;

	if (!place || !dladdr(place, &at) || !at.dli_fname)
		snprintf(text, size, "at address %p", place);
	else if (at.dli_sname)
		snprintf(text, size, "in %s() of %s: addr2line -fe %s %#zx", at.dli_sname,
			 at.dli_fname, at.dli_fname,
			 (size_t)((const char *)place - (const char *)at.dli_fbase) - back);
	else
		snprintf(text, size, "in %s: addr2line -fe %s %#zx", at.dli_fname, at.dli_fname,
			 (size_t)((const char *)place - (const char *)at.dli_fbase) - back);
}

static const char *hint_once(void)
{
	static int given;

	return atomic_exchange_relaxed(&given, 1)
		   ? ""
		   : " [each place once; QUINTORUS_ERRORS=quiet ends these lines]";
}

void drv_failure_of_call(const char *call, const char *prefix, const char *result, const char *why)
{
	int error = errno;
	char text[600];
	const void *place;
	const char *found = NULL;

	if (is_quiet() || atomic_load_relaxed(&stack_walks) >= STACK_WALKS_MAX)
		return;
	atomic_fetch_add_relaxed(&stack_walks, 1);
	place = find_caller(&found, prefix);
	if (is_first(place, result, why)) {
		describe_place(place, 1, text, sizeof text);
		if (strncmp(call, prefix, strlen(prefix)))
			call = found ? found : "a call";
		drv_warn("%s returned %s: %s. The call is %s%s", call, result, why, text,
			 hint_once());
	}
	errno = error;
}

void drv_failure_of_callback(const void *callback, const char *result, const char *why)
{
	int error = errno;
	char text[600];
	Dl_info own, at;

	if (!is_quiet() && is_first(callback, result, why)) {
		describe_place(callback, 0, text, sizeof text);
		if (dladdr((const void *)(uintptr_t)find_caller, &own) && dladdr(callback, &at) &&
		    own.dli_fbase == at.dli_fbase) /* the user cannot see these callbacks */
			drv_warn("an operation failed with %s: %s%s", result, why, hint_once());
		else
			drv_warn("an operation failed with %s: %s. Its callback is %s%s", result,
				 why, text, hint_once());
	}
	errno = error;
}
