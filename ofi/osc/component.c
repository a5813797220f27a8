/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mca_osc_quintorus.so, a component of Open MPI: windows that its osc rdma gets wrong.
 *
 * Dynamic windows between hosts go to osc pt2pt. The osc rdma of Open MPI 4.1 locks the target's
 * list of regions before it reads the list, and then, to copy a list that has changed, waits for a
 * second lock which the first one excludes. So the first access to a dynamic window of another host
 * never ends. Open MPI has no setting that chooses a component by the kind of window. This one has
 * the highest priority for these windows alone.
 *
 * Windows of MPI_Win_create within a host stay with osc rdma, except for a compare-and-swap of 8
 * bytes in the caller's own part. For that osc rdma 4.1 calls the transport without the handle of
 * the memory, which it keeps only of other tasks there: btl ofi reads the handle at address 0, btl
 * vader the endpoint. The processor does it instead. osc rdma gives the same operation of other
 * tasks to the transport without a lock, and PAMI_Rmw() carries it out with an atomic operation of
 * the processor, too, so each is atomic for the others.
 *
 * Operations that accumulate one to 32 integers by another operation than a sum or a replacement
 * (MPI_MAX, MPI_BOR) go to the transport, too, without the question which operations it has, and
 * btl ofi then ends the process. Here it refuses them instead. Osc rdma holds the target's lock
 * around each operation that accumulates; with a refusal it gets the data, operates and puts.
 */
#include "drivers/base/atomic.h"
#include "ofi/coll/version.h"

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"
#include "opal/constants.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"

#define PRIORITY 200 /* above Open MPI's own, of which the highest is 101 */

static ompi_osc_base_component_t *find_component(const char *name)
{
	mca_base_component_list_item_t *item;

	OPAL_LIST_FOREACH(item, &ompi_osc_base_framework.framework_components,
			  mca_base_component_list_item_t)
	if (!strcmp(item->cli_component->mca_component_name, name))
		return (ompi_osc_base_component_t *)item->cli_component;
	return NULL;
}

static int init(bool progress_threads, bool threads)
{
	return ompi_is_known_version("mca_osc_quintorus.so",
				     "dynamic windows between hosts are Open MPI's own")
		   ? OMPI_SUCCESS
		   : OMPI_ERR_NOT_SUPPORTED;
}

/* ---- operations that btl ofi lacks ---- */

static mca_btl_base_module_atomic_op64_fn_t btl_operate;
static mca_btl_base_module_atomic_fop64_fn_t btl_fetch;

static bool has_operation(mca_btl_base_atomic_op_t op)
{
	return op == MCA_BTL_ATOMIC_ADD || op == MCA_BTL_ATOMIC_SWAP;
}

static int operate(struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		   uint64_t address, mca_btl_base_registration_handle_t *handle,
		   mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
		   mca_btl_base_rdma_completion_fn_t done, void *context, void *cookie)
{
	if (!has_operation(op))
		return OPAL_ERR_NOT_SUPPORTED;
	return btl_operate(btl, endpoint, address, handle, op, operand, flags, order, done, context,
			   cookie);
}

static int fetch(struct mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		 void *local, uint64_t address, mca_btl_base_registration_handle_t *local_handle,
		 mca_btl_base_registration_handle_t *handle, mca_btl_base_atomic_op_t op,
		 uint64_t operand, int flags, int order, mca_btl_base_rdma_completion_fn_t done,
		 void *context, void *cookie)
{
	if (!has_operation(op))
		return OPAL_ERR_NOT_SUPPORTED;
	return btl_fetch(btl, endpoint, local, address, local_handle, handle, op, operand, flags,
			 order, done, context, cookie);
}

/* The modules of a component have the same functions. Each has its own copy of the table. */
static void refuse_operations(mca_btl_base_module_t *btl)
{
	if (btl->btl_atomic_fop == fetch || !btl->btl_atomic_fop || !btl->btl_atomic_op)
		return;
	btl_operate = btl->btl_atomic_op;
	btl_fetch = btl->btl_atomic_fop;
	btl->btl_atomic_op = operate;
	btl->btl_atomic_fop = fetch;
}

