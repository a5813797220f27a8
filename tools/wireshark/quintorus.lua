-- SPDX-License-Identifier: BSD-3-Clause
-- Wireshark and tshark: frames of Quintorus, with what is in them. Layouts: drivers/frame.h,
-- mu/transport/port_holder.h, emu/hw_packet.h, mu/hw/desc.h, pami/p2p/wire.h.
--
--   torus run --capture FILE ...        link type USER0
--   UDP (port uring:), Ethernet type 0x88b5 (port dpdk:)
--
-- tshark -X lua_script:quintorus.lua -r FILE -V

local frame = Proto("qt", "Quintorus frame")
local torus = Proto("qt_torus", "Torus packet")
local pami = Proto("qt_pami", "PAMI")

local MAGIC = 0x31575451
local HEADER, TRAILER, RUN = 64, 32, 16
local KIND = {[1] = "HELLO", [2] = "DATA", [3] = "ACK", [4] = "PROBE", [5] = "ECHO", [6] = "BYE"}
local RUN_KIND = {[0x01] = "record", [0x02] = "short messages", [0xf1] = "link packet", [0xf2] = "link credits",
	[0xf3] = "class route credits", [0xf4] = "global interrupt", [0xf5] = "line", [0xf6] = "told"}
local PACKET_TYPE = {[0] = "memory FIFO", [1] = "direct put", [2] = "remote get", [3] = "paced remote get"}
local DATA_TYPE = {[0x55] = "point to point", [0x5a] = "collective"}
local VC = {[0] = "dynamic", "deterministic", "high priority", "system", "user, world", "user, sub", "system collective"}
local WIRE_KIND = {[1] = "SHORT", [2] = "SHORT_PACKED", [3] = "EAGER", [4] = "EAGER_HEAD", [5] = "EAGER_DATA",
	[6] = "RTS", [7] = "DONE", [8] = "RMW", [9] = "FENCE"}
local LINK = {[0] = "A-", "A+", "B-", "B+", "C-", "C+", "D-", "D+", "E-", "E+"}

