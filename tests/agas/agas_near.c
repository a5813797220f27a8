/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank is in the middle of a near access (emu/near_access.h) while the block is to leave: the
 * page of its payload cannot be read, and the handler of SIGSEGV waits there until the move has
 * begun. Then the access goes on, or the rank dies ("die"). The move ends in both cases, and not
 * before.
 *
 * agas_near FILE [die]: words of FILE tell ranks what they cannot tell each other meanwhile.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "tests/agas/agas_job.h"

enum { OWNER, SOURCE, MOVER, RANKS };

static struct {
	atomic_u32 inside, leaving;
} * word;
static char *payload;
static bool dies;

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void wait_until(atomic_u32 *w)
{
	while (!atomic_load_acquire(w))
		nap();
}

static void on_segv(int sig)
{
	atomic_store_release(&word->inside, 1);
	wait_until(&word->leaving);
	if (dies)
		kill(getpid(), SIGKILL);
	mprotect(payload, page, PROT_READ | PROT_WRITE);
	memset(payload, 0x5a, page);
}

static void put_from_nowhere(gva_t at)
{
	struct sigaction s = {.sa_handler = on_segv};
	struct agas_stats stats;

	payload = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(payload != MAP_FAILED);
	sigaction(SIGSEGV, &s, NULL);
	agas_cache_teach(at, OWNER); /* with the directory in software */
	agas_stats(&stats, 1);
	CHECK_EQ(agas_put(at, payload, page), 0);
	CHECK_EQ(agas_fence(), 0);
	agas_stats(&stats, 0);
	CHECK_EQ(stats.by_unit, 1);
	CHECK_EQ(stats.requests, 0);
	CHECK(atomic_load_acquire(&word->inside));
}

/* The owner cannot pin the block any more as soon as it is to leave. */
static void wait_for_move(gva_t at)
{
	wait_until(&word->inside);
	while (agas_try_pin(at, NULL)) {
		agas_unpin(at);
		nap();
	}
	CHECK_EQ(agas_try_pin(at, NULL), 0);
	atomic_store_release(&word->leaving, 1);
}

static void move_block(gva_t at)
{
	wait_until(&word->inside);
	CHECK_EQ(agas_remap(at, MOVER), 0);
	CHECK(atomic_load_acquire(&word->leaving));
}

static void read_block(gva_t at)
{
	static unsigned char back[1 << 16];

	CHECK_EQ(agas_get(back, at, page), 0);
	CHECK_EQ(agas_fence(), 0);
	for (size_t i = 0; i < page; i++)
		CHECK_EQ(back[i], 0x5a);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	gva_t at;

	dies = argc > 2;
	word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	job_begin();
	if (word == MAP_FAILED || ranks != RANKS) {
		fprintf(stderr, "usage: agas_near FILE [die], 3 ranks\n");
		return 1;
	}
	at = agas_map_all(RANKS * page, AGAS_CYCLIC);
	while (agas_home(at) != OWNER)
		at += page;
	CHECK_EQ(agas_barrier(), 0);
	if (me == SOURCE)
		put_from_nowhere(at);
	else if (me == OWNER)
		wait_for_move(at);
	else
		move_block(at);
	while (dies && agas_barrier() != AGAS_EDEAD)
		;
	if (!dies) {
		CHECK_EQ(agas_barrier(), 0);
		read_block(at);
		return job_end();
	}
	/* The block can move again: nobody holds a pin. */
	if (me == OWNER)
		CHECK_EQ(agas_remap(at, OWNER), 0);
	fprintf(stderr, "survivor %d: %s\n", me, check_failures ? "WRONG" : "right");
	agas_fini();
	return check_failures != 0;
}
