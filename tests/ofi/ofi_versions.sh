#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ofi_versions.sh: libfabric, PMIx or Open MPI of a version that the product does not know is refused with one line that names the
# version. A preloaded library gives another version than the one that is installed.
set -u
unset FI_PROVIDER_PATH $(compgen -e OMPI_MCA_) QUINTORUS_SEGMENT QUINTORUS_TASK
limit=$((120 * ${QT_SCALE:-1}))
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for t in mpicc.openmpi fi_info; do
	command -v $t >/dev/null || { echo "skip: no $t (Debian: libopenmpi-dev, libfabric-bin)"; exit 77; }
done
[ -e "$QT_BUILD/tools/libqt_pmix_server.so" ] || { echo "skip: no libpmix"; exit 77; }
# What the sanitizers bring must come before any library that is preloaded.
[ -z "${QT_SANITIZE:-}" ] || [ "$QT_SANITIZE" = none ] || { echo "skip: a sanitizer wants to be loaded first"; exit 77; }

say() {
	printf '%s: %s\n' "$1" "$2"
	[ "$1" != FAIL ] || failed=1
}

library() { # NAME, C code: a library to preload
	printf '#include <stdint.h>\n#include <string.h>\n%s\n' "$2" >"$tmp/$1.c"
	${CC:-cc} -shared -fPIC -o "$tmp/$1.so" "$tmp/$1.c" || exit 1
}

# refuses WHAT PATTERN WANTED: `out` and `rc` are of a run that is refused with one line that has the pattern.
refuses() {
	if [ $rc != 0 ] && [ $rc != 124 ] && [ "$(grep -c "$2" <<<"$out")" = 1 ] && [ "$(wc -l <<<"$out")" = 1 ]; then
		say ok "$1: $out"
	else
		say FAIL "$1: status $rc: $out"
	fi
}

# An error of fi_info follows the refusal.
for version in 2.0 1.4; do
	library libfabric "uint32_t fi_version(void) { return ${version%.*}u << 16 | ${version#*.}u; }"
	out=$(FI_PROVIDER_PATH=$QT_BUILD/ofi LD_PRELOAD=$tmp/libfabric.so fi_info -p quintorus 2>&1)
	rc=$?
	out=$(grep quintorus <<<"$out")
	refuses "libfabric $version" "built for libfabric .*, and this is $version:"
done

library pmix 'const char *PMIx_Get_version(void) { return "OpenPMIx 3.2.1, repo rev: gitabc"; }'
for clock in real virtual; do
	out=$(LD_PRELOAD=$tmp/pmix.so timeout $limit torus run --mpi --clock $clock -n 2 true 2>&1)
	rc=$?
	refuses "PMIx 3, clock $clock" 'built for PMIx [0-9]*, and libpmix is OpenPMIx 3.2.1'
done

# Open MPI of another minor version runs, but its collectives stay its own.
library openmpi 'int PMPI_Get_library_version(char *text, int *n)
{
	strcpy(text, "Open MPI v4.9.7, package: none");
	*n = (int)strlen(text);
	return 0;
}'
cat >"$tmp/program.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int one = 1, sum = 0, me;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!me)
		printf("sum %d\n", sum);
	MPI_Finalize();
	return 0;
}
END
mpicc.openmpi -o "$tmp/program" "$tmp/program.c" || exit 1
if [ -e "$QT_BUILD/ofi/mca_coll_quintorus.so" ]; then
	out=$(timeout $limit torus run --mpi -n 2 env LD_PRELOAD="$tmp/openmpi.so" "$tmp/program" 2>&1)
	rc=$?
	if [ $rc = 0 ] && [ "$(grep -c '^sum 2$' <<<"$out")" = 1 ] &&
	   [ "$(grep -c "mca_coll_quintorus.so: built for Open MPI .*, and this is Open MPI v4.9.7; collectives are Open MPI's own" <<<"$out")" = 2 ]; then
		say ok "Open MPI 4.9: each task says that collectives are Open MPI's own, and the result is right"
	else
		say FAIL "Open MPI 4.9: status $rc: $out"
	fi
fi
exit $failed
