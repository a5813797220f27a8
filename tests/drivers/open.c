/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening ports: wrong specs say what and how; drivers leave the program and the host as they were.
 */
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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/port.h"
#include "tests/harness/t.h"

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
static int has_said(const char *spec, const char *text)
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
    {"", -EINVAL, "no ':'"},
    {"shm", -EINVAL, "write e.g. shm:"},
    {"carrier:pigeon", -ENOENT, "drivers are loop, shm, udp, packet, uring, dpdk"},
    {":x", -ENOENT, "there is no driver"},
    {"fault+shm:", -ENOENT, "there is no driver fault+shm"},
    {"fault(+shm:", -EINVAL, "a wrapper is written"},
    {"fault()shm:", -EINVAL, "a wrapper is written"},
    {"fualt()+shm:", -ENOENT, "there is no wrapper fualt"},
    {"fault()+", -EINVAL, "no ':'"},
    {"fault(loss)+loop:", -EINVAL, "loss is not a number 0 .. 1"},
    {"fault(loss=1.1)+loop:", -EINVAL, "loss is not a number 0 .. 1"},
    {"fault(loss=-0.1)+loop:", -EINVAL, "loss is not a number 0 .. 1"},
    {"fault(loss=nan)+loop:", -EINVAL, "loss is not a number 0 .. 1"},
    {"fault(dup=0.1x)+loop:", -EINVAL, "dup is not a number 0 .. 1"},
    {"fault(seed=-1)+loop:", -EINVAL, "seed is not a whole number"},
    {"fault(delay_us=1.5)+loop:", -EINVAL, "delay_us is not a whole number"},
    {"fault(delay=5)+loop:", -EINVAL, "fault has no 'delay'"},
    {"fault(seed=99999999999999999999)+loop:", -EINVAL, "seed is not"},
    {"loop:a/b", -EINVAL, "without '/'"},
    {"loop:a,frame=63", -EINVAL, "64 .. 65536"},
    {"loop:a,frames=100", -EINVAL, "only frame=BYTES"},
    {"shm:a/b", -EINVAL, "without '/'"},
    {"shm:a-name-that-is-longer-than-forty-characters", -EINVAL, "at most 40"},
    {"shm:a,slots=3", -EINVAL, "slots=N (4 .. 4096)"},
    {"shm:a,frame=x", -EINVAL, "frame=BYTES"},
    {"shm:a,b", -EINVAL, "'b'"},
    {"shm:a,queues=0", -EINVAL, "queues is 1 .. 16"},
    {"shm:a,queues=17", -EINVAL, "queues is 1 .. 16"},
    {"shm:a,queues=4x", -EINVAL, "queues is 1 .. 16"},
    {"fault()+shm:a,queues=", -EINVAL, "'queues'"},
    {"shm:a/b&shm:c", -EINVAL, "without '/'"},
    {"&shm:a", -EINVAL, "no ':'"},
};

static const struct bad bad_uring[] = {
    {"uring:", -EINVAL, "write uring:ADDRESS"},
    {"uring:localhost", -EINVAL, "write uring:ADDRESS"},
    {"uring:0.0.0.0", -EINVAL, "write uring:ADDRESS"},
    {"uring:127.0.0.1:70000", -EINVAL, "write uring:ADDRESS"},
    {"uring:192.0.2.77", -EADDRNOTAVAIL, "'ip addr' lists them"},
    {"uring:127.0.0.1,frame=10", -EINVAL, "frame=BYTES"},
    {"uring:127.0.0.1,mtu=10", -EINVAL, "'mtu'"},
};

static const struct bad bad_packet[] = {
    {"packet:", -EINVAL, "write packet:ADDRESS"},
    {"packet:0.0.0.0", -EINVAL, "write packet:ADDRESS"},
    {"packet:127.0.0.1:70000", -EINVAL, "write packet:ADDRESS"},
    {"packet:192.0.2.77", -EADDRNOTAVAIL, "'ip addr' lists them"},
    {"packet:127.0.0.1,frame=10", -EINVAL, "frame=BYTES"},
    {"packet:127.0.0.1,zc=10", -EINVAL, "'zc'"},
};

