/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of gasnet_tools.h. They work without a job. */
#include <errno.h>
#include <execinfo.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "gasnet/core/world.h"

/* ---- time ---- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

gasnett_tick_t gasnett_ticks_now(void)
{
	if (GEXI_UNLIKELY(gexi_world.is_virtual))
		return (gasnett_tick_t)(PAMI_Wtime(gexi_world.client) * 1e9);
	return clock_ns(CLOCK_MONOTONIC);
}

/* The least of many differences (granularity) or their mean (overhead), once. */
static double measure_us(bool least)
{
	uint64_t first = gasnett_ticks_now(), last = first, smallest = UINT64_MAX;
	enum { READINGS = 1000 };

	for (int i = 0; i < READINGS; i++) {
		uint64_t now = gasnett_ticks_now();

		if (now != last && now - last < smallest)
			smallest = now - last;
		last = now;
	}
	return (least ? (double)smallest : (double)(last - first) / READINGS) / 1000;
}

double gasnett_tick_granularityus(void)
{
	static double us;

	return us > 0 ? us : (us = measure_us(true));
}

double gasnett_tick_overheadus(void)
{
	static double us;

	return us > 0 ? us : (us = measure_us(false));
}

uint64_t gasnett_gettimeofday_us(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000;
}

uint64_t gasnett_gettimeofday_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int gasnett_nsleep(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	if (GEXI_UNLIKELY(gexi_world.is_virtual && gexi_world.spend)) {
		gexi_world.spend(ns * 1000);
		return 0;
	}
	if (GEXI_UNLIKELY(gexi_world.is_virtual)) {
		/* Reading the clock takes virtual time, and runs no handler. */
		gasnett_tick_t until = gasnett_ticks_now() + ns;

		while (gasnett_ticks_now() < until)
			;
		return 0;
	}
	while (nanosleep(&t, &t))
		if (errno != EINTR)
			return -1;
	return 0;
}

void gasnett_sched_yield(void)
{
	sched_yield();
}

/* ---- the machine ---- */

int gasnett_cpu_count(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (int)n : 0;
}

uint64_t gasnett_getPhysMemSz(int failure_is_fatal)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

const char *gasnett_gethostname(void)
{
	static char name[256];

	if (!name[0] && gethostname(name, sizeof(name) - 1))
		snprintf(name, sizeof(name), "unknown");
	return name;
}

int gasnett_isLittleEndian(void)
{
	return 1;
}

int gasnett_maximize_rlimit(int resource, const char *name)
{
	struct rlimit r;

	if (getrlimit((__rlimit_resource_t)resource, &r))
		return 0;
	r.rlim_cur = r.rlim_max;
	return !setrlimit((__rlimit_resource_t)resource, &r);
}

int gasnett_maximize_rlimits(void)
{
	return gasnett_maximize_rlimit(RLIMIT_NOFILE, "RLIMIT_NOFILE");
}

void gasnett_set_affinity(int rank)
{
	/* torus run binds processes. */
}

/* ---- the environment ---- */

char *gasnett_getenv(const char *name)
{
	return getenv(name);
}

char *gasnet_getenv(const char *name)
{
	return getenv(name);
}

void gasnett_setenv(const char *name, const char *value)
{
	setenv(name, value, 1);
}

void gasnett_unsetenv(const char *name)
{
	unsetenv(name);
}

char *gasnett_getenv_withdefault(const char *name, const char *standard)
{
	char *value = getenv(name);

	return value && *value ? value : (char *)(uintptr_t)standard;
}

int gasnett_getenv_yesno_withdefault(const char *name, int standard)
{
	const char *value = getenv(name);

	if (!value || !*value)
		return standard;
	return strchr("1yYtT", *value) != NULL || !strcasecmp(value, "on");
}

int64_t gasnett_getenv_int_withdefault(const char *name, int64_t standard, uint64_t unit)
{
	const char *value = getenv(name);

	return value && *value ? gasnett_parse_int(value, unit) : standard;
}

double gasnett_getenv_dbl_withdefault(const char *name, double standard)
{
	const char *value = getenv(name);

	return value && *value ? strtod(value, NULL) : standard;
}

int gasnett_verboseenv(void)
{
	return gasnett_getenv_yesno_withdefault("GASNET_VERBOSEENV", 0);
}

/* ---- what GASNET_VERBOSEENV shows ---- */

