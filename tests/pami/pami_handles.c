/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every public function with every kind of bad handle (none, destroyed, wild) and missing
 * parameter: PAMI_INVAL, never a crash. Each case runs in a forked process, so that a crash is one
 * failure. With QT_LIST the program prints each case that has run, from which pami_handles.sh
 * checks that every handle parameter of pami.h was tested.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

static pami_client_t stale_client;
static pami_context_t stale_context;
static pami_geometry_t world, stale_geometry;
static pami_type_t stale_type, incomplete;
static pami_memregion_t region;
static pami_endpoint_t self;
static char buffer[16384];
static void *hole; /* PROT_NONE */

static void do_nothing(pami_context_t c, void *cookie, pami_result_t result) {}
static pami_result_t no_work(pami_context_t c, void *cookie)
{
	return PAMI_SUCCESS;
}
static void no_data(pami_context_t c, void *cookie, const void *header_addr, size_t header_size,
		    const void *pipe_addr, size_t data_size, pami_endpoint_t origin,
		    pami_recv_t *recv)
{
}

#define DISPATCH  ((pami_dispatch_callback_function){.p2p = no_data})
#define P2P_HINT  ((pami_dispatch_hint_t){0})
#define COLL_HINT ((pami_collective_hint_t){0})
#define QUERY(n)  (&(pami_configuration_t){.name = (n)})
#define IOV(p, n)                                                                                  \
	{                                                                                          \
		(p), (n)                                                                           \
	}
#define IMMEDIATE(h, hn, d, dn, id, to)                                                            \
	(&(pami_send_immediate_t){                                                                 \
	    .header = IOV(h, hn), .data = IOV(d, dn), .dispatch = (id), .dest = (to)})
#define SEND(h, hn, d, dn, id, to)                                                                 \
	(&(pami_send_t){                                                                           \
	    .send = {.header = IOV(h, hn), .data = IOV(d, dn), .dispatch = (id), .dest = (to)}})
#define TYPED(d, dn, t)                                                                            \
	(&(pami_send_typed_t){.send = {.data = IOV(d, dn), .dispatch = 1, .dest = self},           \
			      .typed = {.type = (t)}})
#define RMA                                                                                        \
	{                                                                                          \
		.dest = self, .bytes = 8                                                           \
	}
#define PUT                                                                                        \
	&(pami_put_simple_t)                                                                       \
	{                                                                                          \
		RMA, {buffer, buffer + 64},                                                        \
		{                                                                                  \
			NULL                                                                       \
		}                                                                                  \
	}
#define GET                                                                                        \
	&(pami_get_simple_t)                                                                       \
	{                                                                                          \
		RMA,                                                                               \
		{                                                                                  \
			buffer, buffer + 64                                                        \
		}                                                                                  \
	}
#define RDMA(a, b)                                                                                 \
	{                                                                                          \
		{(a), 0},                                                                          \
		{                                                                                  \
			(b), 0                                                                     \
		}                                                                                  \
	}
#define RPUT(a, b)                                                                                 \
	&(pami_rput_simple_t)                                                                      \
	{                                                                                          \
		RMA, RDMA(a, b),                                                                   \
		{                                                                                  \
			NULL                                                                       \
		}                                                                                  \
	}
#define RGET(a, b)                                                                                 \
	&(pami_rget_simple_t)                                                                      \
	{                                                                                          \
		RMA, RDMA(a, b)                                                                    \
	}
#define TYPES(t)                                                                                   \
	{                                                                                          \
		(t), (t)                                                                           \
	}
#define RMW(op, v, t, l, ty)                                                                       \
	(&(pami_rmw_t){.dest = self,                                                               \
		       .local = (l),                                                               \
		       .remote = buffer,                                                           \
		       .value = (v),                                                               \
		       .test = (t),                                                                \
		       .operation = (op),                                                          \
		       .type = (ty)})
#define RANGE  (&(pami_geometry_range_t){(pami_task_t)me, (pami_task_t)me})
#define TASKS  (&(pami_task_t){(pami_task_t)me})
#define POINTS (&self)

static pami_geometry_t geometry_out;
static pami_algorithm_t algorithm_out;
static size_t lengths[2];
static pami_task_t task_out;
static size_t size_out;
static void *address_out;
static pami_type_t type_out;
static pami_endpoint_t endpoint_out;

