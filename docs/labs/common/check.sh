# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the check of each lab, which `torus lab N --check` runs with the student's directory. LAB is the number of the
# lab, LAB_COMMON the directory of this file. Programs are built in a directory of their own, with the lab.h that is here.
set -u
lab_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$LAB_COMMON/lab.h" "$LAB_COMMON/Makefile" "$work"

not_yet() { echo "lab $LAB: not yet: $*"; exit 1; }
passed() { echo "lab $LAB: passed: $*"; exit 0; }

# build NAME: NAME.c of the student.
build() {
	[ -f "$lab_dir/$1.c" ] || not_yet "there is no $1.c in $lab_dir; torus lab $LAB --start DIR makes one"
	cp "$lab_dir/$1.c" "$work"
	make -s -C "$work" "$1" >"$work/log" 2>&1 || { cat "$work/log"; not_yet "$1.c does not compile (the compiler's words are above)"; }
}

# job ARGUMENTS OF torus run...: in virtual time; its output is in $work/out.
job() {
	(cd "$work" && timeout 300 torus run --clock virtual "$@") >"$work/out" 2>"$work/err" </dev/null && return
	tail -n 5 "$work/out" "$work/err"
	not_yet "this did not end well (its last words are above): torus run --clock virtual $*"
}

# number WORDS: the number behind these words in the output of the last job; empty if they are not there.
number() { sed -n "s|.*$1 *\(-\{0,1\}[0-9][0-9.]*\).*|\1|p" "$work/out" | head -n 1; }

# is EXPRESSION: an expression of awk holds.
is() { awk "BEGIN { exit !($1) }"; }

# answer NAME VALUE PERCENT HINT: the student's answer is that value, as exactly as PERCENT says (words: PERCENT is -).
answer() {
	[ -f "$lab_dir/answers" ] || not_yet "there is no file answers in $lab_dir; torus lab $LAB --start DIR makes one"
	got=$(sed -n "s/^ *$1 *= *\([^ #]*\).*/\1/p" "$lab_dir/answers" | head -n 1)
	[ -n "$got" ] && [ "$got" != '?' ] || not_yet "answers: $1 is still open ($4)"
	if [ "$3" = - ]; then
		[ "$got" = "$2" ] || not_yet "answers: $1 is not $got ($4)"
	else
		case $got in *[!0-9.]* | .) not_yet "answers: $1 is '$got', which is no number ($4)" ;; esac
		is "$got >= $2 * (1 - $3 / 100) && $got <= $2 * (1 + $3 / 100)" || not_yet "answers: $1 is not $got ($4)"
	fi
}
