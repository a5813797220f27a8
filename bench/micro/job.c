/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "bench/micro/job.h"

#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/base/rng.h"
#include "mu/segment/host.h"
#include "pami/ext_memory.h"

void bench_check_at(pami_result_t result, const char *text, const char *file, int line)
{
	if (result == PAMI_SUCCESS)
		return;
	fprintf(stderr, "%s:%d: %s returned %d\n", file, line, text, (int)result);
	exit(1);
}

void bench_advance(struct bench_job *job)
{
	pami_result_t r = PAMI_Context_advance(job->context, 1);

	if (__builtin_expect(r != PAMI_SUCCESS && r != PAMI_EAGAIN, 0))
		bench_check_at(r, "PAMI_Context_advance", __FILE__, __LINE__);
}

double bench_now(struct bench_job *job)
{
	return PAMI_Wtime(job->client);
}

static void on_done(pami_context_t context, void *cookie, pami_result_t result)
{
	*(int *)cookie = result == PAMI_SUCCESS ? 1 : -1;
}

static void start_barrier(struct bench_job *job, volatile int *done)
{
	pami_xfer_t x;

	memset(&x, 0, sizeof(x));
	x.cb_done = on_done;
	x.cookie = (void *)done;
	x.algorithm = job->barrier;
	bench_check(PAMI_Collective(job->context, &x));
}

void bench_barrier(struct bench_job *job)
{
	volatile int done = 0;

	start_barrier(job, &done);
	bench_wait(job, done);
}

void bench_barrier_asleep(struct bench_job *job)
{
	volatile int done = 0;

	start_barrier(job, &done);
	while (!done) {
		bench_advance(job);
		poll(NULL, 0, 2);
	}
}

pami_endpoint_t bench_endpoint(struct bench_job *job, size_t task)
{
	pami_endpoint_t ep;

	bench_check((PAMI_Endpoint_create)(job->client, (pami_task_t)task, 0, &ep));
	return ep;
}

void bench_dispatch_set(struct bench_job *job, size_t id, pami_dispatch_p2p_function fn,
			void *cookie)
{
	pami_dispatch_callback_function f = {.p2p = fn};
	pami_dispatch_hint_t hints;

	memset(&hints, 0, sizeof(hints));
	bench_check(PAMI_Dispatch_set(job->context, job->dispatch + id, f, cookie, hints));
}

size_t bench_immediate_max(struct bench_job *job)
{
	pami_configuration_t c = {.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX};

	bench_check(
	    PAMI_Dispatch_query(job->context, job->dispatch + BENCH_DISPATCH_COMMAND, &c, 1));
	return c.value.intval;
}

void bench_immediate(struct bench_job *job, pami_endpoint_t to, size_t dispatch, const void *header,
		     size_t header_bytes, const void *data, size_t bytes)
{
	pami_send_immediate_t s;
	pami_result_t r;

	memset(&s, 0, sizeof(s));
	s.header.iov_base = (void *)(uintptr_t)header;
	s.header.iov_len = header_bytes;
	s.data.iov_base = (void *)(uintptr_t)data;
	s.data.iov_len = bytes;
	s.dispatch = job->dispatch + dispatch;
	s.dest = to;
	while (__builtin_expect((r = PAMI_Send_immediate(job->context, &s)) == PAMI_EAGAIN, 0))
		bench_advance(job);
	if (__builtin_expect(r != PAMI_SUCCESS, 0))
		bench_check_at(r, "PAMI_Send_immediate", __FILE__, __LINE__);
}

static void on_command(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	struct bench_job *job = cookie;

	if (header_bytes != sizeof(job->command))
		return;
	memcpy(&job->command, header, sizeof(job->command));
	job->commander = origin;
	job->commands++;
}

void bench_command_send(struct bench_job *job, pami_endpoint_t to,
			const struct bench_command *command)
{
	bench_immediate(job, to, BENCH_DISPATCH_COMMAND, command, sizeof(*command), NULL, 0);
}

