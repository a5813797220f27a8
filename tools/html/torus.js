/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The torus on a canvas. The reader says which dimensions go across and which go down; several on one
 * axis are nested. A dimension may also stay at one coordinate.
 *
 *	shape {n: [5], mesh}  ->  place(): where each node lies  ->  draw(loads)
 */
"use strict";

const LETTERS = "ABCDE";
const linkName = (link) => LETTERS[link >> 1] + (link & 1 ? "+" : "-");

class Shape {
	constructor(n, mesh) {
		this.n = n;
		this.mesh = mesh;
		this.nodes = n.reduce((a, b) => a * b, 1);
	}

	coords(node) {
		const c = [0, 0, 0, 0, 0];

		for (let d = 4; d >= 0; d--) {
			c[d] = node % this.n[d];
			node = Math.floor(node / this.n[d]);
		}
		return c;
	}

	node(c) {
		return c.reduce((a, v, d) => a * this.n[d] + v, 0);
	}

	/* The neighbour over a link; -1 where a mesh ends or a dimension has one node. */
	neighbour(node, link) {
		const d = link >> 1, c = this.coords(node), to = c[d] + (link & 1 ? 1 : -1);

		if (this.n[d] < 2 || (to < 0 || to >= this.n[d]) && this.mesh >> d & 1)
			return -1;
		c[d] = (to + this.n[d]) % this.n[d];
		return this.node(c);
	}
}

/* Spread dimensions over both axes so that the picture is somewhat wider than high. */
function defaultAxes(n) {
	const axes = ["x", "x", "x", "x", "x"], extent = {x: 1, y: 1};
	const order = [0, 1, 2, 3, 4].filter((d) => n[d] > 1).sort((a, b) => n[b] - n[a]);

	for (const d of order) {
		const axis = extent.x <= extent.y * 1.7 ? "x" : "y";

		axes[d] = axis;
		extent[axis] *= n[d];
	}
	return axes;
}

class TorusView {
	/* order: dimensions as they nest, the innermost first. changed(node): a node was picked, or none (-1). tipOf(node, link): text; link -1: the node. */
	constructor(shape, {order, changed, tipOf, hostOf}) {
		this.shape = shape;
		this.changed = changed;
		this.tipOf = tipOf;
		this.hostOf = hostOf;
		this.axes = defaultAxes(shape.n);
		this.order = order; /* of nesting, from the inside out */
		this.shows = [true, true, true, true, true];
		this.picked = -1;
		this.canvas = el("canvas", {tabindex: 0, role: "application", "aria-label": "The torus. Arrows pick a node.",
			onpointermove: (e) => this.hover(e), onpointerleave: tip.hide, onclick: (e) => this.pick(this.find(e).node)});
		this.loads = null;
		new ResizeObserver(() => this.place()).observe(this.canvas);
	}

	/* Distances along one axis: its dimensions from the inside out, each with its step. */
	steps(axis) {
		const steps = [];
		let extent = 0, level = 0;

		for (const d of this.order) {
			if (this.axes[d] !== axis || this.shape.n[d] < 2)
				continue;
			const step = level ? extent + 1 + 0.9 * level : 1;

			steps.push({d, step, level});
			extent += step * (this.shape.n[d] - 1);
			level++;
		}
		return {steps, extent};
	}

	/* Put a dimension on an axis, as the innermost one; or keep it at one coordinate. */
	choose(d, axis) {
		this.axes[d] = axis;
		this.order = [d, ...this.order.filter((other) => other !== d)];
		this.place();
	}

