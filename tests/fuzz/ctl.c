/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A liar on the control connection (tools/ctl.h), for ctl.sh: started in the place of ssh, it
 * starts the agent, passes messages on both ways, and changes them as QT_LIE says:
 *
 *   agent, run         messages of the agent, or of torus run, at random (QT_SEED)
 *   say HEX, tell HEX  these bytes to torus run behind CTL_STARTED, or to the agent behind the plan
 *   flood HEX, flood-run HEX   the same again and again
 *   deaf, mute         torus run's messages are not read; the agent's are not passed on
 *   deaf-run           the agent's messages are not read, but the heartbeats go on
 *   half               half of the plan, and then nothing
 *   burst              all messages of the agent at once at its end, and its end at once
 *
 * A status of the agent that is the signal of a crash goes to the file QT_LIE_CRASH.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/rng.h"
#include "tools/ctl.h"

#define FLOOD_BYTES (4u << 20) /* of a flood that wait to be written */

/* One direction. */
struct way {
	int from, to;
	unsigned char *in, *out;
	size_t in_bytes, out_at, out_bytes;
	bool is_of_agent, has_lied, has_ended;
};

static const char *lie;
static struct drv_rng rng;
static unsigned char hex[8192];
static size_t hex_bytes;

static bool lies(const char *word)
{
	return !strncmp(lie, word, strlen(word)) &&
	       (!lie[strlen(word)] || lie[strlen(word)] == ' ');
}

static void append(unsigned char **to, size_t *bytes, const void *data, size_t more)
{
	*to = realloc(*to, *bytes + more + 1);
	if (!*to)
		_exit(1);
	if (more) /* data may be NULL otherwise */
		memcpy(*to + *bytes, data, more);
	*bytes += more;
}

static void put(struct way *w, const void *data, size_t bytes)
{
	if (w->out_at) {
		memmove(w->out, w->out + w->out_at, w->out_bytes - w->out_at);
		w->out_bytes -= w->out_at;
		w->out_at = 0;
	}
	append(&w->out, &w->out_bytes, data, bytes);
}

static void put_message(struct way *w, uint32_t type, const void *data, uint32_t bytes)
{
	uint32_t head[2] = {type, bytes};

	put(w, head, sizeof head);
	put(w, data, bytes);
}

static uint32_t random_word(void)
{
	static const uint32_t some[] = {0, 1, 2, 3, 255, 256, 65535, 65536, 1u << 31, UINT32_MAX};
	uint64_t n = drv_rng_below(&rng, 14);

	return n < 10 ? some[n] : (uint32_t)drv_rng_next(&rng) >> drv_rng_below(&rng, 32);
}

/* Pass a message on with some words changed, cut short, as another, twice, or not at all. */
static void put_changed(struct way *w, uint32_t type, unsigned char *data, uint32_t bytes)
{
	uint32_t word[64], n = (uint32_t)drv_rng_below(&rng, 64);

	switch (drv_rng_below(&rng, type == CTL_START ? 2 : 7)) {
	case 0:
		for (uint32_t i = 0; i < 1 + n / 16 && bytes >= 4; i++) {
			uint32_t v = random_word(), end = bytes < 512 ? bytes : 512;

			memcpy(data + drv_rng_below(&rng, end - 3) / 4 * 4, &v, 4);
		}
		break;
	case 1:
		bytes = (uint32_t)drv_rng_below(&rng, bytes + 1);
		break;
	case 2:
		type = 1 + (uint32_t)drv_rng_below(&rng, CTL_PING);
		break;
	case 3:
		put_message(w, type, data, bytes);
		break;
	case 4:
		return;
	case 5:
		for (uint32_t i = 0; i < n; i++)
			word[i] = random_word();
		put_message(w, 1 + (uint32_t)drv_rng_below(&rng, CTL_PING), word, 4 * n);
		break;
	default:
		if (!drv_rng_below(&rng, 4)) /* outside the protocol */
			put_message(w, random_word(), NULL, 0);
	}
	put_message(w, type, data, bytes);
}

static void pass_message(struct way *w, uint32_t type, unsigned char *data, uint32_t bytes)
{
	if (lies(w->is_of_agent ? "agent" : "run") &&
	    !drv_rng_below(&rng, type == CTL_PING ? 20 : 3)) {
		put_changed(w, type, data, bytes);
		return;
	}
	if (lies("half") && type == CTL_START) {
		uint32_t head[2] = {type, bytes};

		put(w, head, sizeof head);
		put(w, data, bytes / 2);
		w->has_ended = true;
		return;
	}
	put_message(w, type, data, bytes);
	if (lies("burst") && type == CTL_EXIT) { /* torus run will not say it: it hears nothing */
		uint32_t grace_ms = 0;

		put_message(w - 1, CTL_END, &grace_ms, sizeof grace_ms);
	}
	if (type == (w->is_of_agent ? CTL_STARTED : CTL_START) &&
	    (lies(w->is_of_agent ? "say" : "tell") ||
	     lies(w->is_of_agent ? "flood" : "flood-run"))) {
		put(w, hex, hex_bytes);
		w->has_lied = true;
	}
}