local f = {
	version = ProtoField.uint8("qt.version", "Version"),
	kind = ProtoField.uint8("qt.kind", "Kind", base.DEC, KIND),
	flags = ProtoField.uint16("qt.flags", "Flags", base.HEX),
	sealed = ProtoField.bool("qt.flags.sealed", "Authenticated", 16, nil, 0x01),
	checked = ProtoField.bool("qt.flags.checked", "Checksum of the frame", 16, nil, 0x02),
	ask = ProtoField.bool("qt.flags.ask", "Asks for an answer", 16, nil, 0x04),
	commit = ProtoField.bool("qt.flags.commit", "Committed", 16, nil, 0x08),
	ready = ProtoField.bool("qt.flags.ready", "Ready", 16, nil, 0x10),
	check_me = ProtoField.bool("qt.flags.check_me", "Wants checksums", 16, nil, 0x20),
	hidden = ProtoField.bool("qt.flags.hidden", "Encrypted", 16, nil, 0x40),
	head_checked = ProtoField.bool("qt.flags.header_checked", "Checksum of the header", 16, nil, 0x80),
	first = ProtoField.bool("qt.flags.first", "Nothing acknowledged yet", 16, nil, 0x100),
	job = ProtoField.uint64("qt.job", "Job", base.HEX),
	source = ProtoField.uint16("qt.source", "Source host"),
	bytes = ProtoField.uint16("qt.bytes", "Bytes"),
	from = ProtoField.uint32("qt.from", "Epoch of the sender", base.HEX),
	to = ProtoField.uint32("qt.to", "Epoch of the receiver", base.HEX),
	sequence = ProtoField.uint32("qt.sequence", "Sequence"),
	ack = ProtoField.uint32("qt.ack", "Acknowledges up to"),
	checksum = ProtoField.uint32("qt.checksum", "Checksum", base.HEX),
	sack0 = ProtoField.uint64("qt.sack", "Also here", base.HEX),
	sack1 = ProtoField.uint64("qt.sack_high", "Also here", base.HEX),
	order = ProtoField.uint32("qt.order", "Transmission"),
	seen = ProtoField.uint32("qt.seen", "Largest transmission seen"),
	note_bytes = ProtoField.uint32("qt.note.frame_bytes", "Frame bytes"),
	note_window = ProtoField.uint32("qt.note.window", "Window"),
	note_nonce = ProtoField.uint32("qt.note.nonce", "Nonce", base.HEX),
	note_life = ProtoField.uint64("qt.note.life", "Life", base.HEX),
	note_echo = ProtoField.uint32("qt.note.echo", "Echo", base.HEX),
	seal_number = ProtoField.uint64("qt.seal.number", "Number of the seal"),
	seal_tag = ProtoField.bytes("qt.seal.tag", "Tag"),
	cipher = ProtoField.bytes("qt.encrypted", "Encrypted"),
	run_bytes = ProtoField.uint32("qt.run.bytes", "Bytes"),
	run_kind = ProtoField.uint16("qt.run.kind", "Kind", base.HEX, RUN_KIND),
	run_tag = ProtoField.uint32("qt.run.tag", "Tag"),
	record_source = ProtoField.uint32("qt.record.source", "Source task"),
	record_bytes = ProtoField.uint32("qt.record.bytes", "Payload bytes"),
	short_number = ProtoField.uint16("qt.short.number", "Channel number"),
	short_bytes = ProtoField.uint16("qt.short.bytes", "Payload bytes"),
	link_node = ProtoField.uint32("qt.link.node", "Node"),
	link_link = ProtoField.uint32("qt.link.link", "Comes in by", base.DEC, LINK),
	link_task = ProtoField.uint32("qt.link.task", "Source task"),
	link_source = ProtoField.uint32("qt.link.source", "Source node"),
	link_sequence = ProtoField.uint32("qt.link.sequence", "Number at the source"),
	link_hops = ProtoField.uint8("qt.link.hops", "Hops so far"),
	link_vc = ProtoField.uint8("qt.link.vc", "Virtual channel"),
	credits = ProtoField.uint64("qt.credits", "Credits", base.HEX),
	signal_route = ProtoField.uint8("qt.signal.route", "Class route"),
	signal_bits = ProtoField.uint8("qt.signal.bits", "Bits", base.HEX),
	line_at = ProtoField.uint64("qt.line.at", "Place in the segment", base.HEX),
	told = ProtoField.uint64("qt.told", "Word", base.HEX),
	payload = ProtoField.bytes("qt.payload", "Payload"),
}
frame.fields = f

