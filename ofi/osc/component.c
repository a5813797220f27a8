/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mca_osc_quintorus.so, a component of Open MPI: dynamic windows between hosts by osc pt2pt.
 *
 * The osc rdma of Open MPI 4.1 locks the target's list of regions before it reads the list, and
 * then, to copy a list that has changed, waits for a second lock which the first one excludes. So
 * the first access to a dynamic window of another host never ends. Open MPI has no setting that
 * chooses a component by the kind of window. This one has the highest priority for these windows
 * alone, and hands them to osc pt2pt.
 */
#include "ofi/coll/version.h"

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"

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

static int query(struct ompi_win_t *win, void **base, size_t size, int unit,
		 struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor)
{
	bool is_ours = flavor == MPI_WIN_FLAVOR_DYNAMIC && find_component("rdma") &&
		       find_component("pt2pt") && ompi_group_have_remote_peers(comm->c_local_group);

	return is_ours ? PRIORITY : -1;
}

static int select_pt2pt(struct ompi_win_t *win, void **base, size_t size, int unit,
			struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor,
			int *model)
{
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
    .osc_select = select_pt2pt,
    .osc_finalize = finalize,
};
