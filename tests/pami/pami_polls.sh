#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Polls that find nothing, with a core for each task and without, and beside two CPU-bound loops.
# usage: pami_polls.sh PROGRAM
here=$(dirname "$0")
bash "$here/../harness/pami_job.sh" "$1" "-n 1" "-n 2" "-n 4" "-n 8" "-n 2 --hosts local,local" \
	"QUINTORUS_IDLE=spin -n 2" "QUINTORUS_IDLE=yield -n 4" "QUINTORUS_IDLE=sleep -n 2" || exit 1
# Beside busy loops a sanitizer has nothing more to see, and takes long.
[ "${QT_SANITIZE:-none}" = none ] || exit 0
busy=()
for _ in 1 2; do
	while :; do :; done &
	busy+=($!)
done
trap 'kill "${busy[@]}"' EXIT
bash "$here/../harness/pami_job.sh" "$1" "-n 2" "-n 4"