static const struct bad bad_udp[] = {
    {"udp:", -EINVAL, "write udp:ADDRESS"},
    {"udp:localhost", -EINVAL, "write udp:ADDRESS"},
    {"192.0.2.77", -EADDRNOTAVAIL, "'ip addr' lists them"},
    {"10.0.0", -EINVAL, "write udp:ADDRESS"},
    {"fault()+udp:192.0.2.77", -EADDRNOTAVAIL, "'ip addr' lists them"},
};

static const struct bad bad_dpdk[] = {
    {"dpdk:", -EINVAL, "no device is named"},
    {"dpdk:net_pcap,iface=lo,queues=2", -EINVAL, "give each queue a device"},
    {"dpdk:net_af_packet,iface=lo,queues=2", -EINVAL, "give each queue a device"},
    {"dpdk:iface=va", -EINVAL, "no device is named"},
    {"dpdk:eth0", -EINVAL, "neither a PCI address"},
    {"dpdk:net_af_packet", -EINVAL, "no interface is named"},
    {"dpdk:net_af_packet,iface", -EINVAL, "'iface' is not key=value"},
    {"dpdk:net_af_packet,iface=no-such-if", -ENODEV, "'ip link' lists them"},
    {"dpdk:net_af_packet,iface=an-interface-name-too-long", -EINVAL, "too long"},
    {"dpdk:net_af_packet,iface=lo,mtu=9", -EINVAL, "mtu is 128 .. 65000"},
    {"dpdk:net_memif,bsize=1", -EINVAL, "bsize is 128 .. 65024"},
    {"dpdk:net_no_such_driver", -ENODEV, "DPDK cannot use the device"},
};

static int bad_one_child(void *arg)
{
	const struct bad *b = arg;
	struct drv_port *p = NULL;
	int rc = open_logged(b->spec, &p);

	if (rc != b->error)
		fprintf(stderr, "%s: %d, expected %d\n", b->spec, rc, b->error);
	REQUIRE(rc == b->error);
	REQUIRE(!p);
	REQUIRE(has_said(b->spec, b->text));
	return 0;
}

/* A process for each, because a process prints only some lines a second of one kind. */
static void bad_check(const struct bad *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(t_wait(t_child(bad_one_child, (void *)(uintptr_t)&b[i]), 60), 0);
}

static int have_module(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/drivers/libqt_port_%s.so",
		 getenv("QT_BUILD") ? getenv("QT_BUILD") : ".", name);
	return !access(path, R_OK);
}

static void bad_specs(void)
{
	bad_check(bad, sizeof bad / sizeof *bad);
	bad_check(bad_packet, sizeof bad_packet / sizeof *bad_packet);
}

/* As many ports as there are queues, none of them the port of another; no more than are wanted. */
static void several_queues(void)
{
	static const char list[] = "loop:queues,queues=2&fault", good[] =
								     "loop:queues,queues=2&loop:"
								     "queues,queues=3";
	char address[2][DRV_PORT_ADDRESS_BYTES];
	struct drv_port *p[DRV_PORT_QUEUES_MAX];

	CHECK_EQ(drv_port_open_queues(good, 4, p, NULL, 0), 4);
	CHECK(!drv_port_address(p[0], address[0], sizeof address[0]));
	CHECK(!drv_port_address(p[3], address[1], sizeof address[1]));
	CHECK(strcmp(address[0], address[1]) != 0);
	for (int i = 0; i < 4; i++)
		drv_port_close(p[i]);
	CHECK_EQ(drv_port_open_queues(good, 16, p, NULL, 0), 5);
	for (int i = 0; i < 5; i++)
		drv_port_close(p[i]);
	CHECK_EQ(drv_port_open_queues("fault(loss=0.5)+loop:queues,queues=2", 16, p, NULL, 0), 2);
	CHECK(!strcmp(p[0]->ops->name, "fault") && !strcmp(p[1]->ops->name, "fault"));
	drv_port_close(p[0]);
	drv_port_close(p[1]);
	CHECK_EQ(drv_port_open_queues(list, 16, p, NULL, 0),
		 -EINVAL); /* the first two are closed again */
}

