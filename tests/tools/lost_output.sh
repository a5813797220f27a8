#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Output that cannot be written, and files without an end: each is said, nothing hangs, no device is replaced.
. "$QT_SOURCE/tests/harness/run.bash"
PATH=$QT_BUILD/bench:$PATH

# full ARGS...: run with a standard output that takes nothing.
full() {
	timeout -s KILL $((60 * ${QT_SCALE:-1})) "$@" >/dev/full 2>"$dir/err" </dev/null
	status=$?
}
for command in 'topo 2x2x2x2x2' 'topo 2x2x2x2x2 0 31 --json' machine 'settings --json' 'run --help' --help lab 'check --json'; do
	full torus $command
	expect 1 "$command on a full disk"
	said err 'cannot write its output: .*(No space left|disk full)' "$command on a full disk"
done
full torus run -n 2 --tag echo hello
expect 1 "tagged output on a full disk"
said err '^torus run: cannot write what the tasks print: No space left' "tagged output on a full disk"
full torus run -n 2 --clock virtual qbench rdma --only get --sizes 8
expect 1 "qbench on a full disk"
said err 'cannot print the results: No space left' "qbench on a full disk"
for option in html trace; do
	for clock in real virtual; do
		t run -n 2 --clock $clock --$option /dev/full true
		expect 1 "--$option on a full disk, $clock clock"
		said err "^torus run: .*--$option /dev/full: No space left.*cut short" "--$option on a full disk, $clock clock"
	done
	t run -n 2 --$option /dev/full sh -c 'exit 3'
	expect 3 "--$option on a full disk of a job that fails"
done
# The head of a capture fits, its frames do not.
if [ "$(id -u)" = 0 ]; then
	for tasks in 2 4; do
		full unshare -m sh -c 'mount -t tmpfs -o size=16k none /mnt && exec "$@" >/dev/null' sh \
			torus run -n $tasks --hosts local,local --capture /mnt/c qbench latency --sizes 4096
		expect 1 "--capture on a full disk, $tasks tasks"
		said err '^torus run: .*--capture /mnt/c: No space left.*cut short' "--capture on a full disk, $tasks tasks"
	done
fi

# Devices and directories in the place of files.
endless() { # endless WHAT REGEX ARGS...
	local what=$1 regex=$2
	shift 2
	timeout -s KILL $((60 * ${QT_SCALE:-1})) torus "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	expect 2 "$what"
	said err "$regex" "$what"
}
for option in fault costs machine mapping hostfile; do
	for file in /dev/zero /; do
		endless "--$option $file" "$file" run -n 2 --clock virtual --$option $file true
	done
done
endless 'check --hostfile' '/dev/zero' check --hostfile /dev/zero
printf 'loss 0.1\0 and more\n' >"$dir/zero"
endless 'a fault file with a zero' 'line 1' run -n 2 --clock virtual --fault "$dir/zero" true
printf 'receive 250\0 and more\n' >"$dir/zero"
endless 'a cost file with a zero' 'line 1' run -n 2 --clock virtual --costs "$dir/zero" true

# A sweep puts a new file in the place of the last one.
mkfifo "$dir/fifo"
endless '--csv of a pipe' 'is no regular file' sweep --hw hop_ns=10 --shape 2x1x1x1x1 --csv "$dir/fifo" -- true
[ -p "$dir/fifo" ] || fail "--csv has replaced a pipe"
finish