void gasnett_envstr_display(const char *name, const char *value, int is_default)
{
	if (gasnett_verboseenv())
		fprintf(stderr, "ENV parameter: %s = %s%s\n", name,
			value && *value ? value : "*empty*", is_default ? " (default)" : "");
}

void gasnett_envint_display(const char *name, int64_t value, int is_default, int is_size)
{
	char text[80];

	gasnett_envstr_display(name, gasnett_format_number(value, text, sizeof(text), is_size),
			       is_default);
}

void gasnett_envdbl_display(const char *name, double value, int is_default)
{
	char text[80];

	snprintf(text, sizeof(text), "%g", value);
	gasnett_envstr_display(name, text, is_default);
}

/* ---- numbers ---- */

static const struct {
	char letter;
	unsigned shift;
} units[] = {{'t', 40}, {'g', 30}, {'m', 20}, {'k', 10}, {'b', 0}};

int64_t gasnett_parse_int(const char *text, uint64_t unit)
{
	char *end;
	double value;
	int base = 10;

	while (*text == ' ' || *text == '\t')
		text++;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		base = 16;
	if (base == 16)
		return strtoll(text, NULL, 16);
	value = strtod(text, &end); /* sizes may have a fraction: 1.5G */
	while (*end == ' ')
		end++;
	for (size_t i = 0; *end && i < sizeof(units) / sizeof(units[0]); i++)
		if ((*end | 32) == units[i].letter)
			return (int64_t)(value * (double)(1ull << units[i].shift));
	return (int64_t)(value * (double)(unit ? unit : 1));
}

char *gasnett_format_number(int64_t value, char *buffer, size_t bytes, int is_size)
{
	for (size_t i = 0; is_size && i < sizeof(units) / sizeof(units[0]); i++) {
		int64_t of = (int64_t)1 << units[i].shift;

		if (value && value % of == 0) {
			snprintf(buffer, bytes, "%lld%s%s", (long long)(value / of),
				 of > 1 ? " " : "",
				 of > 1 ? (char[]){(char)(units[i].letter - 32), 'B', 0} : "");
			return buffer;
		}
	}
	snprintf(buffer, bytes, "%lld", (long long)value);
	return buffer;
}

/* ---- messages and ends ---- */

const char *gasnett_performance_warning_str(void)
{
	return "";
}

uint64_t gasnett_checksum(void *p, size_t bytes)
{
	const unsigned char *at = p;
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ at[i]) * 1099511628211u;
	return h;
}

size_t gasnett_count0s(const void *src, size_t bytes)
{
	const unsigned char *at = src;
	size_t zeros = 0;

	for (size_t i = 0; i < bytes; i++)
		zeros += !at[i];
	return zeros;
}

size_t gasnett_count0s_copy(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
	return gasnett_count0s(src, bytes);
}

void *gasnett_mmap(uintptr_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void gasnett_flush_streams(void)
{
	fflush(NULL);
}

void gasnett_fatalerror(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("*** FATAL ERROR: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	gasnett_killmyprocess(1);
}

void gasnett_killmyprocess(int exitcode)
{
	fflush(NULL);
	_exit(exitcode);
}

int gasnett_print_backtrace(int fd)
{
	void *frame[64];

	backtrace_symbols_fd(frame, backtrace(frame, 64), fd);
	return 0;
}

int gasnett_print_backtrace_ifenabled(int fd)
{
	return gasnett_getenv_yesno_withdefault("GASNET_BACKTRACE", 0) ? gasnett_print_backtrace(fd)
								       : 1;
}

void gasnett_backtrace_init(const char *program) {}

gasnett_backtrace_type_t gasnett_backtrace_user;

void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name)
{
	fprintf(stderr, "process %d waits for a debugger to set %s to 0\n", (int)getpid(), name);
	while (*flag)
		sleep(1);
}

void gasnett_freezeForDebuggerErr(void)
{
	static volatile int gasnett_frozen_on_error = 1;

	if (gasnett_getenv_yesno_withdefault("GASNET_FREEZE_ON_ERROR", 0))
		gasnett_freezeForDebuggerNow(&gasnett_frozen_on_error, "gasnett_frozen_on_error");
}

gasnett_sighandlerfn_t gasnett_reghandler(int sigtocatch, gasnett_sighandlerfn_t fp)
{
	return signal(sigtocatch, fp);
}
