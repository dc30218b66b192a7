// Conditions and loops of the kernel as a tree, with the work-items that take each outcome.

import { byId, element } from "./elements.js";
import { countText } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const STEP = 18;
const HEIGHT = 24;
const MIDDLE = HEIGHT / 2;

/** The tree of conditions, linked with the highlight. A row is a condition, or an outcome of one. */
export class TreeView {
  constructor(model, highlight) {
    this.model = model;
    this.highlight = highlight;
    byId("conditions").hidden = !model.tree.length;
    this.total = model.itemCount || 1;
    this.streamsOfNode = model.tree.map((node) => this.#streamsOf(node));
    this.rows = model.tree.map((node, at) => this.#row(node, at));
    byId("tree").append(...this.rows);
    this.#choose(0);
    byId("tree").addEventListener("keydown", (event) => this.#onKey(event));
    highlight.listen((what) => this.#mark(what));
  }

  /** Return the streams that come to a node, and how often each of their work-items does. */
  #streamsOf({ decision, outcome }) {
    const { streams } = this.model;
    if (decision < 0) return new Map(streams.map((_, number) => [number, 1]));
    const times = new Map();
    for (const [number, { outcomes }] of streams.entries()) {
      const counts = outcomes.find(([own]) => own === decision);
      const count = counts ? (outcome < 0 ? counts[1] + counts[2] : counts[1 + outcome]) : 0;
      if (count) times.set(number, count);
    }
    return times;
  }

  #row(node, at) {
    const what = this.#highlightOf(node, at);
    const row = element(
      "div",
      {
        className: node.outcome < 0 ? "node" : "node is-outcome",
        role: "treeitem",
        tabIndex: -1,
        on: {
          mouseenter: () => this.highlight.show(what),
          mouseleave: () => this.highlight.leave(),
          focus: () => this.#choose(at, what),
          blur: () => this.highlight.leave(),
          click: () => this.highlight.keep(what),
        },
      },
      this.#connector(node, at),
      ...(node.outcome < 0 ? this.#decisionTexts(node) : this.#outcomeTexts(node)),
    );
    row.setAttribute("aria-level", String(node.level + 1));
    row.setAttribute("aria-label", this.#description(node));
    return row;
  }

  #highlightOf(node, at) {
    if (node.decision < 0) return { lines: node.lines, name: "begin of the kernel", node: at };
    const { line } = this.model.decisions[node.decision];
    const place = this.#placeOf(node);
    const lines = [...new Set([line, ...node.lines])].filter((number) => number > 0);
    const name = node.outcome < 0 ? place : `${place}: ${node.label}`;
    return { streams: [...this.streamsOfNode[at].keys()], lines, name, node: at };
  }

  #decisionTexts(node) {
    if (node.decision < 0) return [element("span", { className: "place" }, "begin"), ...this.#rest(node)];
    const kind = this.model.decisions[node.decision].kind;
    return [
      element("span", { className: "place" }, node.label),
      ...(kind === "condition" ? [] : [element("span", { className: "kind" }, kind)]),
      element("code", { title: node.text }, node.text),
      element("span", { className: "amount" }, this.#amount(node)),
    ];
  }

  #outcomeTexts(node) {
    const isTrue = node.outcome === 1;
    return [element("span", { className: `outcome ${isTrue ? "is-true" : "is-false"}` }, node.label), ...this.#rest(node)];
  }

  #rest(node) {
    const parts = [element("span", { className: "amount" }, this.#amount(node))];
    if (node.lines.length) parts.push(element("span", { className: "lines" }, linesText(this.model, node.lines)));
    if (node.jump) parts.push(element("span", { className: "jump" }, node.jump === "end" ? "→ end" : `→ line ${node.jump}`));
    return parts;
  }

  #amount({ items, times }) {
    if (items === null) return "";
    const often = times > items ? `, ${countText(times)}×` : "";
    return `${countText(items)}${often}`;
  }

  #description(node) {
    const amount = node.items === null ? "" : `, ${countText(node.items)} work-items, ${countText(node.times)} times`;
    if (node.decision < 0) return `begin${amount}`;
    const { kind } = this.model.decisions[node.decision];
    const place = this.#placeOf(node);
    return node.outcome < 0 ? `${kind} of ${place}: ${node.text}${amount}` : `${place} ${node.label}${amount}`;
  }

  #placeOf({ decision, outcome, label }) {
    const { line } = this.model.decisions[decision];
    if (line) return `line ${this.model.lineName(line)}`;
    return outcome < 0 ? label : `decision ${decision + 1}`;
  }

  /** Return the lines from a node to the one above, as thick as the share of work-items, and its sign. */
  #connector(node, at) {
    const svg = shape("svg", { width: (node.level + 1) * STEP, height: HEIGHT, class: "connector" });
    svg.setAttribute("aria-hidden", "true");
    const own = node.level * STEP + STEP / 2;
    for (let level = 1; level <= node.level; level += 1) {
      const x = (level - 1) * STEP + STEP / 2;
      const isLast = !this.#continues(at, level);
      if (!isLast || level === node.level) svg.append(shape("path", { d: `M${x} 0V${isLast ? MIDDLE : HEIGHT}`, class: "line" }));
    }
    if (node.level) {
      const width = node.items === null ? 1 : 1 + (3 * node.items) / this.total;
      svg.append(shape("path", { d: `M${own - STEP} ${MIDDLE}H${own}`, class: "line own", "stroke-width": width }));
    }
    if (this.model.tree[at + 1]?.level > node.level) svg.append(shape("path", { d: `M${own} ${MIDDLE}V${HEIGHT}`, class: "line" }));
    svg.append(this.#sign(node, own));
    return svg;
  }

  /** Return True if a later node of a level has the same node above it as one has. */
  #continues(at, level) {
    const next = this.model.tree.slice(at + 1).find((other) => other.level <= level);
    return next?.level === level;
  }

  #sign(node, x) {
    if (node.outcome >= 0 || node.decision < 0) return shape("circle", { cx: x, cy: MIDDLE, r: node.lines.length ? 4.5 : 2.5, class: "own code-sign" });
    const kind = this.model.decisions[node.decision].kind;
    if (kind === "loop") return shape("rect", { x: x - 5.5, y: MIDDLE - 5.5, width: 11, height: 11, rx: 2.5, class: "own loop-sign" });
    if (kind === "case") return shape("path", { d: `M${x} ${MIDDLE - 7}l7 7l-7 7l-7 -7Z`, class: "own condition-sign" });
    return shape("circle", { cx: x, cy: MIDDLE, r: 6, class: "own condition-sign" });
  }

