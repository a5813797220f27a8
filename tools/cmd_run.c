/* SPDX-License-Identifier: BSD-3-Clause */
/* torus run: the command line. plan.c interprets it, job.c runs the job. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "drivers/base/settings.h"
#include "drivers/port_capture.h"
#include "mu/vtime/cost.h"
#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/job.h"
#include "tools/machine.h"
#include "tools/nodelist.h"
#include "tools/plan.h"
#include "tools/pmi.h"
#include "tools/pmix_job.h"

enum {
	KEY_SHAPE = 256,
	KEY_MAPPING,
	KEY_FABRIC,
	KEY_CLOCK,
	KEY_HOSTS,
	KEY_HOSTFILE,
	KEY_FAULT,
	KEY_SEED,
	KEY_REPORT,
	KEY_CAPTURE,
	KEY_TRACE,
	KEY_HTML,
	KEY_COSTS,
	KEY_COMPUTE,
	KEY_HW,
	KEY_MACHINE,
	KEY_TIMEOUT,
	KEY_HELP,
	KEY_ON_DEATH,
	KEY_MPI,
	KEY_SEAL,
	KEY_BIND
};

static const char doc[] =
    "Start PROGRAM as the tasks of one job, on an emulated 5D torus.\v"
    "Without --shape, each host is one torus node and its tasks are the processes of that node "
    "(up to 64; more tasks make more nodes). With --clock virtual or --fabric torus, each task "
    "gets a node of its own.\n"
    "\n"
    "Hosts:\n"
    "  local              this machine (named several times: several hosts on it)\n"
    "  netns:NAME         a network namespace of this machine (root; ip netns add NAME)\n"
    "  ssh:[USER@]HOST    another machine; ssh must log in without a password, and torus must be "
    "installed at the same place ($QUINTORUS_REMOTE_TORUS names another place, $QUINTORUS_SSH "
    "another "
    "ssh)\n"
    "  slurm:NODE         a node of this Slurm allocation; srun starts the agent there. Inside an "
    "allocation of several nodes they are the default, and its tasks (SLURM_NTASKS) that of -n\n"
    "Each may be followed by a driver port, HOST=PORT:\n"
    "  shm:                         rings in shared memory (the default if all hosts are local)\n"
    "  udp:10.0.0.1, or 10.0.0.1    UDP from this address, through packet: or uring: (the default "
    "for other hosts: the address at which ssh reached the host, or its only one)\n"
    "  packet:10.0.0.1              UDP through a packet socket (root, or CAP_NET_RAW)\n"
    "  uring:10.0.0.1               UDP through io_uring\n"
    "  dpdk:net_af_packet,iface=va  any DPDK device\n"
    "  dpdk:0000:3b:00.0            a NIC bound to a DPDK driver\n"
    "Separate hosts without ports by commas, hosts with ports by semicolons (in quotes), or repeat "
    "--hosts. "
    "Hosts carry equal, contiguous parts of the torus.\n"
    "\n"
    "Examples:\n"
    "  torus run -n 16 ./program\n"
    "  torus run --clock virtual --shape 4x4x4x8x2 ./program\n"
    "  torus run -n 8 --shape 2x2x2x1x1 --fabric torus \\\n"
    "      --hosts 'netns:a=10.9.0.1;netns:b=10.9.0.2' ./program\n"
    "  torus run -n 2 --hosts local,local --fault loss=0.1,reorder=0.05 ./program\n"
    "\n"
    "Tasks inherit the environment. torus settings lists the variables that change how they run.\n"
    "\n"
    "Exit status: that of the first task that failed (128 + signal if it was killed); 124 after "
    "--timeout; 126 or 127 if PROGRAM cannot be started; 2 for wrong arguments. The failure "
    "of one "
    "task ends the job; with --on-death error, operations of other tasks with it end with an error "
    "instead. "
    "If a task exits with status 0 without finalizing and all others wait for messages for 5 "
    "seconds "
    "($QUINTORUS_LEFT_WAIT), the job ends with status 1. "
    "torus run passes the signals INT, TERM, HUP, QUIT, USR1 and USR2 on to the tasks; a second "
    "one "
    "of the first four kills the job. Task 0 reads torus run's standard input; the others read "
    "nothing.";

static const struct argp_option options[] = {
    {0, 0, 0, 0, "The job:", 1},
    {"tasks", 'n', "N", 0, "Number of tasks (default: all places of the shape, or one per host)",
     1},
    {"hosts", KEY_HOSTS, "LIST", 0, "Hosts to run on, see below (default: local)", 1},
    {"hostfile", KEY_HOSTFILE, "FILE", 0,
     "Hosts from a file, one a line as --hosts takes it; a name alone is reached by ssh", 1},
    {"seed", KEY_SEED, "NUMBER", 0,
     "Seed of all random choices in the job (default: random; virtual clock: 1)", 1},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "End the job after this time, with exit status 124, and name the tasks that still run; whole "
     "lines that they printed are not lost",
     1},
    {"bind", KEY_BIND, "none|hosts", 0,
     "hosts: divide the processors among the hosts on this machine; the tasks and threads of a "
     "host "
     "stay on its part, as on a machine of their own (default: none)",
     1},
    {"on-death", KEY_ON_DEATH, "end|error", 0,
     "When a task fails: end the job (the default), or let the others go on; their operations with "
     "that task end with an error",
     1},
    {"mpi", KEY_MPI, 0, 0,
     "PROGRAM uses MPI: Open MPI in it finds the same tasks and sends through the torus; MPICH (or "
     "an MPI of its kind) finds the same tasks. Hosts on this machine only. Virtual clock: Open "
     "MPI only; "
     "clocks and sleeps of the program are virtual",
     1},
    {0, 0, 0, 0, "The torus:", 2},
    {"shape", KEY_SHAPE, "AxBxCxDxE[xT]", 0,
     "Nodes in each dimension, and processes on each node; an M after a number, as in 4Mx4x4x4x2: "
     "that dimension does not wrap",
     2},
    {"mapping", KEY_MAPPING, "ABCDET|FILE", 0,
     "Order in which tasks fill the places, rightmost letter fastest; or a file with a line "
     "'A B C D E T' for each task (default: ABCDET)",
     2},
    {"fabric", KEY_FABRIC, "torus|express", 0,
     "torus: every packet goes hop by hop through routers; express: every packet goes in one step, "
     "and hops are only counted (default: express; virtual clock: torus)",
     2},
    {"clock", KEY_CLOCK, "real|virtual", 0,
     "virtual: a simulator keeps the time of the modelled hardware, the same in every run "
     "(default: "
     "real)",
     2},
    {"costs", KEY_COSTS, "FILE|mpi-classic|mpi-optimised", 0,
     "Virtual clock: software costs, lines 'name nanoseconds'; or those of an MPI library of Blue "
     "Gene/Q",
     2},
    {"compute", KEY_COMPUTE, "none|declared|measured[:FACTOR]|trace:FILE", 0,
     "Virtual clock with --mpi: what computation between calls of MPI takes. declared: what the "
     "program "
     "says by MPI_Pcontrol(0x5154, seconds); measured: its processor time, times FACTOR (no hash); "
     "trace: as in the run that made FILE.TASK, which measures (default: none)",
     2},
    {"machine", KEY_MACHINE, "FILE", 0,
     "Machine file: hardware times (virtual clock) and structure (both clocks) of the modelled "
     "machine; or the name of an installed one (default: bgq; torus machine explains the rows)",
     2},
    {"hw", KEY_HW, "NAME=VALUE,...", 0,
     "Rows of the machine that differ, such as hop_ns=20,zone0=ABCD/E", 2},
    {"fault", KEY_FAULT, "SPEC|FILE", 0,
     "Between hosts: loss=P,dup=P,reorder=P,corrupt=P,delay_us=N,seed=N (probabilities P per "
     "frame). kill=TASK@US,... kills tasks at times in microseconds. Or a file with a fault a "
     "line, "
     "the same in both clocks, such as 'at 100 until 500 cut link 0,0,0,0,0 A+', 'cut percent 3', "
     "'loss 0.01' (torus-run(1) lists them)",
     2},
    {"seal", KEY_SEAL, "KIND", 0,
     "Protection of frames between hosts: none (a checksum finds damage; forged frames can delay "
     "or "
     "end the job); authenticated: a key of this job tells its frames from forged ones; encrypted: "
     "others cannot read them either (default: auto: authenticated if a host is another machine or "
     "has a port that others may send to: UDP or dpdk outside of a network namespace, a network "
     "card)",
     2},
    {0, 0, 0, 0, "Output:", 3},
    {"tag", 't', 0, 0, "Put '[task] ' before each line that a task prints", 3},
    {"help", KEY_HELP, 0, 0, "Print this", 4},
    {"trace", KEY_TRACE, "FILE", 0,
     "Write what happens to each message to FILE (JSON), and in virtual time each step of each "
     "packet. Perfetto opens it; torus explain and torus diff read it",
     3},
    {"html", KEY_HTML, "FILE", 0,
     "At the end, write a page about the job to FILE: the torus with the load of its links over "
     "time, how long packets took, the tables of the run, the machine. One file, which a browser "
     "shows without a network",
     3},
    {"capture", KEY_CAPTURE, "FILE", 0,
     "Record the frames between hosts in FILE (pcapng), as the ports send and receive them; each "
     "host is an interface. Wireshark reads them with quintorus.lua, see torus-run(1). Hosts that "
     "ssh reaches write a file of their own",
     3},
    {"report", KEY_REPORT, "json", OPTION_ARG_OPTIONAL,
     "At the end, print what ran where and the traffic of each link (fabric torus) on standard "
     "error, as a picture and a table, or as one line of JSON",
     3},
    {0},
};

struct request {
	struct plan_request plan;
	int tag, report, seeded, mpi;
	uint64_t seed;
	double timeout_s;
	const char *capture, *trace, *html;
	char *hosts, *hw, *machine;
	int costs, compute;
	int program; /* index of PROGRAM in argv */
	bool failed;
	int help;
};

