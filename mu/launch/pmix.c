/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx, a module: only programs that a PMIx launcher started load libpmix (Open MPI has it loaded).
 */
#include <errno.h>
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "mu/launch/launch.h"

static pmix_proc_t self;

static int log_failure(const char *call, pmix_status_t rc)
{
	drv_error("launcher (PMIx): %s: %s", call, PMIx_Error_string(rc));
	return -EPROTO;
}

/* Structures change between major versions. "OpenPMIx 4.2.2, repo rev: ..." */
static bool is_known_version(void)
{
	const char *version = PMIx_Get_version(), *number = version;

	while (*number && (*number < '0' || *number > '9'))
		number++;
	if (atoi(number) == PMIX_VERSION_MAJOR)
		return true;
	drv_error("launcher (PMIx): built for PMIx %d, and libpmix is %s: build again with its "
		  "headers",
		  (int)PMIX_VERSION_MAJOR, version);
	return false;
}

static int launch_open(uint32_t *rank, uint32_t *size)
{
	pmix_value_t *v = NULL;
	pmix_proc_t all;
	pmix_status_t rc;

	if (!is_known_version())
		return -EPROTO;
	rc = PMIx_Init(&self, NULL, 0); /* counts, if MPI did it before */
	if (rc != PMIX_SUCCESS)
		return log_failure("PMIx_Init", rc);
	PMIX_PROC_CONSTRUCT(&all);
	PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
	rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &v);
	if (rc != PMIX_SUCCESS || !v || v->type != PMIX_UINT32)
		return log_failure("PMIx_Get of the job's size", rc);
	*rank = self.rank;
	*size = v->data.uint32;
	PMIX_VALUE_RELEASE(v);
	return 0;
}

static int launch_put(const char *key, const char *value)
{
	pmix_value_t v = {.type = PMIX_STRING, .data.string = (char *)value};
	pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, key, &v);

	return rc == PMIX_SUCCESS ? 0 : log_failure("PMIx_Put", rc);
}

static int launch_fence(void)
{
	bool collect = true;
	pmix_info_t info;
	pmix_status_t rc = PMIx_Commit();

	if (rc != PMIX_SUCCESS)
		return log_failure("PMIx_Commit", rc);
	PMIX_INFO_CONSTRUCT(&info);
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	rc = PMIx_Fence(NULL, 0, &info, 1);
	PMIX_INFO_DESTRUCT(&info);
	return rc == PMIX_SUCCESS ? 0 : log_failure("PMIx_Fence", rc);
}

static int launch_get(uint32_t rank, const char *key, char *value, size_t bytes)
{
	pmix_value_t *v = NULL;
	pmix_status_t rc;
	pmix_proc_t who;
	int ok;

	PMIX_PROC_CONSTRUCT(&who);
	PMIX_LOAD_PROCID(&who, self.nspace, rank);
	rc = PMIx_Get(&who, key, NULL, 0, &v);
	if (rc != PMIX_SUCCESS || !v)
		return log_failure("PMIx_Get", rc);
	ok = v->type == PMIX_STRING && v->data.string && strlen(v->data.string) < bytes;
	if (ok)
		strcpy(value, v->data.string);
	PMIX_VALUE_RELEASE(v);
	return ok ? 0 : log_failure("PMIx_Get", PMIX_ERR_BAD_PARAM);
}

/* Counted as well: with MPI the last of the two says goodbye. */
static void launch_close(void)
{
	if (PMIx_Initialized())
		PMIx_Finalize(NULL, 0);
}

extern const struct mu_launcher mu_launch_module;
__attribute__((visibility("default"))) const struct mu_launcher mu_launch_module = {
    .abi = MU_LAUNCH_ABI,
    .name = "PMIx",
    .open = launch_open,
    .put = launch_put,
    .fence = launch_fence,
    .get = launch_get,
    .close = launch_close,
};
