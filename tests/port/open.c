/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening ports: wrong specs say what and how; drivers leave the program and the host as they were. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/port.h"
#include "tests/t.h"

static char logged[8192];

/* Open with stderr caught in `logged`. */
static int open_logged(const char *spec, struct drv_port **port)
{
	char path[256];
	int saved = dup(STDERR_FILENO), file, rc;
	ssize_t n;

	snprintf(path, sizeof path, "%s/log", t_dir());
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fflush(stderr);
	dup2(file, STDERR_FILENO);
	rc = drv_port_open(spec, port);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(file, logged, sizeof logged - 1, 0);
	logged[n < 0 ? 0 : n] = 0;
	close(file);
	return rc;
}

/* One line, naming the spec, with this in it. */
static int said(const char *spec, const char *text)
{
	char *end = strchr(logged, '\n');

	if (end && !end[1] && strstr(logged, spec) && strstr(logged, text))
		return 1;
	fprintf(stderr, "%s: logged: %s(expected: %s)\n", spec, logged, text);
	return 0;
}

static const struct bad {
	const char *spec;
	int error;
	const char *text;
} bad[] = {
	{ "", -EINVAL, "no ':'" },
	{ "shm", -EINVAL, "write e.g. shm:" },
	{ "carrier:pigeon", -ENOENT, "drivers are loop, shm, uring, dpdk" },
	{ ":x", -ENOENT, "there is no driver" },
	{ "fault+shm:", -ENOENT, "there is no driver fault+shm" },
	{ "fault(+shm:", -EINVAL, "a wrapper is written" },
	{ "fault()shm:", -EINVAL, "a wrapper is written" },
	{ "fualt()+shm:", -ENOENT, "there is no wrapper fualt" },
	{ "fault()+", -EINVAL, "no ':'" },
	{ "fault(loss)+loop:", -EINVAL, "loss is not a number 0 .. 1" },
	{ "fault(loss=1.1)+loop:", -EINVAL, "loss is not a number 0 .. 1" },
	{ "fault(loss=-0.1)+loop:", -EINVAL, "loss is not a number 0 .. 1" },
	{ "fault(loss=nan)+loop:", -EINVAL, "loss is not a number 0 .. 1" },
	{ "fault(dup=0.1x)+loop:", -EINVAL, "dup is not a number 0 .. 1" },
	{ "fault(seed=-1)+loop:", -EINVAL, "seed is not a whole number" },
	{ "fault(delay_us=1.5)+loop:", -EINVAL, "delay_us is not a whole number" },
	{ "fault(delay=5)+loop:", -EINVAL, "fault has no 'delay'" },
	{ "fault(seed=99999999999999999999)+loop:", -EINVAL, "seed is not" },
	{ "loop:a/b", -EINVAL, "without '/'" },
	{ "loop:a,frame=63", -EINVAL, "64 .. 65536" },
	{ "loop:a,frames=100", -EINVAL, "only frame=BYTES" },
	{ "shm:a/b", -EINVAL, "without '/'" },
	{ "shm:a-name-that-is-longer-than-forty-characters", -EINVAL, "at most 40" },
	{ "shm:a,slots=3", -EINVAL, "slots=N (4 .. 4096)" },
	{ "shm:a,frame=x", -EINVAL, "frame=BYTES" },
	{ "shm:a,b", -EINVAL, "'b'" },
};

static const struct bad bad_uring[] = {
	{ "uring:", -EINVAL, "write uring:ADDRESS" },
	{ "uring:localhost", -EINVAL, "write uring:ADDRESS" },
	{ "uring:0.0.0.0", -EINVAL, "write uring:ADDRESS" },
	{ "uring:127.0.0.1:70000", -EINVAL, "write uring:ADDRESS" },
	{ "uring:192.0.2.77", -EADDRNOTAVAIL, "'ip addr' lists them" },
	{ "uring:127.0.0.1,frame=10", -EINVAL, "frame=BYTES" },
	{ "uring:127.0.0.1,mtu=10", -EINVAL, "'mtu'" },
};

static const struct bad bad_dpdk[] = {
	{ "dpdk:", -EINVAL, "no device is named" },
	{ "dpdk:iface=va", -EINVAL, "no device is named" },
	{ "dpdk:eth0", -EINVAL, "neither a PCI address" },
	{ "dpdk:net_af_packet", -EINVAL, "no interface is named" },
	{ "dpdk:net_af_packet,iface", -EINVAL, "'iface' is not key=value" },
	{ "dpdk:net_af_packet,iface=no-such-if", -ENODEV, "'ip link' lists them" },
	{ "dpdk:net_af_packet,iface=an-interface-name-too-long", -EINVAL, "too long" },
	{ "dpdk:net_af_packet,iface=lo,mtu=9", -EINVAL, "mtu is 128 .. 65000" },
	{ "dpdk:net_memif,bsize=1", -EINVAL, "bsize is 128 .. 65024" },
	{ "dpdk:net_no_such_driver", -ENODEV, "DPDK cannot use the device" },
};

