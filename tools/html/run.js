/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of torus run --html. `data` is what tools/page.c printed. */
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const run = data.run, isVirtual = run.clock === "virtual";
const shape = new Shape(run.shape, data.mesh);
const frameSeconds = data.interval / (isVirtual ? 1e12 : 1e9);
const columns = shape.nodes * 10;
const clockSeconds = isVirtual && run.virtual ? run.virtual.us / 1e6 : run.seconds;

/* ---- the loads of links ---- */

const series = new Map(data.link_bytes.map(([column, ...values]) => [column, values]));
const totals = new Float64Array(columns);
const linkOf = new Map(run.links.map((l) => [l.node * 10 + 2 * LETTERS.indexOf(l.link[0]) + (l.link[1] === "+" ? 1 : 0), l]));

for (const [column, l] of linkOf)
	totals[column] = l.bytes;
const busiestTotal = most([...totals]) || 1;
const busiestFrame = most(data.link_bytes.map(([, ...values]) => most(values))) || 1;
const hasLinks = linkOf.size > 0;
/* Bytes that a link can carry in a second of virtual time. */
const capacity = data.link_ps_per_byte ? 1e12 / data.link_ps_per_byte : 0;

/* What a column of links carried in a frame, and how long the frame is; frame -1 is the whole run. */
const bytesAt = (column, frame) => frame < 0 ? totals[column] : series.get(column)?.[frame] || 0;
const secondsAt = (frame) => frame < 0 ? clockSeconds || frameSeconds : Math.min(frameSeconds, Math.max(clockSeconds - frame * frameSeconds, 1e-12));

function loadWords(column, frame) {
	const bytes = bytesAt(column, frame), rate = bytes / secondsAt(frame);

	return text.bytes(bytes) + (bytes ? `, ${text.rate(rate)}` + (capacity ? `, ${text.percent(rate / capacity)} of the link` : "") : "");
}

const coordText = (node) => "(" + shape.coords(node).join(",") + ")";
const tasksOf = new Map();

data.tasks.forEach(([node], task) => tasksOf.get(node)?.push(task) || tasksOf.set(node, [task]));
const hostOfNode = (node) => tasksOf.has(node) ? data.tasks[tasksOf.get(node)[0]][2] : 0;

function tipOf(node, link) {
	if (link >= 0) {
		const to = shape.neighbour(node, link);

		return `node ${node} ${coordText(node)} over ${linkName(link)}\nto node ${to} ${coordText(to)}\n${loadWords(node * 10 + link, state.frame)}`;
	}
	const tasks = tasksOf.get(node) || [];
	let bytes = 0;

	for (let link = 0; link < 10; link++)
		bytes += bytesAt(node * 10 + link, state.frame);
	return `node ${node} ${coordText(node)}\n${tasks.length === 1 ? "task" : "tasks"} ${tasks.slice(0, 8).join(", ")}${tasks.length > 8 ? "\u2026" : ""}` +
		(run.hosts.length > 1 ? `\nhost ${hostOfNode(node)}` : "") + `\nsends ${text.bytes(bytes)} over its links`;
}

/* ---- the torus and its time ---- */

const state = {frame: -1, playing: 0, scale: "run"};
/* The dimensions with the most traffic are innermost, where links are drawn straight. */
const traffic = [0, 1, 2, 3, 4].map((d) => [...linkOf].reduce((a, [column, l]) => a + ((column % 10) >> 1 === d ? l.bytes : 0), 0));
const view = new TorusView(shape, {order: [4, 3, 2, 1, 0].sort((a, b) => traffic[b] - traffic[a] || shape.n[b] - shape.n[a]), changed: showNode, tipOf, hostOf: hostOfNode});
const side = el("aside", {class: "side", "aria-live": "polite"});
const when = el("output", {});
const slider = el("input", {type: "range", min: -1, max: Math.max(-1, data.frames - 1), step: 1, value: -1, "aria-label": "Time",
	oninput: () => setFrame(+slider.value)});
