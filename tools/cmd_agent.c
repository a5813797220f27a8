/* SPDX-License-Identifier: BSD-3-Clause */
/* torus agent: the far end of `torus run --hosts ssh:HOST`; its control channel is stdin, stdout. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/agent.h"
#include "tools/cmd.h"

static void by_hand(void)
{
	fprintf(stderr, "torus agent: started by torus run, or by the first task of a host under mpirun, only\n");
}

int cmd_agent(int argc, char **argv)
{
	sigset_t mask;
	int in, out, null, status;

	if (argc == 2 && !strcmp(argv[1], "--host") && fcntl(3, F_GETFD) >= 0 && fcntl(4, F_GETFD) >= 0)
		return cmd_host_agent();
	if (argc > 1 || isatty(0) || isatty(1)) {
		by_hand();
		return CMD_USAGE;
	}
	sigprocmask(SIG_SETMASK, NULL, &mask);
	/* What is on 0 and 1 must not reach the tasks. */
	in = fcntl(0, F_DUPFD_CLOEXEC, 3);
	out = fcntl(1, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(2, 1);
	status = agent_main(in, out, getppid(), 1, &mask);
	if (status == AGENT_NO_PLAN)
		by_hand();
	return status;
}