static void bad_specs_of_uring(void)
{
	if (!have_module("uring"))
		T_SKIP("the uring module was not built");
	bad_check(bad_uring, sizeof bad_uring / sizeof *bad_uring);
	bad_check(bad_udp, sizeof bad_udp / sizeof *bad_udp);
}

static int bad_specs_of_dpdk_child(void *arg)
{
	bad_check(bad_dpdk, sizeof bad_dpdk / sizeof *bad_dpdk);
	return (int)t_failures();
}

static void bad_specs_of_dpdk(void)
{
	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	if (geteuid())
		T_SKIP("a packet socket needs root");
	CHECK_EQ(t_wait(t_child(bad_specs_of_dpdk_child, NULL), 60), 0);
}

/* Make a namespace with a veth pair, qa and qb. Returns false if that is not possible here. */
static bool enter_namespace(const char *veth)
{
	char command[200];

	snprintf(command, sizeof command,
		 "ip link add qa %s type veth peer name qb 2>/dev/null && ip link set qa up && "
		 "ip link set qb up",
		 veth);
	return !unshare(CLONE_NEWNET) && !system(command);
}

/* Run a child that needs the dpdk module and a namespace. It returns 77 if it can have none. */
static void check_in_namespace(int (*child)(void *), int seconds, const char *why_not)
{
	int status;

	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	if (geteuid())
		T_SKIP("network namespaces need root");
	status = t_wait(t_child(child, NULL), seconds);
	if (status == 77)
		T_SKIP("%s", why_not);
	CHECK_EQ(status, 0);
}

static int xdp_queues_child(void *arg)
{
	static const struct bad several[] = {
	    {"dpdk:net_af_xdp,iface=qa", -EINVAL, "over 4 queues, net_af_xdp hears one"}};
	struct drv_port *p = NULL;

	if (!enter_namespace("numrxqueues 4 numtxqueues 4"))
		return 77;
	bad_check(several, 1);
	/* A queue that the user names is accepted. */
	if (open_logged("dpdk:net_af_xdp,iface=qa,start_queue=1", &p))
		CHECK(!strstr(logged, "hears one"));
	drv_port_close(p);
	return (int)t_failures();
}

static void xdp_hears_one_queue(void)
{
	check_in_namespace(xdp_queues_child, 60, "no veth with several queues can be made here");
}

/* How many io_urings of this process have a registered file? */
static int count_urings_with_file(void)
{
	DIR *d = opendir("/proc/self/fdinfo");
	const struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		char path[300], line[256];
		unsigned files;
		FILE *f;

		snprintf(path, sizeof path, "/proc/self/fdinfo/%s", e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof line, f))
			n += sscanf(line, "UserFiles: %u", &files) == 1 && files > 0;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

/* How many packet sockets does this network namespace have? */
static int count_packet_sockets(void)
{
	FILE *f = fopen("/proc/net/packet", "r");
	char line[256];
	int n = -1; /* the first line is a heading */

	while (f && fgets(line, sizeof line, f))
		n++;
	if (f)
		fclose(f);
	return n;
}

static int packet_release_child(void *arg)
{
	struct drv_port *p = NULL;

	if (!enter_namespace(""))
		return 77;
	REQUIRE(open_logged("dpdk:net_af_packet,iface=qa", &p) == 0);
	CHECK_EQ(count_urings_with_file(), 1);
	CHECK_EQ(count_packet_sockets(), 1);
	drv_port_close(p);
	CHECK_EQ(count_urings_with_file(), 0);
	for (int i = 0; i < 3000 && count_packet_sockets(); i++)
		usleep(10000);
	CHECK_EQ(count_packet_sockets(), 0);
	return (int)t_failures();
}