/* Contexts: each function with NULL and with one that was destroyed. */
#define CONTEXT_CASES(X, c)                                                                        \
	X(PAMI_Context_advance(c, 1))                                                              \
	X(PAMI_Context_advancev(&(pami_context_t){c}, 1, 1))                                       \
	X(PAMI_Context_trylock_advancev(&(pami_context_t){c}, 1, 1))                               \
	X(PAMI_Context_lock(c))                                                                    \
	X(PAMI_Context_trylock(c))                                                                 \
	X(PAMI_Context_unlock(c))                                                                  \
	X(PAMI_Context_post(c, &(pami_work_t){0}, no_work, NULL))                                  \
	X(PAMI_Context_query(c, QUERY(PAMI_CONTEXT_DISPATCH_ID_MAX), 1))                           \
	X(PAMI_Context_update(c, NULL, 0))                                                         \
	X(PAMI_Context_destroyv(&(pami_context_t){c}, 1))                                          \
	X(PAMI_Dispatch_set(c, 9, DISPATCH, NULL, P2P_HINT))                                       \
	X(PAMI_Dispatch_query(c, 1, QUERY(PAMI_DISPATCH_RECV_IMMEDIATE_MAX), 1))                   \
	X(PAMI_Dispatch_update(c, 1, NULL, 0))                                                     \
	X(PAMI_Send_immediate(c, IMMEDIATE(buffer, 8, buffer, 8, 1, self)))                        \
	X(PAMI_Send(c, SEND(buffer, 8, buffer, 8, 1, self)))                                       \
	X(PAMI_Send_typed(c, TYPED(buffer, 8, PAMI_TYPE_BYTE)))                                    \
	X(PAMI_Put(c, PUT))                                                                        \
	X(PAMI_Get(c, GET))                                                                        \
	X(PAMI_Put_typed(                                                                          \
	    c, &(pami_put_typed_t){RMA, {buffer, buffer}, TYPES(PAMI_TYPE_BYTE), {NULL}}))         \
	X(PAMI_Get_typed(c, &(pami_get_typed_t){RMA, {buffer, buffer}, TYPES(PAMI_TYPE_BYTE)}))    \
	X(PAMI_Rput(c, RPUT(&region, &region)))                                                    \
	X(PAMI_Rget(c, RGET(&region, &region)))                                                    \
	X(PAMI_Rput_typed(                                                                         \
	    c, &(pami_rput_typed_t){RMA, RDMA(&region, &region), TYPES(PAMI_TYPE_BYTE), {NULL}}))  \
	X(PAMI_Rget_typed(                                                                         \
	    c, &(pami_rget_typed_t){RMA, RDMA(&region, &region), TYPES(PAMI_TYPE_BYTE)}))          \
	X(PAMI_Rmw(c, RMW(PAMI_ATOMIC_ADD, buffer, NULL, NULL, PAMI_TYPE_SIGNED_INT)))             \
	X(PAMI_Memregion_create(c, buffer, 8, &size_out, &region))                                 \
	X(PAMI_Memregion_destroy(c, &region))                                                      \
	X(PAMI_Fence_begin(c))                                                                     \
	X(PAMI_Fence_end(c))                                                                       \
	X(PAMI_Fence_all(c, do_nothing, NULL))                                                     \
	X(PAMI_Fence_endpoint(c, do_nothing, NULL, self))                                          \
	X(PAMI_Purge(c, POINTS, 1))                                                                \
	X(PAMI_Resume(c, POINTS, 1))                                                               \
	X(PAMI_Collective(c, &(pami_xfer_t){.algorithm = algorithm_out}))                          \
	X(PAMI_AMCollective_dispatch_set(c, algorithm_out, 1, DISPATCH, NULL, COLL_HINT))          \
	X(PAMI_Geometry_update(world, NULL, 0, c, do_nothing, NULL))                               \
	X(PAMI_Geometry_destroy(client, &geometry_out, c, do_nothing, NULL))                       \
	X(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry_out, NULL, 77, RANGE, 1, c, \
					 do_nothing, NULL))                                        \
	X(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &geometry_out, NULL, 77, TASKS, 1, c,  \
					do_nothing, NULL))                                         \
	X(PAMI_Geometry_create_endpointlist(client, NULL, 0, &geometry_out, 77, POINTS, 1, c,      \
					    do_nothing, NULL))

