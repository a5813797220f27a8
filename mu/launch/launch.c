/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining a job that mpirun or its like started: who is where, and the segment of our host. */
#define _GNU_SOURCE
#include "mu/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "drivers/base/module.h"
#include "drivers/base/settings.h"
#include "drivers/port.h"

#ifndef MU_BUILD_MODULES
#define MU_BUILD_MODULES ""
#endif

#define PORT_PATIENCE_S 30
#define RANKS_MAX       65536u
#define SEAL_AUTO       99 /* authenticated where others can send frames */

/* What every task publishes about itself. */
struct task_info {
	uint64_t host, machine, secret;
	uint64_t key[2]; /* rank 0's is the job's */
	uint64_t cpus;   /* the processors that the task may use: the same number, the same ones */
	int seal;        /* rank 0's wish: enum drv_seal_kind, or SEAL_AUTO */
	int reachable;   /* others could send frames to the port that this task would open */
	char socket[8];
};

/* This process's, for its whole life. */
static struct {
	const struct mu_launcher *by;
	pid_t pid;
	int joined, connected;
	uint32_t rank, size, host, hosts;
	uint32_t leader[MU_HOSTS_MAX]; /* first task of each host */
	struct task_info *info;        /* [size] */
	uint16_t *task_host;           /* [size] */
	int segment, life; /* life: open as long as a task of this host lives, for the agent */
} self = {.segment = -1, .life = -1};

/* ---- the launcher ---- */

static const struct mu_launcher *find_launcher(int *rc)
{
	const struct mu_launcher *l = NULL;
	char why[4500];

	*rc = -ENOENT;
	if (getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK")) {
		l = drv_module_symbol("launch_pmix", MU_BUILD_MODULES, "mu_launch_module", why,
				      sizeof why);
		if (l && l->abi == MU_LAUNCH_ABI)
			return l;
		drv_error("started by a PMIx launcher: %s; build with libpmix-dev present, or "
			  "start with torus run",
			  l ? "the module is of another version of Quintorus" : why);
		*rc = -ENOSYS;
		return NULL;
	}
	return getenv("PMI_FD") || getenv("PMI_PORT") ? &mu_launch_pmi1 : NULL;
}

/* What needs the simulator or routers that only torus run starts. */
static int refuse_setting(enum drv_setting_id id, const char *option)
{
	const struct drv_setting *s = &drv_settings[id];

	if (drv_setting_check(id))
		return -EINVAL;
	if (!drv_setting_choice(id))
		return 0;
	if (!self.rank) /* once for all */
		drv_error("%s=%s: under mpirun there is %s only; start the program with: torus run "
			  "%s%s -n N PROGRAM (and "
			  "--mpi where it calls MPI, which has the real clock only)",
			  s->name, drv_setting_text(id), s->standard, option, drv_setting_text(id));
	return -EOPNOTSUPP;
}

static void close_launcher(void)
{
	if (self.pid == getpid())
		self.by->close();
}

static int open_launcher(void)
{
	int rc;

	self.by = find_launcher(&rc);
	if (!self.by)
		return rc;
	rc = self.by->open(&self.rank, &self.size);
	if (rc)
		return rc;
	self.pid = getpid();
	atexit(close_launcher);
	if (!self.size || self.size > RANKS_MAX || self.rank >= self.size) {
		drv_error("launcher (%s): task %u of %u", self.by->name, self.rank, self.size);
		return -EPROTO;
	}
	if (!self.rank)
		drv_settings_log_all();
	rc = refuse_setting(DRV_QUINTORUS_CLOCK, "--clock ");
	return rc ? rc : refuse_setting(DRV_QUINTORUS_FABRIC, "--fabric ");
}

/* ---- hosts ---- */

static uint64_t mix_bytes(uint64_t h, const void *data, size_t bytes)
{
	const unsigned char *p = data;

	while (bytes--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

/*
 * A host is what shares memory and loopback: a boot of a kernel, a user, a network and a pid
 * namespace. QUINTORUS_HOST=NAME makes several of one machine, to try wires.
 */
static uint64_t host_identity(uint64_t *machine)
{
	static const char *const name[] = {"/proc/self/ns/net", "/proc/self/ns/pid"};
	const char *part = drv_setting_text(DRV_QUINTORUS_HOST);
	uint64_t h = 0xcbf29ce484222325ull;
	uid_t uid = geteuid();
	char boot[64];
	struct stat st;
	ssize_t n;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	n = fd >= 0 ? read(fd, boot, sizeof boot) : -1;
	if (fd >= 0)
		close(fd);
	h = mix_bytes(h, boot, n > 0 ? (size_t)n : 0);
	*machine = h;
	for (size_t i = 0; i < 2; i++)
		if (!stat(name[i], &st))
			h = mix_bytes(h, &st.st_ino, sizeof st.st_ino);
	h = mix_bytes(h, &uid, sizeof uid);
	return part ? mix_bytes(h, part, strlen(part)) : h;
}

static uint64_t processors_identity(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof set, &set))
		CPU_ZERO(&set);
	return mix_bytes(0xcbf29ce484222325ull, &set, sizeof set);
}

