#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# cppcheck finds nothing in the product, and clang-tidy nothing in the C files that have changed (tests/tools/tidy). A
# finding that is wrong is silenced where it stands, with the reason.
set -u
cd "$QT_SOURCE" || exit 1
command -v cppcheck >/dev/null || { echo "cppcheck is not installed (apt-get install cppcheck)"; exit 77; }
# cppcheck reads again only what changed since the last run in this build directory.
cache=$QT_BUILD/cppcheck
mkdir -p "$cache" || exit 1
folders="drivers emu mu muspi pami armci gasnet agas ofi tools bench"
findings=$(cppcheck --enable=warning,performance,portability --inline-suppr --std=c11 --quiet -I. -D__cppcheck__ -D__x86_64__ -D__GNUC__=12 \
	--suppress=missingInclude --suppressions-list=tests/tools/cppcheck.supp --cppcheck-build-dir="$cache" --template='{file}:{line}: {id}: {message}' \
	-j "$(nproc)" $folders 2>&1 | grep -v '^nofile')
[ -z "$findings" ] || { echo "$findings"; exit 1; }
echo "$(find $folders -name '*.c' | wc -l) files, no findings of cppcheck"
if command -v clang-tidy >/dev/null; then
	tests/tools/tidy --changed --build "$QT_BUILD" --seconds 45
else
	echo "clang-tidy is not installed (apt-get install clang-tidy)"
fi