#define CLIENT_CASES(X, c)                                                                         \
	X((PAMI_Wtime(c), PAMI_INVAL)) /* these answer without the client */                       \
	X((PAMI_Wtimebase(c), PAMI_INVAL))                                                         \
	X(((PAMI_Endpoint_create)(c, 0, 0, &endpoint_out), PAMI_INVAL))                            \
	X((PAMI_Extension_open(c, "EXT_test_extension", &address_out), PAMI_INVAL))                \
	X(PAMI_Client_destroy(&(pami_client_t){c}))                                                \
	X(PAMI_Client_query(c, QUERY(PAMI_CLIENT_NUM_TASKS), 1))                                   \
	X(PAMI_Client_update(c, NULL, 0))                                                          \
	X(PAMI_Context_createv(c, NULL, 0, &(pami_context_t){NULL}, 1))                            \
	X(PAMI_Geometry_world(c, &geometry_out))                                                   \
	X(PAMI_Geometry_create_taskrange(c, 0, NULL, 0, &geometry_out, NULL, 77, RANGE, 1,         \
					 context, do_nothing, NULL))                               \
	X(PAMI_Geometry_create_tasklist(c, 0, NULL, 0, &geometry_out, NULL, 77, TASKS, 1, context, \
					do_nothing, NULL))                                         \
	X(PAMI_Geometry_create_endpointlist(c, NULL, 0, &geometry_out, 77, POINTS, 1, context,     \
					    do_nothing, NULL))                                     \
	X(PAMI_Geometry_destroy(c, &world, context, do_nothing, NULL))

#define GEOMETRY_CASES(X, g)                                                                       \
	X(PAMI_Geometry_query(g, QUERY(PAMI_GEOMETRY_OPTIMIZE), 1))                                \
	X(PAMI_Geometry_update(g, NULL, 0, context, do_nothing, NULL))                             \
	X(PAMI_Geometry_destroy(client, &(pami_geometry_t){g}, context, do_nothing, NULL))         \
	X(PAMI_Geometry_algorithms_num(g, PAMI_XFER_BARRIER, lengths))                             \
	X(PAMI_Geometry_algorithms_query(g, PAMI_XFER_BARRIER, &algorithm_out, NULL, 1, NULL,      \
					 NULL, 0))

#define TYPE_CASES(X, t)                                                                           \
	X(PAMI_Type_add_simple(t, 8, 0, 1, 8))                                                     \
	X(PAMI_Type_add_typed(t, PAMI_TYPE_BYTE, 0, 1, 8))                                         \
	X(PAMI_Type_add_typed(incomplete, t, 0, 1, 8))                                             \
	X(PAMI_Type_complete(t, 1))                                                                \
	X(PAMI_Type_destroy(&(pami_type_t){t}))                                                    \
	X(PAMI_Type_query(t, QUERY(PAMI_TYPE_DATA_SIZE), 1))                                       \
	X(PAMI_Type_serialize(t, &address_out, &size_out))                                         \
	X(PAMI_Type_transform_data(buffer, t, 0, buffer, PAMI_TYPE_BYTE, 0, 8, PAMI_DATA_COPY,     \
				   NULL))                                                          \
	X(PAMI_Type_transform_data(buffer, PAMI_TYPE_BYTE, 0, buffer, t, 0, 8, PAMI_DATA_COPY,     \
				   NULL))                                                          \
	X(PAMI_Send_typed(context, TYPED(buffer, 8, t)))                                           \
	X(PAMI_Put_typed(context, &(pami_put_typed_t){RMA, {buffer, buffer}, TYPES(t), {NULL}}))   \
	X(PAMI_Get_typed(context, &(pami_get_typed_t){RMA, {buffer, buffer}, TYPES(t)}))           \
	X(PAMI_Rput_typed(context,                                                                 \
			  &(pami_rput_typed_t){RMA, RDMA(&region, &region), TYPES(t), {NULL}}))    \
	X(PAMI_Rget_typed(context, &(pami_rget_typed_t){RMA, RDMA(&region, &region), TYPES(t)}))   \
	X(PAMI_Rmw(context, RMW(PAMI_ATOMIC_ADD, buffer, NULL, NULL, t)))