/* The release of a packet socket with rings takes up to seconds on a loaded machine. A worker of
 * the kernel does it, so the process does not wait (dpdk_release_later()). */
static void a_worker_releases_the_packet_socket(void)
{
	check_in_namespace(packet_release_child, 90,
			   "no network namespace or veth can be made here");
}

static void modules_are_looked_for(void)
{
	struct drv_port *p;
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/libqt_port_uring.so", t_dir());
	setenv("QUINTORUS_MODULES", t_dir(), 1);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(write(fd, "junk", 4) == 4);
	close(fd);
	CHECK_EQ(open_logged("uring:127.0.0.1", &p), -ENOENT);
	CHECK(has_said("uring:127.0.0.1", "does not load"));
	unlink(path);
	/* Another library under that name. */
	CHECK_EQ(symlink("/lib/x86_64-linux-gnu/libm.so.6", path), 0);
	if (!access(path, R_OK)) {
		CHECK_EQ(open_logged("uring:127.0.0.1", &p), -ENOEXEC);
		CHECK(has_said("uring:127.0.0.1", "another version"));
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
	struct sock_fprog program = {.len = 4, .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int uring_denied_child(void *arg)
{
	struct drv_port *p;
	int error = *(int *)arg;

	if (deny_uring(error))
		return 77;
	REQUIRE(open_logged("uring:127.0.0.1", &p) == -error);
	REQUIRE(has_said("uring:127.0.0.1", "io_uring is not permitted here"));
	return 0;
}

static void uring_denied(void)
{
	int errors[] = {EPERM, ENOSYS};

	if (!have_module("uring"))
		T_SKIP("the uring module was not built");
	for (int i = 0; i < 2; i++) {
		int rc = t_wait(t_child(uring_denied_child, &errors[i]), 20);

		if (rc == 77)
			T_SKIP("seccomp filters are not allowed here");
		CHECK_EQ(rc, 0);
	}
}

/* Open a port, and compare the name under which it was opened. */
static void check_chosen(const char *spec, const char *expected)
{
	char opened[64] = "";
	struct drv_port *p;

	REQUIRE(!drv_port_open_named(spec, &p, opened, sizeof opened));
	CHECK_STR(opened, expected);
	drv_port_close(p);
}

/* The same for several queues, with room for `bytes` of the name. */
static void check_opened(const char *spec, unsigned most, const char *expected, size_t bytes)
{
	struct drv_port *p[DRV_PORT_QUEUES_MAX];
	char opened[200] = "";
	int n = drv_port_open_queues(spec, most, p, opened, bytes);

	REQUIRE(n > 0);
	CHECK_STR(opened, expected);
	while (n)
		drv_port_close(p[--n]);
}

static void opened_is_named(void)
{
	check_opened("loop:a&loop:b", 16, "loop:a&loop:b", 96);
	check_opened("loop:a&loop:b", 1, "loop:a", 96);
	check_opened("loop:a,queues=3&loop:b,queues=2", 4, "loop:a,queues=3&loop:b", 96);
	check_opened("loop:a,queues=4,frame=100", 1, "loop:a,frame=100", 96);
	check_opened("fault(loss=0.5)+fault(dup=0.5)+loop:a,queues=4&loop:b", 2,
		     "fault(loss=0.5)+fault(dup=0.5)+loop:a,queues=2", 96);
	check_opened("fault(loss=0.5)+loop:a,queues=2", 2, "fault(loss=0.5)+loop:a,queues=2", 32);
	check_opened("fault(loss=0.5)+loop:a,queues=2", 2, "fault(loss=0.5)+loop:a,queu...", 31);
	check_opened("fault(loss=0.5)+loop:a&loop:b", 2, "fault(...", 10);
}

/* In this process sockets of that family are refused. */
static int deny_sockets(int family)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)family, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 6, .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int udp_chooses_child(void *arg)
{
	struct drv_port *p;

	(void)arg;
	if (deny_sockets(AF_PACKET))
		return 77;
	check_chosen("udp:127.0.0.1", "uring:127.0.0.1");
	check_chosen("127.0.0.1,frame=2000", "uring:127.0.0.1,frame=2000");
	check_chosen("fault(loss=0.5)+udp:127.0.0.1", "fault(loss=0.5)+uring:127.0.0.1");
	check_chosen("uring:127.0.0.1", "uring:127.0.0.1");
	check_opened("loop:x,queues=2&udp:127.0.0.1,queues=2", 16,
		     "loop:x,queues=2&uring:127.0.0.1,queues=2", 96);
	if (deny_uring(EPERM))
		return 77;
	CHECK_EQ(open_logged("udp:127.0.0.1", &p), -EPERM);
	CHECK(has_said("udp:127.0.0.1", "no packet: no packet socket"));
	CHECK(has_said("udp:127.0.0.1", "no uring: io_uring is not permitted"));
	return 0;
}

/* Packet sockets where they work, otherwise io_uring; neither is an error that says why. */
static void udp_chooses(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), rc;

	if (!have_module("uring"))
		T_SKIP("the uring module was not built");
	if (fd >= 0) {
		close(fd);
		check_chosen("udp:127.0.0.1", "packet:127.0.0.1");
		check_chosen("127.0.0.1", "packet:127.0.0.1");
		check_opened("udp:127.0.0.1,queues=2&loop:x&127.0.0.1", 16,
			     "packet:127.0.0.1,queues=2&loop:x&packet:127.0.0.1", 96);
	}
	rc = t_wait(t_child(udp_chooses_child, NULL), 20);
	if (rc == 77)
		T_SKIP("seccomp filters are not allowed here");
	CHECK_EQ(rc, 0);
}

/* How many names in a directory contain this text? Other tests that run meanwhile have entries
 * there too. */
static unsigned count_entries(const char *path, const char *text)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += strstr(e->d_name, text) != NULL;
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
	REQUIRE(open_logged(one, &p) == 0);
	habits_note(&after);
	REQUIRE(!logged[0]);
	drv_port_close(p);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	REQUIRE(!fstat(file, &st) && st.st_size == 0);
	REQUIRE(CPU_EQUAL(&before.cpus, &after.cpus));
	REQUIRE(!memcmp(&before.mask, &after.mask, sizeof before.mask));
	for (int i = 1; i < 32; i++)
		REQUIRE(before.action[i].sa_handler == after.action[i].sa_handler);
	snprintf(one, sizeof one, "quintorus-%d", (int)getpid());
	REQUIRE(!count_entries("/run/dpdk", one));
	return 0;
}

