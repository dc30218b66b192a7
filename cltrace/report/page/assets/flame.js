// Flame graphs: time by stack, callers above what they call. A click or Enter enlarges a frame.

import { element } from "./elements.js";
import { countText, timeText, valueText } from "./format.js";
import { inkOn } from "./palette.js";

const ROW_PX = 20;
const MIN_PX = 1.5;
const MIN_TEXT_PX = 28;
const KINDS = {
  program: "the program",
  package: "packages",
  call: "OpenCL calls",
  kernel: "kernels",
  transfer: "transfers",
  other: "other commands",
};
const STEPS = { ArrowUp: "outer", ArrowDown: "inner", ArrowLeft: "before", ArrowRight: "after" };

/** Positions of nodes: `from` and `to` as shares of the whole, the depth, and the nodes that each calls. */
function layOut(nodes) {
  const whole = nodes.filter(({ outer }) => outer < 0).reduce((sum, { total_ns: total }) => sum + total, 0);
  const places = nodes.map(() => ({ from: 0, to: 0, depth: 0, inner: [], next: 0 }));
  const root = { from: 0, to: 1, depth: -1, inner: [], next: 0 };
  nodes.forEach((node, at) => {
    const outer = node.outer < 0 ? root : places[node.outer];
    const place = places[at];
    place.from = outer.next;
    place.to = place.from + node.total_ns / whole;
    place.depth = outer.depth + 1;
    place.next = place.from;
    outer.next = place.to;
    outer.inner.push(at);
  });
  return { whole, places, root };
}

export class FlameGraph {
  constructor(holder, graph, page) {
    this.graph = graph;
    this.colours = page.colours;
    Object.assign(this, layOut(graph.nodes));
    this.enlarged = -1;
    this.chosen = 0;
    this.query = "";
    this.caption = element("span", { className: "flame-whole" });
    this.back = element("button", { on: { click: () => this.enlarge(-1) } }, "show all");
    this.plot = element("div", {
      className: "flame",
      tabIndex: 0,
      role: "application",
      "aria-label": `flame graph, ${graph.title}: arrows step, Enter enlarges, Escape shows all`,
      on: {
        click: (event) => this.#onPointer(event, (at) => this.enlarge(at)),
        mousemove: (event) => this.#onPointer(event, (at) => this.choose(at)),
        keydown: (event) => this.#onKey(event),
      },
    });
    this.detail = element("p", { className: "flame-detail", role: "status" });
    holder.append(
      element("div", { className: "chart-head" }, element("h3", {}, graph.title), this.caption, this.back),
      this.plot,
      this.detail,
    );
    new ResizeObserver(() => this.redraw()).observe(this.plot);
    this.redraw();
  }

  /** Mark the frames whose name or place contains a text. */
  search(text) {
    this.query = text.trim().toLowerCase();
    this.redraw();
  }

  /** Show a frame as wide as the graph; all of it for -1. */
  enlarge(at) {
    this.enlarged = at;
    if (at >= 0) this.chosen = at;
    this.redraw();
  }

  choose(at) {
    if (at === this.chosen) return;
    this.chosen = at;
    for (const frame of this.plot.querySelectorAll(".is-chosen")) frame.classList.remove("is-chosen");
    this.plot.querySelector(`[data-at="${at}"]`)?.classList.add("is-chosen");
    this.#showDetail();
  }

  redraw() {
    const { nodes } = this.graph;
    const range = this.enlarged < 0 ? this.root : this.places[this.enlarged];
    const width = Math.max(this.plot.clientWidth, 100);
    const scale = width / (range.to - range.from);
    const around = new Set();
    for (let at = this.enlarged; at >= 0; at = nodes[at].outer) around.add(at);
    const shown = [];
    let depth = 0;
    nodes.forEach((_, at) => {
      const place = this.places[at];
      if (place.to <= range.from || place.from >= range.to) return;
      const left = Math.max((place.from - range.from) * scale, 0);
      const right = Math.min((place.to - range.from) * scale, width);
      if (right - left < MIN_PX && !around.has(at)) return;
      depth = Math.max(depth, place.depth + 1);
      shown.push(this.#frame(at, left, right - left));
    });
    this.plot.replaceChildren(...shown);
    this.plot.style.height = `${depth * ROW_PX}px`;
    this.back.hidden = this.enlarged < 0;
    this.caption.replaceChildren(timeText(this.whole), ...this.#legend());
    this.#showDetail();
  }

  destroy() {
    this.plot.replaceChildren();
  }

  #frame(at, left, width) {
    const node = this.graph.nodes[at];
    const isFaded = this.query && !`${node.name}\n${node.place}`.toLowerCase().includes(this.query);
    const text = node.place ? `${node.name}  ${node.place}` : node.name;
    const frame = element("div", { className: "flame-frame" }, width < MIN_TEXT_PX ? "" : text);
    frame.dataset.at = at;
    frame.classList.toggle("is-faded", Boolean(isFaded));
    frame.classList.toggle("is-chosen", at === this.chosen);
    const colour = this.#colourOf(node.kind);
    Object.assign(frame.style, {
      left: `${left}px`,
      top: `${this.places[at].depth * ROW_PX}px`,
      width: `${Math.max(width - 1, 1)}px`,
      background: colour,
      color: inkOn(colour),
    });
    return frame;
  }

  #legend() {
    const kinds = new Set(this.graph.nodes.map(({ kind }) => kind));
    return Object.entries(KINDS)
      .filter(([kind]) => kinds.has(kind))
      .map(([kind, text]) => {
        const swatch = element("i", { className: "flame-swatch" });
        swatch.style.background = this.#colourOf(kind);
        return element("span", { className: "flame-kind" }, swatch, text);
      });
  }

  #colourOf(kind) {
    const colours = this.colours();
    const byKind = { program: colours.kernels[0], package: colours.call, call: colours.launch, kernel: colours.kernels[1] };
    return byKind[kind] ?? colours[kind] ?? colours.other;
  }

  #showDetail() {
    const node = this.graph.nodes[this.chosen];
    const inner = this.places[this.chosen].inner.reduce((sum, at) => sum + this.graph.nodes[at].total_ns, 0);
    const own = node.total_ns - inner;
    const parts = [
      `${timeText(node.total_ns)}, ${valueText(node.total_ns / this.whole, "share")}`,
      `${countText(node.count)} ${this.graph.counted}`,
      ...(inner && own > 0 ? [`${timeText(own)} of its own`] : []),
    ];
    this.detail.replaceChildren(element("strong", {}, node.name), ` ${[node.place, ...parts].filter(Boolean).join(" · ")}`);
  }

  #onPointer(event, action) {
    const frame = event.target.closest(".flame-frame");
    if (frame) action(Number(frame.dataset.at));
  }

  #onKey(event) {
    const step = STEPS[event.key];
    if (step) this.#step(step);
    else if (event.key === "Enter" || event.key === " ") this.enlarge(this.chosen);
    else if (event.key === "Escape") this.enlarge(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Choose the caller, what takes longest of what is called, or the neighbour under the same caller. */
  #step(direction) {
    const { outer } = this.graph.nodes[this.chosen];
    const place = this.places[this.chosen];
    const siblings = outer < 0 ? this.root.inner : this.places[outer].inner;
    const at = siblings.indexOf(this.chosen);
    const next = { outer, inner: place.inner[0], before: siblings[at - 1], after: siblings[at + 1] }[direction];
    if (next === undefined || next < 0) return;
    this.choose(next);
    if (!this.plot.querySelector(`[data-at="${next}"]`)) this.enlarge(next);
  }
}
