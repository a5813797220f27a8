/* SPDX-License-Identifier: BSD-3-Clause */
/* mu/lock.h and drivers/base/assert.h: the lock, and that its assertion ends the process. */
#define DRV_CHECKED 1
#include "mu/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/t.h"

static struct mu_spinlock lock;

static void a_held_lock_is_refused(void)
{
	CHECK(mu_lock_try(&lock));
	CHECK(!mu_lock_try(&lock));
	mu_lock_release(&lock);
	CHECK(!mu_lock_is_held(&lock));
}

static void the_release_of_a_free_lock_ends_the_process(void)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		mu_lock_release(&lock);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

T_MAIN(T(a_held_lock_is_refused), T(the_release_of_a_free_lock_ends_the_process))
