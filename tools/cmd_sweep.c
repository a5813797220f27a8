/* SPDX-License-Identifier: BSD-3-Clause */
/* torus sweep: run a program once for each combination of values. Runs are torus run itself. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/clock.h"
#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/sweep.h"

#define JOBS_MAX    256
#define WORDS_MAX   256
#define SAVE_NS     1000000000ull /* the file is written at most this often */
#define FAILED_SHOW 5             /* failures that are explained */
#define POLL_US     3000
#define BAR         32

enum {
	KEY_HW = 256,
	KEY_SHAPE,
	KEY_MACHINE,
	KEY_OVER,
	KEY_CLOCK,
	KEY_RUN,
	KEY_JOBS,
	KEY_CSV,
	KEY_PLOT,
	KEY_X,
	KEY_Y,
	KEY_VALUE,
	KEY_JSON,
	KEY_HELP
};

static const char doc[] =
    "Run PROGRAM once for each combination of the values given, in virtual time as many at once as "
    "there are processors, and write the results to a CSV file.\v"
    "VALUES is a list of values and ranges: 10,20,40..80:10,100..1600*2 (a step, or a factor).\n"
    "\n"
    "Columns of the file: the axes, then status, virtual_us, seconds, packets, hops, value. The "
    "same command goes on after an interrupt: what the file has is not run again, and runs that "
    "failed are.\n"
    "\n"
    "Examples:\n"
    "  torus sweep --hw hop_ns=10..80:10 --shape 2x2x2x2x2,4x4x4x4x2 -- ./program\n"
    "  torus sweep --over bytes=64..65536*4 --hw hop_ns=20,40 --shape 2x2x2x2x2 \\\n"
    "      --value 'allreduce +[0-9]+ +([0-9.]+) us' --plot allreduce.svg \\\n"
    "      -- qbench coll --only allreduce --sizes {bytes}\n"
    "\n"
    "Exit status: 0; 1 if a run failed; 2 for wrong arguments; 130 after an interrupt.";

static const struct argp_option options[] = {
    {0, 0, 0, 0, "Axes:", 1},
    {"hw", KEY_HW, "NAME=VALUES", 0, "Values of a row of the machine (torus machine lists them)",
     1},
    {"shape", KEY_SHAPE, "SHAPES", 0, "Shapes of the torus", 1},
    {"tasks", 'n', "VALUES", 0, "Numbers of tasks", 1},
    {"machine", KEY_MACHINE, "FILES", 0, "Machine files, or names of installed ones", 1},
    {"over", KEY_OVER, "NAME=VALUES", 0, "Values that take the place of {NAME} in PROGRAM's words",
     1},
    {0, 0, 0, 0, "Runs:", 2},
    {"clock", KEY_CLOCK, "virtual|real", 0, "The clock of all runs (default: virtual)", 2},
    {"run", KEY_RUN, "OPTIONS", 0,
     "More options of torus run for all runs, such as '--fabric express --seed 3'", 2},
    {"jobs", KEY_JOBS, "N", 0, "Runs at once (default: a run a processor; clock real: one)", 2},
    {0, 0, 0, 0, "Results:", 3},
    {"csv", KEY_CSV, "FILE", 0, "The file of results (default: sweep.csv)", 3},
    {"value", KEY_VALUE, "REGEX", 0,
     "Column value: the number that the first group of this extended regular expression matches in "
     "the program's output, the last match of a run",
     3},
    {"plot", KEY_PLOT, "FILE", 0, "Draw the results as SVG, at the end", 3},
    {"x", KEY_X, "AXIS", 0,
     "The axis that the plot goes along (default: the first with several values)", 3},
    {"y", KEY_Y, "COLUMN", 0,
     "What the plot shows (default: value with --value, else virtual_us, with the real clock "
     "seconds)",
     3},
    {"json", KEY_JSON, 0, 0, "Print the results as JSON instead of a table", 3},
    {"help", KEY_HELP, 0, 0, "Print this", 4},
    {0},
};

struct slot {
	pid_t pid; /* 0: free */
	uint32_t run;
	int out, err; /* memory files with what it printed */
};

