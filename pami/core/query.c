/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of clients and contexts; endpoints; time. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "pami/core/client.h"
#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/limits.h"
#include "pami/core/macros.h"
#include "pami/core/query.h"

#define TICKS_MHZ 1600 /* mu_timebase() */

PAMI_COLD pami_result_t pami_fail_unknown_attribute(const char *call)
{
	return pami_fail_in(call, PAMI_INVAL, "no such attribute on this kind of object");
}

PAMI_COLD pami_result_t pami_fail_read_only(const char *call, size_t num_configs)
{
	return num_configs ? pami_fail_in(call, PAMI_INVAL, "the attribute cannot be changed")
			   : PAMI_SUCCESS;
}

/*
 * Processors for each task, at least two, because programs with a progress thread expect that. A
 * program that insists on more than the machine has needs QUINTORUS_HWTHREADS.
 */
static size_t count_hardware_threads(const struct mu_job *job)
{
	cpu_set_t set;
	size_t n = 1;

	if (pami_limits.hw_threads)
		return pami_limits.hw_threads;
	if (!sched_getaffinity(0, sizeof set, &set))
		n = (size_t)CPU_COUNT(&set);
	n /= job->local_tasks ? job->local_tasks : 1;
	return n < 2 ? 2 : n;
}

static size_t memory_mib(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) / ((1u << 20) / (size_t)sysconf(_SC_PAGESIZE));
}

static int client_attribute(const struct pami_client *c, pami_attribute_name_t name,
			    pami_attribute_value_t *value)
{
	switch ((int)name) {
	case PAMI_CLIENT_CLOCK_MHZ:
	case PAMI_CLIENT_WTIMEBASE_MHZ:
		value->intval = TICKS_MHZ;
		return 0;
	case PAMI_CLIENT_CONST_CONTEXTS:
		value->intval = 1;
		return 0;
	case PAMI_CLIENT_HWTHREADS_AVAILABLE:
		value->intval = count_hardware_threads(c->job);
		return 0;
	case PAMI_CLIENT_MEMREGION_SIZE:
		value->intval = sizeof(pami_memregion_t);
		return 0;
	case PAMI_CLIENT_MEM_SIZE:
		value->intval = memory_mib();
		return 0;
	case PAMI_CLIENT_NUM_TASKS:
		value->intval = c->job->tasks;
		return 0;
	case PAMI_CLIENT_NUM_LOCAL_TASKS:
		value->intval = c->job->local_tasks;
		return 0;
	case PAMI_CLIENT_LOCAL_TASKS:
		value->intarray = c->job->local_list;
		return 0;
	case PAMI_CLIENT_NUM_CONTEXTS:
		value->intval = c->contexts;
		return 0;
	case PAMI_CLIENT_PROCESSOR_NAME:
		value->chararray = c->job->processor_name;
		return 0;
	case PAMI_CLIENT_TASK_ID:
		value->intval = c->job->task;
		return 0;
	case PAMI_CLIENT_WTICK:
		value->doubleval = c->job->virtual_clock ? 1e-6 / TICKS_MHZ : 1e-9;
		return 0;
	case 1016: /* EXT_async_progress: is asynchronous progress guaranteed? No. */
		value->intval = 0;
		return 0;
	default:
		return -EINVAL;
	}
}

PAMI_EXPORT pami_result_t PAMI_Client_query(pami_client_t client,
					    pami_configuration_t configuration[],
					    size_t num_configs)
{
	if (!pami_client_is_valid(client) || (num_configs && !configuration))
		return pami_fail(PAMI_INVAL, "not a client, or no attributes");
	for (size_t i = 0; i < num_configs; i++)
		if (client_attribute(client, configuration[i].name, &configuration[i].value))
			return pami_fail_unknown_attribute(__func__);
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Client_update(pami_client_t client,
					     pami_configuration_t configuration[],
					     size_t num_configs)
{
	if (!pami_client_is_valid(client))
		return pami_fail(PAMI_INVAL, "not a client");
	return pami_fail_read_only(__func__, num_configs);
}

PAMI_EXPORT pami_result_t PAMI_Context_query(pami_context_t context,
					     pami_configuration_t configuration[],
					     size_t num_configs)
{
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || (num_configs && !configuration)))
		return pami_fail_invalid(context);
	for (size_t i = 0; i < num_configs; i++) {
		if (configuration[i].name != PAMI_CONTEXT_DISPATCH_ID_MAX)
			return pami_fail_unknown_attribute(__func__);
		configuration[i].value.intval = PAMI_DISPATCH_ID_MAX;
	}
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t PAMI_Context_update(pami_context_t context,
					      pami_configuration_t configuration[],
					      size_t num_configs)
{
	if (!pami_context_is_valid(context))
		return pami_fail_invalid(context);
	return pami_fail_read_only(__func__, num_configs);
}

PAMI_EXPORT pami_result_t(PAMI_Endpoint_create)(pami_client_t client, pami_task_t task,
						size_t offset, pami_endpoint_t *endpoint)
{
	if (!endpoint || offset > 63 || task >= UINT32_MAX >> 6)
		return pami_fail(PAMI_INVAL, "task or context offset out of range");
	*endpoint = pami_endpoint(task, (uint32_t)offset);
	return PAMI_SUCCESS;
}

PAMI_EXPORT pami_result_t(PAMI_Endpoint_query)(pami_endpoint_t endpoint, pami_task_t *task,
					       size_t *offset)
{
	if (!task || !offset)
		return pami_fail(PAMI_INVAL, "no address for the task or the offset");
	*task = pami_endpoint_task(endpoint);
	*offset = pami_endpoint_offset(endpoint);
	return PAMI_SUCCESS;
}

PAMI_EXPORT double PAMI_Wtime(pami_client_t client)
{
	return mu_wtime();
}

PAMI_EXPORT unsigned long long PAMI_Wtimebase(pami_client_t client)
{
	return mu_timebase();
}
