/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks die while all ranks count in blocks that move, and put many bytes into them. Every
 * operation of the survivors ends. A
 * count whose answer came is in its block, unless the block died. Blocks that live still move if
 * their homes live. Barriers are then those of the survivors.
 *
 * argument: "virtual": the launcher kills. "order": four ranks on two hosts, see below. Else the
 * last rank kills itself.
 */
#include <signal.h>
#include <unistd.h>

#include "tests/agas/agas_job.h"

enum { BLOCKS = 12, TIMES = 150 };

static gva_t base, gate;

/* Wait until all survivors have come here `step` times. Rank 0 lives, and the gate stays there. */
static void survivors_meet(unsigned survivors, unsigned step)
{
	uint64_t v = 0;

	CHECK_EQ(agas_fetch_add64(gate, 1, NULL), 0);
	while (v < (uint64_t)survivors * step) {
		CHECK_EQ(agas_get(&v, gate, 8), 0);
		CHECK_EQ(agas_fence(), 0);
		if (check_failures)
			return;
	}
}

/* ---- a rank learns of a death later than another ---- */

/* Source and victim are on one host, the late rank and the busy one on another. */
enum { SOURCE, VICTIM, LATE, BUSY, RANKS, MORE = 1100 };

/* The n-th page with this home. */
static gva_t page_of(int home, int n)
{
	gva_t at = base;

	while (agas_home(at) != home || n--)
		at += page;
	return at;
}

/* Wait until a word of a page of this rank has a value. */
static void wait_here(gva_t word, uint64_t value)
{
	uint64_t v = 0;

	while (v < value && !check_failures) {
		CHECK_EQ(agas_get(&v, word, 8), 0);
		CHECK_EQ(agas_fence(), 0);
	}
}

/* The process of torus run: the parent of the agent, which is the parent of this process. */
static pid_t find_launcher(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %*c %d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	CHECK(pid > 1);
	return pid > 1 ? pid : getpid();
}

static pid_t stopped;

static void let_go_on(int sig)
{
	kill(stopped, SIGCONT);
}

/* Not for ever: torus run ends a job that hangs. */
static void launcher_stop(void)
{
	const char *scale = getenv("QT_SCALE");

	stopped = find_launcher();
	signal(SIGALRM, let_go_on);
	alarm(30 * (scale && atoi(scale) > 1 ? (unsigned)atoi(scale) : 1));
	CHECK_EQ(kill(stopped, SIGSTOP), 0);
}

static void wait_for_forwards(uint64_t count)
{
	struct agas_stats s;

	do {
		agas_progress();
		agas_stats(&s, 0);
	} while (s.forwards < count);
}

/*
 * The source knows of the death. The late rank, to which the source sends its requests, does not,
 * because torus run stands still, which tells other hosts: it sends them on to the dead rank. Then
 * it sends on many requests of the busy rank to a living one. When it learns of the death it has to
 * tell the source, which waits for nothing else.
 */
static void learn_late(void)
{
	gva_t far = page_of(LATE, 0), near = page_of(LATE, 1);
	gva_t ready = gate + 512, process = gate + 520, go = page_of(BUSY, 0) + 64;
	static const char longer[2000];
	uint64_t v = (uint64_t)getpid();
	agas_req_t r[3];
	int i;

	if (me == LATE) {
		CHECK_EQ(agas_remap(far, VICTIM), 0);
		CHECK_EQ(agas_remap(near, SOURCE), 0);
		launcher_stop();
	}
	if (me == VICTIM)
		CHECK_EQ(agas_put(process, &v, 8), 0);
	CHECK_EQ(agas_barrier(), 0);
	while (me == VICTIM)
		pause();
	if (me == SOURCE) {
		/* The others wait for nothing of the victim any more. */
		wait_here(ready, 2);
		CHECK_EQ(agas_get(&v, process, 8), 0);
		kill((pid_t)v, SIGKILL);
		while (!agas_fetch_add64(page_of(VICTIM, 0), 1, NULL))
			;
		for (i = 0; i < 1000; i++)
			agas_progress();
		CHECK_EQ(agas_put_nb(far + 64, &v, 8, &r[0]), 0);
		CHECK_EQ(agas_get_nb(&v, far + 72, 8, &r[1]), 0);
		CHECK_EQ(agas_put_nb(far + 128, longer, sizeof(longer), &r[2]), 0);
		for (i = 0; i < 3; i++)
			CHECK_EQ(agas_wait(&r[i]), AGAS_EDEAD);
		return;
	}
	CHECK_EQ(agas_fetch_add64(ready, 1, NULL), 0);
	if (me == LATE) {
		wait_for_forwards(3);
		CHECK_EQ(agas_put(go, &v, 8), 0);
		CHECK_EQ(agas_fence(), 0);
		wait_for_forwards(3 + MORE);
		CHECK_EQ(kill(stopped, SIGCONT), 0);
		alarm(0);
	} else {
		wait_here(go, 1);
		for (i = 0; i < MORE; i++) {
			agas_cache_forget(near);
			CHECK_EQ(agas_fetch_add64(near + 64, 1, NULL), 0);
		}
	}
}

