/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot: MPI_Send, MPI_Recv and their like. */
#include "ofi/coll/direct.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "ofi/coll/coll.h"
#include "ofi/coll/mend.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/base/pml_base_request.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#include "opal/runtime/opal_progress.h"

#define TAG_ANY     0x7fffffffull /* MPI_ANY_TAG takes no tag below 0, as Open MPI has. */
#define NO_ENDPOINT UINT32_MAX    /* also: any source */
#define POLLS       16u           /* of our context for each progress of all of Open MPI */

static struct {
	mca_pml_base_module_send_fn_t send;
	mca_pml_base_module_isend_fn_t isend;
	mca_pml_base_module_recv_fn_t recv;
	mca_pml_base_module_irecv_fn_t irecv;
} next; /* pml cm's */

static ompi_jobid_t job;
/* By task. Pml cm has sent it a message, so its endpoint is open. */
static uint32_t *endpoint;
static atomic_u8 *has_been_sent;

/* With several threads the context's lock guards the provider's functions and free_requests. */
static inline void lock_context(void)
{
	if (coll_loan.locks)
		PAMI_Context_lock(coll_loan.context);
}

static inline void unlock_context(void)
{
	if (coll_loan.locks)
		PAMI_Context_unlock(coll_loan.context);
}

/* ---- what can be done here ---- */

/* Returns true if the data is in one piece that begins at the buffer's address. */
static inline bool is_plain(const struct ompi_datatype_t *type, size_t count, size_t *bytes)
{
	const opal_datatype_t *d = &type->super;
	const uint16_t needed = OPAL_DATATYPE_FLAG_CONTIGUOUS | OPAL_DATATYPE_FLAG_NO_GAPS;

	*bytes = count * d->size;
	return (d->flags & needed) == needed && !d->lb && !d->true_lb;
}

/* Returns the task of a rank, or NO_ENDPOINT if it is of another job. */
static inline uint32_t task_of(const struct ompi_communicator_t *comm, int rank)
{
	ompi_process_name_t name = ompi_group_get_proc_name(comm->c_remote_group, rank);

	return name.jobid == job && name.vpid < coll_loan.tasks ? name.vpid : NO_ENDPOINT;
}

static inline uint64_t tag_of(const struct ompi_communicator_t *comm, int tag)
{
	return (uint64_t)comm->c_contextid << TAG_BITS | (uint32_t)tag;
}

/* ---- sends ---- */

/* Returns true if the message has been sent. */
static inline bool send_now(const void *data, size_t count, const struct ompi_datatype_t *type,
			    int to, int tag, mca_pml_base_send_mode_t mode,
			    const struct ompi_communicator_t *comm)
{
	size_t bytes;
	uint32_t task;
	int rc;

	if (__builtin_expect(
		(mode != MCA_PML_BASE_SEND_STANDARD && mode != MCA_PML_BASE_SEND_READY) ||
		    !is_plain(type, count, &bytes),
		0))
		return false;
	task = task_of(comm, to);
	if (__builtin_expect(task == NO_ENDPOINT, 0))
		return false;
	if (__builtin_expect(!atomic_load_relaxed(&has_been_sent[task]), 0)) {
		atomic_store_relaxed(&has_been_sent[task], 1); /* by the caller's next step */
		return false;
	}
	lock_context();
	rc = coll_loan.messages->send(coll_loan.ep, endpoint[task], tag_of(comm, tag),
				      (uint64_t)comm->c_my_rank, data, bytes);
	unlock_context();
	return !rc;
}

static int direct_send(const void *data, size_t count, struct ompi_datatype_t *type, int to,
		       int tag, mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm)
{
	if (send_now(data, count, type, to, tag, mode, comm))
		return OMPI_SUCCESS;
	return next.send(data, count, type, to, tag, mode, comm);
}

static int direct_isend(const void *data, size_t count, struct ompi_datatype_t *type, int to,
			int tag, mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
			ompi_request_t **request)
{
	if (send_now(data, count, type, to, tag, mode, comm)) {
		*request = &ompi_request_empty;
		return OMPI_SUCCESS;
	}
	return next.isend(data, count, type, to, tag, mode, comm, request);
}

/* ---- requests of receives ---- */

typedef struct direct_request {
	mca_pml_base_request_t super;
	struct direct_request *next; /* in one of the lists below */
	bool blocking;               /* MPI_Recv waits for it, and it has no callback. */
	atomic_u32 ends;             /* message received, request freed: the second releases it */
} direct_request;
OBJ_CLASS_DECLARATION(direct_request);

typedef ATOMIC(direct_request *) request_list;

static direct_request *free_requests;
static request_list returned; /* several threads: free too */
static request_list received; /* several threads: to complete without the lock */

static void list_push(request_list *list, direct_request *r)
{
	direct_request *first = atomic_ptr_load_relaxed(list);

	do
		r->next = first;
	while (!atomic_ptr_cas_release(list, &first, r));
}

