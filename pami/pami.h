/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PAMI, the parallel active message interface, as Quintorus provides it.
 *
 * Names, types and values are those of Blue Gene/Q V1R2M0, so programs written for that machine
 * compile unchanged. docs/references.md lists rules that hold for every function.
 *
 * Words
 *   task      a process of the job, 0 .. PAMI_CLIENT_NUM_TASKS - 1
 *   client    the contexts of one program or library; the k-th client of a task communicates with
 *             the k-th clients of other tasks only
 *   context   a communication channel of a client, 0 .. PAMI_CLIENT_NUM_CONTEXTS - 1 ("offset")
 *   endpoint  (task, context offset) in 32 bits; the same number on every task
 *   origin    the task that starts an operation; the other one is the target
 *
 * Threads. One thread at a time may use a context; the program ensures that, with PAMI_Context_lock
 * or otherwise. Any thread may call PAMI_Context_post, the lock functions and the extension
 * EXT_async_progress at any time. Different contexts share nothing, so different threads may use
 * them at the same time. One thread at a time may create and destroy clients, types and geometries,
 * and open and close extensions.
 *
 * Callbacks (dispatch, event, work functions) run inside progress calls on their context, never
 * inside the call that starts an operation. They may start operations on that context but not
 * advance it. The context argument is never NULL.
 *
 * Buffers. The program may reuse parameter structures, and all buffers of immediate sends, when the
 * call returns. It may reuse buffers of other operations after the local completion function.
 *
 * Results. A function that returns anything but PAMI_SUCCESS leaves its outputs as they were, and
 * PAMI_Error_text() gives the reason. PAMI_INVAL: a bad argument; PAMI_ENOMEM: out of memory;
 * PAMI_UNIMPL: not part of this version (pami/README.md has the list). In a forked child every call
 * returns an error. Sizes are bytes unless said otherwise.
 */
#ifndef __pami_h__
#define __pami_h__

#include <stdint.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "pami_sys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Results, handles, callbacks. ---- */

typedef enum {
	PAMI_SUCCESS = 0,      /* accepted, or done */
	PAMI_NERROR = -1,      /* failed */
	PAMI_ERROR = 1,        /* failed */
	PAMI_INVAL,            /* bad argument */
	PAMI_UNIMPL,           /* this function or extension does not exist */
	PAMI_EAGAIN,           /* nothing to do now, or try again later */
	PAMI_ENOMEM,           /* out of memory */
	PAMI_SHUTDOWN,         /* the task died or left the job */
	PAMI_CHECK_ERRNO,      /* see errno */
	PAMI_OTHER,            /* none of these */
	PAMI_RESULT_EXT = 1000 /* first value of extensions */
} pami_result_t;

typedef void *pami_client_t;
typedef void *pami_context_t;
typedef void *pami_type_t;
typedef uint32_t pami_task_t;
typedef uint32_t pami_endpoint_t; /* task << 6 | offset; store, compare and send it freely */
typedef void *pami_geometry_t;
typedef size_t pami_algorithm_t; /* valid in this process only */

/* Null values; variables, valid before main. Destroyed handles are set to them. */
extern pami_client_t PAMI_CLIENT_NULL;
extern pami_type_t PAMI_TYPE_NULL;
extern pami_context_t PAMI_CONTEXT_NULL;
extern pami_geometry_t PAMI_GEOMETRY_NULL;
extern pami_algorithm_t PAMI_ALGORITHM_NULL;
extern pami_endpoint_t PAMI_ENDPOINT_NULL; /* all ones: no real endpoint */
extern size_t PAMI_ALL_CONTEXTS;           /* as a geometry's context offset: every context */

/* Reports a completion. cookie: from the start of the operation. result: PAMI_SUCCESS, or why the
 * operation failed. */
typedef void (*pami_event_function)(pami_context_t context, void *cookie, pami_result_t result);
/* target = target op source over `bytes` contiguous bytes, a whole number of atoms. */
typedef void (*pami_data_function)(void *target, void *source, size_t bytes, void *cookie);
/* Posted work. If it returns PAMI_EAGAIN, the next progress call calls it again. */
typedef pami_result_t (*pami_work_function)(pami_context_t context, void *cookie);
/* Belongs to the library while the work is queued. Alignment: 4 bytes or more. */
typedef uintptr_t pami_work_t[PAMI_WORK_SIZE_STATIC / sizeof(uintptr_t)];

/* ---- Attributes. ---- */

typedef char *pami_user_key_t;
typedef char *pami_user_value_t;
typedef struct {
	pami_user_key_t key;
	pami_user_value_t value;
} pami_user_config_t;

typedef enum {
	/* of a client */
	PAMI_CLIENT_CLOCK_MHZ = 100,     /* intval: core clock, MHz */
	PAMI_CLIENT_CONST_CONTEXTS,      /* intval: 1, every task has the same number of contexts */
	PAMI_CLIENT_HWTHREADS_AVAILABLE, /* intval: processors for each task, at least 1 */
	PAMI_CLIENT_MEMREGION_SIZE,      /* intval: bytes of a pami_memregion_t, 64 */
	PAMI_CLIENT_MEM_SIZE,            /* intval: memory of the machine, MiB */
	PAMI_CLIENT_NUM_TASKS,           /* intval: tasks of the job */
	PAMI_CLIENT_NUM_LOCAL_TASKS,     /* intval: tasks of this torus node, self included */
	PAMI_CLIENT_LOCAL_TASKS, /* intarray: their numbers, ascending; valid while the client is */
	PAMI_CLIENT_NUM_CONTEXTS, /* intval: how many contexts the client may have: 2 .. 64, 2^n */
	PAMI_CLIENT_PROCESSOR_NAME, /* chararray: unique name of this process, under 128 bytes */
	PAMI_CLIENT_TASK_ID,        /* intval: this task */
	PAMI_CLIENT_WTIMEBASE_MHZ,  /* intval: PAMI_Wtimebase ticks in a microsecond, 1600 */
	PAMI_CLIENT_WTICK,          /* doubleval: resolution of PAMI_Wtime, seconds */
	/* of a context */
	PAMI_CONTEXT_DISPATCH_ID_MAX = 200, /* intval: largest dispatch id, 1023 */
	/* of a dispatch id; the same on every task */
	/* intval: largest header + data bytes of an immediate receive */
	PAMI_DISPATCH_RECV_IMMEDIATE_MAX = 300,
	/* intval: largest header + data bytes of PAMI_Send_immediate */
	PAMI_DISPATCH_SEND_IMMEDIATE_MAX,
	PAMI_DISPATCH_ATOM_SIZE_MAX, /* intval: largest atom of a type in typed sends, 128 */
	/* of a geometry */
	PAMI_GEOMETRY_OPTIMIZE = 400, /* intval: nonzero asks for algorithms on torus hardware */
	/* of a type */
	PAMI_TYPE_DATA_SIZE = 500, /* intval: payload bytes of one instance */
	PAMI_TYPE_DATA_EXTENT,     /* intval: distance from one instance to the next */
	PAMI_TYPE_ATOM_SIZE,       /* intval: indivisible unit */
	PAMI_ATTRIBUTE_NAME_EXT = 1000
} pami_attribute_name_t;

