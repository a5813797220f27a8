/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of Open MPI that a component of ours can be loaded into. */
#ifndef OFI_COLL_VERSION_H
#define OFI_COLL_VERSION_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * The layouts of the structures that we share with Open MPI hold for a minor version. Returns false
 * for another one, with a line that names the library and what Open MPI does without it.
 */
static inline bool ompi_is_known_version(const char *library, const char *without)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING], known[32];
	int n;

	snprintf(known, sizeof known, "Open MPI v%d.%d.", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
	if (!PMPI_Get_library_version(text, &n) && !strncmp(text, known, strlen(known)))
		return true;
	fprintf(stderr,
		"%s: built for %sx, and this is %.*s; %s: build it again with this version's "
		"headers\n",
		library, known, (int)strcspn(text, ","), text, without);
	return false;
}

#endif