	place() {
		const x = this.steps("x"), y = this.steps("y"), width = this.canvas.clientWidth || 800;
		/* The canvas is as high as the picture needs, within limits. */
		const pad = 1.3, cell = Math.min((width - 8) / (x.extent + 2 * pad), 700 / (y.extent + 2 * pad), 96);
		const height = Math.max(150, Math.ceil(cell * (y.extent + 2 * pad)));
		const ratio = window.devicePixelRatio || 1;

		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.height = height + "px";
		this.ratio = ratio;
		this.cell = cell;
		this.level = {};
		this.step = {};
		for (const s of [...x.steps, ...y.steps]) {
			this.level[s.d] = s.level;
			this.step[s.d] = s.step * cell;
		}
		const left = (width - cell * x.extent) / 2, top = (height - cell * y.extent) / 2;

		this.at = new Float32Array(2 * this.shape.nodes);
		this.visible = [];
		for (let node = 0; node < this.shape.nodes; node++) {
			const c = this.shape.coords(node);
			const along = (axis) => axis.steps.reduce((a, s) => a + s.step * c[s.d], 0) * cell;

			this.at[2 * node] = left + along(x);
			this.at[2 * node + 1] = top + along(y);
			if (this.axes.every((a, d) => typeof a !== "number" || a === c[d] || this.shape.n[d] < 2))
				this.visible.push(node);
		}
		this.lines = this.makeLines();
		this.draw();
	}

	/* Where each link is drawn: [node, link, x1, y1, x2, y2, bend]. The two directions lie beside each other. */
	makeLines() {
		const lines = [], side = Math.max(1.2, this.cell * 0.07);

		for (const node of this.visible) {
			const c = this.shape.coords(node);

			for (let link = 0; link < 10; link++) {
				const d = link >> 1, axis = this.axes[d], plus = link & 1;

				if (!this.shows[d] || (axis !== "x" && axis !== "y"))
					continue;
				const to = this.shape.neighbour(node, link);

				if (to < 0)
					continue;
				const wraps = plus ? c[d] === this.shape.n[d] - 1 : c[d] === 0, level = this.level[d];
				const sign = plus ? 1 : -1, ax = axis === "x" ? 1 : 0, ay = 1 - ax;
				/* Beside the line between the nodes: plus on one side, minus on the other. */
				const ox = -ay * side * sign, oy = ax * side * sign;
				const x1 = this.at[2 * node] + ox, y1 = this.at[2 * node + 1] + oy;

				if (wraps) {
					const length = this.cell * (level ? 0.52 : 0.46) * sign, lean = this.cell * 0.34 * level;

					lines.push([node, link, x1, y1, x1 + ax * length - ay * lean, y1 + ay * length - ax * lean, 0]);
				} else {
					lines.push([node, link, x1, y1, this.at[2 * to] + ox, this.at[2 * to + 1] + oy,
						level ? this.cell * (0.2 + 0.14 * level) : 0]);
				}
			}
		}
		return lines;
	}

	/* loads: 0 to 1 for each link, node * 10 + link. */
	setLoads(loads) {
		this.loads = loads;
		this.draw();
	}

	draw() {
		if (!this.loads || !this.at || this.queued)
			return;
		this.queued = true;
		requestAnimationFrame(() => {
			this.queued = false;
			this.paint(this.canvas.getContext("2d"));
		});
	}

	paint(g) {
		g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		g.clearRect(0, 0, this.canvas.width, this.canvas.height);
		g.lineCap = "round";
		this.paintLines(g);
		this.paintNodes(g);
	}

	/* Links of one load are one path: the canvas strokes a few paths, not thousands. */
	paintLines(g) {
		const LEVELS = 24, groups = Array.from({length: LEVELS + 1}, () => []), thick = Math.min(5.5, Math.max(1.4, this.cell * 0.1));

		for (const line of this.lines) {
			const load = this.loads[line[0] * 10 + line[1]];
			const level = load > 0 ? 1 + Math.min(LEVELS - 1, Math.floor(load * (LEVELS - 0.001))) : 0;

			if (level || !line[6])
				groups[level].push(line);
		}
		groups.forEach((group, level) => {
			const x = level / LEVELS;

			if (!group.length)
				return;
			g.globalAlpha = level ? 0.55 + 0.45 * x : 0.5;
			g.strokeStyle = theme.load(x);
			g.lineWidth = level ? 0.9 + (thick - 0.9) * x : 0.7;
			g.beginPath();
			for (const [, link, x1, y1, x2, y2, bend] of group) {
				g.moveTo(x1, y1);
				if (bend) {
					const across = this.axes[link >> 1] === "x";
					const b = bend * (link & 1 ? 1 : -1);

					g.quadraticCurveTo((x1 + x2) / 2 + (across ? 0 : b), (y1 + y2) / 2 + (across ? b : 0), x2, y2);
				} else {
					g.lineTo(x2, y2);
				}
			}
			g.stroke();
		});
		g.globalAlpha = 1;
	}

