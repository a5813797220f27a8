/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of counters of this host. Rows are made once, from the plan; a sample copies the words
 * that tasks, routers, simulator and wires keep anyway. Memory that no task has touched is not
 * read: reading it would allocate it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/base/stat.h"
#include "pami/coll/counts.h"
#include "tools/agent.h"
#include "tools/runs.h"
#include "tools/waits.h"

#define MS            1000000ull
#define CHANNELS_SEEN 4u /* of a task that get rows */

/*
 * Families: name, unit, kind, help, and the value of a row, from the variables of the function that
 * samples the object. The rows of an object follow each other in this order.
 */
#define TASK_FAMILIES(X)                                                                           \
	X("task_state", "", DRV_STAT_GAUGE, "0 has not joined the job, 1 joined, 2 has left.",     \
	  state)                                                                                   \
	X("task_waited_ns", "ns", DRV_STAT_COUNTER,                                                \
	  "Time that the first thread of the task has polled in vain or slept in a call. Real "    \
	  "clock.",                                                                                \
	  waited)                                                                                  \
	X("task_stretches", "waits", DRV_STAT_COUNTER,                                             \
	  "Stretches of empty polls that began after a poll which found something.",               \
	  atomic_load_relaxed(&area->found))                                                       \
	X("task_arena_bytes", "bytes", DRV_STAT_GAUGE, "Shared memory that the task has taken.",   \
	  atomic_load_relaxed(&area->arena_used))                                                  \
	X("task_pid", "", DRV_STAT_GAUGE, "Its process.", atomic_load_relaxed(&area->pid))         \
	X("task_waits", "", DRV_STAT_GAUGE,                                                        \
	  "What it waits for, after a millisecond in the real clock: 0 not known, 1 a message, "   \
	  "2 get, 3 put, 4 atomic, 5 its message's receiver, 6 a message's rest, 7 room, "         \
	  "16 + type of collective.",                                                              \
	  waits ? atomic_load_relaxed(&area->waits) : 0)                                           \
	X("task_waits_for", "", DRV_STAT_GAUGE,                                                    \
	  "1 + the task that must act before it goes on; 0: none, or not known.",                  \
	  waits ? atomic_load_relaxed(&area->waits_for) : 0)                                       \
	X("collective_done", "operations", DRV_STAT_COUNTER,                                       \
	  "Collectives of the task that are over, active messages not counted.",                   \
	  counts[PAMI_COLL_COUNT_DONE])
#define COMM_FAMILIES(X)                                                                           \
	X("commthread_passes", "passes", DRV_STAT_COUNTER,                                         \
	  "Times that the commthread looked at its channels. In virtual time: calls for one "      \
	  "channel.",                                                                              \
	  atomic_load_relaxed(&c->passes))                                                         \
	X("commthread_busy", "passes", DRV_STAT_COUNTER, "Passes that found something to do.",     \
	  atomic_load_relaxed(&c->busy))                                                           \
	X("commthread_events", "events", DRV_STAT_COUNTER, "Events that they found.",              \
	  atomic_load_relaxed(&c->events))                                                         \
	X("commthread_aside", "times", DRV_STAT_COUNTER,                                           \
	  "Times that it left a channel to a thread of the program that polls it.",                \
	  atomic_load_relaxed(&c->aside))                                                          \
	X("commthread_sleeps", "sleeps", DRV_STAT_COUNTER, "Times that it slept.",                 \
	  atomic_load_relaxed(&c->sleeps))
#define COLLECTIVE_FAMILIES(X)                                                                     \
	X("collective_started", "operations", DRV_STAT_COUNTER,                                    \
	  "Collectives that the task has started, by type.")
#define CHANNEL_FAMILIES(X)                                                                        \
	X("channel_ring_lines", "lines", DRV_STAT_COUNTER,                                         \
	  "Lines of 64 bytes that records took in the channel's reception ring.",                  \
	  atomic_load_relaxed(&ch->ring.tail))                                                     \
	X("channel_lane_units", "units", DRV_STAT_COUNTER,                                         \
	  "Units that short messages took in the channel's lanes.", mu_host_lane_units(ch))        \
	X("channel_injected", "descriptors", DRV_STAT_COUNTER,                                     \
	  "Descriptors of the injection FIFO that the engine has done.", ch->inj_hw.descCount)     \
	X("channel_injecting", "bytes", DRV_STAT_GAUGE,                                            \
	  "Bytes of descriptors that stand in the injection FIFO.",                                \
	  (ch->inj.pa_tail - ch->inj.pa_head + ch->inj.size_1 + 1) % (ch->inj.size_1 + 1))         \
	X("channel_fetched", "descriptors", DRV_STAT_COUNTER,                                      \
	  "Descriptors of the remote-get FIFO that the engine has done.", ch->rget_hw.descCount)