const playButton = el("button", {onclick: play, "aria-label": "Play"}, "\u25b6 Play");
let overview = null, heat = null;

function currentLoads() {
	const loads = new Float32Array(columns);
	let top = state.frame < 0 ? busiestTotal : busiestFrame;

	if (state.scale === "capacity")
		top = capacity * secondsAt(state.frame);
	else if (state.scale === "frame" && state.frame >= 0)
		top = most(data.link_bytes.map(([, ...values]) => values[state.frame] || 0)) || 1;
	for (const column of linkOf.keys())
		loads[column] = Math.min(1, bytesAt(column, state.frame) / top);
	for (const column of series.keys())
		loads[column] = Math.min(1, bytesAt(column, state.frame) / top);
	return loads;
}

function setFrame(frame) {
	state.frame = Math.max(-1, Math.min(data.frames - 1, frame));
	slider.value = state.frame;
	when.textContent = state.frame < 0 ? `whole run, ${text.seconds(clockSeconds)}` :
		`${text.seconds(state.frame * frameSeconds)} \u2013 ${text.seconds((state.frame + 1) * frameSeconds)}`;
	view.setLoads(currentLoads());
	showNode(view.picked);
	overview?.mark();
	heat?.draw();
}

function play() {
	if (state.playing) {
		clearInterval(state.playing);
		state.playing = 0;
		playButton.textContent = "\u25b6 Play";
		return;
	}
	playButton.textContent = "\u275a\u275a Stop";
	state.playing = setInterval(() => setFrame(state.frame + 1 < data.frames ? state.frame + 1 : 0), 180);
}

function showNode(node) {
	if (node < 0) {
		side.replaceChildren(el("h3", {}, "Links by direction"), directions(),
			el("p", {class: "note", style: "margin-top:10px"}, "Mean over the nodes, and the busiest. Click a node, or press an arrow key, to see its links."));
		return;
	}
	const tasks = tasksOf.get(node) || [], rows = [];

	for (let link = 0; link < 10; link++) {
		const column = node * 10 + link, to = shape.neighbour(node, link);

		if (to < 0)
			continue;
		rows.push(el("tr", {onpointermove: (e) => tip.show(e, tipOf(node, link)), onpointerleave: tip.hide}, el("td", {}, linkName(link)),
			el("td", {}, `${to}`), el("td", {class: "n"}, text.bytes(bytesAt(column, state.frame))), el("td", {}, spark(series.get(column)))));
	}
	side.replaceChildren(el("h3", {}, `Node ${node} ${coordText(node)}`),
		el("dl", {}, el("dt", {}, tasks.length === 1 ? "task" : "tasks"), el("dd", {}, tasks.length ? tasks.slice(0, 12).join(", ") + (tasks.length > 12 ? "\u2026" : "") : "none"),
			run.hosts.length > 1 && [el("dt", {}, "host"), el("dd", {}, run.hosts[hostOfNode(node)].name)]),
		el("table", {}, el("thead", {}, el("tr", {}, ["link", "to", "sent", "over time"].map((h, i) => el("th", {class: i === 2 && "n"}, h)))), el("tbody", {}, rows)),
		el("p", {style: "margin:10px 0 0"}, el("button", {onclick: () => view.pick(-1)}, "Back to directions")));
}

function directions() {
	const rows = [];
	let top = 1;

	for (let link = 0; link < 10; link++) {
		if (shape.n[link >> 1] < 2)
			continue;
		let all = 0, peak = 0;

		for (let node = 0; node < shape.nodes; node++) {
			const bytes = bytesAt(node * 10 + link, state.frame);

			all += bytes;
			peak = Math.max(peak, bytes);
		}
		rows.push({link, mean: all / shape.nodes, peak});
		top = Math.max(top, peak);
	}
	return el("table", {}, el("thead", {}, el("tr", {}, ["", "mean", "busiest", ""].map((h, i) => el("th", {class: (i === 1 || i === 2) && "n"}, h)))),
		el("tbody", {}, rows.map((r) => el("tr", {}, el("td", {}, linkName(r.link)), el("td", {class: "n"}, text.bytes(r.mean)),
			el("td", {class: "n"}, text.bytes(r.peak)), el("td", {}, meter(r.mean / top))))));
}

