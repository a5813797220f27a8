/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the kernel reaches a peer: through which interface and to which Ethernet address. The packet
 * port sends past the IP layer only where the IP layer would do the same, so tables of routes and
 * neighbours, and policies of IPsec, are obeyed. The questions go over netlink, which answers
 * before the question returns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/port_packet.h"

struct question {
	struct nlmsghdr head;
	union {
		struct rtmsg route;
		struct ndmsg neighbour;
		uint32_t flags;
	};
	unsigned char attributes[128];
};

/* The answer to a question, and its attributes by number. */
struct answer {
	_Alignas(8) unsigned char bytes[4096];
	const struct nlmsghdr *head;
	const struct rtattr *attribute[32];
};

#define ATTRIBUTES (sizeof((struct answer *)0)->attribute / sizeof(struct rtattr *))

/* Add attributes to an empty index. */
static void index_attributes(struct answer *a, const struct rtattr *at, size_t left)
{
	for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
		if (at->rta_type < ATTRIBUTES)
			a->attribute[at->rta_type] = at;
}

static void add_attribute(struct question *q, unsigned short type, const void *value, size_t bytes)
{
	struct rtattr *a = (void *)((char *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(bytes);
	memcpy(RTA_DATA(a), value, bytes);
	q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

/* Ask, and index the attributes behind a body of that many bytes. Returns 0 or a negative errno. */
static int ask_kernel(int netlink, struct question *q, unsigned short type, size_t body,
		      struct answer *a)
{
	ssize_t n;

	q->head.nlmsg_flags = NLM_F_REQUEST;
	if (send(netlink, q, q->head.nlmsg_len, MSG_DONTWAIT) < 0)
		return -errno;
	n = recv(netlink, a->bytes, sizeof a->bytes, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	a->head = (const void *)a->bytes;
	if (!NLMSG_OK(a->head, (size_t)n))
		return -EPROTO;
	if (a->head->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *e = NLMSG_DATA(a->head);

		return a->head->nlmsg_len < NLMSG_LENGTH(sizeof *e) || !e->error ? -EPROTO
										 : e->error;
	}
	if (a->head->nlmsg_type != type || a->head->nlmsg_len < NLMSG_LENGTH(body))
		return -EPROTO;
	index_attributes(a, (const void *)((const char *)a->head + NLMSG_SPACE(body)),
			 a->head->nlmsg_len - NLMSG_SPACE(body));
	return 0;
}

/* The value of an attribute, or NULL if it is missing or has another size. */
static const void *value_of(const struct answer *a, unsigned type, size_t bytes)
{
	const struct rtattr *at = a->attribute[type];

	return at && RTA_PAYLOAD(at) == bytes ? RTA_DATA(at) : NULL;
}

/* Find the next hop on the way to a peer through that interface. Returns false if there is none. */
static bool find_hop(int routes, const struct sockaddr_in *self, const struct sockaddr_in *to,
		     int interface, uint32_t *hop)
{
	struct question q = {
	    .head.nlmsg_type = RTM_GETROUTE,
	    .head.nlmsg_len = NLMSG_LENGTH(sizeof q.route),
	    .route = {.rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_src_len = 32}};
	struct answer a = {.head = NULL};
	const struct rtmsg *route;
	const uint32_t *out, *gateway;
	uint8_t udp = IPPROTO_UDP;

	add_attribute(&q, RTA_DST, &to->sin_addr, 4);
	add_attribute(&q, RTA_SRC, &self->sin_addr, 4);
	add_attribute(&q, RTA_IP_PROTO, &udp, 1);
	add_attribute(&q, RTA_SPORT, &self->sin_port, 2);
	add_attribute(&q, RTA_DPORT, &to->sin_port, 2);
	if (ask_kernel(routes, &q, RTM_NEWROUTE, sizeof *route, &a))
		return false;
	route = NLMSG_DATA(a.head);
	out = value_of(&a, RTA_OIF, 4);
	gateway = value_of(&a, RTA_GATEWAY, 4);
	/* A tunnel, or a next hop of IPv6, takes more than an Ethernet header. */
	if (route->rtm_type != RTN_UNICAST || a.attribute[RTA_ENCAP] || a.attribute[RTA_VIA] ||
	    !out || *out != (uint32_t)interface)
		return false;
	*hop = gateway ? *gateway : to->sin_addr.s_addr;
	return true;
}

/* Is that the Ethernet address of a neighbour? */
static bool is_address_of(int routes, uint32_t neighbour, const struct sockaddr_ll *link)
{
	struct question q = {
	    .head.nlmsg_type = RTM_GETNEIGH,
	    .head.nlmsg_len = NLMSG_LENGTH(sizeof q.neighbour),
	    .neighbour = {.ndm_family = AF_INET, .ndm_ifindex = link->sll_ifindex}};
	struct answer a = {.head = NULL};
	const struct ndmsg *n;
	const unsigned char *address;

	add_attribute(&q, NDA_DST, &neighbour, 4);
	if (ask_kernel(routes, &q, RTM_NEWNEIGH, sizeof *n, &a))
		return false;
	n = NLMSG_DATA(a.head);
	address = value_of(&a, NDA_LLADDR, ETH_ALEN);
	return address && !memcmp(address, link->sll_addr, ETH_ALEN) &&
	       n->ndm_state & (NUD_PERMANENT | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE);
}

/* Are there policies of IPsec for what leaves this host? A process that may not ask has none of its
 * own. */
static bool has_ipsec(void)
{
	struct question q = {.head.nlmsg_type = XFRM_MSG_GETSPDINFO,
			     .head.nlmsg_len = NLMSG_LENGTH(sizeof q.flags),
			     .flags = UINT32_MAX};
	struct answer a = {.head = NULL};
	const struct xfrmu_spdinfo *counts = NULL;
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_XFRM);

	if (netlink < 0)
		return false;
	if (!ask_kernel(netlink, &q, XFRM_MSG_NEWSPDINFO, sizeof q.flags, &a))
		counts = value_of(&a, XFRMA_SPD_INFO, sizeof *counts);
	close(netlink);
	return counts && counts->outcnt;
}

int packet_link_open(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

bool packet_link_is_used(int routes, const struct sockaddr_in *self, const struct sockaddr_in *to,
			 const struct sockaddr_ll *link)
{
	uint32_t hop;

	return routes >= 0 && find_hop(routes, self, to, link->sll_ifindex, &hop) &&
	       is_address_of(routes, hop, link) && !has_ipsec();
}

int packet_link_watch(void)
{
	struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int links = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (links >= 0 && bind(links, (const void *)&all, sizeof all)) {
		close(links);
		return -1;
	}
	return links;
}

int packet_link_next_change(int links, unsigned char address[ETH_ALEN])
{
	struct answer a;
	ssize_t n;

	/* A datagram tells of one link. If the kernel has lost some, go on with the next. */
	while (links >= 0 && ((n = recv(links, a.bytes, sizeof a.bytes, MSG_DONTWAIT)) >= 0 ||
			      errno == ENOBUFS)) {
		const struct ifinfomsg *link;
		const unsigned char *own;

		a.head = (const void *)a.bytes;
		memset(a.attribute, 0, sizeof a.attribute);
		if (n < 0 || !NLMSG_OK(a.head, (size_t)n) || a.head->nlmsg_type != RTM_NEWLINK ||
		    a.head->nlmsg_len < NLMSG_SPACE(sizeof *link))
			continue;
		link = NLMSG_DATA(a.head);
		index_attributes(&a, IFLA_RTA(link), a.head->nlmsg_len - NLMSG_SPACE(sizeof *link));
		own = value_of(&a, IFLA_ADDRESS, ETH_ALEN);
		if (own && link->ifi_index > 0) {
			memcpy(address, own, ETH_ALEN);
			return link->ifi_index;
		}
	}
	return 0;
}