local t = {
	data_type = ProtoField.uint8("qt_torus.data_type", "Type of data packet", base.HEX, DATA_TYPE),
	hints = ProtoField.uint8("qt_torus.hints", "Hints A- .. D+", base.HEX),
	hints_e = ProtoField.uint8("qt_torus.hints_e", "Hints E- E+", base.HEX, nil, 0xc0),
	dynamic = ProtoField.bool("qt_torus.dynamic", "Dynamic routing", 8, nil, 0x04),
	deposit = ProtoField.bool("qt_torus.deposit", "Deposit", 8, nil, 0x02),
	vc = ProtoField.uint8("qt_torus.vc", "Virtual channel", base.DEC, VC, 0xe0),
	zone = ProtoField.uint8("qt_torus.zone", "Zone", base.DEC, nil, 0x18),
	class_route = ProtoField.uint8("qt_torus.class_route", "Class route", base.DEC, nil, 0xf0),
	op_code = ProtoField.uint8("qt_torus.op_code", "Operation", base.HEX, nil, 0xf0),
	word = ProtoField.uint32("qt_torus.dest", "Destination", base.HEX),
	size = ProtoField.uint8("qt_torus.chunks", "Payload in chunks of 32", base.DEC, nil, 0x1f),
	packet_type = ProtoField.uint8("qt_torus.packet_type", "Type", base.DEC, PACKET_TYPE, 0xc0),
	skip = ProtoField.uint8("qt_torus.skip", "Skip"),
	fifo = ProtoField.uint16("qt_torus.rec_fifo", "Reception FIFO"),
	offset = ProtoField.uint64("qt_torus.put_offset", "Put offset", base.HEX),
	base_id = ProtoField.uint16("qt_torus.base_id", "Base address entry"),
	counter_id = ProtoField.uint16("qt_torus.counter_id", "Counter's base address entry"),
	valid = ProtoField.uint16("qt_torus.valid_bytes", "Valid bytes"),
	atomic = ProtoField.bool("qt_torus.atomic", "Atomic"),
	counter = ProtoField.uint64("qt_torus.counter_offset", "Counter offset", base.HEX),
	rget_fifo = ProtoField.uint16("qt_torus.rget_fifo", "Remote-get FIFO"),
	d_payload = ProtoField.uint64("qt_torus.desc.payload", "Payload address", base.HEX),
	d_length = ProtoField.uint64("qt_torus.desc.length", "Message length"),
	d_map = ProtoField.uint64("qt_torus.desc.fifo_map", "Torus FIFO map", base.HEX),
	a = ProtoField.uint8("qt_torus.dest.a", "A"), b = ProtoField.uint8("qt_torus.dest.b", "B"),
	c = ProtoField.uint8("qt_torus.dest.c", "C"), d = ProtoField.uint8("qt_torus.dest.d", "D"),
	e = ProtoField.uint8("qt_torus.dest.e", "E"),
}
torus.fields = t

local p = {
	kind = ProtoField.uint8("qt_pami.kind", "Kind", base.DEC, WIRE_KIND),
	origin = ProtoField.uint8("qt_pami.origin", "Context of the sender"),
	dispatch = ProtoField.uint16("qt_pami.dispatch", "Dispatch id"),
	header = ProtoField.uint16("qt_pami.header", "Header bytes"),
	data = ProtoField.uint32("qt_pami.data", "Data bytes"),
	token = ProtoField.uint32("qt_pami.token", "Token"),
	header_bytes = ProtoField.uint64("qt_pami.header_bytes", "Header bytes of the message"),
	data_bytes = ProtoField.uint64("qt_pami.data_bytes", "Data bytes of the message"),
	address = ProtoField.uint64("qt_pami.address", "Address", base.HEX),
	value = ProtoField.uint64("qt_pami.value", "Value", base.HEX),
	test = ProtoField.uint64("qt_pami.test", "Test", base.HEX),
	width = ProtoField.uint8("qt_pami.width", "Bytes of the word"),
	operation = ProtoField.uint8("qt_pami.operation", "Operation"),
}
pami.fields = p

local bad = ProtoExpert.new("qt.cut", "Is cut short", expert.group.MALFORMED, expert.severity.ERROR)
frame.experts = {bad}

local function up(n, unit)
	return math.floor((n + unit - 1) / unit) * unit
end

-- soft: the 14 software bytes of a memory-FIFO packet; payload: what follows, or nil. first: the
-- packet is the first of its message.
local function show_pami(soft, payload, tree, first)
	local kind = soft(0, 1):uint()
	if not WIRE_KIND[kind] then
		return nil
	end
	local s = tree:add(pami, soft)
	s:append_text(": " .. WIRE_KIND[kind])
	s:add_le(p.kind, soft(0, 1))
	s:add_le(p.origin, soft(1, 1))
	s:add_le(p.dispatch, soft(2, 2))
	s:add_le(p.header, soft(4, 2))
	s:add_le(p.data, soft(6, 4))
	s:add_le(p.token, soft(10, 4))
	if payload and first and (kind == 3 or kind == 4 or kind == 6) and payload:len() >= 16 then
		s:add_le(p.header_bytes, payload(0, 8))
		s:add_le(p.data_bytes, payload(8, 8))
		if kind == 6 and payload:len() >= 24 then
			s:add_le(p.address, payload(16, 8))
		end
	elseif payload and kind == 8 and payload:len() >= 32 then
		s:add_le(p.address, payload(0, 8))
		s:add_le(p.value, payload(8, 8))
		s:add_le(p.test, payload(16, 8))
		s:add_le(p.width, payload(24, 1))
		s:add_le(p.operation, payload(25, 1))
	end
	return WIRE_KIND[kind]