/* A small line of amounts over all frames. */
function spark(values, width = 76, height = 18) {
	if (!values || !values.length)
		return el("span", {class: "note"}, "\u2013");
	const top = most(values) || 1, step = width / Math.max(1, data.frames);
	let d = `M0 ${height}`;

	for (let i = 0; i < data.frames; i++) {
		const y = (height - (values[i] || 0) / top * (height - 2)).toFixed(1);

		d += `L${(i * step).toFixed(1)} ${y}L${((i + 1) * step).toFixed(1)} ${y}`;
	}
	return svg("svg", {viewBox: `0 0 ${width} ${height}`, style: `width:${width}px;height:${height}px`, "aria-hidden": "true"},
		svg("path", {d: d + `L${width} ${height}Z`, fill: "var(--accent)", opacity: .55}));
}

/* All links together over time, above the slider; a click picks a frame. */
function makeOverview() {
	const width = 1000, height = 64, all = Array(data.frames).fill(0);

	for (const values of series.values())
		values.forEach((v, i) => { all[i] += v; });
	const top = most(all) || 1, step = width / data.frames;
	const bars = all.map((v, i) => svg("rect", {x: i * step + .5, width: Math.max(1, step - 1), y: height - v / top * (height - 4), height: v / top * (height - 4), rx: 1.5,
		...tipped(() => `${text.seconds(i * frameSeconds)}\nall links: ${text.bytes(v)}, ${text.rate(v / secondsAt(i))}`)}));
	const node = svg("svg", {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", style: "height:64px;cursor:pointer", role: "img",
		"aria-label": "Bytes on all links over time", onclick: (e) => {
			const box = node.getBoundingClientRect();

			setFrame(Math.floor((e.clientX - box.left) / box.width * data.frames));
		}}, bars);

	return {node, mark: () => bars.forEach((b, i) => {
		b.setAttribute("fill", i === state.frame ? "var(--ramp3)" : "var(--accent)");
		b.setAttribute("opacity", state.frame < 0 || i === state.frame ? .85 : .4);
	})};
}

function torusCard() {
	const dims = [0, 1, 2, 3, 4].filter((d) => shape.n[d] > 1).map((d) => {
		const choice = el("select", {"aria-label": `Dimension ${LETTERS[d]}`, onchange: () => {
			view.choose(d, choice.value === "x" || choice.value === "y" ? choice.value : +choice.value);
		}}, el("option", {value: "x"}, "across"), el("option", {value: "y"}, "down"),
			Array.from({length: shape.n[d]}, (_, i) => el("option", {value: i}, `only ${i}`)));
		const links = el("button", {"aria-pressed": "true", title: `Show the links of ${LETTERS[d]}`, style: "border:0;border-radius:0;border-left:1px solid var(--line)", onclick: () => {
			view.shows[d] = !view.shows[d];
			links.setAttribute("aria-pressed", view.shows[d]);
			view.place();
		}}, "links");

		choice.value = view.axes[d];
		return el("span", {class: "dim"}, el("b", {}, LETTERS[d]), el("span", {class: "note", style: "margin:0"}, `${shape.n[d]}${shape.mesh >> d & 1 ? " mesh" : ""}`), choice, links);
	});
	const scale = el("select", {"aria-label": "Colours", onchange: () => {
		state.scale = scale.value;
		setFrame(state.frame);
	}}, el("option", {value: "run"}, "busiest link of the run"), el("option", {value: "frame"}, "busiest link at that time"),
		capacity && el("option", {value: "capacity"}, "what a link can carry"));

	return card("The torus", hasLinks || shape.nodes === 1 ? "Each line is one direction of a link; colour and width are its load. Stubs at the edges wrap around. " +
		"Dimensions on one axis are nested, and arcs join the blocks: the one chosen last is innermost." : "This run has counted no links" +
		(run.fabric === "express" && isVirtual ? ": fabric express in virtual time walks none." : "."),
		el("div", {class: "bar"}, el("span", {class: "group"}, dims), el("span", {class: "group"}, el("label", {}, "full colour:"), scale),
			el("span", {class: "legend"}, "idle", el("i"), "full"),
			run.hosts.length > 1 && run.hosts.slice(0, 4).map((h, i) => el("span", {class: "key"}, el("i", {style: `background:var(--host${i})`}), `host ${i} ${h.name}`))),
		el("div", {class: "stage"}, el("div", {}, el("div", {class: "canvas"}, view.canvas),
			overview && el("div", {style: "margin-top:14px"}, overview.node),
			data.frames > 1 && el("div", {class: "time"}, playButton, slider, when)), side));
}