#define print_wrong(w, ...) args_print_wrong(&(w)->failed, "run", __VA_ARGS__)

static int choice_of(const char *arg, const char *first, const char *second)
{
	return !strcmp(arg, first) ? 0 : !strcmp(arg, second) ? 1 : -1;
}

static int parse_number(const char *arg, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(arg, &end, 0);
	return *arg >= '0' && *arg <= '9' && !*end && !errno && *value <= max ? 0 : -1;
}

/* Return the path of a file of costs that is installed with torus, or NULL if there is none. The
 * caller frees it. */
static char *costs_named(const char *name)
{
	static const char *const place[] = {TOOLS_MACHINES_SOURCE, QT_MACHINES_DIR};
	char *full = NULL, *path;

	for (size_t i = 0; i < sizeof place / sizeof *place && !full; i++) {
		if (asprintf(&path, "%s/%s.costs", place[i], name) < 0)
			return NULL;
		full = realpath(path, NULL);
		free(path);
	}
	return full;
}

/* Check the choice how the time of a program's own computation is found (ofi/vtime/compute.h). */
static int compute_check(struct request *w, const char *how)
{
	const char *factor = how + strlen("measured:");
	char *end = NULL;
	bool right = !strcmp(how, "none") || !strcmp(how, "declared") || !strcmp(how, "measured") ||
		     (!strncmp(how, "trace:", 6) && how[6]);

	if (!strncmp(how, "measured:", strlen("measured:")))
		right = strtod(factor, &end) > 0 && !*end;
	if (!right)
		return print_wrong(w,
				   "--compute %s: give none, declared, measured, measured:FACTOR "
				   "(above 0) or trace:FILE",
				   how);
	setenv("QUINTORUS_COMPUTE", how, 1);
	w->compute = 1;
	return 0;
}

