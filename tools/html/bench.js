/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of bench/run --html. `data` is {facts, rounds, rows, curves, figures}. */
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const unitText = (v, unit) => `${text.digits(v)} ${unit}`;

function verdict(row) {
	if (row.median === undefined)
		return ["not measured", ""];
	if (row.target === null)
		return ["reported", ""];
	return row.met ? ["met", "met"] : row.limit && row.limit.met ? ["met by ratio", "met"] : ["missed", "missed"];
}

/* Bars of one row: ours and what was measured beside it, with lowest and highest, and the target. */
function bars(row) {
	const list = [["Quintorus", row, "var(--accent)"], ...Object.entries(row.beside).map(([name, b]) => [name, b, "var(--ramp0)"])].filter(([, b]) => b.median !== undefined);

	if (!list.length)
		return el("span", {class: "note"}, row.missing[""] || "");
	const width = 460, left = 120, right = 92, line = 19, height = list.length * line;
	const top = most([...list.map(([, b]) => b.high ?? b.median), row.target ?? 0]) || 1, x = (v) => left + v / top * (width - left - right);

	return svg("svg", {viewBox: `0 0 ${width} ${height}`, style: `width:${width}px;height:${height}px`, role: "img", "aria-label": row.name}, list.map(([name, b, color], i) => [
		svg("text", {x: left - 8, y: i * line + 13, "text-anchor": "end", class: i ? "" : "strong"}, name.length > 19 ? name.slice(0, 18) + "\u2026" : name),
		svg("rect", {x: left, y: i * line + 3, width: Math.max(1, x(b.median) - left), height: line - 7, rx: 3, fill: color,
			...tipped(() => `${name}${b.settings ? " [" + b.settings + "]" : ""}\nmedian ${unitText(b.median, row.unit)}\n${text.digits(b.low)} to ${unitText(b.high, row.unit)}` +
				(b.ratio ? `\nours is ${b.ratio.toFixed(2)} times this` : ""))}),
		svg("line", {x1: x(b.low), x2: x(b.high), y1: i * line + line / 2 - .5, y2: i * line + line / 2 - .5, stroke: "var(--ink)", "stroke-width": 1.2}),
		svg("text", {x: x(b.high ?? b.median) + 6, y: i * line + 13, class: i ? "" : "strong"}, unitText(b.median, row.unit))]),
	row.target !== null && svg("line", {x1: x(row.target), x2: x(row.target), y1: 0, y2: height, class: "mark", ...tipped(() => `target ${unitText(row.target, row.unit)}`)}));
}

function rowsCard() {
	const rank = {missed: 0, "not measured": 1, "met by ratio": 2, met: 3, reported: 4};
	const t = table([
		{name: "measurement", of: (r) => r.name, wrap: true},
		{name: "beside its peers", of: (r) => r.name, show: bars},
		{name: "better", of: (r) => r.better, show: (r) => r.better === "low" ? "less" : "more"},
		{name: "target", of: (r) => r.target ?? 0, show: (r) => r.target === null ? "" : unitText(r.target, r.unit), number: true},
		{name: "verdict", of: (r) => rank[verdict(r)[0]], show: (r) => el("span", {class: verdict(r)[1]}, verdict(r)[0])},
	], data.rows, {limit: 200, label: "Measurements", sort: 4});
	const search = el("input", {type: "search", placeholder: "words of a measurement", "aria-label": "Find measurements",
		oninput: () => t.filter((r) => search.value.toLowerCase().split(/\s+/).every((w) => r.name.toLowerCase().includes(w)))});

	t.node.firstChild.style.maxHeight = "none";
	return card("Measurements", `Medians of ${data.rounds} round${data.rounds > 1 ? "s" : ""}; the line on a bar goes from the lowest to the highest, the dashed line is the target.`,
		el("div", {class: "bar"}, search), t.node);
}

/* What the horizontal axes of these figures are (docs/references.md). */
const axes = {"pami-f5": "processes on the node", "pami-t3": "neighbours at once"};

