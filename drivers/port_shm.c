/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm: frames between processes of one host (and one user), through memory.
 *
 *   spec      shm:NAME[,frame=BYTES][,slots=N]   BYTES 64 .. 65536 (9000), N 4 .. 4096 (128)
 *   address   NAME/PID.RANDOM                    ports opened with the same NAME reach each other
 *
 * For each peer the sender creates a ring in a memfd and passes it in a datagram to the abstract
 * socket of the peer. Nothing has a name in a file system, so killed processes leave nothing
 * behind. (Abstract sockets belong to a network namespace: both ends must be in the same one.) A
 * receiver that has no memory or descriptor for a ring refuses it, as it does beyond SHM_STRANGERS
 * rings of senders that it does not know. So the sender keeps the memfd until the receiver has
 * emptied a slot, and passes the ring again now and then.
 *
 *     line 0         magic, slots, slot_bytes     constant
 *     line 1         armed                        the receiver sleeps: a sender clears it and wakes
 *     line 2 ...     slots: | flag | data ...     flag 0: empty, otherwise bytes of data
 *
 * Each end goes through the slots in order with an index of its own; only the flags are shared. The
 * sender stores a flag last (W1, release). The receiver loads it (R1, acquire), lends the data to
 * its caller, and stores 0 when the caller returns it (W2, pairs with R2).
 *
 * The same socket wakes a sleeper: drv_port_arm() returns it, and a sender that finds `armed` set
 * sends an empty datagram. The sender stores the flag and then loads `armed`; the receiver stores
 * `armed` and then loads the flags. The membarrier of the receiver takes the place of the fence
 * that the sender would need between its two accesses.
 */
#define _GNU_SOURCE
#include "drivers/base/atomic.h"
#include "drivers/port_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "drivers/base/wake.h"

#define SHM_MAGIC         0x51547368u /* "QTsh" */
#define SHM_KEPT          256u        /* frames that the caller may keep; sending copies them */
#define SHM_TX            (64u + SHM_KEPT)
#define SHM_FRAME_BYTES   9000u
#define SHM_SLOTS         128u
#define SHM_SLOT_HEADER   16u
#define SHM_CONTROL_EVERY 64u /* empty polls between two reads of the socket */
#define SHM_SLOTS_MAX     4096u
#define SHM_SLOT_MAX      (1u << 17)
#define SHM_STRANGERS     256u /* rings of senders that are no peers, or not yet */
#define SHM_SWEEP_FIRST   16u  /* rings, before those of closed senders are looked for */
#define SHM_SOCKET        "quintorus/shm/"
#define SHM_SEALS         (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct shm_ring {
	_Alignas(64) uint32_t magic;
	uint32_t slots, slot_bytes;
	_Alignas(64) uint32_t armed;
	_Alignas(64) unsigned char slot[];
};

struct shm_peer {
	char *address;
	struct shm_ring *ring; /* the ring to this peer; NULL: the peer has closed */
	size_t ring_bytes;
	uint32_t next;    /* next slot to fill */
	int memfd;        /* >= 0: the peer may not have the ring yet */
	bool is_passed;   /* the socket of the peer has taken the ring */
	uint32_t pass_at; /* pass it again when this slot is the next one and none is empty yet */
};

struct shm_source {
	char *address;
	struct shm_ring *ring;
	size_t ring_bytes;
	uint32_t slots, slot_bytes; /* as checked once; the peer could change those in the ring */
	uint32_t next;              /* next slot to read */
	int32_t peer;
};

struct shm_port {
	struct drv_port port;
	char name[64], address[DRV_PORT_ADDRESS_BYTES];
	uint32_t slots;
	int socket;
	int unsent; /* number of peers whose ring their socket has not taken */
	unsigned empty_polls, turn;
	bool is_armed;     /* no poll since drv_port_arm() */
	unsigned sweep_at; /* number of sources at which those of closed senders are removed */
	bool is_swept;     /* they were, in this reading of the socket */
	bool has_refused;  /* a line was printed about a ring that was refused */

	struct shm_peer *peer;
	int peers;
	struct shm_source *source;
	unsigned sources;

	unsigned char *tx_free[SHM_TX];
	unsigned tx_free_count;
	unsigned char *memory;
};

static uint32_t shm_slot_bytes(uint32_t frame_bytes)
{
	return (frame_bytes + SHM_SLOT_HEADER + 63) & ~63u;
}

