/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of tasks on its way to torus run (in whole lines with --tag), and the input of task 0. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/agent.h"

int agent_output_open(struct agent *a, struct agent_task *t, int child_end[2])
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC))
			return -errno;
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		t->stream[i].fd = ends[0];
		child_end[i] = ends[1];
	}
	return 0;
}

int agent_output_open_count(const struct agent *a)
{
	int n = 0;

	for (uint32_t i = 0; i < a->locals; i++)
		n += (a->task[i].stream[0].fd >= 0) + (a->task[i].stream[1].fd >= 0);
	return n;
}

static void output_send(struct agent *a, uint32_t task, unsigned which, const char *data,
			uint32_t bytes)
{
	struct ctl_buf b = {0};

	ctl_put_u32(&b, task);
	ctl_put_u32(&b, which + 1);
	ctl_put_bytes(&b, data, bytes);
	ctl_send_buf(&a->ctl, CTL_OUTPUT, &b);
	a->output_room -= bytes;
}

/* Return the bytes that may be sent now: all of them, or with --tag up to the end of the last line.
 */
static uint32_t ready_bytes(const struct agent *a, const struct agent_stream *s)
{
	const char *end;

	if (!a->plan.tag || s->fd < 0)
		return s->bytes;
	end = memrchr(s->line, '\n', s->bytes);
	if (!end)
		return s->bytes == AGENT_LINE_BYTES ? s->bytes : 0;
	return (uint32_t)(end - s->line) + 1;
}

void agent_output_read(struct agent *a, uint32_t local, unsigned which)
{
	struct agent_stream *s = &a->task[local].stream[which];
	uint32_t ready;
	ssize_t n;

	if (!s->line)
		s->line = malloc(AGENT_LINE_BYTES);
	if (!s->line)
		return;
	n = read(s->fd, s->line + s->bytes, AGENT_LINE_BYTES - s->bytes);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		s->bytes += (uint32_t)n;
	} else {
		close(s->fd);
		s->fd = -1;
	}
	ready = ready_bytes(a, s);
	if (ready)
		output_send(a, a->task[local].task, which, s->line, ready);
	memmove(s->line, s->line + ready, s->bytes - ready);
	s->bytes -= ready;
	if (s->fd < 0) {
		free(s->line);
		s->line = NULL;
	}
}

void agent_output_drain(struct agent *a, uint32_t local)
{
	for (unsigned which = 0; which < 2; which++) {
		struct pollfd p = {.fd = a->task[local].stream[which].fd, .events = POLLIN};

		while (p.fd >= 0 && a->output_room > 0 && poll(&p, 1, 0) > 0) {
			agent_output_read(a, local, which);
			p.fd = a->task[local].stream[which].fd;
		}
	}
}

static void input_close(struct agent *a)
{
	if (a->input >= 0)
		close(a->input);
	a->input = -1;
	free(a->input_data);
	a->input_data = NULL;
	a->input_bytes = 0;
}

bool agent_input_put(struct agent *a, const void *data, size_t bytes)
{
	char *more;

	if (bytes > a->input_room)
		return false;
	a->input_room -= (uint32_t)bytes;
	if (a->input < 0)
		return true;
	if (bytes) {
		more = realloc(a->input_data, a->input_bytes + bytes);
		if (!more)
			return true;
		a->input_data = more;
		memcpy(more + a->input_bytes, data, bytes);
		a->input_bytes += (uint32_t)bytes;
	}
	if (!bytes)
		a->input_end = true;
	agent_input_flush(a);
	return true;
}

void agent_input_flush(struct agent *a)
{
	uint32_t taken = 0;
	ssize_t n = 0;

	while (a->input >= 0 && taken < a->input_bytes) {
		n = write(a->input, a->input_data + taken, a->input_bytes - taken);
		if (n < 0)
			break;
		taken += (uint32_t)n;
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/* The task closed its input. What it does not read is lost, as in a pipe. */
		input_close(a);
		return;
	}
	if (taken) {
		memmove(a->input_data, a->input_data + taken, a->input_bytes - taken);
		a->input_bytes -= taken;
		a->input_room += taken;
		ctl_send(&a->ctl, CTL_STDIN_ROOM, &taken, sizeof taken);
	}
	if (!a->input_bytes && a->input_end)
		input_close(a);
}
