#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run: what its arguments mean, and what it says to wrong ones.
. "$QT_SOURCE/tests/harness/run.bash"

# Wrong arguments: status 2, one line that says what and how, and nothing is started.
bad() {
	t run "$@"
	expect 2 "run $*"
	lines err 1 "run $*"
	lines out 0 "run $*"
	said err '^torus run: ' "run $*"
}
bad
bad -n
bad -n 0 echo
bad -n x echo
bad -n -3 echo
bad -n 1000000 echo
bad -n 2
bad -x echo
bad --unknown echo
bad --tag=3 echo
bad --report=xml echo
bad --seal echo
bad --seal weakly echo
bad --shape
bad --shape 2x2 echo
bad --shape 2x2x2x2x2x2x2 echo
bad --shape 0x1x1x1x1 echo
bad --shape 2x2x2x2xx2 echo
bad --shape 65x1x1x1x1 echo
bad -n 9 --shape 2x2x2x1x1x1 echo
bad -n 129 --shape 2x1x1x1x1 echo
bad --mapping ABC echo
bad --mapping AABCDE echo
bad --mapping /no/such/file echo
bad --fabric mesh echo
bad --clock fast echo
bad --clock virtual --hosts local,local echo
bad --hosts '' echo
bad --bind core echo
bad --hosts mars echo
bad --hosts netns: echo
bad --hosts ssh:-oProxyCommand=x echo
bad --hosts local= echo
bad --hosts local,local,local --shape 2x1x1x1x1 echo
bad --fault loss=0.1 echo
bad --hosts local,local --fault 'x)+y' echo
bad --timeout 0 echo
bad --timeout soon echo
bad --seed tomorrow echo
bad --costs /no/such/file --clock virtual echo
bad --costs /dev/null echo
bad --mpi -n 2 --compute declared echo
bad --mpi -n 2 --clock virtual --compute measured:0 echo
bad --clock virtual --compute declared echo
bad --mpi -n 1000 echo
bad --mpi -n 2 --hosts ssh:nowhere,local echo

# Settings in the environment.
for setting in QUINTORUS_EAGER=lots QUINTORUS_CONTEXTS=12 PAMI_MAX_COMMTHREADS=-1 ARMCI_STRIDED_METHOD=FAST \
	QUINTORUS_LANES=perhaps; do
	export "$setting"
	bad -n 1 echo
	said err "${setting%=*} is \"${setting#*=}\": give " "$setting"
	unset "${setting%=*}"
done
QUINTORUS_LANE=off t run -n 2 echo
expect 0 "unknown setting"
lines err 1 "unknown setting"
said err 'QUINTORUS_LANE is no setting: did you mean QUINTORUS_LANES' "unknown setting"
if QUINTORUS_EAGR=1 "$task" >"$dir/out" 2>"$dir/err"; then # started by hand: a job of one
	said err 'QUINTORUS_EAGR is no setting: did you mean QUINTORUS_EAGER' "unknown setting, job of one"
else
	fail "a job of one: $(cat "$dir/err")"
fi
t settings --json
expect 0 "settings"
t settings --loud
expect 2 "settings --loud"

t run --help
expect 0 --help
said out '^Usage: torus run' --help
t
expect 2 "no command"
t nonsense
expect 2 "unknown command"
lines err 1 "unknown command"
t agent
expect 2 "torus agent by hand"

# A program's own options are the program's, also behind --.
t run -n 1 echo -n --shape
expect 0 "options of the program"
[ "$(cat "$dir/out")" = "--shape" ] || fail "options of the program: $(cat "$dir/out")"
t run -n 1 -- echo --tag
[ "$(cat "$dir/out")" = "--tag" ] || fail "behind --: $(cat "$dir/out")"

