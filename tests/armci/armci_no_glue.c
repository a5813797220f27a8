/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that looks as if Open MPI were in its process, for armci_no_glue.sh. Nothing of that
 * MPI is called, since the glue to it is missing.
 */
#include <armci.h>
#include <string.h>

#define FOR_OTHERS __attribute__((visibility("default")))

FOR_OTHERS int ompi_mpi_comm_world;

FOR_OTHERS int MPI_Get_library_version(char *text, int *bytes);
int MPI_Get_library_version(char *text, int *bytes)
{
	strcpy(text, "Open MPI");
	*bytes = 8;
	return 0;
}

int main(void)
{
	if (ARMCI_Init())
		return 1;
	ARMCI_Finalize();
	return 0;
}
