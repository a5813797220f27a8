/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private structures of libarmci. Everything here except the lock stripes and the mutex table belongs to
 * the application's thread: it drives context 0 (origin). Context 1 (serve) runs the handlers of
 * serve.c, in whatever thread advances it under its lock.
 */
#ifndef ARMCI_STATE_H
#define ARMCI_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ARMCI_NO_MPI_H 1
#pragma GCC visibility push(default)
#include "armci/armci.h"
#include "armci/armcix.h"
#include "armci/iterator.h"
#include "armci/parmci.h"
#pragma GCC visibility pop
#include "pami/pami.h"

/* The ARMCI_ name beside each PARMCI_ one, weak so that a tool may define it. */
#define ARMCI_ALIAS(name)                                                                               \
	extern __typeof__(PARMCI_##name) ARMCI_##name                                                   \
	    __attribute__((weak, alias("PARMCI_" #name), visibility("default")))

enum {
	ARMCI_ORIGIN, /* context of the application's thread: starts operations, gets the answers */
	ARMCI_SERVE,  /* context that answers others, while the application computes too */
	ARMCI_CONTEXTS,
	ARMCI_DISPATCH_REQUEST = 1, /* on SERVE */
	ARMCI_DISPATCH_REPLY = 2,   /* on ORIGIN */
	ARMCI_DISPATCH_MAIL = 3,    /* on ORIGIN: armci_msg_snd */
	ARMCI_DISPATCH_DATA = 4,    /* on ORIGIN: as REPLY, for answers of another host */
	ARMCI_TAG_CLUSTER = -7001,  /* of armci_grp_clus_brdcst's messages */
};

#define ARMCI_LEVELS ARMCI_MAX_STRIDE_LEVEL
#define ARMCI_CHUNK_BYTES                                                                               \
	(256u << 10)                  /* payload of one active message: bounds what a target buffers    \
				       */
#define ARMCI_FOLLOW_BYTES                                                                              \
	(64u << 10)                   /* answers so long are sent with their data, longer ones fetched */
#define ARMCI_WINDOW_BYTES (1u << 20) /* unacknowledged active-message payload to one target */
#define ARMCI_OPS_MAX      4096u      /* outstanding operations; more wait for old ones */
#define ARMCI_STRIPES      64u
#define ARMCI_STRIPE_BYTES 4096u
#define ARMCI_OFFERS       64   /* long gets that owners may carry out, at a time */
#define ARMCI_SHARED_BYTES 1024u /* of assist.c, behind the stripes */

/* Writes of two classes reach the target over different ways, in any order. */
enum armci_class {
	ARMCI_CLASS_PUT,
	ARMCI_CLASS_PACKED,
	ARMCI_CLASS_ACC,
	ARMCI_CLASSES,
	ARMCI_CLASS_READ = ARMCI_CLASSES
};
enum armci_kind { ARMCI_KIND_PUT, ARMCI_KIND_GET, ARMCI_KIND_ACC };

struct armci_alloc;
struct armci_group;

/* Writes outstanding to one segment: how many, and the offsets [lo, hi) that hold them all. */
struct armci_writes {
	uint32_t count;
	size_t lo, hi;
};

struct armci_region;

/* One process's part of a collective allocation, seen from here. */
struct armci_seg {
	uintptr_t name; /* first address as this process's program names it */
	uintptr_t va;   /* first address at the owner */
	size_t bytes;
	char *direct;                /* where this process loads and stores it itself, or NULL */
	pami_memregion_t *own;       /* of my own memory; NULL: none could be made */
	struct armci_region *cached; /* of others' memory, while region.c keeps it */
	struct armci_writes *writes; /* [ARMCI_CLASSES], from the first write on */
	uint8_t status;              /* a bit per class that has writes outstanding */
	bool regionless;             /* the owner has no region to give */
};

/* Segments of one process, by name; ascending, disjoint. */
struct armci_map {
	struct armci_seg **seg;
	uint32_t count, space;
	struct armci_seg *last;
};

struct armci_target {
	pami_endpoint_t endpoint[ARMCI_CONTEXTS]; /* from the first contact on */
	bool known[ARMCI_CONTEXTS];
	uint32_t unacked;               /* writes not yet remotely complete */
	uint32_t pending;               /* operations not yet locally complete */
	uint32_t writes[ARMCI_CLASSES]; /* of the unacked ones, those to segments */
	uint64_t window;                /* bytes of unacknowledged active messages */
	uint64_t mail;                  /* bytes of armci_msg_snd not yet received */
	uint64_t looked;                /* ticks: when its polls were last looked at, and how many there were */
	uint32_t polls_seen;
	bool waits;
	bool gone;      /* died; what it owes is ended */
	bool told;      /* that it died, for writes and requests that so failed: one line is enough */
	bool failed;    /* an operation without a handle, since the last wait */
	uint32_t quiet;  /* as gone, for what it sent to SERVE; atomic */
	uint32_t ending; /* it is in ARMCI_Finalize; known only after a death; atomic */
};

/*
 * What one transfer moves: count[0] bytes at (local, remote), repeated count[k] times at level k with
 * these strides. A contiguous transfer has no levels.
 */
struct armci_shape {
	char *local;
	uintptr_t remote; /* as the program names it; from armci_shape_post() on, at the owner */
	int levels;
	size_t count[ARMCI_LEVELS + 1];
	int64_t lstride[ARMCI_LEVELS], rstride[ARMCI_LEVELS];
};

/* Equally long segments: local[i] with remote[i]. */
struct armci_list {
	void **local, **remote;
	size_t count, bytes;
};

struct armci_acc {
	int op; /* ARMCI_ACC_ code */
	unsigned char scale[16];
};

/* A group of operations that somebody may wait for. */
struct armci_req {
	uint32_t pending;
	uint32_t failed;
	uint32_t slot; /* + 1 if it stands behind handles, else 0 */
	uint32_t next_free;
	uint64_t generation; /* a handle with another one has nothing pending */
};

struct armci_op {
	struct armci_op *next_free;
	struct armci_req *req;
	struct armci_seg *seg; /* written one */
	int proc;
	uint8_t class;
	bool local, remote; /* still outstanding */
	bool sending;       /* PAMI still reads buffer or header */
	bool own_region;
	bool owed; /* the target owes the answer, which has not begun to arrive */
	uint32_t window;
	void *buffer;   /* freed with the operation */
	void *value_to; /* where an answered value goes, or NULL */
	size_t value_bytes;
	/* From here on not cleared. */
	uint64_t generation; /* how often it was used */
	uint32_t index;      /* in op.c's table */
	uint64_t value;     /* a small source that the caller may forget */
	uint64_t header[8]; /* of a message being sent */
	pami_memregion_t region;
	struct armci_shape shape; /* of a packed get: where the answer goes (set only then) */
	struct armci_list list;   /* the same, count > 0 for a vector; owns list.local */
};

struct armci_ext_memory {
	void *(*alloc)(size_t bytes, size_t align);
	void (*free)(void *va);
	void *(*local)(pami_task_t task, void *va, size_t bytes);
};

struct armci_world {
	int users; /* Init minus Finalize */
	int me, nproc;
	bool single;     /* one context is ORIGIN and SERVE: whoever uses it holds its lock */
	unsigned inside; /* depth of calls of the application's thread */
	pami_client_t client;
	pami_context_t context[ARMCI_CONTEXTS];
	size_t immediate_max;
	bool thread;     /* somebody else advances SERVE too */
	bool is_virtual; /* the job's clock */
	struct armci_ext_memory memory;
	unsigned char *mapped;       /* per process: use its memory directly where it can be mapped */
	struct armci_map *map;       /* per process */
	struct armci_map local_map;  /* ARMCI_Malloc_local */
	struct armci_target *target; /* per process */
	uint32_t **stripes;          /* per process: its accumulate locks where mapped here, else NULL */
	void *stripe_page;           /* mine */
	void **shared;               /* per process of this host: assist.c's page, else NULL */
	uint32_t offers;             /* of long gets, not yet answered */
	uint32_t unacked, pending;   /* over all targets */
	uint32_t deaths;             /* some died since the last sweep; atomic */
	bool failed;                 /* some target's is set */
	int (*gone)(pami_task_t);    /* EXT_quintorus_deaths; or NULL */
	struct armci_group *all;     /* everybody; collectives: coll.h */
	struct armci_alloc *allocs;
	struct armci_agg *aggs; /* collections not yet sent */
};

extern struct armci_world armci_world;

/* What happened, readable by name (ARMCIX_Counter); counter.def. */
enum armci_counter {
#define ARMCI_COUNTER(name, meaning) ARMCI_COUNT_##name,
#include "armci/counter.def"
#undef ARMCI_COUNTER
	ARMCI_COUNTERS
};
extern uint64_t armci_counter[ARMCI_COUNTERS];

/* By the application's thread only. */
#define ARMCI_COUNT(name) (armci_counter[ARMCI_COUNT_##name]++)
#define ARMCI_COUNT_MANY(name, n) (armci_counter[ARMCI_COUNT_##name] += (n))
/* By whoever drives SERVE. */
#define ARMCI_COUNT_SERVED(name)                                                                        \
	__atomic_fetch_add(&armci_counter[ARMCI_COUNT_##name], 1, __ATOMIC_RELAXED)
/* On stderr, those that are not 0. */
void armci_counter_print(void);

/* Settings from the environment; env.c, env.def. */
enum { ARMCI_VERBOSE_HELP = 3 };
enum armci_iov_method { ARMCI_IOV_AUTO, ARMCI_IOV_ONE_BY_ONE, ARMCI_IOV_BATCHED, ARMCI_IOV_PACK };
enum armci_strided_method {
	ARMCI_STRIDED_AUTO,
	ARMCI_STRIDED_DIRECT,
	ARMCI_STRIDED_IOV,
	ARMCI_STRIDED_PACK
};
enum armci_conflict_rule { ARMCI_CONFLICT_RANGE, ARMCI_CONFLICT_REGION, ARMCI_CONFLICT_TARGET };
enum armci_acc_method { ARMCI_ACC_TARGET, ARMCI_ACC_SOURCE, ARMCI_ACC_PIPELINED };
enum armci_simd { ARMCI_SIMD_AUTO, ARMCI_SIMD_PLAIN, ARMCI_SIMD_AVX2, ARMCI_SIMD_AVX512 };
enum armci_context_rule { ARMCI_CONTEXTS_TWO, ARMCI_CONTEXTS_ONE };
enum armci_assist { ARMCI_ASSIST_AUTO, ARMCI_ASSIST_NEVER, ARMCI_ASSIST_ALWAYS };
enum armci_mapping { ARMCI_MAP_NODE, ARMCI_MAP_HOST, ARMCI_MAP_NONE };
struct armci_env {
	int verbose;
	bool debug_alloc;
	bool thread;
	long progress_us; /* -1: woken by what comes */
	int iov;	  /* enum armci_iov_method */
	size_t iov_batch, iov_chunk;
	int contexts; /* enum armci_context_rule */
	bool alone;   /* every process a domain of its own */
	int direct;   /* enum armci_mapping */
	size_t pack_bytes;
	size_t shm_limit;
	size_t regions;
	int strided;   /* enum armci_strided_method */
	int conflicts; /* enum armci_conflict_rule */
	int acc;       /* enum armci_acc_method */
	int simd;      /* enum armci_simd */
	size_t acc_chunk;
	int assist; /* enum armci_assist */
	const char *host;
};
extern struct armci_env armci_env;
/* 0, or FAIL6 where a value makes no sense (logged). */
int armci_env_read(void);
/* The configuration, or what every setting means, on stderr where asked for. */
void armci_env_print(void);

/* ---- init.c ---- */
/*
 * First in every call of the program that touches state or PAMI. With two contexts it does nothing; with
 * one the thread that serves others must stay out until the call returns.
 */
void armci_enter_single(void);
void armci_leave_single(void);
static inline bool armci_enter(void)
{
	bool single = armci_world.single;

	if (__builtin_expect(single, 0))
		armci_enter_single();
	return single;
}
static inline void armci_leave(const bool *entered)
{
	if (__builtin_expect(*entered, 0))
		armci_leave_single();
}
#define ARMCI_ENTER                                                                                     \
	const bool armci_entered __attribute__((cleanup(armci_leave), unused)) = armci_enter()
/* Around what SERVE's handlers read. */
void armci_serve_lock(void);
void armci_serve_unlock(void);
/* The job without its messages: who and how many we are. Once; 0 or not. */
int armci_client_open(void);
/* One round of progress; call it while waiting. */
void armci_poll(void);
/* Did it die, as far as is known at this moment? Any thread. */
bool armci_task_gone(int proc);
void armci_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* FAIL5 unless proc exists. */
int armci_check_proc(int proc);
/* Where this process may load and store [va, va + bytes) of proc's memory, or NULL. */
void *armci_direct(int proc, uintptr_t va, size_t bytes);

/* ---- seg.c ---- */
int armci_map_add(struct armci_map *map, struct armci_seg *seg);
void armci_map_remove(struct armci_map *map, struct armci_seg *seg);
/* The segment of proc that holds [name, name + bytes), else the job ends. */
struct armci_seg *armci_seg_find(int proc, uintptr_t name, size_t bytes);
/* A registered region of this process that holds [p, p + bytes): its handle and offset, or NULL. */
pami_memregion_t *armci_local_find(const void *p, size_t bytes, size_t *offset);
void armci_alloc_release_all(void);

/* The segment of map that holds [name, name + bytes), or NULL. */
struct armci_seg *armci_map_find(struct armci_map *map, uintptr_t name, size_t bytes);
/* Before its memory goes: what is kept beside it. */
void armci_seg_release(struct armci_seg *seg);

/* ---- region.c ---- */
struct armci_region_card {
	uint64_t found;
	pami_memregion_t region;
};
int armci_region_init(void);
void armci_region_release(void);
/* My memory, for others to ask for, and no longer. */
int armci_region_offer(struct armci_seg *seg);
void armci_region_withdraw(struct armci_seg *seg);
/* On SERVE: the region of my memory at va. */
void armci_region_serve(uint64_t va, struct armci_region_card *card);
/* The region of a segment, asked for if need be; NULL: there is none, do without. Valid until the next
 * call. */
pami_memregion_t *armci_region_of(struct armci_seg *seg, int proc);
void armci_region_forget(struct armci_seg *seg);

/* ---- op.c ---- */
/* Until nothing is pending; 0 or FAIL6. */
int armci_req_wait(struct armci_req *req);
/* The request behind a handle that takes more operations; NULL for the implicit handle (NULL). It cannot
 * complete before armci_req_end(). */
struct armci_req *armci_req_begin(armci_hdl_t *h);
void armci_req_end(struct armci_req *req);
int armci_handle_wait(armci_hdl_t *h);
bool armci_handle_pending(const armci_hdl_t *h);
/* A new operation, counted at its target and in req (NULL: implicit); it may wait for old ones. */
struct armci_op *armci_op_create(int proc, struct armci_req *req);
/* Count it as a write of [offset, offset + bytes) of seg until armci_op_remote_done(). */
void armci_op_writes(struct armci_op *op, struct armci_seg *seg, enum armci_class class, size_t offset,
		     size_t bytes);
/* Count it as a write of nothing in particular: fences wait for its acknowledgement. */
void armci_op_acked(struct armci_op *op);
void armci_op_local_done(struct armci_op *op, bool ok);
void armci_op_remote_done(struct armci_op *op, bool ok);
/* PAMI is done with buffer and header. */
void armci_op_sent(struct armci_op *op);
/* Wait until an access of [offset, offset + bytes) in this class can no longer overtake earlier writes.
 */
void armci_order(struct armci_seg *seg, int proc, size_t offset, size_t bytes, enum armci_class class);
/* Wait for the writes to proc that went by message, so that what follows comes behind all writes. */
void armci_order_messages(int proc);
/* Reserve payload bytes of the target's window. */
void armci_window_take(struct armci_op *op, size_t bytes);
uint64_t armci_op_token(const struct armci_op *op);
/* The operation whose target owes the answer with this token, or NULL: it is not waited for any more. */
struct armci_op *armci_op_of(uint64_t token);
/* End what processes that died owe; outside of PAMI's callbacks. */
void armci_gone_sweep(void);
void armci_fence_all(void);
void armci_fence(int proc);
void armci_req_release_all(void);

/* ---- shape.c: local layouts; no communication ---- */
/* Drop and merge levels; returns the bytes it moves (0: nothing). */
size_t armci_shape_normalise(struct armci_shape *s);
/* Offsets [lo, hi) that the remote side touches, relative to s->remote. */
void armci_shape_extent(const struct armci_shape *s, int64_t *lo, int64_t *hi);
size_t armci_shape_bytes(const struct armci_shape *s, int levels);
/* Call fn(arg, local, remote, bytes) for each contiguous piece, first level fastest. */
typedef void (*armci_piece_fn)(void *arg, char *local, uintptr_t remote, size_t bytes);
void armci_shape_walk(const struct armci_shape *s, armci_piece_fn fn, void *arg);
/* Cut s into parts of at most `most` bytes (at least 1), in order; stops at fn's first non-zero result
 * and returns it. Elements stay whole where `most` is a multiple of them. */
typedef int (*armci_slab_fn)(void *arg, const struct armci_shape *s);
int armci_shape_cut(const struct armci_shape *s, size_t most, armci_slab_fn fn, void *arg);
void armci_shape_pack(const struct armci_shape *s, char *buf);
void armci_shape_unpack(const struct armci_shape *s, const char *buf);

/* memcpy of a piece whose length is not known to the compiler, and mostly that of an element. */
static inline void armci_copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 16)
		memcpy(to, from, 16);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, bytes);
}

/* ---- pool.c: buffers of messages, by any thread; get ends the job where there is no memory ---- */
void *armci_pool_get(size_t bytes);
void armci_pool_put(void *buffer);
void armci_pool_release(void);
void armci_pool_forget(void);

/* ---- acc.c, acc_source.c ---- */
/* This process's name in locks, and whether another's holder has died. */
void armci_acc_holders(int me, bool (*gone)(int proc));
void armci_spin_lock(uint32_t *lock);
void armci_spin_unlock(uint32_t *lock);
/* Kernels by enum armci_simd; false: this processor does not have those instructions. */
bool armci_acc_choose(int simd);
/* What is in use: "plain", "avx2", "avx512". */
const char *armci_acc_chosen(void);
/* Accumulate by the source, under the owner's lock; complete at the target on return. 0 or FAIL6. */
int armci_acc_source_shape(const struct armci_acc *acc, const struct armci_shape *s,
			   struct armci_seg *seg, int proc);
/* Bytes of an element, 0 for an unknown op. */
size_t armci_acc_element_bytes(int op);
bool armci_acc_set(struct armci_acc *acc, int op, const void *scale);
/* dst += scale * src without locks; bytes a multiple of the element; any alignment. */
void armci_acc_plain(const struct armci_acc *acc, char *dst, const char *src, size_t bytes);
/* The same, atomic per element against all others. va  owner's address of dst; stripes  the owner's
 * locks. */
void armci_acc_locked(const struct armci_acc *acc, uint32_t *stripes, char *dst, uintptr_t va,
		      const char *src, size_t bytes);

/* ---- xfer.c: the engine below contig.c, strided.c and vector.c. 0 or FAIL6 ---- */
int armci_xfer_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s, int proc,
		     struct armci_req *req);
int armci_xfer_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *list,
		    int proc, struct armci_req *req);
/* A contiguous piece of seg by RDMA, into req. 0 or FAIL6. */
int armci_xfer_get_rdma(struct armci_seg *seg, int proc, struct armci_req *req, char *local, size_t offset,
			size_t bytes);
enum armci_wait {
	ARMCI_BLOCKING,
	ARMCI_NONBLOCKING,
	ARMCI_VALUE /* non-blocking, source read at once */
};
/* A contiguous put or get, blocking or into h. */
int armci_run_contig(enum armci_kind kind, void *local, uintptr_t remote, size_t bytes, int proc,
		     enum armci_wait wait, armci_hdl_t *h);
/* Put one int by RDMA (or a store), behind all earlier RDMA puts. 0 or FAIL6. */
int armci_xfer_flag(uintptr_t remote, int value, int proc);
/* The calls of contig.c, strided.c and vector.c in both forms: blocking, or into handle h (NULL:
 * implicit). */
int armci_run_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s, int proc,
		    enum armci_wait wait, armci_hdl_t *h);
