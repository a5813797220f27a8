/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies whose addresses other tasks name. Segment memory cannot go away and is copied directly.
 * Other processes' private memory is copied by the kernel (process_vm_readv, process_vm_writev), so
 * that a page that was freed gives -EFAULT and never a crash. Our own private memory likewise when
 * it is much; a few pages are asked for first (a system call that touches the word and changes
 * nothing: 0.15 us to read, 0.36 us to write, where process_vm_* costs 1.1 us), then copied here.
 * If another thread unmaps a page between the check and the copy, the process dies of SIGSEGV, as
 * in any memcpy. What was found is remembered for the rest of a round of the engine (struct
 * mu_checked_range): short puts and gets that name the same pages ask once. Of long ones many pages
 * are checked together: two queries find how far plain memory goes (0.9 us), and where they cannot,
 * of a get many pages are read. Our caller's own buffers are checked when the operation starts
 * (mu_is_buffer_mapped()), not again. While the only thread of a program does nothing but poll,
 * what was found is remembered from poll to poll (known_memory.h).
 *
 * With QUINTORUS_MEMORY_CHECK=touch a process asks for no page: it touches each of a copy and
 * catches the signal (drivers/base/touch.h). The rules are the same: a piece of which a page is
 * missing is not copied in part.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mu/engine/memory.h"
#include "drivers/base/atomic.h"
#include "drivers/base/copy.h"
#include "drivers/base/touch.h"
#include "mu/engine/known_memory.h"
#include "mu/process.h"

int mu_copy_by_kernel(pid_t pid, void *mine, uint64_t theirs, uint64_t bytes, bool write)
{
	while (bytes) {
		/* One call moves at most 2 GiB less a page. */
		uint64_t n = bytes > (1u << 30) ? (1u << 30) : bytes;
		struct iovec a = {mine, n}, b = {(void *)(uintptr_t)theirs, n};
		ssize_t done = write ? process_vm_writev(pid, &a, 1, &b, 1, 0)
				     : process_vm_readv(pid, &a, 1, &b, 1, 0);

		if (done < 0)
			return errno == ENOMEM                     ? -ENOMEM
			       : errno == EPERM || errno == ENOSYS ? -EPERM
			       : errno == ESRCH                    ? -ESHUTDOWN
								   : -EFAULT;
		if (done == 0)
			return -EFAULT;
		mine = (char *)mine + done;
		theirs += (uint64_t)done;
		bytes -= (uint64_t)done;
	}
	return 0;
}

#define PAGE          4096ull
#define PAGES_FEW     4
#define PAGES_TOUCHED 64 /* so many are checked one by one if that takes no system call */

/* Is the page of this address readable? The mask is read before `how` is found invalid. */
static bool is_page_readable(uint64_t va)
{
	return syscall(SYS_rt_sigprocmask, ~0ul, va & ~7ull, NULL, 8) < 0 && errno == EINVAL;
}

