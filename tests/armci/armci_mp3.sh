#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_mp3.sh PROGRAM: each of three tasks knows its rank before ARMCI_Init.
set -u
out=$(timeout $((30 * ${QT_SCALE:-1})) torus run -n 3 "$1" 2>&1 | sort)
[ "$out" = $'task 0 of 3\ntask 1 of 3\ntask 2 of 3' ] || { echo "$out"; exit 1; }
