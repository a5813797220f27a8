/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/base/settings.h"

#define BASE      "/dev/shm/quintorus-"
#define SUFFIX    ".stat"
#define FILES_MAX 4096u
#define HOSTS_MAX 256u
#define NS_OF_SEC 1000000000ull

/* A file of counters: what its name and its inode say. */
struct found {
	char path[PATH_MAX];
	uint64_t job, changed_ns;
	bool is_live;
};

/* ---- the directory ---- */

static const char *runs_directory(char *dir, size_t bytes)
{
	const char *set = drv_setting_text(DRV_QUINTORUS_RUN_DIR);

	if (set && *set)
		snprintf(dir, bytes, "%s", set);
	else
		snprintf(dir, bytes, BASE "%u", (unsigned)geteuid());
	return dir;
}

static int compare_age(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->is_live != y->is_live)
		return x->is_live ? -1 : 1;
	return x->changed_ns > y->changed_ns ? -1 : x->changed_ns < y->changed_ns;
}

/* True if the owner of the file lives, which the lock on it shows. */
static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool locked;

	if (fd < 0)
		return false;
	locked = flock(fd, LOCK_SH | LOCK_NB) != 0;
	close(fd);
	return locked;
}

/* List the files of a directory, and append them. Foreign names are left out. */
static unsigned list_directory(const char *dir, struct found *f, unsigned n)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && n < FILES_MAX && (e = readdir(d))) {
		struct stat st;
		char *end;
		size_t length = strlen(e->d_name);

		if (length < sizeof SUFFIX || strcmp(e->d_name + length - strlen(SUFFIX), SUFFIX))
			continue;
		f[n].job = strtoull(e->d_name, &end, 16);
		if (*end != '.' || snprintf(f[n].path, sizeof f[n].path, "%s/%s", dir, e->d_name) >=
				       (int)sizeof f[n].path)
			continue;
		if (lstat(f[n].path, &st) || !S_ISREG(st.st_mode) || access(f[n].path, R_OK))
			continue;
		/* The owner's stores into the mapped file do not always change its time. */
		f[n].changed_ns =
		    (uint64_t)st.st_ctim.tv_sec * NS_OF_SEC + (uint64_t)st.st_ctim.tv_nsec;
		f[n].is_live = is_locked(f[n].path);
		n++;
	}
	if (d)
		closedir(d);
	qsort(f, n, sizeof *f, compare_age);
	return n;
}

/* Remove the files of all but the newest RUNS_KEPT jobs that have ended. */
static void remove_old(const char *dir)
{
	struct found *f = calloc(FILES_MAX, sizeof *f);
	unsigned n = f ? list_directory(dir, f, 0) : 0, kept = 0;
	uint64_t last = 0;

	for (unsigned i = 0; i < n; i++) {
		if (f[i].is_live)
			continue;
		if (!kept || f[i].job != last)
			kept++;
		last = f[i].job;
		if (kept > RUNS_KEPT)
			unlink(f[i].path);
	}
	free(f);
}

int runs_prepare(char *dir, size_t bytes, char *why, size_t why_bytes)
{
	struct stat st;

	runs_directory(dir, bytes);
	if (!strcmp(dir, "none"))
		return -ENOENT;
	if (mkdir(dir, 0750) && errno != EEXIST) {
		int error = errno;

		snprintf(why, why_bytes, "cannot make %s: %s", dir, strerror(error));
		return -error;
	}
	/* Other users may write beside it: it must be a directory of this user, not a link. */
	if (lstat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid()) {
		snprintf(why, why_bytes,
			 "%s is not a directory of this user; remove it, or name another one with "
			 "QUINTORUS_RUN_DIR",
			 dir);
		return -EPERM;
	}
	remove_old(dir);
	return 0;
}

/* ---- readers ---- */

/* List the files of $QUINTORUS_RUN_DIR, or else of all users' directories that may be read. The
 * newest come first, jobs that run before those that have ended. */