static void pass_messages(struct way *w)
{
	size_t at = 0;
	uint32_t head[2];

	while (w->in_bytes - at >= sizeof head && !w->has_ended) {
		memcpy(head, w->in + at, sizeof head);
		if (w->in_bytes - at - sizeof head < head[1])
			break;
		pass_message(w, head[0], w->in + at + sizeof head, head[1]);
		at += sizeof head + head[1];
	}
	if (at)
		memmove(w->in, w->in + at, w->in_bytes - at);
	w->in_bytes -= at;
}

/* Returns false at the end of the stream. */
static bool read_way(struct way *w)
{
	unsigned char data[65536];
	ssize_t n = read(w->from, data, sizeof data);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	if (w->has_ended || lies(w->is_of_agent ? "mute" : "-"))
		return true;
	append(&w->in, &w->in_bytes, data, (size_t)n);
	pass_messages(w);
	return true;
}

static bool write_way(struct way *w)
{
	ssize_t n = write(w->to, w->out + w->out_at, w->out_bytes - w->out_at);

	if (n > 0)
		w->out_at += (size_t)n;
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool is_read(const struct way *w)
{
	return !(lies("deaf") && !w->is_of_agent) && !(lies("deaf-run") && w->is_of_agent);
}

/* Pass on until an end closes. */
static void serve(struct way *w)
{
	bool holds = lies("burst");

	for (;;) {
		struct pollfd p[4];

		for (int i = 0; i < 2; i++) {
			if (strncmp(lie, "flood", 5) == 0 && w[i].has_lied)
				while (w[i].out_bytes - w[i].out_at < FLOOD_BYTES)
					put(&w[i], hex, hex_bytes);
			p[2 * i] = (struct pollfd){is_read(&w[i]) ? w[i].from : -1, POLLIN, 0};
			p[2 * i + 1] = (struct pollfd){
			    w[i].out_at < w[i].out_bytes && !(holds && w[i].is_of_agent) ? w[i].to
											 : -1,
			    POLLOUT, 0};
		}
		/* A deaf end says that it lives. */
		if (poll(p, 4, CTL_PING_MS) == 0)
			for (int i = 0; i < 2; i++)
				if (lies(i ? "deaf" : "deaf-run"))
					put_message(&w[i], CTL_PING, NULL, 0);
		for (int i = 0; i < 2; i++)
			if ((p[2 * i].revents && !read_way(&w[i])) ||
			    (p[2 * i + 1].revents && !write_way(&w[i])))
				return;
	}
}

static pid_t start_agent(const char *command, struct way *w)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		_exit(1);
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	w[0] = (struct way){.from = 0, .to = in[1]};
	w[1] = (struct way){.from = out[0], .to = 1, .is_of_agent = true};
	return pid;
}

static void record_crash(int status)
{
	const char *path = getenv("QT_LIE_CRASH");
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	FILE *f;

	if (!path || (sig != SIGSEGV && sig != SIGABRT && sig != SIGBUS && sig != SIGFPE))
		return;
	f = fopen(path, "ae");
	if (f) {
		fprintf(f, "agent: signal %d\n", sig);
		fclose(f);
	}
}

int main(int argc, char **argv)
{
	const char *seed = getenv("QT_SEED"), *at;
	struct way w[2];
	unsigned byte;
	int status, n;
	pid_t agent;

	lie = getenv("QT_LIE") ? getenv("QT_LIE") : "";
	at = strchr(lie, ' ') ? strchr(lie, ' ') : "";
	while (sscanf(at, " %2x%n", &byte, &n) == 1 && hex_bytes < sizeof hex) {
		hex[hex_bytes++] = (unsigned char)byte;
		at += n;
	}
	drv_rng_seed(&rng, seed ? strtoull(seed, NULL, 0) : 1);
	signal(SIGPIPE, SIG_IGN);
	agent = start_agent(argc > 1 ? argv[1] : "false", w);
	if (lies("burst"))
		fcntl(1, F_SETPIPE_SZ, 1 << 20);
	else
		fcntl(1, F_SETFL, O_NONBLOCK);
	fcntl(w[0].to, F_SETFL, O_NONBLOCK);
	serve(w);
	close(w[0].to);
	/* What the agent said before its end; with burst it is in the pipe after one write. */
	fcntl(1, F_SETFL, 0);
	while (w[1].out_at < w[1].out_bytes && write_way(&w[1]))
		;
	close(1);
	/* An agent whose stream has ended ends; what it still says is read. */
	while (read_way(&w[1]))
		poll(&(struct pollfd){w[1].from, POLLIN, 0}, 1, CTL_PING_MS);
	while (waitpid(agent, &status, 0) < 0 && errno == EINTR)
		;
	record_crash(status);
	for (int i = 0; i < 2; i++) {
		free(w[i].in);
		free(w[i].out);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
