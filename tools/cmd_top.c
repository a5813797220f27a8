/* SPDX-License-Identifier: BSD-3-Clause */
/* torus top: watch a job. */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef TOOLS_NCURSES
#include <curses.h>
#endif

#include "tools/args.h"
#include "tools/cmd.h"
#include "tools/top.h"

#define PERIOD_MS 1000

enum { FLAG_ONCE, FLAG_CALLS };

static const struct argp_option options[] = {
    {"once", ARGS_FLAG + FLAG_ONCE, 0, 0, "Print everything once, with rates since the start", 1},
    {"calls", ARGS_FLAG + FLAG_CALLS, 0, 0,
     "With --once: also in which call each task is, which stops each for some milliseconds", 1},
    {"json", ARGS_JSON, 0, 0, "With --once: one object of JSON", 1},
    {"help", ARGS_HELP, 0, 0, "Print this", 2},
    {0},
};

static const char doc[] =
    "Watch a job of torus run: its torus with links as thick as their traffic, its tasks, links "
    "and wires. JOB is its number, the first digits of it, or a file of counters (default: the "
    "newest job that runs, else the newest). It works while the job runs, also for other users "
    "of the group, and on what a job has left.\v"
    "Keys: p picture, t tasks, o collectives and commthreads, l links, w wires, c calls of the "
    "tasks "
    "(each press reads them anew and stops each task for some milliseconds); s sort by the next "
    "column; u in a second or so "
    "far; b bytes or packets; left and right pick a node, 0 none; space stands still; q ends.";

#ifdef TOOLS_NCURSES
/* Draw the text that top_print() makes. */
static void draw_screen(const struct top *t, struct top_screen *s, bool stands_still)
{
	char *text = NULL, *line, *next;
	size_t bytes = 0;
	int rows, columns, y = 0;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return;
	getmaxyx(stdscr, rows, columns);
	s->lines = (unsigned)rows;
	s->columns = (unsigned)columns;
	top_print(f, t, s);
	fclose(f);
	erase();
	for (line = text; line && *line && y < rows - 1; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (y == 0)
			attron(A_BOLD);
		mvaddnstr(y++, 0, line, -1);
		attroff(A_BOLD);
	}
	attron(A_REVERSE);
	mvprintw(rows - 1, 0,
		 " p picture  t tasks  o others  l links  w wires  c calls  s sort  u %s  b %s  ",
		 s->totals ? "in a second" : "so far", s->packets ? "bytes" : "packets");
	if (s->node >= 0)
		printw("node %d  ", s->node);
	printw("%sq end ", stands_still ? "STANDS STILL  " : "");
	attroff(A_REVERSE);
	refresh();
	free(text);
}

/* Returns false for the key that ends. */
static bool take_key(int key, struct top *t, struct top_screen *s, bool *stands_still)
{
	static const char views[] = "ptolwc";
	char why[256];
	const char *view = key > 0 && key < 128 ? strchr(views, key) : NULL;

	if (view)
		s->view = (enum top_view)(view - views);
	if (s->view == TOP_CALLS && key == 'c')
		top_read_calls(t, why, sizeof why); /* without them the view says so */
	if (view)
		return true;
	if (key == 's')
		s->sort++;
	else if (key == 'u')
		s->totals = !s->totals;
	else if (key == 'b')
		s->packets = !s->packets;
	else if (key == ' ')
		*stands_still = !*stands_still;
	else if (key == KEY_RIGHT)
		s->node = (s->node + 1) % (int)t->nodes;
	else if (key == KEY_LEFT)
		s->node = (s->node <= 0 ? (int)t->nodes : s->node) - 1;
	else if (key == '0')
		s->node = -1;
	return key != 'q';
}

static int watch_job(struct top *t)
{
	struct top_screen s = {.node = -1};
	bool stands_still = false;
	int key = ERR, rc = 0;

	if (!initscr())
		return 1;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	do {
		/* A key shows the same values in another way; time shows new ones. */
		if (key == ERR && !stands_still && (rc = top_refresh(t)))
			break;
		draw_screen(t, &s, stands_still);
		timeout(PERIOD_MS);
		key = getch();
	} while (take_key(key, t, &s, &stands_still));
	endwin();
	if (rc)
		fprintf(stderr, "torus top: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}
#else
static int watch_job(struct top *t)
{
	fprintf(stderr, "torus top: built without ncurses; install libncurses-dev and build again, "
			"or give --once\n");
	return CMD_USAGE;
}
#endif

int cmd_top(int argc, char **argv)
{
	struct args a = {.options = options, .words_doc = "[JOB]", .doc = doc, .words_max = 1};
	struct top_screen all = {.view = TOP_VIEWS, .node = -1, .columns = 80, .lines = 1000};
	const char *columns = getenv("COLUMNS");
	struct top t;
	char why[512];
	int rc = args_parse(&a, argc, argv);

	if (rc > 0)
		return 0;
	if (rc) {
		args_print_usage(&a, argv[0]);
		return CMD_USAGE;
	}
	setlocale(LC_CTYPE, ""); /* not the decimal point */
	if (a.flag[FLAG_CALLS] && !a.flag[FLAG_ONCE]) {
		fprintf(stderr, "torus top: --calls is for --once; press c for the calls\n");
		return CMD_USAGE;
	}
	if (a.json && !a.flag[FLAG_ONCE]) {
		fprintf(stderr, "torus top: --json is for --once; torus stat --json streams\n");
		return CMD_USAGE;
	}
	if (!a.flag[FLAG_ONCE] && (!isatty(0) || !isatty(1))) {
		fprintf(stderr, "torus top: this is no terminal; give --once\n");
		return CMD_USAGE;
	}
	if (top_open(&t, a.word[0], why, sizeof why)) {
		fprintf(stderr, "torus top: %s\n", why);
		return 1;
	}
	if (columns && atoi(columns) > 40)
		all.columns = (unsigned)atoi(columns);
	if (a.flag[FLAG_CALLS] && top_read_calls(&t, why, sizeof why))
		fprintf(stderr, "torus top: the calls of the tasks are not known: %s\n", why);
	if (a.json)
		top_print_json(stdout, &t);
	else if (a.flag[FLAG_ONCE])
		top_print(stdout, &t, &all);
	else
		rc = watch_job(&t);
	top_close(&t);
	return rc;
}
