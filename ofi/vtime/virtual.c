/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "ofi/vtime/virtual.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/atomic.h"

static struct virtual_time functions;

static void open_extension(void)
{
	pami_extension_t e;

	if (PAMI_Extension_open(NULL, PAMI_EXT_QUINTORUS_VIRTUAL, &e) != PAMI_SUCCESS) {
		fprintf(stderr, "quintorus: libpami and libqt_mpi_virtual are of two versions\n");
		abort();
	}
	functions = (struct virtual_time){
	    .is_on = (pami_quintorus_virtual_is_on_fn)PAMI_Extension_symbol(e, "is_on"),
	    .read = (pami_quintorus_virtual_read_fn)PAMI_Extension_symbol(e, "read"),
	    .spend = (pami_quintorus_virtual_spend_fn)PAMI_Extension_symbol(e, "spend"),
	    .sync = (pami_quintorus_virtual_sync_fn)PAMI_Extension_symbol(e, "sync"),
	    .exclude = (pami_quintorus_virtual_exclude_fn)PAMI_Extension_symbol(e, "exclude"),
	    .cost = (pami_quintorus_virtual_cost_fn)PAMI_Extension_symbol(e, "cost"),
	    .may_spin = (pami_quintorus_virtual_may_spin_fn)PAMI_Extension_symbol(e, "may_spin"),
	    .keep_turn = (pami_quintorus_virtual_keep_turn_fn)PAMI_Extension_symbol(e, "keep_turn"),
	    .doubt = (pami_quintorus_virtual_doubt_fn)PAMI_Extension_symbol(e, "doubt"),
	};
}

const struct virtual_time *virtual_time(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_extension);
	return &functions;
}

/* ---- which MPI? ---- */

static int find_mpich(struct dl_phdr_info *info, size_t bytes, void *found)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	if (!slash || strncmp(slash + 1, "libmpich", strlen("libmpich")))
		return 0;
	*(bool *)found = true;
	return 1;
}

void virtual_refuse_mpich(void)
{
	const char *task = getenv(ENV_TASK);
	bool found = false;

	dl_iterate_phdr(find_mpich, &found);
	if (!found)
		return;
	while (task && strcmp(task, "0")) /* Task 0 prints it for all, and its end ends the job. */
		pause();
	fprintf(stderr, "quintorus: this program uses MPICH, whose messages take no "
			"virtual time: compile "
			"it with mpicc.openmpi, or run it without --clock virtual\n");
	_exit(1);
}

/* ---- callers ---- */

/* Objects by the beginning of their file names; all others are the program's. */
static enum virtual_caller class_of(const char *path)
{
	static const struct {
		const char *name;
		enum virtual_caller whose;
	} known[] = {
	    {"libpmix", VIRTUAL_SERVICE},      {"libevent", VIRTUAL_SERVICE},
	    {"libopen-pal", VIRTUAL_SERVICE},  {"libopen-rte", VIRTUAL_SERVICE},
	    {"libprrte", VIRTUAL_SERVICE},     {"mca_btl_ofi", VIRTUAL_DEVICE},
	    {"mca_", VIRTUAL_SERVICE},         {"libfabric", VIRTUAL_SERVICE},
	    {"libhwloc", VIRTUAL_SERVICE},     {"libpsm", VIRTUAL_SERVICE},
	    {"libibverbs", VIRTUAL_SERVICE},   {"librdmacm", VIRTUAL_SERVICE},
	    {"libuc", VIRTUAL_SERVICE},        {"libpami", VIRTUAL_OURS},
	    {"libquintorus-fi", VIRTUAL_OURS}, {"libqt_", VIRTUAL_OURS},
	    {"libarmci", VIRTUAL_OURS},        {"libgasnet", VIRTUAL_OURS},
	    {"libagas", VIRTUAL_OURS},         {"libinfinipath", VIRTUAL_DEVICE},
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strncmp(name, known[i].name, strlen(known[i].name)))
			return known[i].whose;
	return VIRTUAL_PROGRAM;
}

/* A cache of return addresses: address | class << 61. An entry that is lost is looked up again. */
#define SEEN     1024u
#define CLASS_AT 61

enum virtual_caller virtual_caller_of(const void *address)
{
	static uint64_t seen[SEEN];
	uint64_t at = (uint64_t)(uintptr_t)address, entry;
	uint64_t *slot = &seen[(at >> 2) % SEEN];
	enum virtual_caller whose;
	Dl_info info;

	entry = atomic_load_relaxed(slot);
	if ((entry & ((1ull << CLASS_AT) - 1)) == at && entry)
		return (enum virtual_caller)(entry >> CLASS_AT);
	whose =
	    dladdr(address, &info) && info.dli_fname ? class_of(info.dli_fname) : VIRTUAL_PROGRAM;
	atomic_store_relaxed(slot, at | (uint64_t)whose << CLASS_AT);
	return whose;
}

void *virtual_next(const char *name, const char *object)
{
	void *found = dlsym(RTLD_NEXT, name), *handle;

	/* An interpreter loads MPI for one of its modules only. */
	if (!found && object && (handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD)))
		found = dlsym(handle, name);
	if (!found) {
		fprintf(stderr, "quintorus: no library of this process has %s, but it is called\n",
			name);
		abort();
	}
	return found;
}
