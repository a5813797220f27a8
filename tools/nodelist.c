/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/nodelist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/text.h"
#include "mu/segment/host.h"

#define NAME_BYTES 128

struct expansion {
	unsigned count, max;
	void (*fn)(void *arg, const char *name);
	void *arg;
};

/* Expand the first bracket of a name, then the names that result. */
static int expand_name(struct expansion *x, const char *name)
{
	const char *open = strchr(name, '['), *at, *close = open ? strchr(open, ']') : NULL;
	char one[NAME_BYTES], *end;

	if (!open) {
		if (!*name || strchr(name, ']'))
			return -EINVAL;
		if (x->count++ == x->max)
			return -E2BIG;
		x->fn(x->arg, name);
		return 0;
	}
	if (!close || memchr(open + 1, '[', (size_t)(close - open - 1)))
		return -EINVAL;
	for (at = open + 1;; at = end + 1) {
		int digits = (int)strspn(at, "0123456789");
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (digits && *end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (!digits || digits > 9 || last < first || (end != close && *end != ','))
			return -EINVAL;
		for (unsigned long i = first; i <= last; i++) {
			int rc;

			if (snprintf(one, sizeof one, "%.*s%0*lu%s", (int)(open - name), name,
				     digits, i, close + 1) >= (int)sizeof one)
				return -EINVAL;
			rc = expand_name(x, one);
			if (rc)
				return rc;
		}
		if (end == close)
			return 0;
	}
}

int nodelist_each(const char *text, unsigned max, void (*fn)(void *arg, const char *name),
		  void *arg)
{
	struct expansion x = {.max = max, .fn = fn, .arg = arg};
	char name[4096];

	while (*text) {
		size_t n = 0;
		bool inside = false;
		int rc;

		for (; text[n] && (inside || text[n] != ','); n++)
			inside = text[n] == '[' || (inside && text[n] != ']');
		if (n >= sizeof name)
			return -EINVAL;
		memcpy(name, text, n);
		name[n] = '\0';
		rc = expand_name(&x, name);
		if (rc)
			return rc;
		text += n + (text[n] == ',');
	}
	return (int)x.count;
}

static void print_slurm(void *arg, const char *name)
{
	FILE *f = arg;

	fprintf(f, "%sslurm:%s", ftell(f) ? ";" : "", name);
}

char *nodelist_of_slurm(void)
{
	const char *list = getenv("SLURM_JOB_NODELIST");
	char *text = NULL;
	size_t bytes;
	FILE *f = list ? open_memstream(&text, &bytes) : NULL;
	int n;

	if (!f)
		return NULL;
	n = nodelist_each(list, MU_HOSTS_MAX, print_slurm, f);
	fclose(f);
	if (n > 1)
		return text;
	free(text);
	return NULL;
}

char *nodelist_of_file(const char *path, char *err, size_t err_bytes)
{
	char *text = NULL, *line = NULL, *all;
	FILE *f = drv_text_open(path, &all), *to;
	size_t bytes = 0, room = 0;
	unsigned hosts = 0;

	if (!f) {
		snprintf(err, err_bytes, "--hostfile %s: %s", path, strerror(errno));
		return NULL;
	}
	to = open_memstream(&text, &bytes);
	while (to && getline(&line, &room, f) > 0) {
		char *host = line + strspn(line, " \t"), *port;

		host[strcspn(host, "#\n")] = '\0';
		host[strcspn(host, " \t\r")] = '\0'; /* what other launchers write behind it */
		if (!*host)
			continue;
		port = strchr(host, '=');
		fprintf(to, "%s%s%s", hosts++ ? ";" : "",
			strcspn(host, ":=") >= (size_t)(port ? port - host : (long)strlen(host)) &&
				strncmp(host, "local", 5)
			    ? "ssh:"
			    : "",
			host);
	}
	if (to)
		fclose(to);
	free(line);
	fclose(f);
	free(all);
	if (hosts)
		return text;
	snprintf(err, err_bytes, "--hostfile %s: it names no host; write one a line", path);
	free(text);
	return NULL;
}
