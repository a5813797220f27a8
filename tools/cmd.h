/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of torus. Each gets its own argc and argv (argv[0] is "torus NAME"). */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

#define CMD_USAGE 2 /* exit status for wrong arguments */

int cmd_run(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_host_agent(void); /* torus agent --host */
int cmd_check(int argc, char **argv);
int cmd_machine(int argc, char **argv);
int cmd_topo(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_settings(int argc, char **argv);

#endif
