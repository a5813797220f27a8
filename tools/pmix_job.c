/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/pmix_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "drivers/base/module.h"
#include "tools/pmix_module.h"
#include "tools/pmix_relay.h"
#include "tools/proc.h"

#define ENVIRONMENT_BYTES 65536u

/* NAME=VALUE, each with its 0, for all tasks. */
static char *shared;
static size_t shared_bytes;
static pid_t server; /* 0: none */
static uint32_t task_count, host_count;
static uint32_t *host_of;   /* [task_count]: the host that the MPI library is told */
static const char *preload; /* library for tasks with the virtual clock; NULL: none */

/* ---- the server's process ---- */

static void send_environment(int to, char **env)
{
	for (; *env; env++)
		if (write(to, *env, strlen(*env) + 1) < 0)
			return;
}

static void serve_pmix(int to, pid_t parent, const struct plan *p,
		       const struct pmix_server_module *m)
{
	bool relays = pmix_relay_is_needed(p);
	const char *why = NULL;
	sigset_t all;
	char **env;

	prctl(PR_SET_NAME, "torus-pmix");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (proc_tie_to_parent(parent, SIGKILL))
		_exit(1);
	env = m->start(p->tasks, host_count, host_of, &why);
	if (!env) {
		drv_error("the PMIx server does not start: %s", why);
		_exit(1);
	}
	if (relays && pmix_relay_open(p, env))
		_exit(1);
	send_environment(to, env);
	close(to);
	if (relays)
		pmix_relay_run();
	for (;;)
		pause();
}

/* ---- torus run ---- */

static int receive_environment(int from)
{
	ssize_t n;

	shared = malloc(ENVIRONMENT_BYTES);
	if (!shared)
		return -ENOMEM;
	while ((n = read(from, shared + shared_bytes, ENVIRONMENT_BYTES - shared_bytes)) > 0)
		shared_bytes += (size_t)n;
	return shared_bytes ? 0 : -EPROTO;
}

