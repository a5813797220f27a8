/* SPDX-License-Identifier: BSD-3-Clause */
/* torus stat: the counters of a job, as lines, JSON or Prometheus text. */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/json.h"
#include "tools/runs.h"
#include "tools/stat_serve.h"

enum { FLAG_LIST, FLAG_ONCE, FLAG_PROMETHEUS, FLAG_ALL };
enum { VALUE_JOB, VALUE_INTERVAL, VALUE_LISTEN };

static const struct argp_option options[] = {
    {"job", ARGS_VALUE + VALUE_JOB, "JOB", 0,
     "Number of the job, its first digits, or a file of counters (default: the newest job)", 1},
    {"list", ARGS_FLAG + FLAG_LIST, 0, 0, "List the jobs that can be seen", 1},
    {"once", ARGS_FLAG + FLAG_ONCE, 0, 0, "Print every row once, and end", 1},
    {"all", ARGS_FLAG + FLAG_ALL, 0, 0, "Each time print also rows that have not changed", 1},
    {"interval", ARGS_VALUE + VALUE_INTERVAL, "SECONDS", 0, "Time between lines (default: 1)", 1},
    {"json", ARGS_JSON, 0, 0, "Print objects of JSON, one a line", 1},
    {"prometheus", ARGS_FLAG + FLAG_PROMETHEUS, 0, 0, "Print the text format of Prometheus once",
     1},
    {"listen", ARGS_VALUE + VALUE_LISTEN, "[127.0.0.1:]PORT", 0,
     "Serve that text at http://127.0.0.1:PORT/metrics until interrupted; loopback addresses only",
     1},
    {"help", ARGS_HELP, 0, 0, "Print this", 2},
    {0},
};

static const char doc[] =
    "Print the counters of a job of torus run, while it runs or after it has ended. NAME is the "
    "name of a family such as link_bytes, or a pattern such as 'wire_*' (default: all). Each line "
    "has the name, what it is of, the value, its unit and the change per second.\v"
    "A job leaves its counters in the run directory (QUINTORUS_RUN_DIR). The agents write them "
    "twice a second.";

static bool is_wanted(const struct args *a, const char *name)
{
	for (unsigned i = 0; i < a->words; i++)
		if (!fnmatch(a->word[i], name, 0))
			return true;
	return !a->words;
}

static int check_names(const struct args *a, const struct runs_job *j)
{
	for (unsigned i = 0; i < a->words; i++) {
		bool found = false;

		for (uint32_t h = 0; h < j->hosts; h++)
			for (uint32_t f = 0; f < j->host[h].head.families; f++)
				found |= !fnmatch(a->word[i], j->host[h].family[f].name, 0);
		if (!found) {
			fprintf(stderr,
				"torus stat: job %016" PRIx64 " has no counter '%s'; torus stat "
				"--once lists them, --list the jobs, --job takes another\n",
				j->job, a->word[i]);
			return CMD_USAGE;
		}
	}
	return 0;
}

static void print_row(const struct args *a, const struct drv_stat_view *v, uint32_t row,
		      uint64_t before, double seconds, uint64_t at_ns)
{
	const struct drv_stat_row *r = &v->row[row];
	const struct drv_stat_family *f = &v->family[r->family];
	uint64_t value = v->value[row];
	double rate =
	    f->kind == DRV_STAT_COUNTER && seconds > 0 ? (double)(value - before) / seconds : 0;

	if (!a->json) {
		printf("%s", f->name);
		if (r->label[0])
			printf("{%s}", r->label);
		printf(" %" PRIu64 "%s%s", value, f->unit[0] ? " " : "", f->unit);
		if (f->kind == DRV_STAT_COUNTER && seconds > 0)
			printf(" %+.1f/s", rate);
		putchar('\n');
		return;
	}
	printf("{\"time\": %.3f, \"name\": ", (double)at_ns / 1e9);
	json_print_text(stdout, f->name);
	printf(", \"of\": ");
	json_print_text(stdout, r->label);
	printf(", \"value\": %" PRIu64 ", \"unit\": ", value);
	json_print_text(stdout, f->unit);
	if (f->kind == DRV_STAT_COUNTER)
		printf(", \"rate\": %.3f", rate);
	printf("}\n");
}

