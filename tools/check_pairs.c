/* SPDX-License-Identifier: BSD-3-Clause */
/* torus check --hosts: a probe (probe.h) on each host, which try each other, pair by pair. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/settings.h"
#include "tools/check.h"
#include "tools/cmd.h"
#include "tools/json.h"
#include "tools/plan.h"
#include "tools/proc.h"
#include "tools/probe.h"

#define PINGS         50
#define ADDRESSES_MAX 16
#define PROBLEMS_MAX  8
#define START_MS      30000
#define ANSWER_MS     60000
#define LATE_NS       10000000 /* clocks that differ by more are a problem */
#define SLOW_NS       1000000  /* a round trip that is one */

struct address {
	char ip[INET_ADDRSTRLEN], interface[32];
	int prefix, mtu;
};

struct host {
	char name[160], version[96], boot[64], clock[48];
	bool is_invariant, packet, uring, dpdk, seal, root;
	struct address address[ADDRESSES_MAX];
	unsigned addresses, port;
	char problem[256]; /* why there is no probe; "" if there is one */
	FILE *from;
	int to;
	pid_t pid;
};

struct problem {
	char text[256], fix[256];
};

struct pair {
	const struct address *from, *to;
	bool is_reachable, is_same_machine;
	unsigned sent, answered;
	uint64_t rtt_ns;
	int64_t offset_ns;
	int mtu;
	char driver[96];
	struct problem problem[PROBLEMS_MAX];
	unsigned problems;
};

/* ---- starting probes, and talking to them ---- */

static void exec_remote(const struct plan_host *h)
{
	const char *torus = drv_setting_text(DRV_QUINTORUS_REMOTE_TORUS);
	const char *ssh = drv_setting_text(DRV_QUINTORUS_SSH);
	char self[PATH_MAX], command[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n < 0 ? 0 : n] = 0;
	snprintf(command, sizeof command, "exec '%s' agent --probe",
		 torus   ? torus
		 : n > 0 ? self
			 : "torus");
	if (h->kind == PLAN_HOST_SLURM)
		execlp("srun", "srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist",
		       h->name, "--mpi=none", "--quiet", "--unbuffered", "sh", "-c", command,
		       (char *)NULL);
	else
		execlp(ssh, ssh, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", h->name,
		       command, (char *)NULL);
	fprintf(stderr, "torus check: cannot start %s: %s\n",
		h->kind == PLAN_HOST_SLURM ? "srun" : ssh, strerror(errno));
	_exit(127);
}

static void run_probe(const struct plan_host *h, int in, int out, pid_t parent)
{
	char path[192];
	int fd;

	if (proc_tie_to_parent(parent, SIGKILL))
		_exit(1);
	if (plan_host_is_remote(h)) {
		dup2(in, 0);
		dup2(out, 1);
		signal(SIGPIPE, SIG_DFL);
		exec_remote(h);
	}
	if (h->kind == PLAN_HOST_NETNS) {
		snprintf(path, sizeof path, "/run/netns/%s", h->name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET)) {
			dprintf(out, "error no network namespace %s: %s; %s\n", h->name,
				strerror(errno),
				errno == ENOENT ? "ip netns add NAME makes one" : "run as root");
			_exit(1);
		}
	}
	_exit(probe_serve(in, out));
}