end

local function show_coordinates(word, tree)
	local v = word:le_uint()
	local s = tree:add_le(t.word, word)
	local x = {}
	for i, field in ipairs({t.a, t.b, t.c, t.d, t.e}) do
		x[i] = bit.band(bit.rshift(v, 30 - 6 * i), 63)
		s:add(field, word, x[i])
	end
	s:append_text(" (" .. table.concat(x, ",") .. ")")
	return "(" .. table.concat(x, ",") .. ")"
end

local function put_offset(h)
	return UInt64(h(14, 4):le_uint(), bit.band(h(12, 2):le_uint(), 0x1f))
end

-- The 32 bytes of a packet's header. Returns the type, and words for the summary.
local function show_header(h, tree, label)
	local s = tree:add(torus, h, label)
	local kind = bit.rshift(h(8, 1):uint(), 6)
	local half = h(12, 2):le_uint()
	s:add(t.data_type, h(0, 1))
	if h(0, 1):uint() == 0x5a then
		s:add(t.op_code, h(1, 1))
		s:add(t.class_route, h(2, 1))
	else
		s:add(t.hints, h(1, 1))
		s:add(t.hints_e, h(2, 1))
		s:add(t.dynamic, h(2, 1))
		s:add(t.deposit, h(2, 1))
		s:add(t.zone, h(3, 1))
	end
	s:add(t.vc, h(3, 1))
	local where = show_coordinates(h(4, 4), s)
	s:add(t.size, h(8, 1))
	s:add(t.packet_type, h(8, 1))
	s:add(t.skip, h(11, 1))
	if kind == 0 then
		s:add(t.fifo, h(12, 2), bit.band(bit.rshift(half, 6), 0x1ff))
		s:add(t.offset, h(12, 6), put_offset(h))
	elseif kind == 1 then
		local extra = h(22, 2):le_uint()
		s:add(t.base_id, h(12, 2), bit.rshift(half, 6))
		-- bits 37 .. 46 of the offset are in a field of their own
		s:add(t.offset, h(12, 6), UInt64(h(14, 4):le_uint(), bit.band(half, 0x1f) + bit.band(extra, 0x3ff) * 32))
		s:add(t.counter_id, h(18, 2), bit.band(h(18, 2):le_uint(), 0x3ff))
		s:add_le(t.valid, h(20, 2))
		s:add(t.atomic, h(22, 2), bit.band(extra, 0x400) ~= 0)
		s:add_le(t.counter, h(24, 8))
	else
		s:add(t.rget_fifo, h(12, 2), bit.rshift(half, 6))
	end
	s:append_text(": " .. PACKET_TYPE[kind] .. " to " .. where)
	return kind, PACKET_TYPE[kind] .. " to " .. where, s
end

local function show_descriptors(payload, tree)
	for at = 0, payload:len() - 64, 64 do
		local d = payload(at, 64)
		if d(32, 1):uint() ~= 0x55 and d(32, 1):uint() ~= 0x5a then
			return
		end
		local s = tree:add(torus, d, "Descriptor")
		s:add_le(t.d_payload, d(8, 8))
		s:add_le(t.d_length, d(16, 8))
		s:add_le(t.d_map, d(24, 8))
		show_header(d(32, 32), s, "Model of its packets")
	end
