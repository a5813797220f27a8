/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/settings.h"

#ifndef QUINTORUS_LIB_MODULES
#define QUINTORUS_LIB_MODULES ""
#endif

/*
 * Build the path of a directory relative to the library (or program) that contains this code, so
 * that an installation that was moved still finds its modules. Returns `dir`, or NULL on failure.
 */
static const char *find_beside_library(const char *relative, char *dir, size_t bytes)
{
	static const char here;
	Dl_info info;
	char *slash;

	if (!dladdr(&here, &info) || !info.dli_fname ||
	    strlen(info.dli_fname) + strlen(relative) >= bytes)
		return NULL;
	strcpy(dir, info.dli_fname);
	slash = strrchr(dir, '/');
	if (!slash)
		return NULL;
	strcpy(slash + 1, relative);
	return dir;
}

void drv_module_keep(void)
{
	static const char here;
	Dl_info self;

	if (dladdr(&here, &self) && self.dli_fname)
		dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void *drv_module_symbol(const char *name, const char *build_dir, const char *symbol, char *why,
			size_t bytes)
{
	char beside[PATH_MAX], under[PATH_MAX], path[PATH_MAX + 64];
	const char *places[] = {drv_setting_text(DRV_QUINTORUS_MODULES), build_dir,
				QUINTORUS_LIB_MODULES,
				find_beside_library("quintorus", beside, sizeof beside),
				find_beside_library("../lib/quintorus", under, sizeof under)};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		void *h, *found;

		if (!places[i] || !*places[i])
			continue;
		snprintf(path, sizeof path, "%s/libqt_%s.so", places[i], name);
		if (access(path, R_OK))
			continue;
		h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!h) {
			errno = ENOENT;
			snprintf(why, bytes, "the module does not load: %s", dlerror());
			return NULL;
		}
		found = dlsym(h, symbol);
		if (!found) {
			errno = ENOEXEC;
			snprintf(why, bytes,
				 "%s is of another version of Quintorus; rebuild or reinstall it",
				 path);
		}
		return found;
	}
	errno = ENOENT;
	snprintf(why, bytes, "libqt_%s.so is not installed (looked in %s, %s and %s)", name,
		 build_dir, QUINTORUS_LIB_MODULES, places[3] ? places[3] : "$QUINTORUS_MODULES");
	return NULL;
}
