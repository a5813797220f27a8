/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI-1, both ends. Whatever a task writes, in whatever pieces, the server of torus run answers the
 * others and gives each line one answer at most. Whatever a launcher answers, a task that joins
 * ends with an error or without, but it ends. QT_FUZZ_ROUNDS: of each.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mu/launch/launch.h"
#include "mu/mu.h"
#include "tests/harness/t.h"
#include "tools/pmi.h"

enum { TASKS = 3, LINE = 6000, LIMIT_MS = 20000, REFUSED = 42 };

static unsigned rounds(unsigned standard)
{
	const char *text = getenv("QT_FUZZ_ROUNDS");

	return text ? (unsigned)strtoul(text, NULL, 0) : standard;
}

/* Change some bytes of a line: text, zero bytes, ends of lines, repeated parts, very long words. */
static size_t mutate_line(char *line, size_t bytes)
{
	for (uint64_t n = drv_rng_below(t_rng(), 4); n--;) {
		size_t at = drv_rng_below(t_rng(), bytes),
		       some = drv_rng_below(t_rng(), bytes - at);

		switch (drv_rng_below(t_rng(), 7)) {
		case 0:
			line[at] = (char)drv_rng_next(t_rng());
			break;
		case 1:
			line[at] = 0;
			break;
		case 2:
			line[at] = "= \n-0123456789"[drv_rng_below(t_rng(), 14)];
			break;
		case 3: /* a part twice */
			if (bytes + some < LINE) {
				memmove(line + at + some, line + at, bytes - at);
				bytes += some;
			}
			break;
		case 4: /* a part away */
			memmove(line + at, line + at + some, bytes - at - some);
			bytes -= some;
			break;
		case 5: /* a long word */
			some = drv_rng_below(t_rng(), LINE - bytes);
			memmove(line + at + some, line + at, bytes - at);
			memset(line + at, 'x', some);
			bytes += some;
			break;
		default: /* a number that is too high */
			if (bytes - at > 20)
				memcpy(line + at, "99999999999999999999", 20);
		}
		if (!bytes)
			return 0;
	}
	return bytes;
}

static void send_in_pieces(int fd, const char *data, size_t bytes)
{
	size_t most = drv_rng_below(t_rng(), 3) ? LINE : 1 + drv_rng_below(t_rng(), 30);

	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < most ? bytes - at : most;
		if (send(fd, data + at, n, MSG_NOSIGNAL) != (ssize_t)n)
			return;
	}
}

/* Read an answer. Returns false if the other end closes, or is silent for so long. */
static bool read_line(int fd, char *line, size_t bytes, int limit_ms)
{
	size_t n = 0;

	while (n < bytes - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, limit_ms) <= 0 || recv(fd, line + n, 1, 0) <= 0)
			return false;
		if (line[n++] == '\n')
			break;
	}
	line[n] = 0;
	return true;
}

/* ---- the server ---- */

static const char *const request[] = {
    "cmd=init pmi_version=1 pmi_subversion=1\n",
    "cmd=get_maxes\n",
    "cmd=get_appnum\n",
    "cmd=get_my_kvsname\n",
    "cmd=get_universe_size\n",
    "cmd=put kvsname=torus key=some value=thing\n",
    "cmd=get kvsname=torus key=some\n",
    "cmd=get kvsname=torus key=PMI_process_mapping\n",
    "cmd=barrier_in\n",
    "cmd=abort\n",
    "cmd=spawn\n",
};

/* Task 0 lies, task 1 asks as it should. */
static void lies_to_the_server(void)
{
	int end[TASKS];
	char line[LINE + 1];

	signal(SIGPIPE, SIG_IGN);
	for (unsigned r = 0; r < rounds(60); r++) {
		REQUIRE_EQ(pmi_start(TASKS), 0);
		for (uint32_t i = 0; i < TASKS; i++) {
			pmi_task_environment(i);
			end[i] = dup(atoi(getenv("PMI_FD")));
		}
		pmi_close_ends();
		for (unsigned k = 0; k < 40; k++) {
			size_t n = strlen(strcpy(line, request[drv_rng_below(t_rng(), 11)]));

			send_in_pieces(end[0], line, mutate_line(line, n));
			while (recv(end[0], line, sizeof line, MSG_DONTWAIT) > 0)
				;
		}
		if (drv_rng_below(t_rng(), 2))
			close(end[0]), end[0] = -1;
		strcpy(line, "cmd=get_maxes\n");
		send_in_pieces(end[1], line, strlen(line));
		CHECK(read_line(end[1], line, sizeof line, LIMIT_MS));
		CHECK(!strncmp(line, "cmd=maxes rc=0 ", 15));
		for (uint32_t i = 0; i < TASKS; i++)
			close(end[i]);
	}
	unsetenv("PMI_FD");
}

/* ---- a task ---- */

