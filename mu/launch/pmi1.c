/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI-1 as hydra (MPICH's mpirun) speaks it: lines of key=value words over an inherited descriptor
 * (PMI_FD), or over a connection of our own to PMI_PORT. One request, one answer.
 *
 * MPI_Init uses the same descriptor, before or after us: initialising twice is answered like the
 * first time. What must happen once is the farewell, without which the launcher takes our exit for
 * a crash.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "mu/launch/launch.h"

#define LINE_BYTES 2048

static struct {
	int fd;
	char kvs[256];
	char line[LINE_BYTES]; /* the last answer */
} pmi = {.fd = -1};

static int log_failure(const char *what)
{
	drv_error("launcher (PMI-1): %s", what);
	return -EPROTO;
}

static int line_read(void)
{
	size_t n = 0;

	/* Byte by byte: what follows the line may be for MPI. */
	while (n < sizeof pmi.line - 1) {
		ssize_t got = read(pmi.fd, pmi.line + n, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return log_failure("it closed the connection");
		if (pmi.line[n] == '\n') {
			pmi.line[n] = 0;
			return 0;
		}
		n++;
	}
	return log_failure("its answer has no end");
}

/* Return the word after key= in the last answer, which ends at a blank, or NULL if there is
 * none. */
static const char *find_word(const char *key, char *text, size_t bytes)
{
	size_t k = strlen(key);
	const char *p = pmi.line;

	while (*p) {
		size_t n;

		p += strspn(p, " ");
		n = strcspn(p, " ");
		if (n > k && p[k] == '=' && !strncmp(p, key, k)) {
			n -= k + 1;
			if (n >= bytes)
				return NULL;
			memcpy(text, p + k + 1, n);
			text[n] = 0;
			return text;
		}
		p += n;
	}
	return NULL;
}

static int answer_is(const char *command)
{
	char text[64];

	if (line_read())
		return -EPROTO;
	if (!find_word("cmd", text, sizeof text) || strcmp(text, command))
		return log_failure(pmi.line);
	if (find_word("rc", text, sizeof text) && strcmp(text, "0"))
		return log_failure(pmi.line);
	return 0;
}

static int send_request(const char *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int send_request(const char *answer, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof line)
		return log_failure("a request is too long");
	for (int sent = 0; sent < n;) {
		ssize_t put = send(pmi.fd, line + sent, (size_t)(n - sent), MSG_NOSIGNAL);

		if (put < 0 && errno == ENOTSOCK)
			put = write(pmi.fd, line + sent, (size_t)(n - sent));
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return log_failure("it closed the connection");
		sent += (int)put;
	}
	return answer_is(answer);
}

static int parse_number(const char *text, uint32_t *value)
{
	char *end;
	unsigned long v;

	if (!text)
		return -ENOENT;
	v = strtoul(text, &end, 10);
	if (end == text || *end || v > INT32_MAX)
		return -EINVAL;
	*value = (uint32_t)v;
	return 0;
}

static bool is_mpi_initialized(void)
{
	int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
	int flag = 0;

	return initialized && !initialized(&flag) && flag;
}

/* PMI_PORT=host:port. Rank and size come over the connection. */
static int open_port(const char *at, uint32_t *rank, uint32_t *size)
{
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	const char *id = getenv("PMI_ID"), *colon = strrchr(at, ':');
	char host[256], text[64];

	if (!id || !colon || (size_t)(colon - at) >= sizeof host)
		return log_failure("PMI_PORT without PMI_ID, or not host:port");
	/* The launcher would answer us where MPI waits for its answers. */
	if (is_mpi_initialized())
		return log_failure(
		    "with a port instead of a descriptor (-pmi-port) PAMI and ARMCI must "
		    "start before MPI_Init");
	memcpy(host, at, (size_t)(colon - at));
	host[colon - at] = 0;
	if (getaddrinfo(host, colon + 1, &hint, &list))
		return log_failure("the host of PMI_PORT is unknown");
	for (struct addrinfo *a = list; a && pmi.fd < 0; a = a->ai_next) {
		pmi.fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (pmi.fd >= 0 && connect(pmi.fd, a->ai_addr, a->ai_addrlen)) {
			close(pmi.fd);
			pmi.fd = -1;
		}
	}
	freeaddrinfo(list);
	if (pmi.fd < 0)
		return log_failure("cannot connect to PMI_PORT");
	if (send_request("initack", "cmd=initack pmiid=%s\n", id) || answer_is("set") ||
	    parse_number(find_word("size", text, sizeof text), size) || answer_is("set") ||
	    parse_number(find_word("rank", text, sizeof text), rank) || answer_is("set"))
		return log_failure("unexpected words at the start");
	return 0;
}

static int pmi_open(uint32_t *rank, uint32_t *size)
{
	const char *port = getenv("PMI_PORT");
	uint32_t fd;
	int rc;

	if (!parse_number(getenv("PMI_FD"), &fd)) {
		if (fcntl((int)fd, F_GETFD) < 0)
			return log_failure(
			    "PMI_FD is not open: do not close inherited descriptors");
		if (parse_number(getenv("PMI_RANK"), rank) ||
		    parse_number(getenv("PMI_SIZE"), size))
			return log_failure("PMI_RANK or PMI_SIZE is missing");
		pmi.fd = (int)fd;
	} else if (port) {
		rc = open_port(port, rank, size);
		if (rc)
			return rc;
	} else {
		return -ENOENT;
	}
	if (send_request("response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n") ||
	    send_request("my_kvsname", "cmd=get_my_kvsname\n"))
		return -EPROTO;
	if (!find_word("kvsname", pmi.kvs, sizeof pmi.kvs))
		return log_failure("no name of the key space");
	return 0;
}

static int pmi_put(const char *key, const char *value)
{
	return send_request("put_result", "cmd=put kvsname=%s key=%s value=%s\n", pmi.kvs, key,
			    value);
}

static int pmi_fence(void)
{
	return send_request("barrier_out", "cmd=barrier_in\n");
}

static int pmi_get(uint32_t rank, const char *key, char *value, size_t bytes)
{
	if (send_request("get_result", "cmd=get kvsname=%s key=%s\n", pmi.kvs, key))
		return -EPROTO;
	return find_word("value", value, bytes) ? 0 : log_failure("an answer without value");
}

static void pmi_close(void)
{
	/* MPI_Finalize says it where there was MPI_Init; on a connection of our own we say it. */
	if (!getenv("PMI_FD") || !is_mpi_initialized())
		send_request("finalize_ack", "cmd=finalize\n");
}

const struct mu_launcher mu_launch_pmi1 = {
    .abi = MU_LAUNCH_ABI,
    .name = "PMI-1",
    .open = pmi_open,
    .put = pmi_put,
    .fence = pmi_fence,
    .get = pmi_get,
    .close = pmi_close,
};
