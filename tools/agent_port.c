/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver port of a host for which none was named: UDP from the address it is reached at. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
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

/* The only IPv4 address besides loopback. Returns how many there are; `all` names them. */
static int only_address(char *text, size_t bytes, char *all, size_t all_bytes)
{
	struct ifaddrs *list = NULL;
	size_t used = 0;
	int n = 0;

	all[0] = 0;
	if (getifaddrs(&list))
		return 0;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		char one[INET_ADDRSTRLEN];

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || i->ifa_flags & IFF_LOOPBACK ||
		    !(i->ifa_flags & IFF_UP))
			continue;
		inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, one, sizeof one);
		if (!n++)
			snprintf(text, bytes, "%s", one);
		if (used < all_bytes)
			used += (size_t)snprintf(all + used, all_bytes - used, " %s (%s)", one, i->ifa_name);
	}
	freeifaddrs(list);
	return n;
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
		n = only_address(address, sizeof address, all, sizeof all);
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