int armci_run_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *list,
		   int proc, enum armci_wait wait, armci_hdl_t *h);

/* ---- agg.c: aggregate handles ---- */
enum { ARMCI_HANDLE_AGGREGATE = 1 };
/* Take the transfer into the handle's collection; false if it must go on its own. */
bool armci_agg_add_piece(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc, void *local,
			 uintptr_t remote, size_t bytes, int proc);
bool armci_agg_add_shape(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			 struct armci_shape *s, int proc, bool value);
bool armci_agg_add_list(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			const struct armci_list *list, int proc);
/* Send what this handle, and what every handle, has collected. */
void armci_agg_flush(const armci_hdl_t *h);
void armci_agg_flush_all(void);
void armci_agg_release(void);

/* ---- am.c: requests to SERVE of another process ---- */
struct armci_request; /* am.h */
int armci_am_shape(enum armci_kind kind, const struct armci_acc *acc, const struct armci_shape *s,
		   struct armci_seg *seg, int proc, struct armci_req *req);
/* lo, hi: offsets in seg that the list spans. */
int armci_am_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *list,
		  struct armci_seg *seg, size_t lo, size_t hi, int proc, struct armci_req *req);
/* A request without payload that is answered with a value (to value_to unless NULL). 0 or FAIL6. */
int armci_am_value(const struct armci_request *r, int proc, void *value_to, size_t value_bytes,
		   struct armci_req *req);
