/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel and the hardware. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/settings.h"
#include "tools/check.h"

/* Read the first line of a file; "" if it cannot be read. */
static const char *read_line(const char *path, char *text, int bytes)
{
	FILE *f = fopen(path, "re");

	text[0] = 0;
	if (f && fgets(text, bytes, f))
		text[strcspn(text, "\n")] = 0;
	if (f)
		fclose(f);
	return text;
}

/* Return the number after "Key:" in /proc/meminfo, in its unit. */
static unsigned long long read_meminfo(const char *key)
{
	unsigned long long value = 0;
	size_t bytes = strlen(key);
	char line[256];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, key, bytes) && line[bytes] == ':')
			value = strtoull(line + bytes + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static void check_kernel(struct check *c)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 16)) {
		check_set(c, CHECK_OK, "Linux %s, %s", u.release, u.machine);
		return;
	}
	check_set(c, CHECK_SLOW, "Linux %s, %s: older than 5.16, waits use timers", u.release,
		  u.machine);
	check_fix(c, "Debian 12 has 6.1; everything works on older kernels, less quickly");
}

static void check_cores(struct check *c)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;
	int usable = sched_getaffinity(0, sizeof set, &set) ? (int)online : CPU_COUNT(&set);
	char quota[64];

	read_line("/sys/fs/cgroup/cpu.max", quota, sizeof quota);
	if (usable < online)
		check_set(c, CHECK_SLOW, "%d of %ld processors may be used (affinity)", usable,
			  online);
	else if (quota[0] && strncmp(quota, "max", 3))
		check_set(c, CHECK_SLOW,
			  "%d processors, but the control group limits their time (cpu.max %s)",
			  usable, quota);
	else
		check_set(c, usable > 1 ? CHECK_OK : CHECK_SLOW, "%d processor%s", usable,
			  usable > 1 ? "s" : "");
	if (c->state != CHECK_OK)
		check_fix(c, "tasks that share a processor take turns: everything works, latencies "
			     "are those of the scheduler");
}

static void check_memory(struct check *c)
{
	unsigned long long total = read_meminfo("MemTotal") >> 10,
			   available = read_meminfo("MemAvailable") >> 10;

	check_set(c, available > 512 ? CHECK_OK : CHECK_SLOW, "%llu MiB, %llu MiB available", total,
		  available);
	if (c->state != CHECK_OK)
		check_fix(c, "a task needs about 16 MiB and what the program takes");
}

static void check_shared(struct check *c)
{
	int fd = memfd_create("torus check", MFD_CLOEXEC);
	size_t bytes = 64ull << 30;
	void *m = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, (off_t)bytes))
		m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (m != MAP_FAILED) {
		check_set(c, CHECK_OK, "memfd, sparse, 64 GiB mapped");
		munmap(m, bytes);
	} else {
		check_set(c, CHECK_FATAL, "a sparse memfd of 64 GiB cannot be mapped: %s",
			  strerror(errno));
		check_fix(c, "ulimit -v unlimited, ulimit -f unlimited");
	}
	if (fd >= 0)
		close(fd);
}

static void check_huge_pages(struct check *c)
{
	unsigned long long total = read_meminfo("HugePages_Total"),
			   left = read_meminfo("HugePages_Free"),
			   kib = read_meminfo("Hugepagesize");

	if (total) {
		check_set(c, CHECK_OK, "%llu of %llu kB each, %llu free", total, kib, left);
		return;
	}
	check_set(c, CHECK_MISSING, "none reserved; needed by DPDK with NICs (PCI) only");
	check_fix(c, "echo 512 > /proc/sys/vm/nr_hugepages (root)");
}

static void check_futex_waitv(struct check *c)
{
	/* Without waiters, a kernel that has the call returns EINVAL. */
	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS) {
		check_set(c, CHECK_SLOW, "not in this kernel: sleepers look every millisecond");
		check_fix(c, "Linux 5.16 or later");
		return;
	}
	check_set(c, CHECK_OK, "sleep on several words at once");
}

static void check_membarrier(struct check *c)
{
	long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (can > 0 && can & MEMBARRIER_CMD_GLOBAL_EXPEDITED) {
		check_set(c, CHECK_OK, "waking costs nothing while no thread sleeps");
		return;
	}
	check_set(c, CHECK_SLOW, "no MEMBARRIER_CMD_GLOBAL_EXPEDITED: each message pays a fence");
	check_fix(c, "Linux 4.16 or later with CONFIG_MEMBARRIER; some sandboxes filter the call");
}

/* Two children act as two tasks: one allows others to read its memory (as tasks do), the other
 * reads it. */