#define EXTENSION_CASES(X, e)                                                                      \
	X(PAMI_Extension_symbol(e, "foo") ? PAMI_SUCCESS : PAMI_INVAL)                             \
	X((PAMI_Extension_close(e), PAMI_INVAL)) /* programs close what they never opened */

/* Parameters that are missing. */
#define NULL_CASES(X)                                                                              \
	X(PAMI_Client_create("x", NULL, NULL, 0))                                                  \
	X(PAMI_Client_destroy(NULL))                                                               \
	X(PAMI_Client_query(client, NULL, 1))                                                      \
	X(PAMI_Client_update(client, NULL, 1))                                                     \
	X(PAMI_Context_createv(client, NULL, 0, NULL, 1))                                          \
	X(PAMI_Context_destroyv(NULL, 1))                                                          \
	X(PAMI_Context_advancev(NULL, 1, 1))                                                       \
	X(PAMI_Context_trylock_advancev(NULL, 1, 1))                                               \
	X(PAMI_Context_post(context, NULL, no_work, NULL))                                         \
	X(PAMI_Context_post(context, &(pami_work_t){0}, NULL, NULL))                               \
	X(PAMI_Context_query(context, NULL, 1))                                                    \
	X(PAMI_Context_update(context, NULL, 1))                                                   \
	X(PAMI_Dispatch_set(context, 9, (pami_dispatch_callback_function){NULL}, NULL, P2P_HINT))  \
	X(PAMI_Dispatch_query(context, 1, NULL, 1))                                                \
	X(PAMI_Dispatch_update(context, 1, NULL, 1))                                               \
	X((PAMI_Endpoint_create)(client, 0, 0, NULL))                                              \
	X((PAMI_Endpoint_query)(self, NULL, &size_out))                                            \
	X((PAMI_Endpoint_query)(self, &task_out, NULL))                                            \
	X(PAMI_Send_immediate(context, NULL))                                                      \
	X(PAMI_Send_immediate(context, IMMEDIATE(NULL, 8, buffer, 8, 1, self)))                    \
	X(PAMI_Send_immediate(context, IMMEDIATE(buffer, 8, NULL, 8, 1, self)))                    \
	X(PAMI_Send_immediate(context, IMMEDIATE(buffer, 8, buffer, 8, 1, PAMI_ENDPOINT_NULL)))    \
	X(PAMI_Send_immediate(context, IMMEDIATE(buffer, 8, buffer, 8, SIZE_MAX, self)))           \
	X(PAMI_Send_immediate(context, IMMEDIATE(buffer, SIZE_MAX, buffer, SIZE_MAX, 1, self)))    \
	X(PAMI_Send(context, NULL))                                                                \
	X(PAMI_Send(context, SEND(NULL, 8, buffer, 8, 1, self)))                                   \
	X(PAMI_Send(context, SEND(buffer, 8, NULL, 8, 1, self)))                                   \
	X(PAMI_Send(context, SEND(buffer, 8, NULL, 1 << 20, 1, self)))                             \
	X(PAMI_Send(context, SEND(buffer, 8, buffer, 8, 1, PAMI_ENDPOINT_NULL)))                   \
	X(PAMI_Send(context, SEND(buffer, SIZE_MAX, buffer, SIZE_MAX, 1, self)))                   \
	X(PAMI_Send_typed(context, NULL))                                                          \
	X(PAMI_Send_typed(context, TYPED(NULL, 8, PAMI_TYPE_BYTE)))                                \
	X(PAMI_Put(context, NULL))                                                                 \
	X(PAMI_Get(context, NULL))                                                                 \
	X(PAMI_Put_typed(context, NULL))                                                           \
	X(PAMI_Get_typed(context, NULL))                                                           \
	X(PAMI_Rput(context, NULL))                                                                \
	X(PAMI_Rget(context, NULL))                                                                \
	X(PAMI_Rput(context, RPUT(NULL, &region)))                                                 \
	X(PAMI_Rput(context, RPUT(&region, NULL)))                                                 \
	X(PAMI_Rget(context, RGET(NULL, &region)))                                                 \
	X(PAMI_Rget(context, RGET(&region, NULL)))                                                 \
	X(PAMI_Rget(context, RGET(&region, &(pami_memregion_t){0})))                               \
	X(PAMI_Rput_typed(context, NULL))                                                          \
	X(PAMI_Rget_typed(context, NULL))                                                          \
	X(PAMI_Rmw(context, NULL))                                                                 \
	X(PAMI_Rmw(context, RMW(PAMI_ATOMIC_ADD, NULL, NULL, NULL, PAMI_TYPE_SIGNED_INT)))         \
	X(PAMI_Rmw(context, RMW(PAMI_ATOMIC_FETCH, NULL, NULL, NULL, PAMI_TYPE_SIGNED_INT)))       \
	X(PAMI_Rmw(context,                                                                        \
		   RMW(PAMI_ATOMIC_COMPARE_SET, buffer, NULL, NULL, PAMI_TYPE_SIGNED_INT)))        \
	X(PAMI_Memregion_create(context, buffer, 8, NULL, &region))                                \
	X(PAMI_Memregion_create(context, buffer, 8, &size_out, NULL))                              \
	X(PAMI_Memregion_destroy(context, NULL))                                                   \
	X(PAMI_Fence_endpoint(context, do_nothing, NULL, PAMI_ENDPOINT_NULL))                      \
	X(PAMI_Purge(context, NULL, 1))                                                            \
	X(PAMI_Resume(context, NULL, 1))                                                           \
	X(PAMI_Collective(context, NULL))                                                          \
	X(PAMI_Collective(context, &(pami_xfer_t){.algorithm = 12345}))                            \
	X(PAMI_AMCollective_dispatch_set(context, 12345, 1, DISPATCH, NULL, COLL_HINT))            \
	X(PAMI_AMCollective_dispatch_set(                                                          \
	    context, 12345, 1, (pami_dispatch_callback_function){NULL}, NULL, COLL_HINT))          \
	X(PAMI_Geometry_world(client, NULL))                                                       \
	X(PAMI_Geometry_query(world, NULL, 1))                                                     \
	X(PAMI_Geometry_update(world, NULL, 1, context, do_nothing, NULL))                         \
	X(PAMI_Geometry_destroy(client, NULL, context, do_nothing, NULL))                          \
	X(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry_out, NULL, 77, NULL, 1,     \
					 context, do_nothing, NULL))                               \
	X(PAMI_Geometry_create_taskrange(client, 0, NULL, 1, &geometry_out, NULL, 77, RANGE, 1,    \
					 context, do_nothing, NULL))                               \
	X(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &geometry_out, NULL, 77, NULL, 1,      \
					context, do_nothing, NULL))                                \
	X(PAMI_Geometry_create_endpointlist(client, NULL, 0, &geometry_out, 77, NULL, 1, context,  \
					    do_nothing, NULL))                                     \
	X(PAMI_Geometry_algorithms_num(world, PAMI_XFER_BARRIER, NULL))                            \
	X(PAMI_Geometry_algorithms_num(world, PAMI_XFER_COUNT, lengths))                           \
	X(PAMI_Geometry_algorithms_query(world, PAMI_XFER_COUNT, &algorithm_out, NULL, 1, NULL,    \
					 NULL, 0))                                                 \
	X(PAMI_Type_create(NULL))                                                                  \
	X(PAMI_Type_destroy(NULL))                                                                 \
	X(PAMI_Type_query(PAMI_TYPE_BYTE, NULL, 1))                                                \
	X(PAMI_Type_serialize(PAMI_TYPE_BYTE, NULL, &size_out))                                    \
	X(PAMI_Type_serialize(PAMI_TYPE_BYTE, &address_out, NULL))                                 \
	X(PAMI_Type_deserialize(NULL, buffer, sizeof buffer))                                      \
	X(PAMI_Type_deserialize(&type_out, NULL, 8))                                               \
	X(PAMI_Type_deserialize(&type_out, buffer, sizeof buffer))                                 \
	X(PAMI_Type_transform_data(NULL, PAMI_TYPE_BYTE, 0, buffer, PAMI_TYPE_BYTE, 0, 8,          \
				   PAMI_DATA_COPY, NULL))                                          \
	X(PAMI_Type_transform_data(buffer, PAMI_TYPE_BYTE, 0, NULL, PAMI_TYPE_BYTE, 0, 8,          \
				   PAMI_DATA_COPY, NULL))                                          \
	X(PAMI_Type_transform_data(buffer, PAMI_TYPE_BYTE, 0, buffer, PAMI_TYPE_BYTE, 0, 8, NULL,  \
				   NULL))                                                          \
	X(PAMI_Extension_open(client, "EXT_test_extension", NULL))                                 \
	X(PAMI_Extension_close(NULL) == PAMI_SUCCESS ? PAMI_INVAL : PAMI_SUCCESS)

