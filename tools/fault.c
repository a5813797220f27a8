/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/settings.h"
#include "drivers/base/text.h"
#include "tools/draw.h"

#define WORDS_MAX 12

static const char how_place[] =
    "name the place: link NODE A+, link NODE NODE (neighbours), node NODE, plane A 2, percent 3, "
    "host N or hosts N N, where NODE is a number or A,B,C,D,E of the shape";

struct reader {
	const struct fault_job *job;
	struct fault *f;
	char *word[WORDS_MAX + 1];
	unsigned at, words;
	const char *why; /* what is wrong with the line; NULL: nothing */
	char near[200];  /* room for it */
	bool full, timed;
	char times[64];
};

static void add_token(struct reader *r, const char *kind, const char *rest, bool has_times)
{
	char *script = r->f->script;
	size_t n = strlen(script);

	r->full |=
	    (size_t)snprintf(script + n, FAULT_SCRIPT_BYTES - n, "%s%s=%s%s", n ? "," : "", kind,
			     rest, has_times ? r->times : "") >= FAULT_SCRIPT_BYTES - n;
}

static const char *next_word(struct reader *r)
{
	return r->at < r->words ? r->word[r->at++] : "";
}

static bool read_number(const char *text, double low, double high, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && *value >= low && *value <= high;
}

/* A time in microseconds. */
static bool read_time(const char *text, double *us)
{
	static const struct {
		const char *name;
		double us;
	} unit[] = {{"", 1}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}};
	char *end;

	*us = strtod(text, &end);
	for (unsigned i = 0; end != text && i < 4; i++)
		if (!strcmp(end, unit[i].name)) {
			*us *= unit[i].us;
			return *us >= 0 && *us <= 1e9;
		}
	return false;
}

static bool read_node(struct reader *r, uint32_t *node)
{
	return !draw_parse_node(r->job->shape, next_word(r), node);
}

/* "A+", or the neighbour at the other end. */
static bool read_link(struct reader *r, uint32_t node, unsigned *link)
{
	const char *text = next_word(r);
	uint32_t to;

	if (text[0] >= 'A' && text[0] <= 'E' && (text[1] == '+' || text[1] == '-') && !text[2]) {
		*link = emu_link((unsigned)(text[0] - 'A'), text[1] == '+');
		to = emu_node_neighbour(r->job->shape, node, *link);
		return to != UINT32_MAX && to != node;
	}
	if (draw_parse_node(r->job->shape, text, &to) || to == node)
		return false;
	/* Of a pair of links between two nodes, the plus link. */
	for (unsigned l = 0; l < 10; l++) {
		*link = l ^ 1;
		if (emu_node_neighbour(r->job->shape, node, *link) == to)
			return true;
	}
	return false;
}

/* Check that the job has such places. */
static bool has_places(struct reader *r, bool wires)
{
	if (wires ? r->job->hosts > 1 && !r->job->is_virtual : r->job->has_links)
		return true;
	r->why = wires ? "this job has no wires between hosts; give --hosts with two or more, in "
			 "real time, or name links and nodes"
		       : "this job has no links; give --fabric torus";
	return false;
}