#define LINK_FAMILIES(X)                                                                           \
	X("link_packets", "packets", DRV_STAT_COUNTER,                                             \
	  "Packets that left a node by a link; fabric express: those that would have.",            \
	  stat->packets)                                                                           \
	X("link_bytes", "bytes", DRV_STAT_COUNTER,                                                 \
	  "The same in bytes, headers and trailers "                                               \
	  "included.",                                                                             \
	  stat->bytes)                                                                             \
	X("link_stalls", "steps", DRV_STAT_COUNTER,                                                \
	  "Steps of the router in which the link was free and a packet waited for a credit.",      \
	  stat->stalls)                                                                            \
	X("link_queued_max", "packets", DRV_STAT_GAUGE,                                            \
	  "Most packets that waited at once at the input of the link.", stat->queued_max)
#define VC_FAMILIES(X)                                                                             \
	X("vc_packets", "packets", DRV_STAT_COUNTER,                                               \
	  "Packets that left the nodes of the host by links, by virtual channel. Fabric torus.",   \
	  s->on[on])
#define WIRE_FAMILIES(X)                                                                           \
	X("wire_tx_frames", "frames", DRV_STAT_COUNTER, "Frames sent to the host.",                \
	  atomic_load_relaxed(&w->tx_frames))                                                      \
	X("wire_tx_bytes", "bytes", DRV_STAT_COUNTER, "Bytes sent to the host.",                   \
	  atomic_load_relaxed(&w->tx_bytes))                                                       \
	X("wire_rx_frames", "frames", DRV_STAT_COUNTER, "Frames received from the host.",          \
	  atomic_load_relaxed(&w->rx_frames))                                                      \
	X("wire_rx_bytes", "bytes", DRV_STAT_COUNTER, "Bytes received from the host.",             \
	  atomic_load_relaxed(&w->rx_bytes))                                                       \
	X("wire_resent", "frames", DRV_STAT_COUNTER, "Frames sent again: lost, or late.",          \
	  atomic_load_relaxed(&w->resent))                                                         \
	X("wire_duplicates", "frames", DRV_STAT_COUNTER, "Frames that came twice.",                \
	  atomic_load_relaxed(&w->duplicates))                                                     \
	X("wire_out_of_order", "frames", DRV_STAT_COUNTER, "Frames that came before others.",      \
	  atomic_load_relaxed(&w->out_of_order))                                                   \
	X("wire_bad_frames", "frames", DRV_STAT_COUNTER, "Frames that were damaged or forged.",    \
	  atomic_load_relaxed(&w->bad_frames))                                                     \
	X("wire_acks", "frames", DRV_STAT_COUNTER, "Frames sent for an acknowledgement alone.",    \
	  atomic_load_relaxed(&w->acks_bare))                                                      \
	X("wire_restarts", "restarts", DRV_STAT_COUNTER, "Times the host came back.",              \
	  atomic_load_relaxed(&w->restarts))                                                       \
	X("wire_rtt_ns", "ns", DRV_STAT_GAUGE, "Round trip, smoothed.",                            \
	  atomic_load_relaxed(&w->rtt_ns))                                                         \
	X("wire_window", "frames", DRV_STAT_GAUGE, "Frames that may be in flight.",                \
	  atomic_load_relaxed(&w->window))                                                         \
	X("wire_connected", "", DRV_STAT_GAUGE, "1: both directions have agreed.",                 \
	  atomic_load_relaxed(&w->connected))
