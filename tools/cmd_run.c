/* SPDX-License-Identifier: BSD-3-Clause */
/* torus run: the command line; what it means is in plan.c, what happens then in job.c. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "mu/cost.h"
#include "tools/cmd.h"
#include "tools/job.h"
#include "tools/plan.h"
#include "tools/pmi.h"

enum { KEY_SHAPE = 256, KEY_MAPPING, KEY_FABRIC, KEY_CLOCK, KEY_HOSTS, KEY_FAULT, KEY_SEED, KEY_REPORT,
       KEY_COSTS, KEY_HW, KEY_TIMEOUT, KEY_HELP, KEY_ON_DEATH, KEY_MPI, KEY_SEAL, KEY_BIND };

static const char doc[] =
	"Start PROGRAM as the tasks of one job, on an emulated 5D torus.\v"
	"Without --shape, each host is one torus node and its tasks are the processes of that node "
	"(up to 64; more tasks make more nodes). With --clock virtual or --fabric torus, each task "
	"gets a node of its own.\n"
	"\n"
	"Hosts:\n"
	"  local              this machine (several times: several hosts on it)\n"
	"  netns:NAME         a network namespace of this machine (root; ip netns add NAME)\n"
	"  ssh:[USER@]HOST    another machine; ssh must log in without asking, and torus be installed at "
	"the same place ($QUINTORUS_REMOTE_TORUS names another, $QUINTORUS_SSH another ssh)\n"
	"Each may have a driver port behind it, HOST=PORT:\n"
	"  shm:                         rings in shared memory (the default if all hosts are local)\n"
	"  uring:10.0.0.1               UDP from this address (else the default: from the address at which ssh "
	"reached the host, or its only one)\n"
	"  dpdk:net_af_packet,iface=va  any DPDK device\n"
	"  dpdk:0000:3b:00.0            a network card bound to a DPDK driver\n"
	"Write commas between hosts without ports, semicolons (in quotes) behind ports, or repeat --hosts. "
	"Hosts carry equal, contiguous parts of the torus.\n"
	"\n"
	"Examples:\n"
	"  torus run -n 16 ./program\n"
	"  torus run --clock virtual --shape 4x4x4x8x2 ./program\n"
	"  torus run -n 8 --shape 2x2x2x1x1 --fabric torus \\\n"
	"      --hosts 'netns:a=uring:10.9.0.1;netns:b=uring:10.9.0.2' ./program\n"
	"  torus run -n 2 --hosts local,local --fault loss=0.1,reorder=0.05 ./program\n"
	"\n"
	"Exit status: that of the first task that failed (128 + signal if it was killed); 124 after "
	"--timeout; 126 or 127 if PROGRAM cannot be started; 2 for wrong arguments. The failure of one "
	"task ends the job, or, with --on-death error, ends with an error what others do with it. Signals INT, TERM, HUP, QUIT, USR1 and USR2 are passed on to the tasks; a "
	"second one of the first four kills the job. Task 0 reads torus run's standard input, the others "
	"read nothing.";

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "The job:", 1 },
	{ "tasks", 'n', "N", 0, "Number of tasks (default: all places of the shape, or one per host)", 1 },
	{ "hosts", KEY_HOSTS, "LIST", 0, "Hosts to run on, see below (default: local)", 1 },
	{ "seed", KEY_SEED, "NUMBER", 0, "Seed of all chance in the job (default: random; virtual clock: 1)", 1 },
	{ "timeout", KEY_TIMEOUT, "SECONDS", 0, "End the job after this time, with exit status 124", 1 },
	{ "bind", KEY_BIND, "none|hosts", 0,
	  "hosts: those on this machine share its processors out; their tasks and threads stay on their own, as they would on "
	  "machines of their own (default: none)", 1 },
	{ "on-death", KEY_ON_DEATH, "end|error", 0,
	  "When a task fails: end the job (the default), or let the others go on; what they do with that task "
	  "ends with an error", 1 },
	{ "mpi", KEY_MPI, 0, 0,
	  "PROGRAM uses MPI too: give MPICH (or an MPI of its kind) in it the same tasks. Hosts on this "
	  "machine only, real clock", 1 },
	{ 0, 0, 0, 0, "The torus:", 2 },
	{ "shape", KEY_SHAPE, "AxBxCxDxE[xT]", 0, "Nodes in each dimension, and processes on each node", 2 },
	{ "mapping", KEY_MAPPING, "ABCDET|FILE", 0,
	  "Order in which tasks fill the places, rightmost letter fastest; or a file with a line "
	  "'A B C D E T' for each task (default: ABCDET)", 2 },
	{ "fabric", KEY_FABRIC, "torus|express", 0,
	  "torus: every packet goes hop by hop through routers; express: in one step, hops are only "
	  "counted (default: express; virtual clock: torus)", 2 },
	{ "clock", KEY_CLOCK, "real|virtual", 0,
	  "virtual: a simulator keeps the time of the hardware that is modelled, the same in every run "
	  "(default: real)", 2 },
	{ "costs", KEY_COSTS, "FILE", 0, "Virtual clock: software costs, lines 'name nanoseconds'", 2 },
	{ "hw", KEY_HW, "NAME=VALUE,...", 0,
	  "Virtual clock: hardware times other than the machine's, such as hop_ns=20", 2 },
	{ "fault", KEY_FAULT, "SPEC", 0,
	  "Between hosts: loss=P,dup=P,reorder=P,corrupt=P,delay_us=N,seed=N (probabilities P per frame). Virtual "
	  "clock: kill=TASK@US,... kills tasks at times in microseconds", 2 },
	{ "seal", KEY_SEAL, "KIND", 0,
	  "Frames between hosts: none; authenticated: told from what others send, by a key of this job; encrypted: hidden "
	  "from them, too (default: auto, authenticated if a host is another machine)", 2 },
	{ 0, 0, 0, 0, "Output:", 3 },
	{ "tag", 't', 0, 0, "Put '[task] ' before each line that a task prints", 3 },
	{ "help", KEY_HELP, 0, 0, "Print this", 4 },
	{ "report", KEY_REPORT, "json", OPTION_ARG_OPTIONAL,
	  "At the end, print what ran where and the traffic of each link (fabric torus) on standard error; "
	  "as a picture and a table, or as one line of JSON", 3 },
	{ 0 },
};

struct wish {
	struct plan_wish plan;
	int tag, report, seeded, mpi;
	uint64_t seed;
	double timeout_s;
	char *hosts, *hw;
	int costs;
	int program; /* index of PROGRAM in argv */
	int failed, help;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct wish *w, const char *format, ...)
{
	va_list ap;

	if (!w->failed) {
		fprintf(stderr, "torus run: ");
		va_start(ap, format);
		vfprintf(stderr, format, ap);
		va_end(ap);
		fputc('\n', stderr);
	}
	w->failed = 1;
	return EINVAL;
}