/* Returns whether the words from here to the end are a place; its text goes to `to`. */
static bool read_place(struct reader *r, char *to, size_t bytes)
{
	const char *kind = next_word(r);
	uint32_t node, hosts = r->job->hosts;
	unsigned link;
	double a, b;

	r->why = how_place;
	if (!strcmp(kind, "link")) {
		if (!read_node(r, &node) || !read_link(r, node, &link))
			return false;
		snprintf(to, bytes, "link:%u:%u", node, link);
	} else if (!strcmp(kind, "node")) {
		if (!read_node(r, &node))
			return false;
		snprintf(to, bytes, "node:%u", node);
	} else if (!strcmp(kind, "plane")) {
		const char *dim = next_word(r);

		if (dim[0] < 'A' || dim[0] > 'E' || dim[1] ||
		    !read_number(next_word(r), 0, r->job->shape->n[dim[0] - 'A'] - 1, &a) ||
		    a != (uint32_t)a)
			return false;
		snprintf(to, bytes, "plane:%d:%u", dim[0] - 'A', (unsigned)a);
	} else if (!strcmp(kind, "percent")) {
		if (!read_number(next_word(r), 0, 100, &a))
			return false;
		snprintf(to, bytes, "percent:%g", a);
	} else if (!strcmp(kind, "host") || !strcmp(kind, "hosts")) {
		if (!has_places(r, true))
			return false;
		if (!read_number(next_word(r), 0, hosts - 1, &a) || a != (uint32_t)a)
			return false;
		snprintf(to, bytes, "host:%u", (unsigned)a);
		if (kind[4]) {
			if (!read_number(next_word(r), 0, hosts - 1, &b) || b != (uint32_t)b ||
			    a == b)
				return false;
			snprintf(to, bytes, "hosts:%u:%u", (unsigned)a, (unsigned)b);
		}
		r->f->on_wires = true;
	} else {
		return false;
	}
	if (r->at < r->words)
		return false;
	r->why = NULL;
	return kind[0] == 'h' || has_places(r, false);
}

static void take_cut(struct reader *r)
{
	char place[64];

	if (!read_place(r, place, sizeof place))
		return;
	if (r->timed && place[0] != 'h' && !r->job->is_virtual && r->job->hosts > 1)
		r->why =
		    "cuts of links with times need one host in real time, since nobody knows "
		    "when packets of another host have arrived; leave out the times, or --hosts";
	else
		add_token(r, "cut", place, true);
}

static void take_kill(struct reader *r)
{
	uint32_t tasks = emu_shape_nodes(r->job->shape) * r->job->shape->t, node;
	const char *what = next_word(r);
	char text[64];
	double number;

	r->why = "write at TIME kill task N, node NODE or host N, without \"until\"";
	if (strchr(r->times, '-'))
		return;
	if (!strcmp(what, "task") && read_number(next_word(r), 0, tasks - 1, &number))
		snprintf(text, sizeof text, "%u", (unsigned)number);
	else if (!strcmp(what, "node") && read_node(r, &node))
		snprintf(text, sizeof text, "node:%u", node);
	else if (!strcmp(what, "host") && read_number(next_word(r), 0, r->job->hosts - 1, &number))
		snprintf(text, sizeof text, "host:%u", (unsigned)number);
	else
		return;
	if (r->at < r->words)
		return;
	r->why = NULL;
	if (!strcmp(what, "host") && r->job->is_virtual)
		r->why = "in virtual time there is one host; kill its nodes or tasks";
	else
		add_token(r, "kill", text, true);
}

/*
 * Read a fault with a number: loss, corrupt, dup, reorder, delay, rate. Returns whether it is one
 * of these.
 */
static bool take_share(struct reader *r, const char *name)
{
	static const char *const share[] = {"loss", "corrupt", "dup",     "reorder",
					    "rate", "delay",   "delay_us"};
	char place[64] = "all", rest[128];
	const char *word;
	unsigned k = 0;
	double value;
	bool good;

	while (k < 7 && strcmp(name, share[k]))
		k++;
	if (k == 7)
		return false;
	word = next_word(r);
	good = k < 4    ? read_number(word, 0, 1, &value)
	       : k == 4 ? read_number(word, 1e-6, 1e6, &value)
			: read_time(word, &value) && value <= 1e7;
	if (!good) {
		r->why = k < 4    ? "write a share of packets from 0 to 1 after it"
			 : k == 4 ? "write a rate in GB/s after it, 0.000001 to 1000000"
				  : "write a time after it, at most 10s";
		return true;
	}
	if (r->at < r->words && strcmp(next_word(r), "on")) {
		r->why = "write \"on\" and a place after it, or nothing";
		return true;
	}
	if (r->at < r->words) {
		if (!read_place(r, place, sizeof place))
			return true;
	} else if (!strcmp(r->word[r->words - 1], "on")) {
		r->why = how_place;
		return true;
	} else if (r->job->hosts > 1 && !r->job->is_virtual) {
		r->f->on_wires = true;
	} else if (!r->job->has_links) {
		r->why = "this job has no links and no wires between hosts; give --fabric torus, "
			 "or --hosts with two or more";
		return true;
	}
	snprintf(rest, sizeof rest, "%.9g:%s", value, place);
	add_token(r, k < 6 ? share[k] : "delay", rest, true);
	return true;
}

