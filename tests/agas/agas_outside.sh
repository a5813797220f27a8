#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that knows nothing of this tree is built in C and C++, makes every call of agas.h and
# agas_hpx.h, and is told in words what is wrong.
set -- none # The program is built here.
. "$QT_SOURCE/tests/harness/run.bash"

[ "${QT_SANITIZE:-none}" = none ] || { echo "the sanitizers' libraries are not of this test"; exit 77; }
command -v c++ >/dev/null || { echo "no C++ compiler"; exit 77; }
limit=$((60 * ${QT_SCALE:-1}))

build() { # build LANGUAGE COMPILER...
	"${@:2}" -Wall -Wextra -Werror -x "$1" "$QT_SOURCE/tests/apps/outside/agas.c" -x none -I"$QT_SOURCE/agas" \
		-L"$QT_BUILD/agas" -lagas -L"$QT_BUILD/pami" -lpami \
		-Wl,-rpath,"$QT_BUILD/agas:$QT_BUILD/pami" -o "$dir/$1" ||
		{ fail "the program does not build in $1"; finish; }
}
build c cc -std=c11
build c++ c++ -std=c++17

works() { # works RANKS WORDS...
	t run --timeout $limit "${@:2}"
	expect 0 "${*:2}"
	[ "$(grep -c '^rank [0-9]* of [0-9]*: right$' "$dir/out")" = "$1" ] || fail "${*:2}: $(cat "$dir/out")"
}
for language in c c++; do
	works 1 -n 1 "$dir/$language"
	works 3 -n 3 "$dir/$language"
done
works 2 -n 2 "$dir/c"
works 4 -n 4 --hosts local,local "$dir/c"
works 2 -n 2 "$dir/c" early
works 3 --clock virtual --shape 3x1x1x1x1 "$dir/c"
works 4 --clock virtual --fabric torus --shape 2x2x1x1x1 --hw agas=hw-torus "$dir/c"

explained() { # explained WHAT: in the last t
	grep -q -- "$1" "$dir/err" || fail "nothing says: $1"
}
for job in '-n 1' '-n 3' '-n 3 --hw agas=hw-torus' '--clock virtual --shape 3x1x1x1x1 --hw agas=hw-home'; do
	# shellcheck disable=SC2086
	works "$(grep -o '[13]' <<<"$job" | head -1)" $job "$dir/c" wrong
	explained 'agas_put returned AGAS_EINVAL: the null address: page 0 is never mapped'
	explained 'agas_put returned AGAS_EINVAL: address and size reach beyond the address space'
	explained 'agas_put returned AGAS_EINVAL: the local address is NULL'
	explained 'put of 8 bytes at 0x186a1000: no block was ever mapped at this address'
	explained 'atomic operation of 8 bytes at 0x186a1000: no block was ever mapped'
	explained 'move of 0x186a1000: no block was ever mapped'
	explained 'put of 8 bytes at 0x1000: the block at this address was freed'
	explained 'mapping or freeing of 0x1000: the block at this address was freed'
	explained 'agas_remap returned AGAS_EINVAL: the job has no such rank'
	explained 'the owner has no action of this number'
	explained 'hpx_gas_alloc returned AGAS_EINVAL: no blocks, or blocks of 0 or over 2^31 bytes'
	explained 'hpx_gas_memput_rsync returned AGAS_EINVAL: address and size reach beyond the block'
	explained 'freeing of 0x[0-9a-f]*: not the first block of an allocation'
	explained 'hpx_lco_wait returned AGAS_EINVAL: no LCO of this rank'
done
t run -n 1 "$dir/c" early
explained 'returned AGAS_ESTATE: call agas_init() first'
finish