/* Tasks read the file when they attach. Find a mistake in it here, once. */
static int costs_check(struct request *w, const char *path)
{
	char *full = realpath(path, NULL);

	if (!full && !strchr(path, '/'))
		full = costs_named(path);
	if (!full)
		return print_wrong(w,
				   "--costs %s: %s; give a file with lines 'name nanoseconds', or "
				   "mpi-classic or mpi-optimised",
				   path, strerror(errno));
	if (mu_cost_load(full)) {
		w->failed = 1; /* mu_cost_load() has printed what is wrong */
		free(full);
		return EINVAL;
	}
	setenv(MU_ENV_COSTS, full, 1);
	free(full);
	w->costs = 1;
	return 0;
}

static int hosts_add(struct request *w, const char *arg)
{
	char *all;

	if (asprintf(&all, "%s%s%s", w->hosts ? w->hosts : "", w->hosts ? ";" : "", arg) < 0)
		return ENOMEM;
	free(w->hosts);
	w->hosts = all;
	w->plan.hosts = all;
	return 0;
}

static int hostfile_add(struct request *w, const char *path)
{
	char err[512], *hosts = nodelist_of_file(path, err, sizeof err);
	int rc = hosts ? hosts_add(w, hosts) : print_wrong(w, "%s", err);

	free(hosts);
	return rc;
}

