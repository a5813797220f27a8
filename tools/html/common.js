/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pages share: elements, numbers as text, colours, tips, tables, charts. */
"use strict";

function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith("on"))
			node.addEventListener(name.slice(2), value);
		else if (value !== undefined && value !== null && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	}
	for (const child of children.flat(3))
		if (child !== undefined && child !== null && child !== false)
			node.append(child);
	return node;
}

function el(tag, attributes, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/* ---- numbers ---- */

const text = {
	count: (n) => Math.round(n).toLocaleString("en"),
	digits: (n) => n === 0 ? "0" : n >= 1000 ? Math.round(n).toLocaleString("en") : String(Number(n.toPrecision(3))),
	scaled(n, base, units) {
		let i = 0;

		while (n >= base && i < units.length - 1) {
			n /= base;
			i++;
		}
		return text.digits(n) + " " + units[i];
	},
	bytes: (n) => text.scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]),
	rate: (n) => text.scaled(n, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
	big: (n) => n < 10000 ? text.count(n) : text.scaled(n, 1000, ["", "k", "M", "G", "T"]).replace(" ", "\u202f").trim(),
	seconds: (s) => s === 0 ? "0 s" : s < 1e-6 ? text.digits(s * 1e9) + " ns" : s < 1e-3 ? text.digits(s * 1e6) + " \u00b5s" :
		s < 1 ? text.digits(s * 1e3) + " ms" : text.digits(s) + " s",
	percent: (x) => (x >= 0.0995 ? (100 * x).toFixed(0) : (100 * x).toPrecision(2)) + " %",
};

const sum = (list) => list.reduce((a, b) => a + b, 0);
const most = (list) => list.reduce((a, b) => b > a ? b : a, 0);

/* ---- light and dark ---- */

