/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host segment in the address space of a process.
 *
 * Arenas are large and mostly empty. A process maps what comes before them, and of each arena the
 * part that it uses, from its start. No other mapping may lie behind such a part, so the segment
 * goes to addresses that the kernel does not choose by itself. A part grows in place with mremap(),
 * which needs no file descriptor; the program may have closed that. Where mremap() does not do so
 * (valgrind refuses it), the view keeps a descriptor, and the part behind is mapped. If these
 * addresses are occupied, or under the thread sanitizer, which permits none of them, the whole
 * segment is mapped at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "mu/lock.h"
#include "mu/segment/host.h"

#define VIEWS       16
#define BASE        (32ull << 40)
#define STEP        (1ull << 40)
#define PIECE_FIRST (64ull << 10)
#define PIECE_GROW  (4ull << 20)

struct view {
	ATOMIC(struct mu_host *) host; /* NULL: the entry is free */
	struct mu_spinlock lock;       /* held by the thread that maps more */
	atomic_u64 *mapped;            /* [locals] bytes of each arena */
	int fd;                        /* of the segment; -1: mremap() does without */
};

static struct view views[VIEWS];
static struct mu_spinlock views_lock;

/* Return the view of a segment; NULL: the whole segment is mapped. */
static struct view *view_of(const struct mu_host *h)
{
	for (unsigned i = 0; i < VIEWS; i++)
		if (atomic_ptr_load_acquire(&views[i].host) == h)
			return &views[i];
	return NULL;
}

static void *map_at(uint64_t address, uint64_t bytes, int fd, uint64_t offset)
{
	void *want = (void *)(uintptr_t)address;
	void *m =
	    mmap(want, bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_NORESERVE | (want ? MAP_FIXED_NOREPLACE : 0), fd, (off_t)offset);

	if (m != MAP_FAILED && want && m != want) { /* an old kernel treats the address as a hint */
		munmap(m, bytes);
		return NULL;
	}
	return m == MAP_FAILED ? NULL : m;
}

/* Unmap what comes before the arenas, and `piece` bytes of each of the first `arenas` arenas. */
static void unmap_pieces(char *base, const struct mu_host *head, uint32_t arenas, uint64_t piece)
{
	munmap(base, mu_host_arenas_at(head));
	for (uint32_t i = 0; i < arenas; i++)
		munmap(base + mu_host_arenas_at(head) + head->arena_bytes * i, piece);
}

/* Grow a mapping in place, by its last page. */
static bool grow_in_place(char *start, uint64_t have, uint64_t want)
{
	return mremap(start + have - 4096, 4096, want - have + 4096, 0) != MAP_FAILED;
}

/*
 * Can the arenas grow? Tried with the first one, by a page. *needs_fd: only with the descriptor of
 * the segment.
 */
static bool can_grow(char *base, const struct mu_host *head, uint64_t piece, int fd, bool *needs_fd)
{
	char *start = base + mu_host_arenas_at(head);

	*needs_fd = false;
	if (!head->locals || piece == head->arena_bytes)
		return true;
	if (!grow_in_place(start, piece, piece + 4096)) {
		*needs_fd = true;
		if (!map_at((uintptr_t)start + piece, 4096, fd, mu_host_arenas_at(head) + piece))
			return false;
	}
	munmap(start + piece, 4096);
	return true;
}

/* Map what comes before the arenas, and the first part of each arena, at `base`. */
static void *map_pieces(uint64_t base, const struct mu_host *head, int fd, bool *needs_fd)
{
	uint64_t piece = head->arena_bytes < PIECE_FIRST ? head->arena_bytes : PIECE_FIRST;
	void *m = map_at(base, mu_host_arenas_at(head), fd, 0);
	uint32_t arenas = 0;

	while (m && arenas < head->locals) {
		uint64_t at = mu_host_arenas_at(head) + head->arena_bytes * arenas;

		if (!map_at(base + at, piece, fd, at))
			break;
		arenas++;
	}
	if (m && (arenas < head->locals || !can_grow(m, head, piece, fd, needs_fd))) {
		unmap_pieces(m, head, arenas, piece);
		m = NULL;
	}
	return m;
}

