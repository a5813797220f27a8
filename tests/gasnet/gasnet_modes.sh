#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The guests of GASNet in C and C++, in each threading mode, with and without GASNET_DEBUG: they compile without a
# warning, as programs of other people are compiled, and run with 1 to 4 tasks in both clocks.
set -u
cd "$QT_SOURCE" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
jobs=('-n 1' '-n 2' '-n 3' '-n 4 --hosts local,local' '--clock virtual --shape 2x1x1x1x1x2')

# build COMPILER LANGUAGE STANDARD SOURCE OUT FLAG...
build()
{
	local compiler=$1 language=$2 standard=$3 source=$4 out=$5
	shift 5
	command -v "$compiler" >/dev/null || return 1
	"$compiler" -x "$language" -std="$standard" -O1 -Wall -Wextra -Werror "$@" -I. -Igasnet "tests/guests/$source.c" -x none -o "$out" \
		-L"$QT_BUILD/gasnet" -Wl,-rpath,"$QT_BUILD/gasnet:$QT_BUILD/pami" -lgasnet -lpthread && return 0
	echo "$source: $compiler -std=$standard $* fails"
	bad=1
	return 1
}

number=0
for source in gex_suite gex_habits gasnet1_suite; do
	for mode in SEQ PARSYNC PAR; do
		for how in 'gcc c gnu11 -DGASNET_DEBUG' 'g++ c++ c++11'; do
			read -r compiler language standard flags <<<"$how"
			build "$compiler" "$language" "$standard" $source "$dir/program" -DGASNET_$mode $flags || continue
			# Each program runs as two of the jobs, so that each mode and language sees all of them.
			for k in 0 1; do
				job=${jobs[$(((number + 2 * k) % ${#jobs[@]}))]}
				if ! timeout -s KILL $((70 * ${QT_SCALE:-1})) torus run --timeout $((60 * ${QT_SCALE:-1})) $job "$dir/program" >"$dir/out" 2>&1; then
					echo "$source -DGASNET_$mode $flags with $compiler, $job, fails:"
					grep -v ' took ' "$dir/out" | tail -5
					bad=1
				fi
			done
			number=$((number + 1))
		done
	done
done
exit $bad