/* These answer with a value: they must only come back. */
#define VALUE_CASES(X)                                                                             \
	X(PAMI_Error_text(NULL, 8) ? PAMI_SUCCESS : PAMI_INVAL)                                    \
	X(PAMI_Extension_open(client, NULL, &address_out) == PAMI_UNIMPL ? PAMI_INVAL              \
									 : PAMI_SUCCESS)

/* Local memory that is not there: an error of any kind. */
#define HOLE_CASES(X)                                                                              \
	X(PAMI_Send(context, SEND(buffer, 8, hole, 4096, 1, self)))                                \
	X(PAMI_Send(context, SEND(hole, 2048, buffer, 8, 1, self)))                                \
	X(PAMI_Send(context, SEND(buffer, 8, hole, 8192, 1, get_endpoint((me + 1) % tasks, 0))))   \
	X(PAMI_Send_immediate(context, IMMEDIATE((void *)8, 8, buffer, 8, 1, self)))

static void *c_, *l_, *g_, *t_, *e_; /* the handles under test */

/* The case `number`: its text, and unless only_name its result. PAMI_OTHER: there is none. */
#define RUN(call)                                                                                  \
	if (at++ == number) {                                                                      \
		*text = #call;                                                                     \
		return only_name ? PAMI_SUCCESS : (call);                                          \
	}

