/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PAMI job for the benches: one client, one context, the world barrier, and commands between task
 * 0, which drives a measurement, and the task that serves it. A failure prints its reason and exits
 * with status 1; torus run then ends the job.
 */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <stdbool.h>

#include <pami.h>

#include "bench/bench.h"

#define BENCH_TO_MAX    16
#define BENCH_SIZES_MAX 32

struct bench_options {
	size_t min, max;               /* bytes of a sweep; SIZE_MAX: the bench's own default */
	size_t sizes[BENCH_SIZES_MAX]; /* only these sizes instead */
	unsigned size_count;
	unsigned repetitions;                /* 0: 7 real, 1 virtual */
	double milliseconds;                 /* length of a repetition; 0: 20 real, 1 virtual */
	unsigned window;                     /* 0: the bench's own default */
	unsigned to[BENCH_TO_MAX], to_count; /* tasks to measure against; none: task 1 */
	int to_given;                        /* the user gave --to */
	enum bench_format format;
	int eager;        /* 1: request eager, -1: request rendezvous, 0: the library chooses */
	int arena;        /* use memory that the tasks of a node share */
	size_t fold;      /* longer buffers repeat this many bytes of memory, whole pages; 0: no */
	const char *only; /* only this variant, or NULL */
};

enum { BENCH_DISPATCH_COMMAND, BENCH_DISPATCH_DATA, BENCH_DISPATCH_REPLY, BENCH_DISPATCHES };

/* A command from task 0 to the serving task, in the header of an immediate message. */
struct bench_command {
	uint32_t verb; /* each bench defines its own; 0: quit */
	uint32_t flags;
	uint64_t bytes;
	uint64_t seed;
	uint64_t address;
	pami_memregion_t region;
};

struct bench_job {
	pami_client_t client;
	pami_context_t context;
	size_t task, tasks;
	pami_algorithm_t barrier;
	size_t dispatch; /* added to the ids below, so that each bench of a list has its own */
	int is_virtual;
	struct bench_options options;
	/* The last command received, and how many arrived; bench_command_wait() takes them one by
	 * one. */
	struct bench_command command;
	pami_endpoint_t commander;
	uint64_t commands, commands_taken;
};

int bench_job_open(struct bench_job *job, const struct bench_options *options);
/* Call before each bench of a list: it gets new dispatch ids. */
void bench_job_next(struct bench_job *job);
void bench_job_close(struct bench_job *job);

#define bench_check(call) bench_check_at((call), #call, __FILE__, __LINE__)
void bench_check_at(pami_result_t result, const char *text, const char *file, int line);
void bench_advance(struct bench_job *job);
#define bench_wait(job, condition)                                                                 \
	do {                                                                                       \
		while (!(condition))                                                               \
			bench_advance(job);                                                        \
	} while (0)

double bench_now(struct bench_job *job); /* seconds, in the job's clock */
void bench_barrier(struct bench_job *job);
/* The same by a task whose processor another one measures with. Real clock. */
void bench_barrier_asleep(struct bench_job *job);
pami_endpoint_t bench_endpoint(struct bench_job *job, size_t task);
void bench_dispatch_set(struct bench_job *job, size_t id, pami_dispatch_p2p_function fn,
			void *cookie);
size_t bench_immediate_max(struct bench_job *job);
/* Return the links of the torus between two tasks, or -1 if the library does not report them. */
int bench_hops(struct bench_job *job, size_t a, size_t b);

/* Send one immediate message: header, then data. */
void bench_immediate(struct bench_job *job, pami_endpoint_t to, size_t dispatch, const void *header,
		     size_t header_bytes, const void *data, size_t bytes);
void bench_command_send(struct bench_job *job, pami_endpoint_t to,
			const struct bench_command *command);
const struct bench_command *bench_command_wait(struct bench_job *job);

/*
 * Run drive(job, peer, arg) on task 0 and serve(job, arg) on each task of --to in turn, with
 * barriers between. This function ends the serving task with a quit command.
 */
void bench_pairs(struct bench_job *job, void (*drive)(struct bench_job *, unsigned peer, void *arg),
		 void (*serve)(struct bench_job *, void *arg), void *arg);

/* Return how many operations fill a repetition, if `count` of them took `seconds`. */
uint64_t bench_scale(struct bench_job *job, uint64_t count, double seconds);
/*
 * The same for an expression that runs the operations and returns the seconds. It takes the fastest
 * of five runs, because the first one connects and any may lose the processor to another process (a
 * repetition could be shorter than a time slice). It takes fewer runs where they are long.
 */
#define bench_warm(job, count, run)                                                                \
	({                                                                                         \
		double best_ = (run), all_ = best_;                                                \
                                                                                                   \
		for (int i_ = 0; i_ < 4 && all_ < 0.1 && !(job)->is_virtual; i_++) {               \
			double seconds_ = (run);                                                   \
                                                                                                   \
			all_ += seconds_;                                                          \
			best_ = seconds_ < best_ ? seconds_ : best_;                               \
		}                                                                                  \
		bench_scale(job, count, best_);                                                    \
	})
unsigned bench_repetitions(const struct bench_job *job);
/*
 * Get the i-th size to measure: of --sizes, else of the sweep from --min (or `min`), 8 times as
 * much (8 after 0), to --max (or `max`). Returns 0 when there is no i-th.
 */
int bench_size(const struct bench_job *job, unsigned i, size_t min, size_t max, size_t *bytes);
size_t bench_size_max(const struct bench_job *job, size_t min, size_t max);
void bench_row_out(struct bench_job *job, struct bench_row *row);
bool bench_is_wanted(const struct bench_job *job, const char *variant);

/* Allocate page-aligned zeroed memory, and create its memory region if `region` is not NULL. */
void *bench_memory(struct bench_job *job, size_t bytes, pami_memregion_t *region);
void bench_fill(unsigned char *p, size_t bytes, uint64_t seed);
bool bench_is_filled(const unsigned char *p, size_t bytes, uint64_t seed);

/* The benches. Every task of the job runs each of them. */
int bench_advance_empty(struct bench_job *job);
int bench_latency(struct bench_job *job);
int bench_rate(struct bench_job *job);
int bench_rdma(struct bench_job *job);
int bench_fifo(struct bench_job *job);
int bench_exchange(struct bench_job *job);
int bench_coll(struct bench_job *job);
int bench_node(struct bench_job *job);
int bench_objects(struct bench_job *job);
int bench_rmw(struct bench_job *job);
int bench_post(struct bench_job *job);
int bench_contexts(struct bench_job *job);
int bench_start(struct bench_job *job);
int bench_memory_use(struct bench_job *job);

#endif
