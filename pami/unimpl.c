/* SPDX-License-Identifier: BSD-3-Clause */
/* What this version does not have: listed in README.md, and said so to the caller. */
#include "pami/state.h"

static pami_result_t absent(void)
{
	return pami_fail(PAMI_UNIMPL, "this version of the library does not have the function");
}

PAMI_EXPORT pami_result_t PAMI_Put_typed(pami_context_t context, pami_put_typed_t *parameters)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Get_typed(pami_context_t context, pami_get_typed_t *parameters)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Rput_typed(pami_context_t context, pami_rput_typed_t *parameters)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Rget_typed(pami_context_t context, pami_rget_typed_t *parameters)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Type_serialize(pami_type_t type, void **address, size_t *size)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Type_deserialize(pami_type_t *type, void *address, size_t size)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_taskrange(
	pami_client_t client, size_t context_offset, pami_configuration_t configuration[], size_t num_configs,
	pami_geometry_t *geometry, pami_geometry_t parent, unsigned id, pami_geometry_range_t *task_slices,
	size_t slice_count, pami_context_t context, pami_event_function fn, void *cookie)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_tasklist(
	pami_client_t client, size_t context_offset, pami_configuration_t configuration[], size_t num_configs,
	pami_geometry_t *geometry, pami_geometry_t parent, unsigned id, pami_task_t *tasks, size_t task_count,
	pami_context_t context, pami_event_function fn, void *cookie)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Geometry_create_endpointlist(
	pami_client_t client, pami_configuration_t configuration[], size_t num_configs,
	pami_geometry_t *geometry, unsigned id, pami_endpoint_t *endpoints, size_t endpoint_count,
	pami_context_t context, pami_event_function fn, void *cookie)
{
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_Geometry_destroy(pami_client_t client, pami_geometry_t *geometry,
                                                pami_context_t context, pami_event_function fn, void *cookie)
{
	struct pami_client *c = client;

	if (pami_client_valid(client) && geometry && *geometry == c->world)
		return pami_fail(PAMI_INVAL, "the world geometry is not destroyed by programs");
	return absent();
}

PAMI_EXPORT pami_result_t PAMI_AMCollective_dispatch_set(pami_context_t context, pami_algorithm_t algorithm,
                                                         size_t dispatch, pami_dispatch_callback_function fn,
                                                         void *cookie, pami_collective_hint_t options)
{
	return absent();
}