static size_t shm_ring_bytes(uint32_t slots, uint32_t slot_bytes)
{
	return sizeof(struct shm_ring) + (size_t)slots * slot_bytes;
}

static uint32_t *shm_slot(struct shm_ring *r, uint32_t slot_bytes, uint32_t i)
{
	return (uint32_t *)(void *)(r->slot + (size_t)i * slot_bytes);
}

static socklen_t shm_sockaddr(const char *address, struct sockaddr_un *a)
{
	int n;

	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, SHM_SOCKET "%s", address);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/*
 * Send a datagram to a peer, with a file descriptor or empty. Returns 0, -EAGAIN, or -ECONNREFUSED
 * and the like if the peer has closed.
 */
static int shm_datagram(const struct shm_port *s, const char *address, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct sockaddr_un a;
	struct msghdr m = {.msg_name = &a, .msg_namelen = shm_sockaddr(address, &a)};

	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof control.bytes;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	}
	return sendmsg(s->socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* ---- sending ---- */

static void shm_release_memfd(struct shm_port *s, struct shm_peer *p)
{
	if (p->memfd < 0)
		return;
	close(p->memfd);
	p->memfd = -1;
	s->unsent -= !p->is_passed;
	p->is_passed = true;
}

static void shm_close_peer(struct shm_port *s, struct shm_peer *p)
{
	shm_release_memfd(s, p);
	if (p->ring)
		munmap(p->ring, p->ring_bytes);
	p->ring = NULL;
}

/* Pass the ring to the peer, or wake a peer that has it, or find that the peer has closed. */
static void shm_pass_ring(struct shm_port *s, struct shm_peer *p)
{
	int rc = shm_datagram(s, p->address, p->memfd);

	if (!rc) {
		s->unsent -= !p->is_passed;
		p->is_passed = true;
	} else if (rc != -EAGAIN) {
		shm_close_peer(s, p);
	}
}

/* The peer may not have the ring yet: pass it, or find that the peer has emptied the first slot. */
static void shm_settle_ring(struct shm_port *s, struct shm_peer *p)
{
	bool is_first_full =
	    p->ring &&
	    atomic_load_acquire(shm_slot(p->ring, shm_slot_bytes(s->port.frame_bytes_max), 0));

	if (p->is_passed && p->next && !is_first_full) {
		shm_release_memfd(s, p);
	} else if (!p->is_passed || p->next >= p->pass_at) {
		p->pass_at = p->next ? 2 * p->next : 1;
		shm_pass_ring(s, p);
	}
}

static int shm_send_one(struct shm_port *s, struct shm_peer *p, const struct drv_frame *f)
{
	uint32_t *flag;

	if (!p->ring)
		return 0;
	flag = shm_slot(p->ring, shm_slot_bytes(s->port.frame_bytes_max), p->next);
	if (atomic_load_acquire(flag)) { /* R2: full */
		shm_pass_ring(s, p);     /* or wake the peer, if it has the ring */
		return p->ring ? -EAGAIN : 0;
	}
	memcpy((unsigned char *)flag + SHM_SLOT_HEADER, f->data, f->bytes);
	atomic_store_release(flag, f->bytes); /* W1 */
	p->next = p->next + 1 == s->slots ? 0 : p->next + 1;
	if (atomic_load_relaxed(&drv_wake_needs_fence))
		atomic_fence_seq_cst();
	if (__builtin_expect(atomic_load_relaxed(&p->ring->armed), 0)) {
		atomic_store_relaxed(&p->ring->armed, 0);
		shm_datagram(s, p->address, -1); /* if the socket is full it is readable; a closed
						    peer is found when the ring is full */
	}
	return 0;
}

static int shm_tx_get(struct drv_port *port, struct drv_frame *f)
{
	struct shm_port *s = (struct shm_port *)port;

	if (!s->tx_free_count) {
		port->stat.tx_busy++;
		return -EAGAIN;
	}
	f->data = s->tx_free[--s->tx_free_count];
	f->bytes = port->frame_bytes_max;
	return 0;
}

static void shm_tx_put(struct drv_port *port, struct drv_frame *f)
{
	struct shm_port *s = (struct shm_port *)port;

	s->tx_free[s->tx_free_count++] = f->data;
}

static int shm_tx_send(struct drv_port *port, struct drv_frame *f, unsigned n)
{
	struct shm_port *s = (struct shm_port *)port;
	unsigned i;

	for (i = 0; i < n; i++) {
		struct shm_peer *p = &s->peer[f[i].peer];

		if (__builtin_expect(p->memfd >= 0, 0))
			shm_settle_ring(s, p);
		if (shm_send_one(s, p, &f[i])) {
			port->stat.tx_busy++;
			break;
		}
		port->stat.tx_frames++;
		port->stat.tx_bytes += f[i].bytes;
		if (!f[i].keep)
			shm_tx_put(port, &f[i]);
	}
	return (int)i;
}

/* ---- receiving ---- */

static int shm_peer_of(const struct shm_port *s, const char *address)
{
	for (int i = 0; i < s->peers; i++)
		if (!strcmp(s->peer[i].address, address))
			return i;
	return -1;
}

static void shm_source_drop(struct shm_port *s, unsigned i)
{
	munmap(s->source[i].ring, s->source[i].ring_bytes);
	free(s->source[i].address);
	s->source[i] = s->source[--s->sources];
	s->turn = 0;
}

/* Remove the rings of senders that have closed, once they have been read to the end. */
static void shm_remove_ended_sources(struct shm_port *s)
{
	for (unsigned i = 0; i < s->sources;) {
		struct shm_source *o = &s->source[i];
		int rc = shm_datagram(s, o->address, -1);

		if (rc && rc != -EAGAIN &&
		    !atomic_load_acquire(shm_slot(o->ring, o->slot_bytes, o->next)))
			shm_source_drop(s, i);
		else
			i++;
	}
	s->sweep_at = 2 * s->sources > SHM_SWEEP_FIRST ? 2 * s->sources : SHM_SWEEP_FIRST;
	s->is_swept = true;
}

/* Map a ring that a sender has passed. Returns 0 or a negative errno. */
static int shm_source_map(int fd, struct shm_source *o)
{
	struct stat st;
	struct shm_ring *r;
	int seals = fcntl(fd, F_GET_SEALS);
	uint32_t magic;

	if (seals < 0 || (seals & SHM_SEALS) != SHM_SEALS || fstat(fd, &st) ||
	    st.st_size < (off_t)sizeof *r ||
	    st.st_size > (off_t)shm_ring_bytes(SHM_SLOTS_MAX, SHM_SLOT_MAX))
		return -EBADMSG;
	r = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r == MAP_FAILED)
		return -errno;
	o->ring = r;
	o->ring_bytes = (size_t)st.st_size;
	/* The sender can change these at any time: each is read once. */
	magic = atomic_load_relaxed(&r->magic);
	o->slots = atomic_load_relaxed(&r->slots);
	o->slot_bytes = atomic_load_relaxed(&r->slot_bytes);
	o->next = 0;
	if (magic != SHM_MAGIC || o->slots < 4 || o->slots > SHM_SLOTS_MAX || o->slot_bytes < 64 ||
	    o->slot_bytes > SHM_SLOT_MAX || o->slot_bytes % 64 ||
	    shm_ring_bytes(o->slots, o->slot_bytes) != o->ring_bytes) {
		munmap(r, o->ring_bytes);
		return -EBADMSG;
	}
	return 0;
}