struct request {
	struct sweep sweep;
	char **words; /* the program */
	int words_count;
	const char *run_options, *csv, *plot, *x, *y, *value, *clock;
	unsigned jobs;
	bool json, help, failed;
	regex_t regex;
	unsigned x_axis, y_number;
	/* Processors of this process; runs in virtual time get one each. */
	int cpu[JOBS_MAX];
	unsigned cpus;
	uint32_t done, bad;
	uint64_t started_ns, saved_ns;
	uint32_t kept; /* runs that the file had */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

#define print_wrong(w, ...) args_print_wrong(&(w)->failed, "sweep", __VA_ARGS__)

static int axis_add(struct request *w, enum sweep_kind kind, const char *name, const char *text)
{
	char err[256] = "out of memory";

	return sweep_axis_add(&w->sweep, kind, name, text, err, sizeof err)
		   ? print_wrong(w, "%s", err)
		   : 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct request *w = state->input;
	char *end;

	switch (key) {
	case KEY_HW:
		return axis_add(w, SWEEP_HW, NULL, arg);
	case KEY_SHAPE:
		return axis_add(w, SWEEP_SHAPE, "shape", arg);
	case 'n':
		return axis_add(w, SWEEP_TASKS, "tasks", arg);
	case KEY_MACHINE:
		return axis_add(w, SWEEP_MACHINE, "machine", arg);
	case KEY_OVER:
		return axis_add(w, SWEEP_WORD, NULL, arg);
	case KEY_CLOCK:
		w->clock = arg;
		return strcmp(arg, "virtual") && strcmp(arg, "real")
			   ? print_wrong(w, "--clock %s: give virtual or real", arg)
			   : 0;
	case KEY_RUN:
		w->run_options = arg;
		return 0;
	case KEY_JOBS:
		w->jobs = (unsigned)strtoul(arg, &end, 10);
		return *end || !w->jobs || w->jobs > JOBS_MAX
			   ? print_wrong(w, "--jobs %s: give a number from 1 to %d", arg, JOBS_MAX)
			   : 0;
	case KEY_CSV:
		w->csv = arg;
		return 0;
	case KEY_VALUE:
		w->value = arg;
		return 0;
	case KEY_PLOT:
		w->plot = arg;
		return 0;
	case KEY_X:
		w->x = arg;
		return 0;
	case KEY_Y:
		w->y = arg;
		return 0;
	case KEY_JSON:
		w->json = true;
		return 0;
	case KEY_HELP:
		w->help = true;
		return ECANCELED;
	case ARGP_KEY_ARG:
		w->words = state->argv + state->next - 1;
		w->words_count = state->argc - state->next + 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, "-- PROGRAM [ARGUMENT...]", doc};

/* ---- before the runs ---- */

static int choose_axes(struct request *w)
{
	struct sweep *s = &w->sweep;

	for (w->x_axis = 0; w->x && w->x_axis < s->axes && strcmp(s->axis[w->x_axis].name, w->x);
	     w->x_axis++)
		;
	if (w->x && w->x_axis == s->axes)
		return print_wrong(w, "--x %s: no such axis is given", w->x);
	while (!w->x && w->x_axis + 1 < s->axes && s->axis[w->x_axis].values < 2)
		w->x_axis++;
	if (!w->x && s->axis[w->x_axis].values < 2)
		w->x_axis = 0;
	w->y_number = w->value ? SWEEP_VALUE : strcmp(w->clock, "real") ? SWEEP_US : SWEEP_SECONDS;
	for (unsigned i = 0; w->y; i++) {
		if (i == SWEEP_NUMBERS)
			return print_wrong(
			    w, "--y %s: give virtual_us, seconds, packets, hops or value", w->y);
		if (strcmp(w->y, sweep_numbers[i]))
			continue;
		w->y_number = i;
		break;
	}
	return 0;
}

static int check_words(struct request *w)
{
	char hole[64];

	for (uint32_t i = 0; i < w->sweep.axes; i++) {
		bool used = w->sweep.axis[i].kind != SWEEP_WORD;

		snprintf(hole, sizeof hole, "{%s}", w->sweep.axis[i].name);
		for (int k = 0; k < w->words_count; k++)
			used |= strstr(w->words[k], hole) != NULL;
		if (!used)
			return print_wrong(w, "--over %s: no word of the program has %s in it",
					   w->sweep.axis[i].name, hole);
	}
	return 0;
}

/* Return what all runs share. Two sweeps with the same title and axes have the same runs. */
static char *title_of(const struct request *w)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	for (int i = 0; i < w->words_count; i++)
		fprintf(f, "%s%s", i ? " " : "", w->words[i]);
	if (strcmp(w->clock, "virtual"))
		fprintf(f, ", clock %s", w->clock);
	if (w->run_options)
		fprintf(f, ", %s", w->run_options);
	if (w->value)
		fprintf(f, ", value %s", w->value);
	fclose(f);
	for (char *p = text; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	return text;
}

static void find_processors(struct request *w)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof set, &set);
	for (int i = 0; i < CPU_SETSIZE && w->cpus < JOBS_MAX; i++)
		if (CPU_ISSET(i, &set))
			w->cpu[w->cpus++] = i;
	if (!w->jobs)
		w->jobs = strcmp(w->clock, "real") && w->cpus ? w->cpus : 1;
}

