/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Port shm beside processes of the same user that do not keep its rules: rings that are none, rings
 * of strangers, senders that change a ring while it is read, a socket whose queue is full, and a
 * receiver without descriptors. The frames of honest peers arrive nevertheless.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/port.h"
#include "tests/harness/t.h"

enum { MAGIC = 0x51547368, SLOTS = 8, SLOT_BYTES = 1024, FRAME = 900, STRANGERS = 400 };
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define SPEC  "shm:hostile,frame=900,slots=8"

struct ring {
	_Alignas(64) uint32_t magic;
	uint32_t slots, slot_bytes;
	_Alignas(64) uint32_t armed;
	_Alignas(64) unsigned char slot[SLOTS * SLOT_BYTES];
};

/* ---- an honest pair ---- */

struct pair {
	struct drv_port *port[2];
	char address[2][DRV_PORT_ADDRESS_BYTES];
	int peer[2]; /* the index of the other at each end; -1: not told yet */
	uint32_t sent, received;
};

static void pair_open(struct pair *p)
{
	*p = (struct pair){.peer = {-1, -1}};
	for (int i = 0; i < 2; i++) {
		REQUIRE_EQ(drv_port_open(SPEC, &p->port[i]), 0);
		REQUIRE_EQ(drv_port_address(p->port[i], p->address[i], sizeof p->address[i]), 0);
	}
}

static void pair_meet(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		p->peer[i] = drv_port_peer(p->port[i], p->address[!i]);
		REQUIRE(p->peer[i] >= 0);
	}
}

static void pair_close(struct pair *p)
{
	drv_port_close(p->port[0]);
	drv_port_close(p->port[1]);
}

/* Port 0 sends a frame, if port 1 has room for it. */
static void pair_send(struct pair *p)
{
	struct drv_frame f;

	if (drv_port_tx_get(p->port[0], &f))
		return;
	memcpy(f.data, &p->sent, sizeof p->sent);
	f.bytes = sizeof p->sent + p->sent % 100;
	f.peer = p->peer[0];
	if (drv_port_tx_send(p->port[0], &f, 1) == 1)
		p->sent++;
	else
		drv_port_tx_put(p->port[0], &f);
}

/* Port 1 polls once. Frames of its peer come each once, in order; those of others are not looked
 * at beyond their bytes. */
static unsigned poll_once(struct pair *p)
{
	struct drv_frame f[DRV_PORT_BURST];
	int n = drv_port_rx(p->port[1], f, DRV_PORT_BURST);
	unsigned sum = 0;

	REQUIRE(n >= 0 && n <= DRV_PORT_BURST);
	for (int i = 0; i < n; i++) {
		uint32_t number;

		REQUIRE(f[i].bytes >= 1 && f[i].bytes <= FRAME);
		if (f[i].peer == p->peer[1] && f[i].peer >= 0) {
			memcpy(&number, f[i].data, sizeof number);
			REQUIRE_EQ(number, p->received);
			p->received++;
		} else {
			for (uint32_t k = 0; k < f[i].bytes; k++)
				sum += f[i].data[k];
		}
	}
	drv_port_rx_done(p->port[1], f, (unsigned)n);
	return sum;
}

/* The pair exchanges so many frames more; a count of polls ends what does not arrive. */
static void pair_exchange(struct pair *p, uint32_t frames)
{
	uint32_t until = p->sent + frames;

	for (unsigned polls = 0; p->received < until && polls < 2000000; polls++) {
		if (p->sent < until)
			pair_send(p);
		poll_once(p);
	}
	CHECK_EQ(p->received, until);
}

static void poll_often(struct pair *p, unsigned polls)
{
	while (polls--)
		poll_once(p);
}

/* ---- others ---- */

static socklen_t name_address(struct sockaddr_un *a, const char *address, size_t bytes)
{
	static const char prefix[] = "quintorus/shm/";

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + 1, prefix, sizeof prefix - 1);
	memcpy(a->sun_path + sizeof prefix, address, bytes);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof prefix + bytes);
}

