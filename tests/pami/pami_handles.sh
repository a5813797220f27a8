#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every function of pami.h with bad handles and missing parameters, on one host, on two, in virtual time.
. "$QT_SOURCE/tests/harness/run.bash"

# What has run must name every function of pami.h, and each of its handle parameters in all three ways.
not_tested() {
	python3 - "$QT_SOURCE/pami/pami.h" "$1" <<-'END'
		import re, sys
		header, ran = open(sys.argv[1]).read(), {}
		for line in open(sys.argv[2]):
		    what, call = line.split(": ", 1)
		    for name in re.findall(r"PAMI_[A-Z]\w*(?=\)?\()", call):
		        ran.setdefault(name, set()).add(what)
		header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
		header = re.sub(r"^#.*(?:\\\n.*)*", "", header, flags=re.M)
		functions = re.findall(r"^\w[\w ]*\**(PAMI_[A-Z]\w+)\(([^;]*)\);", header, flags=re.M)
		if len(functions) < 60:
		    print("only", len(functions), "functions are found in pami.h")
		for name, parameters in functions:
		    if name not in ran:
		        print(name, "is not called with bad arguments")
		    for kind in "context", "client", "geometry", "type", "extension":
		        # By pointer they are results, unless the function ends or serves them; a parent is never read.
		        by = r"\W" if re.search("destroy|advancev", name) else r"\s+\w+(?!\[\])[,)]"
		        if re.search(rf"pami_{kind}_t(?!\s+parent){by}", parameters + ")"):
		            for how in ["no", "wild"] + ["destroyed"] * (kind != "extension"):
		                if f"{how} {kind}" not in ran.get(name, ()):
		                    print(f"{name} is not called with {how} {kind}")
	END
}
for conf in "-n 1" "-n 2" "-n 2 --hosts local,local" "--clock virtual --shape 2x1x1x1x1"; do
	# shellcheck disable=SC2086
	QT_LIST=1 QUINTORUS_ERRORS=quiet t run --timeout $((120 * ${QT_SCALE:-1})) $conf "$task"
	[ "$status" = 0 ] || fail "$conf: status $status: $(cat "$dir/err")"
	missing=$(not_tested "$dir/out")
	[ -z "$missing" ] || fail "$conf: $missing"
done
finish