end

-- A packet: header and payload.
local function show_packet(h, payload, tree)
	local kind, words, s = show_header(h, tree, "Torus packet")
	if kind == 0 and h(0, 1):uint() == 0x55 then
		local name = show_pami(h(18, 14), payload, s, put_offset(h) == UInt64(0))
		words = name and (name .. ", " .. words) or words
	elseif kind >= 2 and payload then
		show_descriptors(payload, s)
	end
	if payload and payload:len() > 0 then
		tree:add(f.payload, payload)
	end
	return words
end

local function show_shorts(run, tag, tree)
	local at, n, words = 8, 0, nil
	tree:add_le(f.record_source, tag)
	show_coordinates(run(0, 4), tree)
	tree:add_le(f.short_number, run(4, 2))
	while at + 16 <= run:len() do
		local bytes = run(at, 2):le_uint()
		if at + 16 + bytes > run:len() then
			tree:add_proto_expert_info(bad)
			break
		end
		local s = tree:add(torus, run(at, 16 + bytes), "Short message")
		s:add_le(f.short_bytes, run(at, 2))
		words = show_pami(run(at + 2, 14), bytes > 0 and run(at + 16, bytes) or nil, s, true)
		if bytes > 0 then
			s:add(f.payload, run(at + 16, bytes))
		end
		at = at + 16 + up(bytes, 8)
		n = n + 1
	end
	return n .. " short" .. (words and " (" .. words .. ")" or "")
end

local function show_run(kind, tag, run, tree)
	local n = run:len()
	if kind == 0x01 and n >= 32 then
		tree:add_le(f.record_source, tag)
		tree:add(f.record_bytes, n - 32)
		return show_packet(run(0, 32), n > 32 and run(32) or nil, tree)
	elseif kind == 0x02 and n >= 8 then
		return show_shorts(run, tag, tree)
	elseif kind == 0xf1 and n >= 48 then
		tree:add(f.link_node, tag, bit.rshift(tag:le_uint(), 4))
		tree:add(f.link_link, tag, bit.band(tag:le_uint(), 15))
		tree:add_le(f.link_task, run(0, 4))
		tree:add_le(f.link_source, run(4, 4))
		tree:add_le(f.link_sequence, run(8, 4))
		tree:add(f.link_hops, run(14, 1))
		tree:add(f.link_vc, run(15, 1))
		return "link packet, " .. show_packet(run(16, 32), n > 48 and run(48) or nil, tree)
	elseif (kind == 0xf2 or kind == 0xf3) and n >= 8 then
		tree:add_le(f.credits, run(0, 8))
	elseif kind == 0xf4 and n >= 2 then
		tree:add(f.signal_route, run(0, 1))
		tree:add(f.signal_bits, run(1, 1))
	elseif kind == 0xf5 and n >= 8 then
		tree:add_le(f.line_at, run(0, 8))
	elseif kind == 0xf6 and n >= 8 then
		tree:add_le(f.told, run(0, 8))
	elseif n > 0 then
		tree:add(f.payload, run)
	end
	return RUN_KIND[kind] or string.format("run of kind %#x", kind)
end

