/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of ports, and of the cipher of their frames. Each runs for a moment in a separate process,
 * which leaves nothing behind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/port.h"
#include "drivers/seal.h"
#include "tools/check.h"

#define LIMIT_S 10 /* DPDK's start takes a second at most */

/* DPDK reports its version itself, if the module loaded it. */
static void print_dpdk_version(void)
{
	char line[1024], *path;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof line, f)) {
		const char *(*version)(void);
		void *h;

		path = strchr(line, '/');
		if (!path || !strstr(path, "librte_eal"))
			continue;
		path[strcspn(path, "\n")] = 0;
		h = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
		version = h ? (const char *(*)(void))(uintptr_t)dlsym(h, "rte_version") : NULL;
		if (version)
			fprintf(stderr, "%s\n", version());
		break;
	}
	if (f)
		fclose(f);
}

static int open_port(const char *spec)
{
	struct drv_port *port;
	int rc = drv_port_open(spec, &port);

	if (!rc && !strncmp(spec, "dpdk", 4))
		print_dpdk_version();
	return rc;
}

static int open_seal(const char *what)
{
	static const unsigned char key[DRV_SEAL_KEY_BYTES];
	struct drv_seal *seal;

	return drv_seal_open(&seal, DRV_SEAL_AUTHENTICATED, key);
}

/* Returns 0 or a positive errno. text gets the last line of stderr. */
static int try_open(int (*open_it)(const char *what), const char *spec, char *text, size_t bytes)
{
	int ends[2], status = 0;
	size_t got = 0;
	ssize_t n;
	pid_t pid;
	char *last;

	text[0] = 0;
	if (pipe(ends))
		return errno;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		int rc;

		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		alarm(LIMIT_S);
		close(ends[0]);
		dup2(ends[1], 2);
		dup2(ends[1], 1);
		rc = open_it(spec);
		fflush(NULL);
		_exit(rc < 0 && rc > -256 ? -rc : rc != 0);
	}
	close(ends[1]);
	while (got + 1 < bytes && (n = read(ends[0], text + got, bytes - got - 1)) > 0)
		got += (size_t)n;
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return errno;
	text[got] = 0;
	while (got && text[got - 1] == '\n')
		text[--got] = 0;
	last = strrchr(text, '\n');
	if (last)
		memmove(text, last + 1, strlen(last));
	last = strstr(text, ": error: "); /* the prefix that the log adds */
	if (last)
		memmove(text, last + 9, strlen(last + 9) + 1);
	if (WIFSIGNALED(status))
		snprintf(text, bytes, "opening %s: killed by signal %d", spec, WTERMSIG(status));
	return WIFSIGNALED(status) ? EIO : WEXITSTATUS(status);
}

void check_dpdk(struct check *c)
{
	char text[480];

	if (!try_open(open_port, "dpdk:net_null", text, sizeof text)) {
		check_set(c, CHECK_OK, "%s; module loads, a port opens%s", text[0] ? text : "DPDK",
			  geteuid() ? "; as root it also reaches network devices" : "");
		return;
	}
	check_set(c, CHECK_MISSING, "%s", text[0] ? text : "no port opens");
	check_fix(c, "apt install libdpdk-dev, then build again; needed by dpdk: ports only");
}

void check_packet(struct check *c)
{
	char text[480];

	if (!try_open(open_port, "packet:127.0.0.1", text, sizeof text)) {
		check_set(c, CHECK_OK, "a port opens; torus run takes it for UDP between hosts");
		return;
	}
	check_set(c, CHECK_SLOW, "%s", text[0] ? text : "no port opens");
	check_fix(c, "run as root or with CAP_NET_RAW (docker run --cap-add NET_RAW); until then "
		     "UDP between hosts goes through io_uring, which takes longer");
}

void check_uring(struct check *c)
{
	char text[480], off[16] = "";
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");

	if (f) {
		if (fgets(off, sizeof off, f))
			off[strcspn(off, "\n")] = 0;
		fclose(f);
	}
	if (!try_open(open_port, "uring:127.0.0.1", text, sizeof text)) {
		check_set(c, CHECK_OK, "module loads, a UDP port opens");
		return;
	}
	check_set(c, CHECK_MISSING, "%s", text[0] ? text : "no port opens");
	if (off[0] == '1' || off[0] == '2')
		check_fix(c, "echo 0 > /proc/sys/kernel/io_uring_disabled (it is %s), root", off);
	else
		check_fix(c, "apt install liburing-dev, then build again; Linux 6.0 or later; "
			     "needed by uring: ports, and by udp: ports without packet sockets");
}

void check_af_xdp(struct check *c)
{
	int fd = socket(44 /* AF_XDP */, SOCK_RAW | SOCK_CLOEXEC, 0), error = errno;

	if (fd >= 0) {
		check_set(c, CHECK_OK, "sockets can be made: dpdk:net_af_xdp,iface=NAME");
		close(fd);
		return;
	}
	check_set(c, CHECK_MISSING, "%s; needed by dpdk:net_af_xdp only",
		  error == EAFNOSUPPORT ? "not in this kernel (CONFIG_XDP_SOCKETS)"
					: strerror(error));
	check_fix(c, error == EPERM ? "run as root" : "use dpdk:net_af_packet,iface=NAME");
}

void check_seal(struct check *c)
{
	char text[480];

	if (!try_open(open_seal, "the cipher", text, sizeof text)) {
		check_set(
		    c, CHECK_OK,
		    "module loads: frames between machines can be authenticated or encrypted");
		return;
	}
	check_set(c, CHECK_MISSING, "%s", text[0] ? text : "no cipher");
	check_fix(c, "apt install libssl-dev, then build again; needed between machines, unless "
		     "--seal none");
}