int main(int argc, char **argv)
{
	bool by_launcher = argc > 1 && !strcmp(argv[1], "virtual");
	bool order = argc > 1 && !strcmp(argv[1], "order");
	uint64_t confirmed[BLOCKS] = {0}, tried[BLOCKS] = {0}, v, w;
	int victim, i, rc, lost = 0;
	unsigned survivors;
	gva_t count;

	job_begin();
	victim = order ? VICTIM : ranks - 1;
	survivors = (unsigned)ranks - 1;
	base = agas_map_all((BLOCKS + 2 * (size_t)ranks) * page, AGAS_CYCLIC);
	gate = base + BLOCKS * page;
	while (agas_home(gate) != 0)
		gate += page;
	count = gate + 64;
	CHECK_EQ(agas_barrier(), 0);
	if (order)
		learn_late();
	for (i = order ? TIMES : 0; i < TIMES || (by_launcher && me == victim); i++) {
		static const char longer[2000];
		int b = (int)drv_rng_below(&rng, BLOCKS);
		agas_req_t r, put;

		CHECK_EQ(agas_remap_nb(base + (size_t)b * page,
				       (int)drv_rng_below(&rng, (uint64_t)ranks), &r),
			 0);
		b = (int)drv_rng_below(&rng, BLOCKS);
		CHECK_EQ(agas_put_nb(base + (size_t)b * page + 64, longer, sizeof(longer), &put),
			 0);
		b = (int)drv_rng_below(&rng, BLOCKS);
		tried[b]++;
		rc = agas_fetch_add64(base + (size_t)b * page + 8, 1, NULL);
		CHECK(rc == 0 || rc == AGAS_EDEAD);
		confirmed[b] += rc == 0;
		rc = agas_wait(&r);
		CHECK(rc == 0 || rc == AGAS_EDEAD);
		rc = agas_wait(&put);
		CHECK(rc == 0 || rc == AGAS_EDEAD);
		if (!by_launcher && me == victim && i == TIMES / 2)
			kill(getpid(), SIGKILL);
	}
	/* In virtual time the death may be still to come. */
	while (agas_barrier() != AGAS_EDEAD)
		;
	survivors_meet(survivors, 1);
	for (i = 0; i < BLOCKS; i++) {
		CHECK_EQ(agas_fetch_add64(count + (size_t)i * 16, confirmed[i], NULL), 0);
		CHECK_EQ(agas_fetch_add64(count + (size_t)i * 16 + 8, tried[i], NULL), 0);
	}
	survivors_meet(survivors, 2);
	for (i = 0; i < BLOCKS; i++) {
		gva_t at = base + (size_t)i * page;

		v = 0;
		rc = agas_fetch_add64(at + 8, 0, &v);
		CHECK(rc == 0 || rc == AGAS_EDEAD);
		lost += rc != 0;
		if (rc)
			continue;
		CHECK_EQ(agas_get(&w, count + (size_t)i * 16, 8), 0);
		CHECK_EQ(agas_fence(), 0);
		CHECK(v >= w);
		/* The victim may have added TIMES at most. */
		CHECK_EQ(agas_get(&w, count + (size_t)i * 16 + 8, 8), 0);
		CHECK_EQ(agas_fence(), 0);
		CHECK(by_launcher || v <= w + TIMES);
		rc = agas_remap(at, me);
		CHECK(rc == 0 || (rc == AGAS_EDEAD && agas_home(at) == victim));
	}
	CHECK(lost < BLOCKS);
	CHECK_EQ(agas_map_cyclic(page), 0); /* needs all ranks */
	survivors_meet(survivors, 3);
	for (i = 4; i < 8; i++) {
		CHECK_EQ(agas_fetch_add64(gate, 1, NULL), 0);
		CHECK_EQ(agas_barrier(), 0);
		CHECK_EQ(agas_get(&v, gate, 8), 0);
		CHECK_EQ(agas_fence(), 0);
		CHECK_EQ(v, (uint64_t)survivors * i);
		CHECK_EQ(agas_barrier(), 0);
	}
	fprintf(stderr, "survivor %d: %s, %d of %d blocks lost\n", me,
		check_failures ? "WRONG" : "right", lost, BLOCKS);
	agas_fini();
	return check_failures != 0;
}
