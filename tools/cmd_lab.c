/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus lab: the labs of docs/labs. A lab is a directory "N-NAME" with README.md, start/ (what the
 * student begins with) and check, a script of sh that says in one line what is still missing.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/args.h"
#include "tools/cmd.h"

enum { FLAG_CHECK };
enum { VALUE_START };

static const struct argp_option options[] = {
    {"start", ARGS_VALUE + VALUE_START, "DIR", 0, "Copy the program that lab N begins with to DIR",
     1},
    {"check", ARGS_FLAG + FLAG_CHECK, 0, 0,
     "Check what is in DIR (default: here), and say what is still missing", 1},
    {"help", ARGS_HELP, 0, 0, "Print this", 2},
    {0},
};

static const char doc[] =
    "List the labs; print the text of lab N, copy its start program, or check your work.\v"
    "Exit status of --check: 0 if the lab is done, 1 if not yet, 2 for wrong arguments.";

/* Write "DIR/NAME" to path; "" if it is too long. */
static void join_path(char *path, size_t bytes, const char *dir, const char *name)
{
	int n = snprintf(path, bytes, "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= bytes)
		path[0] = '\0';
}

/*
 * Find the directory of the labs: that of the source beside a build tree, else the installed one.
 */
static const char *find_labs(void)
{
	char path[PATH_MAX];
	static const char build[] = TOOLS_LABS_BUILD "/";
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n > 0 && !strncmp(path, build, sizeof build - 1) && !access(TOOLS_LABS_SOURCE, R_OK))
		return TOOLS_LABS_SOURCE;
	return access(QT_LABS_DIR, R_OK) ? NULL : QT_LABS_DIR;
}

/* The title of a lab: the first line of its text, "# Lab N: title". */
static void print_title(FILE *f, const char *lab)
{
	char line[256], path[PATH_MAX];
	FILE *text;

	join_path(path, sizeof path, lab, "README.md");
	text = fopen(path, "re");
	if (text && fgets(line, sizeof line, text) && !strncmp(line, "# Lab ", 6))
		fprintf(f, "  %s", line + 6);
	if (text)
		fclose(text);
}

static int list_labs(const char *labs)
{
	struct dirent **entry;
	int n = scandir(labs, &entry, NULL, versionsort);

	if (n < 0) {
		fprintf(stderr, "torus lab: %s: %s\n", labs, strerror(errno));
		return 1;
	}
	printf("labs in %s:\n\n", labs);
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		join_path(path, sizeof path, labs, entry[i]->d_name);
		if (entry[i]->d_name[0] >= '1' && entry[i]->d_name[0] <= '9')
			print_title(stdout, path);
		free(entry[i]);
	}
	free(entry);
	printf(
	    "\ntorus lab N prints the text of lab N, torus lab N --start DIR copies what it begins "
	    "with,\ntorus lab N --check DIR tells what is still missing.\n");
	return 0;
}

/* The directory of lab `number`, "LABS/N-NAME". 0 or -ENOENT. */
static int find_lab(const char *labs, const char *number, char *path, size_t bytes)
{
	size_t n = strlen(number);
	DIR *d = opendir(labs);
	struct dirent *e;
	int rc = -ENOENT;

	while (rc && n && d && (e = readdir(d))) {
		if (strncmp(e->d_name, number, n) || e->d_name[n] != '-' || *number < '1' ||
		    *number > '9')
			continue;
		join_path(path, bytes, labs, e->d_name);
		rc = 0;
	}
	if (d)
		closedir(d);
	return rc;
}

static int print_text(const char *lab)
{
	char path[PATH_MAX], part[4096];
	size_t n;
	FILE *f;

	join_path(path, sizeof path, lab, "README.md");
	f = fopen(path, "re");
	if (!f) {
		fprintf(stderr, "torus lab: %s: %s\n", path, strerror(errno));
		return 1;
	}
	while ((n = fread(part, 1, sizeof part, f)))
		fwrite(part, 1, n, stdout);
	fclose(f);
	return 0;
}

/* Copy a file to one that is not there yet. 0 or a negative errno. */
static int copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, rc = 0;
	ssize_t n = 0;

	if (in >= 0)
		out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out < 0)
		rc = -errno;
	while (!rc && (n = sendfile(out, in, NULL, 1 << 20)) > 0)
		;
	if (!rc && n < 0)
		rc = -errno;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return rc;
}

