/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts EAL inside a program that has threads, signals and a terminal of its own. So there are no
 * huge pages, files, telemetry socket or output; the thread that opens the port keeps its CPU mask
 * (EAL would bind it), and the thread of EAL takes no signals.
 */
#define _GNU_SOURCE
#include "drivers/port_dpdk.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"

/* Address space, not memory: pages are allocated when touched. Enough for eight jumbo ports. */
#define EAL_MEMORY_MIB "256"

static pthread_mutex_t eal_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t eal_pid; /* the process that started EAL; 0: none yet */
static int eal_error; /* EAL cannot be started twice, even after a failure */
static int eal_has_pci;
static char eal_cause[DPDK_COMPLAINT_BYTES];

/* Threads of DPDK log, too: net_memif disconnects in its control thread while ports are open. */
static pthread_mutex_t complaint_lock = PTHREAD_MUTEX_INITIALIZER;
static char complaint[DPDK_COMPLAINT_BYTES];

static void keep_complaint(const char *text, size_t bytes, bool replace)
{
	pthread_mutex_lock(&complaint_lock);
	if (replace || !complaint[0])
		snprintf(complaint, sizeof complaint, "%.*s", (int)bytes, text);
	pthread_mutex_unlock(&complaint_lock);
}

/* Of net_memif. Its handlers log before they act: see port_dpdk_bursts.c. */
static int memif_log_type = -1;
static pthread_t eal_thread;
static bool has_eal_thread;

/* Receives the log of DPDK. Keeps the first complaint as the cause of the next failure. */
static ssize_t eal_log_write(void *cookie, const char *text, size_t bytes)
{
	size_t n = bytes;

	if (has_eal_thread && pthread_equal(pthread_self(), eal_thread) &&
	    (int)rte_log_cur_msg_logtype() == memif_log_type)
		dpdk_bursts_hold();
	while (n && text[n - 1] == '\n')
		n--;
	if (n >= sizeof complaint)
		n = sizeof complaint - 1;
	drv_debug("dpdk: %.*s", (int)n, text);
	if (rte_log_cur_msg_loglevel() <= (int)RTE_LOG_CRIT) /* EAL may end the process next */
		drv_error("dpdk: %.*s", (int)n, text);
	if (rte_log_cur_msg_loglevel() <= (int)RTE_LOG_WARNING)
		keep_complaint(text, n, false);
	return (ssize_t)bytes;
}

const char *dpdk_eal_complaint(char text[DPDK_COMPLAINT_BYTES])
{
	pthread_mutex_lock(&complaint_lock);
	snprintf(text, DPDK_COMPLAINT_BYTES, "%s", complaint[0] ? complaint : "no reason given");
	pthread_mutex_unlock(&complaint_lock);
	return text;
}

bool dpdk_eal_complaint_contains(const char *words)
{
	char text[DPDK_COMPLAINT_BYTES];

	return strstr(dpdk_eal_complaint(text), words);
}

void dpdk_eal_complaint_clear(void)
{
	pthread_mutex_lock(&complaint_lock);
	complaint[0] = 0;
	pthread_mutex_unlock(&complaint_lock);
}

/* libbpf and libxdp, which net_af_xdp uses, print to stderr unless they are told not to. */
static int xdp_print(int level, const char *format, va_list ap)
{
	static const char kernel_said[] = "libbpf: Kernel error message: ";
	char text[160];
	size_t n;

	(void)level;
	vsnprintf(text, sizeof text, format, ap);
	n = strcspn(text, "\n");
	text[n] = 0;
	drv_debug("dpdk: %s", text);
	if (!strncmp(text, kernel_said, sizeof kernel_said - 1))
		keep_complaint(text + sizeof kernel_said - 1, sizeof text, true);
	return 0;
}

static void silence_xdp(void)
{
	static const char *const names[][2] = {{"libbpf.so.1", "libbpf_set_print"},
					       {"libxdp.so.1", "libxdp_set_print"}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *h = dlopen(names[i][0], RTLD_LAZY | RTLD_NOLOAD);
		void *(*set)(int (*)(int, const char *, va_list)) = NULL;

		if (h)
			*(void **)&set = dlsym(h, names[i][1]);
		if (set)
			set(xdp_print);
		if (h)
			dlclose(h);
	}
}

static int eal_has_free_huge_pages(void)
{
	static const char *const files[] = {
	    "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
	    "/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages",
	};
	int found = 0;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		FILE *f = fopen(files[i], "re");
		int n = 0;

		if (f && fscanf(f, "%d", &n) == 1)
			found |= n > 0;
		if (f)
			fclose(f);
	}
	return found;
}

static int eal_init(const struct dpdk_device *d, const cpu_set_t *cpus)
{
	char prefix[48], lcore[32], directory[96];
	char *argv[16];
	int argc = 0, cpu = 0, rc;

	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, cpus))
		cpu++;
	snprintf(lcore, sizeof lcore, "--lcores=0@%d", cpu);
	snprintf(prefix, sizeof prefix, "--file-prefix=quintorus-%d", (int)getpid());
	argv[argc++] = (char *)"quintorus";
	argv[argc++] = lcore;
	argv[argc++] = prefix;
	argv[argc++] = (char *)"--no-telemetry";
	if (d->kind == DPDK_PCI) {
		argv[argc++] = (char *)"-a";
		argv[argc++] = (char *)d->name;
	} else {
		argv[argc++] = (char *)"--no-pci";
	}
	if (d->kind == DPDK_PCI && eal_has_free_huge_pages()) {
		argv[argc++] = (char *)"--in-memory";
	} else {
		argv[argc++] = (char *)"--no-shconf";
		argv[argc++] = (char *)"--no-huge";
		argv[argc++] = (char *)"-m";
		argv[argc++] = (char *)EAL_MEMORY_MIB;
	}
	argv[argc] = NULL;
	rc = rte_eal_init(argc, argv);
	/* EAL makes an empty directory even if it shares nothing. */
	snprintf(directory, sizeof directory, "%s/dpdk/quintorus-%d",
		 getuid() ? (getenv("XDG_RUNTIME_DIR") ? getenv("XDG_RUNTIME_DIR") : "/tmp")
			  : "/var/run",
		 (int)getpid());
	rmdir(directory);
	return rc;
}