static void bad_check(const struct bad *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct drv_port *p = NULL;
		int rc = open_logged(b[i].spec, &p);

		if (rc != b[i].error)
			fprintf(stderr, "%s: %d, expected %d\n", b[i].spec, rc, b[i].error);
		CU_ASSERT_EQUAL(rc, b[i].error);
		CU_ASSERT_PTR_NULL(p);
		CU_ASSERT(said(b[i].spec, b[i].text));
	}
}

static int have_module(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/drivers/libqt_port_%s.so", getenv("QT_BUILD") ? getenv("QT_BUILD") : ".",
	         name);
	return !access(path, R_OK);
}

static void bad_specs(void)
{
	bad_check(bad, sizeof bad / sizeof *bad);
}

static void bad_specs_of_uring(void)
{
	if (!have_module("uring"))
		T_SKIP("the uring module was not built");
	bad_check(bad_uring, sizeof bad_uring / sizeof *bad_uring);
}

static int bad_specs_of_dpdk_child(void *arg)
{
	bad_check(bad_dpdk, sizeof bad_dpdk / sizeof *bad_dpdk);
	return (int)CU_get_number_of_failures();
}

static void bad_specs_of_dpdk(void)
{
	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	if (geteuid())
		T_SKIP("a packet socket needs root");
	CU_ASSERT_EQUAL(t_wait(t_child(bad_specs_of_dpdk_child, NULL), 60), 0);
}

static int xdp_queues_child(void *arg)
{
	static const struct bad several[] = { { "dpdk:net_af_xdp,iface=qa", -EINVAL, "over 4 queues, net_af_xdp hears one" } };
	struct drv_port *p = NULL;

	if (unshare(CLONE_NEWNET) || system("ip link add qa numrxqueues 4 numtxqueues 4 type veth peer name qb 2>/dev/null && "
	                                    "ip link set qa up && ip link set qb up"))
		return 77;
	bad_check(several, 1);
	/* Who names a queue is believed. */
	if (open_logged("dpdk:net_af_xdp,iface=qa,start_queue=1", &p))
		CU_ASSERT(!strstr(logged, "hears one"));
	drv_port_close(p);
	return (int)CU_get_number_of_failures();
}

static void xdp_hears_one_queue(void)
{
	int status;

	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	if (geteuid())
		T_SKIP("network namespaces need root");
	status = t_wait(t_child(xdp_queues_child, NULL), 60);
	if (status == 77)
		T_SKIP("no veth with several queues can be made here");
	CU_ASSERT_EQUAL(status, 0);
}

static void modules_are_looked_for(void)
{
	struct drv_port *p;
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/libqt_port_uring.so", t_dir());
	setenv("QUINTORUS_MODULES", t_dir(), 1);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CU_ASSERT(write(fd, "junk", 4) == 4);
	close(fd);
	CU_ASSERT_EQUAL(open_logged("uring:127.0.0.1", &p), -ENOENT);
	CU_ASSERT(said("uring:127.0.0.1", "does not load"));
	unlink(path);
	/* Another library under that name. */
	CU_ASSERT_EQUAL(symlink("/lib/x86_64-linux-gnu/libm.so.6", path), 0);
	if (!access(path, R_OK)) {
		CU_ASSERT_EQUAL(open_logged("uring:127.0.0.1", &p), -ENOEXEC);
		CU_ASSERT(said("uring:127.0.0.1", "another version"));
	}
	unlink(path);
	unsetenv("QUINTORUS_MODULES");
}

