/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"

static const char *const kind_names[EMU_FAULT_KINDS] = {"kill", "cut",     "loss",  "corrupt",
							"dup",  "reorder", "delay", "rate"};
static const char *const place_names[EMU_FAULT_PLACES] = {"all",   "task",    "link", "node",
							  "plane", "percent", "host", "hosts"};

struct reader {
	const char *at; /* NULL: a mistake */
	struct emu_faults *f;
	uint32_t tasks, hosts, room;
};

/* ---- parsing ---- */

static double read_number(struct reader *r, double low, double high)
{
	char *end = NULL;
	double value = r->at ? strtod(r->at, &end) : 0;

	if (!r->at || end == r->at || !(value >= low && value <= high))
		r->at = NULL;
	else
		r->at = end;
	return value;
}

static uint32_t read_index(struct reader *r, uint32_t below)
{
	char *end = NULL;
	unsigned long value = r->at ? strtoul(r->at, &end, 10) : 0;

	if (!r->at || end == r->at || *r->at == '-' || value >= below)
		r->at = NULL;
	else
		r->at = end;
	return (uint32_t)value;
}

static void read_char(struct reader *r, char c)
{
	r->at = r->at && *r->at == c ? r->at + 1 : NULL;
}

static void read_times(struct reader *r, struct emu_fault *x)
{
	double us, end_us;

	read_char(r, '@');
	us = read_number(r, 0, EMU_FAULT_US_MAX);
	x->at_ps = (uint64_t)(us * 1e6 + 0.5);
	x->end_ps = UINT64_MAX;
	if (!r->at || *r->at != '-')
		return;
	r->at++;
	end_us = read_number(r, 0, EMU_FAULT_US_MAX);
	x->end_ps = (uint64_t)(end_us * 1e6 + 0.5);
	if (x->end_ps <= x->at_ps)
		r->at = NULL;
}

static void read_place(struct reader *r, struct emu_fault *x)
{
	const struct emu_shape *s = &r->f->shape;
	size_t n = strcspn(r->at, ":@");
	unsigned d;

	for (x->place = 0; x->place < EMU_FAULT_PLACES; x->place++)
		if (x->place != EMU_FAULT_AT_TASK && strlen(place_names[x->place]) == n &&
		    !memcmp(place_names[x->place], r->at, n))
			break;
	r->at = x->place < EMU_FAULT_PLACES ? r->at + n : NULL;
	if (x->place == EMU_FAULT_AT_ALL)
		return;
	read_char(r, ':');
	switch ((enum emu_fault_place)x->place) {
	case EMU_FAULT_AT_LINK:
		x->at = read_index(r, emu_shape_nodes(s));
		read_char(r, ':');
		x->link = (uint8_t)read_index(r, EMU_LINKS);
		return;
	case EMU_FAULT_AT_NODE:
		x->at = read_index(r, emu_shape_nodes(s));
		return;
	case EMU_FAULT_AT_PLANE:
		d = read_index(r, EMU_DIMS);
		read_char(r, ':');
		x->at = r->at ? read_index(r, s->n[d]) : 0;
		x->link = r->at ? (uint8_t)emu_link(d, 1) : 0;
		return;
	case EMU_FAULT_AT_PERCENT:
		x->at = (uint32_t)(read_number(r, 0, 100) * 1000 + 0.5);
		return;
	case EMU_FAULT_AT_HOSTS:
		x->at = read_index(r, r->hosts);
		read_char(r, ':');
		x->other = read_index(r, r->hosts);
		return;
	default:
		x->at = read_index(r, r->hosts);
	}
}

