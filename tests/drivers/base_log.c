/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/base/log.h: a place that logs without end prints some lines, and says how many it left
 * out. */
#include "drivers/base/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/t.h"

static char said[1 << 16];

static void warn_of_heat(int n)
{
	drv_warn("too hot: %d degrees", n);
}

/* Run fn() with standard error in a file; returns how many lines it wrote, their text in `said`. */
static int lines_of(void (*fn)(void))
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO), lines = 0;
	size_t bytes;

	REQUIRE(file);
	dup2(fileno(file), STDERR_FILENO);
	fn();
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	bytes = fread(said, 1, sizeof said - 1, file);
	said[bytes] = 0;
	for (const char *at = said; (at = strchr(at, '\n')); at++)
		lines++;
	fclose(file);
	return lines;
}

static void flood_log(void)
{
	for (int i = 0; i < 5000; i++)
		warn_of_heat(i);
}

static void flood_of_another_place(void)
{
	for (int i = 0; i < 3; i++)
		drv_warn("too cold: %d degrees", i);
}

static void once_more(void)
{
	warn_of_heat(-1);
}

static void a_flood_is_cut(void)
{
	const struct timespec wait = {.tv_sec = 2, .tv_nsec = 100000000};
	int lines = lines_of(flood_log);

	CHECK(lines >= 16 && lines < 100); /* one more for each second that the loop took */
	CHECK(strstr(said, "too hot: 0 degrees") != NULL);
	CHECK_EQ(lines_of(flood_of_another_place), 3);
	nanosleep(&wait, NULL);
	CHECK_EQ(lines_of(once_more), 1);
	CHECK(strstr(said, "too hot: -1 degrees (") != NULL);
	CHECK(strstr(said, "lines like this were left out") != NULL);
}

T_MAIN(T(a_flood_is_cut))