static int one_of(const char *arg, const char *first, const char *second)
{
	return !strcmp(arg, first) ? 0 : !strcmp(arg, second) ? 1 : -1;
}

static int number(const char *arg, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(arg, &end, 0);
	return *arg >= '0' && *arg <= '9' && !*end && !errno && *value <= max ? 0 : -1;
}

/* Tasks read the file when they attach; a mistake in it is found here, once. */
static int check_costs(struct wish *w, const char *path)
{
	char *full = realpath(path, NULL);

	if (!full)
		return wrong(w, "--costs %s: %s; give a file with lines 'name nanoseconds'", path, strerror(errno));
	if (mu_cost_load(full)) {
		w->failed = 1; /* it has said what is wrong, and where */
		free(full);
		return EINVAL;
	}
	setenv(MU_ENV_COSTS, full, 1);
	free(full);
	w->costs = 1;
	return 0;
}

static int add_hosts(struct wish *w, const char *arg)
{
	char *all;

	if (asprintf(&all, "%s%s%s", w->hosts ? w->hosts : "", w->hosts ? ";" : "", arg) < 0)
		return ENOMEM;
	free(w->hosts);
	w->hosts = all;
	w->plan.hosts = all;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wish *w = state->input;
	uint64_t value;
	char *end;

	switch (key) {
	case 'n':
		if (number(arg, PLAN_TASKS_MAX, &value) || !value)
			return wrong(w, "-n %s: give a number of tasks from 1 to %u", arg, PLAN_TASKS_MAX);
		w->plan.tasks = (uint32_t)value;
		return 0;
	case 't':
		w->tag = 1;
		return 0;
	case KEY_MPI:
		w->mpi = 1;
		return 0;
	case KEY_HELP:
		w->help = 1;
		return ECANCELED;
	case KEY_REPORT:
		if (arg && strcmp(arg, "json"))
			return wrong(w, "--report=%s: give --report or --report=json", arg);
		w->report = arg ? PLAN_REPORT_JSON : PLAN_REPORT_TEXT;
		return 0;
	case KEY_SHAPE:
		w->plan.shape = arg;
		return 0;
	case KEY_MAPPING:
		if (strlen(arg) > 255)
			return wrong(w, "--mapping: path longer than 255 characters");
		w->plan.mapping = arg;
		return 0;
	case KEY_FABRIC:
		w->plan.fabric = one_of(arg, "express", "torus");
		return w->plan.fabric < 0 ? wrong(w, "--fabric %s: give torus or express", arg) : 0;
	case KEY_CLOCK:
		w->plan.clock = one_of(arg, "real", "virtual");
		return w->plan.clock < 0 ? wrong(w, "--clock %s: give real or virtual", arg) : 0;
	case KEY_ON_DEATH:
		value = (uint64_t)one_of(arg, "end", "error");
		if (value > 1)
			return wrong(w, "--on-death %s: give end or error", arg);
		w->plan.on_death = value ? MU_ON_DEATH_ERROR : MU_ON_DEATH_END;
		return 0;
	case KEY_HOSTS:
		return add_hosts(w, arg);
	case KEY_FAULT:
		if (!*arg || strpbrk(arg, "()+;"))
			return wrong(w, "--fault '%s': give for example loss=0.1,reorder=0.05,seed=7", arg);
		w->plan.fault = arg;
		return 0;
	case KEY_BIND:
		w->plan.bind = !strcmp(arg, "hosts");
		return w->plan.bind || !strcmp(arg, "none") ? 0 : wrong(w, "--bind %s: give none or hosts", arg);
	case KEY_SEAL:
		w->plan.seal = strcmp(arg, "auto") ? drv_seal_named(arg) : -1;
		return w->plan.seal < -1 ? wrong(w, "--seal %s: give auto, none, authenticated or encrypted", arg) : 0;
	case KEY_SEED:
		if (number(arg, UINT64_MAX, &w->seed))
			return wrong(w, "--seed %s: give a number", arg);
		w->seeded = 1;
		return 0;
	case KEY_COSTS:
		return check_costs(w, arg);
	case KEY_HW:
		w->hw = arg;
		return 0;
	case KEY_TIMEOUT:
		w->timeout_s = strtod(arg, &end);
		if (*end || end == arg || !(w->timeout_s > 0) || w->timeout_s > 1e9)
			return wrong(w, "--timeout %s: give seconds, more than 0", arg);
		return 0;
	case ARGP_KEY_ARG:
		/* The program; everything behind it is the program's. */
		w->program = state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = { options, parse, "PROGRAM [ARGUMENT...]", doc };

static const struct argp_option *option_find(const char *word)
{
	const char *name = word + 2;
	size_t bytes = strcspn(name, "=");

	for (const struct argp_option *o = options; o->name || o->doc; o++) {
		if (!o->name)
			continue;
		if (word[1] == '-' ? bytes && !strncmp(o->name, name, bytes) : word[1] == o->key)
			return o;
	}
	return NULL;
}

/* argp_parse() refused an option and does not say which: the first that is unknown or lacks its value. */
static void refuse(struct wish *w, int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-'; i++) {
		const struct argp_option *o = option_find(argv[i]);
		int joined = argv[i][1] == '-' ? strchr(argv[i], '=') != NULL : strlen(argv[i]) > 2;

		if (!o) {
			wrong(w, "no option '%s'; torus run --help lists them (a program's own options go "
			      "behind its name)", argv[i]);
		} else if (o->arg && !joined && i + 1 == argc) {
			wrong(w, "%s lacks its value; write %s %s", argv[i], argv[i], o->arg);
		} else if (!o->arg && joined) {
			wrong(w, "%s takes no value", argv[i]);
		} else if (o->arg && !joined) {
			i++;
		}
	}
	wrong(w, "arguments not understood; torus run --help explains them");
}

/* At most 256 bytes. The kernel gives them whole; it may sleep for them soon after boot. */
static int random_bytes(void *to, size_t bytes)
{
	ssize_t n;

	while ((n = getrandom(to, bytes, 0)) < 0 && errno == EINTR)
		;
	return n == (ssize_t)bytes ? 0 : -1;
}

static uint64_t random_number(void)
{
	uint64_t value = 0;

	random_bytes(&value, sizeof value);
	return value;
}

/* One of several processes of mpirun or its like, each of which would start a job of its own. */
static int started_many_times(struct wish *w)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *size = getenv(names[i]);

		if (size && strtoul(size, NULL, 10) > 1 && !getenv("QUINTORUS_SEGMENT"))
			return wrong(w, "a launcher has started this %s times, which would be as many jobs; instead of mpirun, "
			                "write: torus run --mpi -n %s ... PROGRAM", size, size);
	}
	return 0;
}