/* In this process io_uring_setup ends with `error`. */
static int deny_uring(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int uring_denied_child(void *arg)
{
	struct drv_port *p;
	int error = *(int *)arg;

	if (deny_uring(error))
		return 77;
	t_child_check(open_logged("uring:127.0.0.1", &p) == -error);
	t_child_check(said("uring:127.0.0.1", "io_uring is not permitted here"));
	return 0;
}

static void uring_denied(void)
{
	int errors[] = { EPERM, ENOSYS };

	if (!have_module("uring"))
		T_SKIP("the uring module was not built");
	for (int i = 0; i < 2; i++) {
		int rc = t_wait(t_child(uring_denied_child, &errors[i]), 20);

		if (rc == 77)
			T_SKIP("seccomp filters are not allowed here");
		CU_ASSERT_EQUAL(rc, 0);
	}
}

static unsigned entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

struct habits {
	cpu_set_t cpus;
	sigset_t mask;
	struct sigaction action[32];
};

static void habits_note(struct habits *h)
{
	memset(h, 0, sizeof *h);
	pthread_getaffinity_np(pthread_self(), sizeof h->cpus, &h->cpus);
	pthread_sigmask(SIG_SETMASK, NULL, &h->mask);
	for (int i = 1; i < 32; i++)
		sigaction(i, NULL, &h->action[i]);
}

/* EAL starts, and the program around it does not notice. */
static int dpdk_guest_child(void *arg)
{
	struct habits before, after;
	struct drv_port *p;
	char path[256], one[96];
	unsigned run = entries("/run/dpdk");
	int file, saved = dup(STDOUT_FILENO);
	cpu_set_t cpus;
	struct stat st;

	/* A mask of one CPU that is not the first, where there is one. */
	sched_getaffinity(0, sizeof cpus, &cpus);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&cpus) > 1; i++)
		CPU_CLR(i, &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	snprintf(path, sizeof path, "%s/stdout", t_dir());
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(file, STDOUT_FILENO);
	habits_note(&before);
	snprintf(one, sizeof one, "dpdk:net_memif,role=server,socket=q%d,id=1", (int)getpid());
	t_child_check(open_logged(one, &p) == 0);
	habits_note(&after);
	t_child_check(!logged[0]);
	drv_port_close(p);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	t_child_check(!fstat(file, &st) && st.st_size == 0);
	t_child_check(CPU_EQUAL(&before.cpus, &after.cpus));
	t_child_check(!memcmp(&before.mask, &after.mask, sizeof before.mask));
	for (int i = 1; i < 32; i++)
		t_child_check(before.action[i].sa_handler == after.action[i].sa_handler);
	t_child_check(entries("/run/dpdk") <= (run ? run : 2));
	return 0;
}

static void dpdk_is_a_guest(void)
{
	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	CU_ASSERT_EQUAL(t_wait(t_child(dpdk_guest_child, NULL), 30), 0);
}

static int forked_child(void *arg)
{
	struct drv_port *p;

	t_child_check(open_logged("dpdk:net_memif,role=server,socket=qt-test-fork-b", &p) == -ENOTSUP);
	t_child_check(said("net_memif", "was forked after DPDK had started"));
	return 0;
}

static int forking_child(void *arg)
{
	struct drv_port *p;

	t_child_check(drv_port_open("dpdk:net_memif,role=server,socket=qt-test-fork-a", &p) == 0);
	t_child_check(t_wait(t_child(forked_child, NULL), 20) == 0);
	drv_port_close(p);
	return 0;
}

static void dpdk_after_fork(void)
{
	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	CU_ASSERT_EQUAL(t_wait(t_child(forking_child, NULL), 60), 0);
}

struct killed {
	char address[DRV_PORT_ADDRESS_BYTES];
	int ready;
};

static int killed_child(void *arg)
{
	struct killed *k = arg;
	struct drv_port *p;

	t_child_check(drv_port_open("shm:killed", &p) == 0);
	t_child_check(drv_port_address(p, k->address, sizeof k->address) == 0);
	t_child_check(drv_port_peer(p, k->address) == 0);
	__atomic_store_n(&k->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return 0;
}

/* A killed process leaves nothing, and frames to it are taken. */
static void shm_leaves_nothing(void)
{
	struct killed *k = t_shared(sizeof *k);
	unsigned files = entries("/dev/shm");
	struct drv_port *p;
	char line[512];
	FILE *f;
	pid_t pid = t_child(killed_child, k);

	while (!__atomic_load_n(&k->ready, __ATOMIC_ACQUIRE))
		sched_yield();
	CU_ASSERT_FATAL(drv_port_open("shm:killed", &p) == 0);
	CU_ASSERT_EQUAL(drv_port_peer(p, k->address), 0);
	kill(pid, SIGKILL);
	CU_ASSERT_EQUAL(t_wait(pid, 10), 128 + SIGKILL);
	for (int i = 0; i < 1000; i++) {
		struct drv_frame g = { .peer = 0 };

		CU_ASSERT_EQUAL(drv_port_tx_get(p, &g), 0);
		memset(g.data, 1, 100);
		g.bytes = 100;
		g.peer = 0;
		CU_ASSERT_EQUAL(drv_port_tx_send(p, &g, 1), 1);
	}
	drv_port_close(p);
	CU_ASSERT_EQUAL(entries("/dev/shm"), files);
	f = fopen("/proc/net/unix", "r");
	while (f && fgets(line, sizeof line, f))
		CU_ASSERT(!strstr(line, k->address));
	if (f)
		fclose(f);
}

T_MAIN(T(bad_specs), T(bad_specs_of_uring), T(bad_specs_of_dpdk), T(xdp_hears_one_queue), T(modules_are_looked_for), T(uring_denied),
       T(dpdk_is_a_guest), T(dpdk_after_fork), T(shm_leaves_nothing))
