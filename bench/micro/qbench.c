/* SPDX-License-Identifier: BSD-3-Clause */
/* Benches of the stack; plain PAMI programs, run under `torus run`. bench/README.md reads the
 * numbers. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench/micro/job.h"

static const struct {
	const char *name, *text;
	int (*run)(struct bench_job *);
} benches[] = {
    {"latency", "half round trip of Send_immediate and Send, by size", bench_latency},
    {"rate", "messages a second, tasks in pairs, window of 64", bench_rate},
    {"node", "messages a second of one node, its peers on the nodes around it", bench_node},
    {"rdma", "Rput and Rget: latency and bandwidth by size, data checked", bench_rdma},
    {"fifo", "bandwidth of Send through the memory FIFOs, by size", bench_fifo},
    {"exchange", "1 MiB both ways with 1, 2 ... of the --to tasks at once", bench_exchange},
    {"rmw", "fetch-and-add on a word of another task", bench_rmw},
    {"advance", "a poll that finds nothing", bench_advance_empty},
    {"post", "from PAMI_Context_post to the work, by a commthread", bench_post},
    {"contexts", "message rate of 1 to 4 contexts, driven by threads or commthreads",
     bench_contexts},
    {"objects", "space and time of endpoints, memory regions and contexts", bench_objects},
    {"coll",
     "barrier, broadcast, allreduce, allgather of all tasks; --only algorithms: each of them",
     bench_coll},
    {"start", "from the command (BENCH_START_NS) to the first messages", bench_start},
    {"idle", "memory and CPU time of tasks that wait", bench_memory_use},
};

static void print_usage(FILE *f)
{
	fprintf(f, "usage: torus run -n N [...] qbench BENCH[,BENCH...] [options]\n\nbenches:\n");
	for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
		fprintf(f, "  %-9s %s\n", benches[i].name, benches[i].text);
	fprintf(f, "\noptions:\n"
		   "  --to T,T...       tasks to measure against from task 0 (default 1)\n"
		   "  --sizes N,N...    sizes in bytes (K and M understood)\n"
		   "  --min N --max N   or a sweep over these, each 8 times the one before\n"
		   "  --only VARIANT    one variant, e.g. immediate, put, 'get latency'\n"
		   "  --window N        messages or operations under way\n"
		   "  --repetitions N   repetitions of each row (default 7; virtual clock 1)\n"
		   "  --ms X            length of a repetition (default 20; virtual clock 1)\n"
		   "  --eager, --rendezvous   ask for that protocol\n"
		   "  --arena           buffers in memory that the tasks of a node share (rdma, "
		   "fifo, latency)\n"
		   "  --fold N          longer buffers repeat N bytes of memory (coll: jobs that "
		   "have not enough of it)\n"
		   "  --csv, --json     one row a line, for programs\n");
}

static int parse_size(const char *text, size_t *bytes)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 0);

	if (end == text || text[0] == '-')
		return -1;
	if (*end == 'K' || *end == 'k')
		n <<= 10, end++;
	else if (*end == 'M' || *end == 'm')
		n <<= 20, end++;
	*bytes = (size_t)n;
	return *end || n > (1ull << 30) ? -1 : 0;
}

static int parse_to(const char *text, struct bench_options *o)
{
	char *end;

	do {
		unsigned long t = strtoul(text, &end, 10);

		if (end == text || o->to_count == BENCH_TO_MAX)
			return -1;
		o->to[o->to_count++] = (unsigned)t;
		text = end + 1;
	} while (*end == ',');
	return *end ? -1 : 0;
}

static int parse_sizes(const char *text, struct bench_options *o)
{
	char one[32];

	for (size_t n; *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		if (n == 0 || n >= sizeof(one) || !strcmp(text + n, ",") ||
		    o->size_count == BENCH_SIZES_MAX)
			return -1;
		memcpy(one, text, n);
		one[n] = '\0';
		if (parse_size(one, &o->sizes[o->size_count++]))
			return -1;
	}
	return o->size_count ? 0 : -1;
}

static int parse_number(const char *text, size_t max, unsigned *value)
{
	size_t n;

	if (parse_size(text, &n) || n < 1 || n > max)
		return -1;
	*value = (unsigned)n;
	return 0;
}

enum {
	TO = 1,
	SIZES,
	MIN,
	MAX,
	ONLY,
	WINDOW,
	REPETITIONS,
	MS,
	EAGER,
	RENDEZVOUS,
	ARENA,
	FOLD,
	CSV,
	JSON,
	HELP
};

/* Returns 0; 1: the user asked for help; -1: wrong, and *what names the option. */
static int parse_options(int argc, char **argv, struct bench_options *o, const char **what)
{
	static const struct option options[] = {{"to", 1, 0, TO},
						{"sizes", 1, 0, SIZES},
						{"min", 1, 0, MIN},
						{"max", 1, 0, MAX},
						{"only", 1, 0, ONLY},
						{"window", 1, 0, WINDOW},
						{"repetitions", 1, 0, REPETITIONS},
						{"ms", 1, 0, MS},
						{"eager", 0, 0, EAGER},
						{"rendezvous", 0, 0, RENDEZVOUS},
						{"csv", 0, 0, CSV},
						{"arena", 0, 0, ARENA},
						{"fold", 1, 0, FOLD},
						{"json", 0, 0, JSON},
						{"help", 0, 0, HELP},
						{0, 0, 0, 0}};
	int c, bad = 0;

	while (!bad && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		*what = argv[optind - 1];
		switch (c) {
		case TO:
			bad = parse_to(optarg, o);
			break;
		case SIZES:
			bad = parse_sizes(optarg, o);
			break;
		case MIN:
			bad = parse_size(optarg, &o->min);
			break;
		case MAX:
			bad = parse_size(optarg, &o->max);
			break;
		case ONLY:
			o->only = optarg;
			break;
		case WINDOW:
			bad = parse_number(optarg, 4096, &o->window);
			break;
		case REPETITIONS:
			bad = parse_number(optarg, 10000, &o->repetitions);
			break;
		case MS:
			bad = (o->milliseconds = strtod(optarg, NULL)) > 0 ? 0 : -1;
			break;
		case EAGER:
			o->eager = 1;
			break;
		case RENDEZVOUS:
			o->eager = -1;
			break;
		case ARENA:
			o->arena = 1;
			break;
		case FOLD:
			bad = parse_size(optarg, &o->fold) || o->fold % 4096;
			break;
		case CSV:
			o->format = BENCH_CSV;
			break;
		case JSON:
			o->format = BENCH_JSON;
			break;
		case HELP:
			return 1;
		default:
			bad = -1;
		}
	}
	return bad;
}

