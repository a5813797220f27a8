/* SPDX-License-Identifier: BSD-3-Clause */
/* torus settings: print drivers/base/settings.def as a table, as JSON, or as docs/settings.md. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/settings.h"
#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/json.h"

static const struct argp_option options[] = {
    {"json", ARGS_JSON, 0, 0, "Print a list of JSON objects", 0},
    {"markdown", ARGS_MARKDOWN, 0, 0, "Print the page docs/settings.md", 0},
    ARGS_OPTION_HELP,
    {0},
};

static const char doc[] =
    "Print the environment variables that change how programs run on Quintorus: name, default, "
    "allowed values, and the value set here. With WORD, print only those with WORD in their name.";

static const char *const layers[][2] = {
    {"drivers", "All layers"},
    {"mu", "Messaging unit and start of a job"},
    {"pami", "PAMI"},
    {"armci", "ARMCI"},
    {"gasnet", "GASNet-EX"},
    {"agas", "AGAS"},
    {"ofi", "libfabric and MPI"},
    {"muspi", "Programs written to the registers of the messaging unit"},
    {"tools", "The command torus"},
};

static const char *value_set(const struct drv_setting *s)
{
	const char *text = getenv(s->name);

	return text && *text ? text : NULL;
}

/* Print a number; bytes get a suffix as a user would write them. */
static void print_number(char *text, size_t bytes, const struct drv_setting *s, uint64_t n)
{
	static const char units[] = "kmg";
	int unit = -1;

	while (s->kind == DRV_SETTING_BYTES && n >= 1024 && n % 1024 == 0 && unit < 2) {
		n /= 1024;
		unit++;
	}
	snprintf(text, bytes, "%" PRIu64 "%.*s", n, unit >= 0, &units[unit >= 0 ? unit : 0]);
}

static void describe_allowed(const struct drv_setting *s, char *text, size_t bytes)
{
	char low[32], high[32];

	switch (s->kind) {
	case DRV_SETTING_CHOICE:
		snprintf(text, bytes, "%s", s->choices);
		return;
	case DRV_SETTING_FLAG:
		snprintf(text, bytes, "1 0");
		return;
	case DRV_SETTING_SWITCH:
		snprintf(text, bytes, "on off");
		return;
	case DRV_SETTING_TEXT:
		snprintf(text, bytes, "text");
		return;
	case DRV_SETTING_NONE:
		snprintf(text, bytes, "no effect");
		return;
	case DRV_SETTING_INTERNAL:
		snprintf(text, bytes, "internal");
		return;
	default:
		break;
	}
	print_number(low, sizeof low, s, s->low);
	print_number(high, sizeof high, s, s->high);
	snprintf(text, bytes, "%s%s%s%s%s", low, s->high == SETTING_ANY ? " or more" : " to ",
		 s->high == SETTING_ANY ? "" : high, s->kind == DRV_SETTING_BYTES ? ", bytes" : "",
		 s->kind == DRV_SETTING_POWER ? ", a power of two" : "");
}

static bool is_wanted(const char *word, const struct drv_setting *s)
{
	return !word || strcasestr(s->name, word);
}

/* Print `text` in indented lines of at most 78 characters. */
static void print_folded(const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (column && column + 1 + n > 78) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "      ", (int)n, text);
		text += n + (text[n] == ' ');
	}
	putchar('\n');
}

static void print_table(const char *word, const char *layer, const char *title)
{
	const char *headline = title;

	for (size_t i = 0; i < DRV_SETTINGS; i++) {
		const struct drv_setting *s = &drv_settings[i];
		char allowed[256];

		if (strcmp(s->layer, layer) || !is_wanted(word, s) ||
		    s->kind == DRV_SETTING_INTERNAL)
			continue;
		if (headline)
			printf("%s\n", headline);
		headline = NULL;
		describe_allowed(s, allowed, sizeof allowed);
		printf("  %s  [%s]%s%s", s->name, allowed, *s->standard ? "  default: " : "",
		       s->standard);
		if (value_set(s))
			printf("  SET HERE: %s", value_set(s));
		putchar('\n');
		print_folded(s->help);
	}
}