/* Inside a Slurm allocation of several nodes the job runs on them. */
static int hosts_of_slurm(struct request *w)
{
	const char *tasks = getenv("SLURM_NTASKS");
	uint64_t value;
	char *hosts;
	int rc;

	if (w->plan.hosts || w->plan.clock == MU_CLOCK_VIRTUAL || w->mpi)
		return 0;
	hosts = nodelist_of_slurm();
	if (!hosts)
		return 0;
	rc = hosts_add(w, hosts);
	free(hosts);
	if (!rc && !w->plan.tasks && tasks && !parse_number(tasks, PLAN_TASKS_MAX, &value))
		w->plan.tasks = (uint32_t)value;
	return rc;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct request *w = state->input;
	uint64_t value;
	char *end;

	switch (key) {
	case 'n':
		if (parse_number(arg, PLAN_TASKS_MAX, &value) || !value)
			return print_wrong(w, "-n %s: give a number of tasks from 1 to %u", arg,
					   PLAN_TASKS_MAX);
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
	case KEY_TRACE:
		w->trace = arg;
		return 0;
	case KEY_HTML:
		w->html = arg;
		return 0;
	case KEY_CAPTURE:
		w->capture = arg;
		return 0;
	case KEY_REPORT:
		if (arg && strcmp(arg, "json"))
			return print_wrong(w, "--report=%s: give --report or --report=json", arg);
		w->report = arg ? PLAN_REPORT_JSON : PLAN_REPORT_TEXT;
		return 0;
	case KEY_SHAPE:
		w->plan.shape = arg;
		return 0;
	case KEY_MAPPING:
		if (strlen(arg) > 255)
			return print_wrong(w, "--mapping: path longer than 255 characters");
		w->plan.mapping = arg;
		return 0;
	case KEY_FABRIC:
		w->plan.fabric = choice_of(arg, "express", "torus");
		return w->plan.fabric < 0
			   ? print_wrong(w, "--fabric %s: give torus or express", arg)
			   : 0;
	case KEY_CLOCK:
		w->plan.clock = choice_of(arg, "real", "virtual");
		return w->plan.clock < 0 ? print_wrong(w, "--clock %s: give real or virtual", arg)
					 : 0;
	case KEY_ON_DEATH:
		value = (uint64_t)choice_of(arg, "end", "error");
		if (value > 1)
			return print_wrong(w, "--on-death %s: give end or error", arg);
		w->plan.on_death = value ? MU_ON_DEATH_ERROR : MU_ON_DEATH_END;
		return 0;
	case KEY_HOSTS:
		return hosts_add(w, arg);
	case KEY_HOSTFILE:
		return hostfile_add(w, arg);
	case KEY_FAULT:
		if (!*arg || strpbrk(arg, "()+;"))
			return print_wrong(
			    w, "--fault '%s': give for example loss=0.1,reorder=0.05,seed=7", arg);
		w->plan.fault = arg;
		return 0;
	case KEY_BIND:
		w->plan.bind = !strcmp(arg, "hosts");
		return w->plan.bind || !strcmp(arg, "none")
			   ? 0
			   : print_wrong(w, "--bind %s: give none or hosts", arg);
	case KEY_SEAL:
		w->plan.seal = strcmp(arg, "auto") ? drv_seal_parse(arg) : -1;
		return w->plan.seal < -1
			   ? print_wrong(
				 w, "--seal %s: give auto, none, authenticated or encrypted", arg)
			   : 0;
	case KEY_SEED:
		if (parse_number(arg, UINT64_MAX, &w->seed))
			return print_wrong(w, "--seed %s: give a number", arg);
		w->seeded = 1;
		return 0;
	case KEY_COMPUTE:
		return compute_check(w, arg);
	case KEY_COSTS:
		return costs_check(w, arg);
	case KEY_HW:
		w->hw = arg;
		return 0;
	case KEY_MACHINE:
		w->machine = arg;
		return 0;
	case KEY_TIMEOUT:
		w->timeout_s = strtod(arg, &end);
		if (*end || end == arg || !(w->timeout_s > 0) || w->timeout_s > 1e9)
			return print_wrong(w, "--timeout %s: give seconds, more than 0", arg);
		return 0;
	case ARGP_KEY_ARG:
		/* The program. All arguments after it belong to the program. */
		w->program = state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, "PROGRAM [ARGUMENT...]", doc};

/* At most 256 bytes. The kernel returns all of them at once; it may block soon after boot. */
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

/* True if this is one of several processes of mpirun or its like, each of which would start a job
 * of its own. */
static bool was_started_many_times(struct request *w)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					    "SLURM_STEP_NUM_TASKS"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *size = getenv(names[i]);

		if (size && strtoul(size, NULL, 10) > 1 &&
		    !drv_setting_is_set(DRV_QUINTORUS_SEGMENT))
			return print_wrong(
			    w,
			    "a launcher has started this %s times, which would be as many "
			    "jobs; instead of mpirun, "
			    "write: torus run --mpi -n %s ... PROGRAM",
			    size, size);
	}
	return 0;
}

