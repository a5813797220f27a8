/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Domains: runs of consecutive ranks that load and store each other's memory. A run counts only if
 * all its members see the same run. A process in no run is a domain of its own.
 */
#include <stdlib.h>

#include "armci/core/locality.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"
#include "drivers/base/log.h"

struct span {
	int first, last;
};

static struct {
	struct span *of; /* [nproc] */
	int *id;         /* [nproc] */
	int *first;      /* [count] */
	int count;
} domains;

static struct span find_span(void)
{
	struct span s = {armci_world.me, armci_world.me};

	while (s.first > 0 && armci_world.stripes[s.first - 1])
		s.first--;
	while (s.last + 1 < armci_world.nproc && armci_world.stripes[s.last + 1])
		s.last++;
	return s;
}

static bool is_agreed(const struct span *all, int proc)
{
	int i;

	for (i = all[proc].first; i <= all[proc].last; i++)
		if (all[i].first != all[proc].first || all[i].last != all[proc].last)
			return false;
	return true;
}

int armci_locality_init(void)
{
	size_t n = (size_t)armci_world.nproc;
	struct span own = find_span(), *all = malloc(n * sizeof(*all));
	int i;

	domains.of = malloc(n * sizeof(*domains.of));
	domains.id = malloc(n * sizeof(*domains.id));
	domains.first = malloc(n * sizeof(*domains.first));
	if (!all || !domains.of || !domains.id || !domains.first) {
		free(all);
		drv_error("armci: no memory for the domains of %d processes", armci_world.nproc);
		return FAIL6;
	}
	if (armci_coll_allgather(armci_world.all, &own, all, sizeof(own))) {
		free(all);
		return FAIL6;
	}
	domains.count = 0;
	for (i = 0; i < armci_world.nproc; i++) {
		domains.of[i] = is_agreed(all, i) ? all[i] : (struct span){i, i};
		if (domains.of[i].first == i)
			domains.first[domains.count++] = i;
		domains.id[i] = domains.count - 1;
	}
	free(all);
	return 0;
}

void armci_locality_release(void)
{
	free(domains.of);
	free(domains.id);
	free(domains.first);
	domains.of = NULL;
	domains.id = domains.first = NULL;
	domains.count = 0;
}

int armci_domain_first(int proc)
{
	return domains.of[proc].first;
}

static void check_domain(armci_domain_t domain, int id)
{
	if (domain != ARMCI_DOMAIN_SMP)
		armci_die("%d is not a kind of domain; use ARMCI_DOMAIN_SMP", domain);
	if (id < 0 || id >= domains.count)
		armci_die("domain %d does not exist; there are %d", id, domains.count);
}

static void check_rank(int rank)
{
	if (armci_check_proc(rank))
		armci_die("a domain was asked for process %d, which does not exist", rank);
}

#pragma GCC visibility push(default)

int armci_domain_my_id(armci_domain_t domain)
{
	check_domain(domain, 0);
	return domains.id[armci_world.me];
}

int armci_domain_nprocs(armci_domain_t domain, int id)
{
	const struct span *s;

	id = id < 0 ? domains.id[armci_world.me] : id;
	check_domain(domain, id);
	s = &domains.of[domains.first[id]];
	return s->last - s->first + 1;
}

int armci_domain_id(armci_domain_t domain, int world_rank)
{
	check_domain(domain, 0);
	check_rank(world_rank);
	return domains.id[world_rank];
}

int armci_domain_glob_proc_id(armci_domain_t domain, int id, int local_id)
{
	int rank;

	id = id < 0 ? domains.id[armci_world.me] : id;
	check_domain(domain, id);
	rank = domains.first[id] + local_id;
	if (local_id < 0 || rank > domains.of[domains.first[id]].last)
		armci_die("domain %d has no process %d", id, local_id);
	return rank;
}

int armci_domain_count(armci_domain_t domain)
{
	check_domain(domain, 0);
	return domains.count;
}

int armci_domain_same_id(armci_domain_t domain, int world_rank)
{
	return armci_domain_id(domain, world_rank) == domains.id[armci_world.me];
}

int ARMCI_Same_node(int world_rank)
{
	return armci_domain_same_id(ARMCI_DOMAIN_SMP, world_rank);
}

int armci_sameclusnode(int world_rank)
{
	return ARMCI_Same_node(world_rank);
}

int ARMCI_Uses_shm(void)
{
	return domains.count < armci_world.nproc;
}

int ARMCI_Uses_shm_grp(ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = armci_group_find(group, "ARMCI_Uses_shm_grp");
	int i, k;

	for (i = 0; g && i < g->size; i++)
		for (k = 0; k < i; k++)
			if (domains.id[g->task[i]] == domains.id[g->task[k]])
				return 1;
	return 0;
}

#pragma GCC visibility pop
