#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run finds its own libraries for programs that were linked without an rpath.
. "$QT_SOURCE/tests/harness/run.bash"

[ "${QT_SANITIZE:-none}" = none ] || { echo "the sanitizers' libraries are not of this test"; exit 77; }
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
unset LD_LIBRARY_PATH LD_RUN_PATH
program=$dir/program
cc "$QT_SOURCE/tests/apps/outside/pami.c" -I"$QT_SOURCE/pami" -I"$QT_SOURCE" -L"$QT_BUILD/pami" -lpami -o "$program" ||
	{ fail "the program does not build"; finish; }
"$program" >"$dir/out" 2>&1 && fail "the program finds libpami by itself: nothing is tested"

t run -n 2 "$program"
expect 0 "libraries of the build tree"
t run -n 2 sh -c 'exec "$0"' "$program"
expect 0 "a script in between"
QUINTORUS_LIBRARIES=program t run -n 2 "$program"
expect 127 "QUINTORUS_LIBRARIES=program"
said err 'libpami.so.0' "QUINTORUS_LIBRARIES=program"

# What the user names comes first.
LD_LIBRARY_PATH=/named/by/user t run -n 1 sh -c 'echo "$LD_LIBRARY_PATH"'
said out '^/named/by/user:/.*/pami(:|$)' "the user's directories"
LD_LIBRARY_PATH=$QT_BUILD/pami t run -n 1 sh -c 'echo "$LD_LIBRARY_PATH"'
[ "$(grep -o "$QT_BUILD/pami" "$dir/out" | wc -l)" = 1 ] || fail "a directory is named twice: $(cat "$dir/out")"

# An installation, moved to another place.
mkdir -p "$dir/prefix/bin" "$dir/prefix/lib"
cp "$QT_BUILD/tools/torus" "$dir/prefix/bin"
cp "$QT_BUILD/pami/libpami.so.0" "$dir/prefix/lib"
PATH=$dir/prefix/bin:$PATH t run -n 2 sh -c 'echo "$LD_LIBRARY_PATH"; exec "$0"' "$program"
expect 0 "libraries of an installation"
said out "^$dir/prefix/lib$" "libraries of an installation"
finish