static int prepare_runs(struct request *w)
{
	char err[PATH_MAX + 256] = "out of memory";
	int rc;

	if (!w->words_count)
		return print_wrong(w, "no program; write for example: torus sweep --hw "
				      "hop_ns=10..80:10 --shape 2x2x2x2x2 -- ./program");
	if (!w->sweep.axes)
		return print_wrong(w,
				   "nothing to vary; give --hw, --shape, -n, --machine or --over");
	if (w->words_count + 64 > WORDS_MAX)
		return print_wrong(w, "the program has more than %d words", WORDS_MAX - 64);
	if (w->value && (rc = regcomp(&w->regex, w->value, REG_EXTENDED | REG_NEWLINE))) {
		regerror(rc, &w->regex, err, sizeof err);
		print_wrong(w, "--value '%s': %s", w->value, err);
		w->value = NULL;
		return EINVAL;
	}
	if (w->value && !w->regex.re_nsub)
		return print_wrong(w, "--value '%s': put the number into parentheses", w->value);
	if (choose_axes(w) || check_words(w))
		return EINVAL;
	w->sweep.title = title_of(w);
	if (!w->sweep.title || sweep_grid_make(&w->sweep, err, sizeof err) ||
	    sweep_csv_read(&w->sweep, w->csv, err, sizeof err))
		return print_wrong(w, "%s", err);
	for (uint32_t r = 0; r < w->sweep.runs; r++)
		w->kept += w->sweep.run[r].done;
	w->done = w->kept;
	rc = sweep_csv_write(&w->sweep, w->csv);
	if (rc)
		return print_wrong(w, "--csv %s: %s", w->csv, strerror(-rc));
	find_processors(w);
	return 0;
}

/* ---- a run ---- */

/* Return the word with the values of this run in place of {NAME}. */
static char *fill_word(const struct sweep *s, uint32_t run, const char *word)
{
	char *text = NULL, hole[64];
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	while (f && *word) {
		uint32_t i = 0;

		for (; i < s->axes; i++) {
			snprintf(hole, sizeof hole, "{%s}", s->axis[i].name);
			if (s->axis[i].kind == SWEEP_WORD && !strncmp(word, hole, strlen(hole)))
				break;
		}
		if (i < s->axes) {
			fputs(sweep_value(s, run, i), f);
			word += strlen(hole);
		} else {
			fputc(*word++, f);
		}
	}
	if (f)
		fclose(f);
	return text;
}

/* In the child: become torus run. Memory that is allocated here ends with the process. */
static void exec_run(const struct request *w, uint32_t run)
{
	static const char *const option[] = {
	    [SWEEP_SHAPE] = "--shape", [SWEEP_TASKS] = "--tasks", [SWEEP_MACHINE] = "--machine"};
	const struct sweep *s = &w->sweep;
	char *argv[WORDS_MAX + 1], *hw = strdup(""),
				   *shared = w->run_options ? strdup(w->run_options) : NULL;
	unsigned n = 0;

	argv[n++] = "torus";
	argv[n++] = "run";
	argv[n++] = "--clock";
	argv[n++] = (char *)(size_t)w->clock;
	argv[n++] = "--report=json";
	for (char *at = shared ? strtok(shared, " ") : NULL; at && n < 40; at = strtok(NULL, " "))
		argv[n++] = at;
	for (uint32_t i = 0; i < s->axes; i++) {
		const char *value = sweep_value(s, run, i);
		char *more;

		if (s->axis[i].kind == SWEEP_HW) {
			if (asprintf(&more, "%s%s%s=%s", hw, *hw ? "," : "", s->axis[i].name,
				     value) < 0)
				_exit(126);
			hw = more;
		} else if (s->axis[i].kind != SWEEP_WORD) {
			argv[n++] = (char *)(size_t)option[s->axis[i].kind];
			argv[n++] = (char *)(size_t)value;
		}
	}
	if (*hw) {
		argv[n++] = "--hw";
		argv[n++] = hw;
	}
	for (int i = 0; i < w->words_count; i++)
		argv[n++] = fill_word(s, run, w->words[i]);
	argv[n] = NULL;
	execv("/proc/self/exe", argv);
	_exit(126);
}