#define PORT_FAMILIES(X)                                                                           \
	X("port_tx_frames", "frames", DRV_STAT_COUNTER, "Frames that the port sent.",              \
	  atomic_load_relaxed(&p->tx_frames))                                                      \
	X("port_tx_bytes", "bytes", DRV_STAT_COUNTER, "Bytes that the port sent.",                 \
	  atomic_load_relaxed(&p->tx_bytes))                                                       \
	X("port_rx_frames", "frames", DRV_STAT_COUNTER, "Frames that the port received.",          \
	  atomic_load_relaxed(&p->rx_frames))                                                      \
	X("port_rx_bytes", "bytes", DRV_STAT_COUNTER, "Bytes that the port received.",             \
	  atomic_load_relaxed(&p->rx_bytes))                                                       \
	X("port_tx_busy", "times", DRV_STAT_COUNTER, "Times that the port could not send now.",    \
	  atomic_load_relaxed(&p->tx_busy))                                                        \
	X("port_rx_dropped", "frames", DRV_STAT_COUNTER,                                           \
	  "Frames that were malformed, too long, or from an unknown sender.",                      \
	  atomic_load_relaxed(&p->rx_dropped))

#define COUNT(...)   +1
#define TASK_ROWS    (0 TASK_FAMILIES(COUNT))
#define COMM_ROWS    (0 COMM_FAMILIES(COUNT))
#define CHANNEL_ROWS (0 CHANNEL_FAMILIES(COUNT))
#define LINK_ROWS    (0 LINK_FAMILIES(COUNT))
#define WIRE_ROWS    (0 WIRE_FAMILIES(COUNT))
#define PORT_ROWS    (0 PORT_FAMILIES(COUNT))
/* Write the value of a family into the next row of `file`. */
#define SET_ROW(name, unit, kind, help, value) drv_stat_set(file, row++, value);
#define FAMILIES_MAX                           64u

struct agent_stats {
	struct drv_stat *file;
	/* The first row of the first task, channel, virtual channel, wire and port; an object's
	 * rows follow each other. */
	uint32_t task, channel, commthread, collective, vc, wire, port;
	uint32_t channels;    /* with rows, of each task */
	uint32_t commthreads; /* the same */
	uint32_t *link_row;   /* [nodes * EMU_LINKS] the first row of a link; UINT32_MAX: none */
	bool links;           /* links are sampled while the job runs */
	uint64_t on[EMU_ON_COUNT]; /* packets of all links in this sample */
	bool has_driver;           /* the file names the driver */
	uint64_t *waited_ns;       /* [locals] at the last sample */
	uint64_t sampled_ns;
};

static void free_stats(struct agent_stats *s)
{
	free(s->link_row);
	free(s->waited_ns);
	free(s);
}

/* ---- rows ---- */

static uint32_t add_rows(struct drv_stat *f, uint32_t family, unsigned count, const char *label)
{
	uint32_t first = UINT32_MAX;

	for (unsigned i = 0; i < count; i++) {
		uint32_t row = drv_stat_row_add(f, family + i, label);

		first = i ? first : row;
	}
	return first;
}

static uint32_t add_families(struct drv_stat *f, unsigned object)
{
	uint32_t first = UINT32_MAX, id;

#define ADD(name, unit, kind, help, ...)                                                           \
	id = drv_stat_family_add(f, name, unit, kind, help);                                       \
	first = first == UINT32_MAX ? id : first;
	switch (object) {
	case 't':
		TASK_FAMILIES(ADD)
		break;
	case 'm':
		COMM_FAMILIES(ADD)
		break;
	case 'o':
		COLLECTIVE_FAMILIES(ADD)
		break;
	case 'c':
		CHANNEL_FAMILIES(ADD)
		break;
	case 'l':
		LINK_FAMILIES(ADD)
		break;
	case 'v':
		VC_FAMILIES(ADD)
		break;
	case 'w':
		WIRE_FAMILIES(ADD)
		break;
	default:
		PORT_FAMILIES(ADD)
		break;
	}
#undef ADD
	return first;
}

static void add_tasks(struct agent *a, struct agent_stats *s)
{
	uint32_t family = add_families(s->file, 't'), channels = add_families(s->file, 'c');
	char label[44];

	for (uint32_t i = 0; i < a->locals; i++) {
		uint32_t row;

		snprintf(label, sizeof label, "task=%u", a->task[i].task);
		row = add_rows(s->file, family, TASK_ROWS, label);
		s->task = i ? s->task : row;
	}
	for (uint32_t i = 0; i < a->locals * s->channels; i++) {
		uint32_t row;

		snprintf(label, sizeof label, "task=%u channel=%u", a->task[i / s->channels].task,
			 i % s->channels);
		row = add_rows(s->file, channels, CHANNEL_ROWS, label);
		s->channel = i ? s->channel : row;
	}
	family = add_families(s->file, 'm');
	for (uint32_t i = 0; i < a->locals * s->commthreads; i++) {
		uint32_t row;

		snprintf(label, sizeof label, "task=%u commthread=%u",
			 a->task[i / s->commthreads].task, i % s->commthreads);
		row = add_rows(s->file, family, COMM_ROWS, label);
		s->commthread = i ? s->commthread : row;
	}
	family = add_families(s->file, 'o');
	for (uint32_t i = 0; i < a->locals * PAMI_XFER_COUNT; i++) {
		uint32_t row;

		snprintf(label, sizeof label, "task=%u type=%s", a->task[i / PAMI_XFER_COUNT].task,
			 collective_name(i % PAMI_XFER_COUNT));
		row = drv_stat_row_add(s->file, family, label);
		s->collective = i ? s->collective : row;
	}
}