# Places of the tasks.
places() { # places "EXPECTED..." ARGS...
	local want=$1
	shift
	t run "$@" "$task" info
	expect 0 "$*"
	[ "$(sort -V "$dir/out" | sed 's/.* at \([0-9,]*\) .*/\1/' | tr '\n' ' ')" = "$want " ] ||
		fail "$*: places $(sort -V "$dir/out" | sed 's/.* at //' | tr '\n' ' ')"
}
places "0,0,0,0,0,0 0,0,0,0,0,1 0,0,0,0,0,2" -n 3
places "0,0,0,0,0,0 0,0,1,0,0,0 0,1,0,0,0,0 0,1,1,0,0,0" --shape 1x2x2x1x1
places "0,0,0,0,0,0 0,1,0,0,0,0 0,0,1,0,0,0 0,1,1,0,0,0" --shape 1x2x2x1x1 --mapping TEDCBA
places "0,0,0,0,0,0 0,0,0,0,0,1 1,0,0,0,0,0 1,0,0,0,0,1" -n 4 --shape 2x1x1x1x1
places "0,0,0,0,0,0 0,0,0,0,0,1 1,0,0,0,0,0" -n 3 --shape 2x1x1x1x1x2
printf '# reversed\n1 0 0 0 0 1\n1 0 0 0 0 0 # end\n0 0 0 0 0 1\n0 0 0 0 0 0\n' >"$dir/map"
places "1,0,0,0,0,1 1,0,0,0,0,0 0,0,0,0,0,1 0,0,0,0,0,0" --shape 2x1x1x1x1x2 --mapping "$dir/map"
printf '0 0 0 0 0 0\n0 0 0 0 0 0\n' >"$dir/map"
bad -n 2 --shape 2x1x1x1x1 --mapping "$dir/map" echo
printf '0 0 0 0 0 0\n' >"$dir/map"
bad -n 2 --shape 2x1x1x1x1 --mapping "$dir/map" echo
printf '0 0 0 0 0 0\n2 0 0 0 0 0\n' >"$dir/map"
bad -n 2 --shape 2x1x1x1x1 --mapping "$dir/map" echo
printf '0 0 0 0 0 0\n1 0 0 0 0 x\n' >"$dir/map"
bad -n 2 --shape 2x1x1x1x1 --mapping "$dir/map" echo

# More than 64 tasks: more nodes.
t run -n 65 true
expect 0 "65 tasks"
t run -n 4 --fabric torus "$task" exchange
expect 0 "fabric torus"
t run -n 4 "$task" exchange
expect 0 "fabric express"

# Limits that are too low are named, or do no harm.
limited() { # limited OPTION VALUE ARGUMENTS...: as t, under ulimit; 137: it hung
	(
		ulimit "$1" "$2"
		shift 2
		exec timeout -s KILL $((20 * ${QT_SCALE:-1})) torus "$@"
	) >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
}
for n in 6 7 8 9 10 12; do
	limited -n $n run -n 2 --hosts local,local "$task" exchange
	case $status in
	0) ;;
	1) said err 'ulimit -n' "ulimit -n $n" ;;
	*) fail "ulimit -n $n: status $status, it said: $(head -3 "$dir/err")" ;;
	esac
done
if [ "${QT_SANITIZE:-none}" = none ]; then
	limited -s 64 run -n 4 --hosts local,local "$task" exchange
	expect 0 "ulimit -s 64"
fi

t check --json
said out '"name": "shared memory", "state": "ok"' "check --json"
python3 -m json.tool "$dir/out" >/dev/null || fail "check --json is not JSON"
# The cipher: there if it was built, and missed, with what brings it, where it does not load.
if [ -e "$QT_BUILD/drivers/libqt_seal.so" ]; then
	said out '"name": "seal", "state": "ok"' "check: seal"
fi
echo nonsense >"$dir/libqt_seal.so"
QUINTORUS_MODULES=$dir t check
expect 0 "check without a cipher"
said out '^missing  seal .*does not load' "check without a cipher"
said out 'fix: apt install libssl-dev' "check without a cipher"
t check --loud
expect 2 "check --loud"
finish
