/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the MPI of this process, and implements the calls that concern it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/world.h"
#include "armci/group/group.h"
#include "armci/mpi/beside.h"
#include "drivers/base/log.h"
#include "drivers/base/module.h"
#include "drivers/base/settings.h"

#ifndef ARMCI_BUILD_MODULES
#define ARMCI_BUILD_MODULES ""
#endif

static struct {
	bool searched;
	const struct armci_glue *glue; /* NULL: no MPI, or an unknown one */
	int level;                     /* of ARMCI_Init_thread; 0: MPI_THREAD_SINGLE */
} mpi;

/* MPI's binary interface has two families: handles are pointers (Open MPI) or numbers (MPICH). */
static const char *glue_name(void)
{
	int (*version)(char *, int *) =
	    (int (*)(char *, int *))dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
	char text[16384] = "";
	int bytes = 0;

	if (!version)
		return NULL;
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		return "armci_openmpi";
	if (!version(text, &bytes) && !strstr(text, "Open MPI"))
		return "armci_mpich";
	return NULL;
}

/*
 * Load the glue module and return its table. A program linked with libarmci.a may lie anywhere, so
 * the search includes the installation of libpami, which is a shared library.
 */
static const struct armci_glue *glue_load(const char *name, char *why, size_t bytes)
{
	void *found = drv_module_symbol(name, ARMCI_BUILD_MODULES, "armci_glue", why, bytes);
	char dir[PATH_MAX], unused[64];
	Dl_info pami;
	const char *slash;

	if (found || !dladdr((void *)PAMI_Client_create, &pami) || !pami.dli_fname)
		return found;
	slash = strrchr(pami.dli_fname, '/');
	if (!slash || snprintf(dir, sizeof(dir), "%.*s/quintorus", (int)(slash - pami.dli_fname),
			       pami.dli_fname) >= (int)sizeof(dir))
		return NULL;
	return drv_module_symbol(name, dir, "armci_glue", unused, sizeof(unused));
}

static void find_mpi(void)
{
	const char *name = mpi.searched ? NULL : glue_name();
	char why[4500];

	mpi.searched = true;
	if (!name)
		return;
	mpi.glue = glue_load(name, why, sizeof(why));
	if (mpi.glue && mpi.glue->abi != ARMCI_GLUE_ABI) {
		snprintf(why, sizeof(why), "libqt_%s.so is of another version of Quintorus", name);
		mpi.glue = NULL;
	}
	if (!mpi.glue)
		drv_warn("armci: MPI is in this process, but groups have no communicators: %s. If "
			 "Quintorus was configured without the headers of this MPI: install them "
			 "(Debian: lib%s-dev), reconfigure (meson setup --reconfigure) and build "
			 "again. QUINTORUS_MODULES names the directory to look in first",
			 why, strchr(name, '_') + 1);
}

static void finalize_at_exit(int status, void *arg)
{
	/* A failing process must not wait for the others. */
	if (status == 0 && mpi.glue->running())
		mpi.glue->finalize();
}

static void start_mpi(int *argc, char ***argv)
{
	if (!mpi.glue || mpi.glue->running() || mpi.glue->over())
		return;
	if (mpi.glue->init(argc, argv, mpi.level))
		armci_die("MPI_Init_thread failed");
	on_exit(finalize_at_exit, NULL);
}

/* Does each task have an MPI of its own? So under torus run, unless --mpi gives them PMI. */
static bool has_separate_mpis(void)
{
	return drv_setting_is_set(DRV_QUINTORUS_SEGMENT) && !getenv("PMI_FD");
}

void armci_mpi_find(void)
{
	find_mpi();
	if (!has_separate_mpis())
		start_mpi(NULL, NULL);
}

void armci_mpi_open(void)
{
	if (mpi.glue && mpi.glue->running() &&
	    !mpi.glue->world(armci_world.me, armci_world.nproc, &armci_world.all->comm))
		armci_world.all->comm = mpi.glue->null;
}

void armci_mpi_close(void)
{
	if (armci_world.all)
		armci_mpi_comm_free(armci_world.all->comm);
}

void *armci_mpi_comm(const int *world, int n, unsigned id)
{
	void *all = armci_world.all->comm;

	if (!mpi.glue || !all || all == mpi.glue->null || !mpi.glue->running())
		return NULL;
	return mpi.glue->create(all, n, world, (int)(id & 0x7fff));
}

void armci_mpi_comm_free(void *comm)
{
	if (mpi.glue && comm && comm != mpi.glue->null && mpi.glue->running())
		mpi.glue->free(comm);
}

void *armci_mpi_null(void)
{
	return mpi.glue ? mpi.glue->null : NULL;
}

/* ---- published names; a communicator is passed as 8 bytes ---- */

#pragma GCC visibility push(default)

void *armci_group_comm(ARMCI_Group *group);
int PARMCI_Init_mpi_comm(void *comm);
int PARMCI_Init_thread_comm(int mpi_thread_level, void *comm);
int ARMCI_Init_mpi_comm(void *comm);
int ARMCI_Init_thread_comm(int mpi_thread_level, void *comm);

void *armci_group_comm(ARMCI_Group *group)
{
	return group->armci_comm_space;
}

int PARMCI_Init_thread(int mpi_thread_level)
{
	mpi.level = mpi_thread_level;
	return PARMCI_Init();
}
ARMCI_ALIAS(Init_thread);

int PARMCI_Init_mpi_comm(void *comm)
{
	find_mpi();
	if (!mpi.glue || !mpi.glue->running() || !mpi.glue->is_world(comm)) {
		drv_error(
		    "armci: the communicator given to Init must have all tasks of the job, in the "
		    "order of MPI_COMM_WORLD");
		return FAIL6;
	}
	return PARMCI_Init();
}
ARMCI_ALIAS(Init_mpi_comm);

int PARMCI_Init_thread_comm(int mpi_thread_level, void *comm)
{
	return PARMCI_Init_mpi_comm(comm);
}
ARMCI_ALIAS(Init_thread_comm);

void armci_msg_init(int *argc, char ***argv)
{
	find_mpi();
	if (!has_separate_mpis())
		start_mpi(argc, argv);
	armci_client_open(); /* armci_msg_me and armci_msg_nproc may be called before ARMCI_Init. */
}

void armci_msg_finalize(void)
{
	if (mpi.glue && mpi.glue->running())
		mpi.glue->finalize();
}

#pragma GCC visibility pop