  #choose(at, what) {
    for (const [number, row] of this.rows.entries()) row.tabIndex = number === at ? 0 : -1;
    this.chosen = at;
    if (what) this.highlight.show(what);
  }

  #onKey(event) {
    if (event.key === "Enter") {
      this.highlight.keep(this.#highlightOf(this.model.tree[this.chosen], this.chosen));
      return;
    }
    const next = this.#neighbour(event.key);
    if (next === undefined) return;
    event.preventDefault();
    if (next >= 0 && next < this.rows.length) {
      this.highlight.clear();
      this.rows[next].focus();
    }
  }

  #neighbour(key) {
    const { tree } = this.model;
    const { level } = tree[this.chosen];
    switch (key) {
      case "ArrowUp":
        return this.chosen - 1;
      case "ArrowDown":
        return this.chosen + 1;
      case "ArrowLeft":
        return tree.slice(0, this.chosen).findLastIndex((node) => node.level < level);
      case "ArrowRight":
        return tree[this.chosen + 1]?.level > level ? this.chosen + 1 : -1;
      case "Home":
        return 0;
      case "End":
        return tree.length - 1;
      default:
        return undefined;
    }
  }

  #mark(what) {
    const weights = this.model.weightsOf(what);
    const lines = new Set(what.node === undefined ? (what.lines ?? (what.line === undefined ? [] : [what.line])) : []);
    for (const [at, row] of this.rows.entries()) {
      const node = this.model.tree[at];
      const items = weights && this.#itemsOf(weights, at);
      row.classList.toggle("is-faded", items === 0);
      const line = node.outcome < 0 ? this.model.decisions[node.decision]?.line : undefined;
      row.classList.toggle("is-marked", what.node === at || lines.has(line));
      row.querySelector(".amount").textContent = items ? this.#selected(weights, items, at) : this.#amount(node);
    }
  }

  #itemsOf(weights, at) {
    let items = 0;
    for (const [stream, count] of weights) if (this.streamsOfNode[at].has(stream)) items += count;
    return items;
  }

  /** Return how many of the highlighted work-items come to a node; how often, if they are of one stream. */
  #selected(weights, items, at) {
    const times = weights.size === 1 ? this.streamsOfNode[at].get([...weights.keys()][0]) : 1;
    const often = times > 1 ? `, ${countText(times)}× each` : "";
    return `${countText(items)} of ${countText(this.model.tree[at].items ?? items)}${often}`;
  }
}

/** Return lines as text, with ranges of neighbours. */
function linesText(model, lines) {
  const ranges = [];
  for (const line of lines) {
    const last = ranges.at(-1);
    if (last && line === last[1] + 1 && model.areNeighbours(last[1], line)) last[1] = line;
    else ranges.push([line, line]);
  }
  const texts = ranges.map(([first, last]) => (first === last ? model.lineName(first) : `${model.lineName(first)}–${model.line_names[last - 1]?.[1] ?? last}`));
  return `${lines.length > 1 ? "lines" : "line"} ${texts.join(", ")}`;
}

function shape(tag, attributes) {
  const created = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  return created;
}