/* Is there room for the ring of another sender that is no peer? */
static bool shm_has_room_for_stranger(struct shm_port *s)
{
	unsigned strangers;

	do {
		strangers = 0;
		for (unsigned i = 0; i < s->sources; i++)
			strangers += s->source[i].peer < 0;
		if (strangers < SHM_STRANGERS)
			return true;
		if (s->is_swept)
			return false;
		shm_remove_ended_sources(s);
	} while (true);
}

/* Add a ring from `address`. Returns 0, or an error if the ring is not wanted. */
static int shm_source_add(struct shm_port *s, const char *address, int fd)
{
	struct shm_source o, *grown;
	int rc;

	for (unsigned i = 0; i < s->sources; i++)
		if (!strcmp(s->source[i].address, address))
			return 0; /* the sender could not know that it was taken */
	if (s->sources >= s->sweep_at && !s->is_swept)
		shm_remove_ended_sources(s);
	o.peer = shm_peer_of(s, address);
	if (o.peer < 0 && !shm_has_room_for_stranger(s))
		return -ENOSPC;
	rc = shm_source_map(fd, &o);
	if (rc)
		return rc;
	grown = realloc(s->source, sizeof *grown * (s->sources + 1));
	if (grown)
		s->source = grown;
	o.address = strdup(address);
	if (!grown || !o.address) {
		free(o.address);
		munmap(o.ring, o.ring_bytes);
		return -ENOMEM;
	}
	s->source[s->sources++] = o;
	return 0;
}