/* Print the rows that are wanted and, unless --all, have changed. before: [hosts] the values of the
 * last time; NULL: print every row. */
static void print_rows(const struct args *a, const struct runs_job *j, uint64_t *const *before,
		       double seconds)
{
	uint64_t at = runs_sampled_ns(j);

	for (uint32_t h = 0; h < j->hosts; h++) {
		const struct drv_stat_view *v = &j->host[h];

		for (uint32_t i = 0; i < v->head.rows; i++) {
			/* print_rates() makes an array for each host. */
			/* NOLINTBEGIN(clang-analyzer-core.NullDereference) */
			if (is_wanted(a, v->family[v->row[i].family].name) &&
			    (!before || a->flag[FLAG_ALL] || before[h][i] != v->value[i]))
				print_row(a, v, i, before ? before[h][i] : 0, seconds, at);
			/* NOLINTEND(clang-analyzer-core.NullDereference) */
		}
	}
	fflush(stdout);
}

static void copy_values(const struct runs_job *j, uint64_t **before)
{
	for (uint32_t h = 0; h < j->hosts; h++) {
		/* print_rates() makes an array for each host. */
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
		memcpy(before[h], j->host[h].value, j->host[h].head.rows * sizeof(uint64_t));
	}
}

static int print_rates(const struct args *a, struct runs_job *j, double interval)
{
	struct timespec pause = {(time_t)interval,
				 (long)((interval - (double)(time_t)interval) * 1e9)};
	uint64_t **before = calloc(j->hosts, sizeof *before), last = runs_sampled_ns(j);
	int rc = before ? 0 : 1;

	for (uint32_t h = 0; !rc && h < j->hosts; h++) {
		before[h] = malloc((j->host[h].head.rows + 1) * sizeof(uint64_t));
		rc = before[h] ? 0 : 1;
	}
	if (!rc)
		copy_values(j, before);
	while (!rc && runs_is_live(j) && !ferror(stdout)) {
		uint64_t at;

		nanosleep(&pause, NULL);
		if (runs_refresh(j))
			break;
		at = runs_sampled_ns(j);
		if (at == last)
			continue;
		print_rows(a, j, before, (double)(at - last) / 1e9);
		copy_values(j, before);
		last = at;
	}
	for (uint32_t h = 0; before && h < j->hosts; h++)
		free(before[h]);
	free(before);
	return rc;
}

int cmd_stat(int argc, char **argv)
{
	struct args a = {
	    .options = options, .words_doc = "[NAME...]", .doc = doc, .words_max = ARGS_WORDS_MAX};
	struct runs_job job;
	char why[512];
	double interval = 1;
	int rc = args_parse(&a, argc, argv);

	if (rc > 0)
		return 0;
	if (rc) {
		args_print_usage(&a, argv[0]);
		return CMD_USAGE;
	}
	if (a.value[VALUE_INTERVAL]) {
		char *end;

		interval = strtod(a.value[VALUE_INTERVAL], &end);
		if (*end || !(interval >= 0.05 && interval <= 86400)) {
			fprintf(stderr, "torus stat: --interval %s: give seconds, at least 0.05\n",
				a.value[VALUE_INTERVAL]);
			return CMD_USAGE;
		}
	}
	if (a.flag[FLAG_LIST]) {
		if (!runs_list())
			printf("no job of torus run can be seen\n");
		return 0;
	}
	if (a.value[VALUE_LISTEN])
		return stat_serve(a.value[VALUE_LISTEN], a.value[VALUE_JOB]);
	rc = runs_open(&job, a.value[VALUE_JOB], why, sizeof why);
	if (rc) {
		fprintf(stderr, "torus stat: %s\n", why);
		return 1;
	}
	rc = check_names(&a, &job);
	if (!rc && a.flag[FLAG_PROMETHEUS])
		stat_print_prometheus(stdout, &job);
	else if (!rc && (a.flag[FLAG_ONCE] || !runs_is_live(&job)))
		print_rows(&a, &job, NULL, 0);
	else if (!rc)
		rc = print_rates(&a, &job, interval);
	runs_close(&job);
	return rc;
}