static void *map_growing(const struct mu_host *head, int fd)
{
	atomic_u64 *mapped = calloc(head->locals ? head->locals : 1, sizeof *mapped);
	struct view *v = NULL;
	bool needs_fd = false;
	void *m = NULL;

	mu_lock_acquire(&views_lock);
	for (unsigned i = 0; i < VIEWS && !v; i++)
		if (!atomic_ptr_load_acquire(&views[i].host))
			v = &views[i];
	for (unsigned i = 0; v && mapped && !m && i < VIEWS && head->bytes <= STEP; i++)
		m = map_pieces(BASE + STEP * i, head, fd, &needs_fd);
	if (m) {
		for (uint32_t i = 0; i < head->locals; i++)
			atomic_store_relaxed(&mapped[i], head->arena_bytes < PIECE_FIRST
							     ? head->arena_bytes
							     : PIECE_FIRST);
		v->mapped = mapped;
		v->fd = needs_fd ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
		atomic_ptr_store_release(&v->host, m);
	}
	mu_lock_release(&views_lock);
	if (!m)
		free(mapped);
	return m;
}

void *mu_host_map_view(int fd)
{
	/* Mapped for the moment: it is too large for a small stack. */
	const struct mu_host *head = mmap(NULL, sizeof *head, PROT_READ, MAP_SHARED, fd, 0);
	void *m = NULL;

	if (head == MAP_FAILED)
		return NULL;
#if !defined(__SANITIZE_THREAD__)
	m = map_growing(head, fd);
#endif
	if (!m)
		m = map_at(0, head->bytes, fd, 0);
	munmap((void *)(uintptr_t)head, sizeof *head);
	return m;
}

void mu_host_unmap_view(struct mu_host *h)
{
	struct view *v = view_of(h);

	if (!v) {
		munmap(h, h->bytes);
		return;
	}
	for (uint32_t i = 0; i < h->locals; i++)
		munmap(mu_host_arena(h, i), atomic_load_relaxed(&v->mapped[i]));
	munmap(h, mu_host_arenas_at(h));
	mu_lock_acquire(&views_lock);
	free(v->mapped);
	v->mapped = NULL;
	if (v->fd >= 0)
		close(v->fd);
	atomic_ptr_store_release(&v->host, NULL);
	mu_lock_release(&views_lock);
}

uint64_t mu_host_arena_mapped(struct mu_host *h, uint32_t local)
{
	const struct view *v = view_of(h);

	return v ? atomic_load_acquire(&v->mapped[local]) : h->arena_bytes;
}

/* Map bytes [have, want) of an arena. */
static bool grow_mapping(const struct view *v, struct mu_host *h, uint32_t local, uint64_t have,
			 uint64_t want)
{
	char *start = mu_host_arena(h, local);

	return grow_in_place(start, have, want) ||
	       (v->fd >= 0 && map_at((uintptr_t)start + have, want - have, v->fd,
				     (uint64_t)(start - (char *)h) + have));
}

bool mu_host_map_arena(struct mu_host *h, uint32_t local, uint64_t bytes)
{
	struct view *v = view_of(h);
	uint64_t have, want;
	bool done = true;

	if (bytes > h->arena_bytes)
		return false;
	if (!v || bytes <= atomic_load_acquire(&v->mapped[local]))
		return true;
	mu_lock_acquire(&v->lock);
	have = atomic_load_relaxed(&v->mapped[local]);
	if (have < bytes) {
		want = (bytes + have / 8 + PIECE_GROW - 1) / PIECE_GROW * PIECE_GROW;
		if (want > h->arena_bytes)
			want = h->arena_bytes;
		done = grow_mapping(v, h, local, have, want);
		if (!done) { /* little address space is left */
			want = (bytes + 4095) & ~4095ull;
			done = grow_mapping(v, h, local, have, want);
		}
		if (done)
			atomic_store_release(&v->mapped[local], want);
	}
	mu_lock_release(&v->lock);
	return done;
}

/* Call fn for each arena that [off, off + bytes) touches. */
static bool each_arena(struct mu_host *h, uint64_t off, uint64_t bytes,
		       bool (*is_there)(struct mu_host *h, uint32_t local, uint64_t bytes))
{
	uint64_t first = mu_host_arenas_at(h), end = off + bytes;

	if (off > h->bytes || bytes > h->bytes - off)
		return false;
	if (end <= first)
		return true;
	off = off < first ? 0 : off - first;
	end -= first;
	for (uint64_t i = off / h->arena_bytes; i * h->arena_bytes < end; i++) {
		uint64_t last = end - i * h->arena_bytes;

		if (!is_there(h, (uint32_t)i, last < h->arena_bytes ? last : h->arena_bytes))
			return false;
	}
	return true;
}

static bool is_mapped(struct mu_host *h, uint32_t local, uint64_t bytes)
{
	return bytes <= mu_host_arena_mapped(h, local);
}

bool mu_host_map_range(struct mu_host *h, uint64_t off, uint64_t bytes)
{
	return each_arena(h, off, bytes, mu_host_map_arena);
}

bool mu_host_is_mapped(struct mu_host *h, uint64_t off, uint64_t bytes)
{
	return each_arena(h, off, bytes, is_mapped);
}