typedef union {
	size_t intval;
	double doubleval;
	const char *chararray;
	const size_t *intarray;
} pami_attribute_value_t;

typedef struct {
	pami_attribute_name_t name;
	pami_attribute_value_t value;
} pami_configuration_t;

/*
 * Fill in the value of each of num_configs entries, in order. PAMI_INVAL at the first name that is
 * unknown or belongs to another kind of object; the entries before it are filled. With a count of 0
 * the pointer does not matter. Arrays and texts belong to the client and live as long. Any thread.
 */
pami_result_t PAMI_Client_query(pami_client_t client, pami_configuration_t configuration[],
				size_t num_configs);
/* PAMI_INVAL: all attributes of clients are read-only. PAMI_SUCCESS for a count of 0. */
pami_result_t PAMI_Client_update(pami_client_t client, pami_configuration_t configuration[],
				 size_t num_configs);
/* PAMI_Client_query for attributes of a context. Callbacks may call it. */
pami_result_t PAMI_Context_query(pami_context_t context, pami_configuration_t configuration[],
				 size_t num_configs);
/* PAMI_INVAL: all are read-only. PAMI_SUCCESS for a count of 0. */
pami_result_t PAMI_Context_update(pami_context_t context, pami_configuration_t configuration[],
				  size_t num_configs);
/* PAMI_Client_query for attributes of a geometry. */
pami_result_t PAMI_Geometry_query(pami_geometry_t geometry, pami_configuration_t configuration[],
				  size_t num_configs);
/* Collective over the geometry; if it returns PAMI_SUCCESS, fn follows on `context` and algorithm
 * lists fetched before must be fetched again. fn gets PAMI_SHUTDOWN if a member has died. */
pami_result_t PAMI_Geometry_update(pami_geometry_t geometry, pami_configuration_t configuration[],
				   size_t num_configs, pami_context_t context,
				   pami_event_function fn, void *cookie);

/* ---- Clients. ---- */

/*
 * Join the job. name: any text, for messages; names need not differ. configuration is ignored. All
 * tasks create their clients in the same order; at least four may exist at a time. Does not
 * synchronise. PAMI_ERROR: no job could be joined; the reason is logged.
 */
pami_result_t PAMI_Client_create(const char *name, pami_client_t *client,
				 pami_configuration_t configuration[], size_t num_configs);
/* Leave the job. Destroys the contexts that are left. Waits until operations that were reported
 * complete cannot be lost. PAMI_INVAL in a callback of one of these contexts. */
pami_result_t PAMI_Client_destroy(pami_client_t *client);

/* ---- Contexts, progress, locks, work. ---- */

/*
 * Create ncontexts (1 .. PAMI_CLIENT_NUM_CONTEXTS) contexts, once for each client. The index in the
 * array is the offset in endpoints. Local: messages that peers sent earlier are kept and arrive.
 * PAMI_INVAL: too many, or the client has contexts already.
 */
pami_result_t PAMI_Context_createv(pami_client_t client, pami_configuration_t configuration[],
				   size_t num_configs, pami_context_t context[], size_t ncontexts);
/* Destroy all contexts of a client. Operations that the program did not wait for may be dropped.
 * PAMI_INVAL in a callback of one of the contexts. */
pami_result_t PAMI_Context_destroyv(pami_context_t *contexts, size_t ncontexts);

/*
 * Call fn(context, cookie) in a later progress call on the context. If fn returns PAMI_EAGAIN, the
 * next progress call calls it again. Any thread; lock-free; first in, first out for each thread.
 * The work object belongs to the library until it calls fn. After that the library uses it only if
 * fn returns PAMI_EAGAIN, so fn may free it or post it again.
 */
pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t *work, pami_work_function fn,
				void *cookie);

/*
 * Make progress: poll the network and posted work and call the callbacks that are due, until there
 * is an event, at most `maximum` times. PAMI_SUCCESS: there was an event; PAMI_EAGAIN: none
 * (PAMI_SUCCESS with QUINTORUS_ADVANCE=success in the environment). A call that finds nothing for
 * long may sleep briefly; arrivals and posts wake it. maximum >= 2^31: wait for an event.
 */
pami_result_t PAMI_Context_advance(pami_context_t context, size_t maximum);
/* The same for several contexts in turn; returns after the first round with an event. */
pami_result_t PAMI_Context_advancev(pami_context_t context[], size_t count, size_t maximum);
/* The same, with each context's lock held during its poll. Skips contexts that are locked. */
pami_result_t PAMI_Context_trylock_advancev(pami_context_t context[], size_t count, size_t maximum);

/* Take the context's lock, which programs and asynchronous progress share. Waits for it. Any
 * thread. Not recursive. */
pami_result_t PAMI_Context_lock(pami_context_t context);
/* Take the lock if it is free. PAMI_EAGAIN: it is taken. Any thread. */
pami_result_t PAMI_Context_trylock(pami_context_t context);
/* Release the lock. Only the thread that took it may call. */
pami_result_t PAMI_Context_unlock(pami_context_t context);

/* ---- Endpoints. ---- */

/* The endpoint of a task's context. Pure arithmetic: does not check that the context exists.
 * PAMI_INVAL: task above 2^26 - 2, or offset above 63. Any thread. */
pami_result_t PAMI_Endpoint_create(pami_client_t client, pami_task_t task, size_t offset,
				   pami_endpoint_t *endpoint);
/* The task and the context offset of an endpoint. Any thread. */
pami_result_t PAMI_Endpoint_query(pami_endpoint_t endpoint, pami_task_t *task, size_t *offset);

/*
 * The same as macros, which store integers of any type, because programs pass a size_t * for the
 * task. A create that fails stores the null endpoint.
 * (PAMI_Endpoint_query)(...) calls the function.
 */