static void dpdk_is_a_guest(void)
{
	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	CHECK_EQ(t_wait(t_child(dpdk_guest_child, NULL), 30), 0);
}

static int forked_child(void *arg)
{
	struct drv_port *p;

	REQUIRE(open_logged("dpdk:net_memif,role=server,socket=qt-test-fork-b", &p) == -ENOTSUP);
	REQUIRE(has_said("net_memif", "was forked after DPDK had started"));
	return 0;
}

static int forking_child(void *arg)
{
	struct drv_port *p;

	REQUIRE(drv_port_open("dpdk:net_memif,role=server,socket=qt-test-fork-a", &p) == 0);
	REQUIRE(t_wait(t_child(forked_child, NULL), 20) == 0);
	drv_port_close(p);
	return 0;
}

static void dpdk_after_fork(void)
{
	if (!have_module("dpdk"))
		T_SKIP("the dpdk module was not built");
	CHECK_EQ(t_wait(t_child(forking_child, NULL), 60), 0);
}

struct killed {
	char address[DRV_PORT_ADDRESS_BYTES];
	int ready;
};

static int killed_child(void *arg)
{
	struct killed *k = arg;
	struct drv_port *p;

	REQUIRE(drv_port_open("shm:killed", &p) == 0);
	REQUIRE(drv_port_address(p, k->address, sizeof k->address) == 0);
	REQUIRE(drv_port_peer(p, k->address) == 0);
	atomic_store_release(&k->ready, 1);
	for (;;)
		pause();
	return 0;
}

