/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting under another launcher: rank, size and a place to exchange small texts come from the
 * launcher. The first task of each host makes the host segment and hands it to the others over a
 * socket.
 *
 * Launchers are, in the order in which they are searched for (after torus run, which needs none of
 * this):
 *   PMIx   PMIX_NAMESPACE and PMIX_RANK in the environment: mpirun of Open MPI, PRRTE, srun
 *          --mpi=pmix; in a module (launch/pmix.c), as it needs libpmix
 *   PMI-1  PMI_FD, or PMI_PORT: mpirun of MPICH (hydra), srun --mpi=pmi2; launch/pmi1.c
 *
 * MPI in the same process uses the same launcher. That is safe in either order: PMIx counts its
 * users, and PMI-1's requests are answered one at a time, so these requests fit between those of
 * MPI.
 */
#ifndef MU_LAUNCH_H
#define MU_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mu/segment/host.h"

#define MU_LAUNCH_ABI   1u
#define MU_LAUNCH_VALUE 1024 /* longest value, with its 0; letters, digits and . : - only */

/*
 * What a launcher offers. Calls come from one thread. put: before a fence; get: after it, of any
 * rank. fence: returns when all ranks are in it. 0 or a negative errno (logged).
 */
struct mu_launcher {
	uint32_t abi;
	const char *name;
	int (*open)(uint32_t *rank, uint32_t *size);
	int (*put)(const char *key, const char *value);
	int (*fence)(void);
	int (*get)(uint32_t rank, const char *key, char *value, size_t bytes);
	/* At the end of the process: say goodbye, unless MPI did or will. */
	void (*close)(void);
};

extern const struct mu_launcher mu_launch_pmi1;

/*
 * Collective over the launcher's tasks: the segment of this host. -ENOENT: no launcher started it
 * (silent); else 0 with *fd, *task and the segment mapped, or a negative errno after a logged line.
 * Later calls of the same process find the same segment again, without the others.
 */
int mu_launch_join(struct mu_host **host, int *fd, uint32_t *task);

/*
 * How many tasks of this machine have the same processors as this one, itself included, and how
 * many of them have a lower number (*before). mpirun binds each task to a core or to a part of the
 * machine, so sets are the same or disjoint. 0: no launcher started this process.
 */
uint32_t mu_launch_sharers(uint32_t *before);

/*
 * With several hosts, collective, once: publish the port of this host, which its holder must be
 * about to open (or have opened), and learn the others'.
 */
int mu_launch_connect(struct mu_host *host, uint32_t task);

/* launch/socket.c: handing descriptors over within a host. */
#define MU_LAUNCH_FDS 2
/* A listening socket of this user's, at a name that the kernel chose; name[8]. -errno. */
int mu_launch_listen(char *name);
/* Hand fds to `count` tasks, each of which proves to be of our user and to know `secret`. */
int mu_launch_give(int listener, uint32_t count, uint64_t secret, const int *fds, unsigned n);
int mu_launch_take(const char *name, uint64_t secret, int *fds, unsigned n);

/* launch/agent.c: a process that holds the port of this host until `life` (a pipe) is closed by
 * all. */
int mu_launch_agent(int segment, int life);
/* The agent calls it in the thread that runs until its end: from then on its death is noticed. */
int mu_launch_begin_agent(struct mu_host *host);
/*
 * Has this process an agent of that kind, with which it must end? If so, and the agent has died,
 * mu_launch_check_agent() logs that and ends the process with status 1. Any thread.
 */
bool mu_launch_has_agent(const struct mu_host *host);
void mu_launch_check_agent(struct mu_host *host);

#endif