#if defined(__GNUC__)
#define PAMI_Endpoint_create(client, task, offset, endpoint)                                       \
	(__extension__({                                                                           \
		pami_endpoint_t pami_endpoint_ = (pami_endpoint_t)-1;                              \
		pami_result_t pami_result_ = (PAMI_Endpoint_create)((client), (pami_task_t)(task), \
								    (offset), &pami_endpoint_);    \
		*(endpoint) = pami_endpoint_;                                                      \
		pami_result_;                                                                      \
	}))
#define PAMI_Endpoint_query(endpoint, task, offset)                                                \
	(__extension__({                                                                           \
		pami_task_t pami_task_ = 0;                                                        \
		size_t pami_offset_ = 0;                                                           \
		pami_result_t pami_result_ =                                                       \
		    (PAMI_Endpoint_query)((endpoint), &pami_task_, &pami_offset_);                 \
		*(task) = pami_task_;                                                              \
		*(offset) = pami_offset_;                                                          \
		pami_result_;                                                                      \
	}))
#endif

/* ---- Time and errors. ---- */

/* Seconds since some moment, monotonic; virtual time if the job's clock is virtual. */
double PAMI_Wtime(pami_client_t client);
/* The same in ticks, PAMI_CLIENT_WTIMEBASE_MHZ in a microsecond. */
unsigned long long PAMI_Wtimebase(pami_client_t client);
/*
 * Why the calling thread's most recent failing call failed: NUL-terminated text of at most
 * length - 1 characters. Returns its length; 0 and an empty string if none failed.
 */
size_t PAMI_Error_text(char *string, size_t length);

/* ---- Active messages. ---- */

typedef enum {
	PAMI_HINT_DEFAULT = 0,
	PAMI_HINT_ENABLE = 1,
	PAMI_HINT_DISABLE = 2,
	PAMI_HINT_INVALID = 3
} pami_hint_t;

/*
 * Promises about a dispatch id, the same on every task. Any bits are accepted. These have an
 * effect: long_header (DISABLE: headers above PAMI_DISPATCH_RECV_IMMEDIATE_MAX give PAMI_INVAL),
 * recv_immediate, recv_contiguous, recv_copy, queue_immediate, use_shmem (ENABLE: a send to a task
 * on another node gives PAMI_INVAL), use_rdma (for messages that are not received immediately,
 * ENABLE: the target fetches them all, DISABLE: none). Order is always kept. buffer_registered has
 * no effect: any memory can be reached and is checked.
 */
typedef struct {
	unsigned multicontext : 2;
	unsigned long_header : 2;
	unsigned recv_contiguous : 2; /* ENABLE: the receiver leaves type and offset unset */
	unsigned recv_copy : 2;      /* ENABLE: the receiver leaves data_fn and data_cookie unset */
	unsigned recv_immediate : 2; /* DISABLE: every receive is asynchronous, even of 0 bytes */
	unsigned consistency : 2;
	unsigned buffer_registered : 2;
	unsigned remote_async_progress : 2;
	unsigned use_rdma : 2;
	unsigned use_shmem : 2;
	unsigned queue_immediate : 2; /* DISABLE: PAMI_Send_immediate may return PAMI_EAGAIN */
} pami_dispatch_hint_t;

/* Hints for one operation, in the layout of the dispatch hints. They have no effect, because
 * programs leave them uninitialised. */
typedef struct {
	unsigned reserved0 : 12;
	unsigned buffer_registered : 2;
	unsigned remote_async_progress : 2;
	unsigned use_rdma : 2;
	unsigned use_shmem : 2;
	unsigned reserved1 : 2;
} pami_send_hint_t;

typedef struct {
	unsigned multicontext : 2;
	unsigned reserved0 : 20;
} pami_collective_hint_t;

typedef struct {
	struct iovec header; /* length 0: base may be NULL */
	struct iovec data;   /* the same */
	size_t dispatch;     /* 0 .. PAMI_CONTEXT_DISPATCH_ID_MAX, set on this context */
	pami_send_hint_t hints;
	pami_endpoint_t dest;
} pami_send_immediate_t;

typedef struct {
	void *cookie;
	pami_event_function local_fn; /* header and data may be reused; or NULL */
	/* The target's receive is complete; or NULL. Called after local_fn. */
	pami_event_function remote_fn;
} pami_send_event_t;

typedef struct {
	pami_send_immediate_t send;
	pami_send_event_t events;
} pami_send_t;

typedef struct {
	pami_send_immediate_t send;
	pami_send_event_t events;
	struct {
		pami_type_t type; /* the payload is gathered from data.iov_base through it ... */
		size_t offset;    /* ... starting this many payload bytes in */
		pami_data_function data_fn;
		void *data_cookie;
	} typed;
} pami_send_typed_t;

/* A dispatch function fills this for an asynchronous receive. The library passes { NULL, NULL,
 * NULL, PAMI_TYPE_BYTE, 0, PAMI_DATA_COPY, NULL }. */
typedef struct {
	void *cookie;
	pami_event_function local_fn; /* everything is stored; or NULL */
	void *addr;
	pami_type_t type;
	size_t offset;
	pami_data_function data_fn;
	void *data_cookie;
} pami_recv_t;

/*
 * A message has arrived. header_addr: the whole header, 8-byte aligned, valid (and writable) during
 * the call. Immediate receive: recv is NULL and pipe_addr, never NULL, holds data_size bytes valid
 * during the call. Asynchronous receive: pipe_addr is NULL and the function fills *recv.
 * Immediate exactly when header + data <= PAMI_DISPATCH_RECV_IMMEDIATE_MAX, unless the id's
 * recv_immediate hint is DISABLE. origin may be sent to.
 */
typedef void (*pami_dispatch_p2p_function)(pami_context_t context, void *cookie,
					   const void *header_addr, size_t header_size,
					   const void *pipe_addr, size_t data_size,
					   pami_endpoint_t origin, pami_recv_t *recv);

/*
 * Send header and data of any length. PAMI_INVAL: dispatch not set here, no such endpoint, or
 * use_shmem to a task on another node; PAMI_ENOMEM, PAMI_SHUTDOWN (the task died or left): nothing
 * is sent. Else both completion functions are called; remote_fn gets PAMI_ENOMEM if the target had
 * no memory.
 */
pami_result_t PAMI_Send(pami_context_t context, pami_send_t *parameters);
/*
 * The same, complete when it returns, for header + data <= PAMI_DISPATCH_SEND_IMMEDIATE_MAX (more:
 * PAMI_INVAL). PAMI_EAGAIN, only with queue_immediate DISABLE: the network is full.
 */
