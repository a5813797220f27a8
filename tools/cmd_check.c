/* SPDX-License-Identifier: BSD-3-Clause */
/* torus check: what this machine offers and lacks, with the fix for each. The checks themselves are
 * in check_host.c and check_ports.c. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/args.h"
#include "tools/check.h"
#include "tools/cmd.h"
#include "tools/json.h"
#include "tools/nodelist.h"

static const char doc[] =
    "Print what this machine offers, what it lacks, and how to get that. With "
    "--hosts: for each pair of hosts, whether they reach each other, the "
    "MTU, the round trip, losses, clocks, versions, the best driver, and the "
    "fix.\v"
    "'ok': nothing to do. 'slow': it works, but better is possible. "
    "'missing': it is not there, and "
    "the line says what needs it. 'fatal': it is missing, and no job runs "
    "without it. Exit status 1 if something is fatal (--hosts: a host does not "
    "answer, two do not reach each other or have different versions), else 0.";

enum { VALUE_HOSTS, VALUE_HOSTFILE };

static const struct argp_option options[] = {
    {"hosts", ARGS_VALUE + VALUE_HOSTS, "LIST", 0,
     "Try each pair of these hosts, written as for torus run; slurm: the nodes of this Slurm "
     "allocation",
     0},
    {"hostfile", ARGS_VALUE + VALUE_HOSTFILE, "FILE", 0,
     "The same with the hosts of a file, a host a line", 0},
    {"json", ARGS_JSON, 0, 0, "Print one JSON array of objects: name, state, text, fix", 0},
    ARGS_OPTION_HELP,
    {0},
};

void check_set(struct check *c, enum check_state state, const char *format, ...)
{
	va_list ap;

	c->state = state;
	va_start(ap, format);
	vsnprintf(c->text, sizeof c->text, format, ap);
	va_end(ap);
}

void check_fix(struct check *c, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(c->fix, sizeof c->fix, format, ap);
	va_end(ap);
}

static const char *const state_name[] = {"ok", "slow", "missing", "fatal"};

static void print_text(const char *name, const struct check *c)
{
	static const char *const color[] = {"\033[32m", "\033[33m", "\033[33m", "\033[31m"};
	int colored = isatty(1);

	printf("%s%-8s%s %-13s %s\n", colored ? color[c->state] : "", state_name[c->state],
	       colored ? "\033[0m" : "", name, c->text);
	if (c->fix[0])
		printf("%-22s   fix: %s\n", "", c->fix);
	fflush(stdout);
}

static void print_json(const char *name, const struct check *c, int first)
{
	printf("%s{\"name\": ", first ? "[\n " : ",\n ");
	json_print_text(stdout, name);
	printf(", \"state\": \"%s\", \"text\": ", state_name[c->state]);
	json_print_text(stdout, c->text);
	printf(", \"fix\": ");
	json_print_text(stdout, c->fix);
	putchar('}');
	fflush(stdout); /* the next check forks */
}

/* Try the pairs of hosts that the arguments name. */
static int check_named(const struct args *args)
{
	const char *list = args->value[VALUE_HOSTS];
	char err[512], *made = NULL;
	int rc;

	if (list && args->value[VALUE_HOSTFILE]) {
		fprintf(stderr, "torus check: give --hosts or --hostfile, not both\n");
		return CMD_USAGE;
	}
	if (args->value[VALUE_HOSTFILE]) {
		made = nodelist_of_file(args->value[VALUE_HOSTFILE], err, sizeof err);
		if (!made) {
			fprintf(stderr, "torus check: %s\n", err);
			return CMD_USAGE;
		}
	} else if (!strcmp(list, "slurm")) {
		made = nodelist_of_slurm();
		if (!made) {
			fprintf(stderr,
				"torus check: --hosts slurm: this is no Slurm allocation of "
				"several nodes; start it in one: salloc -N 2 torus check "
				"--hosts slurm\n");
			return CMD_USAGE;
		}
	}
	rc = check_pairs(made ? made : list, args->json);
	free(made);
	return rc;
}

int cmd_check(int argc, char **argv)
{
	struct args args = {.options = options, .words_doc = "", .doc = doc};
	int fatal = 0, rc = args_parse(&args, argc, argv);

	if (rc > 0)
		return 0;
	if (rc) {
		fprintf(stderr, "torus check: takes --hosts, --hostfile, --json and --help only\n");
		return CMD_USAGE;
	}
	if (args.value[VALUE_HOSTS] || args.value[VALUE_HOSTFILE])
		return check_named(&args);
	for (unsigned i = 0; check_list[i].name; i++) {
		struct check c = {0};

		check_list[i].run(&c);
		fatal |= c.state == CHECK_FATAL;
		if (args.json)
			print_json(check_list[i].name, &c, !i);
		else
			print_text(check_list[i].name, &c);
	}
	if (args.json)
		printf("\n]\n");
	return fatal;
}
