/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver port of a host for which none was named: UDP from the address it is reached at. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/agent.h"

/* Where ssh came in: others that reach this host will most likely do so there too. */
static int address_of_ssh(char *text, size_t bytes)
{
	const char *connection = getenv("SSH_CONNECTION"); /* client, port, server, port */
	char server[64];

	if (!connection || sscanf(connection, "%*s %*s %63s", server) != 1 || strchr(server, ':'))
		return -ENOENT;
	snprintf(text, bytes, "%s", server);
	return 0;
}

int agent_port_choose(struct agent *a)
{
	struct plan_host *h = &a->plan.host[a->self];
	char address[64], all[512];
	size_t used = strlen(h->port);
	int n;

	if (a->plan.hosts == 1 || (used && h->port[used - 1] != '+'))
		return 0;
	if (!a->remote || address_of_ssh(address, sizeof address)) {
		n = drv_port_own_address(address, sizeof address, all, sizeof all);
		if (n != 1) {
			agent_fail(a, 1, n ? "several addresses,%s: name one in --hosts, as in HOST=uring:ADDRESS" :
			                     "no IPv4 address but loopback%s: give it one, or name a port in --hosts",
			           all);
			return -EADDRNOTAVAIL;
		}
	}
	snprintf(h->port + used, sizeof h->port - used, "uring:%s", address);
	return 0;
}