pami_result_t PAMI_Send_immediate(pami_context_t context, pami_send_immediate_t *parameters);
/* As PAMI_Send; data.iov_len payload bytes are gathered through typed.type. The receiver
 * may use any type. PAMI_INVAL also: not a complete type, or one without data. */
pami_result_t PAMI_Send_typed(pami_context_t context, pami_send_typed_t *parameters);

/* The DISPATCH attributes of an id, set or not. PAMI_INVAL above the largest id. */
pami_result_t PAMI_Dispatch_query(pami_context_t context, size_t dispatch,
				  pami_configuration_t configuration[], size_t num_configs);
/* Always PAMI_INVAL. */
pami_result_t PAMI_Dispatch_update(pami_context_t context, size_t dispatch,
				   pami_configuration_t configuration[], size_t num_configs);

/* ---- One-sided operations. ---- */

typedef struct {
	pami_endpoint_t dest;
	pami_send_hint_t hints;
	size_t bytes;
	void *cookie;
	pami_event_function done_fn; /* put: the source may be reused; get: the data is here */
} pami_rma_t;

typedef struct {
	void *local;
	void *remote; /* an address of the target task */
} pami_rma_addr_t;
typedef struct {
	pami_type_t local;
	pami_type_t remote; /* a type of the origin too */
} pami_rma_typed_t;
typedef struct {
	pami_event_function rdone_fn; /* the data is in place at the target; or NULL */
} pami_rma_put_t;

typedef struct {
	pami_rma_t rma;
	pami_rma_addr_t addr;
	pami_rma_put_t put;
} pami_put_simple_t;
typedef struct {
	pami_rma_t rma;
	pami_rma_addr_t addr;
	pami_rma_typed_t type;
	pami_rma_put_t put;
} pami_put_typed_t;
typedef struct {
	pami_rma_t rma;
	pami_rma_addr_t addr;
} pami_get_simple_t;
typedef struct {
	pami_rma_t rma;
	pami_rma_addr_t addr;
	pami_rma_typed_t type;
} pami_get_typed_t;

/* Bit 0: fetch; bit 1: only if the old value equals *test; bits 2 .. 4: what to do. */
typedef enum {
	PAMI_ATOMIC_FETCH = 0x01,
	PAMI_ATOMIC_COMPARE = 0x02,
	PAMI_ATOMIC_SET = 0x04,
	PAMI_ATOMIC_ADD = 0x08,
	PAMI_ATOMIC_OR = 0x0c,
	PAMI_ATOMIC_AND = 0x10,
	PAMI_ATOMIC_XOR = 0x14,
	PAMI_ATOMIC_FETCH_SET = 0x05,
	PAMI_ATOMIC_FETCH_ADD = 0x09,
	PAMI_ATOMIC_FETCH_OR = 0x0d,
	PAMI_ATOMIC_FETCH_AND = 0x11,
	PAMI_ATOMIC_FETCH_XOR = 0x15,
	PAMI_ATOMIC_COMPARE_SET = 0x06,
	PAMI_ATOMIC_COMPARE_ADD = 0x0a,
	PAMI_ATOMIC_COMPARE_OR = 0x0e,
	PAMI_ATOMIC_COMPARE_AND = 0x12,
	PAMI_ATOMIC_COMPARE_XOR = 0x16,
	PAMI_ATOMIC_FETCH_COMPARE_SET = 0x07,
	PAMI_ATOMIC_FETCH_COMPARE_ADD = 0x0b,
	PAMI_ATOMIC_FETCH_COMPARE_OR = 0x0f,
	PAMI_ATOMIC_FETCH_COMPARE_AND = 0x13,
	PAMI_ATOMIC_FETCH_COMPARE_XOR = 0x17
} pami_atomic_t;

typedef struct {
	pami_endpoint_t dest;
	pami_send_hint_t hints;
	void *cookie;
	pami_event_function done_fn; /* fetched value in place, or update done; or NULL */
	void *local;                 /* where a fetch puts the old value; else ignored */
	void *remote;                /* naturally aligned address at the target */
	void *value;                 /* operand; read before the call returns */
	void *test;                  /* read before the call returns; ignored without compare */
	pami_atomic_t operation;
	pami_type_t type; /* SIGNED or UNSIGNED INT, LONG, LONG_LONG */
} pami_rmw_t;

/*
 * Copy rma.bytes from local memory to memory of the target task. No registration on either side;
 * any alignment; 0 bytes complete at once. If a page is not mapped, the completion functions get
 * PAMI_ERROR. PAMI_INVAL: no such endpoint.
 */
pami_result_t PAMI_Put(pami_context_t context, pami_put_simple_t *parameters);
/* The same from memory of the target task to local memory. */
pami_result_t PAMI_Get(pami_context_t context, pami_get_simple_t *parameters);
/* PAMI_Put between layouts, from offset 0 of each; the remote type travels with the request.
 * PAMI_INVAL also: not a complete type, or one without data. */
pami_result_t PAMI_Put_typed(pami_context_t context, pami_put_typed_t *parameters);
/* PAMI_Get in the same way. */
pami_result_t PAMI_Get_typed(pami_context_t context, pami_get_typed_t *parameters);
/* One atomic operation at the target, atomic with all other rmws on that task. It needs
 * progress on the target context, unless the target's memory is shared with this task. PAMI_INVAL:
 * operation or type not in the lists above, or no such endpoint. If the address is not mapped,
 * done_fn gets PAMI_ERROR. */
pami_result_t PAMI_Rmw(pami_context_t context, pami_rmw_t *parameters);

/* ---- Memory regions. ---- */

/* Names memory of one task, by value: any task may copy, send and use it, without a time limit. */
typedef uintptr_t pami_memregion_t[PAMI_CLIENT_MEMREGION_SIZE_STATIC / sizeof(uintptr_t)];

typedef struct {
	pami_memregion_t *mr;
	size_t offset; /* bytes from the region's start */
} pami_rma_mr_t;
typedef struct {
	pami_rma_mr_t local;
	pami_rma_mr_t remote;
} pami_rdma_t;