static pami_result_t contexts_case(int number, int only_name, const char **text)
{
	int at = 0;

	CONTEXT_CASES(RUN, c_)
	return PAMI_OTHER;
}

static pami_result_t clients_case(int number, int only_name, const char **text)
{
	int at = 0;

	CLIENT_CASES(RUN, l_)
	return PAMI_OTHER;
}

static pami_result_t geometries_case(int number, int only_name, const char **text)
{
	int at = 0;

	GEOMETRY_CASES(RUN, g_)
	return PAMI_OTHER;
}

static pami_result_t types_case(int number, int only_name, const char **text)
{
	int at = 0;

	TYPE_CASES(RUN, t_)
	return PAMI_OTHER;
}

static pami_result_t extensions_case(int number, int only_name, const char **text)
{
	int at = 0;

	EXTENSION_CASES(RUN, e_)
	return PAMI_OTHER;
}

static pami_result_t others_case(int number, int only_name, const char **text)
{
	int at = 0;

	NULL_CASES(RUN)
	VALUE_CASES(RUN)
	return PAMI_OTHER;
}

static pami_result_t holes_case(int number, int only_name, const char **text)
{
	int at = 0;

	HOLE_CASES(RUN)
	return PAMI_OTHER;
}

typedef pami_result_t (*cases_fn)(int number, int only_name, const char **text);

/* Values that handles have in wrong programs. */
static void *wild[16];
static int wilds;  /* and behind them handles of other kinds than the one under test */
static int *tried; /* the one that a child is about to try */

/* In a child: the case with each value. Returns 1 if a result is wrong, else 0. */
static int run_values(const char *what, cases_fn cases, int number, int exact, void **handle,
		      void *const *value, int values)
{
	for (int i = 0; i < values; i++) {
		const char *text = NULL;
		pami_result_t result;

		*tried = i;
		if (handle)
			*handle = value[i];
		result = cases(number, 0, &text);
		if (exact ? result == PAMI_INVAL : result != PAMI_SUCCESS)
			continue;
		fprintf(stderr, "task %zu, %s (value %d): result %d: %s\n", me, what, i,
			(int)result, text);
		return 1;
	}
	return 0;
}