/* -ENOEXEC: of another version; -EPROTO: damaged. */
static int info_parse(const char *text, struct task_info *c)
{
	unsigned long long host, machine, secret, key[2], cpus;
	unsigned version;
	int fields =
	    sscanf(text, "%u:%llx:%llx:%llx:%llx:%llx:%llx:%d:%d:%5[0-9a-f]", &version, &host,
		   &machine, &secret, &key[0], &key[1], &cpus, &c->seal, &c->reachable, c->socket);

	if (fields >= 1 && version != MU_HOST_VERSION)
		return -ENOEXEC;
	if (fields != 10 || (c->seal != SEAL_AUTO && (c->seal < 0 || c->seal >= DRV_SEAL_KINDS)))
		return -EPROTO;
	c->host = host;
	c->machine = machine;
	c->secret = secret;
	c->key[0] = key[0];
	c->key[1] = key[1];
	c->cpus = cpus;
	return 0;
}

/* Exchange what each task says of itself, with one fence of the launcher. */
static int exchange_infos(struct task_info *own)
{
	char key[32], text[MU_LAUNCH_VALUE];
	int rc;

	snprintf(key, sizeof key, "qt-info-%u", self.rank);
	snprintf(text, sizeof text, "%u:%llx:%llx:%llx:%llx:%llx:%llx:%d:%d:%s", MU_HOST_VERSION,
		 (unsigned long long)own->host, (unsigned long long)own->machine,
		 (unsigned long long)own->secret, (unsigned long long)own->key[0],
		 (unsigned long long)own->key[1], (unsigned long long)own->cpus, own->seal,
		 own->reachable, own->socket);
	rc = self.by->put(key, text);
	if (!rc)
		rc = self.by->fence();
	for (uint32_t i = 0; i < self.size && !rc; i++) {
		snprintf(key, sizeof key, "qt-info-%u", i);
		rc = self.by->get(i, key, text, sizeof text);
		if (rc)
			break;
		rc = info_parse(text, &self.info[i]);
		if (rc == -ENOEXEC)
			drv_error("launcher (%s): task %u has another version of libpami",
				  self.by->name, i);
		else if (rc)
			drv_error("launcher (%s): what task %u says of itself came damaged: %.200s",
				  self.by->name, i, text);
	}
	return rc;
}

/* Hosts are numbered by their first task. */
static int number_hosts(void)
{
	for (uint32_t i = 0; i < self.size; i++) {
		uint32_t h = 0;

		while (h < self.hosts && self.info[self.leader[h]].host != self.info[i].host)
			h++;
		if (h == MU_HOSTS_MAX) {
			drv_error("launch: more than %d hosts", MU_HOSTS_MAX);
			return -E2BIG;
		}
		if (h == self.hosts)
			self.leader[self.hosts++] = i;
		self.task_host[i] = (uint16_t)h;
	}
	self.host = self.task_host[self.rank];
	return 0;
}

static uint32_t tasks_on_host(uint32_t host)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < self.size; i++)
		n += self.task_host[i] == host;
	return n;
}

/* A node per host with its tasks as T, as torus run does; above 64 tasks several nodes. */
static void place_tasks(struct mu_host_conf *c, struct emu_coord *coords)
{
	uint32_t most = 0, per_host, t, next[MU_HOSTS_MAX] = {0};

	for (uint32_t h = 0; h < self.hosts; h++)
		most = tasks_on_host(h) > most ? tasks_on_host(h) : most;
	DRV_ASSERT(most);
	per_host = (most + 63) / 64;
	t = (most + per_host - 1) / per_host;
	emu_shape_default(per_host * self.hosts, t, &c->shape);
	for (uint32_t i = 0; i < self.size; i++) {
		uint32_t h = self.task_host[i], local = next[h]++;

		emu_node_coord(&c->shape, h * per_host + local / t, &coords[i]);
		coords[i].t = (uint8_t)(local % t);
	}
}

/* ---- the segment ---- */