struct launcher {
	int fd;
	char info[MU_LAUNCH_VALUE], port[MU_LAUNCH_VALUE]; /* what the task says of itself */
	unsigned lie;                                      /* the first answer that lies */
	unsigned answers;
	const char *seal; /* in the place of its own; NULL: the same */
};

/* The eighth field of what a task says of itself is its wish for a seal. */
static void set_seal(char *info, const char *seal)
{
	char rest[MU_LAUNCH_VALUE], *at = info;

	for (int field = 0; field < 7 && at; field++)
		at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL;
	REQUIRE(at && strchr(at, ':'));
	snprintf(rest, sizeof rest, "%s", strchr(at, ':'));
	sprintf(at, "%s%s", seal, rest);
}

static void copy_value(const char *line, char *value, size_t bytes)
{
	const char *at = strstr(line, " value=");

	snprintf(value, bytes, "%s", at ? at + 7 : "");
	value[strcspn(value, "\n ")] = 0;
}

/* The other task says the same of itself, but is on another host. */
static void make_value(const struct launcher *l, const char *line, char *text, size_t bytes)
{
	char *digit;

	snprintf(text, bytes, "cmd=get_result rc=0 msg=success value=%s\n",
		 strstr(line, "qt-port") ? l->port : l->info);
	digit = strchr(text, ':');
	if (strstr(line, "key=qt-info-1") && digit) {
		digit[1] = digit[1] == '5' ? '6' : '5';
		if (l->seal)
			set_seal(text, l->seal);
	}
}

static void answer_request(struct launcher *l, const char *line)
{
	char text[LINE + 1];
	size_t n;

	if (!strncmp(line, "cmd=init", 8)) {
		strcpy(text, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	} else if (!strncmp(line, "cmd=get_my_kvsname", 18)) {
		strcpy(text, "cmd=my_kvsname rc=0 kvsname=lie\n");
	} else if (!strncmp(line, "cmd=put", 7)) {
		copy_value(line, strstr(line, "qt-port") ? l->port : l->info, sizeof l->info);
		strcpy(text, "cmd=put_result rc=0 msg=success\n");
	} else if (!strncmp(line, "cmd=get ", 8)) {
		make_value(l, line, text, sizeof text);
	} else if (!strncmp(line, "cmd=barrier_in", 14)) {
		strcpy(text, "cmd=barrier_out rc=0\n");
	} else {
		strcpy(text, "cmd=finalize_ack rc=0\n");
	}
	n = strlen(text);
	if (l->answers++ >= l->lie)
		n = mutate_line(text, n);
	send_in_pieces(l->fd, text, n);
}

/* A task that is lied to says so in many ways, which are not read. */
static int join_job(void *arg)
{
	const struct mu_job *job;
	const int *ends = arg;
	char text[64];

	close(ends[0]); /* so that the task sees the launcher end */
	snprintf(text, sizeof text, "%d", ends[1]);
	setenv("PMI_FD", text, 1);
	setenv("PMI_RANK", "0", 1);
	setenv("PMI_SIZE", "2", 1);
	snprintf(text, sizeof text, "shm:pmi-%d", (int)getpid());
	setenv("QUINTORUS_PORT", text, 1);
	alarm(LIMIT_MS / 1000); /* what hangs ends with a signal */
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	/* It does not take leave of the other task, which is not there. */
	_exit(mu_attach(&job) && ends[2] ? REFUSED : 0);
}

/* Returns the status of a task to which this launcher answers. */
static int run_task(struct launcher *l)
{
	int ends[3] = {-1, -1, l->seal != NULL};
	char line[LINE];
	pid_t task;

	REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	task = t_child(join_job, ends);
	close(ends[1]);
	l->fd = ends[0];
	while (read_line(l->fd, line, sizeof line, 1000))
		answer_request(l, line);
	close(l->fd);
	return t_wait(task, 30);
}

static void lies_to_a_task(void)
{
	signal(SIGPIPE, SIG_IGN);
	for (unsigned r = 0; r < rounds(200); r++) {
		struct launcher l = {.lie = (unsigned)drv_rng_below(t_rng(), 10)};

		CHECK_EQ(run_task(&l), 0);
	}
}

/* 256 counted as none in a field of 8 bits: frames would have been sent without a seal. */
static void wishes_for_no_known_seal_are_refused(void)
{
	static const char *const wish[] = {"256", "3", "-1", "98", ""};

	for (size_t i = 0; i < sizeof wish / sizeof *wish; i++) {
		struct launcher l = {.lie = UINT_MAX, .seal = wish[i]};

		CHECK_EQ(run_task(&l), REFUSED);
	}
	{
		struct launcher l = {.lie = UINT_MAX, .seal = "99"};

		CHECK_EQ(run_task(&l), 0);
	}
}

T_MAIN(T(lies_to_the_server), T(lies_to_a_task), T(wishes_for_no_known_seal_are_refused))