static unsigned list_all(struct found *f)
{
	char own[PATH_MAX];
	glob_t g = {0};
	unsigned n = list_directory(runs_directory(own, sizeof own), f, 0);

	if (drv_setting_is_set(DRV_QUINTORUS_RUN_DIR))
		return n;
	if (!glob(BASE "*", GLOB_NOSORT, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++)
			if (strcmp(g.gl_pathv[i], own))
				n = list_directory(g.gl_pathv[i], f, n);
	globfree(&g);
	return n;
}

static int add_host(struct runs_job *j, const char *path)
{
	struct drv_stat_view *more;
	int rc;

	if (j->hosts == HOSTS_MAX)
		return 0;
	more = realloc(j->host, (j->hosts + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	j->host = more;
	rc = drv_stat_view_open(&j->host[j->hosts], path);
	if (!rc)
		j->hosts++;
	return rc;
}

static bool is_wanted(const struct found *f, const char *which, const struct runs_job *j)
{
	char number[24];

	if (j->hosts)
		return f->job == j->job;
	snprintf(number, sizeof number, "%016llx", (unsigned long long)f->job);
	return !which || !strncmp(number, which, strlen(which));
}

int runs_open(struct runs_job *j, const char *which, char *why, size_t why_bytes)
{
	struct found *f;
	unsigned n;
	int rc = 0;

	memset(j, 0, sizeof *j);
	if (which && strchr(which, '/')) {
		rc = add_host(j, which);
		if (rc)
			snprintf(why, why_bytes, "%s: %s", which,
				 rc == -EPROTO ? "is no file of counters of this version"
					       : strerror(-rc));
		else
			j->job = strtoull(drv_stat_view_fact(&j->host[0], "job"), NULL, 16);
		return rc;
	}
	f = calloc(FILES_MAX, sizeof *f);
	n = f ? list_all(f) : 0;
	for (unsigned i = 0; i < n; i++) {
		if (!is_wanted(&f[i], which, j))
			continue;
		rc = add_host(j, f[i].path); /* a file that is being removed is left out */
		if (!rc)
			j->job = f[i].job;
	}
	free(f);
	if (j->hosts)
		return 0;
	if (which)
		snprintf(why, why_bytes,
			 "no job %s here; torus stat --list names those that can be seen", which);
	else
		snprintf(why, why_bytes,
			 "no job of torus run has left counters that this user may read (" BASE
			 "UID, or QUINTORUS_RUN_DIR)");
	return -ENOENT;
}

int runs_refresh(struct runs_job *j)
{
	for (uint32_t i = 0; i < j->hosts; i++) {
		int rc = drv_stat_view_refresh(&j->host[i]);

		if (rc)
			return rc;
	}
	return 0;
}

uint32_t runs_host(const struct runs_job *j, uint32_t i)
{
	return (uint32_t)strtoul(drv_stat_view_fact(&j->host[i], "host"), NULL, 10);
}

void runs_close(struct runs_job *j)
{
	for (uint32_t i = 0; i < j->hosts; i++)
		drv_stat_view_close(&j->host[i]);
	free(j->host);
	memset(j, 0, sizeof *j);
}

bool runs_is_live(const struct runs_job *j)
{
	for (uint32_t i = 0; i < j->hosts; i++)
		if (j->host[i].is_live)
			return true;
	return false;
}

uint64_t runs_sampled_ns(const struct runs_job *j)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < j->hosts; i++) {
		uint64_t at = atomic_load_relaxed(&j->host[i].head.sampled_ns);

		last = at > last ? at : last;
	}
	return last;
}

void runs_shape(const struct runs_job *j, struct emu_shape *shape)
{
	const char *text = j->hosts ? drv_stat_view_fact(&j->host[0], "shape") : "";
	char err[256];

	if (emu_shape_parse(text, shape, err, sizeof err))
		*shape = (struct emu_shape){{1, 1, 1, 1, 1}, 1, 0};
}

uint32_t runs_family(const struct drv_stat_view *v, const char *name)
{
	for (uint32_t i = 0; i < v->head.families; i++)
		if (!strcmp(v->family[i].name, name))
			return i;
	return UINT32_MAX;
}

uint32_t runs_number(const struct drv_stat_row *row, const char *key)
{
	char text[44], *end;
	unsigned long n;

	drv_stat_label(row, key, text, sizeof text);
	n = strtoul(text, &end, 10);
	return *text && !*end ? (uint32_t)n : UINT32_MAX;
}

int runs_list(void)
{
	struct found *f = calloc(FILES_MAX, sizeof *f);
	unsigned n = f ? list_all(f) : 0;
	uint64_t shown = 0;
	int jobs = 0;

	for (unsigned i = 0; i < n; i++) {
		struct drv_stat_view v;

		if ((jobs && f[i].job == shown) || drv_stat_view_open(&v, f[i].path))
			continue;
		printf("%016llx %-7s tasks %-5s ", (unsigned long long)f[i].job,
		       v.is_live                            ? "runs"
		       : atomic_load_relaxed(&v.head.ended) ? "ended"
							    : "died",
		       drv_stat_view_fact(&v, "tasks"));
		printf("shape %-13s ", drv_stat_view_fact(&v, "shape"));
		printf("%s\n", drv_stat_view_fact(&v, "program"));
		drv_stat_view_close(&v);
		shown = f[i].job;
		jobs++;
	}
	free(f);
	return jobs;
}
