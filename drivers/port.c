/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens ports by name: "driver:arguments", or an IPv4 address, which means "udp:ADDRESS"; both
 * preceded by any number of "wrapper(arguments)+". Drivers that need libraries are modules, which
 * are loaded at their first use.
 */
#define _GNU_SOURCE
#include "drivers/port_driver.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/base/module.h"

#ifndef QUINTORUS_BUILD_MODULES
#define QUINTORUS_BUILD_MODULES ""
#endif

static int open_best_udp(const char *args, struct drv_port **port, struct drv_port_why *why);

/*
 * open == NULL: the driver is in a module of that name, for which the Debian package `needs` is
 * needed.
 */
static const struct driver {
	const char *name;
	drv_port_open_fn open;
	const char *needs;
} drivers[] = {
    {"loop", drv_port_loop_open, NULL}, {"shm", drv_port_shm_open, NULL},
    {"udp", open_best_udp, NULL},       {"packet", drv_port_packet_open, NULL},
    {"uring", NULL, "liburing-dev"},    {"dpdk", NULL, "libdpdk-dev"},
};

static const struct wrapper {
	const char *name;
	drv_port_wrap_fn wrap;
} wrappers[] = {
    {"fault", drv_port_fault_wrap},
};

int drv_port_fail(struct drv_port_why *why, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why->text, sizeof why->text, format, ap);
	va_end(ap);
	return error;
}

int drv_port_arg_next(const char **list, char *text, size_t bytes, char **value)
{
	size_t n;

	if (!**list)
		return 0;
	n = strcspn(*list, ",");
	if (n >= bytes)
		return -EINVAL;
	memcpy(text, *list, n);
	text[n] = 0;
	*list += n + ((*list)[n] == ',');
	*value = strchr(text, '=');
	if (*value)
		*(*value)++ = 0;
	return 1;
}

int drv_port_arg_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;
	unsigned long long v;

	if (!text || !isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return -EINVAL;
	*value = v;
	return 0;
}

int drv_port_arg_unit(const char *text, double *value)
{
	char *end;
	double v;

	if (!text || (!isdigit((unsigned char)*text) && *text != '.'))
		return -EINVAL;
	v = strtod(text, &end);
	if (*end || !(v >= 0 && v <= 1))
		return -EINVAL;
	*value = v;
	return 0;
}

/*
 * Load the module of a driver. It is never unloaded, since DPDK cannot be initialised twice in a
 * process.
 */
static int module_load(const struct driver *d, const struct drv_port_module **module,
		       struct drv_port_why *why)
{
	char name[64], reason[sizeof why->text - 128];
	const struct drv_port_module *m;

	snprintf(name, sizeof name, "port_%s", d->name);
	m = drv_module_symbol(name, QUINTORUS_BUILD_MODULES, "drv_port_module", reason,
			      sizeof reason);
	if (!m)
		return drv_port_fail(why, -errno,
				     "%s; build with %s present, or set QUINTORUS_MODULES to its "
				     "directory",
				     reason, d->needs);
	if (m->abi != DRV_PORT_MODULE_ABI || m->port_bytes != sizeof(struct drv_port))
		return drv_port_fail(why, -ENOEXEC,
				     "libqt_%s.so is of another version of Quintorus; rebuild or "
				     "reinstall it",
				     name);
	*module = m;
	return 0;
}

#define SPEC_BYTES 1024

/* The ports that are being opened: one for each queue; and the specification of what is open. */
struct opening {
	unsigned most, count;
	struct drv_port *port[DRV_PORT_QUEUES_MAX];
	struct drv_port_why *why;
	char *text; /* NULL: nobody asks for it */
	size_t bytes, used;
};

static int driver_open(const char *spec, struct opening *o);

/* What has no room ends in "...". */
static __attribute__((format(printf, 2, 3))) void append_text(struct opening *o, const char *format,
							      ...)
{
	va_list ap;
	int n;

	if (!o->text)
		return;
	va_start(ap, format);
	n = vsnprintf(o->text + o->used, o->bytes - o->used, format, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < o->bytes - o->used) {
		o->used += (size_t)n;
		return;
	}
	if (o->bytes > 3)
		memcpy(o->text + o->bytes - 4, "...", 4);
	o->text = NULL;
}

static void close_all(struct opening *o)
{
	while (o->count)
		drv_port_close(o->port[--o->count]);
}