typedef struct {
	pami_rma_t rma;
	pami_rdma_t rdma;
	pami_rma_put_t put;
} pami_rput_simple_t;
typedef struct {
	pami_rma_t rma;
	pami_rdma_t rdma;
	pami_rma_typed_t type;
	pami_rma_put_t put;
} pami_rput_typed_t;
typedef struct {
	pami_rma_t rma;
	pami_rdma_t rdma;
} pami_rget_simple_t;
typedef struct {
	pami_rma_t rma;
	pami_rdma_t rdma;
	pami_rma_typed_t type;
} pami_rget_typed_t;

/* Name [address, address + bytes_in): any memory, alignment and length, 0 included; *bytes_out ==
 * bytes_in. Takes no resources. Any context of the client, any thread. */
pami_result_t PAMI_Memregion_create(pami_context_t context, void *address, size_t bytes_in,
				    size_t *bytes_out, pami_memregion_t *memregion);
/* Clear this copy of a region; through any context of the client. */
pami_result_t PAMI_Memregion_destroy(pami_context_t context, pami_memregion_t *memregion);
/* PAMI_Put with (region, offset) for addresses; the regions are read in the call. PAMI_INVAL also:
 * not a region, or the remote one is not the destination's. */
pami_result_t PAMI_Rput(pami_context_t context, pami_rput_simple_t *parameters);
/* PAMI_Get in the same way. */
pami_result_t PAMI_Rget(pami_context_t context, pami_rget_simple_t *parameters);
/* PAMI_Put_typed in the same way. */
pami_result_t PAMI_Rput_typed(pami_context_t context, pami_rput_typed_t *parameters);
/* PAMI_Get_typed in the same way. */
pami_result_t PAMI_Rget_typed(pami_context_t context, pami_rget_typed_t *parameters);

/* ---- Fences, dynamic tasks. ---- */

/* Open a region of fenced operations on this context; not nested (PAMI_INVAL). */
pami_result_t PAMI_Fence_begin(pami_context_t context);
/* Close the region; its fences in flight still complete. PAMI_INVAL: no region is open. */
pami_result_t PAMI_Fence_end(pami_context_t context);
/* Call done_fn when every send, put and get started earlier in this region is complete at its
 * target. Outside a region the fence waits for nothing, and the library prints a warning. */
pami_result_t PAMI_Fence_all(pami_context_t context, pami_event_function done_fn, void *cookie);
/* The same for operations to one endpoint. */
pami_result_t PAMI_Fence_endpoint(pami_context_t context, pami_event_function done_fn, void *cookie,
				  pami_endpoint_t target);
/* Drop the state of destinations. There is none, so this returns PAMI_SUCCESS. */
pami_result_t PAMI_Purge(pami_context_t context, pami_endpoint_t *dest, size_t count);
/* Create that state again: returns PAMI_SUCCESS. */
pami_result_t PAMI_Resume(pami_context_t context, pami_endpoint_t *dest, size_t count);

/* ---- Types and data functions. ---- */

/*
 * A new type, empty and incomplete. A type is a list of (displacement, length) pieces, built with a
 * cursor that starts at 0. Data size: sum of the lengths. Extent: where the cursor ends; more data
 * than one instance repeats at multiples of it. Atom: indivisible, divides every length.
 * Displacements wrap: negative moves are cast to size_t.
 */
pami_result_t PAMI_Type_create(pami_type_t *type);
/* cursor += offset, then count times: a piece of `bytes` at the cursor, cursor += stride.
 * PAMI_INVAL once complete. */
pami_result_t PAMI_Type_add_simple(pami_type_t type, size_t bytes, size_t offset, size_t count,
				   size_t stride);
/* The same with a whole (complete) subtype for the piece. */
pami_result_t PAMI_Type_add_typed(pami_type_t type, pami_type_t subtype, size_t offset,
				  size_t count, size_t stride);
/* Make the type complete; it cannot change any more. PAMI_INVAL: complete already, or atom_size (1
 * .. 128) does not divide every piece. */
pami_result_t PAMI_Type_complete(pami_type_t type, size_t atom_size);
/* Destroy a type and clear the handle; transfers in flight keep what they need.
 * PAMI_INVAL: predefined, or not a type. */
pami_result_t PAMI_Type_destroy(pami_type_t *type);
/* A flat image of a complete type: *size bytes at *address. It belongs to the type and lives as
 * long. */
pami_result_t PAMI_Type_serialize(pami_type_t type, void **address, size_t *size);
/* A new complete type from an image of any task; the image may be freed afterwards. PAMI_INVAL: not
 * an image. */
pami_result_t PAMI_Type_deserialize(pami_type_t *type, void *address, size_t size);
/* PAMI_Client_query for the TYPE attributes, bytes. PAMI_INVAL: not complete. */
pami_result_t PAMI_Type_query(pami_type_t type, pami_configuration_t configuration[],
			      size_t num_configs);
/*
 * Move `size` payload bytes between two layouts of this task's memory; offsets count payload bytes.
 * With PAMI_DATA_COPY the two may overlap, as if all were read before anything is written.
 * PAMI_INVAL: not complete types, one without data, or no function.
 */
pami_result_t PAMI_Type_transform_data(void *src_addr, pami_type_t src_type, size_t src_offset,
				       void *dst_addr, pami_type_t dst_type, size_t dst_offset,
				       size_t size, pami_data_function data_fn, void *cookie);

/* Predefined; size = extent = atom. LOC types are pairs { value, index } in C struct layout. */
extern pami_type_t PAMI_TYPE_BYTE, PAMI_TYPE_SIGNED_CHAR, PAMI_TYPE_UNSIGNED_CHAR,
    PAMI_TYPE_SIGNED_SHORT, PAMI_TYPE_UNSIGNED_SHORT, PAMI_TYPE_SIGNED_INT, PAMI_TYPE_UNSIGNED_INT,
    PAMI_TYPE_SIGNED_LONG, PAMI_TYPE_UNSIGNED_LONG, PAMI_TYPE_SIGNED_LONG_LONG,
    PAMI_TYPE_UNSIGNED_LONG_LONG, PAMI_TYPE_FLOAT, PAMI_TYPE_DOUBLE, PAMI_TYPE_LONG_DOUBLE,
    PAMI_TYPE_LOGICAL1, PAMI_TYPE_LOGICAL2, PAMI_TYPE_LOGICAL4, PAMI_TYPE_LOGICAL8,
    PAMI_TYPE_SINGLE_COMPLEX, PAMI_TYPE_DOUBLE_COMPLEX, PAMI_TYPE_LOC_2INT, PAMI_TYPE_LOC_2FLOAT,
    PAMI_TYPE_LOC_2DOUBLE, PAMI_TYPE_LOC_SHORT_INT, PAMI_TYPE_LOC_FLOAT_INT,
    PAMI_TYPE_LOC_DOUBLE_INT, PAMI_TYPE_LOC_LONG_INT, PAMI_TYPE_LOC_LONGDOUBLE_INT;

