/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answers to the questions of Open MPI: may the component be used, for which communicators,
 * with which calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "ofi/coll/coll.h"
#include "ofi/coll/direct.h"
#include "ofi/coll/mend.h"
#include "ofi/coll/version.h"
#include "pami/ext_virtual.h"

#include "ompi/constants.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"

#define PRIORITY 60 /* above Open MPI's own, of which the highest is 40 */

struct quintorus_fi_loan coll_loan;
static bool uses_direct = true;
static bool has_collectives; /* One thread at a time calls MPI. */
extern mca_coll_base_component_t mca_coll_quintorus_component;

/* ---- may it be used? ---- */

static int find_provider(struct dl_phdr_info *info, size_t bytes, void *found)
{
	if (!info->dlpi_name || !strstr(info->dlpi_name, "libquintorus-fi.so"))
		return 0;
	*(void **)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	return 1;
}

/* Borrow context and client from the provider. Returns false if messages do not go through it. */
static bool borrow_client(void)
{
	void *provider = NULL;
	quintorus_fi_lend_fn lend;

	dl_iterate_phdr(find_provider, &provider);
	if (!provider)
		return false;
	lend = (quintorus_fi_lend_fn)dlsym(provider, QUINTORUS_FI_LEND);
	dlclose(provider); /* Open MPI keeps it. */
	coll_loan.abi = QUINTORUS_FI_LOAN_ABI;
	return lend && !lend(&coll_loan);
}

/* ---- threads in virtual time ---- */

/*
 * mtl ofi waits for a blocking send in a loop of its own, under a lock. Other threads try that lock
 * without a call, in which no virtual time passes. A wait for a request has no such loop.
 */
static mca_pml_base_module_send_fn_t blocking_send;

static int send_and_wait(const void *data, size_t count, struct ompi_datatype_t *type, int to,
			 int tag, mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm)
{
	ompi_request_t *request;
	int rc;

	if (mode == MCA_PML_BASE_SEND_BUFFERED)
		return blocking_send(data, count, type, to, tag, mode, comm);
	rc = mca_pml.pml_isend(data, count, type, to, tag, mode, comm, &request);
	return rc ? rc : ompi_request_wait(&request, MPI_STATUS_IGNORE);
}

static bool is_time_virtual(void)
{
	pami_quintorus_virtual_is_on_fn is_on;
	pami_extension_t e;

	if (PAMI_Extension_open(NULL, PAMI_EXT_QUINTORUS_VIRTUAL, &e) != PAMI_SUCCESS)
		return false;
	is_on = (pami_quintorus_virtual_is_on_fn)PAMI_Extension_symbol(e, "is_on");
	return is_on();
}

/* Returns true if it has been replaced. Then this library must stay. */
static bool replace_blocking_send(void)
{
	if (mca_pml.pml_send == send_and_wait)
		return true;
	if (!is_time_virtual())
		return false;
	blocking_send = mca_pml.pml_send;
	mca_pml.pml_send = send_and_wait;
	return true;
}

static int init_query(bool progress_threads, bool threads)
{
	bool has_client;

	if (!ompi_is_known_version("mca_coll_quintorus.so", "collectives are Open MPI's own"))
		return OMPI_ERR_NOT_SUPPORTED;
	has_client = borrow_client();
	if (has_client)
		mend_install();
	if (threads && replace_blocking_send())
		return OMPI_SUCCESS;
	if ((threads && !uses_direct) || !has_client)
		return OMPI_ERR_NOT_SUPPORTED;
	has_collectives = !threads && !coll_loan.locks;
	if (uses_direct && !is_time_virtual() && (coll_loan.locks || !threads))
		direct_install();
	return OMPI_SUCCESS;
}

static int register_parameters(void)
{
	mca_base_component_var_register(
	    &mca_coll_quintorus_component.collm_version, "direct",
	    "Whether messages in one piece go to the provider without pml cm and mtl ofi",
	    MCA_BASE_VAR_TYPE_BOOL, NULL, 0, 0, OPAL_INFO_LVL_9, MCA_BASE_VAR_SCOPE_READONLY,
	    &uses_direct);
	return OMPI_SUCCESS;
}

/* ---- for which communicators? ---- */

/* Tasks of the job are the processes of our MPI job; others were spawned. */
static bool is_of_job(struct ompi_communicator_t *comm, bool *is_world)
{
	ompi_process_name_t self = ompi_proc_local()->super.proc_name;
	int size = ompi_comm_size(comm);

	*is_world = (uint32_t)size == coll_loan.tasks;
	if (self.vpid != coll_loan.task)
		return false;
	for (int i = 0; i < size; i++) {
		ompi_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, i);

		if (name.jobid != self.jobid || name.vpid >= coll_loan.tasks)
			return false;
		*is_world &= name.vpid == (uint32_t)i;
	}
	return true;
}

static int enable_module(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	struct coll_module *m = (struct coll_module *)module;
	const mca_coll_base_comm_coll_t *c = comm->c_coll;

	if (!c->coll_barrier || !c->coll_bcast || !c->coll_reduce || !c->coll_allreduce)
		return OMPI_ERR_NOT_FOUND;
	m->barrier = c->coll_barrier;
	m->bcast = c->coll_bcast;
	m->reduce = c->coll_reduce;
	m->allreduce = c->coll_allreduce;
	m->barrier_of = c->coll_barrier_module;
	m->bcast_of = c->coll_bcast_module;
	m->reduce_of = c->coll_reduce_module;
	m->allreduce_of = c->coll_allreduce_module;
	OBJ_RETAIN(m->barrier_of);
	OBJ_RETAIN(m->bcast_of);
	OBJ_RETAIN(m->reduce_of);
	OBJ_RETAIN(m->allreduce_of);
	return OMPI_SUCCESS;
}

static void construct_module(struct coll_module *m)
{
	memset((char *)m + sizeof m->super, 0, sizeof *m - sizeof m->super);
}

static void destruct_module(struct coll_module *m)
{
	coll_group_end(m);
	if (!m->barrier_of)
		return;
	OBJ_RELEASE(m->barrier_of);
	OBJ_RELEASE(m->bcast_of);
	OBJ_RELEASE(m->reduce_of);
	OBJ_RELEASE(m->allreduce_of);
}

typedef struct coll_module coll_module; /* The macros name it so. */
OBJ_CLASS_INSTANCE(coll_module, mca_coll_base_module_t, construct_module, destruct_module);

static mca_coll_base_module_t *comm_query(struct ompi_communicator_t *comm, int *priority)
{
	struct coll_module *m;
	bool is_world;

	if (!has_collectives || OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2 ||
	    !is_of_job(comm, &is_world))
		return NULL;
	m = OBJ_NEW(coll_module);
	if (!m)
		return NULL;
	m->is_world = is_world;
	m->super.coll_module_enable = enable_module;
	m->super.coll_barrier = coll_barrier;
	m->super.coll_bcast = coll_bcast;
	m->super.coll_reduce = coll_reduce;
	m->super.coll_allreduce = coll_allreduce;
	*priority = PRIORITY;
	return &m->super;
}

/* Open MPI looks for this name. */
__attribute__((visibility("default"))) mca_coll_base_component_t mca_coll_quintorus_component = {
    .collm_version = {MCA_COLL_BASE_VERSION_2_0_0, .mca_component_name = "quintorus",
		      MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
		      .mca_register_component_params = register_parameters},
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = comm_query,
};
