/* SPDX-License-Identifier: BSD-3-Clause */
/* torus agent: the remote end of `torus run --hosts ssh:HOST`. Its control channel is stdin and
 * stdout. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/agent.h"
#include "tools/cmd.h"
#include "tools/probe.h"

static void refuse_user(void)
{
	fprintf(stderr,
		"torus agent: only torus run, or the first task of a host under mpirun, can "
		"start this command\n");
}

int cmd_agent(int argc, char **argv)
{
	sigset_t mask;
	int in, out, null, status;

	if (argc == 2 && !strcmp(argv[1], "--host") && fcntl(3, F_GETFD) >= 0 &&
	    fcntl(4, F_GETFD) >= 0)
		return cmd_host_agent();
	if (argc == 2 && !strcmp(argv[1], "--probe")) /* of torus check --hosts */
		return probe_serve(0, 1);
	if (argc > 1 || isatty(0) || isatty(1)) {
		refuse_user();
		return CMD_USAGE;
	}
	sigprocmask(SIG_SETMASK, NULL, &mask);
	/* Tasks must not inherit the control channel on descriptors 0 and 1. */
	in = fcntl(0, F_DUPFD_CLOEXEC, 3);
	out = fcntl(1, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(2, 1);
	status = agent_main(in, out, getppid(), true, &mask);
	if (status == AGENT_NO_PLAN)
		refuse_user();
	return status;
}