/* Returns true if this host counts traffic of the links of the node. */
static bool has_links(struct agent *a, uint32_t node)
{
	if (a->sim || a->plan.fabric == MU_FABRIC_EXPRESS)
		return true;
	for (uint32_t i = 0; i < a->locals; i++)
		if (mu_host_entry(a->host, a->task[i].task)->node == node)
			return true;
	return false;
}

/* Sums over the links of the host: rows for each link would make the files of large tori thrice as
 * long. Fabric express has no channels. */
static void add_virtual_channels(struct agent *a, struct agent_stats *s)
{
	uint32_t family;
	char label[44];

	s->vc = UINT32_MAX;
	if (a->plan.fabric != MU_FABRIC_TORUS)
		return;
	family = add_families(s->file, 'v');
	for (unsigned on = 0; on < EMU_ON_COUNT; on++) {
		uint32_t row;

		snprintf(label, sizeof label, "host=%u vc=%s", a->self, emu_on_name(on));
		row = drv_stat_row_add(s->file, family, label);
		if (!on)
			s->vc = row;
	}
}

static void add_links(struct agent *a, struct agent_stats *s)
{
	uint32_t nodes = emu_shape_nodes(&a->plan.shape), family;

	if (nodes < 2)
		return;
	s->link_row = malloc((size_t)nodes * EMU_LINKS * sizeof *s->link_row);
	if (!s->link_row)
		return;
	family = add_families(s->file, 'l');
	for (uint32_t i = 0; i < nodes * EMU_LINKS; i++) {
		uint32_t node = i / EMU_LINKS, link = i % EMU_LINKS;
		char label[44];

		s->link_row[i] = UINT32_MAX;
		if (a->plan.shape.n[emu_link_dim(link)] < 2 || !has_links(a, node))
			continue;
		snprintf(label, sizeof label, "node=%u link=%c%c", node,
			 'A' + (int)emu_link_dim(link), emu_link_plus(link) ? '+' : '-');
		s->link_row[i] = add_rows(s->file, family, LINK_ROWS, label);
	}
	add_virtual_channels(a, s);
	s->links = agent_links_are_cheap(a);
}

static void add_wires(struct agent *a, struct agent_stats *s)
{
	uint32_t family;
	char label[44];

	if (a->host->hosts < 2)
		return;
	family = add_families(s->file, 'w');
	for (uint32_t i = 0, n = 0; i < a->host->hosts; i++) {
		uint32_t row;

		if (i == a->self)
			continue;
		snprintf(label, sizeof label, "host=%u peer=%u", a->self, i);
		row = add_rows(s->file, family, WIRE_ROWS, label);
		s->wire = n++ ? s->wire : row;
	}
	snprintf(label, sizeof label, "host=%u", a->self);
	s->port = add_rows(s->file, add_families(s->file, 'p'), PORT_ROWS, label);
}

static void add_facts(struct agent *a, struct drv_stat *f)
{
	const struct plan *p = &a->plan;
	char text[1024] = "";
	size_t used = 0;

	emu_shape_print(&p->shape, text, sizeof text);
	drv_stat_fact(f, "shape", text);
	snprintf(text, sizeof text, "%016llx", (unsigned long long)p->job);
	drv_stat_fact(f, "job", text);
	snprintf(text, sizeof text, "%u", p->tasks);
	drv_stat_fact(f, "tasks", text);
	snprintf(text, sizeof text, "%u", p->hosts);
	drv_stat_fact(f, "hosts", text);
	snprintf(text, sizeof text, "%u", a->self);
	drv_stat_fact(f, "host", text);
	snprintf(text, sizeof text, "%d", (int)getpid());
	drv_stat_fact(f, "agent", text);
	drv_stat_fact(f, "clock", p->clock == MU_CLOCK_VIRTUAL ? "virtual" : "real");
	drv_stat_fact(f, "fabric", p->fabric == MU_FABRIC_TORUS ? "torus" : "express");
	for (uint32_t i = 0; i < p->argc && used < sizeof text - 1; i++) {
		int n = snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", p->argv[i]);

		used += n > 0 ? (size_t)n : 0;
	}
	drv_stat_fact(f, "program", text);
}