/* `asker` is the thread that asks; without memory for the request it runs this itself. */
static void hear_memif(void *asker)
{
	eal_thread = pthread_self();
	has_eal_thread = !pthread_equal(eal_thread, *(pthread_t *)asker);
	memif_log_type = rte_log_register("pmd.net.memif");
	if (memif_log_type >= 0)
		rte_log_set_level((uint32_t)memif_log_type, RTE_LOG_DEBUG);
}

static int eal_start_first(const struct dpdk_device *d, struct drv_port_why *why)
{
	static const cookie_io_functions_t log_to_us = {.write = eal_log_write};
	FILE *log = fopencookie(NULL, "w", log_to_us);
	sigset_t all, signals;
	pthread_t self;
	cpu_set_t cpus;
	int rc;

	if (!log)
		return -ENOMEM;
	setvbuf(log, NULL, _IOLBF, 512);
	rte_openlog_stream(log);
	CPU_ZERO(&cpus);
	pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &signals);
	rc = eal_init(d, &cpus);
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
	eal_pid = getpid();
	eal_has_pci = d->kind == DPDK_PCI;
	silence_xdp();
	if (rc < 0) {
		eal_error = rte_errno ? -rte_errno : -EIO;
		dpdk_eal_complaint(eal_cause);
		return 0;
	}
	self = pthread_self();
	dpdk_eal_run_alone(hear_memif, &self);
	return 0;
}

int dpdk_eal_start(const struct dpdk_device *d, struct drv_port_why *why)
{
	int rc = 0;

	pthread_mutex_lock(&eal_lock);
	if (!eal_pid)
		rc = eal_start_first(d, why);
	if (!rc && eal_error)
		rc = drv_port_fail(why, eal_error, "DPDK does not start (%s); try the uring driver",
				   eal_cause);
	else if (!rc && eal_pid != getpid())
		rc = drv_port_fail(why, -ENOTSUP,
				   "this process was forked after DPDK had started in "
				   "process %d; open the port there, or exec first",
				   (int)eal_pid);
	else if (!rc && d->kind == DPDK_PCI && !eal_has_pci)
		rc = drv_port_fail(why, -ENOTSUP,
				   "DPDK was started without PCI in this process; open the "
				   "PCI port before the others");
	pthread_mutex_unlock(&eal_lock);
	return rc;
}

/* ---- running beside no handler of an interrupt ---- */

struct request {
	void (*fn)(void *arg);
	void *arg;
	sem_t done;
	/* EAL hands the request over under a lock that the thread sanitizer cannot see. */
	atomic_u32 is_made;
};

static void serve_request(void *request)
{
	struct request *r = request;

	while (!atomic_load_acquire(&r->is_made))
		; /* never: the caller stored it before it asked EAL */
	r->fn(r->arg);
	sem_post(&r->done);
}

void dpdk_eal_run_alone(void (*fn)(void *arg), void *arg)
{
	struct request r = {.fn = fn, .arg = arg};

	if (eal_pid != getpid() || sem_init(&r.done, 0, 0)) {
		fn(arg);
		return;
	}
	atomic_store_release(&r.is_made, 1);
	if (rte_eal_alarm_set(1, serve_request, &r))
		fn(arg);
	else
		while (sem_wait(&r.done) && errno == EINTR)
			;
	sem_destroy(&r.done);
}

/* ---- finding the socket that a PMD hides ---- */

static int socket_family(int fd)
{
	int family;
	socklen_t n = sizeof family;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n) ? -1 : family;
}

void dpdk_sockets_list(int family, struct dpdk_sockets *list)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	list->fd = NULL;
	list->count = 0;
	while (d && (e = readdir(d))) {
		int fd = atoi(e->d_name), *grown;

		if (e->d_name[0] == '.' || socket_family(fd) != family)
			continue;
		grown = realloc(list->fd, sizeof *grown * (list->count + 1));
		if (!grown)
			break;
		list->fd = grown;
		grown[list->count++] = fd;
	}
	if (d)
		closedir(d);
}

void dpdk_sockets_free(struct dpdk_sockets *list)
{
	free(list->fd);
	list->fd = NULL;
	list->count = 0;
}

int dpdk_sockets_new(int family, const struct dpdk_sockets *before)
{
	struct dpdk_sockets now;
	int found = -1, several = 0;

	dpdk_sockets_list(family, &now);
	for (unsigned i = 0; i < now.count; i++) {
		unsigned k = 0;

		while (k < before->count && before->fd[k] != now.fd[i])
			k++;
		if (k < before->count)
			continue;
		several = found >= 0;
		found = now.fd[i];
	}
	dpdk_sockets_free(&now);
	return several ? -1 : found;
}