local function show_runs(body, tree)
	local at, words = 0, {}
	while at + RUN <= body:len() do
		local bytes = body(at, 4):le_uint()
		if at + RUN + bytes > body:len() then
			tree:add_proto_expert_info(bad)
			break
		end
		local s = tree:add(frame, body(at, RUN + bytes), "Run")
		s:add_le(f.run_bytes, body(at, 4))
		s:add_le(f.run_kind, body(at + 4, 2))
		s:add_le(f.run_tag, body(at + 8, 4))
		words[#words + 1] = show_run(body(at + 4, 2):le_uint(), body(at + 8, 4), body(at + RUN, bytes), s)
		s:append_text(": " .. words[#words])
		at = at + up(RUN + bytes, 16)
	end
	return words
end

local function show_note(body, tree)
	if body:len() < 32 then
		return
	end
	tree:add_le(f.note_bytes, body(0, 4))
	tree:add_le(f.note_window, body(4, 4))
	tree:add_le(f.note_nonce, body(12, 4))
	tree:add_le(f.note_life, body(16, 8))
	tree:add_le(f.note_echo, body(24, 4))
end

function frame.dissector(buffer, info, root)
	if buffer:len() < HEADER or buffer(0, 4):le_uint() ~= MAGIC then
		return 0
	end
	local bytes = buffer(18, 2):le_uint()
	local kind, flags = buffer(5, 1):uint(), buffer(6, 2):le_uint()
	local tree = root:add(frame, buffer(0, math.min(bytes, buffer:len())))
	info.cols.protocol = "Quintorus"
	tree:add(f.version, buffer(4, 1))
	tree:add(f.kind, buffer(5, 1))
	local s = tree:add_le(f.flags, buffer(6, 2))
	for _, field in ipairs({f.sealed, f.checked, f.ask, f.commit, f.ready, f.check_me, f.hidden, f.head_checked, f.first}) do
		s:add_le(field, buffer(6, 2))
	end
	tree:add_le(f.job, buffer(8, 8))
	tree:add_le(f.source, buffer(16, 2))
	tree:add_le(f.bytes, buffer(18, 2))
	tree:add_le(f.from, buffer(20, 4))
	tree:add_le(f.to, buffer(24, 4))
	tree:add_le(f.sequence, buffer(28, 4))
	tree:add_le(f.ack, buffer(32, 4))
	tree:add_le(f.checksum, buffer(36, 4))
	tree:add_le(f.sack0, buffer(40, 8))
	tree:add_le(f.sack1, buffer(48, 8))
	tree:add_le(f.order, buffer(56, 4))
	tree:add_le(f.seen, buffer(60, 4))
	local text = (KIND[kind] or "unknown kind") .. " from host " .. buffer(16, 2):le_uint()
	local last = bytes - (bit.band(flags, 1) ~= 0 and TRAILER or 0)
	if last > buffer:len() or last < HEADER then
		tree:add_proto_expert_info(bad)
		info.cols.info = text .. ", cut short"
		return buffer:len()
	end
	if last < bytes and bytes <= buffer:len() then
		tree:add_le(f.seal_number, buffer(last, 8))
		tree:add(f.seal_tag, buffer(last + 16, 16))
	end
	if kind == 2 then
		text = text .. " " .. buffer(28, 4):le_uint()
	end
	if last > HEADER then
		local body = buffer(HEADER, last - HEADER)
		if bit.band(flags, 0x40) ~= 0 then
			tree:add(f.cipher, body)
			text = text .. ", encrypted"
		elseif kind == 2 then
			local words = show_runs(body, tree)
			text = text .. ": " .. table.concat(words, "; ", 1, math.min(#words, 4))
			text = text .. (#words > 4 and " and " .. (#words - 4) .. " more" or "")
		elseif kind == 1 or kind == 4 or kind == 5 then
			show_note(body, tree)
		end
	end
	info.cols.info = text
	return buffer:len()
end

-- DPDK's frames: the length of the frame follows the Ethernet header, in two bytes.
local ethernet = Proto("qt_ethernet", "Quintorus over Ethernet")
function ethernet.dissector(buffer, info, root)
	if buffer:len() < 2 + HEADER then
		return 0
	end
	return frame.dissector(buffer(2):tvb(), info, root)
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, frame)
DissectorTable.get("ethertype"):add(0x88b5, ethernet)
frame:register_heuristic("udp", function(buffer, info, root)
	if buffer:len() < HEADER or buffer(0, 4):le_uint() ~= MAGIC then
		return false
	end
	frame.dissector(buffer, info, root)
	return true
end)