static void read_fault(struct reader *r, struct emu_fault *x)
{
	size_t n = strcspn(r->at, "=");

	for (x->kind = 0; x->kind < EMU_FAULT_KINDS; x->kind++)
		if (strlen(kind_names[x->kind]) == n && !memcmp(kind_names[x->kind], r->at, n))
			break;
	r->at = x->kind < EMU_FAULT_KINDS && r->at[n] ? r->at + n + 1 : NULL;
	if (!r->at)
		return;
	if (x->kind == EMU_FAULT_KILL && *r->at >= '0' && *r->at <= '9') {
		x->place = EMU_FAULT_AT_TASK;
		x->at = read_index(r, r->tasks);
	} else {
		if (x->kind >= EMU_FAULT_LOSS) {
			x->value = x->kind == EMU_FAULT_DELAY  ? read_number(r, 0, 1e7)
				   : x->kind == EMU_FAULT_RATE ? read_number(r, 1e-6, 1e6)
							       : read_number(r, 0, 1);
			read_char(r, ':');
		}
		if (r->at)
			read_place(r, x);
		if (x->kind == EMU_FAULT_KILL && x->place != EMU_FAULT_AT_NODE &&
		    x->place != EMU_FAULT_AT_HOST)
			r->at = NULL;
		if (x->kind == EMU_FAULT_CUT && x->place == EMU_FAULT_AT_ALL)
			r->at = NULL;
	}
	read_times(r, x);
	if (x->kind == EMU_FAULT_KILL && x->end_ps != UINT64_MAX)
		r->at = NULL;
}

static int add_fault(struct reader *r)
{
	struct emu_faults *f = r->f;

	if (f->count == r->room) {
		struct emu_fault *grown = realloc(f->fault, (r->room * 2 + 8) * sizeof *grown);

		if (!grown)
			return -ENOMEM;
		f->fault = grown;
		r->room = r->room * 2 + 8;
	}
	memset(&f->fault[f->count], 0, sizeof *f->fault);
	read_fault(r, &f->fault[f->count++]);
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int sort_times(struct emu_faults *f)
{
	uint32_t n = 0;

	f->time = calloc(2 * (size_t)f->count + 1, sizeof *f->time);
	if (!f->time)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->count; i++) {
		f->time[n++] = f->fault[i].at_ps;
		if (f->fault[i].end_ps != UINT64_MAX)
			f->time[n++] = f->fault[i].end_ps;
	}
	qsort(f->time, n, sizeof *f->time, compare_times);
	for (uint32_t i = 0; i < n; i++)
		if (!f->times || f->time[i] != f->time[f->times - 1])
			f->time[f->times++] = f->time[i];
	return 0;
}

int emu_faults_parse(const char *text, const struct emu_shape *shape, uint32_t tasks,
		     uint32_t hosts, uint64_t seed, struct emu_faults *f, char *err,
		     size_t err_bytes)
{
	struct reader r = {.at = text ? text : "", .f = f, .tasks = tasks, .hosts = hosts};
	int rc = 0;

	*f = (struct emu_faults){.shape = *shape, .seed = seed};
	while (!rc && *r.at) {
		const char *from = r.at;

		if (!strncmp(r.at, "seed=", 5)) {
			char *end;

			f->seed = strtoull(r.at + 5, &end, 10);
			r.at = end > r.at + 5 ? end : NULL;
		} else {
			rc = add_fault(&r);
		}
		if (!rc && (!r.at || (*r.at && *r.at != ','))) {
			snprintf(
			    err, err_bytes,
			    "fault '%.*s': give kill=TASK@MICROSECONDS,... (task below %u), or a "
			    "file with a fault a line (torus-run(1), FAULTS)",
			    (int)strcspn(from, ","), from, tasks);
			rc = -EINVAL;
		} else if (!rc && *r.at) {
			r.at++;
		}
	}
	if (!rc)
		rc = sort_times(f);
	if (rc == -ENOMEM)
		snprintf(err, err_bytes, "no memory for the faults");
	if (rc)
		emu_faults_free(f);
	return rc;
}

void emu_faults_free(struct emu_faults *f)
{
	free(f->fault);
	free(f->time);
	memset(f, 0, sizeof *f);
}

/* ---- questions ---- */

