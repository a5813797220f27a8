/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads lists of hosts: Slurm's, and files. */
#ifndef TOOLS_NODELIST_H
#define TOOLS_NODELIST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Expand a list of names in Slurm's short form, "n[1-3,07-09],rack[0-1]n[0-3],login", and call fn
 * with each name. Returns how many; -EINVAL: the text is no such list; -E2BIG: more than max. fn
 * may have been called before an error is found.
 */
int nodelist_each(const char *text, unsigned max, void (*fn)(void *arg, const char *name),
		  void *arg);

/*
 * Return the hosts of this Slurm allocation as --hosts takes them, "slurm:n1;slurm:n2", or NULL if
 * there is no allocation or it has one node. The caller frees it.
 */
char *nodelist_of_slurm(void);

/*
 * The hosts of a file, a host a line as --hosts takes it; a name alone is reached by ssh; '#'
 * begins a comment. NULL with a sentence in err. The caller frees it.
 */
char *nodelist_of_file(const char *path, char *err, size_t err_bytes);

#endif