/* Is it writable? Adds 0 to the word, atomically. */
static bool is_page_writable(uint64_t va)
{
	va &= ~3ull;
	return syscall(SYS_futex, va, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, va,
		       FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
}

/* May this thread touch memory? The first test spares other processes the call. */
static bool may_touch(const struct mu_process *p)
{
	return p->touches && drv_touch_is_safe();
}

/* Does the library keep this for itself? See mu_host_is_kept(). */
static bool is_kept(uint64_t va, uint64_t bytes)
{
	return mu_host_is_kept(mu_self.host, mu_self.local, va, bytes);
}

/*
 * 1: all there, copy directly; 0: too many pages to ask for; -EFAULT: one is not there. touch: this
 * thread may touch memory (may_touch()).
 */
static int check_pages(uint64_t va, uint64_t bytes, bool write, bool touch)
{
	uint64_t last;

	if (va + bytes - 1 < va || (write && is_kept(va, bytes)))
		return -EFAULT;
	last = (va + bytes - 1) / PAGE;
	if (last - va / PAGE >= (touch ? PAGES_TOUCHED : PAGES_FEW))
		return 0;
	for (uint64_t at = va; at / PAGE <= last; at = (at / PAGE + 1) * PAGE)
		if (!(touch   ? write ? drv_touch_write(at) : drv_touch_read(at)
			: write ? is_page_writable(at)
			      : is_page_readable(at)))
			return -EFAULT;
	if (!touch)
		mu_learn_memory(va / PAGE * PAGE, (last + 1) * PAGE, write);
	return 1;
}

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

int mu_check_memory(uint64_t va, size_t bytes, int write)
{
	uint64_t first = va & ~(PAGE - 1), last = (va + bytes - 1) / PAGE;
	int there;

	if (!bytes || (write ? mu_is_in_arenas : mu_is_in_segment)(&mu_self, va, bytes) ||
	    mu_knows_memory(va, bytes, write))
		return 0;
	there = check_pages(va, bytes, write, may_touch(&mu_self));
	if (there)
		return there < 0 ? there : 0;
	/* The pages are wanted here anyway. */
	if (!madvise((void *)(uintptr_t)first, (last + 1) * PAGE - first,
		     write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	if (errno == EFAULT)
		return -EFAULT;
	for (uint64_t at = va; at / PAGE <= last;
	     at = (at / PAGE + 1) * PAGE) /* odd memory, old kernels */
		if (!(write ? is_page_writable : is_page_readable)(at))
			return -EFAULT;
	return 0;
}

/*
 * Are so many pages readable? A byte of each goes into a file in memory: one system call that stops
 * at the first that is not there (1 us for 8 pages, 3 for 64, where asking for each costs 1.1 and
 * 9).
 */
#define PROBE_PAGES 64

/* Files that are opened when first needed. 0: not open yet; -1: it cannot be used. */
static int probe_fd, maps_fd, pagemap_fd;

static int open_probe(void)
{
	return memfd_create("quintorus-probe", MFD_CLOEXEC);
}

static int open_maps(void)
{
	return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

static int open_pagemap(void)
{
	return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

static int file_of(int *kept, int (*open_file)(void))
{
	int fd = atomic_load_acquire(kept), none = 0;

	if (fd)
		return fd;
	fd = open_file();
	if (fd >= 0 && fd <= 2) { /* the program closed one of these, and may open it again */
		int low = fd;

		fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
		close(low);
	}
	if (!atomic_cas_acq_rel(kept, &none, fd)) {
		if (fd >= 0)
			close(fd);
		fd = none;
	}
	return fd;
}

static void close_file(int *kept, int then)
{
	int fd = atomic_exchange_acq_rel(kept, then);

	if (fd > 0)
		close(fd);
}

void mu_copy_cleanup(void)
{
	close_file(&probe_fd, 0);
	close_file(&maps_fd, 0);
	close_file(&pagemap_fd, 0);
}

/*
 * Plain memory: a private mapping that can be read and written and has no file behind it, so that
 * all of it is there except for guard pages in it. The kernel tells both since 6.15
 * (PROCMAP_QUERY, PAGEMAP_SCAN); <linux/fs.h> of older systems lacks the words.
 */
struct map_query {
	uint64_t bytes, flags, at;
	uint64_t begin, end, rights, page_bytes, offset, inode;
	uint32_t major, minor, name_bytes, id_bytes;
	uint64_t name, id;
};
_Static_assert(sizeof(struct map_query) == 104, "struct procmap_query of Linux 6.11");

struct page_scan {
	uint64_t bytes, flags, begin, end, stopped, found, found_max, pages_max;
	uint64_t inverted, all_of, any_of, tell;
};
_Static_assert(sizeof(struct page_scan) == 96, "struct pm_scan_arg of Linux 6.7");

struct page_run {
	uint64_t begin, end, kind;
};

#define MAP_QUERY    _IOWR('f', 17, struct map_query)
#define PAGE_SCAN    _IOWR('f', 16, struct page_scan)
#define MAP_READ     1u
#define MAP_WRITE    2u
#define MAP_SHARED_  8u
#define PAGE_GUARD   (1u << 8)
#define PLAIN_BYTES  (1u << 20) /* so much is scanned together */
#define READ_MANY    (64u << 10)
#define WRITE_SINGLY 2 /* short pieces of a round whose pages are asked for one by one first */

/* The kernel does not answer such queries, or not to us. */
static int has_no_queries;

/* Find plain memory from `va` on. */
static bool find_plain_memory(uint64_t va, struct mu_checked_range *range)
{
	struct map_query q = {.bytes = sizeof q, .at = va};
	struct page_run guard;
	struct page_scan scan = {.bytes = sizeof scan,
				 .begin = va & ~(PAGE - 1),
				 .found = (uint64_t)(uintptr_t)&guard,
				 .found_max = 1,
				 .pages_max = 1,
				 .all_of = PAGE_GUARD,
				 .tell = PAGE_GUARD};
	int maps = file_of(&maps_fd, open_maps), pages = file_of(&pagemap_fd, open_pagemap), n;

	if (maps < 0 || pages < 0 || ioctl(maps, MAP_QUERY, &q)) {
		if (maps < 0 || pages < 0 || errno != ENOENT) /* that says: nothing is mapped */
			atomic_store_relaxed(&has_no_queries, 1);
		return false;
	}
	if ((q.rights & (MAP_READ | MAP_WRITE | MAP_SHARED_)) != (MAP_READ | MAP_WRITE) || q.inode)
		return false;
	scan.end = q.end - scan.begin > PLAIN_BYTES ? scan.begin + PLAIN_BYTES : q.end;
	n = ioctl(pages, PAGE_SCAN, &scan);
	if (n < 0) {
		atomic_store_relaxed(&has_no_queries, 1);
		return false;
	}
	range->from = va;
	range->to = n ? guard.begin : scan.end;
	range->is_writable = true;
	return true;
}

/* Are the bytes in memory that was found to be writable in this round? */
static bool is_known_writable(const struct mu_checked_range *range, uint64_t va, uint64_t bytes)
{
	return range->is_writable && va >= range->from && va + bytes >= va &&
	       va + bytes <= range->to;
}

/* Are they in memory that is found to be plain now? */
static bool is_found_plain(struct mu_checked_range *range, uint64_t va, uint64_t bytes)
{
	if (range->is_odd || va + bytes < va || atomic_load_relaxed(&has_no_queries))
		return false;
	range->is_odd = !find_plain_memory(va, range) || va + bytes > range->to;
	if (!range->is_odd)
		mu_learn_memory(range->from, range->to, true);
	return !range->is_odd;
}

static int pages_readable(uint64_t va, unsigned pages)
{
	struct iovec each[PROBE_PAGES];
	int fd = file_of(&probe_fd, open_probe);

	for (unsigned i = 0; i < pages; i++)
		each[i] =
		    (struct iovec){(void *)(uintptr_t)(i ? (va & ~(PAGE - 1)) + i * PAGE : va), 1};
	return fd >= 0 && pwritev(fd, each, (int)pages, 0) == (ssize_t)pages;
}

/* Are the bytes known to be readable, or found to be so together with some that follow? */
static bool is_range_readable(struct mu_checked_range *range, uint64_t va, uint64_t bytes)
{
	uint64_t pages;

	if (!bytes || va + bytes < va) /* both come from the wire */
		return 0;
	if (va >= range->from && va + bytes <= range->to)
		return 1;
	if (va + bytes > range->end)
		return 0;
	pages = (range->end - 1) / PAGE - va / PAGE + 1;
	if (pages <= PAGES_FEW)
		return 0;
	pages = pages > PROBE_PAGES ? PROBE_PAGES : pages;
	if (va + bytes > (va / PAGE + pages) * PAGE || !pages_readable(va, (unsigned)pages))
		return 0;
	range->from = va;
	range->to = (va / PAGE + pages) * PAGE;
	range->is_writable = false;
	return 1;
}

/* May the bytes of a get be read? Queries pay only if many bytes are to come, since asking for the
 * pages of a get costs less than for those of a put. */
static bool is_range_there(struct mu_checked_range *range, uint64_t va, uint64_t bytes)
{
	return is_known_writable(range, va, bytes) ||
	       (range->end - va >= READ_MANY && is_found_plain(range, va, bytes)) ||
	       is_range_readable(range, va, bytes);
}

/*
 * The pages of these bytes were asked for and are there: others of this round need not ask. What is
 * known of more memory is kept.
 */
static void note_pages(struct mu_checked_range *range, uint64_t va, uint64_t bytes,
		       bool is_writable)
{
	if (!range || range->is_writable || !bytes)
		return;
	range->from = va & ~(PAGE - 1);
	range->to = (va + bytes - 1) / PAGE * PAGE + PAGE;
	range->is_writable = is_writable;
}

int mu_check_in(struct mu_process *p, uint64_t from, uint64_t bytes, struct mu_checked_range *range)
{
	bool is_there = mu_is_in_segment(p, from, bytes) || mu_knows_memory(from, bytes, false);
	bool touch = !is_there && may_touch(p);
	int there;

	if (is_there || (range && !touch && is_range_there(range, from, bytes)))
		return 1;
	there = check_pages(from, bytes, false, touch);
	if (there > 0)
		note_pages(range, from, bytes, false);
	return there;
}

int mu_copy_in(struct mu_process *p, void *to, uint64_t from, uint64_t bytes,
	       struct mu_checked_range *range)
{
	int there = mu_check_in(p, from, bytes, range);

	if (there == 0)
		return mu_copy_by_kernel(p->pid, to, from, bytes, false);
	if (there < 0)
		return there;
	memcpy(to, (void *)(uintptr_t)from, bytes);
	return 0;
}

/*
 * What a put writes: an aligned word in one store, after all that was put before, because programs
 * watch such words; and each word once, because other programs change them by atomic operations.
 */
static void put_bytes(void *to, const void *from, uint64_t bytes)
{
	uint64_t word8;
	uint32_t word4;

	if (bytes == 8 && (uintptr_t)to % 8 == 0) {
		memcpy(&word8, from, 8);
		atomic_store_release((uint64_t *)to, word8);
	} else if (bytes == 4 && (uintptr_t)to % 4 == 0) {
		memcpy(&word4, from, 4);
		atomic_store_release((uint32_t *)to, word4);
	} else {
		drv_copy_words(to, from, bytes);
	}
}

int mu_copy_out(struct mu_process *p, uint64_t to, const void *from, uint64_t bytes,
		struct mu_checked_range *range)
{
	bool touch;
	int there;

	if (mu_is_in_arenas(p, to, bytes) || is_known_writable(range, to, bytes) ||
	    mu_knows_memory(to, bytes, true)) {
		put_bytes((void *)(uintptr_t)to, from, bytes);
		return 0;
	}
	touch = may_touch(p);
	if (!touch && (bytes > PAGE || range->asked++ >= WRITE_SINGLY) &&
	    is_found_plain(range, to, bytes)) {
		put_bytes((void *)(uintptr_t)to, from, bytes);
		return 0;
	}
	there = check_pages(to, bytes, true, touch);
	if (there == 0)
		return mu_copy_by_kernel(p->pid, (void *)(uintptr_t)from, to, bytes, true);
	if (there < 0)
		return there;
	note_pages(range, to, bytes, true);
	put_bytes((void *)(uintptr_t)to, from, bytes);
	return 0;
}

int mu_copy_own(uint64_t to, const void *from, uint64_t bytes)
{
	put_bytes((void *)(uintptr_t)to, from, bytes);
	return 0;
}

int mu_copy_to(struct mu_process *p, uint32_t local, uint64_t to, const void *from, uint64_t bytes)
{
	void *direct;

	if (to + bytes < to || mu_host_is_kept(p->host, local, to, bytes))
		return -EFAULT;
	direct = mu_host_translate(p->host, local, to, bytes);
	if (direct) {
		put_bytes(direct, from, bytes);
		return 0;
	}
	return mu_copy_by_kernel((pid_t)atomic_load_relaxed(&mu_host_area(p->host, local)->pid),
				 (void *)(uintptr_t)from, to, bytes, true);
}

int mu_copy_from(struct mu_process *p, uint32_t local, void *to, uint64_t from, uint64_t bytes)
{
	void *direct = mu_host_translate(p->host, local, from, bytes);

	if (direct) {
		drv_copy_words(to, direct, bytes);
		return 0;
	}
	return mu_copy_by_kernel((pid_t)atomic_load_relaxed(&mu_host_area(p->host, local)->pid), to,
				 from, bytes, false);
}

void mu_counter_sub(struct mu_process *p, uint64_t counter, uint64_t bytes)
{
	uint64_t va = counter & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7);

	/* Own counters lie in the segment; no other address is one of them. */
	if (va && mu_is_in_segment(p, va, 8))
		atomic_fetch_sub_release((uint64_t *)(uintptr_t)va, bytes);
}
