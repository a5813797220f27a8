/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FAMILIES_MAX 4096u
#define ROWS_MAX     (1u << 22)

struct drv_stat {
	struct drv_stat_head head; /* until it is published */
	struct drv_stat_family *family;
	struct drv_stat_row *row;
	uint32_t families_max, rows_max;
	struct drv_stat_head *map;
	uint64_t *value;
	int fd;
};

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the owner ---- */

struct drv_stat *drv_stat_new(uint32_t families_max, uint32_t rows_max)
{
	struct drv_stat *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->fd = -1;
	s->families_max = families_max;
	s->rows_max = rows_max;
	s->family = calloc(families_max, sizeof *s->family);
	s->row = calloc(rows_max, sizeof *s->row);
	if (!s->family || !s->row) {
		drv_stat_end(s);
		return NULL;
	}
	return s;
}

void drv_stat_fact(struct drv_stat *s, const char *key, const char *value)
{
	char *facts = s->map ? s->map->facts : s->head.facts;
	size_t used = strlen(facts), room = sizeof s->head.facts - used;
	char line[sizeof s->head.facts];
	int n = snprintf(line, sizeof line, "%s=%s", key, value);

	if (n < 0 || (size_t)n + 2 > room)
		return;
	for (char *c = line; *c; c++)
		if (*c == '\n')
			*c = ' ';
	line[n] = '\n';
	memcpy(facts + used, line, (size_t)n + 1); /* zeros follow */
}

uint32_t drv_stat_family_add(struct drv_stat *s, const char *name, const char *unit,
			     enum drv_stat_kind kind, const char *help)
{
	struct drv_stat_family *f = &s->family[s->head.families];

	if (s->head.families == s->families_max)
		return UINT32_MAX;
	snprintf(f->name, sizeof f->name, "%s", name);
	snprintf(f->unit, sizeof f->unit, "%s", unit);
	snprintf(f->help, sizeof f->help, "%s", help);
	f->kind = kind;
	return s->head.families++;
}

uint32_t drv_stat_row_add(struct drv_stat *s, uint32_t family, const char *label)
{
	struct drv_stat_row *r = &s->row[s->head.rows];

	if (s->head.rows == s->rows_max || family >= s->head.families)
		return UINT32_MAX;
	r->family = family;
	snprintf(r->label, sizeof r->label, "%s", label);
	return s->head.rows++;
}

static void layout_file(struct drv_stat_head *h)
{
	h->families_at = (sizeof *h + 63) & ~63ull;
	h->rows_at = h->families_at + (uint64_t)h->families * sizeof(struct drv_stat_family);
	h->values_at = (h->rows_at + (uint64_t)h->rows * sizeof(struct drv_stat_row) + 63) & ~63ull;
	h->bytes = h->values_at + (uint64_t)h->rows * sizeof(uint64_t);
}

int drv_stat_publish(struct drv_stat *s, const char *path, unsigned mode)
{
	struct drv_stat_head *h = &s->head;
	char hidden[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int rc;

	h->magic = DRV_STAT_MAGIC;
	h->version = DRV_STAT_VERSION;
	h->started_ns = real_ns();
	atomic_store_relaxed(&h->sampled_ns, h->started_ns);
	layout_file(h);
	if (snprintf(hidden, sizeof hidden, "%.*s.%s~", (int)(slash ? slash + 1 - path : 0), path,
		     slash ? slash + 1 : path) >= (int)sizeof hidden)
		return -ENAMETOOLONG;
	s->fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (s->fd < 0)
		return -errno;
	/* posix_fallocate: a full file system is found here, not by a signal later. */
	if (fchmod(s->fd, mode) || flock(s->fd, LOCK_EX | LOCK_NB) ||
	    (errno = posix_fallocate(s->fd, 0, (off_t)h->bytes)))
		goto err;
	s->map = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		goto err;
	}
	memcpy(s->map, h, sizeof *h);
	memcpy((char *)s->map + h->families_at, s->family, h->families * sizeof *s->family);
	memcpy((char *)s->map + h->rows_at, s->row, h->rows * sizeof *s->row);
	s->value = (uint64_t *)(void *)((char *)s->map + h->values_at);
	if (rename(hidden, path))
		goto err;
	return 0;
err:
	rc = -errno;
	unlink(hidden);
	return rc ? rc : -EIO;
}

void drv_stat_set(struct drv_stat *s, uint32_t row, uint64_t value)
{
	if (s->value && row < s->head.rows)
		atomic_store_relaxed(&s->value[row], value);
}

void drv_stat_sampled(struct drv_stat *s)
{
	if (s->map)
		atomic_store_release(&s->map->sampled_ns, real_ns());
}

void drv_stat_end(struct drv_stat *s)
{
	if (!s)
		return;
	if (s->map) {
		atomic_store_release(&s->map->ended, 1);
		munmap(s->map, s->head.bytes);
	}
	if (s->fd >= 0)
		close(s->fd);
	free(s->family);
	free(s->row);
	free(s);
}