static int port_choose(char *port, size_t bytes)
{
	const char *named = drv_setting_text(DRV_QUINTORUS_PORT);
	char address[64], all[512];
	int n;

	if (self.hosts == 1) {
		port[0] = 0;
		return 0;
	}
	if (named) {
		if (strlen(named) >= bytes) {
			drv_error("QUINTORUS_PORT has more than %zu characters", bytes - 1);
			return -EINVAL;
		}
		strcpy(port, named);
		return 0;
	}
	n = drv_port_own_address(address, sizeof address, all, sizeof all);
	if (n != 1) {
		drv_error(n ? "several addresses,%s: name one as QUINTORUS_PORT=udp:ADDRESS"
			    : "no IPv4 address but loopback%s: the other hosts cannot be reached",
			  all);
		return -EADDRNOTAVAIL;
	}
	snprintf(port, bytes, "udp:%s", address);
	return 0;
}

/* Could others send frames to the port that port_choose() would name? A namespace may have been
 * made for the job, but nothing says so here. */
static bool is_own_port_reachable(void)
{
	const char *named = drv_setting_text(DRV_QUINTORUS_PORT);

	return drv_port_is_reachable(named ? named : "udp:", DRV_PORT_ON_THIS_MACHINE);
}

/* What rank 0 wished, or what the ports and machines ask for. */
static enum drv_seal_kind seal_of_job(void)
{
	if (self.info[0].seal != SEAL_AUTO)
		return (enum drv_seal_kind)self.info[0].seal;
	for (uint32_t h = 0; self.hosts > 1 && h < self.hosts; h++)
		if (self.info[self.leader[h]].machine != self.info[0].machine ||
		    self.info[self.leader[h]].reachable)
			return DRV_SEAL_AUTHENTICATED;
	return DRV_SEAL_NONE;
}

static int make_segment(struct mu_host **host)
{
	struct emu_coord *coords = calloc(self.size, sizeof *coords);
	struct mu_host_conf conf = {.job = self.info[0].secret,
				    .seed = self.info[0].secret,
				    .tasks = self.size,
				    .hosts = self.hosts,
				    .host = self.host,
				    .coords = coords,
				    .task_host = self.task_host,
				    .seal = seal_of_job(),
				    .key = (const unsigned char *)self.info[0].key};
	char port[sizeof((struct mu_host *)0)->port];
	int rc = coords ? port_choose(port, sizeof port) : -ENOMEM;

	if (!rc) {
		conf.port = port;
		place_tasks(&conf, coords);
		drv_debug("launch: %u hosts, seal of the frames between them: %s", self.hosts,
			  drv_seal_text(conf.seal));
		rc = mu_host_create(&conf, host, &self.segment);
	}
	if (!rc)
		fcntl(self.segment, F_SETFD, FD_CLOEXEC); /* no child inherits it */
	free(coords);
	return rc;
}

/* The first task of a host: make it, start the agent if there is something for it to do, hand it
 * out. */
static int lead_host(int listener, struct mu_host **host)
{
	int fds[2], ends[2] = {-1, -1}, rc = make_segment(host);

	if (!rc && pipe2(ends, O_CLOEXEC))
		rc = -errno;
	if (!rc && (*host)->holder == MU_HOLDER_AGENT)
		rc = mu_launch_agent(self.segment, ends[0]);
	self.life = ends[1];
	fds[0] = self.segment;
	fds[1] = self.life;
	if (!rc)
		rc = mu_launch_give(listener, tasks_on_host(self.host) - 1,
				    self.info[self.rank].secret, fds, 2);
	if (ends[0] >= 0)
		close(ends[0]);
	if (rc)
		drv_error("launch: no segment for this host: %s", strerror(-rc));
	return rc;
}

static int map_leaders_segment(struct mu_host **host)
{
	const struct task_info *c = &self.info[self.leader[self.host]];
	int fds[2], rc = mu_launch_take(c->socket, c->secret, fds, 2);

	if (rc)
		return rc;
	self.segment = fds[0];
	self.life = fds[1];
	return mu_host_map(self.segment, host);
}

