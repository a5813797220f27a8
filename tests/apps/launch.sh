#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# launch.sh PROGRAM: jobs that mpirun of Open MPI (PMIx) and of MPICH (PMI-1) start, with and without MPI in the
# process; one host and several (stand-ins on this machine); deaths; nothing left behind.
set -u
. "$QT_SOURCE/tests/harness/mpirun.bash"
program=$1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Nothing but memory and loopback, whatever networks there are.
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none HYDRA_IFACE=lo
unset QUINTORUS_SEGMENT QUINTORUS_TASK
limit=$((120 * ${QT_SCALE:-1}))
failed=0
tmp=$(mktemp -d)
part=$QT_SOURCE/tests/harness/part.sh
trap 'rm -rf "$tmp"; [ -z "${QT_NET_A:-}" ] || qt_net_close' EXIT

say() {
	printf '%s: %s\n' "$1" "$2"
	if [ "$1" = FAIL ]; then failed=1; fi
}

# run TASKS WHAT COMMAND...: status 0 and as many PASS lines as tasks
run() {
	local n=$1 what=$2 out rc
	shift 2
	run_launcher $limit "$@"
	if [ $rc = 0 ] && [ "$(grep -c "PASS .* of $n$" <<<"$out")" = "$n" ]; then
		say ok "$what"
	else
		say FAIL "$what (status $rc)"
		tail -20 <<<"$out"
	fi
}

gone() { # MARK: no process of that mark is left, given some seconds
	local i
	for ((i = 0; i < 100 * ${QT_SCALE:-1}; i++)); do
		pgrep -f -- "$1" >/dev/null || return 0
		sleep 0.1
	done
	pgrep -af -- "$1"
	return 1
}