static void report_setting(bool is_error, const char *sentence)
{
	fprintf(stderr, "torus run: %s%s\n", is_error ? "" : "warning: ", sentence);
}

/* Returns true if all times are those of the modelled machine. */
static bool has_times_of(const struct emu_machine *a, const struct emu_machine *b)
{
	return !memcmp(&a->timing, &b->timing, sizeof a->timing);
}

/* The machine of the job: text is what differs from the default. */
static int machine_read(struct request *w, char *text)
{
	struct machine k, of_file;
	char err[512];

	if (machine_make(&of_file, w->machine, NULL, err, sizeof err) ||
	    machine_make(&k, w->machine, w->hw, err, sizeof err))
		return print_wrong(w, "%s", err);
	if (w->plan.clock != MU_CLOCK_VIRTUAL && !has_times_of(&k.m, &of_file.m))
		return print_wrong(
		    w,
		    "--hw %s: times are for --clock virtual; in real time only the structure "
		    "of a machine can be changed (torus machine lists both)",
		    w->hw);
	w->plan.mesh = (uint8_t)emu_machine_mesh(&k.m);
	machine_text(&k.m, text);
	return 0;
}

static int mpi_start(struct request *w, const struct plan *p)
{
	int rc;

	if (p->clock == MU_CLOCK_VIRTUAL) {
		rc = pmix_job_start(p, true);
		if (rc == -EPROTO)
			return EINVAL; /* The server has said why. */
		return rc ? print_wrong(w, "--mpi with the virtual clock is for Open MPI, and this "
					   "build cannot start it: install libpmix and libfabric "
					   "and build again")
			  : 0;
	}
	if (p->tasks > PMI_TASKS_MAX)
		return print_wrong(w, "--mpi: at most %u tasks", PMI_TASKS_MAX);
	for (uint32_t i = 0; i < p->hosts; i++)
		if (plan_host_is_remote(&p->host[i]))
			return print_wrong(
			    w, "--mpi is for hosts on this machine; for others start the "
			       "program with mpirun");
	rc = pmi_start(p->tasks);
	if (rc)
		return print_wrong(w, "--mpi: %s; raise ulimit -n", strerror(-rc));
	rc = pmix_job_start(p, false);
	if (rc == -EPROTO)
		return EINVAL;
	return rc && rc != -ENOENT ? print_wrong(w, "--mpi: %s", strerror(-rc)) : 0;
}

