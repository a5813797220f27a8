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
