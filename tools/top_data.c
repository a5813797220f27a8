/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a job's files as objects, with rates. */
#include "tools/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/lane.h"
#include "drivers/base/module.h"
#include "drivers/base/ring.h"
#include "mu/segment/host.h"
#include "tools/stack.h"

/* A value, and its change per second. */
struct moving {
	uint64_t value;
	double rate;
};

static struct moving moving_of(const struct top *t, uint32_t host, uint32_t row)
{
	uint64_t value = t->job.host[host].value[row], before = t->before[host][row];
	double seconds = (double)(t->at_ns - t->before_ns) / 1e9;

	return (struct moving){
	    value, seconds > 0 && value >= before ? (double)(value - before) / seconds : 0};
}

static bool is_named(const char *name, const char *prefix, const char *rest)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && !strcmp(name + n, rest);
}

static struct top_task *task_of(struct top *t, uint32_t number)
{
	struct top_task *more;

	/* Rows of a task follow each other, also those of its channels, commthreads and
	 * collectives, which come in the same order. */
	for (uint32_t i = 0; i < t->tasks; i++, t->task_at++) {
		if (t->task_at >= t->tasks)
			t->task_at = 0;
		if (t->task[t->task_at].task == number)
			return &t->task[t->task_at];
	}
	if (!(t->tasks & (t->tasks - 1))) {
		more = realloc(t->task, (t->tasks ? 2 * t->tasks : 1) * sizeof *more);
		if (!more)
			return NULL;
		t->task = more;
	}
	memset(&t->task[t->tasks], 0, sizeof *t->task);
	t->task[t->tasks].task = number;
	t->task[t->tasks].waits_for = UINT32_MAX;
	return &t->task[t->tasks++];
}

static void take_task(struct top *t, const char *name, uint32_t number, struct moving m)
{
	struct top_task *k = number == UINT32_MAX ? NULL : task_of(t, number);

	if (!k)
		return;
	if (is_named(name, "task_", "state"))
		k->state = (uint32_t)m.value;
	else if (is_named(name, "task_", "waited_ns"))
		k->waits = m.rate / 1e9 > 1 ? 1 : m.rate / 1e9;
	else if (is_named(name, "task_", "arena_bytes"))
		k->arena_bytes = m.value;
	else if (is_named(name, "task_", "pid"))
		k->pid = (uint32_t)m.value;
	else if (is_named(name, "task_", "waits"))
		k->what = (unsigned)m.value;
	else if (is_named(name, "task_", "waits_for"))
		k->waits_for = (uint32_t)m.value - 1;
	else if (is_named(name, "collective_", "started"))
		k->collectives += m.value;
	else if (is_named(name, "collective_", "done"))
		k->collectives_done = m.value;
	else if (is_named(name, "commthread_", "passes"))
		k->comm_passes += m.rate;
	else if (is_named(name, "commthread_", "busy"))
		k->comm_busy += m.rate; /* divided by the passes at the end */
	else if (is_named(name, "commthread_", "events"))
		k->comm_events += m.value;
	else if (is_named(name, "commthread_", "sleeps"))
		k->comm_sleeps += m.value;
	else if (is_named(name, "channel_", "injected"))
		k->injected += m.value;
	else if (is_named(name, "channel_", "injecting"))
		k->injecting += m.value;
	else if (is_named(name, "channel_", "ring_lines")) {
		k->received += m.value * DRV_RING_LINE;
		k->receives += m.rate * DRV_RING_LINE;
	} else if (is_named(name, "channel_", "lane_units")) {
		k->received += m.value * DRV_LANE_UNIT;
		k->receives += m.rate * DRV_LANE_UNIT;
	}
}

static void take_link(struct top *t, const char *name, const struct drv_stat_row *row,
		      struct moving m)
{
	uint32_t node = runs_number(row, "node"), link;
	struct emu_link_stat *sum, *rate;
	char text[8];