static void mend_transport(void)
{
	mca_btl_base_selected_module_t *m;

	OPAL_LIST_FOREACH(m, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
	if (!strcmp(m->btl_component->btl_version.mca_component_name, "ofi"))
		refuse_operations(m->btl_module);
}

/* ---- which windows? ---- */

static int query(struct ompi_win_t *win, void **base, size_t size, int unit,
		 struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor)
{
	ompi_osc_base_component_t *rdma = find_component("rdma");
	bool between_hosts = ompi_group_have_remote_peers(comm->c_local_group);
	int priority;

	mend_transport(); /* Its modules are there before the first window. */
	if (!rdma)
		return -1;
	if (flavor == MPI_WIN_FLAVOR_DYNAMIC)
		return between_hosts && find_component("pt2pt") ? PRIORITY : -1;
	if (flavor != MPI_WIN_FLAVOR_CREATE || between_hosts)
		return -1;
	priority = rdma->osc_query(win, base, size, unit, comm, info, flavor);
	return priority < 0 ? -1 : priority + 1;
}

/* ---- compare and swap in the own part ---- */

static ompi_osc_base_module_compare_and_swap_fn_t rdma_compare_and_swap;

static void *window_attribute(struct ompi_win_t *win, int key)
{
	void *value = NULL;
	int found = 0;

	PMPI_Win_get_attr(win, key, &value, &found);
	return found ? value : NULL;
}

static int swap_own(struct ompi_win_t *win, ptrdiff_t place, uint64_t value, uint64_t expected,
		    uint64_t *old)
{
	char *base = window_attribute(win, MPI_WIN_BASE);
	const MPI_Aint *size = window_attribute(win, MPI_WIN_SIZE);
	const int *unit = window_attribute(win, MPI_WIN_DISP_UNIT);
	size_t at;

	if (!base || !size || !unit || place < 0 ||
	    __builtin_mul_overflow((size_t)place, (size_t)*unit, &at) ||
	    (size_t)*size < sizeof *old || at > (size_t)*size - sizeof *old)
		return OMPI_ERR_RMA_RANGE;
	if ((uintptr_t)(base + at) % sizeof *old)
		return OMPI_ERR_NOT_SUPPORTED;
	atomic_cas_seq_cst((atomic_u64 *)(base + at), &expected, value);
	*old = expected; /* on success, too */
	return OMPI_SUCCESS;
}

static int compare_and_swap(const void *origin, const void *compare, void *result,
			    struct ompi_datatype_t *type, int target, ptrdiff_t place,
			    struct ompi_win_t *win)
{
	uint64_t value, expected, old;
	int rc;

	if (target != ompi_win_rank(win) || type->super.size != sizeof value)
		return rdma_compare_and_swap(origin, compare, result, type, target, place, win);
	memcpy(&value, origin, sizeof value);
	memcpy(&expected, compare, sizeof expected);
	rc = swap_own(win, place, value, expected, &old);
	if (rc == OMPI_SUCCESS)
		memcpy(result, &old, sizeof old);
	return rc;
}

static int select_rdma(struct ompi_win_t *win, void **base, size_t size, int unit,
		       struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor,
		       int *model)
{
	int rc =
	    find_component("rdma")->osc_select(win, base, size, unit, comm, info, flavor, model);

	if (rc == OMPI_SUCCESS) { /* The window has its own copy of osc rdma's table. */
		rdma_compare_and_swap = win->w_osc_module->osc_compare_and_swap;
		win->w_osc_module->osc_compare_and_swap = compare_and_swap;
	}
	return rc;
}

/* ---- the component ---- */

static int select_component(struct ompi_win_t *win, void **base, size_t size, int unit,
			    struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor,
			    int *model)
{
	if (flavor == MPI_WIN_FLAVOR_CREATE)
		return select_rdma(win, base, size, unit, comm, info, flavor, model);
	return find_component("pt2pt")->osc_select(win, base, size, unit, comm, info, flavor,
						   model);
}

static int finalize(void)
{
	return OMPI_SUCCESS;
}

/* Open MPI looks for this name. */
__attribute__((visibility("default"))) ompi_osc_base_component_t mca_osc_quintorus_component = {
    .osc_version = {OMPI_OSC_BASE_VERSION_3_0_0, .mca_component_name = "quintorus",
		    MCA_BASE_MAKE_VERSION(component, 0, 1, 0)},
    .osc_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .osc_init = init,
    .osc_query = query,
    .osc_select = select_component,
    .osc_finalize = finalize,
};
