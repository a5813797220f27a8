/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/libraries.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "drivers/base/settings.h"

#define PATH_ROOM (4 * PATH_MAX)

static const char *const names[] = {"pami", "armci", "gasnet", "agas"};

/* Returns true if the loader of this machine searches the directory by itself. */
static bool is_searched_anyway(const char *dir)
{
	static const char *const known[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64",
					    "/usr/local/lib"};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t n = strlen(known[i]);

		/* Debian has directories named after the machine below these. */
		if (!strncmp(dir, known[i], n) &&
		    (!dir[n] || (dir[n] == '/' && strstr(dir + n, "-linux-gnu"))))
			return true;
	}
	return false;
}

static bool has_entry(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	for (const char *p = path; (p = strstr(p, dir)); p += n)
		if ((p == path || p[-1] == ':') && (!p[n] || p[n] == ':'))
			return true;
	return false;
}

/* Append base/below to path if it has libNAME.so.0. */
static void add_directory(char *path, const char *base, const char *below, const char *name)
{
	char *dir = NULL, *file = NULL, *real = NULL;

	if (asprintf(&dir, "%s/%s", base, below) > 0 && (real = realpath(dir, NULL)) &&
	    asprintf(&file, "%s/lib%s.so.0", real, name) > 0 && !access(file, R_OK) &&
	    !is_searched_anyway(real) && !has_entry(path, real) &&
	    strlen(path) + strlen(real) + 2 <= PATH_ROOM) {
		if (*path)
			strcat(path, ":");
		strcat(path, real);
	}
	free(file);
	free(real);
	free(dir);
}

void libraries_export(void)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	/* The heap, since the agent also runs under a small `ulimit -s`. */
	char *self = malloc(PATH_MAX + PATH_ROOM), *path = self ? self + PATH_MAX : NULL, *slash;
	ssize_t n = self ? readlink("/proc/self/exe", self, PATH_MAX - 1) : 0;

	if (n <= 0 || drv_setting_choice(DRV_QUINTORUS_LIBRARIES) == 1 ||
	    (old && strlen(old) >= PATH_ROOM))
		goto out;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		goto out;
	*slash = '\0'; /* the directory of torus: BUILD/tools, or PREFIX/bin */
	strcpy(path, old ? old : "");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char beside[32];

		snprintf(beside, sizeof beside, "../%s", names[i]);
		add_directory(path, self, beside, names[i]);
		add_directory(path, self, "../" QUINTORUS_LIBDIR, names[i]);
		add_directory(path, self, "../lib", names[i]);
	}
	if (*path && setenv("LD_LIBRARY_PATH", path, 1))
		drv_warn("no memory for LD_LIBRARY_PATH");
out:
	free(self);
}
