# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests that run Open MPI: its environment, a directory in $tmp, and a skip (exit status 77) where it cannot run.
unset FI_PROVIDER_PATH $(compgen -e OMPI_MCA_) QUINTORUS_SEGMENT QUINTORUS_TASK
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
limit=$((120 * ${QT_SCALE:-1}))
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

qt_openmpi_need() # TOOL... PACKAGES: the last argument names the Debian packages
{
	local tool
	for tool in "${@:1:$#-1}"; do
		command -v "$tool" >/dev/null || { echo "skip: no $tool (Debian: ${*: -1})"; exit 77; }
	done
	# What the sanitizers bring cannot be loaded by programs that lack it.
	[ "${QT_SANITIZE:-none}" = none ] || { echo "skip: Open MPI has no sanitizer"; exit 77; }
}

# The command has to end with status 0 and a line like this. Its output stays in $tmp/out.
qt_openmpi_expect() # WHAT LINE COMMAND...
{
	local rc
	timeout $limit "${@:3}" >"$tmp/out" 2>&1
	rc=$?
	if [ $rc = 0 ] && grep -q "$2" "$tmp/out"; then
		echo "ok: $1: $(tail -n 1 "$tmp/out")"
	else
		failed=1
		echo "FAIL: $1: status $rc"
		tail -n 20 "$tmp/out"
	fi
}

qt_openmpi_need_launcher() # for torus run --mpi
{
	qt_openmpi_need mpicc.openmpi libopenmpi-dev
	[ -e "$QT_BUILD/tools/libqt_pmix_server.so" ] || { echo "skip: no libpmix"; exit 77; }
}
