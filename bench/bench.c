/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "bench/bench.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/commit.h"

void bench_samples_add(struct bench_samples *s, double value)
{
	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->value = realloc(s->value, s->room * sizeof(*s->value));
		if (!s->value) {
			fprintf(stderr, "bench: out of memory for %zu samples\n", s->room);
			exit(1);
		}
	}
	s->value[s->count++] = value;
}

void bench_samples_free(struct bench_samples *s)
{
	free(s->value);
	memset(s, 0, sizeof(*s));
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_quantile(struct bench_samples *s, double q)
{
	size_t at;

	if (!s->count)
		return (double)NAN;
	qsort(s->value, s->count, sizeof(*s->value), compare_doubles);
	at = (size_t)(q * (double)(s->count - 1) + 0.5);
	return s->value[at];
}

void bench_row_value(struct bench_row *row, struct bench_samples *repetitions)
{
	row->value = bench_quantile(repetitions, 0.5);
	row->low = bench_quantile(repetitions, 0);
	row->high = bench_quantile(repetitions, 1);
	row->repetitions = (unsigned)repetitions->count;
}

void bench_row_percentiles(struct bench_row *row, struct bench_samples *events)
{
	static const double q[4] = {0.5, 0.9, 0.99, 0.999};

	for (int i = 0; i < 4; i++)
		row->percentile[i] = bench_quantile(events, q[i]);
}

static void cpu_model(char *text, size_t bytes)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *at;

	snprintf(text, bytes, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10) || !(at = strchr(line, ':')))
			continue;
		at[strcspn(at, "\n")] = '\0';
		snprintf(text, bytes, "%s", at + 2);
		break;
	}
	if (f)
		fclose(f);
}

static void json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		if ((unsigned char)*s >= 0x20)
			putchar(*s);
	}
	putchar('"');
}

static void print_fact(enum bench_format format, const char *name, const char *value, int first)
{
	if (format == BENCH_JSON) {
		fputs(first ? "{\"facts\":{" : ",", stdout);
		json_string(name);
		putchar(':');
		json_string(value);
	} else {
		printf("# %-8s %s\n", name, value);
	}
}

void bench_out_begin(enum bench_format format, const char *const *facts)
{
	char text[256], when[64];
	struct utsname u;
	time_t now = time(NULL);

	cpu_model(text, sizeof(text));
	print_fact(format, "cpu", text, 1);
	snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	print_fact(format, "cores", text, 0);
	if (uname(&u) == 0) {
		snprintf(text, sizeof(text), "%s %s", u.sysname, u.release);
		print_fact(format, "kernel", text, 0);
	}
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", gmtime(&now));
	print_fact(format, "date", when, 0);
	print_fact(format, "commit", BENCH_COMMIT, 0);
	for (; facts && facts[0] && facts[1]; facts += 2)
		print_fact(format, facts[0], facts[1], 0);
	if (format == BENCH_JSON)
		printf("}}\n");
	else if (format == BENCH_CSV)
		printf("bench,variant,bytes,unit,median,low,high,p50,p90,p99,p99.9,repetitions,"
		       "from,to,"
		       "hops,pairs,check\n");
	else
		printf("%-10s %-12s %8s %5s %5s %5s %10s %-5s %-19s %s\n", "bench", "variant",
		       "bytes", "from", "to", "hops", "median", "", "low .. high",
		       "p50 / p90 / p99 / p99.9");
	fflush(stdout);
}

static void row_table(const struct bench_row *r)
{
	char number[4][16] = {"", "", "", ""}, spread[40];
	const int place[3] = {r->from, r->to, r->hops};

	for (int i = 0; i < 3; i++)
		if (place[i] >= 0)
			snprintf(number[i], sizeof(number[i]), "%d", place[i]);
	snprintf(spread, sizeof(spread), "%.4g .. %.4g", r->low, r->high);
	printf("%-10s %-12s %8zu %5s %5s %5s %10.4g %-5s %-19s", r->bench, r->variant, r->bytes,
	       number[0], number[1], number[2], r->value, r->unit, spread);
	if (r->percentile[0] != 0)
		printf(" %.3g / %.3g / %.3g / %.3g", r->percentile[0], r->percentile[1],
		       r->percentile[2], r->percentile[3]);
	if (r->pairs > 1)
		printf(" %u pairs", r->pairs);
	if (r->check && *r->check)
		printf(" data %s", r->check);
	printf("\n");
}

void bench_out_row(enum bench_format format, const struct bench_row *r)
{
	const char *check = r->check ? r->check : "";
	const double *p = r->percentile;

	if (format == BENCH_TABLE)
		row_table(r);
	else if (format == BENCH_CSV)
		printf("%s,%s,%zu,%s,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%u,%d,%d,%d,%u,%s\n",
		       r->bench, r->variant, r->bytes, r->unit, r->value, r->low, r->high, p[0],
		       p[1], p[2], p[3], r->repetitions, r->from, r->to, r->hops, r->pairs, check);
	else
		printf("{\"bench\":\"%s\",\"variant\":\"%s\",\"bytes\":%zu,\"unit\":\"%s\","
		       "\"median\":%.6g,"
		       "\"low\":%.6g,\"high\":%.6g,\"p50\":%.6g,\"p90\":%.6g,\"p99\":%.6g,\"p99."
		       "9\":%.6g,"
		       "\"repetitions\":%u,\"from\":%d,\"to\":%d,\"hops\":%d,\"pairs\":%u,"
		       "\"check\":\"%s\"}\n",
		       r->bench, r->variant, r->bytes, r->unit, r->value, r->low, r->high, p[0],
		       p[1], p[2], p[3], r->repetitions, r->from, r->to, r->hops, r->pairs, check);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "cannot print the results: %s\n", strerror(errno));
		exit(1);
	}
}

void bench_pin_to_core(unsigned index, unsigned count)
{
	cpu_set_t all, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all) || count > (unsigned)CPU_COUNT(&all))
		return;
	for (unsigned left = index + 1; left && cpu < CPU_SETSIZE; cpu++)
		left -= CPU_ISSET(cpu, &all) != 0;
	CPU_ZERO(&one);
	CPU_SET(cpu - 1, &one);
	sched_setaffinity(0, sizeof(one), &one);
}