static inline void request_put(direct_request *r)
{
	OBJ_RELEASE(r->super.req_comm);
	if (coll_loan.locks) {
		list_push(&returned, r);
		return;
	}
	r->next = free_requests;
	free_requests = r;
}

/* The message has been received, or the request freed. Releases the request after both. */
static inline void request_end(direct_request *r)
{
	if (coll_loan.locks) {
		if (!atomic_fetch_add_acq_rel(&r->ends, 1))
			return;
	} else {
		uint32_t ends = atomic_load_relaxed(&r->ends);

		atomic_store_relaxed(&r->ends, ends + 1);
		if (!ends)
			return;
	}
	OMPI_REQUEST_FINI(&r->super.req_ompi);
	request_put(r);
}

static int request_free(ompi_request_t **request)
{
	direct_request *r = (direct_request *)*request;

	*request = MPI_REQUEST_NULL;
	request_end(r);
	return OMPI_SUCCESS;
}

/* MPI wants no error if the message is here already. */
static int request_cancel(ompi_request_t *request, int flag)
{
	coll_loan.messages->cancel(coll_loan.ep, request);
	return OMPI_SUCCESS;
}

static void construct_request(direct_request *r)
{
	r->super.req_type = MCA_PML_REQUEST_RECV;
	r->super.req_ompi.req_type = OMPI_REQUEST_PML;
	r->super.req_ompi.req_free = request_free;
	r->super.req_ompi.req_cancel = request_cancel;
}
OBJ_CLASS_INSTANCE(direct_request, mca_pml_base_request_t, construct_request, NULL);

static inline void complete_request(direct_request *r)
{
	atomic_fence_release(); /* The status comes first; Open MPI's exchange does not order it. */
	ompi_request_complete(&r->super.req_ompi, true);
	request_end(r);
}

static void on_received(void *cookie, const struct quintorus_fi_received *m)
{
	direct_request *r = cookie;
	ompi_status_public_t *s = &r->super.req_ompi.req_status;

	s->_ucount = m->stored;
	if (__builtin_expect(!m->status, 1)) {
		s->MPI_SOURCE = (int)m->data;
		s->MPI_TAG = (int)(uint32_t)m->tag;
		if (m->sent > m->stored)
			s->MPI_ERROR = MPI_ERR_TRUNCATE;
		mend_answer(coll_loan.ep, m->source, m->tag);
	} else if (m->status == -FI_ECANCELED) {
		s->_cancelled = 1;
	} else {
		s->MPI_ERROR = MPI_ERR_INTERN;
	}
	/* A callback may call MPI, which would wait for the lock that this thread holds. */
	if (coll_loan.locks && !r->blocking)
		list_push(&received, r);
	else
		complete_request(r);
}

/* Complete what has been received, in order. Open MPI's progress calls this without a lock. */
static int complete_received(void)
{
	direct_request *r, *first = NULL;
	int count = 0;

	if (!atomic_ptr_load_relaxed(&received))
		return 0;
	r = atomic_ptr_exchange_acquire(&received, NULL);
	while (r) {
		direct_request *next = r->next;

		r->next = first;
		first = r;
		r = next;
	}
	for (; first; count++) {
		r = first;
		first = r->next;
		complete_request(r);
	}
	return count;
}

/* Under the lock. */
static inline direct_request *request_get(struct ompi_communicator_t *comm)
{
	direct_request *r = free_requests;

	if (__builtin_expect(!r && coll_loan.locks, 0))
		r = atomic_ptr_exchange_acquire(&returned, NULL);
	if (r)
		free_requests = r->next;
	else
		r = OBJ_NEW(direct_request);
	if (!r)
		return NULL;
	OMPI_REQUEST_INIT(&r->super.req_ompi, false);
	r->super.req_ompi.req_state = OMPI_REQUEST_ACTIVE;
	r->super.req_ompi.req_mpi_object.comm = comm;
	r->super.req_ompi.req_status.MPI_ERROR = MPI_SUCCESS;
	r->super.req_ompi.req_status._cancelled = 0;
	r->super.req_comm = comm;
	atomic_store_relaxed(&r->ends, 0);
	OBJ_RETAIN(comm);
	return r;
}

/* ---- receives ---- */

/* What a receive asks the provider for. */
struct wanted {
	void *data;
	size_t bytes;
	uint32_t source;
	uint64_t tag, ignore;
};