/* Copy the files of a directory. Files that are there already are kept: they are the student's. */
static int copy_files(const char *from, const char *to)
{
	DIR *d = opendir(from);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return -errno;
	while (!rc && (e = readdir(d))) {
		char source[PATH_MAX], target[PATH_MAX];

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "check.sh"))
			continue;
		join_path(source, sizeof source, from, e->d_name);
		join_path(target, sizeof target, to, e->d_name);
		rc = copy_file(source, target);
		if (rc == -EEXIST) {
			printf("%s is there already and stays as it is\n", target);
			rc = 0;
		}
	}
	closedir(d);
	return rc;
}

static int start_lab(const char *labs, const char *lab, const char *number, const char *dir)
{
	char path[PATH_MAX];
	int rc = mkdir(dir, 0777) && errno != EEXIST ? -errno : 0;

	if (!rc) {
		join_path(path, sizeof path, lab, "start");
		rc = copy_files(path, dir);
	}
	if (!rc) {
		join_path(path, sizeof path, labs, "common");
		rc = copy_files(path, dir);
	}
	if (rc) {
		fprintf(stderr, "torus lab: cannot copy to %s: %s\n", dir, strerror(-rc));
		return 1;
	}
	printf("%s has what lab %s begins with; its text: torus lab %s\n", dir, number, number);
	return 0;
}

/* Put a directory in front of a variable that holds a list of them. */
static void prepend_path(const char *name, const char *dir)
{
	const char *old = getenv(name);
	char *text = NULL;

	if (asprintf(&text, "%s%s%s", dir, old && *old ? ":" : "", old ? old : "") > 0)
		setenv(name, text, 1);
	free(text);
}

/* The check finds this torus, and programs are built against its libraries. */
static void set_environment(const char *labs, const char *lab, const char *number)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n > 0) {
		path[n] = '\0';
		if (strrchr(path, '/'))
			*strrchr(path, '/') = '\0';
		prepend_path("PATH", path);
	}
	prepend_path("PKG_CONFIG_PATH", !strcmp(labs, TOOLS_LABS_SOURCE) ? TOOLS_LABS_BUILD
					    "/meson-uninstalled"
									 : QT_PKGCONFIG_DIR);
	setenv("LAB", number, 1);
	join_path(path, sizeof path, labs, "common");
	setenv("LAB_COMMON", path, 1);
	join_path(path, sizeof path, lab, "start");
	setenv("LAB_START", path, 1);
}

static int check_lab(const char *labs, const char *lab, const char *number, const char *dir)
{
	char script[PATH_MAX + 16], *full = realpath(dir, NULL);
	int status;
	pid_t pid;

	if (!full) {
		fprintf(stderr, "torus lab: %s: %s; torus lab %s --start DIR makes one\n", dir,
			strerror(errno), number);
		return CMD_USAGE;
	}
	join_path(script, sizeof script, lab, "check");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		set_environment(labs, lab, number);
		execlp("sh", "sh", script, full, (char *)NULL);
		_exit(127);
	}
	free(full);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		fprintf(stderr, "torus lab: %s\n", strerror(errno));
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int cmd_lab(int argc, char **argv)
{
	struct args a = {.options = options, .words_doc = "[N [DIR]]", .doc = doc, .words_max = 2};
	char lab[PATH_MAX];
	const char *labs;
	int rc = args_parse(&a, argc, argv);

	if (rc > 0)
		return 0;
	if (rc || (a.words == 2 && !a.flag[FLAG_CHECK]) ||
	    (!a.words && (a.flag[FLAG_CHECK] || a.value[VALUE_START]))) {
		args_print_usage(&a, argv[0]);
		return CMD_USAGE;
	}
	labs = find_labs();
	if (!labs) {
		fprintf(stderr,
			"torus lab: there are no labs in %s; the Debian package quintorus-doc "
			"has them\n",
			QT_LABS_DIR);
		return CMD_USAGE;
	}
	if (!a.words)
		return list_labs(labs);
	if (find_lab(labs, a.word[0], lab, sizeof lab)) {
		fprintf(stderr, "torus lab: there is no lab '%s'; torus lab lists them\n",
			a.word[0]);
		return CMD_USAGE;
	}
	if (a.value[VALUE_START])
		return start_lab(labs, lab, a.word[0], a.value[VALUE_START]);
	if (a.flag[FLAG_CHECK])
		return check_lab(labs, lab, a.word[0], a.words == 2 ? a.word[1] : ".");
	return print_text(lab);
}