/* Say once why a ring is refused: until its sender passes it again, nothing is received from it. */
static void shm_refuse_ring(struct shm_port *s, const char *address, int error)
{
	s->port.stat.rx_dropped++;
	if (s->has_refused)
		return;
	s->has_refused = true;
	drv_warn("port shm:%s: the ring of %s is refused: %s (said once)", s->name, address,
		 error == -EBADMSG  ? "it is not one; run the same release everywhere"
		 : error == -EMFILE ? "no free descriptor; raise ulimit -n"
		 : error == -ENOSPC ? "there are as many of other unknown senders as are allowed"
				    : strerror(-error));
}

/* Read the name of the sender of a datagram. Returns false if no port of our name sends from it. */
static bool shm_sender(const struct shm_port *s, const struct msghdr *m, char *address)
{
	const struct sockaddr_un *a = m->msg_name;
	const size_t prefix = 1 + strlen(SHM_SOCKET), name = strlen(s->name);
	size_t n = m->msg_namelen - offsetof(struct sockaddr_un, sun_path);

	if (m->msg_namelen <= offsetof(struct sockaddr_un, sun_path) || n <= prefix + name + 1 ||
	    n > sizeof a->sun_path || a->sun_path[0] ||
	    memcmp(a->sun_path + 1, SHM_SOCKET, prefix - 1))
		return false;
	n -= prefix;
	memcpy(address, a->sun_path + prefix, n);
	address[n] = 0;
	/* A zero byte inside would make it the name of another. */
	return strlen(address) == n && !memcmp(address, s->name, name) && address[name] == '/';
}

/*
 * Return the descriptor in a datagram; -1: there is none, or the sender is another user's process;
 * -EMFILE: this process had no place for it.
 */
static int shm_received_fd(struct msghdr *m)
{
	int fd = -1;
	bool is_trusted = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len >= CMSG_LEN(sizeof fd)) {
			int extra;

			memcpy(&fd, CMSG_DATA(c), sizeof fd);
			/* The padding has room for a second descriptor: close it. */
			if (c->cmsg_len >= CMSG_LEN(2 * sizeof fd)) {
				memcpy(&extra, CMSG_DATA(c) + sizeof fd, sizeof extra);
				close(extra);
			}
		}
		if (c->cmsg_type == SCM_CREDENTIALS) {
			struct ucred u;

			memcpy(&u, CMSG_DATA(c), sizeof u);
			is_trusted = u.uid == geteuid() || u.uid == 0;
		}
	}
	if (fd >= 0 && !is_trusted) {
		close(fd);
		fd = -1;
	}
	return fd < 0 && is_trusted && m->msg_flags & MSG_CTRUNC ? -EMFILE : fd;
}