/* target = target op source. The library recognises them by value. A program may call only COPY and
 * NOOP. */
extern pami_data_function PAMI_DATA_COPY, PAMI_DATA_NOOP, PAMI_DATA_MAX, PAMI_DATA_MIN,
    PAMI_DATA_SUM, PAMI_DATA_PROD, PAMI_DATA_LAND, PAMI_DATA_LOR, PAMI_DATA_LXOR, PAMI_DATA_BAND,
    PAMI_DATA_BOR, PAMI_DATA_BXOR, PAMI_DATA_MAXLOC, PAMI_DATA_MINLOC;

/* ---- Geometries. ---- */

typedef enum {
	PAMI_XFER_BROADCAST = 0,
	PAMI_XFER_ALLREDUCE,
	PAMI_XFER_REDUCE,
	PAMI_XFER_ALLGATHER,
	PAMI_XFER_ALLGATHERV,
	PAMI_XFER_ALLGATHERV_INT,
	PAMI_XFER_SCATTER,
	PAMI_XFER_SCATTERV,
	PAMI_XFER_SCATTERV_INT,
	PAMI_XFER_GATHER,
	PAMI_XFER_GATHERV,
	PAMI_XFER_GATHERV_INT,
	PAMI_XFER_BARRIER,
	PAMI_XFER_ALLTOALL,
	PAMI_XFER_ALLTOALLV,
	PAMI_XFER_ALLTOALLV_INT,
	PAMI_XFER_SCAN,
	PAMI_XFER_REDUCE_SCATTER,
	PAMI_XFER_AMBROADCAST,
	PAMI_XFER_AMSCATTER,
	PAMI_XFER_AMGATHER,
	PAMI_XFER_AMREDUCE,
	PAMI_XFER_COUNT,
	PAMI_XFER_TYPE_EXT = 1000
} pami_xfer_type_t;

typedef struct {
	pami_task_t lo;
	pami_task_t hi; /* inclusive */
} pami_geometry_range_t;

/*
 * A new geometry of ranges of tasks. Rank order is the order of the slices, list or endpoints. id:
 * positive, chosen by the program, the same on all members. With a parent all its members call,
 * those outside with a NULL geometry pointer; without one the members only. *geometry is set at
 * once and usable when fn was called on `context`, the only one that must be advanced until then;
 * members may name different ones. Arrays stay the caller's, unchanged, for the
 * geometry's life.
 *
 * Where a member is dead, or dies meanwhile (torus run --on-death error), fn is told PAMI_SHUTDOWN,
 * on some members perhaps PAMI_SUCCESS, whose next collective says so. Such a geometry is only good
 * for PAMI_Geometry_destroy.
 */
pami_result_t PAMI_Geometry_create_taskrange(pami_client_t client, size_t context_offset,
					     pami_configuration_t configuration[],
					     size_t num_configs, pami_geometry_t *geometry,
					     pami_geometry_t parent, unsigned id,
					     pami_geometry_range_t *task_slices, size_t slice_count,
					     pami_context_t context, pami_event_function fn,
					     void *cookie);
/* The same of a list of tasks. */
pami_result_t PAMI_Geometry_create_tasklist(pami_client_t client, size_t context_offset,
					    pami_configuration_t configuration[],
					    size_t num_configs, pami_geometry_t *geometry,
					    pami_geometry_t parent, unsigned id, pami_task_t *tasks,
					    size_t task_count, pami_context_t context,
					    pami_event_function fn, void *cookie);
/* The same of distinct endpoints, called once by each task that takes part. */
pami_result_t PAMI_Geometry_create_endpointlist(pami_client_t client,
						pami_configuration_t configuration[],
						size_t num_configs, pami_geometry_t *geometry,
						unsigned id, pami_endpoint_t *endpoints,
						size_t endpoint_count, pami_context_t context,
						pami_event_function fn, void *cookie);
/* All tasks, context offset 0, id 0; the same handle every time, never destroyed by the program. */
pami_result_t PAMI_Geometry_world(pami_client_t client, pami_geometry_t *world_geometry);
/*
 * Called by all members; fn (or NULL) when the id may be used again: with PAMI_SHUTDOWN if a member
 * has died, which ends it all the same. One that could not be made is ended alone. PAMI_INVAL for
 * the world and while one is being made.
 */
pami_result_t PAMI_Geometry_destroy(pami_client_t client, pami_geometry_t *geometry,
				    pami_context_t context, pami_event_function fn, void *cookie);

/* ---- Collectives. ---- */

struct pami_xfer_t;
typedef struct pami_xfer_t *xfer_p;

/* Which of an algorithm's conditions a call breaks; 0: none. */
typedef union metadata_result_t {
	unsigned bitmask;
	struct {
		unsigned unspecified : 1;
		unsigned range : 1;
		unsigned align_send_buffer : 1;
		unsigned align_recv_buffer : 1;
		unsigned datatype_op : 1;
		unsigned contiguous_send : 1;
		unsigned contiguous_recv : 1;
		unsigned continuous_send : 1;
		unsigned continuous_recv : 1;
		unsigned nonlocal : 1;
	} check;
} metadata_result_t;

typedef metadata_result_t (*pami_metadata_function)(struct pami_xfer_t *in);

typedef struct {
	char *name; /* "<list>:<algorithm>:<within node>:<between nodes>", "I0:Binomial:-:P2P" */
	unsigned version;
	pami_metadata_function check_fn; /* non-NULL where checkrequired is 1 */
	size_t range_lo;                 /* bytes */
	size_t range_hi;
	unsigned send_min_align; /* bytes */
	unsigned recv_min_align;
	union {
		unsigned bitmask_correct;
		struct {
			unsigned checkrequired : 1; /* call check_fn for every call */
			unsigned nonlocal : 1;      /* combine its answers over the tasks */
			unsigned rangeminmax : 1;
			unsigned sendminalign : 1;
			unsigned recvminalign : 1;
			unsigned alldtop : 1; /* any type with any operation */
			unsigned contigsflags : 1;
			unsigned contigrflags : 1;
			unsigned continsflags : 1;
			unsigned continrflags : 1;
			unsigned blocking : 1;
			unsigned inplace : 1;
			unsigned asyncflowctl : 1;
			unsigned oneatatime : 1;
			unsigned global_order : 4;
		} values;
	} check_correct;
	union {
		unsigned bitmask_perf;
		struct {
			unsigned hw_accel : 1;
		} values;
	} check_perf;
	size_t range_lo_perf;
	size_t range_hi_perf;
	unsigned min_align_perf;
} pami_metadata_t;

