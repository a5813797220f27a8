/* SPDX-License-Identifier: BSD-3-Clause */
/* Module libqt_stack.so: the stacks of another process, by libdw. */
#define _GNU_SOURCE
#include "tools/stack.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX  64 /* of one thread that are looked at */
#define CALLERS_MAX 4  /* of a call that are printed */
#define OTHERS_MAX  3  /* threads besides the first that are printed */

struct frame {
	char name[96];  /* "": not known */
	char place[96]; /* "solve.c:31", or "" */
	bool program;   /* of the program itself, not of a library */
};

struct stack {
	Dwfl *dwfl;
	struct frame frame[FRAMES_MAX];
	unsigned frames;
};

struct description {
	struct stack stack;
	pid_t pid;
	unsigned others;
	char *text;
	size_t bytes, used;
};

int stack_describe(pid_t pid, char *text, size_t bytes) __attribute__((visibility("default")));

static bool is_public(const char *name)
{
	static const char *const prefix[] = {"PAMI_", "ARMCI_", "armci_msg_", "gasnet_",
					     "gex_",  "MUSPI_", "mu_"};

	for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
		if (!strncmp(name, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

/* True for the start of a thread or of a program, which tells the reader nothing. */
static bool is_start(const char *name)
{
	return !strncmp(name, "__libc_start", 12) || !strcmp(name, "_start") ||
	       !strcmp(name, "start_thread") || !strncmp(name, "clone", 5) ||
	       !strncmp(name, "__clone", 7);
}

static void find_place(Dwfl_Module *module, Dwarf_Addr pc, char *place, size_t bytes)
{
	Dwfl_Line *line = dwfl_module_getsrc(module, pc);
	const char *file, *slash;
	int number = 0;

	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (!file)
		return;
	slash = strrchr(file, '/');
	snprintf(place, bytes, "%s:%d", slash ? slash + 1 : file, number);
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct stack *s = arg;
	struct frame *f = &s->frame[s->frames];
	bool is_activation;
	Dwarf_Addr pc;
	Dwfl_Module *module;
	const char *name, *file;

	if (s->frames == FRAMES_MAX || !dwfl_frame_pc(state, &pc, &is_activation))
		return DWARF_CB_ABORT;
	pc -= !is_activation;
	module = dwfl_addrmodule(s->dwfl, pc);
	name = module ? dwfl_module_addrname(module, pc) : NULL;
	if (name && is_start(name))
		return DWARF_CB_OK;
	memset(f, 0, sizeof *f);
	file = module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;
	f->program = file && !strstr(file, ".so");
	while (name && *name == '_')
		name++;
	snprintf(f->name, sizeof f->name, "%s", name ? name : "");
	if (module)
		find_place(module, pc, f->place, sizeof f->place);
	s->frames++;
	return DWARF_CB_OK;
}

static __attribute__((format(printf, 2, 3))) void append_text(struct description *d,
							      const char *format, ...)
{
	va_list ap;
	int n;

	if (d->used >= d->bytes)
		return;
	va_start(ap, format);
	n = vsnprintf(d->text + d->used, d->bytes - d->used, format, ap);
	va_end(ap);
	d->used += n > 0 ? (size_t)n : 0;
}

static void put_frame(struct description *d, const struct frame *f)
{
	append_text(d, f->place[0] ? "%s (%s)" : "%s", f->name, f->place);
}

/* The outermost call of the library: the one that the program made. -1: none. */
static int find_call(const struct stack *s)
{
	for (int i = (int)s->frames - 1; i >= 0; i--)
		if (is_public(s->frame[i].name))
			return i;
	return -1;
}

static void put_stack(struct description *d)
{
	const struct stack *s = &d->stack;
	int at = find_call(s), callers = 0;

	if (!s->frames) {
		append_text(d, "its stack cannot be read");
		return;
	}
	if (at >= 0) {
		append_text(d, "%s", s->frame[at].name);
	} else if (s->frame[0].program) {
		at = 0;
		append_text(d, s->frame[0].name[0] ? "computes in " : "computes");
		put_frame(d, &s->frame[0]);
	} else { /* in the C library or another: the function that the program called */
		for (at = 0; at + 1 < (int)s->frames && !s->frame[at + 1].program; at++)
			;
		append_text(d, "%s", s->frame[at].name[0] ? s->frame[at].name : "in a library");
	}
	for (int i = at + 1; i < (int)s->frames && callers < CALLERS_MAX; i++) {
		if (!s->frame[i].name[0]) /* a program without symbols */
			continue;
		append_text(d, callers++ ? ", " : ", called by ");
		put_frame(d, &s->frame[i]);
	}
}

/* Threads are visited in the order of their numbers: the first one is the process. */
static int visit_thread(Dwfl_Thread *thread, void *arg)
{
	struct description *d = arg;
	pid_t tid = dwfl_thread_tid(thread);

	d->stack.frames = 0;
	dwfl_thread_getframes(thread, add_frame, &d->stack);
	if (tid == d->pid) {
		put_stack(d);
	} else if (find_call(&d->stack) >= 0 && d->stack.frames &&
		   d->stack.frame[d->stack.frames - 1].program) {
		if (d->others++ >= OTHERS_MAX)
			return DWARF_CB_ABORT;
		append_text(d, "; thread %d: ", (int)tid);
		put_stack(d);
	}
	return DWARF_CB_OK;
}

int stack_describe(pid_t pid, char *text, size_t bytes)
{
	static const Dwfl_Callbacks callbacks = {
	    .find_elf = dwfl_linux_proc_find_elf,
	    .find_debuginfo = dwfl_standard_find_debuginfo,
	};
	struct description *d = calloc(1, sizeof *d);
	int rc;

	text[0] = '\0';
	if (!d)
		return -ENOMEM;
	d->text = text;
	d->bytes = bytes;
	d->pid = pid;
	d->stack.dwfl = dwfl_begin(&callbacks);
	rc = d->stack.dwfl ? dwfl_linux_proc_report(d->stack.dwfl, pid) : -1;
	if (!rc && dwfl_report_end(d->stack.dwfl, NULL, NULL))
		rc = -1;
	if (!rc)
		rc = dwfl_linux_proc_attach(d->stack.dwfl, pid, false);
	if (!rc)
		dwfl_getthreads(d->stack.dwfl, visit_thread, d);
	if (rc || !d->used) {
		snprintf(text, bytes, "%s", rc > 0 ? strerror(rc) : dwfl_errmsg(-1));
		rc = rc > 0 ? -rc : -EIO;
	}
	dwfl_end(d->stack.dwfl);
	free(d);
	return rc;
}
