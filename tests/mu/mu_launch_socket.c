/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first task of a host gives the segment to the others through a socket (mu/launch/socket.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
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

/* ---- strangers ---- */

enum { SILENT = 2000, BEFORE = 500 };

static int came[2]; /* a pipe: so many strangers have come */

/* Connect again and again, and say nothing, a part of the word, or another word. */
static int come_as_strangers(void *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct rlimit limit;
	uint64_t other = ~SECRET;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	memcpy(at.sun_path + 1, name, 5);
	for (int i = 0; i < SILENT; i++) {
		int s = socket(AF_UNIX, SOCK_STREAM, 0);

		if (s < 0 ||
		    connect(s, (struct sockaddr *)&at, offsetof(struct sockaddr_un, sun_path) + 6))
			break;
		if (i % 3)
			send(s, &other, i % 3 == 1 ? 4 : 8, MSG_NOSIGNAL);
		if (i == BEFORE && write(came[1], "", 1) != 1)
			break;
	}
	pause();
	return 0;
}

/* Each connection that said nothing was waited for, a minute long. */
static void strangers_hold_up_nobody(void)
{
	uint64_t word = 42;
	char name[8], byte;
	int fd = memfd_create("segment", 0);
	pid_t strangers, task[2];

	listener = mu_launch_listen(name);
	REQUIRE(listener >= 0 && fd >= 0 && !pipe(came));
	REQUIRE_EQ(pwrite(fd, &word, sizeof word, 0), sizeof word);
	strangers = t_child(come_as_strangers, name);
	REQUIRE_EQ(read(came[0], &byte, 1), 1);
	for (int i = 0; i < 2; i++)
		task[i] = t_child(take_word, name);
	CHECK_EQ(mu_launch_give(listener, 2, SECRET, &fd, 1), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(t_wait(task[i], 20), 0);
	kill(strangers, SIGKILL);
	CHECK_EQ(t_wait(strangers, 20), 128 + SIGKILL);
	close(listener);
	close(fd);
	close(came[0]);
	close(came[1]);
}

/* Another process has the name, and takes the word, but is not the first task. */
static int squat(void *unused)
{
	int s = accept(listener, NULL, NULL);
	char word[8];

	return s < 0 || recv(s, word, sizeof word, MSG_WAITALL) != sizeof word;
}

static void a_squatter_gives_nothing(void)
{
	char name[8];
	int fd = -1;
	pid_t child;

	listener = mu_launch_listen(name);
	REQUIRE(listener >= 0);
	child = t_child(squat, NULL);
	CHECK_EQ(mu_launch_take(name, SECRET, &fd, 1), -EPROTO);
	CHECK_EQ(fd, -1);
	CHECK_EQ(t_wait(child, 20), 0);
	close(listener);
	CHECK_EQ(mu_launch_take(name, SECRET, &fd, 1), -EPROTO); /* nobody has the name */
}

T_MAIN(T(a_task_gets_the_file), T(it_ends_without_descriptors), T(strangers_hold_up_nobody),
       T(a_squatter_gives_nothing))