/* The path of a file that an agent writes, from the directory of this process. */
static int absolute_path(struct request *w, const char *option, const char *name, char *full,
			 size_t bytes)
{
	char directory[PATH_MAX];

	if (!getcwd(directory, sizeof directory) ||
	    snprintf(full, bytes, "%s%s%s", *name == '/' ? "" : directory, *name == '/' ? "" : "/",
		     name) >= (int)bytes)
		return print_wrong(w, "%s: the path of the file is longer than %zu characters",
				   option, bytes - 1);
	return 0;
}

/* Make the file now: a wrong name is reported before a process starts. */
static int capture_prepare(struct request *w, struct plan *p)
{
	int rc;

	if (p->clock == MU_CLOCK_VIRTUAL || p->hosts == 1)
		return print_wrong(w, "--capture records frames between hosts, and this job has "
				      "one host; give for example --hosts local,local");
	if (absolute_path(w, "--capture", w->capture, p->capture, sizeof p->capture))
		return EINVAL;
	rc = drv_capture_create(p->capture, p->hosts, 0);
	return rc ? print_wrong(w, "--capture %s: %s", w->capture, strerror(-rc)) : 0;
}

static int trace_prepare(struct request *w, struct plan *p)
{
	FILE *f;

	if (absolute_path(w, "--trace", w->trace, p->trace, sizeof p->trace))
		return EINVAL;
	f = fopen(p->trace, "we");
	if (!f)
		return print_wrong(w, "--trace %s: %s", w->trace, strerror(errno));
	fclose(f);
	return 0;
}

static int html_prepare(struct request *w, struct plan *p)
{
	FILE *f = fopen(w->html, "we");

	if (!f)
		return print_wrong(w, "--html %s: %s", w->html, strerror(errno));
	fclose(f);
	p->html = w->html;
	return 0;
}

int cmd_run(int argc, char **argv)
{
	struct request w = {.plan = {.fabric = -1, .clock = -1, .seal = -1}};
	char err[PLAN_ERR_BYTES] = "", directory[PATH_MAX], hw[MACHINE_TEXT_BYTES];
	struct plan plan = {0};
	struct job job;
	int status = CMD_USAGE;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &w)) {
		status = args_explain(&argp, "run", w.help, &w.failed, argc, argv);
		goto out;
	}
	if (!w.program) {
		print_wrong(&w, "no program; write for example: torus run -n 4 ./program");
		goto out;
	}
	if (was_started_many_times(&w) || drv_settings_check_all(report_setting))
		goto out;
	if (w.costs && w.plan.clock != MU_CLOCK_VIRTUAL) {
		print_wrong(&w, "--costs is for --clock virtual");
		goto out;
	}
	if (w.compute && (w.plan.clock != MU_CLOCK_VIRTUAL || !w.mpi)) {
		print_wrong(&w, "--compute is for --clock virtual --mpi");
		goto out;
	}
	if (machine_read(&w, hw) || hosts_of_slurm(&w))
		goto out;
	if (plan_make(&plan, &w.plan, err)) {
		print_wrong(&w, "%s", err);
		goto out;
	}
	plan.job = random_number();
	if (random_bytes(plan.key, sizeof plan.key)) {
		print_wrong(&w, "no random bytes for the job's key: %s", strerror(errno));
		goto out;
	}
	plan.seed = w.seeded ? w.seed : plan.clock == MU_CLOCK_VIRTUAL ? 1 : random_number();
	plan.tag = w.tag;
	plan.report = w.report;
	if ((w.capture && capture_prepare(&w, &plan)) || (w.trace && trace_prepare(&w, &plan)) ||
	    (w.html && html_prepare(&w, &plan)))
		goto out;
	plan.hw = hw;
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