static int exchange_task_info(struct mu_host **host)
{
	struct task_info own = {.seal = SEAL_AUTO};
	int rc, listener;

	own.host = host_identity(&own.machine);
	own.cpus = processors_identity();
	own.reachable = is_own_port_reachable();
	if (drv_setting_check(DRV_QUINTORUS_SEAL))
		return -EINVAL;
	if (drv_setting_choice(DRV_QUINTORUS_SEAL))
		own.seal = drv_seal_parse(drv_setting_text(DRV_QUINTORUS_SEAL));

	self.info = calloc(self.size, sizeof *self.info);
	self.task_host = calloc(self.size, sizeof *self.task_host);
	if (!self.info || !self.task_host)
		return -ENOMEM;
	if (getrandom(&own.secret, sizeof own.secret, 0) != sizeof own.secret ||
	    getrandom(own.key, sizeof own.key, 0) != sizeof own.key)
		return -EIO;
	listener = mu_launch_listen(own.socket);
	if (listener < 0)
		return listener;
	if (self.size > 1)
		rc = exchange_infos(&own);
	else
		rc = (self.info[0] = own, 0);
	if (!rc)
		rc = number_hosts();
	if (!rc && self.leader[self.host] == self.rank) {
		rc = lead_host(listener, host);
		close(listener);
		return rc;
	}
	close(listener);
	return rc ? rc : map_leaders_segment(host);
}

int mu_launch_join(struct mu_host **host, int *fd, uint32_t *task)
{
	pid_t parent = getppid();
	int rc;

	if (self.joined) {
		rc = mu_host_map(self.segment, host);
	} else {
		rc = open_launcher();
		if (!rc)
			rc = exchange_task_info(host);
		if (rc)
			return rc;
		self.joined = 1;
		/* If the launcher dies without a word, so do we. */
		if (parent > 1 && !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) && getppid() != parent)
			raise(SIGKILL);
	}
	*fd = self.segment;
	*task = self.rank;
	return rc;
}

bool mu_launch_has_agent(const struct mu_host *host)
{
	return self.joined && host->holder == MU_HOLDER_AGENT;
}

uint32_t mu_launch_sharers(uint32_t *before)
{
	const struct task_info *own;
	uint32_t n = 0;

	if (!self.joined)
		return 0;
	own = &self.info[self.rank];
	for (uint32_t i = 0; i < self.size; i++) {
		if (i == self.rank)
			*before = n;
		n += self.info[i].machine == own->machine && self.info[i].cpus == own->cpus;
	}
	return n;
}

/* ---- ports ---- */

/* Our host's address as letters; "" if its port could not be opened. */
static void own_port(struct mu_host *host, char *text)
{
	struct timespec patience = {.tv_sec = PORT_PATIENCE_S};
	int32_t ready;

	if (!(ready = (int32_t)atomic_load_acquire(&host->own_ready))) {
		syscall(SYS_futex, &host->own_ready, FUTEX_WAIT, 0, &patience, NULL, 0);
		ready = (int32_t)atomic_load_acquire(&host->own_ready);
	}
	for (size_t i = 0; ready > 0 && host->own_address[i]; i++, text += 2)
		snprintf(text, 3, "%02x", (unsigned char)host->own_address[i]);
	*text = 0;
}

static int peer_port(struct mu_host *host, uint32_t h)
{
	struct mu_peer_host *peer = &host->peer[h];
	char key[32], text[MU_LAUNCH_VALUE];
	int rc;

	snprintf(key, sizeof key, "qt-port-%u", h);
	rc = self.by->get(self.leader[h], key, text, sizeof text);
	if (rc)
		return rc;
	if (!*text || !strcmp(text, "none") || strlen(text) / 2 >= sizeof peer->address) {
		drv_error("launch: the port of host %u (task %u) could not be opened", h,
			  self.leader[h]);
		return -EADDRNOTAVAIL;
	}
	if (h == self.host || self.leader[self.host] != self.rank)
		return 0;
	for (size_t i = 0; text[2 * i]; i++) {
		unsigned c = 0;

		if (strspn(text + 2 * i, "0123456789abcdef") < 2 ||
		    sscanf(text + 2 * i, "%2x", &c) != 1 || !c) {
			drv_error("launch: the address of host %u came damaged: %.200s", h, text);
			return -EPROTO;
		}
		peer->address[i] = (char)c;
		peer->address[i + 1] = 0;
	}
	atomic_store_seq_cst(&peer->ready, 1);
	return 0;
}

int mu_launch_connect(struct mu_host *host, uint32_t task)
{
	char key[32], text[MU_LAUNCH_VALUE] = "";
	int rc = 0;

	if (!self.joined || self.connected || host->hosts == 1)
		return 0;
	self.connected = 1;
	if (self.leader[self.host] == task) {
		own_port(host, text);
		snprintf(key, sizeof key, "qt-port-%u", self.host);
		rc = self.by->put(key, *text ? text : "none");
	}
	if (!rc)
		rc = self.by->fence();
	for (uint32_t h = 0; h < host->hosts && !rc; h++)
		rc = peer_port(host, h);
	if (self.leader[self.host] == task)
		drv_wake_now(&host->agent_wake);
	return rc;
}