/* The server has sent nothing. It says why before it exits; a signal leaves no words. */
static void report_server_end(pid_t server)
{
	int status = 0;

	while (waitpid(server, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		drv_error("the PMIx server was killed by signal %d", WTERMSIG(status));
}

/* Return the path of the library that gives programs virtual clocks, of this build or installed, or
 * NULL if there is none.
 */
static const char *find_clocks(void)
{
	static const char *const place[] = {TOOLS_OFI_BUILD "/libqt_mpi_virtual.so",
					    TOOLS_MODULES "/libqt_mpi_virtual.so"};

	for (size_t i = 0; i < sizeof place / sizeof *place; i++)
		if (!access(place[i], R_OK))
			return place[i];
	drv_error("no libqt_mpi_virtual.so in " TOOLS_OFI_BUILD " or " TOOLS_MODULES);
	return NULL;
}

/*
 * Tasks that the MPI library takes for neighbours use its own shared memory for windows, which the
 * network never sees. In virtual time that takes no time, so each task is on a host of its own.
 * Hosts without tasks get no number.
 */
static int assign_hosts(const struct plan *p, bool is_virtual)
{
	uint32_t *number = calloc(p->hosts, sizeof *number); /* 0: none yet */

	host_of = malloc(p->tasks * sizeof *host_of);
	if (!host_of || !number) {
		free(number);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < p->tasks; i++) {
		uint32_t *of = &number[p->task_host[i]];

		if (is_virtual || !*of)
			*of = ++host_count;
		host_of[i] = *of - 1;
	}
	free(number);
	return 0;
}

bool pmix_job_is_server(pid_t pid)
{
	return pid > 0 && pid == server;
}

int pmix_job_start(const struct plan *p, bool is_virtual)
{
	const struct pmix_server_module *m;
	pid_t parent = getpid(), child;
	int ends[2], rc;
	char why[4500];

	m = drv_module_symbol("pmix_server", TOOLS_BUILD_MODULES, "pmix_server_module", why,
			      sizeof why);
	if (!m || m->abi != PMIX_SERVER_ABI) {
		drv_info("programs with Open MPI cannot start: %s", m ? "another version" : why);
		return -ENOENT;
	}
	preload = is_virtual ? find_clocks() : NULL;
	if (is_virtual && !preload)
		return -ENOENT;
	rc = assign_hosts(p, is_virtual);
	if (rc)
		return rc;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child) {
		close(ends[0]);
		serve_pmix(ends[1], parent, p, m);
	}
	close(ends[1]);
	rc = child < 0 ? -errno : receive_environment(ends[0]);
	close(ends[0]);
	server = rc ? 0 : child;
	if (!rc)
		task_count = p->tasks;
	else if (rc == -EPROTO)
		report_server_end(child);
	return rc;
}

/* ---- a task ---- */

/* Open MPI finds our components beside its own. */
static void add_components(void)
{
	const char *in = !access(TOOLS_OFI_BUILD "/mca_coll_quintorus.so", R_OK) ? TOOLS_OFI_BUILD
			 : !access(TOOLS_MODULES "/mca_coll_quintorus.so", R_OK) ? TOOLS_MODULES
										 : NULL;
	char path[4096];

	if (!in)
		return;
	snprintf(path, sizeof path, "SYS_DEFAULT:%s:USER_DEFAULT", in);
	setenv("OMPI_MCA_mca_base_component_path", path, 0);
}

/* Make Open MPI take the provider, by its variables; what the user has set stays. */
static void choose_components(void)
{
	static const char *const choice[][2] = {
	    {"OMPI_MCA_pml", "cm"},
	    {"OMPI_MCA_mtl", "ofi"},
	    {"OMPI_MCA_mtl_ofi_provider_include", "quintorus"},
	    {"OMPI_MCA_btl", "self,ofi"},
	    {"OMPI_MCA_btl_ofi_provider_include", "quintorus"},
	    {"OMPI_MCA_osc_rdma_btls", "ofi"},
	    {"OMPI_MCA_osc", "^ucx"}, /* Debian leaves out pt2pt, too; dynamic windows need it */
	    /*
	     * Below osc sm, which then serves windows within a host. There Open MPI 4.1.4 crashes
	     * in a compare-and-swap by osc rdma, over any transport.
	     */
	    {"OMPI_MCA_osc_rdma_priority", "99"},
	    /*
	     * The other kind of shared memory has files whose names hold the machine's name, and
	     * hosts of this machine would open each other's.
	     */
	    {"OMPI_MCA_shmem", "posix"},
	    {"FI_PROVIDER", "quintorus"}, /* the other providers take time to search for hardware */
	};

	for (size_t i = 0; i < sizeof choice / sizeof choice[0]; i++)
		setenv(choice[i][0], choice[i][1], 0);
	add_components();
	/* libfabric searches its own directory, too, and that of an installation may be another. */
	if (!access(TOOLS_OFI_BUILD "/libquintorus-fi.so", R_OK))
		setenv("FI_PROVIDER_PATH", TOOLS_OFI_BUILD, 0);
	else if (!access(TOOLS_OFI_INSTALLED "/libquintorus-fi.so", R_OK))
		setenv("FI_PROVIDER_PATH", TOOLS_OFI_INSTALLED, 0);
}

/* Put this library first, and keep what the user preloads. */
static void set_preload(void)
{
	const char *old = getenv("LD_PRELOAD");
	char text[ENVIRONMENT_BYTES];

	snprintf(text, sizeof text, "%s%s%s", preload, old && *old ? ":" : "", old ? old : "");
	setenv("LD_PRELOAD", text, 1);
}

/* Set what mpirun sets for users: programs learn from it that they run with others, and their place
 * (h5py loads its parallel library only if there is a size). */
static void set_place(uint32_t task)
{
	uint32_t local = 0, locals = 0;

	for (uint32_t i = 0; i < task_count; i++) {
		if (host_of[i] != host_of[task])
			continue;
		local += i < task;
		locals++;
	}
	proc_set_number("OMPI_COMM_WORLD_SIZE", task_count);
	proc_set_number("OMPI_COMM_WORLD_RANK", task);
	proc_set_number("OMPI_COMM_WORLD_LOCAL_SIZE", locals);
	proc_set_number("OMPI_COMM_WORLD_LOCAL_RANK", local);
	proc_set_number("OMPI_COMM_WORLD_NODE_RANK", local);
	proc_set_number("OMPI_UNIVERSE_SIZE", task_count);
}

void pmix_job_environment(uint32_t task)
{
	char text[32];

	if (task >= task_count)
		return;
	for (char *at = shared; at < shared + shared_bytes; at += strlen(at) + 1) {
		char *value = strchr(at, '=');
		char name[256];

		if (value && value - at < (long)sizeof name) {
			memcpy(name, at, (size_t)(value - at));
			name[value - at] = 0;
			setenv(name, value + 1, 1);
		}
	}
	proc_set_number("PMIX_RANK", task);
	set_place(task);
	snprintf(text, sizeof text, PMIX_HOST_FORMAT, host_of[task]);
	setenv("PMIX_HOSTNAME", text, 1);
	/* Without these Open MPI 4 takes the process for one that no launcher started. */
	setenv("SLURM_JOBID", "1", 0);
	setenv("SLURM_STEP_ID", "0", 0);
	setenv("SLURM_NODELIST", "localhost", 0);
	choose_components();
	if (preload)
		set_preload();
}
