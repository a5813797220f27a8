/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fence waits for what began before it, and not for what another thread begins meanwhile. Three
 * processes on three hosts, without asynchronous progress: an accumulate is complete when its
 * target calls ARMCI. Process 1 does so when it is told, process 2 only after the fence of process
 * 0 has returned.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "tests/armci/armci_memory.h"

enum { LIMIT_S = 30 };

struct word {
	long sum;
	volatile long go;
};

static atomic_i32 fencing, fenced;
static volatile int tid;

static struct word *word_of(int proc)
{
	return mem[proc];
}

static void add_one(int proc)
{
	long one = 1, scale = 1;

	CHECK(ARMCI_Acc(ARMCI_ACC_LNG, &scale, &one, &word_of(proc)->sum, sizeof one, proc) == 0);
}

static void tell_process(int proc, long yes)
{
	CHECK(ARMCI_Put(&yes, (void *)&word_of(proc)->go, sizeof yes, proc) == 0);
}

/* Is the thread asleep? Once it has said that it begins its fence, it sleeps only in there. */
static int is_asleep(int thread)
{
	char path[64], text[256] = "", *end;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
	f = fopen(path, "r");
	if (f) {
		if (!fgets(text, sizeof text, f))
			text[0] = 0;
		fclose(f);
	}
	end = strrchr(text, ')');
	return end && end[1] && end[2] == 'S';
}

static void *run_fence(void *arg)
{
	add_one(1);
	tid = (int)syscall(SYS_gettid);
	atomic_store_release(&fencing, 1);
	ARMCI_AllFence();
	atomic_store_release(&fenced, 1);
	return arg;
}

static void begin_during_a_fence(void)
{
	time_t until = time(NULL) + LIMIT_S;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run_fence, NULL) == 0);
	while (!atomic_load_acquire(&fenced) && (!atomic_load_acquire(&fencing) || !is_asleep(tid)))
		usleep(1000);
	add_one(2);
	CHECK(!atomic_load_acquire(&fenced)); /* process 1 has not called yet */
	tell_process(1, 1);
	while (!atomic_load_acquire(&fenced) && time(NULL) < until)
		usleep(1000);
	/* If not, the fence waits for the second accumulate, which is not its own. */
	CHECK(atomic_load_acquire(&fenced));
	tell_process(2, 1);
	pthread_join(thread, NULL);
}

/* The processes share a directory. A file there says that its process has left ARMCI. */
static char *file_of(const char *directory, int proc)
{
	static char path[4096];

	snprintf(path, sizeof path, "%s/%d", directory, proc);
	return path;
}

static void say_outside(const char *directory)
{
	FILE *f = fopen(file_of(directory, me), "w");

	CHECK(f != NULL);
	if (f)
		fclose(f);
}

static void wait_for_outside(const char *directory, int proc)
{
	while (access(file_of(directory, proc), F_OK))
		usleep(1000);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: armci_fence_threads DIRECTORY\n");
		return 2;
	}
	ARMCI_Init_thread(3 /* MPI_THREAD_MULTIPLE */);
	me = armci_msg_me();
	n = armci_msg_nproc();
	CHECK(n == 3);
	memory_open(4096);
	if (me == 0) { /* The first put to a process asks it for its region. */
		tell_process(1, 0);
		tell_process(2, 0);
	}
	ARMCI_Barrier();
	if (me == 0) {
		wait_for_outside(argv[1], 1);
		wait_for_outside(argv[1], 2);
		begin_during_a_fence();
	} else {
		say_outside(argv[1]);
		while (!word_of(me)->go)
			usleep(1000);
	}
	ARMCI_Barrier();
	CHECK(me == 0 || word_of(me)->sum == 1);
	memory_close();
	me = check_report("armci_fence_threads");
	ARMCI_Finalize();
	return me;
}