const theme = {
	listeners: [],
	set(name) {
		document.documentElement.dataset.theme = name;
		theme.ramp = theme.makeRamp();
		theme.listeners.forEach((f) => f());
	},
	toggle() {
		theme.set(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
	},
	color: (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(),
	/* 32 colours from no load to the highest. */
	makeRamp() {
		const stops = [0, 1, 2, 3, 4].map((i) => {
			const hex = theme.color("ramp" + i);

			return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
		});

		return Array.from({length: 32}, (_, i) => {
			const x = i / 31 * 4, a = Math.min(3, Math.floor(x));

			return "rgb(" + stops[a].map((v, k) => Math.round(v + (stops[a + 1][k] - v) * (x - a))).join(",") + ")";
		});
	},
	/* The colour of x, 0 to 1. */
	load: (x) => theme.ramp[Math.max(0, Math.min(31, Math.round(x * 31)))],
};
theme.set(/[?#&]theme=(dark|light)/.exec(location.href)?.[1] ||
	(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));

/* ---- tips ---- */

const tip = {
	node: document.body.appendChild(el("div", {class: "tip", role: "status", hidden: true})),
	show(event, words) {
		const n = tip.node;

		n.textContent = words;
		n.hidden = false;
		n.style.left = Math.min(event.clientX + 14, innerWidth - n.offsetWidth - 8) + "px";
		n.style.top = Math.min(event.clientY + 16, innerHeight - n.offsetHeight - 8) + "px";
	},
	hide() {
		tip.node.hidden = true;
	},
};

/* Attributes of an element with a tip. */
function tipped(words) {
	return {onpointermove: (e) => tip.show(e, words()), onpointerleave: tip.hide};
}

/* ---- parts of pages ---- */

function card(title, note, ...children) {
	return el("section", {class: "card"}, el("h2", {}, title), note && el("p", {class: "note"}, note), children);
}

function tile(value, words, bad) {
	return el("div", {class: "tile" + (bad ? " bad" : "")}, el("b", {}, value), el("span", {}, words));
}

function meter(x) {
	return el("span", {class: "meter"}, el("i", {style: `width:${Math.max(0, Math.min(1, x)) * 100}%;background:${theme.load(x)}`}));
}

/*
 * A table that sorts by a click on a head. columns: {name, of(row), show(row)?, number?, wrap?}; of() is what it sorts
 * by. It shows `limit` rows at first.
 */
function table(columns, rows, {limit = 100, sort = 0, down = false, pick, label} = {}) {
	const body = el("tbody"), more = el("p", {class: "note", style: "margin:8px 0 0"});
	let shown = limit, found = rows;
	const heads = columns.map((c, i) => el("th", {class: c.number && "n", scope: "col"},
		el("button", {onclick: () => order(i), title: "Sort"}, c.name)));

	function cells(row) {
		const tr = el("tr", pick && {tabindex: 0, onclick: () => pick(row), onkeydown: (e) => e.key === "Enter" && pick(row)});

		for (const c of columns) {
			const value = c.show ? c.show(row) : c.of(row);

			tr.append(el("td", {class: c.number ? "n" : c.wrap && "wrap"}, value === undefined ? "" : value));
		}
		return tr;
	}
	function draw() {
		body.replaceChildren(...found.slice(0, shown).map(cells));
		more.replaceChildren();
		if (found.length > shown)
			more.append(`${text.count(shown)} of ${text.count(found.length)} rows. `,
				el("button", {onclick: () => { shown *= 4; draw(); }}, "Show more"));
	}
	function order(i) {
		const c = columns[i];

		down = i === sort ? !down : !!c.number;
		sort = i;
		apply();
	}
	function apply() {
		const of = columns[sort].of;

		found = [...found].sort((a, b) => {
			const x = of(a), y = of(b);

			return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
		});
		heads.forEach((h, i) => h.setAttribute("aria-sort", i === sort ? (down ? "descending" : "ascending") : "none"));
		draw();
	}
	apply();
	return {
		node: el("div", {}, el("div", {class: "scroll"}, el("table", {"aria-label": label}, el("thead", {}, el("tr", {}, heads)), body)), more),
		filter(test) {
			found = rows.filter(test);
			apply();
		},
	};
}

/* Round values for the ticks of an axis from 0 to max. */
function ticks(max, count = 4) {
	const raw = max / count || 1, power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].find((m) => m * power >= raw) * power;

	return Array.from({length: Math.floor(max / step + 1e-9) + 1}, (_, i) => i * step);
}

function path(points) {
	return points.map((p, i) => (i ? "L" : "M") + p[0].toFixed(1) + " " + p[1].toFixed(1)).join("");
}

/*
 * Lines over a common x. series: {name, color, points: [[x, y]...], dashed?}; x and y: {show, log?, label}.
 */
function lineChart(series, {x, y, width = 620, height = 250, from0 = true}) {
	const left = 62, right = 14, top = 12, bottom = 40;
	const all = series.flatMap((s) => s.points).filter((p) => !(x.log && p[0] <= 0) && !(y.log && p[1] <= 0));

	if (!all.length)
		return el("p", {class: "note"}, "Nothing was measured.");
	const scale = (axis, k, low, high) => {
		const f = axis.log ? Math.log10 : (v) => v;
		let min = all.reduce((a, p) => Math.min(a, p[k]), Infinity), max = all.reduce((a, p) => Math.max(a, p[k]), -Infinity);

		if (!axis.log && from0)
			min = Math.min(0, min);
		if (axis.log && axis.base10) {
			min = 10 ** Math.floor(Math.log10(min));
			max = 10 ** Math.ceil(Math.log10(max));
		}
		if (min === max)
			max = axis.log ? min * 10 : min + 1;
		return {min, max, at: (v) => low + (f(v) - f(min)) / (f(max) - f(min)) * (high - low)};
	};
	const sx = scale(x, 0, left, width - right), sy = scale(y, 1, height - bottom, top);
	const marks = (axis, s) => {
		if (!axis.log)
			return ticks(s.max).filter((v) => v >= s.min);
		const powers = [], base = axis.base || 10;

		for (let e = Math.ceil(Math.log(s.min) / Math.log(base) - 1e-9); base ** e <= s.max * 1.0001; e++)
			powers.push(base ** e);
		const step = Math.ceil(powers.length / 8);

		return powers.filter((_, i) => i % step === 0);
	};

	return svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img"},
		marks(y, sy).map((v) => [svg("line", {class: "axis", x1: left, x2: width - right, y1: sy.at(v), y2: sy.at(v)}),
			svg("text", {x: left - 8, y: sy.at(v) + 4, "text-anchor": "end"}, y.show(v))]),
		marks(x, sx).map((v) => svg("text", {x: sx.at(v), y: height - bottom + 17, "text-anchor": "middle"}, x.show(v))),
		svg("text", {x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle"}, x.label),
		series.map((s) => {
			const points = s.points.filter((p) => !(x.log && p[0] <= 0) && !(y.log && p[1] <= 0)).map((p) => [sx.at(p[0]), sy.at(p[1]), p]);

			return [points.length > 1 && svg("path", {d: path(points), fill: "none", stroke: s.color, "stroke-width": 2, "stroke-linejoin": "round",
				"stroke-dasharray": s.dashed && "5 4"}),
				points.length <= 64 && points.map((p) => svg("circle", {cx: p[0], cy: p[1], r: s.dashed ? 3.5 : 3, stroke: s.color, "stroke-width": 1.6,
					fill: s.dashed ? "var(--card)" : s.color, ...tipped(() => `${s.name}\n${x.show(p[2][0])}: ${y.show(p[2][1])}`)}))];
		}));
}

/* The keys of a page, and the dialogue that lists them. */
function keyboard(keys) {
	const dialog = el("dialog", {"aria-label": "Keys"}, el("h2", {}, "Keys"),
		el("table", {}, keys.map(([names, words]) => el("tr", {}, el("td", {}, names.map((n) => [el("kbd", {}, n === " " ? "space" : n.replace("Arrow", "")), " "])),
			el("td", {}, words)))), el("p", {}, el("button", {onclick: () => dialog.close()}, "Close")));

	document.body.append(dialog);
	keys.push([["?"], "", () => dialog.showModal()]);
	addEventListener("keydown", (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey || dialog.open || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== "range")
			return;
		if (e.target.type === "range" && e.key.startsWith("Arrow") || e.target.tagName === "BUTTON" && e.key === " ")
			return;
		const found = keys.find(([names]) => names.includes(e.key));

		if (found) {
			e.preventDefault();
			found[2](e.key);
		}
	});
	return dialog;
}
