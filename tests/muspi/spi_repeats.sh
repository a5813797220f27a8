#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# spi_repeats.sh PROGRAM: threads that spin without calls take the same virtual time in each run, with the hash.
. "$QT_SOURCE/tests/harness/virtual.bash"
repeat=4
ends_same v --shape 3x2x1x1x1
ends_same v --fabric express --shape 2x2x1x1x1
exit $failed
