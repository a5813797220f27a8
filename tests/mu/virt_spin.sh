#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# virt_spin.sh PROGRAM: in virtual time, tasks that wait on their memory without a call, or compute, are served.
# QT_LONG=1: each case many times.
. "$QT_SOURCE/tests/harness/virtual.bash"
last_words='done$'
[ "${QT_LONG:-0}" = 0 ] || repeat=20

# Long computations are not what this is about: a task that burns 50 ms is taken to wait.
export QUINTORUS_SPIN_MS=$((50 * scale)) QUINTORUS_LOOP_US=10
ends_same served --shape 3x1x1x1x1
ends_same served --fabric express --shape 1x1x1x1x1x2
ends_same asks --shape 3x1x1x1x1
ends_same flags --shape 2x1x1x1x1
ends_same later --shape 3x1x1x1x1
ends_well worker --shape 2x1x1x1x1
ends_well thread --shape 2x1x1x1x1
ends_well locked --shape 2x1x1x1x1
QUINTORUS_SPIN_MS=60000 ends_same computes --shape 2x1x1x1x1

# The simulator proves that a task waits: else a wait would take longer than the job may. The thread sanitizer has
# instructions in each loop that the proof does not know.
can_prove=
[ "${QT_SANITIZE:-}" = thread ] || [ "$(uname -m)" != x86_64 ] || can_prove=1
if [ $can_prove ]; then
	export QUINTORUS_SPIN_MS=60000
	unset QUINTORUS_LOOP_US
	for case in served asks flags later yields sleeps sleeps_served late; do
		ends_same $case --shape 3x1x1x1x1
	done
	ends_same served --fabric express --shape 1x1x1x1x1x2
	# A process with asynchronous progress leaves its loops to the simulator, also where it would look at others.
	QUINTORUS_LOOP_US=10 ends_same served --shape 3x1x1x1x1
	export QUINTORUS_SPIN_MS=$((50 * scale)) QUINTORUS_LOOP_US=10
fi

# The same without looks at the program's loops: the time without a call tells.
for case in asks flags; do
	QUINTORUS_LOOP_US=0 ends_same $case --shape 2x1x1x1x1
done

# Nobody answers, and that is said.
export QUINTORUS_SPIN_LIMIT_S=1 QUINTORUS_DEADLOCK_S=1
if [ $can_prove ]; then
	unset QUINTORUS_LOOP_US
	QUINTORUS_SPIN_MS=60000 ends_with_error nobody --shape 2x1x1x1x1
	for text in 'deadlock at .*waits in a loop for its memory' 'task 0 waits in its memory for what no task does; 1 messages' EXT_async_progress; do
		says "$text"
	done
	QUINTORUS_LOOP_US=10 ends_with_error nobody --shape 2x1x1x1x1
	for text in 'task 0 .*polls in a loop that waits for its memory' 'messages came meanwhile that nobody answers' EXT_async_progress; do
		says "$text"
	done
fi
QUINTORUS_LOOP_US=0 ends_with_error nobody --shape 2x1x1x1x1
for text in 'task 0 burned .* all others wait for it' 'messages came meanwhile that nobody answers' EXT_async_progress \
	ARMCI_PROGRESS_THREAD=1 'QUINTORUS_LOOP_US=10 finds that at once' 'the run ends .QUINTORUS_SPIN_LIMIT_S'; do
	says "$text"
done
# The simulator does not look at a process with several threads: the line names what does.
unset QUINTORUS_LOOP_US
ends_with_error nobody_worker --shape 2x1x1x1x1
says 'QUINTORUS_LOOP_US=10 may find that at once, and a smaller QUINTORUS_SPIN_MS'
exit $failed
