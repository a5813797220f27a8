/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/cmd.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	if (key >= ARGS_FLAG && key < ARGS_FLAG + ARGS_FLAGS_MAX) {
		a->flag[key - ARGS_FLAG] = true;
		return 0;
	}
	if (key >= ARGS_VALUE && key < ARGS_VALUE + ARGS_VALUES_MAX) {
		a->value[key - ARGS_VALUE] = arg;
		return 0;
	}
	switch (key) {
	case ARGS_JSON:
		a->json = true;
		return 0;
	case ARGS_MARKDOWN:
		a->markdown = true;
		return 0;
	case ARGS_HELP:
		a->wants_help = true;
		return ECANCELED;
	case ARGP_KEY_ARG:
		if (a->words == a->words_max)
			return EINVAL;
		a->word[a->words++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static struct argp argp_of(const struct args *a)
{
	return (struct argp){
	    .options = a->options, .parser = parse_option, .args_doc = a->words_doc, .doc = a->doc};
}

int args_parse(struct args *a, int argc, char **argv)
{
	struct argp argp = argp_of(a);
	int rc = argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, a);

	if (!a->wants_help)
		return rc ? -EINVAL : 0;
	argp_help(&argp, stdout, ARGP_HELP_STD_HELP, argv[0]);
	return 1;
}

void args_print_usage(const struct args *a, const char *name)
{
	struct argp argp = argp_of(a);

	argp_help(&argp, stderr, ARGP_HELP_USAGE, (char *)(size_t)name);
}

int args_print_wrong(bool *failed, const char *command, const char *format, ...)
{
	va_list ap;

	if (!*failed) {
		fprintf(stderr, "torus %s: ", command);
		va_start(ap, format);
		vfprintf(stderr, format, ap);
		va_end(ap);
		fputc('\n', stderr);
	}
	*failed = true;
	return EINVAL;
}

static const struct argp_option *option_find(const struct argp_option *options, const char *word)
{
	const char *name = word + 2;
	size_t bytes = strcspn(name, "=");

	for (const struct argp_option *o = options; o->name || o->doc; o++) {
		if (!o->name)
			continue;
		if (word[1] == '-' ? bytes && !strncmp(o->name, name, bytes) : word[1] == o->key)
			return o;
	}
	return NULL;
}

void args_print_refused(bool *failed, const char *command, const struct argp_option *options,
			int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		const struct argp_option *o = option_find(options, argv[i]);
		int joined = argv[i][1] == '-' ? strchr(argv[i], '=') != NULL : strlen(argv[i]) > 2;

		if (!o) {
			args_print_wrong(failed, command,
					 "no option '%s'; torus %s --help lists them (a program's "
					 "own options follow its name)",
					 argv[i], command);
		} else if (o->arg && !joined && i + 1 == argc) {
			args_print_wrong(failed, command, "%s lacks its value; write %s %s",
					 argv[i], argv[i], o->arg);
		} else if (!o->arg && joined) {
			args_print_wrong(failed, command, "%s takes no value", argv[i]);
		} else if (o->arg && !joined) {
			i++;
		}
	}
	args_print_wrong(failed, command, "arguments not understood; torus %s --help explains them",
			 command);
}

int args_explain(const struct argp *argp, const char *command, bool wants_help, bool *failed,
		 int argc, char **argv)
{
	if (wants_help) {
		argp_help(argp, stdout, ARGP_HELP_STD_HELP, argv[0]);
		return 0;
	}
	args_print_refused(failed, command, argp->options, argc, argv);
	return CMD_USAGE;
}
