/* SPDX-License-Identifier: BSD-3-Clause */
/* torus machine: print the rows of a machine, where each value is from, and what it means; or the
 * software costs of virtual time. */
#define _GNU_SOURCE
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mu/vtime/cost.h"
#include "tools/cmd.h"
#include "tools/json.h"
#include "tools/machine.h"

enum { KEY_HW = 256, KEY_COSTS, KEY_JSON, KEY_INI, KEY_HELP };

static const char doc[] =
    "Print the machine that torus run --machine FILE --hw ... would model: each row with its "
    "value, where the value is from, and what it means with its source.\v"
    "FILE is a machine file or the name of an installed one: bgq, ethernet, successor.\n"
    "\n"
    "Examples:\n"
    "  torus machine\n"
    "  torus machine successor --hw hop_ns=20\n"
    "  torus machine --ini > mine.ini\n"
    "  torus machine --costs";

static const struct argp_option options[] = {
    {"hw", KEY_HW, "NAME=VALUE,...", 0, "Change rows, after the file", 0},
    {"costs", KEY_COSTS, 0, 0,
     "Print instead what software costs in virtual time, in nanoseconds: the rows that torus run "
     "--costs FILE changes",
     0},
    {"json", KEY_JSON, 0, 0, "Print a list of JSON objects", 0},
    {"ini", KEY_INI, 0, 0, "Print a machine file with all rows", 0},
    {"help", KEY_HELP, 0, 0, "Print this", 0},
    {0},
};

struct request {
	const char *file, *hw;
	bool costs, json, ini, help;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct request *w = state->input;

	switch (key) {
	case KEY_HW:
		w->hw = arg;
		return 0;
	case KEY_COSTS:
		w->costs = true;
		return 0;
	case KEY_JSON:
		w->json = true;
		return 0;
	case KEY_INI:
		w->ini = true;
		return 0;
	case KEY_HELP:
		w->help = true;
		return ECANCELED;
	case ARGP_KEY_ARG:
		if (w->file)
			return EINVAL;
		w->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, "[FILE]", doc};

/* Print `text` in lines of at most 90 characters, each after `lead`. */
static void print_folded(const char *lead, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (!column || column + 1 + n > 90) {
			printf("%s%s", column ? "\n" : "", lead);
			column = 0;
		} else {
			putchar(' ');
		}
		printf("%.*s", (int)n, text);
		column += n + 1;
		text += n + (text[n] == ' ');
	}
	putchar('\n');
}

static void print_ini(const struct machine *k)
{
	struct emu_machine_row row;
	bool structure = false;

	printf("[times]\n");
	for (unsigned i = 0; !emu_machine_row(&k->m, i, &row); i++) {
		if (!row.is_time && !structure)
			printf("\n[structure]\n");
		structure = !row.is_time;
		print_folded("; ", row.source);
		printf("%s = %s\n", row.name, row.value);
	}
}

static void print_json(const struct machine *k, const char *const *origin)
{
	struct emu_machine_row row;

	for (unsigned i = 0; !emu_machine_row(&k->m, i, &row); i++) {
		printf("%s{\"name\": \"%s\", \"value\": \"%s\", \"unit\": \"%s\", \"origin\": ",
		       i ? ",\n " : "[\n ", row.name, row.value, row.is_time ? "ps" : "");
		json_print_text(stdout, origin[k->origin[i]]);
		printf(", \"source\": ");
		json_print_text(stdout, row.source);
		putchar('}');
	}
	printf("\n]\n");
}

static void print_text(const struct machine *k, const char *const *origin)
{
	struct emu_machine_row row;

	for (unsigned i = 0; !emu_machine_row(&k->m, i, &row); i++) {
		printf("%-24s %-10s  from %s\n", row.name, row.value, origin[k->origin[i]]);
		print_folded("        ", row.source);
	}
}

static void print_costs(bool json)
{
	const char *name, *source;
	uint64_t ps;

	for (unsigned i = 0; (name = mu_cost_row(i, &ps, &source)); i++) {
		if (json) {
			printf("%s{\"name\": \"%s\", \"ns\": %g, \"source\": ", i ? ",\n " : "[\n ",
			       name, (double)ps * 1e-3);
			json_print_text(stdout, source);
			putchar('}');
		} else {
			printf("%-24s %g ns\n", name, (double)ps * 1e-3);
			print_folded("        ", source);
		}
	}
	if (json)
		printf("\n]\n");
}

int cmd_machine(int argc, char **argv)
{
	struct request w = {0};
	struct machine k;
	char err[512];

	if (argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &w)) {
		if (w.help) {
			argp_help(&argp, stdout, ARGP_HELP_STD_HELP, argv[0]);
			return 0;
		}
		fprintf(stderr, "torus machine: takes one machine file, --hw, --costs, --json and "
				"--ini; torus machine --help explains them\n");
		return CMD_USAGE;
	}
	if (w.costs && (w.file || w.hw || w.ini)) {
		fprintf(stderr,
			"torus machine: --costs prints software costs, which are no part of "
			"a machine: it goes with --json alone\n");
		return CMD_USAGE;
	}
	if (w.costs) {
		print_costs(w.json);
		return 0;
	}
	if (machine_make(&k, w.file, w.hw, err, sizeof err)) {
		fprintf(stderr, "torus machine: %s\n", err);
		return CMD_USAGE;
	}
	const char *const origin[] = {"the default", w.file, "--hw"};

	if (w.ini)
		print_ini(&k);
	else if (w.json)
		print_json(&k, origin);
	else
		print_text(&k, origin);
	return 0;
}