static int start_run(struct request *w, struct slot *slot, unsigned number, uint32_t run)
{
	pid_t parent = getpid();

	slot->out = memfd_create("out", MFD_CLOEXEC);
	slot->err = memfd_create("err", MFD_CLOEXEC);
	slot->run = run;
	slot->pid = slot->out < 0 || slot->err < 0 ? -1 : fork();
	if (slot->pid < 0) {
		slot->pid = 0;
		return -errno;
	}
	if (slot->pid)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(126);
	dup2(slot->out, 1);
	dup2(slot->err, 2);
	/* A simulator runs one thread at a time, on the processor on which it begins. */
	if (!strcmp(w->clock, "virtual") && w->jobs <= w->cpus && w->jobs > 1) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(w->cpu[number], &set);
		sched_setaffinity(0, sizeof set, &set);
	}
	exec_run(w, run);
	return 0;
}

/* Return what a run printed, as a string that the caller frees. */
static char *read_all(int fd)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)bytes + 1);
	ssize_t n = text ? pread(fd, text, (size_t)bytes, 0) : 0;

	if (text)
		text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

static double number_behind(const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;

	return at ? strtod(at + strlen(key), NULL) : NAN;
}

static double find_value(const struct request *w, const char *text)
{
	regmatch_t m[2];
	double value = NAN;

	while (text && w->value && !regexec(&w->regex, text, 2, m, 0)) {
		if (m[1].rm_so >= 0)
			value = strtod(text + m[1].rm_so, NULL);
		if (!text[m[0].rm_eo])
			break;
		text += m[0].rm_eo > m[0].rm_so ? m[0].rm_eo : m[0].rm_eo + 1;
	}
	return value;
}

static void print_failure(struct request *w, uint32_t run, const char *why, double status)
{
	if (++w->bad > FAILED_SHOW)
		return;
	fprintf(stderr, "%s", isatty(2) ? "\r\033[K" : "");
	fprintf(stderr, "torus sweep:");
	for (uint32_t i = 0; i < w->sweep.axes; i++)
		fprintf(stderr, " %s=%s", w->sweep.axis[i].name, sweep_value(&w->sweep, run, i));
	fprintf(stderr, ": status %g: %.*s\n", status, (int)strcspn(why ? why : "", "\n"),
		why ? why : "");
}

static void take_result(struct request *w, struct slot *slot, int status)
{
	char *out = read_all(slot->out), *err = read_all(slot->err);
	const char *report = err ? strstr(err, "{\"status\": ") : NULL;
	struct sweep_run *r = &w->sweep.run[slot->run];

	slot->pid = 0;
	if (!interrupted) {
		r->done = true;
		r->number[SWEEP_STATUS] =
		    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		r->number[SWEEP_US] = number_behind(report, "\"virtual\": {\"us\": ");
		r->number[SWEEP_SECONDS] = number_behind(report, "\"seconds\": ");
		r->number[SWEEP_PACKETS] =
		    number_behind(report ? strstr(report, "\"virtual\": ") : NULL, "\"packets\": ");
		r->number[SWEEP_HOPS] = number_behind(report, "\"hops\": ");
		r->number[SWEEP_VALUE] = find_value(w, out);
		w->done++;
		if (r->number[SWEEP_STATUS] != 0)
			print_failure(w, slot->run, err, r->number[SWEEP_STATUS]);
		else if (w->value && isnan(r->number[SWEEP_VALUE]))
			print_failure(w, slot->run, "--value matches nothing in the output", 0);
	}
	free(out);
	free(err);
}

/* ---- all runs ---- */