/* Open a wrapper, one before each queue. spec: name(args)+rest; the name has n characters. */
static int wrapper_open(const char *spec, size_t n, struct opening *o)
{
	const char *end = strchr(spec, ')');
	char args[256];
	int rc;

	if (!end || end[1] != '+' || (size_t)(end - spec) - n > sizeof args)
		return drv_port_fail(o->why, -EINVAL,
				     "a wrapper is written name(key=value,...)+SPEC, with "
				     "less than 256 characters between the brackets");
	memcpy(args, spec + n + 1, (size_t)(end - spec) - n - 1);
	args[end - spec - (ptrdiff_t)n - 1] = 0;
	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
		if (strlen(wrappers[i].name) != n || memcmp(wrappers[i].name, spec, n))
			continue;
		append_text(o, "%.*s", (int)(end + 2 - spec), spec);
		rc = driver_open(end + 2, o);
		for (unsigned q = 0; q < o->count && !rc; q++)
			rc = wrappers[i].wrap(args, o->port[q], &o->port[q], o->why);
		if (rc)
			close_all(o);
		return rc;
	}
	return drv_port_fail(o->why, -ENOENT, "there is no wrapper %.*s; there is fault", (int)n,
			     spec);
}

/* Copy the arguments of a driver without "queues=N", which sets *queues. */
static int take_queues(const char *args, char *rest, size_t bytes, unsigned *queues,
		       struct drv_port_why *why)
{
	size_t used = 0;
	uint64_t n;

	*queues = 1;
	rest[0] = 0;
	for (const char *at = args; *at;) {
		size_t word = strcspn(at, ",");
		char number[8];

		if (word > 7 && !memcmp(at, "queues=", 7)) {
			snprintf(number, sizeof number, "%.*s", (int)(word - 7), at + 7);
			if (word - 7 >= sizeof number ||
			    drv_port_arg_u64(number, 1, DRV_PORT_QUEUES_MAX, &n))
				return drv_port_fail(why, -EINVAL, "queues is 1 .. %d",
						     DRV_PORT_QUEUES_MAX);
			*queues = (unsigned)n;
		} else if (used + word + 2 > bytes) {
			return drv_port_fail(why, -EINVAL,
					     "the arguments are longer than %zu characters", bytes);
		} else {
			used += (size_t)snprintf(rest + used, bytes - used, "%s%.*s",
						 used ? "," : "", (int)word, at);
		}
		at += word + (at[word] == ',');
	}
	return 0;
}

/* Queues of a device have been opened. */
static void append_device(struct opening *o, bool is_first, const char *driver, const char *args,
			  unsigned queues)
{
	append_text(o, "%s%s:%s", is_first ? "" : "&", driver, args);
	if (queues > 1)
		append_text(o, "%squeues=%u", *args ? "," : "", queues);
}

/*
 * Open a port for each queue by itself. A driver that stands for several (udp) chooses for each,
 * and may find the first one exhausted: the queues that chose alike are written as one device.
 */
static int open_each(const char *name, drv_port_open_fn open, const char *args, unsigned ports,
		     struct opening *o)
{
	const char *before = NULL;
	unsigned alike = 0;
	int rc = 0;

	for (unsigned q = 0; q < ports && !rc; q++) {
		const char *driver;

		o->why->chosen = NULL;
		rc = open(args, &o->port[o->count], o->why);
		if (rc)
			break;
		driver = o->why->chosen ? o->why->chosen : name;
		if (alike && driver != before) {
			append_device(o, o->count == alike, before, args, alike);
			alike = 0;
		}
		before = driver;
		alike++;
		o->count++;
	}
	if (alike)
		append_device(o, o->count == alike, before, args, alike);
	return rc;
}

static int queues_open(const char *name, drv_port_open_fn open, drv_port_open_queues_fn open_queues,
		       const char *args, struct opening *o)
{
	unsigned n = 1, ports;
	char rest[SPEC_BYTES];
	int rc = 0;

	if (strstr(args, "queues=")) {
		rc = take_queues(args, rest, sizeof rest, &n, o->why);
		args = rest;
	}
	if (rc)
		return rc;
	ports = n < o->most - o->count ? n : o->most - o->count;
	if (n == 1 || !open_queues)
		return open_each(name, open, args, ports, o);
	rc = open_queues(args, n, ports, o->port + o->count, o->why);
	if (rc)
		return rc;
	append_device(o, !o->count, name, args, n); /* the device has them all */
	o->count += ports;
	return 0;
}

static int device_open(const char *spec, struct opening *o)
{
	size_t n = strcspn(spec, ":");
	const struct drv_port_module *module = NULL;

	if (isdigit((unsigned char)*spec))
		return queues_open("udp", open_best_udp, NULL, spec, o);
	if (spec[n] != ':')
		return drv_port_fail(o->why, -EINVAL,
				     "no ':' behind the driver's name; write e.g. shm: or "
				     "udp:10.0.0.1 or dpdk:net_af_packet,iface=eth0");
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		const struct driver *d = &drivers[i];
		int rc;

		if (strlen(d->name) != n || memcmp(d->name, spec, n))
			continue;
		if (d->open)
			return queues_open(d->name, d->open, NULL, spec + n + 1, o);
		rc = module_load(d, &module, o->why);
		return module ? queues_open(d->name, module->open, module->open_queues,
					    spec + n + 1, o)
			      : rc;
	}
	return drv_port_fail(
	    o->why, -ENOENT,
	    "there is no driver %.*s; drivers are loop, shm, udp, packet, uring, dpdk", (int)n,
	    spec);
}

