/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver port of a host for which the user named none: UDP from the address at which others
 * reach it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/agent.h"

/* The address at which ssh connected: other hosts most likely reach this host there too. */
static int address_of_ssh(char *text, size_t bytes)
{
	const char *connection = getenv("SSH_CONNECTION"); /* client, port, server, port */
	char server[64];

	if (!connection || sscanf(connection, "%*s %*s %63s", server) != 1 || strchr(server, ':'))
		return -ENOENT;
	snprintf(text, bytes, "%s", server);
	return 0;
}

/* The address of the node's name, where Slurm has started this agent; loopback does not count. */
static int address_of_slurm(char *text, size_t bytes)
{
	const char *node = getenv("SLURMD_NODENAME");
	struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *list;
	const struct sockaddr_in *in;
	int rc = -ENOENT;

	if (!node || getaddrinfo(node, NULL, &want, &list))
		return -ENOENT;
	in = (const struct sockaddr_in *)(const void *)list->ai_addr;
	if (ntohl(in->sin_addr.s_addr) >> 24 != 127 &&
	    inet_ntop(AF_INET, &in->sin_addr, text, (socklen_t)bytes))
		rc = 0;
	freeaddrinfo(list);
	return rc;
}

int agent_port_choose(struct agent *a)
{
	struct plan_host *h = &a->plan.host[a->self];
	char address[64], all[512];
	size_t used = strlen(h->port);
	int n;

	if (a->plan.hosts == 1 || (used && h->port[used - 1] != '+'))
		return 0;
	if (!a->is_remote ||
	    (h->kind == PLAN_HOST_SLURM ? address_of_slurm(address, sizeof address)
					: address_of_ssh(address, sizeof address))) {
		n = drv_port_own_address(address, sizeof address, all, sizeof all);
		if (n != 1) {
			agent_fail(a, 1,
				   n ? "several addresses,%s: name one in --hosts, as in "
				       "HOST=udp:ADDRESS"
				     : "no IPv4 address but loopback%s: give it one, or name a "
				       "port in --hosts",
				   all);
			return -EADDRNOTAVAIL;
		}
	}
	snprintf(h->port + used, sizeof h->port - used, "udp:%s", address);
	return 0;
}
