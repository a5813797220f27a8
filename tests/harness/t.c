/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/harness/t.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

static struct {
	int tap; /* real stdout; closed in executed children */
	pid_t pid;
	uint64_t seed;
	struct drv_rng rng;
	int skipped; /* the running case */
	char why[256];
	char dir[128];
	atomic_i32 child_failures; /* in a forked child */
} t;

uint64_t t_seed(void)
{
	return t.seed;
}

struct drv_rng *t_rng(void)
{
	return &t.rng;
}

static int env_says(const char *variable)
{
	const char *s = getenv(variable);

	return s && *s && strcmp(s, "0") != 0;
}

int t_long(void)
{
	return env_says("QT_LONG");
}

int t_minute(void)
{
	return t_long() || env_says("QT_MINUTE");
}

int t_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 1;
#else
	return 0;
#endif
}

void t_skip(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(t.why, sizeof(t.why), format, ap);
	va_end(ap);
	t.skipped = 1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_dir(void)
{
	if (t.dir[0] && getpid() == t.pid)
		nftw(t.dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *t_dir(void)
{
	if (!t.dir[0]) {
		const char *tmp = getenv("TMPDIR");

		snprintf(t.dir, sizeof(t.dir), "%s/qt-test-XXXXXX", tmp ? tmp : "/tmp");
		if (!mkdtemp(t.dir)) {
			perror(t.dir);
			exit(1);
		}
		atexit(remove_dir);
	}
	return t.dir;
}

void *t_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

pid_t t_child(int (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid == 0) {
		int rc;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		rc = fn(arg);
		fflush(NULL);
		_exit(rc ? rc : t_failures() != 0);
	}
	return pid;
}

int t_wait(pid_t pid, unsigned seconds)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status;

	if (fd >= 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, (int)seconds * 1000) == 0) {
			fprintf(stderr, "child %d did not end within %u s: killed\n", (int)pid,
				seconds);
			kill(pid, SIGKILL);
		}
		close(fd);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Programs that tasks of a job execute have no cases. They report as children do. */
static bool is_child(void)
{
	return getpid() != t.pid;
}

int t_failures(void)
{
	return is_child() ? atomic_load_relaxed(&t.child_failures)
			  : (int)CU_get_number_of_failures();
}

void check_failed(const char *file, int line, bool is_fatal, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (!is_child()) {
		CU_assertImplementation(CU_FALSE, (unsigned)line, text, file, "", is_fatal);
		return;
	}
	atomic_fetch_add_relaxed(&t.child_failures, 1);
	fprintf(stderr, "%s:%d: child: %s\n", file, line, text);
	fflush(stderr);
	if (is_fatal)
		_exit(1);
}

static int is_wanted(const char *name, int argc, char **argv)
{
	int named = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--seed")) {
			i++;
			continue;
		}
		if (argv[i][0] == '-')
			continue;
		named = 1;
		if (!strcmp(argv[i], name))
			return 1;
	}
	return !named;
}

static uint64_t choose_seed(int argc, char **argv)
{
	const char *s = getenv("QT_SEED");

	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--seed"))
			s = argv[i + 1];
	if (s && *s)
		return strtoull(s, NULL, 0);
	return (drv_clock_ns() ^ (uint64_t)getpid() << 20) & 0xffffffff;
}

/* Run one case; prints its TAP line. Returns 0 passed, 1 failed, 77 skipped. */
static int run_case(CU_pSuite suite, const struct t_case *c, unsigned number)
{
	CU_pTest test = CU_add_test(suite, c->name, c->run);
	uint64_t start = drv_clock_ns();

	drv_rng_seed(&t.rng, t.seed);
	t.skipped = 0;
	if (!test || CU_run_test(suite, test) != CUE_SUCCESS) {
		dprintf(t.tap, "not ok %u - %s # CUnit: %s\n", number, c->name, CU_get_error_msg());
		return 1;
	}
	for (CU_pFailureRecord f = CU_get_failure_list(); f; f = f->pNext)
		fprintf(stderr, "%s:%u: %s: %s\n", f->strFileName, f->uiLineNumber, c->name,
			f->strCondition);
	fflush(NULL);
	if (CU_get_number_of_failures()) {
		fprintf(stderr, "%s failed; repeat with: --seed %llu %s\n", c->name,
			(unsigned long long)t.seed, c->name);
		dprintf(t.tap, "not ok %u - %s\n", number, c->name);
		return 1;
	}
	if (t.skipped) {
		dprintf(t.tap, "ok %u - %s # SKIP %s\n", number, c->name, t.why);
		return 77;
	}
	dprintf(t.tap, "ok %u - %s\n", number, c->name);
	fprintf(stderr, "%s: %.3f s\n", c->name, (double)(drv_clock_ns() - start) * 1e-9);
	return 0;
}

int t_main(int argc, char **argv, const struct t_case *cases, unsigned count)
{
	unsigned run = 0, failed = 0, skipped = 0;
	CU_pSuite suite;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (unsigned i = 0; i < count; i++)
			puts(cases[i].name);
		return 0;
	}
	t.pid = getpid();
	t.seed = choose_seed(argc, argv);
	t.tap = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (t.tap < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || CU_initialize_registry()) {
		perror("test harness");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	suite = CU_add_suite("suite", NULL, NULL);
	for (unsigned i = 0; i < count; i++)
		run += (unsigned)is_wanted(cases[i].name, argc, argv);
	if (!suite || !run) {
		fprintf(stderr, "no such case; --list shows them\n");
		return 1;
	}
	dprintf(t.tap, "1..%u\n", run);
	fprintf(stderr, "seed %llu (QT_SEED=%llu repeats)\n", (unsigned long long)t.seed,
		(unsigned long long)t.seed);
	for (unsigned i = 0, number = 0; i < count; i++) {
		if (!is_wanted(cases[i].name, argc, argv))
			continue;
		int rc = run_case(suite, &cases[i], ++number);
		failed += rc == 1;
		skipped += rc == 77;
	}
	CU_cleanup_registry();
	if (getenv("QT_TAP")) /* the lines have said it; a status would read as a crash */
		return 0;
	if (failed)
		return 1;
	return skipped == run ? 77 : 0;
}
