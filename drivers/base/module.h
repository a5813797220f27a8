/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding our own modules: what needs a library that most programs do without. */
#ifndef DRIVERS_BASE_MODULE_H
#define DRIVERS_BASE_MODULE_H

#include <stddef.h>

/*
 * Load libqt_NAME.so and return its symbol `symbol`, or NULL with a sentence in why and errno
 * ENOENT, or ENOEXEC if the file has no such symbol. Looked for in
 * $QUINTORUS_MODULES, build_dir (a build tree's, may be ""), the place of installation, quintorus/
 * beside the library that this code is part of, and ../lib/quintorus. Never unloaded. Any thread.
 */
void *drv_module_symbol(const char *name, const char *build_dir, const char *symbol, char *why, size_t bytes);

#endif