/* A killed process leaves nothing, and frames to it are taken. */
static void shm_leaves_nothing(void)
{
	struct killed *k = t_shared(sizeof *k);
	struct drv_port *p;
	char line[512];
	FILE *f;
	pid_t pid = t_child(killed_child, k);

	while (!atomic_load_acquire(&k->ready))
		sched_yield();
	REQUIRE(drv_port_open("shm:killed", &p) == 0);
	CHECK_EQ(drv_port_peer(p, k->address), 0);
	kill(pid, SIGKILL);
	CHECK_EQ(t_wait(pid, 10), 128 + SIGKILL);
	for (int i = 0; i < 1000; i++) {
		struct drv_frame g = {.peer = 0};

		CHECK_EQ(drv_port_tx_get(p, &g), 0);
		memset(g.data, 1, 100);
		g.bytes = 100;
		g.peer = 0;
		CHECK_EQ(drv_port_tx_send(p, &g, 1), 1);
	}
	drv_port_close(p);
	CHECK_EQ(count_entries("/dev/shm", "killed"), 0);
	f = fopen("/proc/net/unix", "r");
	while (f && fgets(line, sizeof line, f))
		CHECK(!strstr(line, k->address));
	if (f)
		fclose(f);
}

/* The one rule for torus run and mpirun about sealing by default. */
static void reachable_ports(void)
{
	static const struct {
		const char *spec;
		int here, in_namespace;
	} port[] = {{"shm:", 0, 0},
		    {"", 0, 0},
		    {"uring:10.0.0.1", 1, 0},
		    {"uring:127.0.0.1", 1, 0},
		    {"packet:10.0.0.1", 1, 0},
		    {"udp:10.0.0.1", 1, 0},
		    {"10.0.0.1", 1, 0},
		    {"fault(loss=0.1)+10.0.0.1", 1, 0},
		    {"fault(loss=0.1)+uring:127.0.0.1", 1, 0},
		    {"fault(loss=0.1)+shm:", 0, 0},
		    {"dpdk:net_memif0,id=0", 0, 0},
		    {"dpdk:net_af_packet0,iface=veth0", 1, 0},
		    {"dpdk:0000:3b:00.0", 1, 1},
		    {"shm:a&10.0.0.1", 1, 0},
		    {"dpdk:net_memif,id=0&dpdk:net_af_packet,iface=veth0", 1, 0},
		    {"dpdk:net_memif,id=0&dpdk:0000:3b:00.0", 1, 1},
		    {"dpdk:net_memif,socket=a+10.0.0.1", 0, 0},
		    {"shm:a&shm:b", 0, 0}};

	for (size_t i = 0; i < sizeof port / sizeof *port; i++) {
		CHECK_EQ(drv_port_is_reachable(port[i].spec, DRV_PORT_ON_THIS_MACHINE),
			 port[i].here);
		CHECK_EQ(drv_port_is_reachable(port[i].spec, DRV_PORT_IN_NAMESPACE),
			 port[i].in_namespace);
		CHECK_EQ(drv_port_is_reachable(port[i].spec, DRV_PORT_ELSEWHERE), 1);
	}
}

T_MAIN(T(reachable_ports), T(bad_specs), T(several_queues), T(bad_specs_of_uring),
       T(bad_specs_of_dpdk), T(xdp_hears_one_queue), T(a_worker_releases_the_packet_socket),
       T(modules_are_looked_for), T(uring_denied), T(opened_is_named), T(udp_chooses),
       T(dpdk_is_a_guest), T(dpdk_after_fork), T(shm_leaves_nothing))