/* ---- the busiest links over time ---- */

function heatCard() {
	const rows = [...series].map(([column, values]) => ({column, values, total: sum(values)})).sort((a, b) => b.total - a.total).slice(0, 32);
	const canvas = el("canvas", {role: "img", "aria-label": "The busiest links over time"}), rowHeight = 15, left = 96;

	if (data.frames < 2 || !rows.length)
		return null;
	const at = (e) => {
		const box = canvas.getBoundingClientRect();

		return {row: rows[Math.floor((e.clientY - box.top) / rowHeight)], frame: Math.floor((e.clientX - box.left - left) / (box.width - left) * data.frames)};
	};

	function draw() {
		const width = canvas.clientWidth || 600, ratio = window.devicePixelRatio || 1, g = canvas.getContext("2d");
		const step = (width - left) / data.frames;

		canvas.width = width * ratio;
		canvas.height = rows.length * rowHeight * ratio;
		canvas.style.height = rows.length * rowHeight + "px";
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.font = "11.5px system-ui, sans-serif";
		rows.forEach((r, i) => {
			g.fillStyle = theme.color("soft");
			g.fillText(`node ${Math.floor(r.column / 10)} ${linkName(r.column % 10)}`, 0, i * rowHeight + 11.5);
			for (let f = 0; f < data.frames; f++) {
				const v = r.values[f] || 0;

				g.fillStyle = v ? theme.load(v / busiestFrame) : theme.color("faint");
				g.fillRect(left + f * step, i * rowHeight + 1, Math.max(1, step - 1), rowHeight - 2);
			}
		});
		if (state.frame >= 0) {
			g.strokeStyle = theme.color("ink");
			g.lineWidth = 1.5;
			g.strokeRect(left + state.frame * step - .5, .5, step, rows.length * rowHeight - 1);
		}
	}
	canvas.onpointermove = (e) => {
		const {row, frame} = at(e);

		if (row && frame >= 0 && frame < data.frames)
			tip.show(e, `node ${Math.floor(row.column / 10)} ${linkName(row.column % 10)} at ${text.seconds(frame * frameSeconds)}\n${loadWords(row.column, frame)}`);
		else
			tip.hide();
	};
	canvas.onpointerleave = tip.hide;
	canvas.onclick = (e) => {
		const {row, frame} = at(e);

		if (row)
			view.pick(Math.floor(row.column / 10));
		if (frame >= 0)
			setFrame(frame);
	};
	new ResizeObserver(draw).observe(canvas);
	heat = {draw};
	return card("The busiest links over time", `${rows.length} of ${text.count(series.size)} links with traffic, ${text.seconds(frameSeconds)} a column; a click shows the node and the time above.`, canvas);
}

/* ---- how long packets took ---- */

function quantile(buckets, count, q) {
	let seen = 0;

	for (const [low, high, n] of buckets) {
		seen += n;
		if (seen >= q * count)
			return Math.sqrt(Math.max(1, low) * high);
	}
	return 0;
}