/* The fault whose name is most similar to `word`, or NULL if none is. */
static const char *nearest_name(const char *word)
{
	static const char *const all[] = {"cut",     "kill",  "loss", "corrupt", "dup",
					  "reorder", "delay", "rate", "seed"};
	const char *nearest = NULL;
	unsigned least = 3; /* a word with more than two differences is not a misspelling */

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (drv_is_nearer(word, all[i], &least))
			nearest = all[i];
	return nearest;
}

static void take_words(struct reader *r)
{
	double at = 0, until = -1, seed;
	const char *name;

	r->at = 0;
	r->timed = false;
	for (;;) {
		bool is_at;

		name = next_word(r);
		is_at = !strcmp(name, "at");
		if (!is_at && strcmp(name, "until"))
			break;
		if (!read_time(next_word(r), is_at ? &at : &until)) {
			r->why =
			    "write a time after \"at\" and \"until\": microseconds, or 3us, 5ms, "
			    "2s; at most 1000s";
			return;
		}
		r->timed = true;
	}
	if (until >= 0 && until <= at) {
		r->why = "\"until\" must be later than \"at\"";
		return;
	}
	if (until >= 0)
		snprintf(r->times, sizeof r->times, "@%.6f-%.6f", at, until);
	else
		snprintf(r->times, sizeof r->times, "@%.6f", at);
	if (!strcmp(name, "cut")) {
		take_cut(r);
	} else if (!strcmp(name, "kill")) {
		take_kill(r);
	} else if (!strcmp(name, "seed")) {
		const char *word = next_word(r);

		if (r->timed || r->at < r->words || !read_number(word, 0, 1e15, &seed) ||
		    strspn(word, "0123456789") != strlen(word))
			r->why = "write seed N, a whole number without times";
		else {
			add_token(r, "seed", word, false);
			r->f->seed = (uint64_t)seed;
		}
	} else if (!take_share(r, name)) {
		const char *like = nearest_name(name);

		snprintf(r->near, sizeof r->near,
			 "no such fault '%.40s'%s%s%s; there are cut, kill, loss, corrupt, dup, "
			 "reorder, delay, rate and seed",
			 name, like ? ", did you mean '" : "", like ? like : "", like ? "'?" : "");
		r->why = r->near;
	}
}

int fault_read(const char *path, const struct fault_job *job, struct fault *f, char *err,
	       size_t err_bytes)
{
	struct reader r = {.job = job, .f = f};
	char *line = NULL, *save, *text;
	FILE *file = drv_text_open(path, &text);
	size_t room = 0;
	unsigned number = 0;

	memset(f, 0, sizeof *f);
	if (!file) {
		snprintf(err, err_bytes,
			 "--fault %s: cannot read that file: %s; give a fault file, or for example "
			 "loss=0.1,reorder=0.05",
			 path, strerror(errno));
		return -EINVAL;
	}
	while (!r.why && !r.full && getline(&line, &room, file) >= 0) {
		number++;
		line[strcspn(line, "#\n")] = 0;
		r.words = 0;
		for (char *w = strtok_r(line, " \t\r", &save); w && r.words < WORDS_MAX;
		     w = strtok_r(NULL, " \t\r", &save))
			r.word[r.words++] = w;
		if (r.words)
			take_words(&r);
	}
	if (r.why)
		snprintf(err, err_bytes, "--fault %s: line %u: %s", path, number, r.why);
	else if (r.full)
		snprintf(
		    err, err_bytes,
		    "--fault %s: line %u: too many faults; all together may have %d characters",
		    path, number, FAULT_SCRIPT_BYTES);
	fclose(file);
	free(text);
	free(line);
	return r.why || r.full ? -EINVAL : 0;
}
