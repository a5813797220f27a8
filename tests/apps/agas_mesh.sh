#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# agas_mesh.sh: the adaptive mesh has the same heat on any number of ranks, whether its leaves stay or the program or the library moves
# them, with the directory in software and in the network, and in both clocks; and it draws itself. The NAS kernels have their right results.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0 first=

heat() { # OPTIONS of torus run -- of agas_mesh
	local out heat
	out=$(timeout $((100 * ${QT_SCALE:-1})) torus run $1 "$QT_BUILD/bench/agas_mesh" --steps 3 --sweeps 3 $2 2>&1)
	heat=$(sed -nE 's/.*; heat ([0-9.]+)$/\1/p' <<<"$out")
	[ -n "$first" ] || first=$heat
	if [ -n "$heat" ] && [ "$heat" = "$first" ]; then
		echo "ok: $1 $2: heat $heat"
	else
		echo "FAIL: $1 $2: heat '$heat', not '$first'"
		tail -5 <<<"$out"
		bad=1
	fi
}

heat "-n 1" "--remap 0"
heat "-n 3" "--remap 1 --picture $dir/mesh"
heat "--clock virtual --fabric torus --shape 2x2x1x1x1" "--remap 1"
heat "-n 2" "--remap 2"
for directory in hw-home hw-torus; do
	heat "--clock virtual --fabric torus --shape 2x2x1x1x1 --hw agas=$directory" "--remap 1"
	heat "--clock virtual --fabric torus --shape 2x2x1x1x1 --hw agas=$directory" "--remap 0"
	heat "--clock virtual --fabric torus --shape 2x2x1x1x1 --hw agas=$directory" "--remap 2"
done
for wrong in "--steps" "--steps 0" "--sweeps x" "--remap 3" "--help"; do
	torus run -n 1 "$QT_BUILD/bench/agas_mesh" $wrong 2>&1 | grep -q '^usage: agas_mesh' || { echo "FAIL: no usage for $wrong"; bad=1; }
done
# The NAS kernels verify themselves.
nas() { # OPTIONS of torus run -- of agas_nas
	local out
	out=$(timeout $((100 * ${QT_SCALE:-1})) torus run $1 "$QT_BUILD/bench/agas_nas" $2 2>&1)
	if grep -q 'verification right' <<<"$out"; then
		echo "ok: $1 $2"
	else
		echo "FAIL: $1 $2"
		tail -5 <<<"$out"
		bad=1
	fi
}
nas "-n 2" is
nas "-n 1" mg
nas "-n 4 --hw agas=hw-torus" mg
nas "-n 2 --hw agas=hw-torus" cg
nas "--clock virtual --fabric torus --shape 2x2x1x1x1 --hw agas=hw-torus" is
nas "--clock virtual --fabric torus --shape 4x2x1x1x1" mg
# Calls to a page that moves all the time: none is lost, none runs twice.
chase() { # OPTIONS of torus run
	if timeout $((100 * ${QT_SCALE:-1})) torus run $1 "$QT_BUILD/bench/gbench" chase --updates 2000 2>&1 | grep -q 'calls counted: right'; then
		echo "ok: chase $1"
	else
		echo "FAIL: chase $1"
		bad=1
	fi
}
chase "-n 3"
chase "-n 3 --hw agas=hw-torus"
chase "--clock virtual --fabric torus --shape 2x2x1x1x1 --hw agas=hw-torus"
[ "$(find "$dir" -name 'mesh-00?.ppm' -size +700k | wc -l)" = 3 ] || { echo "FAIL: no pictures"; bad=1; }
exit $bad