static int run_all(const char *what, cases_fn cases, int exact, void **handle, void *const *value,
		   int values)
{
	const char *text = NULL;
	int count = 0, status;

	for (; cases(count, 1, &text) != PAMI_OTHER; count++) {
		pid_t child = fork();

		if (!child) {
			alarm(20);
			_exit(run_values(what, cases, count, exact, handle, value, values));
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		if (WIFSIGNALED(status))
			fprintf(stderr, "task %zu, %s (value %d): killed by signal %d: %s\n", me,
				what, *tried, WTERMSIG(status), text);
		else if (getenv("QT_LIST"))
			printf("%s: %s\n", what, text);
		check_failures += !WIFEXITED(status) || WEXITSTATUS(status);
	}
	CHECK(count > 0);
	return count;
}

/* With no handle, with one that was destroyed (or NULL), and with each wild one. */
static int run_handles(const char *kind, cases_fn cases, void **handle, void *stale)
{
	const struct {
		const char *kind;
		void *handle;
	} live[] = {
	    {"client", client}, {"context", context}, {"geometry", world}, {"type", incomplete}};
	void *none = NULL;
	int values = wilds, count;
	char what[40];

	snprintf(what, sizeof what, "no %s", kind);
	count = run_all(what, cases, 1, handle, &none, 1);
	snprintf(what, sizeof what, "destroyed %s", kind);
	if (stale)
		count += run_all(what, cases, 1, handle, &stale, 1);
	snprintf(what, sizeof what, "wild %s", kind);
	for (size_t i = 0; i < sizeof live / sizeof *live; i++)
		if (strcmp(live[i].kind, kind))
			wild[values++] = live[i].handle;
	return count + run_all(what, cases, 1, handle, wild, values);
}

static void make_wild(void)
{
	static uint64_t ones[4096];
	void *values[] = {(void *)1,
			  (void *)8,
			  (void *)4096,
			  (void *)(intptr_t)-1,
			  (void *)0xdeadbeefdeadbeef,
			  hole,
			  buffer + 1,
			  ones,
			  values};

	memset(ones, 0xff, sizeof ones);
	memcpy(wild, values, sizeof values);
	wilds = sizeof values / sizeof *values;
	tried = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void make_stale(void)
{
	pami_geometry_range_t range = {(pami_task_t)me, (pami_task_t)me};
	int done = 0;

	CHECK_EQ(PAMI_Client_create("stale", &stale_client, NULL, 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_createv(stale_client, NULL, 0, &stale_context, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_destroyv(&(pami_context_t){stale_context}, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Client_destroy(&(pami_client_t){stale_client}), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &stale_geometry, NULL,
						(unsigned)me + 5, &range, 1, context, flag_done,
						&done),
		 PAMI_SUCCESS);
	WAIT(done == 1);
	CHECK_EQ(PAMI_Geometry_destroy(client, &(pami_geometry_t){stale_geometry}, context,
				       flag_done, &done),
		 PAMI_SUCCESS);
	WAIT(done == 2);
	CHECK_EQ(PAMI_Type_create(&incomplete), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_create(&stale_type), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_destroy(&(pami_type_t){stale_type}), PAMI_SUCCESS);
}

/* A forked child that takes itself for the program, and ends everything: quick, and the parent goes
 * on. */
static void forked_child_leaves(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		alarm(20);
		_exit(PAMI_Context_destroyv(contexts, 1) != PAMI_SUCCESS || context ||
		      PAMI_Client_destroy(&client) != PAMI_SUCCESS || client);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	int count = 0;

	job_begin(1);
	self = get_endpoint(me, 0);
	hole = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PAMI_Geometry_world(client, &world);
	algorithm_out = get_algorithm(PAMI_XFER_BARRIER);
	dispatch_set(context, 1, no_data, NULL, P2P_HINT);
	CHECK_EQ(PAMI_Memregion_create(context, buffer, sizeof buffer, &size_out, &region),
		 PAMI_SUCCESS);
	run_barrier();
	make_stale();
	make_wild();
	count += run_handles("context", contexts_case, &c_, stale_context);
	count += run_handles("client", clients_case, &l_, stale_client);
	count += run_handles("geometry", geometries_case, &g_, stale_geometry);
	count += run_handles("type", types_case, &t_, stale_type);
	count += run_handles("extension", extensions_case, &e_, NULL);
	count += run_all("missing parameter", others_case, 1, NULL, NULL, 1);
	count += run_all("memory that is not there", holes_case, 0, NULL, NULL, 1);
	CHECK(count > 300);
	forked_child_leaves();
	PAMI_Type_destroy(&incomplete);
	run_barrier(); /* all is as before */
	return job_end(1);
}