/* A socket with this name; NULL: with none. */
static int open_socket(const char *name, size_t bytes)
{
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;

	REQUIRE(s >= 0);
	if (name)
		REQUIRE_EQ(bind(s, (struct sockaddr *)&a, name_address(&a, name, bytes)), 0);
	return s;
}

/* Send a datagram with n descriptors. Returns 0 or a negative errno. */
static int hand_over(int s, const char *to, const int *fds, unsigned n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(200 * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct sockaddr_un a;
	struct msghdr m = {.msg_name = &a, .msg_namelen = name_address(&a, to, strlen(to))};

	if (n) {
		control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	return sendmsg(s, &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* A sound ring, mapped here as well. */
static int make_ring(struct ring **ring)
{
	int fd = memfd_create("hostile-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ring *r;

	REQUIRE(fd >= 0 && !ftruncate(fd, sizeof *r) && !fcntl(fd, F_ADD_SEALS, SEALS));
	r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(r != MAP_FAILED);
	r->magic = MAGIC;
	r->slots = SLOTS;
	r->slot_bytes = SLOT_BYTES;
	*ring = r;
	return fd;
}

static uint32_t *flag_of(struct ring *r, unsigned slot)
{
	return (uint32_t *)(void *)(r->slot + (size_t)slot * SLOT_BYTES);
}

/* How many rings of make_ring() has this process mapped? */
static unsigned count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned n = 0;

	REQUIRE(f);
	while (fgets(line, sizeof line, f))
		n += strstr(line, "hostile-ring") != NULL;
	fclose(f);
	return n;
}

static unsigned count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	REQUIRE(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* ---- what is no ring ---- */

/* Change a memfd of a sound ring in the way of this number. Returns false after the last way. */
static bool spoil_ring(unsigned way, int *fd)
{
	static const uint32_t head[][3] = {{MAGIC + 1, SLOTS, SLOT_BYTES},
					   {MAGIC, 0, SLOT_BYTES},
					   {MAGIC, 3, SLOT_BYTES},
					   {MAGIC, 4097, SLOT_BYTES},
					   {MAGIC, SLOTS, 0},
					   {MAGIC, SLOTS, 1 << 18},
					   {MAGIC, SLOTS, 1000},
					   {MAGIC, SLOTS + 1, SLOT_BYTES},
					   {MAGIC, SLOTS - 1, SLOT_BYTES},
					   {MAGIC, 1u << 31, 1u << 31}};
	const off_t bytes[] = {
	    0, 1, 128, sizeof(struct ring) - 1, sizeof(struct ring) + 1, (off_t)1 << 40};
	const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_GROW | F_SEAL_SEAL, SEALS | F_SEAL_WRITE,
			     SEALS | F_SEAL_FUTURE_WRITE};
	const unsigned heads = sizeof head / sizeof *head, sizes = sizeof bytes / sizeof *bytes;
	uint32_t good[3] = {MAGIC, SLOTS, SLOT_BYTES};

	*fd = memfd_create("hostile-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	REQUIRE(*fd >= 0);
	if (way < heads) {
		REQUIRE(!ftruncate(*fd, sizeof(struct ring)) &&
			pwrite(*fd, head[way], 12, 0) == 12 && !fcntl(*fd, F_ADD_SEALS, SEALS));
		return true;
	}
	way -= heads;
	REQUIRE_EQ(pwrite(*fd, good, sizeof good, 0), sizeof good);
	if (way < sizes) {
		REQUIRE(!ftruncate(*fd, bytes[way]) && !fcntl(*fd, F_ADD_SEALS, SEALS));
		return true;
	}
	way -= sizes;
	if (way < sizeof seals / sizeof *seals) {
		REQUIRE(!ftruncate(*fd, sizeof(struct ring)) &&
			!fcntl(*fd, F_ADD_SEALS, seals[way]));
		return true;
	}
	close(*fd);
	return false;
}

static void what_is_no_ring_is_refused(void)
{
	struct pair p;
	int named, nameless, fds[200], pipes[2];
	unsigned before;

	pair_open(&p);
	pair_meet(&p);
	pair_exchange(&p, 20);
	named = open_socket("hostile/none", 12);
	nameless = open_socket(NULL, 0);
	REQUIRE_EQ(pipe2(pipes, O_CLOEXEC), 0);
	before = count_descriptors();
	for (unsigned way = 0; spoil_ring(way, &fds[0]); way++) {
		REQUIRE_EQ(hand_over(named, p.address[1], fds, 1), 0);
		close(fds[0]);
		poll_often(&p, 130);
	}
	/* Descriptors that are no memory, several, as many as the kernel takes, and none. */
	for (unsigned i = 0; i < 200; i++)
		fds[i] = pipes[i % 2];
	for (unsigned n = 0; n <= 200; n = n < 4 ? n + 1 : n + 49) {
		REQUIRE_EQ(hand_over(named, p.address[1], fds, n), 0);
		REQUIRE_EQ(hand_over(nameless, p.address[1], fds, n), 0);
		poll_often(&p, 130);
	}
	CHECK_EQ(count_mappings(), 0);
	CHECK_EQ(count_descriptors(), before);
	pair_exchange(&p, 100);
	close(named);
	close(nameless);
	close(pipes[0]);
	close(pipes[1]);
	pair_close(&p);
}

/* ---- strangers ---- */

/* They stay with their sockets, so their rings are not those of closed senders. */
static void many_strangers_leave_room_for_a_peer(void)
{
	int s[STRANGERS], fd;
	struct rlimit limit;
	struct ring *r;
	struct pair p;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur > STRANGERS + 100);
	pair_open(&p);
	fd = make_ring(&r);
	munmap(r, sizeof *r);
	for (int i = 0; i < STRANGERS; i++) {
		char name[32];
		int n = snprintf(name, sizeof name, "hostile/%d", i);

		s[i] = open_socket(name, (size_t)n);
		while (hand_over(s[i], p.address[1], &fd, 1))
			poll_once(&p);
	}
	poll_often(&p, 1000);
	CHECK(count_mappings() <= STRANGERS / 2 + 56);
	/* Port 0 passes its ring before port 1 knows it, then after. */
	p.peer[0] = drv_port_peer(p.port[0], p.address[1]);
	poll_often(&p, 200);
	p.peer[1] = drv_port_peer(p.port[1], p.address[0]);
	pair_exchange(&p, 100);
	/* The rings of strangers that have closed are removed for others. */
	for (int i = 0; i < STRANGERS; i++)
		close(s[i]);
	s[0] = open_socket("hostile/new", 11);
	while (hand_over(s[0], p.address[1], &fd, 1))
		poll_once(&p);
	poll_often(&p, 200);
	CHECK_EQ(count_mappings(), 1);
	pair_exchange(&p, 100);
	close(s[0]);
	close(fd);
	pair_close(&p);
}

/* The name of a peer with a zero byte and more behind it is another name. */
static void a_zero_byte_makes_nobody_a_peer(void)
{
	char name[DRV_PORT_ADDRESS_BYTES + 2];
	struct ring *r;
	struct pair p;
	size_t n;
	int s, fd;

	pair_open(&p);
	p.peer[1] = drv_port_peer(p.port[1], p.address[0]);
	n = strlen(p.address[0]);
	snprintf(name, sizeof name, "%s.x", p.address[0]);
	name[n] = 0;
	s = open_socket(name, n + 2);
	fd = make_ring(&r);
	memset(flag_of(r, 0) + 4, 0xff, 16);
	*flag_of(r, 0) = 16;
	REQUIRE_EQ(hand_over(s, p.address[1], &fd, 1), 0);
	poll_often(&p, 200); /* a frame of the stranger would be out of order */
	p.peer[0] = drv_port_peer(p.port[0], p.address[1]);
	pair_exchange(&p, 100);
	close(s);
	close(fd);
	munmap(r, sizeof *r);
	pair_close(&p);
}

/* ---- a ring that changes while it is read ---- */

static int write_wildly(void *arg)
{
	static const uint32_t value[] = {0,    1,    15,   16,       900,        901,
					 1008, 1009, 1024, 1u << 31, UINT32_MAX, 8192};
	struct ring *r = arg;
	struct drv_rng rng = *t_rng();

	for (;;) {
		uint32_t v = value[drv_rng_below(&rng, sizeof value / sizeof *value)];

		switch (drv_rng_below(&rng, 8)) {
		case 0:
			atomic_store_relaxed(&r->magic, v);
			break;
		case 1:
			atomic_store_relaxed(&r->slots, v);
			break;
		case 2:
			atomic_store_relaxed(&r->slot_bytes, v);
			break;
		case 3:
			atomic_store_relaxed(&r->armed, v);
			break;
		case 4:
			for (unsigned i = 0; i < SLOTS; i++)
				atomic_store_relaxed(flag_of(r, i), v);
			break;
		default:
			atomic_store_relaxed(flag_of(r, (unsigned)drv_rng_below(&rng, SLOTS)), v);
		}
	}
	return 0;
}

static void a_ring_that_changes_harms_nobody(void)
{
	static char name[] = "hostile/wild";
	struct ring *r;
	struct pair p;
	pid_t child;
	int s, fd;

	pair_open(&p);
	pair_meet(&p);
	s = open_socket(name, strlen(name));
	fd = make_ring(&r);
	REQUIRE_EQ(hand_over(s, p.address[1], &fd, 1), 0);
	poll_often(&p, 200);
	REQUIRE_EQ(count_mappings(), 2); /* ours, and that of port 1 */
	child = t_child(write_wildly, r);
	/* Frames of a wild length are dropped, and counted. The writer needs a processor. */
	while (p.port[1]->stat.rx_dropped < 1000) {
		pair_exchange(&p, 100);
		sched_yield();
	}
	kill(child, SIGKILL);
	CHECK_EQ(t_wait(child, 20), 128 + SIGKILL);
	CHECK_EQ(drv_port_peer(p.port[0], name), 1);
	close(s);
	close(fd);
	munmap(r, sizeof *r);
	pair_close(&p);
}

/* ---- a full queue, no descriptors ---- */

static void fill_queue(int s, const char *to)
{
	while (!hand_over(s, to, NULL, 0))
		;
}

static void a_full_queue_loses_nothing(void)
{
	int s = open_socket("hostile/squatter", 16);
	struct pair p;

	pair_open(&p);
	p.peer[1] = drv_port_peer(p.port[1], p.address[0]);
	fill_queue(s, p.address[1]);
	p.peer[0] = drv_port_peer(p.port[0], p.address[1]);
	CHECK_EQ(drv_port_arm(p.port[0]), -ENOTSUP); /* its ring is not passed: it polls */
	pair_exchange(&p, 50);
	/* Wake-ups that do not get into the queue find it readable. */
	for (unsigned i = 0; i < 200; i++) {
		CHECK(drv_port_arm(p.port[1]) >= 0);
		fill_queue(s, p.address[1]);
		pair_exchange(&p, 3);
	}
	close(s);
	pair_close(&p);
}

static int refuse_without_descriptors(void *unused)
{
	struct rlimit limit;
	struct pair p;
	int last;

	pair_open(&p);
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &limit));
	pair_meet(&p);
	last = dup(0);
	REQUIRE(last >= 0);
	close(last);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)last, limit.rlim_max}));
	poll_often(&p, 200); /* the ring is refused */
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	pair_exchange(&p, 100);
	pair_close(&p);
	return 0;
}

static void a_refused_ring_comes_again(void)
{
	CHECK_EQ(t_wait(t_child(refuse_without_descriptors, NULL), 60), 0);
}

T_MAIN(T(what_is_no_ring_is_refused), T(many_strangers_leave_room_for_a_peer),
       T(a_zero_byte_makes_nobody_a_peer), T(a_ring_that_changes_harms_nobody),
       T(a_full_queue_loses_nothing), T(a_refused_ring_comes_again))