const struct bench_command *bench_command_wait(struct bench_job *job)
{
	bench_wait(job, job->commands > job->commands_taken);
	job->commands_taken++;
	return &job->command;
}

void bench_pairs(struct bench_job *job, void (*drive)(struct bench_job *, unsigned peer, void *arg),
		 void (*serve)(struct bench_job *, void *arg), void *arg)
{
	for (unsigned i = 0; i < job->options.to_count; i++) {
		unsigned peer = job->options.to[i];

		bench_barrier(job);
		if (job->task == 0) {
			struct bench_command quit;

			memset(&quit, 0, sizeof(quit));
			drive(job, peer, arg);
			bench_command_send(job, bench_endpoint(job, peer), &quit);
		} else if (job->task == peer) {
			serve(job, arg);
		}
	}
	bench_barrier(job);
}

uint64_t bench_scale(struct bench_job *job, uint64_t count, double seconds)
{
	double want = job->options.milliseconds > 0 ? job->options.milliseconds
		      : job->is_virtual             ? 1
						    : 20;
	double n = seconds > 0 ? (double)count * want * 1e-3 / seconds : (double)count;

	return n < 2 ? 2 : n > 1e8 ? 100000000 : (uint64_t)n;
}

unsigned bench_repetitions(const struct bench_job *job)
{
	return job->options.repetitions ? job->options.repetitions : job->is_virtual ? 1 : 7;
}

int bench_size(const struct bench_job *job, unsigned i, size_t min, size_t max, size_t *bytes)
{
	const struct bench_options *o = &job->options;
	size_t n = o->min == SIZE_MAX ? min : o->min;

	if (o->size_count) {
		*bytes = o->sizes[i < o->size_count ? i : 0];
		return i < o->size_count;
	}
	if (o->max != SIZE_MAX)
		max = o->max;
	else if (n > max)
		max = n;
	for (; i > 0 && n < max; i--)
		n = n ? n * 8 : 8;
	*bytes = n > max ? max : n;
	return i == 0;
}

size_t bench_size_max(const struct bench_job *job, size_t min, size_t max)
{
	size_t bytes, most = 0;

	for (unsigned i = 0; bench_size(job, i, min, max, &bytes); i++)
		most = bytes > most ? bytes : most;
	return most;
}

void bench_row_out(struct bench_job *job, struct bench_row *row)
{
	if (row->to >= 0)
		row->hops = bench_hops(job, (size_t)row->from, (size_t)row->to);
	bench_out_row(job->options.format, row);
}

bool bench_is_wanted(const struct bench_job *job, const char *variant)
{
	return !job->options.only || !strcmp(job->options.only, variant);
}

/* Allocate with EXT_quintorus_memory; the memory stays until the job ends. */
static void *arena_memory(struct bench_job *job, size_t bytes)
{
	pami_quintorus_alloc_fn allocate = NULL;
	pami_extension_t e;
	void *p;

	if (PAMI_Extension_open(job->client, "EXT_quintorus_memory", &e) == PAMI_SUCCESS)
		*(void **)&allocate = PAMI_Extension_symbol(e, "alloc");
	p = allocate ? allocate(bytes, 4096) : NULL;
	return p ? p : MAP_FAILED;
}

/* Map the same memory repeatedly, so that a write to one part appears in all. */
static void *folded_memory(size_t bytes, size_t fold)
{
	int fd = memfd_create("qbench", MFD_CLOEXEC);
	char *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int bad = fd < 0 || p == MAP_FAILED || ftruncate(fd, (off_t)fold);

	for (size_t at = 0; !bad && at < bytes; at += fold)
		bad = mmap(p + at, bytes - at < fold ? bytes - at : fold, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED;
	if (fd >= 0)
		close(fd);
	return bad ? MAP_FAILED : p;
}

void *bench_memory(struct bench_job *job, size_t bytes, pami_memregion_t *region)
{
	size_t got = 0, fold = job->options.fold;
	void *p = job->options.arena     ? arena_memory(job, bytes)
		  : fold && fold < bytes ? folded_memory(bytes, fold)
					 : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("bench: memory");
		exit(1);
	}
	memset(p, 0, bytes);
	if (region) {
		bench_check(PAMI_Memregion_create(job->context, p, bytes, &got, region));
		if (got < bytes) {
			fprintf(stderr, "bench: a memory region of %zu bytes got %zu\n", bytes,
				got);
			exit(1);
		}
	}
	return p;
}

