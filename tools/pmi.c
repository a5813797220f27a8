/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/proc.h"

#define LINE_BYTES  4096
#define KEY_BYTES   64
#define VALUE_BYTES 1024
#define KEYS_MAX    (64u * PMI_TASKS_MAX)

static int *task_end; /* [tasks]; NULL without pmi_start() */
static uint32_t task_count;
static pid_t server; /* 0: none */

struct pair {
	char key[KEY_BYTES], value[VALUE_BYTES];
};

struct client {
	char line[LINE_BYTES];
	size_t bytes;
	int waits; /* in the barrier */
};

struct server {
	struct pollfd *fd;
	struct client *client;
	uint32_t tasks, waiting, keys;
	struct pair *pair;
};

/* ---- the server ---- */

static void client_answer(struct server *s, uint32_t task, const char *text)
{
	/* A task that does not read gets no more than its socket holds. It delays only itself. */
	if (send(s->fd[task].fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
	    errno == EPIPE)
		s->fd[task].fd = -1;
}

/* Copy the word after key= on the line. Returns 0 if there is none, or it is too long. */
static int copy_word(const char *line, const char *key, char *text, size_t bytes)
{
	size_t k = strlen(key);

	while (*line) {
		size_t n;

		line += strspn(line, " ");
		n = strcspn(line, " ");
		if (n > k && line[k] == '=' && !strncmp(line, key, k)) {
			n -= k + 1;
			if (n >= bytes)
				return 0;
			memcpy(text, line + k + 1, n);
			text[n] = 0;
			return 1;
		}
		line += n;
	}
	return 0;
}

static struct pair *pair_find(struct server *s, const char *key)
{
	for (uint32_t i = 0; i < s->keys; i++)
		if (!strcmp(s->pair[i].key, key))
			return &s->pair[i];
	return NULL;
}

static int pair_put(struct server *s, const char *line)
{
	struct pair new, *more;

	if (!copy_word(line, "key", new.key, sizeof new.key) ||
	    !copy_word(line, "value", new.value, sizeof new.value) || pair_find(s, new.key) ||
	    s->keys == KEYS_MAX)
		return -1;
	if (!(s->keys & (s->keys + 1))) { /* the array has room for 1, 3, 7 ... pairs */
		more = realloc(s->pair, (2 * (size_t)s->keys + 1) * sizeof *more);
		if (!more)
			return -1;
		s->pair = more;
	}
	s->pair[s->keys++] = new;
	return 0;
}

static void pair_get(struct server *s, uint32_t task, const char *line)
{
	char key[KEY_BYTES], text[VALUE_BYTES + 64];
	struct pair *p = copy_word(line, "key", key, sizeof key) ? pair_find(s, key) : NULL;

	if (p)
		snprintf(text, sizeof text, "cmd=get_result rc=0 msg=success value=%s\n", p->value);
	else
		snprintf(text, sizeof text,
			 "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	client_answer(s, task, text);
}

static void barrier_enter(struct server *s, uint32_t task)
{
	s->waiting += !s->client[task].waits;
	s->client[task].waits = 1;
	if (s->waiting < s->tasks)
		return;
	s->waiting = 0;
	for (uint32_t i = 0; i < s->tasks; i++) {
		s->client[i].waits = 0;
		client_answer(s, i, "cmd=barrier_out rc=0\n");
	}
}

static void command_handle(struct server *s, uint32_t task, const char *line)
{
	static const struct {
		const char *name, *answer;
	} fixed[] = {
	    {"init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
	    {"get_maxes", "cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024\n"},
	    {"get_appnum", "cmd=appnum rc=0 appnum=0\n"},
	    {"get_my_kvsname", "cmd=my_kvsname rc=0 kvsname=torus\n"},
	    {"finalize", "cmd=finalize_ack rc=0\n"},
	};
	char name[32], text[64];

	if (!copy_word(line, "cmd", name, sizeof name))
		return;
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (!strcmp(name, fixed[i].name)) {
			client_answer(s, task, fixed[i].answer);
			return;
		}
	if (!strcmp(name, "put")) {
		client_answer(s, task,
			      pair_put(s, line) ? "cmd=put_result rc=-1 msg=refused\n"
						: "cmd=put_result rc=0 msg=success\n");
	} else if (!strcmp(name, "get")) {
		pair_get(s, task, line);
	} else if (!strcmp(name, "barrier_in")) {
		barrier_enter(s, task);
	} else if (!strcmp(name, "get_universe_size")) {
		snprintf(text, sizeof text, "cmd=universe_size rc=0 size=%u\n", s->tasks);
		client_answer(s, task, text);
	} else if (strcmp(
		       name,
		       "abort")) { /* a task that aborts also exits, and torus run handles that */
		client_answer(s, task, "cmd=unknown rc=-1 msg=unsupported\n");
	}
}

static void client_read(struct server *s, uint32_t task)
{
	struct client *c = &s->client[task];
	ssize_t n =
	    recv(s->fd[task].fd, c->line + c->bytes, sizeof c->line - 1 - c->bytes, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* the task has exited, or its line is too long: then it must not wait */
		shutdown(s->fd[task].fd, SHUT_RDWR);
		s->fd[task].fd = -1;
		return;
	}
	c->bytes += (size_t)n;
	c->line[c->bytes] = 0;
	while ((end = memchr(c->line, '\n', c->bytes))) {
		*end++ = 0;
		command_handle(s, task, c->line);
		c->bytes -= (size_t)(end - c->line);
		memmove(c->line, end, c->bytes + 1);
	}
}

static void serve_tasks(const int *ends, uint32_t tasks)
{
	struct server s = {.fd = calloc(tasks, sizeof *s.fd),
			   .client = calloc(tasks, sizeof *s.client),
			   .tasks = tasks};

	if (!s.fd || !s.client)
		return;
	for (uint32_t i = 0; i < tasks; i++)
		s.fd[i] = (struct pollfd){.fd = ends[i], .events = POLLIN};
	s.pair = malloc(sizeof *s.pair);
	if (!s.pair)
		return;
	/* All tasks share the memory of this machine, whatever hosts they are on. */
	strcpy(s.pair[0].key, "PMI_process_mapping");
	snprintf(s.pair[0].value, sizeof s.pair[0].value, "(vector,(0,1,%u))", tasks);
	s.keys = 1;
	while (poll(s.fd, tasks, -1) >= 0 || errno == EINTR)
		for (uint32_t i = 0; i < tasks; i++)
			if (s.fd[i].revents)
				client_read(&s, i);
}

/* ---- the tasks' ends ---- */

int pmi_start(uint32_t tasks)
{
	int *ours = calloc(tasks, sizeof *ours), rc = 0;
	pid_t parent = getpid(), child;

	task_end = calloc(tasks, sizeof *task_end);
	if (!ours || !task_end)
		rc = -ENOMEM;
	for (; task_count < tasks && !rc; task_count++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
			rc = -errno;
			break;
		}
		ours[task_count] = ends[0];
		task_end[task_count] = ends[1];
	}
	child = rc ? -1 : fork();
	if (!child) {
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		prctl(PR_SET_NAME, "torus-pmi");
		pmi_close_ends();
		if (!proc_tie_to_parent(parent, SIGKILL))
			serve_tasks(ours, tasks);
		_exit(0);
	}
	if (!rc && child < 0)
		rc = -errno;
	server = child > 0 ? child : 0;
	for (uint32_t i = 0; ours && i < task_count; i++)
		close(ours[i]);
	free(ours);
	return rc;
}

bool pmi_is_server(pid_t pid)
{
	return pid > 0 && pid == server;
}

void pmi_task_environment(uint32_t task)
{
	if (task >= task_count)
		return;
	fcntl(task_end[task], F_SETFD, 0);
	proc_set_number("PMI_FD", task_end[task]);
	proc_set_number("PMI_RANK", task);
	proc_set_number("PMI_SIZE", task_count);
}

void pmi_close_ends(void)
{
	for (uint32_t i = 0; i < task_count; i++)
		close(task_end[i]);
	free(task_end);
	task_end = NULL;
	task_count = 0;
}