deaths() { # NAME LAUNCHER...
	local name=$1 mark="qtmark-$$-$RANDOM" how out rc pid
	shift
	for how in die error leave; do
		out=$(timeout $limit "$@" -np 3 "$program" $how "$mark" 2>&1)
		rc=$?
		# The status after a silent exit with 0 is the launcher's affair (MPICH's says 9 or 0).
		if { [ $rc != 0 ] || [ $how = leave ]; } && [ $rc != 124 ] && gone "$mark"; then
			say ok "$name: a task that says '$how' ends the job (status $rc)"
		else
			say FAIL "$name: a task that says '$how' (status $rc)"
			tail -5 <<<"$out"
		fi
	done
	mark+=b
	"$@" -np 3 "$program" wait "$mark" >"$tmp/out" 2>&1 &
	pid=$!
	while [ "$(grep -c waiting "$tmp/out")" != 3 ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
	kill -KILL $pid
	wait $pid 2>/dev/null
	if gone "$mark"; then
		say ok "$name: SIGKILL of the launcher leaves nothing"
	else
		say FAIL "$name: tasks are left after SIGKILL of the launcher"
	fi
}

# sealed PORT WHAT COMMAND...: frames are sealed by default where others could send some, as under torus run
sealed() {
	local want=none what=$2 out
	[ "$1" = shm: ] || want=authenticated
	shift 2
	out=$(timeout $limit "$@" 2>&1)
	if grep -q "seal of the frames between them: $want" <<<"$out"; then
		say ok "$what is $want"
	else
		say FAIL "$what should be $want"
		grep 'seal of' <<<"$out"
	fi
}

hosts() { # NAME LAUNCHER...: tasks 0, 1 on one host, 2, 3 on another; then each on its own
	local name=$1 per port
	shift
	if [ -e "$QT_BUILD/drivers/libqt_seal.so" ]; then
		QUINTORUS_SEAL=encrypted run 4 "$name: hosts of 2 tasks, encrypted" "$@" -np 4 "$part" 2 shm: "$program"
	fi
	for port in uring:127.0.0.1 shm:; do
		[ -e "$QT_BUILD/drivers/libqt_port_uring.so" ] && [ -e "$QT_BUILD/drivers/libqt_seal.so" ] || break
		QUINTORUS_LOG=debug sealed $port "$name: the seal over $port" "$@" -np 2 "$part" 1 $port "$program"
	done
	for per in 2 1; do
		run 4 "$name: hosts of $per tasks, shared memory" "$@" -np 4 "$part" $per shm: "$program"
		if [ -e "$QT_BUILD/drivers/libqt_port_uring.so" ]; then
			run 4 "$name: hosts of $per tasks, UDP" "$@" -np 4 "$part" $per uring:127.0.0.1 "$program"
		fi
	done
}

# Two namespaces: nothing but a veth pair, which is also the only address that a host has. MPICH's launcher speaks
# over an inherited descriptor, so it reaches into them.
namespaces() {
	if [ "$(id -u)" != 0 ] || [ ! -e "$QT_BUILD/drivers/libqt_port_uring.so" ]; then
		echo "left out: namespaces need root and the io_uring driver"
		return
	fi
	. "$QT_SOURCE/tools/lib/net.sh"
	if ! qt_net_open 2>"$tmp/net"; then
		echo "left out: namespaces: $(cat "$tmp/net")"
		return
	fi
	cat >"$tmp/enter" <<-END
		#!/bin/sh
		[ \$((PMI_RANK / \$1)) = 0 ] && name=$QT_NET_A || name=$QT_NET_B
		shift
		exec ip netns exec \$name "\$@"
	END
	chmod +x "$tmp/enter"
	run 4 "MPICH: two namespaces of two tasks" mpirun.mpich -np 4 "$tmp/enter" 2 "$program"
	run 2 "MPICH: two namespaces of one task" mpirun.mpich -np 2 "$tmp/enter" 1 "$program"
	qt_net_close
}

# libarmci.a in a program that lies elsewhere than the installation, which was moved since it was built: the glue is
# found beside libpami, or where QUINTORUS_MODULES says; where it is nowhere, the program is told so.
moved() { # NAME COMPILER LAUNCHER...
	local name=$1 mpicc=$2 there="$tmp/moved" out
	shift 2
	mkdir -p "$there/quintorus" "$tmp/elsewhere"
	cp -P "$QT_BUILD"/pami/libpami.so* "$there"
	cp "$QT_BUILD"/armci/libqt_armci_*.so "$tmp/elsewhere"
	if ! "$mpicc" -I"$QT_SOURCE" -c "$QT_SOURCE/armci/mpi/beside.c" -o "$tmp/beside.o" ||
		! "$mpicc" -DWITH_MPI -I"$QT_SOURCE" "$QT_SOURCE/tests/apps/launch_program.c" "$tmp/beside.o" \
			"$QT_BUILD/armci/libarmci.a" -L"$there" -lpami -Wl,-rpath,"$there" -o "$tmp/alone"; then
		say FAIL "$name: does not link without the build's directory"
		return
	fi
	out=$(timeout $limit "$@" -np 2 "$tmp/alone" mpi-first 2>&1)
	if grep -q 'no communicators: .*QUINTORUS_MODULES' <<<"$out"; then
		say ok "$name: libarmci.a, no glue to be found, says so"
	else
		say FAIL "$name: libarmci.a without glue"
		tail -5 <<<"$out"
	fi
	run 2 "$name: libarmci.a, glue named" "$@" -np 2 env QUINTORUS_MODULES="$tmp/elsewhere" "$tmp/alone" mpi-first
	mv "$tmp"/elsewhere/* "$there/quintorus"
	run 2 "$name: libarmci.a, moved" "$@" -np 2 env -u LD_LIBRARY_PATH "$tmp/alone" mpi-first
	rm -r "$there" "$tmp/elsewhere"
}

with_mpi() { # NAME COMPILER LAUNCHER...
	local name=$1 mpicc=$2 order
	shift 2
	if ldd "$program" | grep -q 'libasan\|libtsan'; then
		echo "left out: MPI in the process of a sanitizer's build"
		return
	fi
	if ! command -v "$mpicc" >/dev/null; then
		echo "left out: $mpicc is not installed"
		return
	fi
	if ! "$mpicc" -DWITH_MPI -I"$QT_SOURCE" "$QT_SOURCE/tests/apps/launch_program.c" -o "$tmp/with" \
		-L"$QT_BUILD/armci" -larmci -L"$QT_BUILD/pami" -lpami -Wl,-rpath,"$QT_BUILD/armci:$QT_BUILD/pami"; then
		say FAIL "$name: does not compile"
		return
	fi
	if "$mpicc" -DWITH_MPI -I"$QT_SOURCE" "$QT_SOURCE/tests/apps/launch_program.c" -o "$tmp/static" \
		"$QT_BUILD/armci/libarmci.a" -L"$QT_BUILD/pami" -lpami -Wl,-rpath,"$QT_BUILD/pami"; then
		run 2 "$name: libarmci.a" "$@" -np 2 "$tmp/static" mpi-first
	else
		say FAIL "$name: does not link with libarmci.a"
	fi
	moved "$name" "$mpicc" "$@"
	for order in mpi-first mpi-last mpi-ours 'mpi-ours finalize' 'mpi-thread finalize'; do
		# shellcheck disable=SC2086
		run 3 "$name: $order" "$@" -np 3 "$tmp/with" $order
	done
}

# PMI-1 by torus run, spoken by hand: words out of place, then a value put, a barrier, the other's value.
pmi_by_hand() {
	cat >"$tmp/speak" <<-'END'
		#!/usr/bin/env bash
		ask() { echo "$1" >&"$PMI_FD" && read -r -t 60 -u "$PMI_FD" line && case $line in *"$2"*) ;; *) echo "$1: $line" && exit 1 ;; esac; }
		ask "cmd=nonsense" rc=-1
		echo "nothing" >&"$PMI_FD"
		ask "cmd=init pmi_version=1 pmi_subversion=1" "cmd=response_to_init"
		ask "cmd=put kvsname=torus key=a$PMI_RANK value=v$PMI_RANK" rc=0
		ask "cmd=put kvsname=torus key=a$PMI_RANK value=again" rc=-1
		ask "cmd=get kvsname=torus key=nobody" rc=-1
		ask "cmd=barrier_in" cmd=barrier_out
		ask "cmd=get kvsname=torus key=a$(((PMI_RANK + 1) % PMI_SIZE))" "value=v$(((PMI_RANK + 1) % PMI_SIZE))"
		printf 'cmd=nonsense \0 behind a zero byte\n' >&"$PMI_FD"
		read -r -t 60 -u "$PMI_FD" line || { echo "no answer to a line with a zero byte" && exit 1; }
		# A line that is too long ends the connection: the task must not wait for an answer.
		head -c 10000 /dev/zero >&"$PMI_FD" 2>/dev/null
		read -r -t 60 -u "$PMI_FD" line
		[ $? = 1 ] || { echo "a line that is too long ended in no end of file" && exit 1; }
		echo "PASS $PMI_RANK of $PMI_SIZE"
	END
	chmod +x "$tmp/speak"
	run 3 "torus run --mpi, spoken by hand" torus run --mpi -n 3 --hosts local,local "$tmp/speak"
}

# What only torus run has is refused under mpirun, with the command that has it.
only_torus() { # NAME LAUNCHER...
	local name=$1 out rc
	shift
	# Launchers lose what tasks say that end at once: it goes into a file.
	printf '#!/bin/sh\nexec "$@" 2>>%s\n' "$tmp/said" >"$tmp/aside"
	chmod +x "$tmp/aside"
	refused() { # WHAT WORDS LAUNCHER-AND-PROGRAM...
		local what=$1 words=$2
		shift 2
		: >"$tmp/said"
		# MPICH's launcher sometimes dies of SIGPIPE, without a word, when its processes end at once.
		for _ in 1 2 3; do
			out=$(timeout $limit "$@" 2>&1)
			rc=$?
			[ $rc = 141 ] && [ -z "$out" ] || break
		done
		if [ $rc != 0 ] && [ $rc != 124 ] && grep -q "$words" "$tmp/said"; then
			say ok "$what"
		else
			say FAIL "$what (status $rc)"
			tail -5 "$tmp/said" - <<<"$out"
		fi
	}
	# A setting that does not exist is reported by one task, and a value that is not allowed is named.
	: >"$tmp/said"
	run 2 "$name: unknown setting" "$@" -np 2 "$tmp/aside" env QUINTORUS_LANE=off QUINTORUS_SHARE=perhaps "$program"
	if [ "$(grep -c 'QUINTORUS_LANE is no setting: did you mean QUINTORUS_LANES' "$tmp/said")" != 1 ] ||
		! grep -q 'QUINTORUS_SHARE is "perhaps": give on or off' "$tmp/said"; then
		say FAIL "$name: unknown setting, reported as: $(cat "$tmp/said")"
	fi
	refused "$name: virtual clock" 'torus run --clock virtual -n' "$@" -np 2 "$tmp/aside" env QUINTORUS_CLOCK=virtual "$program"
	refused "$name: fabric torus" 'torus run --fabric torus -n' "$@" -np 2 "$tmp/aside" env QUINTORUS_FABRIC=torus "$program"
	refused "$name: torus run in every process" 'torus run --mpi -n 2' "$@" -np 2 "$tmp/aside" torus run --clock virtual -n 2 "$program"
}

# Tasks that the launcher binds to different processors need not yield; those on the same processor must.
processors() { # NAME LAUNCHER...
	local name=$1 expected what
	shift
	[ "$(nproc)" -ge 2 ] || return
	while read -r what expected; do
		: >"$tmp/said"
		QUINTORUS_LOG=debug run 2 "$name: processors $what" "$@" -np 2 "$tmp/aside" "$tmp/processors" "$what" "$program" </dev/null
		[ "$(grep -c "share . of $expected" "$tmp/said")" = 2 ] || say FAIL "$name: processors $what: $(grep 'share ' "$tmp/said")"
	done <<-EOF
		divided 1 of the processors it may use, 1: an empty poll spins
		shared 2 of the processors it may use, 1: an empty poll yields
	EOF
}
cat >"$tmp/processors" <<'EOF'
#!/bin/bash
cpus=($(taskset -cp $$ | sed 's/.*: //; s/[-,]/ /g'))
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
[ "$1" = divided ] || rank=0
exec taskset -c "${cpus[$rank]}" "${@:2}"
EOF
chmod +x "$tmp/processors"

found=0
pmi_by_hand
if command -v mpirun.mpich >/dev/null; then
	found=1
	h='MPICH'
	run 3 "$h" mpirun.mpich -np 3 "$program" twice
	run 1 "$h, one task" mpirun.mpich -np 1 "$program"
	run 2 "$h, port instead of descriptor" mpirun.mpich -pmi-port -np 2 "$program"
	hosts "$h" mpirun.mpich
	namespaces
	deaths "$h" mpirun.mpich
	only_torus "$h" mpirun.mpich
	processors "$h" mpirun.mpich
	with_mpi "$h" mpicc.mpich mpirun.mpich
	if [ -x "$tmp/with" ]; then
		run 3 "torus run --mpi" torus run --mpi -n 3 "$tmp/with" mpi-first
		run 4 "torus run --mpi, two hosts" torus run --mpi -n 4 --hosts local,local "$tmp/with" mpi-ours
		run 2 "torus run --mpi, routers" torus run --mpi -n 2 --fabric torus "$tmp/with" mpi-last
	fi
fi
if command -v mpirun.openmpi >/dev/null && [ -e "$QT_BUILD/mu/libqt_launch_pmix.so" ] &&
	! ldd "$program" | grep -q 'libasan\|libtsan'; then
	found=1
	o='Open MPI'
	run 3 "$o" mpirun.openmpi --oversubscribe -np 3 "$program" twice
	run 1 "$o, one task" mpirun.openmpi -np 1 "$program"
	hosts "$o" mpirun.openmpi --oversubscribe
	deaths "$o" mpirun.openmpi --oversubscribe
	only_torus "$o" mpirun.openmpi --oversubscribe
	processors "$o" mpirun.openmpi --oversubscribe --bind-to none
	with_mpi "$o" mpicc.openmpi mpirun.openmpi --oversubscribe
fi
if [ $found = 0 ]; then
	echo "neither mpirun.mpich nor mpirun.openmpi with libpmix is installed"
	exit 77
fi
exit $failed