static void print_progress(const struct request *w)
{
	double left = (double)(w->sweep.runs - w->done),
	       seconds = (double)(drv_clock_ns() - w->started_ns) / 1e9;
	unsigned full;

	DRV_ASSERT(w->sweep.runs);
	full = (unsigned)((uint64_t)BAR * w->done / w->sweep.runs);
	if (!isatty(2))
		return;
	fprintf(stderr, "\r\033[K[%.*s%.*s] %u of %u", (int)full,
		"################################", (int)(BAR - full),
		"................................", w->done, w->sweep.runs);
	if (w->done > w->kept && left > 0)
		fprintf(stderr, ", %.0f s left", left * seconds / (w->done - w->kept));
	fflush(stderr);
}

static struct slot *slot_of(struct slot *slots, unsigned count, pid_t pid)
{
	for (unsigned i = 0; i < count; i++)
		if (slots[i].pid == pid)
			return &slots[i];
	return NULL;
}

static int run_all(struct request *w)
{
	static struct slot slots[JOBS_MAX];
	unsigned running = 0;
	uint32_t next = 0;
	bool told = false;
	int rc = 0;

	w->started_ns = w->saved_ns = drv_clock_ns();
	for (;;) {
		struct slot *slot;
		int status;
		pid_t pid;

		while (running < w->jobs && !interrupted && !rc) {
			while (next < w->sweep.runs && w->sweep.run[next].done)
				next++;
			slot = slot_of(slots, w->jobs, 0);
			if (next == w->sweep.runs || !slot)
				break;
			rc = start_run(w, slot, (unsigned)(slot - slots), next++);
			running += !rc;
		}
		print_progress(w);
		if (!running)
			break;
		pid = waitpid(-1, &status, WNOHANG);
		if (!pid)
			usleep(POLL_US); /* a signal may come at any time */
		for (unsigned i = 0; interrupted && !told && i < w->jobs; i++)
			if (slots[i].pid)
				kill(slots[i].pid, SIGTERM);
		told = interrupted;
		slot = pid > 0 ? slot_of(slots, w->jobs, pid) : NULL;
		if (!slot)
			continue;
		take_result(w, slot, status);
		running--;
		if (drv_clock_ns() - w->saved_ns > SAVE_NS) {
			rc = sweep_csv_write(&w->sweep, w->csv);
			w->saved_ns = drv_clock_ns();
		}
	}
	if (isatty(2))
		fputc('\n', stderr);
	return rc ? rc : sweep_csv_write(&w->sweep, w->csv);
}

static int sweep_all(struct request *w)
{
	struct sigaction act = {.sa_handler = on_signal};
	int rc;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGCHLD, SIG_DFL);
	if (w->kept)
		fprintf(stderr, "torus sweep: %s has %u of %u runs already\n", w->csv, w->kept,
			w->sweep.runs);
	rc = run_all(w);
	if (rc)
		fprintf(stderr, "torus sweep: %s: %s\n", w->csv, strerror(-rc));
	if (interrupted) {
		fprintf(stderr,
			"torus sweep: interrupted after %u of %u runs, which %s has; the same "
			"command goes on\n",
			w->done, w->sweep.runs, w->csv);
		return 128 + interrupted;
	}
	if (w->bad > FAILED_SHOW)
		fprintf(stderr, "torus sweep: %u more runs gave no result\n", w->bad - FAILED_SHOW);
	if (w->json)
		sweep_print_json(stdout, &w->sweep);
	else
		sweep_print_table(stdout, &w->sweep);
	if (w->plot && !rc) {
		rc = sweep_plot(&w->sweep, w->x_axis, w->y_number, w->plot);
		if (rc)
			fprintf(stderr, "torus sweep: --plot %s: %s\n", w->plot,
				rc == -ENODATA ? "no run has that number" : strerror(-rc));
	}
	return rc || w->bad ? 1 : 0;
}

int cmd_sweep(int argc, char **argv)
{
	struct request w = {.csv = "sweep.csv", .clock = "virtual"};
	int status = CMD_USAGE;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &w)) {
		status = args_explain(&argp, "sweep", w.help, &w.failed, argc, argv);
	} else if (!prepare_runs(&w)) {
		status = sweep_all(&w);
	}
	if (w.value)
		regfree(&w.regex);
	sweep_free(&w.sweep);
	return status;
}