/*
 * udp:ADDRESS: the driver for UDP that works here and is the fastest. Both reach each other, so
 * each host chooses for itself.
 */
static int open_best_udp(const char *args, struct drv_port **port, struct drv_port_why *why)
{
	static const char *const best_first[] = {"packet", "uring"};
	char spec[256] = "";
	struct drv_port_why first = {""};
	struct opening o = {.most = 1, .why = why};
	int rc = -EINVAL, first_rc = -EINVAL;

	for (size_t i = 0; i < sizeof best_first / sizeof *best_first; i++) {
		if ((size_t)snprintf(spec, sizeof spec, "%s:%s", best_first[i], args) >=
		    sizeof spec)
			return drv_port_fail(why, -EINVAL, "the arguments are too long");
		rc = device_open(spec, &o);
		if (!rc) {
			*port = o.port[0];
			why->chosen = best_first[i];
			return 0;
		}
		if (!i) {
			first = *why;
			first_rc = rc;
		}
		drv_debug("port udp: not %s: %s", spec, why->text);
	}
	/* What is wrong with the arguments is wrong for both. */
	if (rc == -EINVAL && first_rc == -EINVAL) {
		drv_port_fail(why, rc,
			      "write udp:ADDRESS or udp:ADDRESS:PORT with an IPv4 address of this "
			      "host that the others reach; ,frame=BYTES (64 .. 65507) may follow");
	} else if (rc != -EADDRNOTAVAIL && rc != -EADDRINUSE) {
		struct drv_port_why second = *why;

		drv_port_fail(why, rc, "no packet: %.180s; no uring: %.180s", first.text,
			      second.text);
	}
	return rc;
}

/* Open the devices of a list with '&', as far as there is room for their queues. */
static int driver_open(const char *spec, struct opening *o)
{
	int rc = 0;

	if (spec[strcspn(spec, ":(&")] == '(')
		return wrapper_open(spec, strcspn(spec, "("), o);
	do {
		size_t n = strcspn(spec, "&");
		char one[SPEC_BYTES] = "";

		if (n >= sizeof one)
			rc = drv_port_fail(o->why, -EINVAL,
					   "a device is named in fewer than %d characters",
					   SPEC_BYTES);
		else
			snprintf(one, sizeof one, "%.*s", (int)n, spec);
		rc = rc ? rc : device_open(one, o);
		spec += n + (spec[n] == '&');
	} while (*spec && !rc && o->count < o->most);
	if (rc)
		close_all(o);
	return rc;
}

/* What stands behind the wrappers of a spec. */
static const char *innermost(const char *spec)
{
	const char *end;

	while (spec[strcspn(spec, ":(&")] == '(' && (end = strstr(spec, ")+")))
		spec = end + 2;
	return spec;
}

int drv_port_open_queues(const char *spec, unsigned most, struct drv_port **port, char *opened,
			 size_t bytes)
{
	struct drv_port_why why = {""};
	struct opening o = {.most = most, .why = &why, .text = opened, .bytes = bytes};
	int rc = driver_open(spec, &o);

	if (rc) {
		drv_error("port %s: %s", spec, why.text[0] ? why.text : strerror(-rc));
		return rc;
	}
	memcpy(port, o.port, o.count * sizeof *port);
	return (int)o.count;
}

int drv_port_open_named(const char *spec, struct drv_port **port, char *opened, size_t bytes)
{
	int n = drv_port_open_queues(spec, 1, port, opened, bytes);

	return n < 0 ? n : 0;
}

int drv_port_open(const char *spec, struct drv_port **port)
{
	return drv_port_open_named(spec, port, NULL, 0);
}

void drv_port_close(struct drv_port *port)
{
	if (port)
		port->ops->close(port);
}

/* May others send to this device? */
static bool is_device_reachable(const char *device, enum drv_port_place place)
{
	const char *dpdk = strncmp(device, "dpdk:", 5) ? NULL : device;

	if (place == DRV_PORT_IN_NAMESPACE)
		return dpdk && strncmp(dpdk, "dpdk:net_", 9); /* a NIC */
	return isdigit((unsigned char)*device) || !strncmp(device, "udp:", 4) ||
	       !strncmp(device, "uring:", 6) || !strncmp(device, "packet:", 7) ||
	       (dpdk && strncmp(dpdk, "dpdk:net_memif", 14));
}

bool drv_port_is_reachable(const char *spec, enum drv_port_place place)
{
	if (place == DRV_PORT_ELSEWHERE)
		return true;
	for (const char *device = innermost(spec); *device; device += *device == '&') {
		if (is_device_reachable(device, place))
			return true;
		device += strcspn(device, "&");
	}
	return false;
}
