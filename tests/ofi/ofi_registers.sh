#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ofi_registers.sh: MPI and the registers of the MU in one program, in both clocks; in virtual time twice with the same hash.
set -u
. "$QT_SOURCE/tests/ofi/openmpi.sh"
qt_openmpi_need_launcher
export PKG_CONFIG_PATH=$QT_BUILD/meson-uninstalled
mpicc.openmpi -O2 -Wall -o "$tmp/program" "$QT_SOURCE/tests/ofi/ofi_registers.c" $(pkg-config --cflags --libs libmuspi) || exit 1

run() { # OPTIONS...
	qt_openmpi_expect "$*" '^40 exchanges on ' torus run --mpi "$@" "$tmp/program"
	hash=$(grep -o 'hash [0-9a-f]\{16\}$' "$tmp/out")
}

run --shape 2x2x1x1x1
run --shape 2x2x1x1x1 --fabric torus
run --shape 2x2x1x1x1 --hosts local,local
run --shape 2x2x1x1x1 --clock virtual
first=$hash
run --shape 2x2x1x1x1 --clock virtual
[ -n "$hash" ] && [ "$hash" = "$first" ] || { failed=1; echo "FAIL: two runs in virtual time: $first, then $hash"; }
exit $failed
