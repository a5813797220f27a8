/* SPDX-License-Identifier: BSD-3-Clause */
/* The command torus: a table of subcommands, which are in cmd_*.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/cmd.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *text; /* NULL: hidden from the usage */
} commands[] = {
    {"run", cmd_run, "start a program on a torus of this machine, namespaces or other hosts"},
    {"check", cmd_check, "what this machine offers and lacks, with the fix for each"},
    {"topo", cmd_topo, "draw a torus and explain the path of a packet"},
    {"machine", cmd_machine, "the rows of a machine file, and where each value is from"},
    {"top", cmd_top, "watch a job: its torus, links, tasks and wires"},
    {"stat", cmd_stat, "print counters of a job as they move, or serve them to Prometheus"},
    {"explain", cmd_explain, "where the time of a packet went, from a trace"},
    {"diff", cmd_diff, "the first step in which two traces differ"},
    {"sweep", cmd_sweep, "run a program for each combination of values: CSV, plot"},
    {"lab", cmd_lab, "labs to learn with: text, start program, check"},
    {"settings", cmd_settings, "environment variables that change how programs run"},
    {"agent", cmd_agent, NULL},
};

static void print_usage(FILE *f)
{
	fprintf(f, "usage: torus COMMAND [ARGUMENT...]\n\n");
	for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (commands[i].text)
			fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].text);
	fprintf(f, "\ntorus COMMAND --help explains a command.\n");
}

/* If a standard descriptor is closed at the start, a descriptor of torus would get its number, and
 * a task or a log line would write into it. Open /dev/null in its place. */
static void standard_descriptors_open(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* Return the status of a command, which is 1 if some of its output is lost. */
static int output_close(const char *name, int status)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "%s: cannot write its output: %s\n", name,
		errno ? strerror(errno) : "a write has failed; is the disk full?");
	return status ? status : 1;
}

int main(int argc, char **argv)
{
	char name[64];

	standard_descriptors_open();

	if (argc < 2) {
		print_usage(stderr);
		return CMD_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_usage(stdout);
		return output_close("torus", 0);
	}
	for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof name, "torus %s", commands[i].name);
		argv[1] = name;
		return output_close(name, commands[i].main(argc - 1, argv + 1));
	}
	fprintf(stderr, "torus: no command '%s'; torus --help lists them\n", argv[1]);
	return CMD_USAGE;
}
