/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of libarmci with NULL pointers, processes that do not exist and negative counts must return
 * a FAIL code or end the process with a message. Each call runs in a forked process, so that a
 * crash is one failure. A call that succeeds is a failure too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "armci.h"
#include "message.h"

static int failures;

static void check_ended(const char *call, pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || WIFSIGNALED(status) || !WEXITSTATUS(status)) {
		fprintf(stderr, "failed: %s: wait status %#x\n", call, status);
		failures++;
	}
}

#define BAD(call)                                                                                  \
	do {                                                                                       \
		pid_t child = fork();                                                              \
                                                                                                   \
		if (!child) {                                                                      \
			alarm(20);                                                                 \
			_exit((call) != 0);                                                        \
		}                                                                                  \
		check_ended(#call, child);                                                         \
	} while (0)

static char buf[4096];
static int str[2] = {16, 16}, cnt[2] = {8, 1}, neg[2] = {-8, 1};

/* Before ARMCI_Init(), and after ARMCI_Finalize(). */
static void calls_outside(void)
{
	void *ptrs[64];
	ARMCI_Group group;
	int n = 1;

	BAD(ARMCI_Malloc(ptrs, 64));
	BAD(ARMCI_Free(buf));
	BAD(ARMCI_Free(NULL));
	BAD(ARMCI_Put(buf, buf + 64, 8, 0));
	BAD(ARMCI_Create_mutexes(1));
	BAD((ARMCI_Barrier(), 0));
	BAD((ARMCI_Fence(0), 0));
	BAD((armci_msg_barrier(), 0));
	BAD((armci_msg_igop(&n, 1, "+"), 0));
	BAD((ARMCI_Group_rank(NULL, &n), 0));
	BAD((ARMCI_Group_size(&group, NULL), 0));
}

static void bad_calls(char *memory)
{
	armci_hdl_t handle;

	ARMCI_INIT_HANDLE(&handle);
	BAD(ARMCI_Put(NULL, memory, 8, 0));
	BAD(ARMCI_Put(buf, NULL, 8, 0));
	BAD(ARMCI_Put(buf, memory, -8, 0));
	BAD(ARMCI_Put(buf, memory, 8, 99));
	BAD(ARMCI_Put(buf, memory, 8, -1));
	BAD(ARMCI_Get(NULL, buf, 8, 0));
	BAD(ARMCI_Get(memory, NULL, 8, 0));
	BAD(ARMCI_Get(memory, buf, -8, 0));
	BAD(ARMCI_Get(memory, buf, 8, 99));
	BAD(ARMCI_PutS(NULL, str, memory, str, cnt, 1, 0));
	BAD(ARMCI_PutS(buf, NULL, memory, str, cnt, 1, 0));
	BAD(ARMCI_PutS(buf, str, memory, str, NULL, 1, 0));
	BAD(ARMCI_PutS(buf, str, memory, str, neg, 1, 0));
	BAD(ARMCI_PutS(buf, str, memory, str, cnt, -1, 0));
	BAD(ARMCI_PutS(buf, str, memory, str, cnt, 99, 0));
	BAD(ARMCI_PutS(buf, str, memory, str, cnt, 1, 99));
	BAD(ARMCI_GetS(memory, str, NULL, str, cnt, 1, 0));
	BAD(ARMCI_GetS(memory, str, buf, str, cnt, 1, -5));
	BAD(ARMCI_Acc(ARMCI_ACC_DBL, NULL, buf, memory, 8, 0));
	BAD(ARMCI_AccS(ARMCI_ACC_DBL, NULL, buf, str, memory, str, cnt, 1, 0));
	BAD(ARMCI_AccS(-77, buf, buf, str, memory, str, cnt, 1, 0));
	BAD(ARMCI_PutV(NULL, 1, 0));
	BAD(ARMCI_GetV(NULL, 1, 0));
	BAD(ARMCI_PutV(NULL, -1, 0));
	BAD(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, NULL, memory, 1, 0));
	BAD(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, buf, NULL, 1, 0));
	BAD(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, buf, memory, 1, 99));
	BAD(ARMCI_Rmw(-9, buf, memory, 1, 0));
	BAD(ARMCI_NbPut(NULL, memory, 8, 0, &handle));
	BAD(ARMCI_NbPut(buf, memory, 8, 99, &handle));
	BAD((ARMCI_Fence(99), 0));
	BAD((ARMCI_Fence(-1), 0));
	BAD((ARMCI_Lock(0, 0), 0));
	BAD((ARMCI_Lock(0, 99), 0));
	BAD((ARMCI_Unlock(5, 0), 0));
	BAD(ARMCI_Free(buf));
	BAD(ARMCI_Malloc(NULL, 8));
	BAD(ARMCI_Create_mutexes(-1));
	BAD(ARMCI_Destroy_mutexes());
	BAD(ARMCI_PutValueInt(1, NULL, 0));
	BAD(ARMCI_PutValueInt(1, memory, 99));
	BAD((ARMCI_Copy(NULL, NULL, 8), 0));
	BAD((armci_msg_snd(1, NULL, 8, 99), 0));
}

int main(void)
{
	void **pointers;
	int me;

	calls_outside();
	ARMCI_Init();
	me = armci_msg_me();
	pointers = malloc((size_t)armci_msg_nproc() * sizeof *pointers);
	if (!pointers || ARMCI_Malloc(pointers, 4096))
		return 1;
	bad_calls(pointers[0]);
	ARMCI_Barrier();
	ARMCI_Free(pointers[me]);
	free(pointers);
	ARMCI_Finalize();
	calls_outside();
	if (!failures)
		puts("PASS");
	return failures != 0;
}