static bool is_on_links(const struct emu_fault *x)
{
	return x->place != EMU_FAULT_AT_TASK && x->place < EMU_FAULT_AT_HOST;
}

bool emu_faults_have(const struct emu_faults *f, unsigned kinds)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (kinds >> f->fault[i].kind & 1 && is_on_links(&f->fault[i]))
			return true;
	return false;
}

uint32_t emu_faults_passed(const struct emu_faults *f, uint64_t ps)
{
	uint32_t n = 0;

	while (n < f->times && f->time[n] <= ps)
		n++;
	return n;
}

/* Is this one of the links that the seed chooses? */
static bool is_chosen(const struct emu_faults *f, uint32_t number, uint32_t node, unsigned link)
{
	struct drv_rng rng;

	drv_rng_seed(&rng, f->seed * 1000003u + number);
	drv_rng_seed(&rng, drv_rng_next(&rng) + (uint64_t)node * EMU_LINKS + link);
	return drv_rng_below(&rng, 100000) < f->fault[number].at;
}

bool emu_fault_hits(const struct emu_faults *f, uint32_t number, uint32_t node, unsigned link)
{
	const struct emu_fault *x = &f->fault[number];
	uint32_t to = emu_node_neighbour(&f->shape, node, link), end = node;
	struct emu_coord c;

	if (to == UINT32_MAX || to == node)
		return false;
	if (!(link & 1)) { /* seen from the lower end */
		end = to;
		to = node;
		link = emu_link_opposite(link);
	}
	switch ((enum emu_fault_place)x->place) {
	case EMU_FAULT_AT_ALL:
		return true;
	case EMU_FAULT_AT_LINK:
		return x->link & 1 ? end == x->at && link == x->link
				   : to == x->at && link == emu_link_opposite(x->link);
	case EMU_FAULT_AT_NODE:
		return end == x->at || to == x->at;
	case EMU_FAULT_AT_PLANE:
		emu_node_coord(&f->shape, end, &c);
		return link == x->link && c.c[emu_link_dim(link)] == x->at;
	case EMU_FAULT_AT_PERCENT:
		return is_chosen(f, number, end, link);
	default:
		return false;
	}
}

void emu_fault_each_link(const struct emu_faults *f, uint32_t number,
			 void (*fn)(void *arg, uint32_t node, unsigned link), void *arg)
{
	uint32_t nodes = emu_shape_nodes(&f->shape);

	for (uint32_t i = 0; i < nodes; i++)
		for (unsigned link = 1; link < EMU_LINKS; link += 2)
			if (emu_fault_hits(f, number, i, link))
				fn(arg, i, link);
}

void emu_faults_of_link(const struct emu_faults *f, uint64_t ps, uint32_t node, unsigned link,
			struct emu_link_fault *out)
{
	double errors = 0, dups = 0, delay_us = 0, ps_per_byte = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		const struct emu_fault *x = &f->fault[i];

		if (x->kind < EMU_FAULT_LOSS || !emu_fault_is_active(x, ps) ||
		    !emu_fault_hits(f, i, node, link))
			continue;
		if (x->kind == EMU_FAULT_DUP)
			dups += x->value;
		else if (x->kind == EMU_FAULT_DELAY)
			delay_us += x->value;
		else if (x->kind == EMU_FAULT_RATE)
			ps_per_byte = 1000 / x->value > ps_per_byte ? 1000 / x->value : ps_per_byte;
		else
			errors += x->value;
	}
	*out = (struct emu_link_fault){
	    .errors = (uint32_t)((errors > 0.9 ? 0.9 : errors) * 1e6),
	    .dups = (uint32_t)((dups > 1 ? 1 : dups) * 1e6),
	    .delay_ps = (uint64_t)(delay_us * 1e6),
	    .ps_per_byte = ps_per_byte > 4e9 ? 4000000000u : (uint32_t)(ps_per_byte + 0.5),
	};
}