/* Ask proc for the region of its memory at va, and wait. 0 or FAIL6. */
int armci_am_region(uint64_t va, int proc, struct armci_region_card *card);
/* A request without payload that is acknowledged; fences wait for it. 0 or FAIL6. */
int armci_am_order(const struct armci_request *r, int proc);
/* A request without payload or answer, behind all puts by RDMA. 0 or FAIL6. */
int armci_am_tell(const struct armci_request *r, int proc);
void armci_am_reply(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);

/* ---- serve.c, mutex.c: the owner's side, on SERVE ---- */
void armci_serve_request(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
			 const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void armci_serve_answer(pami_context_t context, pami_endpoint_t origin, uint32_t kind, uint64_t token,
			uint64_t value);
void armci_mutex_serve(pami_context_t context, const struct armci_request *r, pami_endpoint_t origin);
/* ---- assist.c: long gets that their owner carries out while the caller computes ---- */
/* Offer the first bytes of a get to seg's owner, into req; how many (0: it is not worth it, or cannot be). */
size_t armci_assist_get(struct armci_seg *seg, int proc, struct armci_req *req, char *local, size_t offset,
			size_t bytes);
/* While waiting, with offers out: take back those that nobody took. */
void armci_assist_poll(void);
/* This process waits in a call, and would serve. */
void armci_assist_waiting(void);
/* Offers to processes that died. */
void armci_assist_gone(void);
void armci_assist_answer(uint64_t token, bool copied);
void armci_assist_serve(pami_context_t context, const struct armci_request *r, pami_endpoint_t origin);
/* ---- memget.c, mutex.c, notify.c, mail.c ---- */
void armci_memget_release(void);
void armci_mutex_release(void);
/* One mutex of the library's own in each process; collective. */
int armci_mutex_init(void);
/* 0 or FAIL6: it does not answer. */
int armci_mutex_take(int proc);
int armci_mutex_give(int proc);
/* On SERVE: take those who died out of the queues, and their mutexes from them. */
void armci_mutex_gone(pami_context_t context);
int armci_notify_init(void);
void armci_notify_release(void);
void armci_notify_serve(const struct armci_request *r);
/* After a death no barrier says that everybody is in ARMCI_Finalize: a word to each does. */
void armci_ending_tell(void);
/* Until every process has said so, or is gone. */
void armci_ending_wait(void);
void armci_ending_serve(const struct armci_request *r);
void armci_mail_arrives(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
			const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void armci_mail_taken(int proc, uint64_t bytes);
void armci_mail_release(void);

/* ---- rmw.c ---- */
/* Apply op (ARMCI_SWAP ...) to *p atomically; the old value in the low bytes. */
uint64_t armci_rmw_apply(int op, void *p, uint64_t value);
uint64_t armci_cas_apply(int op, void *p, uint64_t expected, uint64_t desired);

/* By the application's thread only: made on first contact, kept for good. */
static inline pami_endpoint_t armci_endpoint(int proc, size_t context)
{
	struct armci_target *t = &armci_world.target[proc];

	context = armci_world.single ? ARMCI_ORIGIN : context;
	if (__builtin_expect(!t->known[context], 0)) {
		PAMI_Endpoint_create(armci_world.client, (pami_task_t)proc, context,
				     &t->endpoint[context]);
		t->known[context] = true;
		ARMCI_COUNT(endpoints);
	}
	return t->endpoint[context];
}

#endif
