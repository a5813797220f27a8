/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>

#include "drivers/port.h"

int drv_port_own_address(char *text, size_t bytes, char *all, size_t all_bytes)
{
	struct ifaddrs *list = NULL;
	size_t used = 0;
	int n = 0;

	all[0] = 0;
	if (getifaddrs(&list))
		return 0;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		char one[INET_ADDRSTRLEN];

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
			continue;
		inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, one, sizeof one);
		if (!n++)
			snprintf(text, bytes, "%s", one);
		if (used < all_bytes)
			used += (size_t)snprintf(all + used, all_bytes - used, " %s (%s)", one,
						 i->ifa_name);
	}
	freeifaddrs(list);
	return n;
}
