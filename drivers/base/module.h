/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the modules of Quintorus: code that needs a library that most programs do not need. */
#ifndef DRIVERS_BASE_MODULE_H
#define DRIVERS_BASE_MODULE_H

#include <stddef.h>

/*
 * Keep the library that contains this code in the process, also if the program unloads it: for
 * handlers that the C library keeps. Any thread.
 */
void drv_module_keep(void);

/*
 * Load libqt_NAME.so and return its symbol `symbol`. On failure return NULL, write a sentence to
 * `why`, and set errno: ENOENT if no module was found or it does not load, ENOEXEC if the file has
 * no such symbol.
 *
 * The function searches $QUINTORUS_MODULES, build_dir (of a build tree; may be ""), the directory
 * of the installation, quintorus/ beside the library that contains this code, and ../lib/quintorus.
 * Modules are never unloaded. Any thread.
 */
void *drv_module_symbol(const char *name, const char *build_dir, const char *symbol, char *why,
			size_t bytes);

#endif
