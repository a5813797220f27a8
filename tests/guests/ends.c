/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways in which programs end, one a run (the first argument): well, without a word, too early, with
 * a child process. A program that ends well says so, with all its tasks.
 */
#include <pami.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pami_client_t client;
static pami_context_t contexts[2];
static size_t me, all;

static void set_flag(pami_context_t c, void *cookie, pami_result_t r)
{
	(void)c;
	*(volatile int *)cookie = r == PAMI_SUCCESS ? 1 : -1;
}

/* The barrier's result: 1, or -1 after an error. */
static int run_barrier(void)
{
	pami_geometry_t world;
	pami_xfer_t x;
	volatile int done = 0;

	memset(&x, 0, sizeof x);
	PAMI_Geometry_world(client, &world);
	PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, &x.algorithm, NULL, 1, NULL, NULL,
				       0);
	x.cb_done = set_flag;
	x.cookie = (void *)&done;
	if (PAMI_Collective(contexts[0], &x) != PAMI_SUCCESS)
		return -1;
	while (!done)
		PAMI_Context_advance(contexts[0], 100);
	return done;
}

/* Work that ends what it runs in. Refused, and nothing is lost. */
static pami_result_t destroy_here(pami_context_t c, void *cookie)
{
	pami_context_t copy = c;
	pami_client_t its = client;
	int refused = PAMI_Context_destroyv(&copy, 1) == PAMI_INVAL &&
		      PAMI_Client_destroy(&its) == PAMI_INVAL && copy == c && its == client;

	*(volatile int *)cookie = refused ? 1 : -1;
	return PAMI_SUCCESS;
}

static void destroy_in_event(pami_context_t c, void *cookie, pami_result_t r)
{
	(void)r;
	destroy_here(c, cookie);
}

static void wait_refused(volatile int *done)
{
	while (!*done)
		PAMI_Context_advance(contexts[0], 1);
	if (*done != 1)
		exit(1);
}

static void destroy_in_callback(void)
{
	volatile int done = 0;
	pami_work_t work;

	PAMI_Context_post(contexts[0], &work, destroy_here, (void *)&done);
	wait_refused(&done);
	done = 0;
	if (PAMI_Fence_begin(contexts[0]) ||
	    PAMI_Fence_all(contexts[0], destroy_in_event, (void *)&done))
		exit(1);
	wait_refused(&done);
	PAMI_Fence_end(contexts[0]);
}

/* A child of a process whose threads held a lock: it gets an error, and does not wait for ever. */
static void lock_in_child(void)
{
	pid_t child;
	int status;

	PAMI_Context_lock(contexts[1]);
	child = fork();
	if (!child)
		_exit(PAMI_Context_lock(contexts[1]) == PAMI_SUCCESS ? 1 : 7);
	waitpid(child, &status, 0);
	PAMI_Context_unlock(contexts[1]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		exit(1);
}

/* The program that a task starts is this one: it must not take the task's place. */
static void start_program(const char *program)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execl(program, program, "inner", (char *)NULL);
		_exit(9);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		exit(1);
}

static void join_again(void)
{
	for (int i = 0; i < 5; i++) {
		PAMI_Client_destroy(&client);
		if (PAMI_Client_create("ends", &client, NULL, 0) ||
		    PAMI_Context_createv(client, NULL, 0, contexts, 2) || run_barrier() != 1)
			exit(1);
	}
}

static void leave_job(int status)
{
	fprintf(stderr, "task %zu of %zu leaves\n", me, all);
	exit(status);
}

int main(int argc, char **argv)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};
	const char *how = argc > 1 ? argv[1] : "exit_after_a_barrier";
	struct timespec moment = {0, 50000000};

	if (!strcmp(how, "inner"))
		return PAMI_Client_create("ends", &client, NULL, 0) ? 7 : 0;
	if (PAMI_Client_create("ends", &client, NULL, 0) ||
	    PAMI_Context_createv(client, NULL, 0, contexts, 2))
		return 1;
	PAMI_Client_query(client, q, 2);
	me = q[0].value.intval;
	all = q[1].value.intval;
	run_barrier();

	if (!strcmp(how, "exit_after_a_barrier")) /* destroys nothing */
		leave_job(0);
	if (!strcmp(how, "contexts_one_by_one")) {
		PAMI_Context_destroyv(&contexts[1], 1);
		PAMI_Context_destroyv(&contexts[0], 1);
		PAMI_Client_destroy(&client);
		leave_job(0);
	}
	if (!strcmp(how, "client_only")) {
		PAMI_Client_destroy(&client);
		leave_job(0);
	}
	if (!strcmp(how, "at_different_times")) {
		for (size_t i = 0; i < 3 * me; i++)
			nanosleep(&moment, NULL);
		PAMI_Context_destroyv(contexts, 2);
		PAMI_Client_destroy(&client);
		leave_job(0);
	}
	if (!strcmp(how, "one_fails")) { /* the launcher must end the others */
		if (me == all - 1)
			exit(1);
		for (;;)
			PAMI_Context_advance(contexts[0], 100);
	}
	/* The program forgot a barrier, so the others wait for this task. */
	if (!strcmp(how, "one_leaves_early")) {
		if (me == all - 1)
			exit(0);
		nanosleep(&moment, NULL);
		exit(run_barrier() == 1 ? 0 : 3);
	}
	if (!strcmp(how, "child_exits")) { /* exit handlers of the child run in the child */
		pid_t child = fork();
		int status;

		if (!child)
			exit(7);
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7 || run_barrier() != 1)
			exit(1);
		PAMI_Context_destroyv(contexts, 2);
		PAMI_Client_destroy(&client);
		leave_job(0);
	}
	if (!strcmp(how, "child_destroys")) { /* the child ends as the program does */
		pid_t child = fork();
		int status;

		if (!child) {
			PAMI_Context_destroyv(contexts, 2);
			PAMI_Client_destroy(&client);
			_exit(7);
		}
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7 || run_barrier() != 1)
			exit(1);
		PAMI_Context_destroyv(contexts, 2);
		PAMI_Client_destroy(&client);
		leave_job(0);
	}
	if (!strcmp(how, "callback_destroys"))
		destroy_in_callback();
	else if (!strcmp(how, "child_locks"))
		lock_in_child();
	else if (!strcmp(how, "program_in_program"))
		start_program(argv[0]);
	else if (!strcmp(how, "joins_again"))
		join_again();
	else if (!strcmp(how, "system")) {
		if (system("true"))
			exit(1);
	} else {
		fprintf(stderr, "ends: no case %s\n", how);
		return 2;
	}
	if (run_barrier() != 1)
		exit(1);
	PAMI_Context_destroyv(contexts, 2);
	PAMI_Client_destroy(&client);
	leave_job(0);
}
