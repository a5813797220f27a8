/* SPDX-License-Identifier: BSD-3-Clause */
/* torus check: what this machine offers and lacks, with the fix for each. The checks are in check_*.c. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/check.h"
#include "tools/cmd.h"

enum { KEY_JSON = 256, KEY_HELP };

static const char doc[] =
	"Tell what this machine offers, what it lacks, and how to get that.\v"
	"'ok' needs nothing. 'slow' works, but better is possible. 'missing' is not there; what needs it is said. "
	"'fatal' is missing and nothing runs without it. Exit status 1 if something is fatal, else 0.";

static const struct argp_option options[] = {
	{ "json", KEY_JSON, 0, 0, "One JSON array of objects: name, state, text, fix", 0 },
	{ "help", KEY_HELP, 0, 0, "Print this", 0 },
	{ 0 },
};

struct wish {
	int json, help;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wish *w = state->input;

	switch (key) {
	case KEY_JSON:
		w->json = 1;
		return 0;
	case KEY_HELP:
		w->help = 1;
		return ECANCELED;
	case ARGP_KEY_ARG:
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = { options, parse, "", doc };

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

static const char *const state_name[] = { "ok", "slow", "missing", "fatal" };

static void print_text(const char *name, const struct check *c)
{
	static const char *const color[] = { "\033[32m", "\033[33m", "\033[33m", "\033[31m" };
	int colored = isatty(1);

	printf("%s%-8s%s %-13s %s\n", colored ? color[c->state] : "", state_name[c->state], colored ? "\033[0m" : "",
	       name, c->text);
	if (c->fix[0])
		printf("%-22s   fix: %s\n", "", c->fix);
	fflush(stdout);
}

static void json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char ch = (unsigned char)*text;

		if (ch == '"' || ch == '\\')
			printf("\\%c", ch);
		else if (ch < 32)
			printf("\\u%04x", ch);
		else
			putchar(ch);
	}
	putchar('"');
}

static void print_json(const char *name, const struct check *c, int first)
{
	printf("%s{\"name\": ", first ? "[\n " : ",\n ");
	json_text(name);
	printf(", \"state\": \"%s\", \"text\": ", state_name[c->state]);
	json_text(c->text);
	printf(", \"fix\": ");
	json_text(c->fix);
	putchar('}');
	fflush(stdout); /* checks fork */
}

int cmd_check(int argc, char **argv)
{
	struct wish w = { 0 };
	int fatal = 0;

	if (argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &w)) {
		if (w.help) {
			argp_help(&argp, stdout, ARGP_HELP_STD_HELP, argv[0]);
			return 0;
		}
		fprintf(stderr, "torus check: takes --json and --help only\n");
		return CMD_USAGE;
	}
	for (unsigned i = 0; check_list[i].name; i++) {
		struct check c = { 0 };

		check_list[i].run(&c);
		fatal |= c.state == CHECK_FATAL;
		if (w.json)
			print_json(check_list[i].name, &c, !i);
		else
			print_text(check_list[i].name, &c);
	}
	if (w.json)
		printf("\n]\n");
	return fatal;
}
