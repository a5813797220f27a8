#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages of the commit are built; a clean root installs them, runs jobs and removes them.
set -u
skip() {
	echo "$*"
	exit 77
}
cd "$QT_SOURCE" || exit 1
[ "$(id -u)" = 0 ] || skip "a root of its own needs root"
git rev-parse -q --verify HEAD >/dev/null || skip "this is no git checkout: tools/packages builds a commit"
for tool in dpkg-buildpackage dh debootstrap; do
	command -v "$tool" >/dev/null || skip "no $tool; apt-get install -y dpkg-dev debhelper debootstrap"
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Without optimisation they build in half of the time.
JOBS=1 DEB_BUILD_OPTIONS=noopt tools/packages --out "$dir" --check
status=$?
[ "$status" = 0 ] || tail -n 20 "$dir"/*.log
exit "$status"