static void print_markdown(const char *layer, const char *title)
{
	printf("\n## %s\n\n| name | allowed | default | |\n|---|---|---|---|\n", title);
	for (size_t i = 0; i < DRV_SETTINGS; i++) {
		const struct drv_setting *s = &drv_settings[i];
		size_t n = strlen(s->standard);
		char allowed[256];

		if (strcmp(s->layer, layer))
			continue;
		describe_allowed(s, allowed, sizeof allowed);
		printf("| `%s` | %s | ", s->name, allowed);
		if (*s->standard == '(')
			printf("%.*s", (int)n - 2, s->standard + 1);
		else if (n)
			printf("`%s`", s->standard);
		printf(" | %s |\n", s->help);
	}
}

static void print_json_text(const char *name, const char *text, const char *end)
{
	printf("\"%s\": ", name);
	json_print_text(stdout, text);
	fputs(end, stdout);
}

static void print_json(const char *word)
{
	const char *separator = "[\n";

	for (size_t i = 0; i < DRV_SETTINGS; i++) {
		const struct drv_setting *s = &drv_settings[i];
		char allowed[256];

		if (!is_wanted(word, s))
			continue;
		describe_allowed(s, allowed, sizeof allowed);
		printf("%s  {", separator);
		print_json_text("name", s->name, ", ");
		print_json_text("layer", s->layer, ", ");
		print_json_text("allowed", allowed, ", ");
		print_json_text("default", s->standard, ", ");
		print_json_text("set", value_set(s), ", ");
		print_json_text("help", s->help, "}");
		separator = ",\n";
	}
	printf("%s]\n", *separator == '[' ? "[" : "\n");
}

static const char introduction[] =
    "# Settings\n\n"
    "`torus settings --markdown` prints this page from `drivers/base/settings.def`, which the code "
    "reads too; `docs/generate`\nwrites it, and a test fails if it is stale. `torus settings` "
    "prints "
    "the same for the terminal, with the values set at\npresent, `torus settings --json` for "
    "programs.\n\n"
    "Settings are environment variables. Each is read once, where the thing it belongs to is "
    "opened. An empty value counts\nas not set. `torus run` refuses values that are not allowed "
    "and "
    "warns of names `QUINTORUS_*` that do not exist; a task that\nwas started otherwise, or that "
    "sets a variable itself, logs a warning and uses the default (`QUINTORUS_SEAL` and "
    "ARMCI's:\nit "
    "does not start). Tasks inherit the environment of `torus run` on this machine; on hosts that "
    "are reached by ssh, they\nhave the environment that ssh gives them.\n\n"
    "*internal*: Quintorus sets it for its own processes. *no effect*: programs of this family set "
    "it; here it changes nothing, and\none task logs that. Variables that only tests read (`QT_*`) "
    "are in [testing.md](testing.md).\n"
    "Names that launchers set for their processes (`PMI_*`, `PMIX_*`) are read too, and so are "
    "`SSH_CONNECTION`, `XDG_RUNTIME_DIR`, `COLUMNS` and\nthe locale.\n";

int cmd_settings(int argc, char **argv)
{
	struct args args = {.options = options, .words_doc = "[WORD]", .doc = doc, .words_max = 1};
	const char *word;
	int rc = args_parse(&args, argc, argv);

	if (rc > 0)
		return 0;
	if (rc) {
		args_print_usage(&args, argv[0]);
		return CMD_USAGE;
	}
	word = args.word[0];
	if (args.json && !args.markdown) {
		print_json(word);
		return 0;
	}
	if (args.markdown)
		fputs(introduction, stdout);
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
		if (args.markdown)
			print_markdown(layers[i][0], layers[i][1]);
		else
			print_table(word, layers[i][0], layers[i][1]);
	return 0;
}
