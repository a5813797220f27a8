#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_no_glue.sh PROGRAM: without the headers of an MPI its glue module is not built. The configuration reports that,
# and so does a program with that MPI; both name the package to install.
set -u
program=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

# pkg-config searches no directory, so it finds no package.
PKG_CONFIG_LIBDIR=/nonexistent meson setup "$tmp/build" "$QT_SOURCE" >"$tmp/setup" 2>&1 || fail "meson setup: $(tail -3 "$tmp/setup")"
for name in openmpi mpich; do
	grep -q "WARNING: no headers of $name.*install the headers (Debian: lib$name-dev), reconfigure" "$tmp/setup" ||
		fail "meson setup does not mention lib$name-dev"
done
grep -q 'lib.*-dev' <<<"$(PKG_CONFIG_LIBDIR=/nonexistent meson setup -Dmpi=disabled "$tmp/off" "$QT_SOURCE" 2>&1 | grep -E 'no headers of (openmpi|mpich)')" &&
	fail "a warning with -Dmpi=disabled"

if [ "$(id -u)" != 0 ]; then
	echo "skipped: only root can check what a program prints without the glue"
else
	# Replace the glue modules by an empty file, for this job only.
	touch "$tmp/nothing"
	unshare -m sh -c 'for f in "$QT_BUILD"/armci/libqt_armci_*.so; do
		[ ! -e "$f" ] || mount --bind "'"$tmp"'/nothing" "$f" || exit 99
	done
	torus run -n 2 "$0"' "$program" >"$tmp/run" 2>&1 || fail "the job: $(cat "$tmp/run")"
	grep -q 'install them (Debian: libopenmpi-dev), reconfigure' "$tmp/run" || fail "the program says: $(cat "$tmp/run")"
fi
exit $bad