	drv_stat_label(row, "link", text, sizeof text);
	if (node >= t->nodes || text[0] < 'A' || text[0] > 'E')
		return;
	link = emu_link((unsigned)(text[0] - 'A'), text[1] == '+');
	sum = &t->link[node * EMU_LINKS + link];
	rate = &t->rate[node * EMU_LINKS + link];
	t->has_links = true;
	/* On fabric express several hosts know parts of the traffic of a link. */
	if (is_named(name, "link_", "packets")) {
		sum->packets += m.value;
		rate->packets += (uint64_t)(m.rate + 0.5);
	} else if (is_named(name, "link_", "bytes")) {
		sum->bytes += m.value;
		rate->bytes += (uint64_t)(m.rate + 0.5);
	} else if (is_named(name, "link_", "stalls")) {
		sum->stalls += m.value;
		rate->stalls += (uint64_t)(m.rate + 0.5);
	} else if (m.value > sum->queued_max) {
		sum->queued_max = m.value;
	}
}

static void take_virtual_channel(struct top *t, const struct drv_stat_row *row, struct moving m)
{
	char text[24];

	drv_stat_label(row, "vc", text, sizeof text);
	for (unsigned on = 0; on < EMU_ON_COUNT; on++)
		if (!strcmp(text, emu_on_name(on))) {
			t->channels.on[on] += m.value;
			t->channel_rates.on[on] += (uint64_t)(m.rate + 0.5);
		}
}

static struct top_wire *wire_of(struct top *t, uint32_t host, uint32_t peer)
{
	struct top_wire *more;

	for (uint32_t i = t->wires; i-- > 0;)
		if (t->wire[i].host == host && t->wire[i].peer == peer)
			return &t->wire[i];
	more = realloc(t->wire, (t->wires + 1) * sizeof *more);
	if (!more)
		return NULL;
	t->wire = more;
	memset(&more[t->wires], 0, sizeof *more);
	more[t->wires].host = host;
	more[t->wires].peer = peer;
	return &more[t->wires++];
}

static void take_wire(struct top *t, const char *name, const struct drv_stat_row *row,
		      struct moving m)
{
	const struct {
		const char *name;
		size_t at;
	} plain[] = {
	    {"tx_frames", offsetof(struct top_wire, tx_frames)},
	    {"rx_frames", offsetof(struct top_wire, rx_frames)},
	    {"tx_bytes", offsetof(struct top_wire, tx_bytes)},
	    {"rx_bytes", offsetof(struct top_wire, rx_bytes)},
	    {"resent", offsetof(struct top_wire, resent)},
	    {"duplicates", offsetof(struct top_wire, duplicates)},
	    {"out_of_order", offsetof(struct top_wire, out_of_order)},
	    {"bad_frames", offsetof(struct top_wire, bad)},
	    {"rtt_ns", offsetof(struct top_wire, rtt_ns)},
	    {"window", offsetof(struct top_wire, window)},
	};
	struct top_wire *w = wire_of(t, runs_number(row, "host"), runs_number(row, "peer"));

	if (!w)
		return;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (is_named(name, "wire_", plain[i].name))
			memcpy((char *)w + plain[i].at, &m.value, sizeof m.value);
	if (is_named(name, "wire_", "tx_bytes"))
		w->tx_rate = m.rate;
	else if (is_named(name, "wire_", "rx_bytes"))
		w->rx_rate = m.rate;
	else if (is_named(name, "wire_", "tx_frames"))
		w->loss = m.rate; /* the row of frames sent again comes later */
	else if (is_named(name, "wire_", "resent"))
		w->loss = w->loss > 0 ? m.rate / w->loss : 0;
	else if (is_named(name, "wire_", "connected"))
		w->connected = m.value != 0;
}

/* Collectives by active messages end at others than those that started them. */
static bool is_active_message(const char *name, const struct drv_stat_row *row)
{
	char type[20];

	return !strcmp(name, "collective_started") &&
	       !strncmp(drv_stat_label(row, "type", type, sizeof type), "am", 2);
}

static void free_calls(struct top *t)
{
	for (uint32_t i = 0; i < t->calls; i++)
		free(t->call[i].text);
	free(t->call);
	t->call = NULL;
	t->calls = 0;
}