/* lists_lengths[0]: algorithms that always work; [1]: those whose metadata must be looked at. Any
 * number of threads at once. */
pami_result_t PAMI_Geometry_algorithms_num(pami_geometry_t geometry, pami_xfer_type_t coll_type,
					   size_t *lists_lengths);
/* Fill up to num0 and num1 entries of the two lists; metadata arrays may be NULL. */
pami_result_t PAMI_Geometry_algorithms_query(pami_geometry_t geometry, pami_xfer_type_t colltype,
					     pami_algorithm_t *algs0, pami_metadata_t *mdata0,
					     size_t num0, pami_algorithm_t *algs1,
					     pami_metadata_t *mdata1, size_t num1);

/* As a send buffer: my part lies where it belongs in rcvbuf already. */
#define PAMI_IN_PLACE ((void *)-1L)

/*
 * Parameters of each collective. Counts are instances of the type beside them, displacements units
 * of its extent, arrays indexed by rank. The element type of a reduction is stype. Arguments that
 * matter at the root only are ignored elsewhere.
 */
typedef struct {
	pami_endpoint_t root;
	char *buf;
	pami_type_t type;
	size_t typecount;
} pami_broadcast_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
	pami_data_function op;
	void *data_cookie;
	int commutative;
} pami_allreduce_t;

typedef struct {
	pami_endpoint_t root;
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
	pami_data_function op;
	void *data_cookie;
	int commutative;
} pami_reduce_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t *rcounts;
	pami_data_function op;
	void *data_cookie;
	int commutative;
} pami_reduce_scatter_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
	pami_data_function op;
	void *data_cookie;
	int exclusive;
} pami_scan_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
} pami_allgather_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t *rtypecounts;
	size_t *rdispls;
} pami_allgatherv_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	int stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	int *rtypecounts;
	int *rdispls;
} pami_allgatherv_int_t;

typedef struct {
	pami_endpoint_t root;
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
} pami_gather_t;

typedef struct {
	pami_endpoint_t root;
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t *rtypecounts;
	size_t *rdispls;
} pami_gatherv_t;

typedef struct {
	pami_endpoint_t root;
	char *sndbuf;
	pami_type_t stype;
	int stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	int *rtypecounts;
	int *rdispls;
} pami_gatherv_int_t;

typedef struct {
	pami_endpoint_t root;
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
} pami_scatter_t;

typedef struct {
	pami_endpoint_t root;
	char *sndbuf;
	pami_type_t stype;
	size_t *stypecounts;
	size_t *sdispls;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
} pami_scatterv_t;

typedef struct {
	pami_endpoint_t root;
	char *sndbuf;
	pami_type_t stype;
	int *stypecounts;
	int *sdispls;
	char *rcvbuf;
	pami_type_t rtype;
	int rtypecount;
} pami_scatterv_int_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	size_t stypecount;
	char *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
} pami_alltoall_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	size_t *stypecounts;
	size_t *sdispls;
	char *rcvbuf;
	pami_type_t rtype;
	size_t *rtypecounts;
	size_t *rdispls;
} pami_alltoallv_t;

typedef struct {
	char *sndbuf;
	pami_type_t stype;
	int *stypecounts;
	int *sdispls;
	char *rcvbuf;
	pami_type_t rtype;
	int *rtypecounts;
	int *rdispls;
} pami_alltoallv_int_t;

typedef struct {
} pami_barrier_t;

typedef struct {
	size_t dispatch;
	void *user_header;
	size_t headerlen;
	void *sndbuf;
	pami_type_t stype;
	size_t stypecount;
} pami_ambroadcast_t;

typedef struct {
	size_t dispatch;
	void *headers; /* one of headerlen bytes for each rank */
	size_t headerlen;
	void *sndbuf;
	pami_type_t stype;
	size_t stypecount;
} pami_amscatter_t;

typedef struct {
	size_t dispatch;
	void *headers;
	size_t headerlen;
	void *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
} pami_amgather_t;

typedef struct {
	size_t dispatch;
	void *user_header;
	size_t headerlen;
	void *rcvbuf;
	pami_type_t rtype;
	size_t rtypecount;
	void *data_cookie;
	int commutative;
} pami_amreduce_t;

typedef union {
	pami_allreduce_t xfer_allreduce;
	pami_broadcast_t xfer_broadcast;
	pami_reduce_t xfer_reduce;
	pami_allgather_t xfer_allgather;
	pami_allgatherv_t xfer_allgatherv;
	pami_allgatherv_int_t xfer_allgatherv_int;
	pami_scatter_t xfer_scatter;
	pami_scatterv_t xfer_scatterv;
	pami_scatterv_int_t xfer_scatterv_int;
	pami_gather_t xfer_gather;
	pami_gatherv_t xfer_gatherv;
	pami_gatherv_int_t xfer_gatherv_int;
	pami_alltoall_t xfer_alltoall;
	pami_alltoallv_t xfer_alltoallv;
	pami_alltoallv_int_t xfer_alltoallv_int;
	pami_ambroadcast_t xfer_ambroadcast;
	pami_amscatter_t xfer_amscatter;
	pami_amgather_t xfer_amgather;
	pami_amreduce_t xfer_amreduce;
	pami_scan_t xfer_scan;
	pami_barrier_t xfer_barrier;
	pami_reduce_scatter_t xfer_reduce_scatter;
} pami_collective_t;

typedef struct pami_xfer_t {
	pami_event_function cb_done; /* or NULL */
	void *cookie;
	pami_algorithm_t algorithm;     /* names the operation and the geometry */
	pami_collective_hint_t options; /* any bits */
	pami_collective_t cmd;
} pami_xfer_t;

/*
 * Start a collective. Every member endpoint calls it once, on its own context, in the same order
 * for each geometry. Non-blocking: cb_done(context, cookie, result) follows when local buffers hold
 * results and may be reused (barrier: when all have entered). The structure is copied; buffers and
 * count arrays stay until then. PAMI_INVAL: not an algorithm, or this endpoint is no member.
 */
pami_result_t PAMI_Collective(pami_context_t context, pami_xfer_t *cmd);

/* ---- Dispatch registration, active-message collectives. ---- */

