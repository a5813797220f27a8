/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All tasks are clients of this one server, so a fence that it hears of is complete: it gives back
 * what the tasks brought. Memory of the job's description lives as long as the process.
 */
#include "tools/pmix_module.h"

#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_nspace_t nspace;

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
			      size_t infos, char *data, size_t bytes, pmix_modex_cbfunc_t answer,
			      void *cookie)
{
	answer(PMIX_SUCCESS, data, bytes, cookie, NULL, NULL);
	return PMIX_SUCCESS;
}

/* The task ends itself after this with a status that ends the job. */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char *text,
			      pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t answer,
			      void *cookie)
{
	if (answer)
		answer(PMIX_SUCCESS, cookie);
	return PMIX_SUCCESS;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t answer,
				  void *cookie)
{
	if (answer)
		answer(PMIX_SUCCESS, cookie);
	return PMIX_SUCCESS;
}

static pmix_server_module_t module = {
    .client_finalized = on_finalized, .abort = on_abort, .fence_nb = on_fence};

#define NAME_BYTES 20u /* of a host or task with what separates it from the next */

/* "quintorus0,quintorus1": all hosts. */
static char *list_hosts(uint32_t hosts)
{
	char *text = calloc(hosts, NAME_BYTES), *at = text;

	for (uint32_t h = 0; text && h < hosts; h++)
		at += sprintf(at, h ? "," PMIX_HOST_FORMAT : PMIX_HOST_FORMAT, h);
	return text;
}

/* "0,2;1,3": the tasks of each host. */
static char *list_tasks(uint32_t tasks, uint32_t hosts, const uint32_t host[])
{
	uint32_t *first = malloc(hosts * sizeof *first), *next = malloc(tasks * sizeof *next);
	char *text = calloc(tasks, NAME_BYTES), *at = text;

	if (!first || !next || !text) {
		free(text);
		text = NULL;
		goto done;
	}
	for (uint32_t h = 0; h < hosts; h++)
		first[h] = tasks;
	for (uint32_t i = tasks; i-- > 0;) {
		next[i] = first[host[i]];
		first[host[i]] = i;
	}
	for (uint32_t h = 0; h < hosts; h++)
		for (uint32_t i = first[h]; i < tasks; i = next[i])
			at += sprintf(at, at == text ? "%u" : i == first[h] ? ";%u" : ",%u", i);
done:
	free(first);
	free(next);
	return text;
}

/* Open MPI takes tasks of one host of this description for neighbours that share memory. */
static pmix_status_t describe_job(uint32_t tasks, uint32_t hosts, const uint32_t host[])
{
	char *names = list_hosts(hosts), *list = list_tasks(tasks, hosts, host);
	char *nodes = NULL, *procs = NULL;
	pmix_status_t rc = PMIX_ERR_NOMEM;
	pmix_info_t *info;
	size_t n = 0;

	PMIX_INFO_CREATE(info, 5);
	if (names && list && info)
		rc = PMIx_generate_regex(names, &nodes);
	if (rc == PMIX_SUCCESS)
		rc = PMIx_generate_ppn(list, &procs);
	if (rc != PMIX_SUCCESS)
		goto done;
	PMIX_INFO_LOAD(&info[n++], PMIX_UNIV_SIZE, &tasks, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_JOB_SIZE, &tasks, PMIX_UINT32);
	PMIX_INFO_LOAD(&info[n++], PMIX_NODE_MAP, nodes, PMIX_REGEX);
	PMIX_INFO_LOAD(&info[n++], PMIX_PROC_MAP, procs, PMIX_REGEX);
	PMIX_INFO_LOAD(&info[n++], PMIX_JOBID, nspace, PMIX_STRING);
	rc = PMIx_server_register_nspace(nspace, (int)tasks, info, n, NULL, NULL);
	rc = rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
done:
	if (info)
		PMIX_INFO_FREE(info, 5);
	free(nodes);
	free(procs);
	free(names);
	free(list);
	return rc;
}

static pmix_status_t register_tasks(uint32_t tasks)
{
	pmix_status_t rc = PMIX_SUCCESS;
	pmix_proc_t proc;

	for (uint32_t i = 0; i < tasks && rc == PMIX_SUCCESS; i++) {
		PMIX_LOAD_PROCID(&proc, nspace, i);
		rc = PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, NULL, NULL);
		rc = rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
	}
	return rc;
}

/* No files: they would stay behind when torus run is killed. */
static void set_choices(void)
{
	setenv("PMIX_MCA_gds", "hash", 1);
	setenv("PMIX_MCA_psec", "native", 0);
}

/* Attributes and structures change between major versions. "OpenPMIx 4.2.2, repo rev: ..." */
static bool is_known_version(const char **why)
{
	static char text[256];
	const char *version = PMIx_Get_version(), *number = version;

	while (*number && (*number < '0' || *number > '9'))
		number++;
	if (atoi(number) == PMIX_VERSION_MAJOR)
		return true;
	snprintf(text, sizeof text,
		 "built for PMIx %d, and libpmix is %.100s: build again with its "
		 "headers",
		 (int)PMIX_VERSION_MAJOR, version);
	*why = text;
	return false;
}

static char **start_server(uint32_t tasks, uint32_t hosts, const uint32_t host[], const char **why)
{
	char **env = NULL;
	pmix_status_t rc;
	pmix_proc_t first;

	if (!is_known_version(why))
		return NULL;
	set_choices();
	snprintf(nspace, sizeof nspace, "quintorus.%ld", (long)getpid());
	rc = PMIx_server_init(&module, NULL, 0);
	if (rc == PMIX_SUCCESS)
		rc = describe_job(tasks, hosts, host);
	if (rc == PMIX_SUCCESS)
		rc = register_tasks(tasks);
	PMIX_LOAD_PROCID(&first, nspace, 0);
	if (rc == PMIX_SUCCESS)
		rc = PMIx_server_setup_fork(&first, &env);
	*why = rc == PMIX_SUCCESS ? NULL : PMIx_Error_string(rc);
	return rc == PMIX_SUCCESS ? env : NULL;
}

extern const struct pmix_server_module pmix_server_module;
__attribute__((visibility("default"))) const struct pmix_server_module pmix_server_module = {
    .abi = PMIX_SERVER_ABI, .start = start_server};
