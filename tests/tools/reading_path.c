/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which functions an 8-byte message passes through. Without TRACED in the environment this program
 * is a tracer: it starts itself again under ptrace, and once the traced task says that it is warm,
 * puts a breakpoint on every function of the program. Each is removed when it is hit and its name
 * printed, so each function is printed once, in the order of first calls. (gdb could do it, but is
 * not on every machine.)
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

/* ---- The traced program: round trips of 8 bytes ---- */

#define WARM_TRIPS 50

static int received;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_EQ(bytes, 8);
	received++;
}

/* The tracer has breakpoints here. */
__attribute__((noinline, used)) static void trace_begin(void)
{
	__asm__ volatile("# begin"); /* unlike trace_end, else the compiler makes them one */
}

__attribute__((noinline, used)) static void trace_end(void)
{
	__asm__ volatile("# end");
}

static void send_one(void)
{
	static uint64_t word = 42;
	pami_send_immediate_t s = {
	    .dispatch = 1, .dest = get_endpoint(1 - me, 0), .data = {&word, sizeof word}};

	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
}

static void run_trip(int number)
{
	if (me == 0)
		send_one();
	WAIT(received == number);
	if (me == 1)
		send_one();
}

static int traced_main(void)
{
	pami_dispatch_hint_t hint = {0};

	job_begin(1);
	CHECK_EQ(tasks, 2);
	dispatch_set(context, 1, on_message, NULL, hint);
	run_barrier();
	for (int i = 1; i <= WARM_TRIPS; i++)
		run_trip(i);
	trace_begin();
	run_trip(WARM_TRIPS + 1);
	trace_end();
	run_barrier();
	return job_end(1);
}

/* ---- The tracer ---- */

#ifndef __x86_64__

int main(void)
{
	if (getenv("TRACED"))
		return traced_main();
	printf("breakpoints are those of x86-64\n");
	return 77;
}

#else

struct function {
	const char *name;
	uint64_t address;
	uint8_t first_byte;
	int is_set;
};

static struct function *functions;
static size_t function_count;

static int fail_with_errno(const char *what)
{
	fprintf(stderr, "reading_path: %s: %s\n", what, strerror(errno));
	exit(3);
}

static struct function *function_at(uint64_t address)
{
	for (size_t i = 0; i < function_count; i++)
		if (functions[i].address == address)
			return &functions[i];
	return NULL;
}

/* A function of two names gets one breakpoint. */
static void function_add(const char *name, uint64_t address)
{
	if (!function_at(address))
		functions[function_count++] = (struct function){.name = name, .address = address};
}

/* The symbols of our own file; it is mapped for the rest of the run. */
static void functions_load(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	unsigned char *file;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *section;

	if (fd < 0 || fstat(fd, &st))
		fail_with_errno("open");
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		fail_with_errno("mmap");
	head = (const void *)file;
	section = (const void *)(file + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbol = (const void *)(file + section[i].sh_offset);
		size_t count =
		    section[i].sh_type == SHT_SYMTAB ? section[i].sh_size / sizeof *symbol : 0;
		const char *names = (const char *)file + section[section[i].sh_link].sh_offset;

		if (!count)
			continue;
		functions = calloc(count, sizeof *functions);
		for (size_t k = 0; k < count; k++)
			if (ELF64_ST_TYPE(symbol[k].st_info) == STT_FUNC && symbol[k].st_size &&
			    names[symbol[k].st_name] != '_')
				function_add(names + symbol[k].st_name, symbol[k].st_value);
	}
	if (!function_count) {
		printf("the program has no symbols\n");
		exit(77);
	}
}

/* Where the traced process has our file. */
static uint64_t base_of(pid_t pid)
{
	char path[64], line[256];
	unsigned long long base = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof line, f) || sscanf(line, "%llx-", &base) != 1)
		fail_with_errno("maps");
	fclose(f);
	return base;
}

static void byte_write(int memory, uint64_t address, uint8_t byte)
{
	if (pwrite(memory, &byte, 1, (off_t)address) != 1)
		fail_with_errno("write to the traced program");
}

static void breakpoint_set(int memory, struct function *f)
{
	if (f->is_set)
		return;
	if (pread(memory, &f->first_byte, 1, (off_t)f->address) != 1)
		fail_with_errno("read of the traced program");
	byte_write(memory, f->address, 0xcc);
	f->is_set = 1;
}

static struct function *function_named(const char *name)
{
	for (size_t i = 0; i < function_count; i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	errno = ENOENT;
	fail_with_errno(name);
	return NULL;
}

/* A thread ran into a breakpoint, perhaps one that another thread's hit has removed by now. */
static int breakpoint_hit(pid_t thread, int is_main, int memory)
{
	struct user_regs_struct regs;
	struct function *f;

	if (ptrace(PTRACE_GETREGS, thread, NULL, &regs))
		return 0;
	f = function_at(regs.rip - 1);
	if (!f)
		return 0;
	regs.rip--;
	ptrace(PTRACE_SETREGS, thread, NULL, &regs);
	if (!f->is_set)
		return 1;
	byte_write(memory, f->address, f->first_byte);
	f->is_set = 0;
	if (!strcmp(f->name, "trace_begin")) {
		for (size_t i = 0; i < function_count; i++)
			if (&functions[i] != f)
				breakpoint_set(memory, &functions[i]);
	} else if (!strcmp(f->name, "trace_end")) {
		for (size_t i = 0; i < function_count; i++)
			if (functions[i].is_set) {
				byte_write(memory, functions[i].address, functions[i].first_byte);
				functions[i].is_set = 0;
			}
	} else {
		printf("%s%s\n", is_main ? "" : "other thread: ", f->name);
	}
	return 1;
}

static int trace_task(pid_t pid)
{
	char path[64];
	int status, memory;
	uint64_t base;

	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status))
		return WEXITSTATUS(status);
	if (!WIFSTOPPED(status))
		fail_with_errno("the traced program did not start");
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL))
		fail_with_errno("ptrace");
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		fail_with_errno(path);
	base = base_of(pid);
	for (size_t i = 0; i < function_count; i++)
		functions[i].address += base;
	breakpoint_set(memory, function_named("trace_begin"));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	for (;;) {
		pid_t thread = waitpid(-1, &status, __WALL);
		long signal = 0;

		if (thread < 0)
			fail_with_errno("waitpid");
		if (!WIFSTOPPED(status)) {
			if (thread == pid)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
			continue;
		}
		if (WSTOPSIG(status) == SIGTRAP)
			/* A new thread, or a breakpoint. */
			breakpoint_hit(thread, thread == pid, memory);
		else if (WSTOPSIG(status) != SIGSTOP)
			signal = WSTOPSIG(status);
		ptrace(PTRACE_CONT, thread, NULL, signal);
	}
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (getenv("TRACED"))
		return traced_main();
	functions_load();
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("TRACED", "1", 1);
	pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
			printf("ptrace is not permitted: %s\n", strerror(errno));
			exit(77);
		}
		execv("/proc/self/exe", argv);
		fail_with_errno("execv");
	}
	return pid < 0 ? fail_with_errno("fork") : trace_task(pid);
}

#endif