/* Returns false if pml cm has to receive. */
static inline bool describe_receive(struct wanted *w, void *data, size_t count,
				    const struct ompi_datatype_t *type, int from, int tag,
				    const struct ompi_communicator_t *comm)
{
	*w = (struct wanted){.data = data,
			     .source = NO_ENDPOINT,
			     .tag = tag_of(comm, tag),
			     .ignore = TAG_SYNCHRONOUS};
	if (!is_plain(type, count, &w->bytes))
		return false;
	if (from != MPI_ANY_SOURCE) {
		uint32_t task = task_of(comm, from);

		if (__builtin_expect(task == NO_ENDPOINT, 0))
			return false;
		w->source = endpoint[task];
	}
	if (tag == MPI_ANY_TAG) {
		w->tag = tag_of(comm, 0);
		w->ignore |= TAG_ANY;
	}
	return true;
}

/* Returns the request, or NULL if pml cm has to receive. */
static inline direct_request *receive_now(void *data, size_t count,
					  const struct ompi_datatype_t *type, int from, int tag,
					  struct ompi_communicator_t *comm, bool blocking)
{
	direct_request *r;
	struct wanted w;

	if (!describe_receive(&w, data, count, type, from, tag, comm))
		return NULL;
	lock_context();
	r = request_get(comm);
	if (r) {
		r->super.req_ompi.req_status.MPI_SOURCE = from;
		r->super.req_ompi.req_status.MPI_TAG = tag;
		r->blocking = blocking;
		if (coll_loan.messages->receive(coll_loan.ep, w.source, w.tag, w.ignore, w.data,
						w.bytes, on_received, r)) {
			request_put(r);
			r = NULL;
		}
	}
	unlock_context();
	return r;
}

static int direct_irecv(void *data, size_t count, struct ompi_datatype_t *type, int from, int tag,
			struct ompi_communicator_t *comm, ompi_request_t **request)
{
	direct_request *r = receive_now(data, count, type, from, tag, comm, false);

	if (!r)
		return next.irecv(data, count, type, from, tag, comm, request);
	*request = &r->super.req_ompi;
	return OMPI_SUCCESS;
}

static inline bool is_complete(ompi_request_t *request)
{
	return atomic_load_acquire(&request->req_complete) == REQUEST_COMPLETED;
}

static void wait_alone(ompi_request_t *request)
{
	for (unsigned i = 1; !is_complete(request); i++) {
		if (i % POLLS)
			PAMI_Context_advance(coll_loan.context, 1);
		else
			opal_progress();
	}
}

/*
 * One thread polls the context itself. Others wait as Open MPI has it: one of them polls, the rest
 * sleep.
 */
static void wait_among_threads(ompi_request_t *request)
{
	static atomic_u32 polls;

	if (is_complete(request))
		return;
	if (atomic_load_relaxed(&polls) || atomic_exchange_acquire(&polls, 1)) {
		ompi_request_wait_completion(request);
		return;
	}
	for (unsigned i = 1; !is_complete(request); i++) {
		if (i % POLLS) {
			PAMI_Context_trylock_advancev(&coll_loan.context, 1, 1);
			complete_received();
		} else {
			opal_progress();
		}
	}
	atomic_store_release(&polls, 0);
}

static int direct_recv(void *data, size_t count, struct ompi_datatype_t *type, int from, int tag,
		       struct ompi_communicator_t *comm, ompi_status_public_t *status)
{
	direct_request *r = receive_now(data, count, type, from, tag, comm, true);
	ompi_request_t *request;
	int rc;

	if (!r)
		return next.recv(data, count, type, from, tag, comm, status);
	request = &r->super.req_ompi;
	if (coll_loan.locks)
		wait_among_threads(request);
	else
		wait_alone(request);
	rc = request->req_status.MPI_ERROR;
	if (status != MPI_STATUS_IGNORE)
		*status = request->req_status;
	request_free(&request);
	return rc;
}

/* ---- the beginning ---- */

static bool find_endpoints(void)
{
	endpoint = malloc(coll_loan.tasks * sizeof *endpoint);
	has_been_sent = calloc(coll_loan.tasks, sizeof *has_been_sent);
	if (!endpoint || !has_been_sent)
		return false;
	for (uint32_t t = 0; t < coll_loan.tasks; t++)
		if (PAMI_Endpoint_create(coll_loan.client, t, 0, &endpoint[t]) != PAMI_SUCCESS)
			return false;
	return true;
}

void direct_install(void)
{
	ompi_process_name_t self = ompi_proc_local()->super.proc_name;

	if (mca_pml.pml_send == direct_send || self.vpid != coll_loan.task || !mend_is_pml_cm() ||
	    !mend_has_usual_messages() || !find_endpoints() || !mend_stay_loaded() ||
	    (coll_loan.locks && opal_progress_register(complete_received)))
		return;
	job = self.jobid;
	next.send = mca_pml.pml_send;
	next.isend = mca_pml.pml_isend;
	next.recv = mca_pml.pml_recv;
	next.irecv = mca_pml.pml_irecv;
	mca_pml.pml_send = direct_send;
	mca_pml.pml_isend = direct_isend;
	mca_pml.pml_recv = direct_recv;
	mca_pml.pml_irecv = direct_irecv;
}