/* A stream of bytes that follows from a seed. */
struct pattern {
	struct drv_rng rng;
	uint64_t word;
};

static unsigned char pattern_byte(struct pattern *p, size_t i)
{
	if (i % 8 == 0)
		p->word = drv_rng_next(&p->rng);
	return (unsigned char)(p->word >> i % 8 * 8);
}

void bench_fill(unsigned char *p, size_t bytes, uint64_t seed)
{
	struct pattern pattern = {.word = 0};

	drv_rng_seed(&pattern.rng, seed);
	for (size_t i = 0; i < bytes; i++)
		p[i] = pattern_byte(&pattern, i);
}

bool bench_is_filled(const unsigned char *p, size_t bytes, uint64_t seed)
{
	struct pattern pattern = {.word = 0};

	drv_rng_seed(&pattern.rng, seed);
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != pattern_byte(&pattern, i))
			return false;
	return true;
}

/* The type of EXT_torus_network, as programs declare it. */
typedef struct {
	size_t dims;
	size_t *coord, *size, *torus;
} torus_info_t;

int bench_hops(struct bench_job *job, size_t a, size_t b)
{
	const torus_info_t *(*information)(void);
	pami_result_t (*task2torus)(pami_task_t, size_t[]);
	pami_extension_t e;
	size_t at[2][16];
	int hops = -1;

	if (PAMI_Extension_open(job->client, "EXT_torus_network", &e) != PAMI_SUCCESS)
		return -1;
	*(void **)&information = PAMI_Extension_symbol(e, "information");
	*(void **)&task2torus = PAMI_Extension_symbol(e, "task2torus");
	if (information && task2torus && information()->dims <= 16 &&
	    task2torus((pami_task_t)a, at[0]) == 0 && task2torus((pami_task_t)b, at[1]) == 0) {
		const torus_info_t *t = information();

		hops = 0;
		for (size_t d = 0; d + 1 < t->dims;
		     d++) { /* the last dimension is T, within a node */
			size_t way =
			    at[0][d] > at[1][d] ? at[0][d] - at[1][d] : at[1][d] - at[0][d];

			if (t->torus[d] && t->size[d] - way < way)
				way = t->size[d] - way;
			hops += (int)way;
		}
	}
	PAMI_Extension_close(e);
	return hops;
}

/* Return the MTU of the interface that a driver port names with iface=, or -1. */
static int interface_mtu(const char *port)
{
	const char *iface = strstr(port, "iface=");
	struct ifreq r;
	int fd, rc;

	if (!iface)
		return -1;
	memset(&r, 0, sizeof(r));
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%.*s", (int)strcspn(iface + 6, ",)"), iface + 6);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -1 : ioctl(fd, SIOCGIFMTU, &r);
	if (fd >= 0)
		close(fd);
	return rc ? -1 : r.ifr_mtu;
}

/* Print the facts of the job. They come from the head of the host segment, because no PAMI query
 * returns them. */
