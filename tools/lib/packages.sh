# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tools/quickstart and tests/run: Debian packages this project builds with.

# Without these nothing builds; the optional ones each bring a driver, placement or a peer to compare with.
QT_PACKAGES_NEEDED="gcc g++ libc6-dev meson ninja-build pkg-config python3"
QT_PACKAGES_WANTED="libcunit1-dev libdpdk-dev liburing-dev libhwloc-dev libjson-c-dev libinih-dev libssl-dev libpmix-dev libfabric-dev libdw-dev libncurses-dev iproute2 ethtool tshark cppcheck clang-tidy chromium"
# MPI in the same process, and its launchers (tests).
QT_PACKAGES_MPI="libfabric-bin openmpi-bin libopenmpi-dev mpich libmpich-dev"
# Global Arrays and what its library wants (tests/apps/ga.sh).
QT_PACKAGES_GA="libglobalarrays-dev libscalapack-openmpi-dev libscalapack-mpich-dev liblapack-dev libblas-dev gfortran"
# Slurm, started by a test with nodes of its own (tests/tools/slurm.sh).
QT_PACKAGES_SLURM="slurmctld slurmd slurm-client munge"
# What builds Debian packages and a clean root to try them in (tests/tools/packages.sh).
QT_PACKAGES_DEBIAN="dpkg-dev debhelper debootstrap"
QT_PACKAGES_PEERS="ucx-utils openmpi-bin libopenmpi-dev mpich libmpich-dev gnuplot-nox"

qt_packages_missing() # packages... : prints those not installed
{
	local p
	for p in "$@"; do
		dpkg-query -W -f='${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed' || echo "$p"
	done
}

# qt_packages_install LOG packages... : installs what is missing. Returns 1 (after saying why and
# what to type) if it could not; the caller decides whether it can go on without.
qt_packages_install()
{
	local log=$1 missing
	shift
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		echo "packages: this is not Debian; install these packages, or their like: $*"
		return 1
	fi
	missing=$(qt_packages_missing "$@" | xargs)
	[ -z "$missing" ] && return 0
	if [ "$(id -u)" != 0 ]; then
		echo "packages: missing: $missing"
		echo "packages: install them with:  sudo apt-get install -y $missing"
		return 1
	fi
	echo "packages: installing $missing"
	if ! {
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing ||
			{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; }
	} >>"$log" 2>&1; then
		echo "packages: apt-get could not install them; its last words (all in $log):"
		tail -3 "$log"
		return 1
	fi
}

# True if what a build cannot do without is there, wherever it came from.
qt_build_tools_present()
{
	local t ok=0
	for t in cc meson ninja pkg-config python3; do
		command -v "$t" >/dev/null || { echo "missing: $t"; ok=1; }
	done
	return $ok
}
