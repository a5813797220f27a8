/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last rank dies at some moment of agas_fini(), when the others are before, inside or behind
 * it. All others return from it, also if those that are out of it already do nothing but wait for
 * them: none may need an answer of a rank that has left.
 *
 * usage: agas_end FILE DELAY_US   the last rank kills itself so long after it called agas_fini()
 *        agas_end FILE            the launcher kills it, or nobody; prints when agas_fini() begins
 * FILE: as many zero bytes as there are ranks; each survivor sets its own.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "pami/pami.h"
#include "tests/agas/agas_job.h"

enum { WAIT_S = 20 };

static void kill_myself(int sig)
{
	kill(getpid(), SIGKILL);
}

static void kill_later(long us)
{
	struct itimerval t = {.it_value = {us / 1000000, us % 1000000}};

	if (us <= 0)
		kill(getpid(), SIGKILL);
	signal(SIGALRM, kill_myself);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void check_ended(int rc)
{
	CHECK(rc == 0 || rc == AGAS_EDEAD);
}

/* Use blocks of all ranks and move some, so that agas_fini() has something to release. */
static void use_blocks(gva_t base)
{
	uint64_t v = (uint64_t)me;
	agas_req_t r;
	int i;

	for (i = 0; i < 12 * ranks; i++)
		CHECK_EQ(agas_put(base + (gva_t)(i % (4 * ranks)) * page + (gva_t)me * 8, &v, 8),
			 0);
	for (i = 0; i < 4 * ranks; i++) {
		CHECK_EQ(agas_remap_nb(base + (gva_t)((me + i) % (4 * ranks)) * page,
				       (me + i) % ranks, &r),
			 0);
		check_ended(agas_wait(&r));
	}
	check_ended(agas_barrier());
}

/* Wait for the other survivors without a call of the library. */
static void wait_outside(atomic_u8 *out, const char *argument)
{
	time_t end = time(NULL) + WAIT_S;
	int i;

	atomic_store_release(&out[me], 1);
	for (i = 0; i < ranks - 1; i++) {
		while (!atomic_load_acquire(&out[i]) && time(NULL) < end)
			usleep(200);
		if (!atomic_load_acquire(&out[i])) {
			fprintf(stderr, "rank %d: rank %d does not return from agas_fini (%s)\n",
				me, i, argument);
			check_failures++;
		}
	}
}

int main(int argc, char **argv)
{
	int f = argc > 1 ? open(argv[1], O_RDWR) : -1;
	atomic_u8 *out =
	    f < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	gva_t base;

	if (out == MAP_FAILED) {
		fprintf(stderr, "usage: agas_end FILE [DELAY_US]\n");
		return 2;
	}
	job_begin();
	base = agas_map_all((size_t)(4 * ranks) * page, AGAS_CYCLIC);
	use_blocks(base);
	if (argc == 2 && me == 0)
		printf("begins %.3f\n", PAMI_Wtime(NULL) * 1e6);
	if (argc > 2 && me == ranks - 1)
		kill_later(atol(argv[2]));
	agas_fini();
	while (argc > 2 && me == ranks - 1)
		pause();
	if (me < ranks - 1) {
		wait_outside(out, argc > 2 ? argv[2] : "killed by the launcher");
		fprintf(stderr, "survivor %d: %s\n", me, check_failures ? "WRONG" : "right");
	}
	return check_failures != 0;
}