static int mpi_start(struct wish *w, const struct plan *p)
{
	int rc;

	if (p->clock == MU_CLOCK_VIRTUAL)
		return wrong(w, "--mpi is for the real clock: MPI's own messages take no virtual time");
	if (p->tasks > PMI_TASKS_MAX)
		return wrong(w, "--mpi: at most %u tasks", PMI_TASKS_MAX);
	for (uint32_t i = 0; i < p->hosts; i++)
		if (p->host[i].kind == PLAN_HOST_SSH)
			return wrong(w, "--mpi is for hosts on this machine; for others start the program with mpirun");
	rc = pmi_start(p->tasks);
	return rc ? wrong(w, "--mpi: %s; raise ulimit -n", strerror(-rc)) : 0;
}

int cmd_run(int argc, char **argv)
{
	struct wish w = { .plan = { .fabric = -1, .clock = -1, .seal = -1 } };
	char err[PLAN_ERR_BYTES] = "", directory[PATH_MAX];
	struct plan plan = { 0 };
	struct job job;
	int status = CMD_USAGE;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &w)) {
		if (w.help) {
			argp_help(&argp, stdout, ARGP_HELP_STD_HELP, argv[0]);
			status = 0;
		} else {
			refuse(&w, argc, argv);
		}
		goto out;
	}
	if (!w.program) {
		wrong(&w, "no program; write for example: torus run -n 4 ./program");
		goto out;
	}
	if (started_many_times(&w))
		goto out;
	if ((w.costs || w.hw) && w.plan.clock != MU_CLOCK_VIRTUAL) {
		wrong(&w, "--costs and --hw are for --clock virtual");
		goto out;
	}
	if (plan_make(&plan, &w.plan, err)) {
		wrong(&w, "%s", err);
		goto out;
	}
	plan.job = random_number();
	if (random_bytes(plan.key, sizeof plan.key)) {
		wrong(&w, "no random bytes for the job's key: %s", strerror(errno));
		goto out;
	}
	plan.seed = w.seeded ? w.seed : plan.clock == MU_CLOCK_VIRTUAL ? 1 : random_number();
	plan.tag = w.tag;
	plan.report = w.report;
	plan.hw = w.hw;
	plan.directory = getcwd(directory, sizeof directory);
	plan.argv = argv + w.program;
	plan.argc = (uint32_t)(argc - w.program);
	if (w.mpi && mpi_start(&w, &plan))
		goto out;
	status = job_run(&job, &plan, w.timeout_s);
out:
	plan_free(&plan);
	free(w.hosts);
	return status;
}