/* Read all datagrams from the socket: wake-ups, and rings from new senders. */
static void shm_read_socket(struct shm_port *s)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct sockaddr_un a;

	s->is_swept = false;
	for (int i = 0; i < 64; i++) {
		struct msghdr m = {.msg_name = &a,
				   .msg_namelen = sizeof a,
				   .msg_control = control.bytes,
				   .msg_controllen = sizeof control};
		char address[sizeof a.sun_path + 1];
		int fd, rc;

		if (recvmsg(s->socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
			break;
		fd = shm_received_fd(&m);
		if (fd == -1)
			continue;
		if (shm_sender(s, &m, address)) {
			rc = fd < 0 ? fd : shm_source_add(s, address, fd);
			if (rc)
				shm_refuse_ring(s, address, rc);
		} else {
			s->port.stat.rx_dropped++;
		}
		if (fd >= 0)
			close(fd);
	}
	for (int i = 0; s->unsent && i < s->peers; i++)
		if (!s->peer[i].is_passed)
			shm_pass_ring(s, &s->peer[i]);
}

/* Receive up to n frames from one source, at most its slots less one. */
static unsigned shm_source_rx(struct shm_port *s, struct shm_source *o, struct drv_frame *f,
			      unsigned n)
{
	unsigned got = 0;

	for (unsigned looked = 1; got < n && looked < o->slots; looked++) {
		uint32_t *flag = shm_slot(o->ring, o->slot_bytes, o->next);
		uint32_t bytes = atomic_load_acquire(flag); /* R1 */

		if (!bytes)
			break;
		o->next = o->next + 1 == o->slots ? 0 : o->next + 1;
		if (bytes > o->slot_bytes - SHM_SLOT_HEADER || bytes > s->port.frame_bytes_max) {
			s->port.stat.rx_dropped++;
			atomic_store_release(flag, 0);
			continue;
		}
		f[got].data = (unsigned char *)flag + SHM_SLOT_HEADER;
		f[got].bytes = bytes;
		f[got].peer = o->peer;
		f[got].cookie = flag;
		s->port.stat.rx_bytes += bytes;
		got++;
	}
	s->port.stat.rx_frames += got;
	return got;
}

static int shm_rx(struct drv_port *port, struct drv_frame *f, unsigned n)
{
	struct shm_port *s = (struct shm_port *)port;
	unsigned got = 0;

	for (unsigned k = 0; k < s->sources && got < n; k++) {
		struct shm_source *o = &s->source[s->turn];

		s->turn = s->turn + 1 == s->sources ? 0 : s->turn + 1;
		got += shm_source_rx(s, o, f + got, n - got);
	}
	/*
	 * The caller may sleep after the poll that follows arming. A wake-up that this poll read
	 * would be lost, and its sender has cleared `armed`, so no later frame would bring another.
	 */
	if (!got && ++s->empty_polls >= SHM_CONTROL_EVERY && !s->is_armed) {
		s->empty_polls = 0;
		shm_read_socket(s);
	}
	s->is_armed = false;
	return (int)got;
}

static void shm_rx_done(struct drv_port *port, struct drv_frame *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		atomic_store_release((uint32_t *)f[i].cookie, 0); /* W2 */
}

static int shm_arm(struct drv_port *port)
{
	struct shm_port *s = (struct shm_port *)port;

	shm_read_socket(s);
	s->is_armed = true;
	for (unsigned i = 0; i < s->sources; i++)
		atomic_store_relaxed(&s->source[i].ring->armed, 1);
	if (!atomic_load_relaxed(&drv_wake_needs_fence))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
	atomic_fence_seq_cst();
	/* A ring that is not yet passed needs periodic polls. */
	return s->unsent ? -ENOTSUP : s->socket;
}

/* ---- peers, opening, closing ---- */

/* Create the ring to a peer. Returns its memfd or a negative errno. */
static int shm_ring_make(const struct shm_port *s, struct shm_ring **ring, size_t *bytes)
{
	uint32_t slot_bytes = shm_slot_bytes(s->port.frame_bytes_max);
	struct shm_ring *r;
	int fd = memfd_create("quintorus-port", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	*bytes = shm_ring_bytes(s->slots, slot_bytes);
	if (ftruncate(fd, (off_t)*bytes) || fcntl(fd, F_ADD_SEALS, SHM_SEALS))
		goto err_close;
	r = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r == MAP_FAILED)
		goto err_close;
	r->magic = SHM_MAGIC;
	r->slots = s->slots;
	r->slot_bytes = slot_bytes;
	*ring = r;
	return fd;

err_close:
	close(fd);
	return -ENOMEM;
}

static int shm_peer(struct drv_port *port, const char *address)
{
	struct shm_port *s = (struct shm_port *)port;
	size_t n = strlen(s->name);
	struct shm_peer p = {0}, *grown;
	int known = shm_peer_of(s, address);

	if (known >= 0)
		return known;
	if (strncmp(address, s->name, n) || address[n] != '/' || !address[n + 1] ||
	    strlen(address) >
		sizeof(struct sockaddr_un) - sizeof(sa_family_t) - sizeof SHM_SOCKET - 1)
		return -EINVAL;
	if (s->peers == DRV_PORT_PEERS_MAX)
		return -ENOSPC;
	grown = realloc(s->peer, sizeof *grown * ((size_t)s->peers + 1));
	if (!grown)
		return -ENOMEM;
	s->peer = grown;
	p.address = strdup(address);
	if (!p.address)
		return -ENOMEM;
	p.memfd = shm_ring_make(s, &p.ring, &p.ring_bytes);
	if (p.memfd < 0) {
		free(p.address);
		return p.memfd;
	}
	p.pass_at = 1;
	grown[s->peers] = p;
	s->unsent++;
	shm_pass_ring(s, &grown[s->peers]);
	for (unsigned i = 0; i < s->sources; i++)
		if (!strcmp(s->source[i].address, address))
			s->source[i].peer = s->peers;
	return s->peers++;
}

static int shm_address(struct drv_port *port, char *text, size_t bytes)
{
	int n = snprintf(text, bytes, "%s", ((struct shm_port *)port)->address);

	return n < 0 || (size_t)n >= bytes ? -ENOSPC : 0;
}

static void shm_close(struct drv_port *port)
{
	struct shm_port *s = (struct shm_port *)port;

	for (int i = 0; i < s->peers; i++) {
		shm_close_peer(s, &s->peer[i]);
		free(s->peer[i].address);
	}
	while (s->sources)
		shm_source_drop(s, s->sources - 1);
	if (s->socket >= 0)
		close(s->socket);
	free(s->peer);
	free(s->source);
	free(s->memory);
	free(s);
}

static const struct drv_port_ops shm_ops = {
    .name = "shm",
    .tx_get = shm_tx_get,
    .tx_send = shm_tx_send,
    .tx_put = shm_tx_put,
    .rx = shm_rx,
    .rx_done = shm_rx_done,
    .arm = shm_arm,
    .peer = shm_peer,
    .address = shm_address,
    .close = shm_close,
};

static int shm_parse(const char *args, struct shm_port *s, struct drv_port_why *why)
{
	uint64_t frame = SHM_FRAME_BYTES, slots = SHM_SLOTS;
	size_t n = strcspn(args, ",");
	char word[64], *value;
	int rc;

	if (n > 40 || memchr(args, '/', n))
		return drv_port_fail(why, -EINVAL, "the name is at most 40 characters without '/'");
	memcpy(s->name, args, n);
	args += n + (args[n] == ',');
	while ((rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0) {
		if (!strcmp(word, "frame"))
			rc = drv_port_arg_u64(value, 64, 65536, &frame);
		else if (!strcmp(word, "slots"))
			rc = drv_port_arg_u64(value, 4, SHM_SLOTS_MAX, &slots);
		else
			rc = -EINVAL;
		if (rc < 0)
			return drv_port_fail(why, rc,
					     "'%s': known are frame=BYTES (64 .. 65536) and "
					     "slots=N (4 .. 4096)",
					     word);
	}
	if (rc)
		return drv_port_fail(why, rc, "an argument is too long");
	s->port.frame_bytes_max = (uint32_t)frame;
	s->port.keep_max = SHM_KEPT;
	s->slots = (uint32_t)slots;
	return 0;
}

/* Bind the socket to a new abstract name. */
static int shm_bind(struct shm_port *s, struct drv_port_why *why)
{
	int one = 1;

	s->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->socket < 0 || setsockopt(s->socket, SOL_SOCKET, SO_PASSCRED, &one, sizeof one))
		return drv_port_fail(why, -errno, "no local socket: %s", strerror(errno));
	for (int try = 0; try < 8; try++) {
		struct sockaddr_un a;
		socklen_t n;
		uint32_t random;

		if (getrandom(&random, sizeof random, 0) != sizeof random)
			continue;
		snprintf(s->address, sizeof s->address, "%s/%d.%08x", s->name, (int)getpid(),
			 random);
		n = shm_sockaddr(s->address, &a);
		if (!bind(s->socket, (struct sockaddr *)&a, n))
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	return drv_port_fail(why, -errno, "no name for its socket: %s", strerror(errno));
}

int drv_port_shm_open(const char *args, struct drv_port **port, struct drv_port_why *why)
{
	struct shm_port *s = calloc(1, sizeof *s);
	size_t step;
	int rc;

	if (!s)
		return -ENOMEM;
	s->socket = -1;
	s->port.ops = &shm_ops;
	s->sweep_at = SHM_SWEEP_FIRST;
	rc = shm_parse(args, s, why);
	if (!rc)
		rc = shm_bind(s, why);
	if (rc)
		goto err_close;
	step = (s->port.frame_bytes_max + 63u) & ~(size_t)63;
	s->memory = aligned_alloc(64, step * SHM_TX);
	if (!s->memory) {
		rc = -ENOMEM;
		goto err_close;
	}
	for (unsigned i = 0; i < SHM_TX; i++)
		s->tx_free[s->tx_free_count++] = s->memory + step * i;
	drv_wake_process_init();
	*port = &s->port;
	return 0;

err_close:
	shm_close(&s->port);
	return rc;
}