int top_read_calls(struct top *t, char *why, size_t why_bytes)
{
	stack_describe_fn describe;
	char text[600];

	free_calls(t);
	if (!runs_is_live(&t->job)) {
		snprintf(why, why_bytes, "the job does not run any more");
		return -ESRCH;
	}
	unsetenv("DEBUGINFOD_URLS"); /* libdw would ask the network for symbols */
	*(void **)&describe =
	    drv_module_symbol(STACK_MODULE, TOOLS_BUILD_MODULES, STACK_SYMBOL, why, why_bytes);
	t->call = describe ? calloc(t->tasks + 1, sizeof *t->call) : NULL;
	if (!t->call)
		return describe ? -ENOMEM : -ENOENT;
	for (uint32_t i = 0; i < t->tasks; i++) {
		if (t->task[i].state != MU_TASK_ATTACHED || !t->task[i].pid)
			continue;
		describe((pid_t)t->task[i].pid, text, sizeof text);
		t->call[t->calls].task = t->task[i].task;
		t->call[t->calls].text = strdup(text);
		t->calls += t->call[t->calls].text != NULL;
	}
	return 0;
}

static void compute_rates(struct top *t)
{
	t->tasks = t->wires = t->task_at = 0;
	memset(t->link, 0, (size_t)t->nodes * EMU_LINKS * sizeof *t->link);
	memset(t->rate, 0, (size_t)t->nodes * EMU_LINKS * sizeof *t->rate);
	memset(&t->channels, 0, sizeof t->channels);
	memset(&t->channel_rates, 0, sizeof t->channel_rates);
	t->at_ns = runs_sampled_ns(&t->job);
	for (uint32_t h = 0; h < t->job.hosts; h++) {
		const struct drv_stat_view *v = &t->job.host[h];

		for (uint32_t i = 0; i < v->head.rows; i++) {
			const struct drv_stat_row *row = &v->row[i];
			const char *name = v->family[row->family].name;
			struct moving m = moving_of(t, h, i);

			if (!strncmp(name, "link_", 5))
				take_link(t, name, row, m);
			else if (!strncmp(name, "vc_", 3))
				take_virtual_channel(t, row, m);
			else if (!strncmp(name, "wire_", 5))
				take_wire(t, name, row, m);
			else if (!strncmp(name, "port_", 5) || is_active_message(name, row))
				continue;
			else
				take_task(t, name, runs_number(row, "task"), m);
		}
	}
	for (uint32_t i = 0; i < t->tasks; i++)
		t->task[i].comm_busy /= t->task[i].comm_passes > 0 ? t->task[i].comm_passes : 1;
}

int top_open(struct top *t, const char *which, char *why, size_t why_bytes)
{
	int rc;

	memset(t, 0, sizeof *t);
	rc = runs_open(&t->job, which, why, why_bytes);
	if (rc)
		return rc;
	runs_shape(&t->job, &t->shape);
	t->nodes = emu_shape_nodes(&t->shape);
	t->link = calloc((size_t)t->nodes * EMU_LINKS, sizeof *t->link);
	t->rate = calloc((size_t)t->nodes * EMU_LINKS, sizeof *t->rate);
	t->before = calloc(t->job.hosts, sizeof *t->before);
	rc = t->link && t->rate && t->before ? 0 : -ENOMEM;
	for (uint32_t h = 0; !rc && h < t->job.hosts; h++) {
		t->before[h] = calloc(t->job.host[h].head.rows + 1, sizeof(uint64_t));
		rc = t->before[h] ? 0 : -ENOMEM;
	}
	if (rc) {
		snprintf(why, why_bytes, "out of memory");
		top_close(t);
		return rc;
	}
	t->before_ns = t->job.host[0].head.started_ns;
	compute_rates(t);
	return 0;
}

int top_refresh(struct top *t)
{
	uint64_t at = t->at_ns, *values;
	int rc;

	for (uint32_t h = 0; h < t->job.hosts; h++) { /* keep the values of the last time */
		values = t->before[h];
		memcpy(values, t->job.host[h].value, t->job.host[h].head.rows * sizeof *values);
	}
	rc = runs_refresh(&t->job);
	if (rc)
		return rc;
	t->before_ns = at;
	compute_rates(t);
	return 0;
}

void top_close(struct top *t)
{
	for (uint32_t h = 0; t->before && h < t->job.hosts; h++)
		free(t->before[h]);
	free(t->before);
	free_calls(t);
	free(t->link);
	free(t->rate);
	free(t->task);
	free(t->wire);
	runs_close(&t->job);
	memset(t, 0, sizeof *t);
}
