/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's lists of nodes, and host files. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/t.h"
#include "tools/nodelist.h"

static void append_name(void *arg, const char *name)
{
	strcat(arg, name);
	strcat(arg, " ");
}

static int expand_list(const char *text, char *out)
{
	*out = '\0';
	return nodelist_each(text, 64, append_name, out);
}

static void lists_expand(void)
{
	static const struct {
		const char *text, *names;
		int count;
	} rows[] = {
	    {"n1", "n1 ", 1},
	    {"a,b.c-d", "a b.c-d ", 2},
	    {"n[1-3]", "n1 n2 n3 ", 3},
	    {"n[08-11,3],x", "n08 n09 n10 n11 n3 x ", 6},
	    {"r[0-1]n[5,7]e", "r0n5e r0n7e r1n5e r1n7e ", 4},
	    {"", "", 0},
	};
	static const char *const wrong[] = {"n[1-",    "n[1-2", "n[2-1]",        "n[a]",
					    "n]",      "n[]",   "a,,b",          "n[1,]",
					    "n[1[2]]", "n[-1]", "n[12345678901]"};
	char out[4096];

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_EQ(expand_list(rows[i].text, out), rows[i].count);
		CHECK(!strcmp(out, rows[i].names));
	}
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_EQ(expand_list(wrong[i], out), -EINVAL);
	CHECK_EQ(expand_list("n[1-65]", out), -E2BIG);
}

static void allocation_comes_from_the_environment(void)
{
	char *hosts;

	setenv("SLURM_JOB_NODELIST", "n[1-2],m", 1);
	hosts = nodelist_of_slurm();
	REQUIRE(hosts != NULL);
	CHECK(!strcmp(hosts, "slurm:n1;slurm:n2;slurm:m"));
	free(hosts);
	setenv("SLURM_JOB_NODELIST", "n1", 1);
	CHECK(!nodelist_of_slurm());
	setenv("SLURM_JOB_NODELIST", "n[1-", 1);
	CHECK(!nodelist_of_slurm());
	unsetenv("SLURM_JOB_NODELIST");
	CHECK(!nodelist_of_slurm());
}

static void file_names_hosts(void)
{
	char path[512], err[600] = "", *hosts;
	FILE *f;

	snprintf(path, sizeof path, "%s/hosts", t_dir());
	f = fopen(path, "w");
	REQUIRE(f != NULL);
	fputs("# ours\n\nnode1 slots=4\n  me@node2=uring:10.0.0.2 # second\nlocal\n"
	      "netns:a=dpdk:net_af_packet,iface=va\nlocal=shm:\n",
	      f);
	fclose(f);
	hosts = nodelist_of_file(path, err, sizeof err);
	REQUIRE(hosts != NULL);
	CHECK(!strcmp(hosts, "ssh:node1;ssh:me@node2=uring:10.0.0.2;local;netns:a=dpdk:net_af_"
			     "packet,iface=va;local=shm:"));
	free(hosts);
	f = fopen(path, "w");
	REQUIRE(f != NULL);
	fclose(f);
	CHECK(!nodelist_of_file(path, err, sizeof err) && strstr(err, "names no host"));
	CHECK(!nodelist_of_file("/no/such", err, sizeof err) && strstr(err, "/no/such: No such"));
}

T_MAIN(T(lists_expand), T(allocation_comes_from_the_environment), T(file_names_hosts))