static void check_process_vm(struct check *c)
{
	static volatile int word = 4711;
	char scope[16];
	int ready[2], status = 1, local = 0;
	struct iovec to = {&local, sizeof local}, from = {(void *)&word, sizeof word};
	pid_t owner, reader;
	char byte;

	if (pipe(ready))
		return;
	owner = fork();
	if (!owner) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	reader = fork();
	if (!reader) {
		int ok = read(ready[0], &byte, 1) == 1 &&
			 process_vm_readv(owner, &to, 1, &from, 1, 0) == sizeof local;

		_exit(ok && local == 4711 ? 0 : errno ? errno : 1);
	}
	waitpid(reader, &status, 0);
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	if (!status) {
		check_set(c, CHECK_OK, "tasks reach each other's memory in one copy");
		return;
	}
	check_set(c, CHECK_SLOW,
		  "process_vm_readv between tasks: %s; private memory is copied twice",
		  strerror(WEXITSTATUS(status)));
	read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	if (scope[0])
		check_fix(c, "echo 1 > /proc/sys/kernel/yama/ptrace_scope (it is %s), root", scope);
	else
		check_fix(c, "in a container: add the capability SYS_PTRACE, or allow "
			     "process_vm_readv in its filter");
}

static int try_namespace(int flags)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(unshare(flags) ? errno : 0);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static void check_namespaces(struct check *c)
{
	int root = try_namespace(CLONE_NEWNET), user;

	if (!root) {
		check_set(
		    c, CHECK_OK,
		    "network namespaces can be made: several hosts on this machine, with DPDK");
		if (access("/usr/sbin/ip", X_OK) && access("/sbin/ip", X_OK) &&
		    access("/usr/bin/ip", X_OK)) {
			check_set(c, CHECK_MISSING,
				  "network namespaces can be made, but there is no ip command");
			check_fix(c, "apt install iproute2");
		}
		return;
	}
	user = try_namespace(CLONE_NEWUSER | CLONE_NEWNET);
	check_set(c, CHECK_MISSING,
		  "no network namespaces for this user (%s); needed by --hosts netns:NAME only",
		  strerror(root));
	check_fix(c, user ? "run as root" : "run as root, or under: unshare -Urn");
}

static void check_clock(struct check *c)
{
	char source[64], line[4096];
	int invariant = 0, constant = 0;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line, sizeof line, f)) {
		if (strncmp(line, "flags", 5))
			continue;
		constant = strstr(line, " constant_tsc") != NULL;
		invariant = strstr(line, " nonstop_tsc") != NULL;
		break;
	}
	if (f)
		fclose(f);
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		  sizeof source);
	if (constant && invariant)
		check_set(c, CHECK_OK, "time-stamp counter is invariant; kernel clock %s", source);
	else
		check_set(c, CHECK_SLOW, "no invariant time-stamp counter; kernel clock %s",
			  source);
	if (c->state != CHECK_OK)
		check_fix(c, "measured times under 1 us are not to be trusted on this machine");
}

static void check_limits(struct check *c)
{
	struct rlimit files, processes, core;
	char f[32], p[32];

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_NPROC, &processes);
	getrlimit(RLIMIT_CORE, &core);
	snprintf(f, sizeof f, files.rlim_cur == RLIM_INFINITY ? "unlimited" : "%llu",
		 (unsigned long long)files.rlim_cur);
	snprintf(p, sizeof p, processes.rlim_cur == RLIM_INFINITY ? "unlimited" : "%llu",
		 (unsigned long long)processes.rlim_cur);
	check_set(c, CHECK_OK, "files %s, processes %s, core dumps %s", f, p,
		  core.rlim_cur ? "on" : "off");
	if (files.rlim_cur < 1024 || processes.rlim_cur < 1024) {
		c->state = CHECK_SLOW;
		check_fix(
		    c, "ulimit -n 4096; ulimit -u 4096 for jobs of more than a few hundred tasks");
	}
}

static void check_ssh(struct check *c)
{
	if (!access("/usr/bin/ssh", X_OK) || drv_setting_is_set(DRV_QUINTORUS_SSH)) {
		check_set(c, CHECK_OK, "%s",
			  drv_setting_is_set(DRV_QUINTORUS_SSH)
			      ? drv_setting_text(DRV_QUINTORUS_SSH)
			      : "/usr/bin/ssh");
		return;
	}
	check_set(c, CHECK_MISSING, "no ssh; needed by --hosts ssh:HOST only");
	check_fix(c, "apt install openssh-client");
}

const struct check_entry check_list[] = {
    {"kernel", check_kernel},
    {"processors", check_cores},
    {"memory", check_memory},
    {"shared memory", check_shared},
    {"process_vm", check_process_vm},
    {"futex_waitv", check_futex_waitv},
    {"membarrier", check_membarrier},
    {"clock", check_clock},
    {"limits", check_limits},
    {"huge pages", check_huge_pages},
    {"DPDK", check_dpdk},
    {"packet sockets", check_packet},
    {"io_uring", check_uring},
    {"AF_XDP", check_af_xdp},
    {"seal", check_seal},
    {"namespaces", check_namespaces},
    {"ssh", check_ssh},
    {NULL, NULL},
};
