#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `torus agent` started by hand, with what are not the descriptors that it gets from torus run or from a task under mpirun.
. "$QT_SOURCE/tests/harness/run.bash"

# by_hand WHAT REGEX: the last t ended with a line that says this, and no signal.
by_hand() {
	[ $status = 1 ] || [ $status = 2 ] || fail "$1: status $status: $(tell err)"
	unsound "$1"
	said err "$2" "$1"
}
t agent --host 3<&- 4<&-
by_hand "no descriptors" 'only torus run, or the first task of a host under mpirun'
t agent --host 3</dev/null 4<&-
by_hand "no descriptor 4" 'only torus run, or the first task of a host under mpirun'

mkfifo "$dir/fifo"
exec 8<>"$dir/fifo" # so that opening an end of it does not wait
t agent --host 3</dev/null 4</dev/null
by_hand "4 is a device" 'descriptor 4 is not the reading end of a pipe'
t agent --host 3</dev/null 4<"$QT_SOURCE/meson.build"
by_hand "4 is a file" 'descriptor 4 is not the reading end of a pipe'
t agent --host 3</dev/null 4>"$dir/fifo"
by_hand "4 is the writing end" 'descriptor 4 is not the reading end of a pipe'

t agent --host 3</dev/null 4<"$dir/fifo"
by_hand "3 is empty" 'descriptor 3 is not one \(it is too short\)'
t agent --host 3<"$dir/fifo" 4<"$dir/fifo"
by_hand "3 is a pipe" 'descriptor 3 is not one'
t agent --host 3<"$dir" 4<"$dir/fifo"
by_hand "3 is a directory" 'descriptor 3 is not one'
t agent --host 3<"$QT_SOURCE/meson.build" 4<"$dir/fifo"
by_hand "3 is a text" 'descriptor 3 has magic'

# Heads of segments: magic, version, bytes.
version=$(sed -n 's/^#define MU_HOST_VERSION *\([0-9]*\)u/\1/p' "$QT_SOURCE/mu/segment/host.h")
write_head() { # write_head VERSION BYTES SIZE-OF-FILE
	printf '\x44\x35\x54\x51%b' "\\x$(printf %02x "$1")\\0\\0\\0$(printf '\\x%02x' $(($2 & 255)) $(($2 >> 8 & 255)) $(($2 >> 16 & 255)) $(($2 >> 24)))\\0\\0\\0\\0" >"$dir/segment"
	truncate -s "$3" "$dir/segment"
}
write_head $((version + 1)) 16 16
t agent --host 3<>"$dir/segment" 4<"$dir/fifo"
by_hand "3 is of another version" "version $((version + 1)), expected .* version $version"
for bytes in 16 4096; do
	write_head "$version" $bytes $bytes
	t agent --host 3<>"$dir/segment" 4<"$dir/fifo"
	by_hand "3 is a head of $bytes bytes" "descriptor 3 has $bytes bytes"
done
write_head "$version" 1000000000 4096
t agent --host 3<>"$dir/segment" 4<"$dir/fifo"
by_hand "3 is cut short" 'descriptor 3 has 4096 bytes, and says 1000000000'

# The segment of a job whose host has no port for an agent.
t run -n 1 sh -c 'exec torus agent --host 3<&$QUINTORUS_SEGMENT 4<"$0"' "$dir/fifo"
by_hand "3 needs no agent" 'the host of this segment needs no agent'
exec 8<&-
finish