static int run_list(struct bench_job *job, char *list, int dry)
{
	const struct bench_options options = job->options;
	char *at, *name, *copy = strdup(list);
	int failed = 0;

	for (name = strtok_r(copy, ",", &at); name; name = strtok_r(NULL, ",", &at)) {
		size_t i = 0;

		while (i < sizeof(benches) / sizeof(benches[0]) && strcmp(benches[i].name, name))
			i++;
		if (i == sizeof(benches) / sizeof(benches[0])) {
			fprintf(stderr, "qbench: no bench '%s'; qbench --help lists them\n", name);
			failed = 2;
			break;
		}
		if (dry)
			continue;
		job->options = options;
		bench_job_next(job);
		if (benches[i].run(job))
			failed = 1;
	}
	free(copy);
	return failed;
}

int main(int argc, char **argv)
{
	struct bench_options options = {.min = SIZE_MAX, .max = SIZE_MAX};
	const char *what = "";
	struct bench_job job;
	int rc;

	memset(&job, 0, sizeof(job));
	rc = parse_options(argc, argv, &options, &what);
	if (rc == 0 && optind + 1 != argc)
		rc = -1, what = optind < argc ? argv[optind + 1] : "(no bench named)";
	if (rc > 0) {
		print_usage(stdout);
		return 0;
	}
	if (rc < 0) {
		fprintf(stderr, "qbench: cannot use '%s'; qbench --help shows the options\n", what);
		return 2;
	}
	rc = run_list(&job, argv[optind], 1);
	if (rc)
		return rc;
	if (bench_job_open(&job, &options))
		return 1;
	rc = run_list(&job, argv[optind], 0);
	bench_job_close(&job);
	return rc;
}
