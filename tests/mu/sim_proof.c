/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim/proof.c: which processes are proved to wait in a loop for their memory, that they are left as
 * they were, and that their end is left for their parent to see.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "mu/sim/proof.h"
#include "tests/harness/t.h"

#ifdef __x86_64__
#include "tests/mu/mu_loop_code.h"

#ifdef __SANITIZE_THREAD__
#define OTHERS 1 /* the thread sanitizer's own thread */
#else
#define OTHERS 0
#endif

/* Shared with the children. */
static struct shared {
	uint64_t word, other; /* what a child's loop reads; it ends when that is 0 */
	atomic_u32 ready;
} * shared;

static void run_loop(const char *code)
{
	__asm__ volatile("mov %1, %%rcx\n jmp *%0"
			 :
			 : "r"(code), "r"(1ull << 62), "D"(&shared->word)
			 : "rcx", "memory");
}

static void *run_loop_thread(void *arg)
{
	run_loop(loop_plain);
	return arg;
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static void wait_in_loop(void)
{
	run_loop(loop_plain);
}

static void wait_in_calls(void)
{
	run_loop(loop_calls);
}

static void count_rounds(void)
{
	run_loop(loop_counts);
}

static void sleep_long(void)
{
	sleep_ms(60000);
}

static void wait_beside_a_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, run_loop_thread, NULL);
	run_loop(loop_plain);
}

static pid_t start(void (*run)(void))
{
	pid_t pid;

	shared->word = 7;
	atomic_store_release(&shared->ready, 0);
	pid = fork();
	if (!pid) {
		atomic_store_release(&shared->ready, 1);
		run();
		_exit(0);
	}
	while (!atomic_load_acquire(&shared->ready))
		sleep_ms(1);
	sleep_ms(50); /* it is in its loop */
	return pid;
}

/* The signal that ended the process. */
static int end_signal(pid_t pid)
{
	int status = 0;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_EQ(end_signal(pid), SIGKILL);
}

static void loops_are_proved(void)
{
	void (*const runs[])(void) = {wait_in_loop, wait_in_calls};

	for (unsigned i = 0; i < 2; i++) {
		struct sim_proof p;
		pid_t pid = start(runs[i]);

		for (int k = 0; k < 20; k++) {
			CHECK(sim_proof_make(&p, pid, OTHERS));
			CHECK_EQ(p.words, 1);
			CHECK(sim_proof_holds(&p, pid));
		}
		shared->other = 1; /* not a word of the loop */
		CHECK(sim_proof_holds(&p, pid));
		CHECK(!sim_proof_make(&p, pid, OTHERS + 1)); /* it has no such thread */
		CHECK(!p.words && !sim_proof_holds(&p, pid));
		CHECK(sim_proof_make(&p, pid, OTHERS));
		shared->word = 0; /* the loop ends in an instruction that is none */
		CHECK_EQ(end_signal(pid), SIGILL);
		CHECK(!sim_proof_holds(&p, pid));
		CHECK(!sim_proof_make(&p, pid, OTHERS));
	}
}

static void a_change_ends_the_proof(void)
{
	struct sim_proof p;
	pid_t pid = start(wait_in_loop);

	CHECK(sim_proof_make(&p, pid, OTHERS));
	kill(pid, SIGSTOP);
	shared->word = 8;
	CHECK(!sim_proof_holds(&p, pid));
	kill(pid, SIGCONT);
	sleep_ms(20);
	CHECK(sim_proof_make(&p, pid, OTHERS)); /* it waits again */
	stop(pid);
}

static void wait_and_store_beside(void)
{
	shared->other = (uint64_t)(uintptr_t)&shared->word;
	run_loop(loop_stores_beside);
}

/* The flag and what the loop stores lie in one word. */
static void stores_beside_the_flag_are_no_change(void)
{
	struct sim_proof p;
	pid_t pid = start(wait_and_store_beside);

	CHECK(sim_proof_make(&p, pid, OTHERS));
	kill(pid, SIGSTOP);
	shared->word |= 3ull << 32;
	CHECK(sim_proof_holds(&p, pid));
	shared->word += 1;
	CHECK(!sim_proof_holds(&p, pid));
	shared->word = 0;
	CHECK(!sim_proof_holds(&p, pid));
	kill(pid, SIGCONT);
	CHECK_EQ(end_signal(pid), SIGILL);
}

static void others_are_not_proved(void)
{
	void (*const runs[])(void) = {count_rounds, sleep_long, wait_beside_a_thread};

	for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
		struct sim_proof p;
		pid_t pid = start(runs[i]);

		CHECK(!sim_proof_make(&p, pid, OTHERS));
		stop(pid);
	}
}

/* Each look leaves the process as it was: no call of it is interrupted for good. */
static void sleep_whole(void)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	sleep_ms(300);
	clock_gettime(CLOCK_MONOTONIC, &b);
	_exit((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < 299);
}

static void looks_leave_no_trace(void)
{
	struct sim_proof p;
	pid_t pid = start(sleep_whole);
	int status = -1;

	for (int k = 0; k < 50; k++)
		CHECK(!sim_proof_make(&p, pid, OTHERS));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* Somebody else traces it: no proof, and the tracer is not disturbed. */
static void a_traced_process_is_left_alone(void)
{
	struct sim_proof p;
	pid_t pid = start(wait_in_loop);

	CHECK_EQ(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	CHECK(!sim_proof_make(&p, pid, OTHERS));
	stop(pid);
}

static void prepare(void)
{
	shared =
	    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(shared != MAP_FAILED);
}

static const struct t_case cases[] = {
    T(loops_are_proved),      T(a_change_ends_the_proof), T(stores_beside_the_flag_are_no_change),
    T(others_are_not_proved), T(looks_leave_no_trace),    T(a_traced_process_is_left_alone)};
#else
static void prepare(void) {}

static void no_machine_is_known(void)
{
	struct sim_proof p;

	CHECK(!sim_proof_make(&p, getpid(), 0));
}

static const struct t_case cases[] = {T(no_machine_is_known)};
#endif

int main(int argc, char **argv)
{
	prepare();
	return t_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
