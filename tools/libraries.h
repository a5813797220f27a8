/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the libraries of this torus for programs that were linked without an rpath. */
#ifndef TOOLS_LIBRARIES_H
#define TOOLS_LIBRARIES_H

/*
 * Append the directories of libpami and its siblings to LD_LIBRARY_PATH of this process, so that
 * the tasks it starts find them: those of the build tree or of the installation that this program
 * lies in. What the variable holds already comes first. Directories that the loader searches by
 * itself are left out: they would go before the rpath of the program's other libraries.
 * QUINTORUS_LIBRARIES=program changes nothing.
 */
void libraries_export(void);

#endif
