#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The library says why a call failed, once for each place of the program; QUINTORUS_ERRORS=quiet ends that.
. "$QT_SOURCE/tests/harness/run.bash"

for conf in "-n 1" "-n 2" "-n 2 --hosts local,local" "--clock virtual --shape 2x1x1x1x1"; do
	case $conf in "-n 1") n=1 ;; *) n=2 ;; esac
	# shellcheck disable=SC2086
	t run --timeout $((60 * ${QT_SCALE:-1})) $conf "$task"
	sed -i '/^quintorus agent\|^torus run: virtual time/d' "$dir/err" # the log of the machine
	expect 0 "$conf"
	[ "$(grep -c 'PAMI_Send_immediate returned PAMI_INVAL: dispatch id not set' "$dir/err")" = $((2 * n)) ] ||
		fail "$conf: not one line for each of two places: $(cat "$dir/err")"
	[ "$(grep -c 'PAMI_Put returned PAMI_INVAL: no such endpoint' "$dir/err")" = "$n" ] ||
		fail "$conf: not one line for the put: $(cat "$dir/err")"
	[ "$(grep -c 'an operation failed with PAMI_ERROR: an address of the transfer is not mapped' "$dir/err")" = "$n" ] ||
		fail "$conf: not one line for the gets: $(cat "$dir/err")"
	lines err $((4 * n)) "$conf: nothing else"
	if command -v addr2line >/dev/null; then
		# The lines name commands that give function, file and line of the program's call.
		grep -o 'addr2line -fe [^ ]* 0x[0-9a-f]*' "$dir/err" | sort -u >"$dir/commands"
		. "$dir/commands" >"$dir/out"
		said out 'failing_calls' "$conf: the function of the call"
		said out 'failed_done' "$conf: the function of the callback"
		said out 'pami_errors.c:[0-9]' "$conf: the line of the call"
	fi
	# shellcheck disable=SC2086
	QUINTORUS_ERRORS=quiet t run --timeout $((60 * ${QT_SCALE:-1})) $conf "$task"
	sed -i '/^quintorus agent\|^torus run: virtual time/d' "$dir/err"
	expect 0 "$conf, quiet"
	lines err 0 "$conf, quiet"
done

# Operations to a context that the target never makes, before that is known: once for each callback.
for conf in "-n 2" "-n 2 --hosts local,local" "--clock virtual --shape 2x1x1x1x1"; do
	rm -f "$dir/started"
	[[ $conf = *virtual* ]] && export QT_VIRTUAL=1
	# shellcheck disable=SC2086
	t run --timeout $((60 * ${QT_SCALE:-1})) $conf "$task" early "$dir/started"
	sed -i '/^quintorus agent\|^torus run: virtual time\|refused, as are further ones/d' "$dir/err"
	expect 0 "early, $conf"
	[ "$(grep -c 'operation failed with PAMI_INVAL: no such endpoint' "$dir/err")" = 1 ] ||
		fail "early, $conf: not one line for the sends: $(cat "$dir/err")"
	[ "$(grep -c 'operation failed with PAMI_ERROR: an address of the transfer is not mapped' "$dir/err")" = 2 ] ||
		fail "early, $conf: not one line for the puts and one for the gets: $(cat "$dir/err")"
	lines err 3 "early, $conf: nothing else"
done

# No function of the library returns an error without its text.
! grep -rnE --include='*.[ch]' 'return PAMI_(INVAL|ERROR|ENOMEM)\b' "$QT_SOURCE/pami" ||
	fail "these return an error without a text: use pami_fail()"
finish