/* ---- readers ---- */

static int read_all(int fd, void *to, uint64_t bytes, uint64_t at)
{
	while (bytes) {
		ssize_t n = pread(fd, to, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPROTO;
		to = (char *)to + n;
		at += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

/* Is the text of `bytes` bytes terminated, and of printable characters? */
static bool is_text(const char *text, size_t bytes)
{
	size_t n = strnlen(text, bytes);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n')
			return false;
	return n < bytes;
}

static bool is_sound(const struct drv_stat_view *v)
{
	for (uint32_t i = 0; i < v->head.families; i++)
		if (!is_text(v->family[i].name, sizeof v->family[i].name) ||
		    !is_text(v->family[i].unit, sizeof v->family[i].unit) ||
		    !is_text(v->family[i].help, sizeof v->family[i].help))
			return false;
	for (uint32_t i = 0; i < v->head.rows; i++)
		if (v->row[i].family >= v->head.families ||
		    !is_text(v->row[i].label, sizeof v->row[i].label))
			return false;
	return true;
}

int drv_stat_view_open(struct drv_stat_view *v, const char *path)
{
	struct drv_stat_head *h = &v->head, want;
	int rc;

	memset(v, 0, sizeof *v);
	v->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (v->fd < 0)
		return -errno;
	rc = read_all(v->fd, h, sizeof *h, 0);
	want = *h;
	if (!rc && (h->magic != DRV_STAT_MAGIC || h->version != DRV_STAT_VERSION ||
		    h->families > FAMILIES_MAX || h->rows > ROWS_MAX ||
		    !is_text(h->facts, sizeof h->facts)))
		rc = -EPROTO;
	if (!rc) {
		layout_file(&want);
		if (want.families_at != h->families_at || want.rows_at != h->rows_at ||
		    want.values_at != h->values_at || want.bytes != h->bytes)
			rc = -EPROTO;
	}
	if (!rc) {
		v->family = calloc(h->families + 1, sizeof *v->family);
		v->row = calloc(h->rows + 1, sizeof *v->row);
		v->value = calloc(h->rows + 1, sizeof *v->value);
		if (!v->family || !v->row || !v->value)
			rc = -ENOMEM;
	}
	if (!rc)
		rc = read_all(v->fd, v->family, h->families * sizeof *v->family, h->families_at);
	if (!rc)
		rc = read_all(v->fd, v->row, h->rows * sizeof *v->row, h->rows_at);
	if (!rc && !is_sound(v))
		rc = -EPROTO;
	if (!rc)
		rc = drv_stat_view_refresh(v);
	if (rc)
		drv_stat_view_close(v);
	return rc;
}

int drv_stat_view_refresh(struct drv_stat_view *v)
{
	char facts[sizeof v->head.facts];
	uint64_t sampled;
	int rc =
	    read_all(v->fd, &sampled, sizeof sampled, offsetof(struct drv_stat_head, sampled_ns));

	if (!rc)
		rc = read_all(v->fd, facts, sizeof facts, offsetof(struct drv_stat_head, facts));
	if (!rc && is_text(facts, sizeof facts))
		memcpy(v->head.facts, facts, sizeof facts);
	if (!rc)
		rc = read_all(v->fd, v->value, v->head.rows * sizeof *v->value, v->head.values_at);
	if (rc)
		return rc;
	atomic_store_relaxed(&v->head.sampled_ns, sampled);
	v->is_live = flock(v->fd, LOCK_SH | LOCK_NB) != 0;
	if (!v->is_live)
		flock(v->fd, LOCK_UN);
	return 0;
}

void drv_stat_view_close(struct drv_stat_view *v)
{
	if (v->fd >= 0)
		close(v->fd);
	free(v->family);
	free(v->row);
	free(v->value);
	memset(v, 0, sizeof *v);
	v->fd = -1;
}

const char *drv_stat_view_fact(const struct drv_stat_view *v, const char *key)
{
	static _Thread_local char text[1024];
	size_t n = strlen(key);

	text[0] = '\0';
	for (const char *line = v->head.facts; *line;) {
		size_t bytes = strcspn(line, "\n");

		if (!strncmp(line, key, n) && line[n] == '=') {
			snprintf(text, sizeof text, "%.*s", (int)(bytes - n - 1), line + n + 1);
			break;
		}
		line += bytes + (line[bytes] == '\n');
	}
	return text;
}

const char *drv_stat_label(const struct drv_stat_row *row, const char *key, char *text,
			   size_t bytes)
{
	size_t n = strlen(key);

	text[0] = '\0';
	for (const char *word = row->label; *word;) {
		size_t length = strcspn(word, " ");

		if (!strncmp(word, key, n) && word[n] == '=') {
			snprintf(text, bytes, "%.*s", (int)(length - n - 1), word + n + 1);
			break;
		}
		word += length + (word[length] == ' ');
	}
	return text;
}
