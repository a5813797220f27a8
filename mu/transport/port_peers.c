/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a holder and the other hosts know of each other: the addresses of their queues, which hosts
 * are joined or have no task any more, and the words that tasks announce.
 */
#define _GNU_SOURCE
#include "mu/transport/port_holder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "drivers/port_fault.h"
#include "drivers/wire.h"
#include "mu/process.h"
#include "mu/transport/port_holder_state.h"

/*
 * Send the announcements to one host, unless it knows this number. Returns false if there is no
 * room now. With several queues a word that this queue has sent is sent again with its newer
 * number, since the host may have taken an older word with the same number from another queue.
 */
static bool tell_host(struct mu_holder *h, uint32_t host, uint32_t number)
{
	if (h->announced.told[host] == number)
		return true;
	for (uint32_t task = 0; task < h->host->tasks; task++) {
		const struct mu_task_entry *e = mu_host_entry(h->host, task);
		struct mu_told told = {atomic_load_acquire(&mu_host_announced(h->host)[task]),
				       number};
		uint64_t *known;
		unsigned char *run;

		if (e->host != h->host->host)
			continue;
		known = &h->announced.word[(uint64_t)host * h->host->locals + e->local];
		if (*known == told.word && h->queues == 1)
			continue;
		run = drv_wire_reserve(h->wires, host, sizeof told);
		if (!run)
			return false;
		memcpy(run, &told, sizeof told);
		commit_run(h, host, MU_RUN_TOLD, task, sizeof told);
		*known = told.word;
	}
	h->announced.told[host] = number;
	return true;
}

void mu_holder_send_announcements(struct mu_holder *h)
{
	uint32_t number = atomic_load_acquire(&h->host->announcements);
	bool all = true;

	if (number == h->announced.seen)
		return;
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (i != h->host->host && !(h->dropped[i / 64] >> i % 64 & 1))
			all &= h->connected[i / 64] >> i % 64 & 1 && tell_host(h, i, number);
	if (all)
		h->announced.seen = number;
}

/* Copy address `index` of a list with commas. Returns how many the list has. */
static unsigned find_address(const char *list, unsigned index, char *text, size_t bytes)
{
	unsigned n = 0;

	text[0] = 0;
	while (*list) {
		size_t word = strcspn(list, ",");

		if (n++ == index)
			snprintf(text, bytes, "%.*s", (int)word, list);
		list += word + (list[word] == ',');
	}
	return n;
}

/* The host has made its port known: connect its queue to this one. */
static void connect_host(struct mu_holder *h, uint32_t host)
{
	const struct mu_peer_host *peer = &h->host->peer[host];
	char address[DRV_PORT_ADDRESS_BYTES];
	unsigned queues;

	h->connected[host / 64] |= 1ull << host % 64;
	h->unconnected--;
	queues = find_address(peer->address, h->index, address, sizeof address);
	queues += !queues;                    /* the port refuses an address without text */
	if (h->index && h->index >= queues) { /* it has fewer queues: nothing takes this one */
		h->dropped[host / 64] |= 1ull << host % 64;
		return;
	}
	if (h->faulty)
		drv_port_fault_host(h->faulty, address, host);
	if (drv_wires_connect(h->wires, host, address))
		drv_error("wire to host %u: address \"%s\" refused by the port", host, address);
	if (h->p && !h->index)
		atomic_store_release(&h->p->queues_to[host],
				     (uint8_t)(queues < h->queues ? queues : h->queues));
}

void mu_holder_connect_ready(struct mu_holder *h)
{
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (i != h->host->host && !(h->connected[i / 64] >> i % 64 & 1) &&
		    atomic_load_acquire(&h->host->peer[i].ready))
			connect_host(h, i);
}

void mu_holder_drop_hosts(struct mu_holder *h, uint32_t deaths)
{
	uint64_t living[MU_HOSTS_MAX / 64] = {0};

	for (uint32_t i = 0; i < h->host->tasks; i++)
		if (!mu_host_task_end(h->host, i))
			living[mu_host_entry(h->host, i)->host / 64] |=
			    1ull << mu_host_entry(h->host, i)->host % 64;
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (i != h->host->host && !(living[i / 64] >> i % 64 & 1) &&
		    (!h->live || mu_host_is_lost(h->host, i))) { /* routers go on without tasks */
			drv_wires_drop_host(h->wires, i);
			h->dropped[i / 64] |= 1ull << i % 64;
		}
	h->deaths_seen = deaths;
}

void mu_holder_drop_departed(struct mu_holder *h)
{
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (atomic_load_acquire(&h->host->peer[i].departed))
			drv_wires_drop_host(h->wires, i);
}

int mu_holder_list_address(struct mu_holder *h)
{
	char *list = h->host->own_address, address[DRV_PORT_ADDRESS_BYTES];
	size_t used = strlen(list);
	int rc = drv_port_address(h->port, address, sizeof address);

	if (rc < 0)
		return rc;
	if (used + strlen(address) + 2 > sizeof h->host->own_address) {
		drv_error("port %s: the addresses of its queues are longer than %zu characters; "
			  "take fewer queues",
			  h->host->port, sizeof h->host->own_address);
		return -ENOSPC;
	}
	sprintf(list + used, "%s%s", used ? "," : "", address);
	return 0;
}

void mu_holder_publish_address(struct mu_host *host, int ready)
{
	atomic_store_release(&host->own_ready, (uint32_t)ready);
	drv_wake_now(&host->agent_wake);
}