static uint32_t count_rows(const struct agent *a, const struct agent_stats *s)
{
	uint32_t nodes = emu_shape_nodes(&a->plan.shape);

	return a->locals * (TASK_ROWS + s->channels * CHANNEL_ROWS + s->commthreads * COMM_ROWS +
			    PAMI_XFER_COUNT) +
	       nodes * EMU_LINKS * LINK_ROWS + EMU_ON_COUNT + a->host->hosts * WIRE_ROWS +
	       PORT_ROWS;
}

void agent_stats_open(struct agent *a)
{
	struct agent_stats *s;
	char dir[256], path[320], why[400];
	int rc = runs_prepare(dir, sizeof dir, why, sizeof why);

	if (rc) {
		if (rc != -ENOENT)
			drv_warn("torus top and torus stat will not see this job: %s", why);
		return;
	}
	s = calloc(1, sizeof *s);
	if (!s)
		return;
	s->channels = a->host->channels < CHANNELS_SEEN ? a->host->channels : CHANNELS_SEEN;
	/* A commthread starts when a channel is given to it; the real clock has fewer of them than
	 * processors, unless a setting says otherwise. */
	s->commthreads = a->sim ? CHANNELS_SEEN : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	s->commthreads = s->commthreads < CHANNELS_SEEN    ? CHANNELS_SEEN
			 : s->commthreads > MU_COMMTHREADS ? MU_COMMTHREADS
							   : s->commthreads;
	if (s->commthreads > a->host->channels)
		s->commthreads = a->host->channels;
	s->waited_ns = calloc(a->locals + 1, sizeof *s->waited_ns);
	s->file = s->waited_ns ? drv_stat_new(FAMILIES_MAX, count_rows(a, s)) : NULL;
	if (!s->file) {
		free_stats(s);
		return;
	}
	add_facts(a, s->file);
	add_tasks(a, s);
	add_links(a, s);
	add_wires(a, s);
	snprintf(path, sizeof path, "%s/%016llx.%u.stat", dir, (unsigned long long)a->plan.job,
		 a->self);
	rc = drv_stat_publish(s->file, path, 0640);
	if (rc) {
		drv_warn("torus top and torus stat will not see this job: %s: %s", path,
			 strerror(-rc));
		drv_stat_end(s->file);
		free_stats(s);
		return;
	}
	a->stats = s;
}

/* ---- samples ---- */

/* Name the port as it was opened, once it is open. */
static void sample_driver(const struct agent *a, struct agent_stats *s)
{
	if (s->has_driver || a->host->holder == MU_HOLDER_NONE ||
	    (int32_t)atomic_load_acquire(&a->host->own_ready) <= 0)
		return;
	drv_stat_fact(s->file, "driver", a->host->opened);
	s->has_driver = true;
}

/* Returns true if the segment has memory there. Reading a hole would allocate some. */
static bool was_touched(const struct agent *a, const struct mu_channel_area *ch)
{
	off_t at = (const char *)&ch->ring - (const char *)a->host;

	return lseek(a->segment, at, SEEK_DATA) == at;
}

static void sample_commthreads(struct agent_stats *s, const struct mu_task_area *area,
			       uint32_t local)
{
	struct drv_stat *file = s->file;
	uint32_t row = s->commthread + local * s->commthreads * COMM_ROWS;

	for (uint32_t k = 0; k < s->commthreads; k++) {
		const struct mu_comm_counts *c = &area->comm[k];

		COMM_FAMILIES(SET_ROW)
	}
}

/* Does the first thread of the task still wait as it noted? waited_ns: of the last sample. */
static bool is_waiting(const struct mu_task_area *area, uint64_t waited_ns)
{
	return atomic_load_acquire(&area->state) == MU_TASK_ATTACHED &&
	       atomic_load_relaxed(&area->waited_ns) != waited_ns &&
	       atomic_load_acquire(&area->waits_found) == atomic_load_relaxed(&area->found);
}