static void print_facts(struct bench_job *job)
{
	const char *env = getenv(MU_ENV_SEGMENT),
		   *names[3][2] = {{"real", "virtual"}, {"express", "torus"}};
	const char *clock = "real", *fabric = "none (a job of one)", *port = "";
	const struct mu_host *h = MAP_FAILED;
	char tasks[128], driver[400], shape[64] = "";
	const char *seal = "unknown (torus run shows it)";

	if (env)
		h = mmap(NULL, sizeof(*h), PROT_READ, MAP_SHARED, atoi(env), 0);
	if (h != MAP_FAILED && h->magic == MU_HOST_MAGIC) {
		clock = names[0][h->clock & 1];
		fabric = names[1][h->fabric & 1];
		port = h->port;
		seal = h->hosts > 1 ? drv_seal_text((enum drv_seal_kind)h->seal) : "none";
		snprintf(shape, sizeof(shape), ", %u host%s", h->hosts, h->hosts == 1 ? "" : "s");
		job->is_virtual = h->clock == MU_CLOCK_VIRTUAL;
	}
	if (job->task != 0)
		return;
	snprintf(driver, sizeof(driver), "%s", *port ? port : "shared memory only");
	int mtu = interface_mtu(port);

	if (mtu > 0)
		snprintf(driver, sizeof(driver), "%s, MTU %d", port, mtu);
	snprintf(tasks, sizeof(tasks), "%zu%s", job->tasks, shape);
	bench_out_begin(job->options.format,
			(const char *const[]){"tasks", tasks, "clock", clock, "fabric", fabric,
					      "driver", driver, "seal", seal, NULL});
}

static size_t query_client(struct bench_job *job, pami_attribute_name_t name)
{
	pami_configuration_t c = {.name = name};

	bench_check(PAMI_Client_query(job->client, &c, 1));
	return c.value.intval;
}

static void find_barrier(struct bench_job *job)
{
	pami_geometry_t world;
	size_t count[2];

	bench_check(PAMI_Geometry_world(job->client, &world));
	bench_check(PAMI_Geometry_algorithms_num(world, PAMI_XFER_BARRIER, count));
	if (!count[0]) {
		fprintf(stderr, "bench: no barrier algorithm\n");
		exit(1);
	}
	pami_algorithm_t *algorithm = calloc(count[0] + count[1], sizeof(*algorithm));
	pami_metadata_t *data = calloc(count[0] + count[1], sizeof(*data));

	if (!algorithm || !data)
		exit(1);
	bench_check(PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, algorithm, data,
						   count[0], algorithm + count[0], data + count[0],
						   count[1]));
	job->barrier = algorithm[0];
	free(algorithm);
	free(data);
}

int bench_job_open(struct bench_job *job, const struct bench_options *options)
{
	memset(job, 0, sizeof(*job));
	job->options = *options;
	bench_check(PAMI_Client_create("qbench", &job->client, NULL, 0));
	job->task = query_client(job, PAMI_CLIENT_TASK_ID);
	job->tasks = query_client(job, PAMI_CLIENT_NUM_TASKS);
	bench_check(PAMI_Context_createv(job->client, NULL, 0, &job->context, 1));
	find_barrier(job);
	job->options.to_given = job->options.to_count > 0;
	if (!job->options.to_count)
		job->options.to[job->options.to_count++] = 1;
	for (unsigned i = 0; i < job->options.to_count; i++) {
		if (job->options.to[i] > 0 && job->options.to[i] < job->tasks)
			continue;
		if (job->task == 0)
			fprintf(
			    stderr,
			    "qbench: no task %u to measure against: the job has %zu; start it with "
			    "'torus run -n %u qbench ...'\n",
			    job->options.to[i], job->tasks, job->options.to[i] + 1);
		/* A task that exits ends the job, so wait until task 0 has printed the reason. */
		bench_barrier(job);
		return -1;
	}
	print_facts(job);
	/* The library's own threads exist already and stay free. Peers are bound in the same way.
	 */
	if (!job->is_virtual)
		bench_pin_to_core((unsigned)job->task, (unsigned)job->tasks);
	return 0;
}

void bench_job_next(struct bench_job *job)
{
	job->dispatch += BENCH_DISPATCHES;
	bench_dispatch_set(job, BENCH_DISPATCH_COMMAND, on_command, job);
}

void bench_job_close(struct bench_job *job)
{
	bench_check(PAMI_Context_destroyv(&job->context, 1));
	bench_check(PAMI_Client_destroy(&job->client));
}
