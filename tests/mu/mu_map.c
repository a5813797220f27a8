/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segment/map.c: the arenas of a segment grow, also where mremap() is refused, as by valgrind, and
 * where something else lies behind an arena.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mu/segment/host.h"
#include "tests/harness/t.h"

#define BYTES (3ull << 20) /* more than is mapped of an arena at first */

static struct mu_host *create(void)
{
	struct emu_coord at[2] = {{{0}, 0}, {{1}, 0}};
	uint16_t on[2] = {0, 0};
	struct mu_host_conf conf = {.job = 1,
				    .seed = 1,
				    .tasks = 2,
				    .hosts = 1,
				    .shape = {{2, 1, 1, 1, 1}, 1, 0},
				    .coords = at,
				    .task_host = on};
	struct mu_host *h = NULL;
	int fd;

	CHECK_EQ(mu_host_create(&conf, &h, &fd), 0);
	close(fd); /* as a program may */
	return h;
}

static int grow(void *unused)
{
	struct mu_host *h = create();

	(void)unused;
	for (uint32_t i = 0; i < 2; i++) {
		char *arena = mu_host_arena(h, i);

		CHECK(mu_host_map_arena(h, i, BYTES));
		memset(arena, (int)i + 1, BYTES);
		CHECK(mu_host_map_arena(h, i, 3 * BYTES));
		CHECK(mu_host_arena_mapped(h, i) >= 3 * BYTES);
		arena[3 * BYTES - 1] = 9;
		CHECK_EQ(arena[BYTES - 1], (int)i + 1);
	}
	CHECK_EQ(mu_host_arena(h, 0)[0], 1);
	mu_host_unmap(h);
	return (int)t_failures();
}

static int refuse_mremap_and_grow(void *unused)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {sizeof code / sizeof *code, code};

	REQUIRE_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	REQUIRE_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
	return grow(unused);
}

/* Something else lies where the first arena would grow to, and stays there. */
static int grow_beside_others(void *unused)
{
	struct mu_host *h = create();
	char *behind = mu_host_arena(h, 0) + mu_host_arena_mapped(h, 0), *other;
	int failures;

	if (mu_host_arena_mapped(h, 0) == h->arena_bytes) /* the thread sanitizer */
		behind = NULL;
	mu_host_unmap(h);
	if (!behind)
		return 0;
	other = mmap(behind, 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	REQUIRE(other == behind);
	*other = 5;
	failures = grow(unused);
	CHECK_EQ(*other, 5);
	return failures;
}

static void arenas_grow(void)
{
	CHECK_EQ(t_wait(t_child(grow, NULL), 60), 0);
}

static void arenas_grow_without_mremap(void)
{
	CHECK_EQ(t_wait(t_child(refuse_mremap_and_grow, NULL), 60), 0);
}

static void other_mappings_stay(void)
{
	CHECK_EQ(t_wait(t_child(grow_beside_others, NULL), 60), 0);
}

T_MAIN(T(arenas_grow), T(arenas_grow_without_mremap), T(other_mappings_stay))