function histogram(buckets) {
	const width = 620, height = 240, left = 52, right = 12, top = 36, bottom = 38;
	const count = sum(buckets.map((b) => b[2]));
	const low = Math.log10(Math.max(1, buckets[0][0])) - .03, high = Math.log10(buckets[buckets.length - 1][1]) + .03;
	const x = (ps) => left + (Math.log10(Math.max(1, ps)) - low) / (high - low) * (width - left - right);
	const peak = most(buckets.map((b) => b[2])), y = (n) => height - bottom - n / peak * (height - top - bottom);
	const marks = [];

	for (let e = Math.floor(low); e <= high; e++)
		for (const m of high - low < 1.2 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : [1, 2, 5])
			if (Math.log10(m) + e >= low && Math.log10(m) + e <= high)
				marks.push(m * 10 ** e);
	const quantiles = [["median", .5], ["99 %", .99], ["longest", 1]].map(([name, q]) => [name, quantile(buckets, count, q)]);

	return el("div", {}, svg("svg", {viewBox: `0 0 ${width} ${height}`, style: "max-width:760px", role: "img", "aria-label": "How long packets took"},
		ticks(peak).map((v) => [svg("line", {class: "axis", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
			svg("text", {x: left - 7, y: y(v) + 4, "text-anchor": "end"}, text.big(v))]),
		buckets.map(([a, b, n]) => svg("rect", {x: x(a), width: Math.max(1, x(b) - x(a) - .6), y: y(n), height: Math.max(.8, height - bottom - y(n)), fill: "var(--accent)",
			...tipped(() => `${text.seconds(a / 1e12)} to ${text.seconds(b / 1e12)}\n${text.count(n)} packets, ${text.percent(n / count)}`)})),
		marks.map((v) => svg("text", {x: x(v), y: height - bottom + 16, "text-anchor": "middle"}, text.seconds(v / 1e12))),
		quantiles.slice(0, 2).map(([name, v], i) => [svg("line", {class: "mark", x1: x(v), x2: x(v), y1: 4 + 14 * i, y2: height - bottom}),
			svg("text", {class: "strong", x: x(v) + (x(v) > width - 90 ? -4 : 4), y: 13 + 14 * i, "text-anchor": x(v) > width - 90 ? "end" : "start"}, name)]),
		svg("text", {x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle"}, "from injection to delivery of a packet")),
	el("p", {class: "note", style: "margin:6px 0 0"}, `${text.count(count)} packets; ` + quantiles.map(([name, v]) => `${name} ${text.seconds(v / 1e12)}`).join(", ") + "."));
}

function tookCard() {
	if (!data.took.length)
		return null;
	const all = new Map();

	for (const t of data.took)
		for (const [a, b, n] of t.packets)
			all.set(a, [a, b, (all.get(a)?.[2] || 0) + n]);
	const sets = new Map([["all", [...all.values()].sort((a, b) => a[0] - b[0])], ...data.took.map((t) => [String(t.hops), t.packets])]);
	const where = el("div"), show = () => where.replaceChildren(histogram(sets.get(choice.value)));
	const choice = el("select", {"aria-label": "Distance", onchange: show}, [...sets.keys()].map((k) =>
		el("option", {value: k}, k === "all" ? "all packets" : k === "0" ? "within a node" : `over ${k} link${k === "1" ? "" : "s"}`)));

	show();
	const points = data.took.filter((t) => t.hops > 0).map((t) => [t.hops, quantile(t.packets, sum(t.packets.map((p) => p[2])), .5) / 1e12]);
	const slow = data.took.filter((t) => t.hops > 0).map((t) => [t.hops, quantile(t.packets, sum(t.packets.map((p) => p[2])), .99) / 1e12]);

	const shown = card("How long packets took", "In steps of a sixteenth of a power of two. A packet to several nodes counts once.", sets.size > 2 && el("div", {class: "bar"}, choice), where);

	return points.length < 2 ? shown : el("div", {class: "two"}, shown, card("By distance", "Links on the packet's way.",
			el("div", {class: "bar"}, el("span", {class: "key"}, el("i", {style: "background:var(--accent)"}), "median"), el("span", {class: "key"}, el("i", {style: "background:var(--ramp3)"}), "99 %")),
			lineChart([{name: "99 %", color: "var(--ramp3)", points: slow}, {name: "median", color: "var(--accent)", points}],
				{x: {show: (v) => String(v), label: "links"}, y: {show: text.seconds}})));
}

/* ---- wires between hosts ---- */

function wiresCard() {
	if (!data.wires.length)
		return null;
	const frames = (w) => w.samples.map((n, i) => n ? [i * frameSeconds, w.rtt_ns[i] / n / 1e9] : null).filter(Boolean);
	const lines = data.wires.slice(0, 8).map((w, i) => ({name: `${w.host} to ${w.peer}`, color: `var(--host${i % 4})`, dashed: i >= 4, points: frames(w)})).filter((s) => s.points.length);

	return card("Wires between hosts", "Round trip as the wire measures it, smoothed; frames are sent again when they are lost or late.",
		el("div", {class: "two"}, lines.length ? lineChart(lines, {x: {show: text.seconds, label: "time since the start"}, y: {show: text.seconds}}) : el("p", {class: "note"}, "No round trip was measured."),
			table([{name: "from", of: (w) => w.host, show: (w) => `${w.host} ${run.hosts[w.host].name}`}, {name: "to", of: (w) => w.peer, show: (w) => `${w.peer} ${run.hosts[w.peer].name}`},
				{name: "sent", of: (w) => sum(w.bytes), show: (w) => text.bytes(sum(w.bytes)), number: true},
				{name: "sent again", of: (w) => sum(w.resent), show: (w) => text.count(sum(w.resent)) + " frames", number: true},
				{name: "round trip", of: (w) => sum(w.rtt_ns) / sum(w.samples) || 0, show: (w) => sum(w.samples) ? text.seconds(sum(w.rtt_ns) / sum(w.samples) / 1e9) : "\u2013", number: true},
				{name: "over time", of: (w) => sum(w.bytes), show: (w) => spark(w.bytes)}], data.wires).node));
}

/* ---- tables ---- */

function linksCard() {
	const rows = [...linkOf].map(([column, l]) => ({column, node: l.node, link: column % 10, ...l, link_name: l.link}));

	if (!rows.length)
		return null;
	const t = table([
		{name: "link", of: (r) => r.column, show: (r) => `${r.node} ${linkName(r.column % 10)}`},
		{name: "from", of: (r) => r.column, show: (r) => coordText(r.node)},
		{name: "to", of: (r) => shape.neighbour(r.node, r.column % 10), show: (r) => `${shape.neighbour(r.node, r.column % 10)} ${coordText(shape.neighbour(r.node, r.column % 10))}`},
		{name: "packets", of: (r) => r.packets, show: (r) => text.count(r.packets), number: true},
		{name: "bytes", of: (r) => r.bytes, show: (r) => text.count(r.bytes), number: true},
		{name: capacity ? "busy" : "rate", of: (r) => r.bytes, show: (r) => capacity ? text.percent(r.bytes / clockSeconds / capacity) : text.rate(r.bytes / clockSeconds), number: true},
		{name: "of the busiest", of: (r) => r.bytes, show: (r) => meter(r.bytes / busiestTotal)},
		{name: "over time", of: (r) => r.bytes, show: (r) => spark(series.get(r.column))},
		{name: "errors", of: (r) => r.errors, show: (r) => text.count(r.errors), number: true},
	], rows, {sort: 4, down: true, limit: 40, label: "Links", pick: (r) => { view.pick(r.node); view.canvas.scrollIntoView({block: "center"}); }});
	const search = el("input", {type: "search", placeholder: "node or link, such as 12 or A+", "aria-label": "Find links", oninput: () => {
		const words = search.value.toUpperCase().split(/\s+/).filter(Boolean);

		t.filter((r) => words.every((w) => /^[A-E][+-]?$/.test(w) ? linkName(r.column % 10).startsWith(w) : String(r.node) === w));
	}});

	return card("Links", "A click shows the node in the torus.", el("div", {class: "bar"}, search), t.node);
}

function tasksCard() {
	const waited = new Map(data.task_waited_ns.map(([task, ...values]) => [task, values]));
	const rows = data.tasks.map(([node, place, host], task) => ({task, node, place, host, waited: sum(waited.get(task) || []), series: waited.get(task)}));

	return card("Tasks", isVirtual ? "" : "Waited: how long the first thread polled in vain or slept in a call.", table([
		{name: "task", of: (r) => r.task, number: true},
		{name: "node", of: (r) => r.node, show: (r) => `${r.node} ${coordText(r.node)}`},
		{name: "place", of: (r) => r.place, number: true},
		{name: "host", of: (r) => r.host, show: (r) => run.hosts[r.host].name},
		...isVirtual ? [] : [{name: "waited", of: (r) => r.waited, show: (r) => text.seconds(r.waited / 1e9), number: true},
			{name: "of the run", of: (r) => r.waited, show: (r) => meter(r.waited / 1e9 / run.seconds)},
			{name: "over time", of: (r) => r.waited, show: (r) => spark(r.series)}],
	], rows, {limit: 40, label: "Tasks", pick: (r) => { view.pick(r.node); view.canvas.scrollIntoView({block: "center"}); }}).node);
}

function runCard() {
	const v = run.virtual, rows = [
		["program", data.program.join(" ")], ["started on", `${data.machine_name}, ${data.date}`], ["exit status", String(run.status)],
		["shape", run.shape.map((n, d) => n + (shape.mesh >> d & 1 ? "M" : "")).join(" \u00d7 ") + (run.processes_per_node > 1 ? `, ${run.processes_per_node} processes a node` : "")],
		["tasks", `${text.count(run.tasks)}, mapping ${run.mapping}`], ["fabric, clock", `${run.fabric}, ${run.clock}`], ["seed", String(run.seed)],
		["real time", text.seconds(run.seconds)],
		...v ? [["virtual time", `${text.digits(v.us)} \u00b5s`], ["events, packets, hops", [v.events, v.packets, v.hops].map(text.count).join(", ")],
			["hash", v.reproducible ? el("code", {}, v.hash) : "not reproducible"], ["simulator", `${text.seconds(v.simulator_seconds)}; tasks themselves ${text.seconds(v.tasks_seconds)}`]] : [],
		...run.hosts.length > 1 ? [["frames between hosts", run.seal === "none" ? "as they are" : run.seal]] : [],
	];
	const hosts = run.hosts.length > 1 && table([{name: "host", of: (h) => run.hosts.indexOf(h), number: true}, {name: "name", of: (h) => h.name},
		{name: "tasks", of: (h) => h.tasks, number: true}, {name: "port", of: (h) => h.port}], run.hosts, {label: "Hosts"}).node;

	return card("The run", null, el("table", {}, el("tbody", {}, rows.map(([a, b]) => el("tr", {}, el("th", {scope: "row", style: "position:static;width:20ch"}, a), el("td", {class: "wrap", style: "overflow-wrap:anywhere"}, b))))),
		hosts && el("div", {style: "margin-top:14px"}, hosts));
}

function machineCard() {
	const changed = data.machine.filter((r) => r.value !== r.usual);
	const valueOf = (r) => r.time ? text.seconds(r.value / 1e12) : r.value || "\u2013";
	const file = "[times]\n" + data.machine.filter((r) => r.time).map((r) => `${r.name} = ${r.value}\n`).join("") + "\n[structure]\n" +
		data.machine.filter((r) => !r.time).map((r) => `${r.name} = ${r.value}\n`).join("");
	const copy = el("button", {onclick: async () => {
		await navigator.clipboard.writeText(file);
		copy.textContent = "Copied";
	}}, "Copy as machine file");

	return card("The machine", changed.length ? `${changed.length} of ${data.machine.length} rows differ from the default: ${changed.map((r) => r.name).join(", ")}.` : "The default: Blue Gene/Q.",
		el("div", {class: "bar"}, copy),
		table([{name: "row", of: (r) => r.name, show: (r) => el("code", {}, r.name)}, {name: "value", of: (r) => r.time ? +r.value : r.value, show: valueOf, number: true},
			{name: "default", of: (r) => r.time ? +r.usual : r.usual, show: (r) => r.value === r.usual ? "" : valueOf({...r, value: r.usual}), number: true},
			{name: "what it is", of: (r) => r.source, wrap: true}], data.machine, {label: "Machine"}).node);
}

/* ---- the page ---- */

const used = [...totals].filter((b) => b > 0), mean = used.length ? sum(used) / used.length : 0;
const dialog = keyboard([
	[[" "], "play or stop", play],
	[[",", "."], "back and forth in time", (k) => setFrame(state.frame + (k === "." ? 1 : -1))],
	[["0"], "the whole run", () => setFrame(-1)],
	[["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], "pick a node", (k) => view.move(k === "ArrowLeft" ? -1 : k === "ArrowRight" ? 1 : 0, k === "ArrowUp" ? -1 : k === "ArrowDown" ? 1 : 0)],
	[["Escape"], "no node", () => view.pick(-1)],
	[["t"], "light or dark", theme.toggle],
]);

document.title = data.program.join(" ") + " \u2013 Quintorus";
if (data.frames > 1 && hasLinks)
	overview = makeOverview();
document.getElementById("app").replaceChildren(...[
	el("header", {}, el("div", {}, el("h1", {}, data.program.map((w, i) => i ? w : w.split("/").pop()).join(" ")),
		el("div", {class: "what"}, `${text.count(run.tasks)} task${run.tasks > 1 ? "s" : ""} on a torus of ${run.shape.join(" \u00d7 ")}, fabric ${run.fabric}, clock ${run.clock} \u00b7 ${data.machine_name}, ${data.date}`)),
	el("nav", {}, el("button", {onclick: theme.toggle, title: "t"}, "Light / dark"), el("button", {onclick: () => dialog.showModal(), title: "?"}, "Keys"))),
	el("div", {class: "tiles"},
		run.status !== 0 && tile(String(run.status), "exit status", true),
		run.virtual ? tile(text.seconds(run.virtual.us / 1e6), "virtual time") : tile(text.seconds(run.seconds), "real time"),
		tile(text.count(shape.nodes), `nodes, ${text.count(run.tasks)} tasks`),
		run.virtual ? tile(text.big(run.virtual.packets), "packets") : hasLinks && tile(text.big(sum(run.links.map((l) => l.packets))), "packets on links"),
		run.virtual && tile(text.big(run.virtual.hops), "packet-hops"),
		hasLinks && tile(capacity ? text.percent(busiestTotal / clockSeconds / capacity) : text.rate(busiestTotal / clockSeconds), "the busiest link, mean over the run"),
		hasLinks && tile(text.digits(busiestTotal / mean) + "\u00d7", "busiest link to mean of links in use"),
		data.wires.length > 0 && tile(text.count(sum(data.wires.map((w) => sum(w.resent)))), "frames sent again")),
	shape.nodes > 1 && torusCard(), heatCard(), tookCard(), wiresCard(), linksCard(), tasksCard(), runCard(), machineCard(),
].filter(Boolean));
theme.listeners.push(() => { view.draw(); heat?.draw(); showNode(view.picked); });
view.place();
setFrame(-1);
document.documentElement.dataset.ready = "yes";
