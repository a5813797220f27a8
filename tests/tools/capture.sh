#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run --capture and the dissector: what tshark reads in captures of each kind of traffic agrees with
# what the job counted.
. "$QT_SOURCE/tests/harness/run.bash"

command -v tshark >/dev/null || { echo "no tshark"; exit 77; }
export QUINTORUS_RUN_DIR=$dir/run
lua=$QT_SOURCE/tools/wireshark/quintorus.lua
cap=$dir/c.pcapng
tests=$QT_BUILD/tests

shark() { # shark ARGUMENTS...: tshark on the capture
	tshark -X lua_script:"$lua" -r "$cap" "$@" 2>"$dir/shark"
}
# tshark takes a second to start, so one reading of a capture counts the frames of all filters that were asked for.
declare -A frames least most about # by filter; frames is filled by judge
asked=()
ask() { # ask FILTER LEAST MOST WHAT
	asked+=("$1")
	least[$1]=$2 most[$1]=$3 about[$1]=$4
}
some() { ask "$1" 1 999999999 "$2"; } # some FILTER WHAT: a frame passes this filter
none() { ask "$1" 0 0 "$2"; }
judge() { # count the frames of all filters and report what is out of range
	local filter row column=3
	row=$(shark -q -z "io,stat,0$(printf ',%s' "${asked[@]}")" | grep '^| *[0-9.]* *<>')
	[ -n "$row" ] || fail "tshark counts no frames: $(cat "$dir/shark")"
	! grep -qi 'lua: error\|error during loading' "$dir/shark" || fail "the dissector: $(cat "$dir/shark")"
	for filter in "${asked[@]}"; do
		frames[$filter]=$(cut -d '|' -f $column <<<"$row" | tr -d ' ')
		column=$((column + 2))
		[ "${frames[$filter]:-0}" -ge "${least[$filter]}" ] && [ "${frames[$filter]:-0}" -le "${most[$filter]}" ] ||
			fail "${about[$filter]}: ${frames[$filter]} frames with $filter"
	done
	asked=()
}
captured() { # captured ARGUMENTS...: a job whose frames are recorded
	rm -f "$QUINTORUS_RUN_DIR"/* "$cap"
	t run --capture "$cap" "$@"
	expect 0 "$*"
	none '!qt || qt.cut || _ws.malformed || _ws.lua.error' "$*"
	none 'qt.source != 0 && qt.source != 1' "$*"
}

# Every frame that a port sent is there, from both ends. What is sent after the last sample is not counted.
captured -n 4 --hosts local,local "$task" exchange
some 'qt.kind == 1 && qt.note.frame_bytes > 0' "hello"
some 'qt.kind == 6' "goodbye"
for host in 0 1; do
	some "frame.interface_id == $host && frame.packet_flags_direction == 2" "host $host sends"
done
judge
for host in 0 1; do
	sent=$(torus stat --once --json port_tx_frames | grep "host=$host\"" | sed 's/.*"value": \([0-9]*\).*/\1/')
	out=${frames["frame.interface_id == $host && frame.packet_flags_direction == 2"]}
	[ "$out" -ge "$sent" ] && [ "$sent" -gt 0 ] || fail "host $host: $out frames in the capture, its port sent $sent"
done
[ "$(shark -T fields -e qt.job | sort -u | wc -l)" = 1 ] || fail "frames of several jobs"
[ "$(shark -Y 'qt.kind == 2 && frame.packet_flags_direction == 2 && frame.interface_id == 0' -T fields -e qt.source | sort -u)" = 0 ] ||
	fail "host 0 sends with another's number"

# PAMI: every kind of message. Task 0 sends to task 1 of the other host and back.
captured -n 2 --hosts local,local "$tests/t_system_pami_messages"
for kind in 1 3 6 7; do
	some "qt_pami.kind == $kind" "PAMI messages"
done
some 'qt_pami.kind == 3 && qt_pami.data_bytes > 0' "an eager message says how long it is"
some 'qt_pami.kind == 6 && qt_pami.address != 0' "a rendezvous names the data"
some 'qt_torus.packet_type == 2 && qt_torus.desc.length > 0 && qt_torus.desc.payload != 0' "a remote get has descriptors"
some 'qt_torus.packet_type == 1 && qt_torus.valid_bytes > 0' "a direct put"
none 'qt_torus.dest.b > 0 || qt_torus.dest.a > 1' "destinations are nodes of the job"
none 'qt_pami.kind > 9 || qt_pami.origin > 63' "PAMI headers"
judge
captured -n 2 --hosts local,local "$tests/t_system_pami_rdma"
some 'qt_pami.kind == 8 && (qt_pami.width == 4 || qt_pami.width == 8)' "atomics"
judge

# Routers: packets on links, with hops, and credits.
captured -n 4 --shape 2x2x1x1x1 --fabric torus --hosts local,local "$task" exchange
some 'qt.run.kind == 0xf1 && qt_torus.data_type == 0x55 && qt.link.source >= 0' "packets on links"
some 'qt.run.kind == 0xf2 && qt.credits > 0' "credits"
none 'qt.link.node > 3 || qt.link.link > 3' "packets on links"
judge

# Loss: a transmission that the wire repeats is there twice, with the same sequence.
captured -n 2 --hosts local,local --fault loss=0.2,seed=3 "$tests/t_system_pami_messages"
twice=$(shark -Y 'qt.kind == 2 && frame.packet_flags_direction == 2 && frame.interface_id == 0' -T fields -e qt.sequence | sort | uniq -d | wc -l)
judge
[ "$twice" -gt 0 ] || fail "loss: nothing is sent twice"

# Seals.
if [ -e "$QT_BUILD/drivers/libqt_seal.so" ]; then
	captured -n 2 --hosts local,local --seal authenticated "$task" exchange
	some 'qt.flags.sealed == 1 && qt.seal.tag && qt.run.kind' "authenticated frames are read"
	judge
	captured -n 2 --hosts local,local --seal encrypted "$task" exchange
	some 'qt.flags.hidden == 1 && qt.encrypted' "encrypted frames"
	none 'qt.flags.hidden == 1 && qt.run.kind' "encrypted frames"
	judge
fi

# The same frames as UDP and as Ethernet frames of the DPDK port.
captured -n 2 --hosts local,local "$task" exchange
judge
shark -T fields -e qt.kind -e qt.sequence >"$dir/want"
for kind in udp ethernet; do
	python3 - "$cap" "$dir/other.pcap" $kind <<'P'
import struct, sys
data = open(sys.argv[1], 'rb').read()
out = open(sys.argv[2], 'wb')
out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
at = 0
while at < len(data):
    kind, length = struct.unpack_from('<II', data, at)
    if kind == 6:
        n = struct.unpack_from('<I', data, at + 20)[0]
        frame = data[at + 28:at + 28 + n]
        if sys.argv[3] == 'udp':
            frame = struct.pack('>6s6sH', b'\2' * 6, b'\4' * 6, 0x800) + struct.pack(
                '>BBHHHBBH4s4s', 0x45, 0, 28 + n, 0, 0, 64, 17, 0, b'\n\0\0\1', b'\n\0\0\2') + struct.pack(
                '>HHHH', 40000, 40001, 8 + n, 0) + frame
        else:
            frame = struct.pack('>6s6sH', b'\2' * 6, b'\4' * 6, 0x88b5) + struct.pack('<H', n) + frame
        out.write(struct.pack('<IIII', 0, 0, len(frame), len(frame)) + frame)
    at += length
P
	cap=$dir/other.pcap
	shark -T fields -e qt.kind -e qt.sequence >"$dir/got"
	cmp -s "$dir/want" "$dir/got" || fail "as $kind: $(diff "$dir/want" "$dir/got" | head -3)"
	cap=$dir/c.pcapng
done

# Wrong uses.
t run -n 2 --capture "$cap" true
expect 2 "one host"
said err '^torus run: --capture .*one host' "one host"
t run -n 2 --hosts local,local --capture /no/such/directory/x true
expect 2 "no directory"
lines err 1 "no directory"
finish
