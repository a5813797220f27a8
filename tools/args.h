/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a subcommand that takes a few flags and a few words (check, topo, settings). */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <argp.h>
#include <stdbool.h>

#define ARGS_WORDS_MAX  4
#define ARGS_FLAGS_MAX  4
#define ARGS_VALUES_MAX 4

/* Keys of the options; a subcommand lists those it takes, with its own help. */
enum args_key {
	ARGS_JSON = 256,
	ARGS_MARKDOWN,
	ARGS_HELP,
	ARGS_FLAG,                              /* ARGS_FLAG + i sets flag[i] */
	ARGS_VALUE = ARGS_FLAG + ARGS_FLAGS_MAX /* ARGS_VALUE + i sets value[i] */
};

#define ARGS_OPTION_HELP                                                                           \
	{                                                                                          \
		"help", ARGS_HELP, 0, 0, "Print this", 0                                           \
	}

struct args {
	/* Set before args_parse(). */
	const struct argp_option *options;
	const char *words_doc; /* the words in the usage line, "" for none */
	const char *doc;
	unsigned words_max; /* 0 .. ARGS_WORDS_MAX */
	/* Set by args_parse(). */
	const char *word[ARGS_WORDS_MAX]; /* NULL where not given */
	unsigned words;
	bool json, markdown, wants_help;
	bool flag[ARGS_FLAGS_MAX];
	const char *value[ARGS_VALUES_MAX]; /* NULL where not given */
};

/*
 * Parse argv; argv[0] names the subcommand. Prints nothing but the help that --help asks for.
 * Returns 0; 1 after printing the help; -EINVAL: an unknown option, or more than words_max words.
 */
int args_parse(struct args *a, int argc, char **argv);

/*
 * Print "torus COMMAND: " and the text to stderr, unless *failed says that a line was printed. Sets
 * *failed. Returns EINVAL, which a parser of argp returns.
 */
int args_print_wrong(bool *failed, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * argp_parse() has refused an option, but does not report which. Print the first of the options
 * before the first word that is unknown, lacks its value or has one too many, and how to go on.
 * `failed` and `command` as in args_print_wrong().
 */
void args_print_refused(bool *failed, const char *command, const struct argp_option *options,
			int argc, char **argv);

/*
 * argp_parse() gave up: print the help if --help asked for it, else what args_print_refused()
 * prints. Returns the exit status.
 */
int args_explain(const struct argp *argp, const char *command, bool wants_help, bool *failed,
		 int argc, char **argv);

/* Print the usage line to stderr. */
void args_print_usage(const struct args *a, const char *name);

#endif
