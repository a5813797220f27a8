/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first task of a host gives the segment to the others through a socket (mu/launch/socket.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mu/launch/launch.h"
#include "tests/harness/t.h"

#define SECRET 0x1234567887654321ull

static int listener;

/* Read the word that the other task's file holds. */
static int take_word(void *name)
{
	uint64_t word = 0;
	int fd = -1;

	REQUIRE_EQ(mu_launch_take(name, SECRET, &fd, 1), 0);
	REQUIRE_EQ(pread(fd, &word, sizeof word, 0), sizeof word);
	CHECK_EQ(word, 42);
	return 0;
}

static void a_task_gets_the_file(void)
{
	uint64_t word = 42;
	char name[8];
	int fd = memfd_create("segment", 0);
	pid_t child;

	listener = mu_launch_listen(name);
	REQUIRE(listener >= 0 && fd >= 0);
	REQUIRE_EQ(pwrite(fd, &word, sizeof word, 0), sizeof word);
	child = t_child(take_word, name);
	CHECK_EQ(mu_launch_give(listener, 1, SECRET, &fd, 1), 0);
	CHECK_EQ(t_wait(child, 20), 0);
	close(listener);
	close(fd);
}

static int connect_only(void *name)
{
	int fd;

	close(listener); /* the connection ends with that of the parent */
	return mu_launch_take(name, SECRET, &fd, 1) == 0;
}

/* No descriptor is left for the connection of the other task. */
static int give_without_room(void *unused)
{
	char name[8];
	int fd = memfd_create("segment", 0), last;
	struct rlimit limit;
	pid_t child;

	listener = mu_launch_listen(name);
	REQUIRE(listener >= 0 && fd >= 0);
	child = t_child(connect_only, name);
	last = dup(fd);
	REQUIRE(last >= 0 && !getrlimit(RLIMIT_NOFILE, &limit));
	close(last);
	limit.rlim_cur = (rlim_t)last;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK_EQ(mu_launch_give(listener, 1, SECRET, &fd, 1), -EMFILE);
	close(listener);
	return t_wait(child, 20);
}

static void it_ends_without_descriptors(void)
{
	CHECK_EQ(t_wait(t_child(give_without_room, NULL), 30), 0);
}

T_MAIN(T(a_task_gets_the_file), T(it_ends_without_descriptors))