/* Add what the software above the channel has counted: pami/coll/state.h. */
static void add_collectives(const struct mu_channel_area *ch, uint64_t *counts)
{
	for (unsigned i = 0; i < MU_SOFTWARE_COUNTS; i++)
		counts[i] += atomic_load_relaxed(&ch->software[i]);
}

static void sample_task(struct agent *a, struct agent_stats *s, uint32_t local)
{
	struct mu_task_area *area = mu_host_area(a->host, local);
	struct drv_stat *file = s->file;
	uint32_t row;
	uint32_t state = atomic_load_acquire(&area->state);
	uint64_t open = atomic_load_relaxed(&area->channels_open);
	uint64_t waited = atomic_load_relaxed(&area->waited_ns), counts[MU_SOFTWARE_COUNTS] = {0};
	bool waits = is_waiting(area, s->waited_ns[local]);

	if (state == MU_TASK_NONE)
		return;
	s->waited_ns[local] = waited;
	sample_commthreads(s, area, local);
	for (uint32_t c = 0; c < a->host->channels; c++) {
		struct mu_channel_area *ch = mu_host_channel(a->host, local, c);

		if (!(open & (1ull << c)) && !(state == MU_TASK_DETACHED && was_touched(a, ch)))
			continue;
		add_collectives(ch, counts);
		if (c >= s->channels)
			continue;
		row = s->channel + (local * s->channels + c) * CHANNEL_ROWS;
		CHANNEL_FAMILIES(SET_ROW)
	}
	row = s->task + local * TASK_ROWS;
	TASK_FAMILIES(SET_ROW)
	for (unsigned i = 0; i < PAMI_XFER_COUNT; i++)
		drv_stat_set(s->file, s->collective + local * PAMI_XFER_COUNT + i, counts[i]);
}

static void sample_link(void *arg, uint32_t node, unsigned link, const struct emu_link_stat *stat)
{
	struct agent_stats *s = arg;
	struct drv_stat *file = s->file;
	uint32_t row = s->link_row[node * EMU_LINKS + link];

	if (row == UINT32_MAX)
		return;
	LINK_FAMILIES(SET_ROW)
	for (unsigned on = 0; on < EMU_ON_COUNT; on++)
		s->on[on] += stat->on[on];
}

static void sample_links(struct agent *a, struct agent_stats *s)
{
	struct drv_stat *file = s->file;
	uint32_t row = s->vc;

	memset(s->on, 0, sizeof s->on);
	agent_links_each(a, sample_link, s);
	for (unsigned on = 0; row != UINT32_MAX && on < EMU_ON_COUNT; on++) {
		VC_FAMILIES(SET_ROW)
	}
}

static void sample_wires(struct agent *a, struct agent_stats *s)
{
	const struct mu_port_counts *p = &a->host->port_counts;
	struct drv_stat *file = s->file;
	uint32_t row = s->wire;

	if (a->holder && !a->holder_broken)
		mu_holder_publish(a->holder);
	for (uint32_t i = 0; i < a->host->hosts; i++) {
		const struct mu_wire_counts *w = &a->host->peer[i].wire;

		if (i == a->self)
			continue;
		WIRE_FAMILIES(SET_ROW)
	}
	row = s->port;
	PORT_FAMILIES(SET_ROW)
}

static void sample_stats(struct agent *a, bool with_links)
{
	struct agent_stats *s = a->stats;

	for (uint32_t i = 0; i < a->locals; i++)
		sample_task(a, s, i);
	if (with_links && s->link_row)
		sample_links(a, s);
	if (s->wire != s->port)
		sample_wires(a, s);
	sample_driver(a, s);
	drv_stat_sampled(s->file);
}

void agent_stats_sample(struct agent *a)
{
	uint64_t now;

	if (!a->stats)
		return;
	now = drv_clock_ns();
	if (now - a->stats->sampled_ns < AGENT_STATS_MS * MS)
		return;
	a->stats->sampled_ns = now;
	sample_stats(a, a->stats->links);
}

void agent_stats_close(struct agent *a)
{
	if (!a->stats)
		return;
	sample_stats(a, true);
	drv_stat_end(a->stats->file);
	free_stats(a->stats);
	a->stats = NULL;
}
