/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the agents in which call each task is, collects the answers, and prints a table. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "tools/job.h"

#define MS        1000000ull
#define LINES_MAX 24
#define WORDS_MAX 2048u /* of one task */

static void free_calls(struct job *j)
{
	for (uint32_t i = 0; j->calls.words && i < j->plan->tasks; i++)
		free(j->calls.words[i]);
	free(j->calls.words);
	j->calls.words = NULL;
}

bool job_calls_ask(struct job *j, uint32_t limit_ms, void (*then)(struct job *j))
{
	if (j->calls.then)
		return false;
	free_calls(j);
	j->calls.words = calloc(j->plan->tasks, sizeof *j->calls.words);
	j->calls.then = then;
	j->calls.until_ns = drv_clock_ns() + limit_ms * MS;
	for (uint32_t i = 0; i < j->plan->hosts; i++) {
		struct job_agent *a = &j->agent[i];

		/* An agent that has not started its tasks would answer too late. */
		a->answers = !a->lost && !a->done && a->has_started;
		if (a->answers)
			ctl_send(&a->ctl, CTL_CALLS, NULL, 0);
	}
	return true;
}

void job_calls_take(struct job *j, uint32_t host, struct ctl_msg *m)
{
	if (!j->agent[host].answers)
		return;
	j->agent[host].answers = false;
	while (j->calls.words && m->at < m->bytes) {
		uint32_t task = ctl_get_u32(m);
		const char *words = ctl_get_text(m);

		if (m->bad || task >= j->plan->tasks || j->plan->task_host[task] != host ||
		    j->calls.words[task] || strlen(words) > WORDS_MAX)
			return;
		j->calls.words[task] = strdup(words);
	}
}

int job_calls_check(struct job *j, uint64_t now)
{
	void (*then)(struct job * j) = j->calls.then;
	bool waits = false;

	if (!then)
		return -1;
	for (uint32_t i = 0; i < j->plan->hosts; i++)
		waits |= j->agent[i].answers && !j->agent[i].lost && !j->agent[i].done;
	if (waits && now < j->calls.until_ns && j->running)
		return (int)((j->calls.until_ns - now) / MS) + 1;
	j->calls.then = NULL;
	then(j);
	return 0;
}

/* "tasks 0, 3-5": those with the words of task `first`, whose words are freed. */
static void print_same(FILE *f, struct job *j, uint32_t first)
{
	char *words = j->calls.words[first];
	uint32_t count = 0;

	for (uint32_t i = first; i < j->plan->tasks; i++)
		count += j->calls.words[i] && !strcmp(j->calls.words[i], words);
	fprintf(f, "  task%s", count > 1 ? "s" : "");
	for (uint32_t i = first, parts = 0; i < j->plan->tasks; i++) {
		uint32_t end = i;

		if (!j->calls.words[i] || strcmp(j->calls.words[i], words))
			continue;
		while (end + 1 < j->plan->tasks && j->calls.words[end + 1] &&
		       !strcmp(j->calls.words[end + 1], words))
			end++;
		if (parts < 16)
			fprintf(f, "%s %u", parts ? "," : "", i);
		if (parts++ < 16 && end > i)
			fprintf(f, "-%u", end);
		for (uint32_t k = i; k <= end; k++) {
			if (k != first)
				free(j->calls.words[k]);
			j->calls.words[k] = NULL;
		}
		i = end;
		if (parts == 16)
			fprintf(f, ", ...");
	}
	fprintf(f, ": %s\n", words);
	free(words);
}

void job_calls_print(struct job *j)
{
	unsigned lines = 0;
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	for (uint32_t i = 0; f && j->calls.words && i < j->plan->tasks; i++) {
		if (!j->calls.words[i])
			continue;
		if (lines++ == LINES_MAX) {
			fprintf(f, "  and others elsewhere\n");
			break;
		}
		print_same(f, j, i);
	}
	if (f)
		fclose(f);
	if (bytes)
		fwrite(text, 1, bytes, stderr); /* one write: stderr has no buffer */
	free(text);
	free_calls(j);
}

bool job_calls_known(const struct job *j)
{
	for (uint32_t i = 0; j->calls.words && i < j->plan->tasks; i++)
		if (j->calls.words[i])
			return true;
	return false;
}

void job_calls_free(struct job *j)
{
	free_calls(j);
}