/* Published figures: a chart for each where there are several points, else a row of a table. */
function figureCards() {
	const figures = new Map(), single = [], charts = [];

	for (const row of data.curves) {
		const key = `${row.figure} (${row.unit}, ${row.clock} clock)`;

		if (!figures.has(key))
			figures.set(key, []);
		figures.get(key).push(row);
	}
	for (const [name, rows] of figures) {
		const lines = new Map();

		for (const row of rows) {
			if (!lines.has(row.what))
				lines.set(row.what, []);
			lines.get(row.what).push(row);
		}
		if (![...lines.values()].some((l) => l.length > 1)) {
			single.push(...rows);
			continue;
		}
		const colors = ["var(--host0)", "var(--host1)", "var(--host2)", "var(--host3)"];
		const series = [...lines].flatMap(([what, list], i) => [
			{name: what, color: colors[i % 4], points: list.map((r) => [r.x, r.value])},
			{name: what + ", published", color: colors[i % 4], dashed: true, points: list.filter((r) => r.published !== null).map((r) => [r.x, r.published])}]);
		const wide = most(rows.map((r) => r.x)) > 64;

		charts.push(card(name, null, el("div", {class: "bar"}, [...lines.keys()].map((what, i) => el("span", {class: "key"}, el("i", {style: `background:${colors[i % 4]}`}), what)),
			el("span", {class: "key"}, "hollow: published")),
		lineChart(series.filter((s) => s.points.length), {x: {show: text.digits, label: axes[rows[0].figure] || "bytes", log: wide, base: 2}, y: {show: text.digits}})));
	}
	return [charts.length > 0 && el("div", {class: "two"}, charts),
		single.length > 0 && card("Published figures", "docs/references.md says what each tag is; cal marks rows that the cost table was fitted to.", table([
			{name: "figure", of: (r) => r.figure}, {name: "what", of: (r) => r.what, wrap: true}, {name: "clock", of: (r) => r.clock},
			{name: "published", of: (r) => r.published ?? -1, show: (r) => r.published === null ? "" : unitText(r.published, r.unit), number: true},
			{name: "here", of: (r) => r.value, show: (r) => unitText(r.value, r.unit), number: true},
			{name: "ratio", of: (r) => r.value / r.published || 0, show: (r) => r.published ? (r.value / r.published).toFixed(2) : "", number: true},
			{name: "", of: (r) => r.note || "", wrap: true}], single, {label: "Published figures"}).node)];
}

const counts = {met: 0, missed: 0, "met by ratio": 0, reported: 0, "not measured": 0};

data.rows.forEach((r) => { counts[verdict(r)[0]]++; });
const dialog = keyboard([[["t"], "light or dark", theme.toggle]]);

document.title = "Quintorus benches";
document.getElementById("app").replaceChildren(...[
	el("header", {}, el("div", {}, el("h1", {}, "Quintorus benches"), el("div", {class: "what"}, Object.entries(data.facts).map(([k, v]) => `${k} ${v}`).join(" \u00b7 "))),
		el("nav", {}, el("button", {onclick: theme.toggle, title: "t"}, "Light / dark"), el("button", {onclick: () => dialog.showModal(), title: "?"}, "Keys"))),
	el("div", {class: "tiles"}, tile(text.count(data.rows.length), "measurements"), tile(text.count(counts.met + counts["met by ratio"]), "meet their target"),
		counts.missed > 0 && tile(text.count(counts.missed), "miss it", true), counts["not measured"] > 0 && tile(text.count(counts["not measured"]), "not measured", true)),
	rowsCard(), ...figureCards(),
	data.figures.length > 0 && card("Published numbers and the virtual clock", null, el("div", {class: "scroll"}, el("pre", {class: "mono", style: "margin:12px"}, data.figures.join("\n")))),
].filter(Boolean));
document.documentElement.dataset.ready = "yes";
