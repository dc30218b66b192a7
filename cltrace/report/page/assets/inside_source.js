// Source of the program: lines that do not run fade, conditions are marked as true or false.

import { byId, element } from "./elements.js";
import { countText } from "./format.js";

/** The source, linked with the highlight. */
export class SourceView {
  constructor(model, highlight) {
    this.model = model;
    this.highlight = highlight;
    this.chosen = 0;
    this.lines = model.source.map((text, at) => this.#line(text, at + 1));
    byId("source").append(...this.lines);
    byId("source").addEventListener("keydown", (event) => this.#onKey(event));
    byId("source").addEventListener("mouseleave", () => highlight.leave());
    highlight.listen((what) => this.#mark(what));
    this.#markFaults();
    this.#scrollToKernel();
  }

  #line(text, number) {
    const line = element(
      "li",
      { on: { mouseenter: () => this.highlight.show({ line: number }), click: () => this.highlight.keep({ line: number }) } },
      element("span", { className: "number", title: this.model.lineName(number) }, String(this.model.line_names[number - 1]?.[1] ?? number)),
      element("span", { className: "mark" }),
      element("span", { className: "text" }, text),
    );
    line.dataset.line = number;
    return line;
  }

  #onKey(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.chosen = Math.min(Math.max(this.chosen + step, 1), this.lines.length);
    this.highlight.clear();
    this.highlight.keep({ line: this.chosen });
  }

  #scrollToKernel() {
    const first = Math.min(...this.model.begin.lines, Infinity);
    if (Number.isFinite(first)) this.lines[Math.max(first - 3, 0)]?.scrollIntoView({ block: "start" });
  }

  #markFaults() {
    const sites = [...this.model.races.flatMap((race) => race.sites), ...this.model.barriers.map((barrier) => barrier.site)];
    for (const site of sites) this.lines[this.model.sites[site].line - 1]?.classList.add("has-fault");
  }

  #mark(what) {
    const { line, lines } = what;
    const weights = this.model.weightsOf(what);
    const shown = weights && [...weights].filter(([number]) => number >= 0).map(([number, items]) => [this.model.streams[number], items]);
    const running = shown && new Set(shown.flatMap(([stream]) => stream.lines));
    const outcomes = shown ? this.#outcomes(shown) : new Map();
    const marked = new Set(lines ?? (line === undefined ? [] : [line]));
    const covered = this.#coveredLines();
    for (const [at, item] of this.lines.entries()) {
      const number = at + 1;
      item.classList.toggle("is-idle", Boolean(running) && covered.has(number) && !running.has(number));
      item.classList.toggle("is-marked", marked.has(number));
      const mark = item.children[1];
      const outcome = outcomes.get(number);
      mark.textContent = outcome?.text ?? "";
      mark.className = `mark ${outcome?.className ?? ""}`;
    }
    if (marked.size && line === undefined) this.#reveal(Math.min(...marked));
  }

  #reveal(number) {
    const item = this.lines[number - 1];
    if (!item) return;
    const box = byId("code").getBoundingClientRect();
    const own = item.getBoundingClientRect();
    if (own.top < box.top || own.bottom > box.bottom) item.scrollIntoView({ block: "center" });
  }

  /** Return the lines that have code of the kernel: others neither run nor fade. */
  #coveredLines() {
    this.covered ??= new Set([
      ...this.model.begin.lines,
      ...this.model.decisions.flatMap((decision) => [...decision.if_false.lines, ...decision.if_true.lines]),
    ]);
    return this.covered;
  }

  /** Return what the conditions of each line were: of one stream for each work-item, of several in all. */
  #outcomes(streams) {
    const byLine = new Map();
    for (const [stream, items] of streams) {
      const weight = streams.length > 1 ? items : 1;
      for (const [number, falseCount, trueCount] of stream.outcomes) {
        const { line } = this.model.decisions[number];
        const sums = byLine.get(line) ?? [0, 0];
        byLine.set(line, [sums[0] + weight * falseCount, sums[1] + weight * trueCount]);
      }
    }
    const name = streams.length > 1 ? shareOf : outcomeOf;
    return new Map([...byLine].map(([line, [no, yes]]) => [line, name(no, yes)]));
  }
}

function outcomeOf(no, yes) {
  const times = (count) => (count > 1 ? ` ${countText(count)}×` : "");
  if (!no) return { text: `true${times(yes)}`, className: "is-true" };
  if (!yes) return { text: `false${times(no)}`, className: "is-false" };
  return { text: `${countText(yes)}× true`, className: "is-both" };
}

/** Return the outcome of a condition for work-items of several streams: how often it is true. */
function shareOf(no, yes) {
  if (!no || !yes) return outcomeOf(Math.sign(no), Math.sign(yes));
  const share = Math.min(Math.max((100 * yes) / (no + yes), 0.1), 99.9);
  return { text: `${share.toFixed(share > 1 && share < 99 ? 0 : 1)} % true`, className: "is-both" };
}