	paintNodes(g) {
		const r = Math.min(9, Math.max(1.6, this.cell * 0.17)), hosts = [0, 1, 2, 3].map((i) => theme.color("host" + i));

		for (let host = 0; host < 4; host++) {
			g.fillStyle = hosts[host];
			g.beginPath();
			for (const node of this.visible) {
				if (this.hostOf(node) % 4 !== host)
					continue;
				g.moveTo(this.at[2 * node] + r, this.at[2 * node + 1]);
				g.arc(this.at[2 * node], this.at[2 * node + 1], r, 0, 7);
			}
			g.fill();
		}
		if (this.cell >= 34) {
			g.fillStyle = theme.color("ink");
			g.strokeStyle = theme.color("faint");
			g.lineWidth = 3;
			g.font = "11px system-ui, sans-serif";
			for (const node of this.visible) {
				const x = this.at[2 * node] + r + 1, y = this.at[2 * node + 1] - r - 3;

				g.strokeText(node, x, y);
				g.fillText(node, x, y);
			}
		}
		if (this.picked >= 0) {
			g.strokeStyle = theme.color("ink");
			g.lineWidth = 2;
			g.beginPath();
			g.arc(this.at[2 * this.picked], this.at[2 * this.picked + 1], r + 3.5, 0, 7);
			g.stroke();
		}
	}

	/* The node, or else the link, nearest to the pointer: {node, link}. */
	find(event) {
		const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
		let best = Math.max(7, this.cell * 0.24) ** 2, found = {node: -1, link: -1};

		for (const node of this.visible) {
			const distance = (this.at[2 * node] - x) ** 2 + (this.at[2 * node + 1] - y) ** 2;

			if (distance < best) {
				best = distance;
				found = {node, link: -1};
			}
		}
		if (found.node >= 0)
			return found;
		best = 36;
		for (const [node, link, x1, y1, x2, y2, bend] of this.lines) {
			if (bend)
				continue;
			const dx = x2 - x1, dy = y2 - y1;
			const t = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
			const distance = (x1 + t * dx - x) ** 2 + (y1 + t * dy - y) ** 2;

			if (distance < best) {
				best = distance;
				found = {node, link};
			}
		}
		return found;
	}

	hover(event) {
		const {node, link} = this.find(event);

		if (node < 0)
			tip.hide();
		else
			tip.show(event, this.tipOf(node, link));
	}

	pick(node) {
		this.picked = node;
		this.draw();
		this.changed(node);
	}

	/* Pick the nearest node in a direction: dx, dy of -1, 0, 1. */
	move(dx, dy) {
		if (this.picked < 0 || !this.visible.includes(this.picked)) {
			this.pick(this.visible[0]);
			return;
		}
		const x = this.at[2 * this.picked], y = this.at[2 * this.picked + 1];
		let best = Infinity, to = this.picked;

		for (const node of this.visible) {
			const along = (this.at[2 * node] - x) * dx + (this.at[2 * node + 1] - y) * dy;
			const beside = Math.abs((this.at[2 * node] - x) * dy) + Math.abs((this.at[2 * node + 1] - y) * dx);

			if (along > 1 && along + 4 * beside < best) {
				best = along + 4 * beside;
				to = node;
			}
		}
		this.pick(to);
	}
}