/* Send a command. */
static void send_line(struct host *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void send_line(struct host *h, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vdprintf(h->to, format, ap);
	va_end(ap);
}

/*
 * Read a line within that many milliseconds. Returns false if the probe has ended, or sends none.
 */
static bool receive_line(struct host *h, char *line, int bytes, int ms)
{
	struct pollfd ready = {.fd = fileno(h->from), .events = POLLIN};

	/* Unbuffered: poll() sees all that is not read yet. */
	if (poll(&ready, 1, ms) <= 0 || !fgets(line, bytes, h->from))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static void take_fact(struct host *h, const char *line)
{
	struct address *a = &h->address[h->addresses];
	int invariant;

	if (sscanf(line, "address %15s %d %31s %d", a->ip, &a->prefix, a->interface, &a->mtu) == 4)
		h->addresses += h->addresses < ADDRESSES_MAX - 1;
	else if (sscanf(line, "version %95[^\n]", h->version) == 1 ||
		 sscanf(line, "boot %63s", h->boot) == 1)
		return;
	else if (sscanf(line, "clock %47s %d", h->clock, &invariant) == 2)
		h->is_invariant = invariant;
	else if (!strcmp(line, "driver packet"))
		h->packet = true;
	else if (!strcmp(line, "driver uring"))
		h->uring = true;
	else if (!strcmp(line, "driver dpdk"))
		h->dpdk = true;
	else if (!strcmp(line, "driver seal"))
		h->seal = true;
	else if (!strcmp(line, "driver root"))
		h->root = true;
}

static void open_probe(struct host *all, int i, const struct plan_host *p, uint64_t key)
{
	struct host *h = &all[i];
	int in[2], out[2];
	pid_t parent = getpid();
	char line[256];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
		snprintf(h->problem, sizeof h->problem, "no pipe: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	h->pid = fork();
	if (!h->pid) {
		close(in[1]);
		close(out[0]);
		/* A probe that kept the input of another one open would hide its end. */
		for (int k = 0; k < i; k++)
			close(all[k].to);
		run_probe(p, in[0], out[1], parent);
	}
	close(in[0]);
	close(out[1]);
	h->to = in[1];
	h->from = fdopen(out[0], "r");
	setvbuf(h->from, NULL, _IONBF, 0);
	send_line(h, "key %016" PRIx64 "\n", key);
	while (receive_line(h, line, sizeof line, START_MS)) {
		if (sscanf(line, "ready %u", &h->port) == 1)
			return;
		if (!strncmp(line, "error ", 6)) {
			snprintf(h->problem, sizeof h->problem, "%s", line + 6);
			return;
		}
		take_fact(h, line);
	}
	snprintf(
	    h->problem, sizeof h->problem,
	    plan_host_is_remote(p)
		? "torus does not answer there; install this version (try: ssh %s torus --help)"
		: "no probe starts there%s",
	    p->name);
}

static void close_probe(struct host *h)
{
	int status;

	if (h->to > 0)
		close(h->to);
	if (h->pid > 0 && h->problem[0])
		kill(h->pid, SIGKILL);
	if (h->pid > 0)
		waitpid(h->pid, &status, 0);
	if (h->from)
		fclose(h->from);
}

/* ---- a pair ---- */

static void add_problem(struct pair *p, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_problem(struct pair *p, const char *fix, const char *format, ...)
{
	struct problem *to = &p->problem[p->problems];
	va_list ap;

	if (p->problems == PROBLEMS_MAX)
		return;
	p->problems++;
	va_start(ap, format);
	vsnprintf(to->text, sizeof to->text, format, ap);
	va_end(ap);
	snprintf(to->fix, sizeof to->fix, "%s", fix);
}

static uint32_t network_of(const struct address *a)
{
	struct in_addr n;

	inet_pton(AF_INET, a->ip, &n);
	return a->prefix ? ntohl(n.s_addr) >> (32 - a->prefix) : 0;
}

static bool is_loopback(const struct address *a)
{
	return !strncmp(a->ip, "127.", 4);
}

/* The addresses by which the hosts would talk: of one network if there are such, and no loopback
 * unless they share the machine. */
static bool choose_addresses(struct pair *p, const struct host *a, const struct host *b)
{
	for (int pass = 0; pass < 3; pass++)
		for (unsigned i = 0; i < a->addresses; i++)
			for (unsigned k = 0; k < b->addresses; k++) {
				const struct address *x = &a->address[i], *y = &b->address[k];
				bool same =
				    x->prefix == y->prefix && network_of(x) == network_of(y);

				if (is_loopback(x) != is_loopback(y) ||
				    is_loopback(x) != (pass == 2) || (pass == 0 && !same))
					continue;
				if (pass == 2 && !p->is_same_machine)
					continue;
				p->from = x;
				p->to = y;
				return true;
			}
	return false;
}

static void choose_driver(struct pair *p, const struct host *a, const struct host *b)
{
	/* UDP: each host takes what udp: chooses there. */
	if (p->is_same_machine)
		snprintf(p->driver, sizeof p->driver, "shm:");
	else if (p->is_reachable && (a->packet || a->uring) && (b->packet || b->uring))
		snprintf(p->driver, sizeof p->driver, "%s:%s", a->packet ? "packet" : "uring",
			 p->from->ip);
	else if (p->is_reachable && a->dpdk && b->dpdk && a->root && b->root)
		snprintf(p->driver, sizeof p->driver, "dpdk:net_af_packet,iface=%s",
			 p->from->interface);
	else
		snprintf(p->driver, sizeof p->driver, "none");
}

static void judge_pair(struct pair *p, const struct host *a, const struct host *b)
{
	char fix[256];
	int most = p->from->mtu < p->to->mtu ? p->from->mtu : p->to->mtu;

	if (!p->is_reachable && !p->is_same_machine) {
		snprintf(fix, sizeof fix,
			 "on %.60s: ip route get %s; let UDP through the firewalls of both",
			 a->name, p->to->ip);
		add_problem(p, fix, "no datagram from %s to %s comes back", p->from->ip, p->to->ip);
	}
	if (p->is_reachable && p->from->mtu != p->to->mtu) {
		snprintf(fix, sizeof fix, "ip link set %s mtu %d on the host with the smaller one",
			 p->from->mtu < p->to->mtu ? p->from->interface : p->to->interface,
			 p->from->mtu < p->to->mtu ? p->to->mtu : p->from->mtu);
		add_problem(p, fix, "the MTU is %d on %s and %d on %s", p->from->mtu,
			    p->from->interface, p->to->mtu, p->to->interface);
	}
	if (p->is_reachable && p->mtu < most && most <= 65000) {
		snprintf(fix, sizeof fix,
			 "ip link set %s mtu %d on both, or let the switches pass %d bytes",
			 p->from->interface, p->mtu ? p->mtu : 1500, most);
		add_problem(p, fix, "packets of more than %d bytes do not arrive", p->mtu);
	}
	if (p->is_reachable && p->answered < p->sent)
		add_problem(p, "ethtool -S on both; larger rings: ethtool -G INTERFACE rx 4096",
			    "%u of %u datagrams were lost", p->sent - p->answered, p->sent);
	if (p->is_reachable && p->rtt_ns > SLOW_NS)
		add_problem(p, "put both on one switch; end what else uses their processors",
			    "a round trip takes %.1f ms", (double)p->rtt_ns / 1e6);
	if (!p->is_same_machine && llabs(p->offset_ns) > LATE_NS)
		add_problem(p, "apt install chrony on both",
			    "their clocks differ by %.1f ms (logs and captures would not fit)",
			    (double)p->offset_ns / 1e6);
	if (!p->is_same_machine && strcmp(a->clock, b->clock))
		add_problem(p, "choose one: /sys/devices/system/clocksource/clocksource0",
			    "their kernels use different clocks: %s and %s", a->clock, b->clock);
	if (strcmp(a->version, b->version))
		add_problem(p, "install the same version on both; a job between them is refused",
			    "the versions differ: %.80s; %.80s", a->version, b->version);
	if (!p->is_same_machine && a->seal != b->seal)
		add_problem(p, "apt install libssl3 there, or torus run --seal none",
			    "only %.80s can authenticate frames", a->seal ? a->name : b->name);
	if (!strcmp(p->driver, "none") && p->is_reachable)
		add_problem(p, "torus check on each host tells what is missing",
			    "no driver opens on both");
}

static void try_pair(struct pair *p, struct host *a, struct host *b)
{
	char line[256];
	int most;

	memset(p, 0, sizeof *p);
	p->is_same_machine = !strcmp(a->boot, b->boot) && a->boot[0];
	if (!choose_addresses(p, a, b)) {
		static const struct address none = {.ip = "none", .interface = "none"};

		p->from = p->to = &none;
		add_problem(p, "ip address add 10.0.0.1/24 dev INTERFACE",
			    "they have no addresses by which they could talk");
		choose_driver(p, a, b);
		return;
	}
	send_line(a, "ping %s %u %d\n", p->to->ip, b->port, PINGS);
	if (receive_line(a, line, sizeof line, ANSWER_MS))
		sscanf(line, "pong %u %u %" SCNu64 " %" SCNd64, &p->sent, &p->answered, &p->rtt_ns,
		       &p->offset_ns);
	p->is_reachable = p->answered > 0;
	most = p->from->mtu > p->to->mtu ? p->from->mtu : p->to->mtu;
	if (p->is_reachable) {
		send_line(a, "mtu %s %u %d\n", p->to->ip, b->port, most);
		if (receive_line(a, line, sizeof line, ANSWER_MS))
			sscanf(line, "mtu %d", &p->mtu);
	}
	choose_driver(p, a, b);
	judge_pair(p, a, b);
}

/* ---- printing ---- */

static void print_pair(const struct pair *p, const struct host *a, const struct host *b)
{
	printf("%-8s %s - %s: ", p->problems ? "look" : "ok", a->name, b->name);
	if (p->is_reachable)
		printf("%s to %s, MTU %d, round trip %.1f us, %u of %u lost, clocks %+.1f us; ",
		       p->from->ip, p->to->ip, p->mtu, (double)p->rtt_ns / 1e3,
		       p->sent - p->answered, p->sent, (double)p->offset_ns / 1e3);
	else
		printf("not reachable by UDP%s; ", p->is_same_machine ? ", and need not be" : "");
	printf("best driver %s\n", p->driver);
	for (unsigned i = 0; i < p->problems; i++)
		printf("           %s\n             fix: %s\n", p->problem[i].text,
		       p->problem[i].fix);
	fflush(stdout);
}

static void print_pair_json(const struct pair *p, const struct host *a, const struct host *b,
			    bool is_first)
{
	printf("%s\n  {\"from\": ", is_first ? "" : ",");
	json_print_text(stdout, a->name);
	printf(", \"to\": ");
	json_print_text(stdout, b->name);
	printf(", \"reachable\": %s, \"same_machine\": %s, \"from_address\": \"%s\", "
	       "\"to_address\": \"%s\", \"mtu\": %d, \"rtt_us\": %.3f, \"sent\": %u, "
	       "\"lost\": %u, \"clock_us\": %.3f, \"driver\": ",
	       p->is_reachable ? "true" : "false", p->is_same_machine ? "true" : "false",
	       p->from->ip, p->to->ip, p->mtu, (double)p->rtt_ns / 1e3, p->sent,
	       p->sent - p->answered, (double)p->offset_ns / 1e3);
	json_print_text(stdout, p->driver);
	printf(", \"problems\": [");
	for (unsigned i = 0; i < p->problems; i++) {
		printf("%s{\"text\": ", i ? ", " : "");
		json_print_text(stdout, p->problem[i].text);
		printf(", \"fix\": ");
		json_print_text(stdout, p->problem[i].fix);
		printf("}");
	}
	printf("]}");
}

static void print_hosts(const struct host *h, int hosts, bool json)
{
	if (json)
		printf("{\"hosts\": [");
	for (int i = 0; i < hosts; i++) {
		if (json) {
			printf("%s\n  {\"name\": ", i ? "," : "");
			json_print_text(stdout, h[i].name);
			printf(", \"version\": ");
			json_print_text(stdout, h[i].version);
			printf(", \"clock\": ");
			json_print_text(stdout, h[i].clock);
			printf(", \"packet\": %s, \"uring\": %s, \"dpdk\": %s, \"seal\": %s, "
			       "\"problem\": ",
			       h[i].packet ? "true" : "false", h[i].uring ? "true" : "false",
			       h[i].dpdk ? "true" : "false", h[i].seal ? "true" : "false");
			json_print_text(stdout, h[i].problem);
			printf("}");
		} else if (h[i].problem[0]) {
			printf("%-8s %s: %s\n", "fatal", h[i].name, h[i].problem);
		} else {
			printf("%-8s %s: version %s; clock %s; drivers%s%s%s%s%s\n", "ok",
			       h[i].name, h[i].version, h[i].clock, h[i].packet ? " packet" : "",
			       h[i].uring ? " uring" : "", h[i].dpdk ? " dpdk" : "",
			       h[i].seal ? ", frames sealed" : "",
			       h[i].is_invariant ? ""
						 : "; its time-stamp counter is not invariant");
		}
	}
	if (json)
		printf("],\n \"pairs\": [");
	fflush(stdout);
}

int check_pairs(const char *list, bool json)
{
	struct plan_host *plan_host = NULL;
	char err[PLAN_ERR_BYTES];
	struct plan plan = {0};
	struct host *host;
	struct pair pair;
	bool is_first = true;
	uint64_t key;
	int rc = 0, hosts = plan_hosts_parse(list, &plan_host, err);

	if (hosts < 0) {
		fprintf(stderr, "torus check: %s\n", err);
		return CMD_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	host = calloc((size_t)hosts, sizeof *host);
	if (!host || getrandom(&key, sizeof key, 0) != sizeof key) {
		fprintf(stderr, "torus check: %s\n", strerror(errno));
		free(host);
		free(plan_host);
		return 1;
	}
	plan.host = plan_host;
	plan.hosts = (uint32_t)hosts;
	for (int i = 0; i < hosts; i++) {
		plan_host_text(&plan, (uint32_t)i, host[i].name, sizeof host[i].name);
		open_probe(host, i, &plan_host[i], key);
		rc |= host[i].problem[0] != 0;
	}
	print_hosts(host, hosts, json);
	for (int i = 0; i < hosts; i++) {
		for (int k = i + 1; k < hosts; k++) {
			if (host[i].problem[0] || host[k].problem[0])
				continue;
			try_pair(&pair, &host[i], &host[k]);
			/*
			 * A finding is an error if a job cannot do without it; other findings are
			 * advice.
			 */
			rc |= (!pair.is_reachable && !pair.is_same_machine) ||
			      strcmp(host[i].version, host[k].version) != 0;
			if (json)
				print_pair_json(&pair, &host[i], &host[k], is_first);
			else
				print_pair(&pair, &host[i], &host[k]);
			is_first = false;
		}
	}
	if (json)
		printf("]}\n");
	for (int i = 0; i < hosts; i++)
		close_probe(&host[i]);
	free(host);
	free(plan_host);
	return rc;
}