typedef void (*pami_dispatch_ambroadcast_function)(pami_context_t context, void *cookie,
						   const void *header_addr, size_t header_size,
						   const void *pipe_addr, size_t data_size,
						   pami_endpoint_t origin, pami_geometry_t geometry,
						   pami_recv_t *recv);
typedef void (*pami_dispatch_amscatter_function)(pami_context_t context, void *cookie,
						 const void *header_addr, size_t header_size,
						 const void *pipe_addr, size_t data_size,
						 pami_endpoint_t origin, pami_geometry_t geometry,
						 pami_recv_t *recv);
typedef void (*pami_dispatch_amgather_function)(pami_context_t context, void *cookie,
						const void *header_addr, size_t header_size,
						size_t data_size, pami_endpoint_t origin,
						pami_geometry_t geometry, pami_recv_t *send);
typedef void (*pami_dispatch_amreduce_function)(pami_context_t context, void *cookie,
						const void *header_addr, size_t header_size,
						size_t data_size, pami_endpoint_t origin,
						pami_geometry_t geometry, pami_data_function *op,
						pami_recv_t *send);

typedef union {
	pami_dispatch_p2p_function p2p;
	pami_dispatch_ambroadcast_function ambroadcast;
	pami_dispatch_amscatter_function amscatter;
	pami_dispatch_amgather_function amgather;
	pami_dispatch_amreduce_function amreduce;
} pami_dispatch_callback_function;

/*
 * Set the function, cookie and hints of one id on one context. Messages for the id that arrived
 * earlier were held (up to QUINTORUS_HELD bytes for all ids); the next progress calls dispatch
 * them. PAMI_INVAL: set already (the first one stays), id too large, or no function; a failed call
 * leaves the id unset.
 */
pami_result_t PAMI_Dispatch_set(pami_context_t context, size_t dispatch,
				pami_dispatch_callback_function fn, void *cookie,
				pami_dispatch_hint_t options);
/* The same for an active-message collective; ids apart from those of messages; may be set again. */
pami_result_t PAMI_AMCollective_dispatch_set(pami_context_t context, pami_algorithm_t algorithm,
					     size_t dispatch, pami_dispatch_callback_function fn,
					     void *cookie, pami_collective_hint_t options);

/* ---- Extensions. ---- */

typedef void *pami_extension_t;

/*
 * Open an extension by its exact name. client may be NULL. PAMI_UNIMPL: no such extension;
 * PAMI_ERROR: no client exists. Then *extension is NULL. These extensions and symbols exist;
 * programs declare the types themselves:
 *
 *   EXT_async_progress   threads of the library make progress. Any thread may call.
 *     register           pami_result_t (*)(pami_context_t, fn progress, fn suspend, fn resume,
 *                        void *cookie) with fn: void (*)(pami_context_t, void *cookie). Call it
 *                        before enable. progress NULL: the library locks and advances the context.
 *                        The library calls resume when service begins and suspend, on a thread of
 *                        its own, when it ends; either may be NULL. disable and
 *                        PAMI_Context_destroyv wait at most 0.1 s for suspend, which may need a
 *                        lock that their caller holds.
 *     enable             pami_result_t (*)(pami_context_t, int event_type). 0: all, 1: receive,
 *                        2: timer (all three do the same); 1000: threads of the program that wait
 *                        in other contexts may advance it, too. PAMI_ERROR: the job has no
 *                        commthreads.
 *     disable            the type of enable. When it returns, the library's thread has left the
 *                        context.
 *     pace               void (*)(int64_t ns): how commthreads wait. < 0: for arrivals, 0: not at
 *                        all, else for so long. An addition of Quintorus.
 *   EXT_torus_network    the torus of the job, dimensions A B C D E T. Any thread may call.
 *     information        const struct { size_t dims, *coord, *size, *torus; } *(*)(void): dims is
 *                        6; own coordinates; lengths; 1 where a dimension wraps
 *     task2torus         pami_result_t (*)(pami_task_t, size_t coord[6])
 *     torus2task         pami_result_t (*)(size_t coord[6], pami_task_t *). PAMI_INVAL: outside
 *                        the torus; PAMI_ERROR: no task there
 *   EXT_is_local_task    task t is on this node iff base[t * stride] & bitmask
 *     base, stride, bitmask  uint8_t *; the integers 4 and 0x40
 *     get_node_info      pami_result_t (*)(pami_task_t, uint32_t *node_id, uint32_t *offset,
 *                        uint32_t *max_nodes)
 *   BGQ_bgq_mapping
 *     mapcache           uint32_t *, one word a task; bit 0x40000000: on this node
 *   EXT_test_extension
 *     foo                void (*)(void), prints a line on stderr
 *     bar                void (*)(struct { size_t line; char func[128]; } *)
 *   EXT_quintorus_memory memory that the tasks of a host share: alloc, free, local (ext_memory.h)
 *   EXT_quintorus_deaths tasks that died: watch, gone (ext_deaths.h)
 *   EXT_quintorus_wait   advancev: progress for a call that waits; room: would an operation start
 *                        now (ext_wait.h)
 *   EXT_quintorus_atomics  which atomics the messaging units carry out; count: many that complete
 *                        as one set (ext_atomics.h)
 *   EXT_quintorus_address  mode, send, arrived, lead, delay, unit, counter: messages that the
 *                        network leads to a block that moves; has_near, near, claim, unpin, death:
 *                        accesses of blocks on the same host (ext_address.h)
 *   EXT_quintorus_place  messages assembled in place: reserve, commit, words, padded, framed
 *                        (ext_place.h)
 *   EXT_quintorus_credit credits a peer, which bound what a target that does not poll must keep:
 *                        open, settle, wait (ext_credit.h)
 *   EXT_quintorus_pieces gets of many pieces in one request: get (ext_pieces.h)
 *   EXT_quintorus_virtual virtual time: is_on, read, spend, sync, exclude, cost, doubt,
 *                        keep_turn, may_spin (ext_virtual.h)
 */
pami_result_t PAMI_Extension_open(pami_client_t client, const char *name,
				  pami_extension_t *extension);
/* Close an extension; its symbols stay valid. NULL is allowed. */
pami_result_t PAMI_Extension_close(pami_extension_t extension);
/* A function, a data pointer, or an integer cast to a pointer; NULL: no such symbol. Upper and
 * lower case are the same. Valid after close, too. */
void *PAMI_Extension_symbol(pami_extension_t extension, const char *name);

#ifdef __cplusplus
}
#endif
#endif
