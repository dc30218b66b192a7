// The timeline: a uPlot chart with axis, cursor and zoom, on which the painter paints the tracks.

import { element } from "./elements.js";
import { axisText, timeText, valueText } from "./format.js";
import { Layout } from "./layout.js";
import { NONE } from "./model.js";
import { Painter } from "./painter.js";
import { PALETTES, coloursOf } from "./palette.js";

const MIN_SPAN_NS = 20;
const ZOOM_STEP = 1.5;
const PAN_STEP = 0.2;
const PAGE = 0.8;
const MAX_DISTANCE_PIXELS = 4;
const LABEL_PIXELS = 70;
const MAX_PAINT_TIMES = 600;

export class Timeline {
  /** `parts` has the elements `plot` and `labels`, and the callbacks `onRange(range)`, called when the visible
   *  time changes, `onHover(slice, event, text)`, and `onChoose(from, to)`, called when a range is dragged over. `onSelect` gets a slice or `NONE`. */
  constructor(model, parts, onSelect) {
    this.model = model;
    this.parts = parts;
    this.onSelect = onSelect;
    this.layout = new Layout(model);
    this.painter = new Painter(model, this.layout);
    this.whole = wholeOf(model.scene);
    this.range = { ...this.whole };
    this.paintTimes = [];
    this.#drawLabels();
    this.setTheme("light");
    this.plot = new uPlot(this.#options(), [[this.whole.from, this.whole.to], [null, null]], parts.plot);
    this.#listen();
    new ResizeObserver(() => this.resize()).observe(parts.plot);
  }

  setTheme(theme) {
    this.palette = PALETTES[theme];
    this.painter.palette = this.palette;
    this.painter.colours = coloursOf(this.model.scene.names, this.palette);
    this.plot?.redraw(false, true);
  }

  get selected() {
    return this.painter.selected;
  }

  /** Show a range of time, limited to the trace and to a minimum width. */
  show(from, to) {
    const { whole } = this;
    const margin = 0.02 * (whole.to - whole.from);
    const span = Math.min(Math.max(to - from, MIN_SPAN_NS), whole.to - whole.from + 2 * margin);
    const middle = (from + to) / 2;
    const low = Math.min(Math.max(middle - span / 2, whole.from - margin), whole.to + margin - span);
    this.range = { from: low, to: low + span };
    this.plot.setScale("x", { min: low, max: low + span });
  }

  /** Move the second of two traces on the axis; the time in view stays. */
  shiftSecond(ns) {
    this.model.shiftSecond(ns);
    this.whole = wholeOf(this.model.scene);
    this.show(this.range.from, this.range.to);
  }

  showAll() {
    this.show(this.whole.from, this.whole.to);
  }

  /** Zoom in or out about a time, which stays in place. */
  zoom(factor, about = (this.range.from + this.range.to) / 2) {
    const { from, to } = this.range;
    const maxFactor = Math.max((to - from) / MIN_SPAN_NS, 1);
    const by = Math.min(factor, maxFactor);
    this.show(about - (about - from) / by, about + (to - about) / by);
  }

  pan(share) {
    const step = share * (this.range.to - this.range.from);
    this.show(this.range.from + step, this.range.to + step);
  }

  select(slice) {
    this.painter.selected = slice;
    this.plot.redraw(false, false);
    this.onSelect(slice);
  }

  /** Select a slice and bring it into view, and its row. */
  reveal(slice) {
    const { model } = this;
    const [begin, end] = [model.begin_ns[slice], model.end(slice)];
    const span = this.range.to - this.range.from;
    if (end < this.range.from || begin > this.range.to || end - begin < span / 200) {
      const wide = Math.min(span, Math.max(20 * (end - begin), 2000));
      this.show((begin + end) / 2 - wide / 2, (begin + end) / 2 + wide / 2);
    }
    if (this.layout.unfoldFor(model.rowOf(slice))) this.#drawLabels();
    this.#scrollTo(model.rowOf(slice));
    this.select(slice);
  }

  zoomToSelected() {
    if (this.selected === NONE) return;
    const { model, selected } = this;
    const room = Math.max(model.duration_ns[selected], MIN_SPAN_NS);
    this.show(model.begin_ns[selected] - room / 2, model.end(selected) + room / 2);
  }

  /** Select the neighbour of the selected slice in its row, or the nearest slice of a row above or below. */
  step(along, across) {
    const { model, selected } = this;
    if (selected === NONE) return across ? this.#selectFirst() : false;
    const own = model.rowOf(selected);
    if (along) {
      const next = selected + along;
      if (next >= model.rows[own].first && next < model.rows[own].end) this.reveal(next);
      return true;
    }
    const middle = (model.begin_ns[selected] + model.end(selected)) / 2;
    for (let at = own + across; at >= 0 && at < model.rows.length; at += across) {
      const slice = this.layout.rowTops.has(at) ? model.nearest(model.rows[at], middle, Infinity) : NONE;
      if (slice !== NONE) {
        this.reveal(slice);
        return true;
      }
    }
    return true;
  }

  /** Select the slice nearest to the middle of the first row with slices in view. */
  #selectFirst() {
    const middle = (this.range.from + this.range.to) / 2;
    const half = (this.range.to - this.range.from) / 2;
    for (const row of this.layout.rowTops.keys()) {
      const slice = this.model.isPath(this.model.rows[row]) ? NONE : this.model.nearest(this.model.rows[row], middle, half);
      if (slice !== NONE) {
        this.reveal(slice);
        return true;
      }
    }
    return true;
  }

  /** Scroll the tracks by a share of their visible height. */
  scroll(share) {
    this.parts.labels.scrollTop += share * this.parts.labels.clientHeight;
  }

  /** Dim slices that do not match a search; `null` dims none. */
  highlight(search) {
    this.painter.search = search;
    this.plot.redraw(false, false);
  }

  /** Mark ranges of time on the plot, each with its letter. */
  markRanges(ranges) {
    this.painter.ranges = ranges;
    this.plot.redraw(false, false);
  }

  toggleEdges() {
    this.painter.showsEdges = !this.painter.showsEdges;
    this.plot.redraw(false, false);
    return this.painter.showsEdges;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.parts.plot;
    if (width > 0 && height > 0) this.plot.setSize({ width, height });
  }

  /** Return the slice at a position of the plot, in CSS pixels from its corner. */
  sliceAt(x, y) {
    const { model } = this;
    const ns = this.plot.posToVal(x, "x");
    const within = (MAX_DISTANCE_PIXELS * (this.range.to - this.range.from)) / this.plot.over.clientWidth;
    const distance = (slice) => Math.max(model.begin_ns[slice] - ns, ns - model.end(slice), 0);
    return this.layout
      .rowsAt(y + this.parts.labels.scrollTop)
      .map((row) => model.nearest(model.rows[row], ns, within))
      .filter((slice) => slice !== NONE)
      .reduce((best, slice) => (best === NONE || distance(slice) < distance(best) ? slice : best), NONE);
  }

  #options() {
    const ink = () => this.palette.faint;
    return {
      width: Math.max(this.parts.plot.clientWidth, 100),
      height: Math.max(this.parts.plot.clientHeight, 100),
      padding: [0, 0, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: [0, 1] } },
      series: [{}, { show: false }],
      axes: [
        {
          side: 0,
          size: 28,
          gap: 4,
          space: 110,
          font: "11px system-ui, sans-serif",
          stroke: ink,
          grid: { stroke: () => this.palette.grid, width: 1 },
          ticks: { stroke: () => this.palette.grid, width: 1, size: 4 },
          values: (plot, splits, __, ___, step) =>
            splits.map((split) => (isClear(plot, split) ? axisText(split, step, Math.abs(this.range.to)) : "")),
        },
        { show: false },
      ],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 5 } },
      hooks: {
        draw: [() => this.#paint()],
        setSelect: [(plot) => this.#onDrag(plot)],
      },
    };
  }

  #paint() {
    const begin = performance.now();
    const { ctx: context, bbox } = this.plot;
    const ratio = devicePixelRatio;
    context.save();
    context.scale(ratio, ratio);
    this.painter.paint(context, {
      ...this.range,
      left: bbox.left / ratio,
      top: bbox.top / ratio,
      width: bbox.width / ratio,
      height: bbox.height / ratio,
      scroll: this.parts.labels.scrollTop,
    });
    context.restore();
    this.paintTimes.push(performance.now() - begin);
    if (this.paintTimes.length > MAX_PAINT_TIMES) this.paintTimes.shift();
    this.parts.onRange?.(this.range, this.painter.showsEdges && this.painter.hasTooManyEdges);
  }

  #onDrag(plot) {
    const { left, width } = plot.select;
    if (width < 1) return;
    const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (this.isZoomDrag) this.show(from, to);
    else this.parts.onChoose(from, to);
  }

  #listen() {
    const { over } = this.plot;
    over.addEventListener("mousedown", (event) => { this.isZoomDrag = event.shiftKey; }, { capture: true });
    over.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    over.addEventListener("click", (event) => this.select(this.sliceAt(event.offsetX, event.offsetY)));
    over.addEventListener("dblclick", (event) => {
      event.stopImmediatePropagation();
      this.showAll();
    }, { capture: true });
    over.addEventListener("mousemove", (event) => this.#onHover(event));
    over.addEventListener("mouseleave", () => this.parts.onHover?.(NONE));
    this.parts.labels.addEventListener("scroll", () => this.plot.redraw(false, false));
  }

  #onWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      this.zoom(Math.exp(-event.deltaY / 200), this.plot.posToVal(event.offsetX, "x"));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan((event.deltaX || event.deltaY) / 800);
    } else {
      const { scrollTop } = this.parts.labels;
      this.parts.labels.scrollTop += event.deltaY;
      if (this.parts.labels.scrollTop === scrollTop) return;
    }
    event.preventDefault();
  }

  #onHover(event) {
    const slice = this.sliceAt(event.offsetX, event.offsetY);
    this.parts.onHover?.(slice, event, slice === NONE ? "" : this.#hoverText(slice));
  }

  #hoverText(slice) {
    const { model } = this;
    const count = model.count[slice] > 1 ? `, and ${model.count[slice] - 1} more` : "";
    return `${model.nameOf(slice).text}${count}\n${timeText(model.duration_ns[slice])}`;
  }

  #drawLabels() {
    const { labels } = this.parts;
    labels.replaceChildren();
    const filler = document.createElement("div");
    filler.className = "filler";
    filler.style.height = `${this.layout.height}px`;
    for (const item of this.layout.items.filter((candidate) => !candidate.isHidden)) filler.append(this.#label(item));
    labels.append(filler);
  }

  #label(item) {
    const canFold = item.kind === "process" || item.rows.length > 1;
    const label = document.createElement(canFold ? "button" : "div");
    label.className = `label ${item.kind}`;
    label.append(element("span", {}, item.label));
    for (const value of item.ticks ?? []) {
      const tick = element("span", { className: "tick" }, valueText(value, item.level.unit).replace(/\.0+ /, " "));
      tick.style.top = `${this.layout.levelTop(item, value)}px`;
      label.append(tick);
    }
    label.title = item.label;
    label.dataset.item = this.layout.items.indexOf(item);
    label.style.top = `${item.top}px`;
    label.style.height = `${item.height}px`;
    if (canFold) {
      label.setAttribute("aria-expanded", String(!item.isFolded));
      label.addEventListener("click", () => {
        this.layout.fold(item);
        this.#drawLabels();
        this.parts.labels.querySelector(`[data-item="${label.dataset.item}"]`).focus();
        this.plot.redraw(false, false);
      });
    }
    return label;
  }

  #scrollTo(row) {
    const box = this.layout.rowTops.get(row);
    const { labels } = this.parts;
    if (!box) return;
    if (box.top < labels.scrollTop || box.top + box.height > labels.scrollTop + labels.clientHeight) {
      labels.scrollTop = box.top - labels.clientHeight / 2;
    }
  }
}

const wholeOf = ({ begin_ns: from, end_ns: end }) => ({ from, to: Math.max(end, from + 1) });

/** Return whether a label of the axis has room: a truncated label would show another number. */
function isClear(plot, ns) {
  const x = plot.valToPos(ns, "x");
  return x >= LABEL_PIXELS / 2 && x <= plot.over.clientWidth - LABEL_PIXELS / 2;
}

/** Run the action of a key on the timeline. Return whether the key has one. */
export function handleTimelineKey(timeline, key) {
  const actions = {
    w: () => timeline.zoom(ZOOM_STEP),
    "+": () => timeline.zoom(ZOOM_STEP),
    s: () => timeline.zoom(1 / ZOOM_STEP),
    "-": () => timeline.zoom(1 / ZOOM_STEP),
    a: () => timeline.pan(-PAN_STEP),
    d: () => timeline.pan(PAN_STEP),
    f: () => timeline.showAll(),
    Enter: () => timeline.zoomToSelected(),
    Escape: () => timeline.select(NONE),
    ArrowLeft: () => timeline.step(-1, 0) || timeline.pan(-PAN_STEP),
    ArrowRight: () => timeline.step(1, 0) || timeline.pan(PAN_STEP),
    ArrowUp: () => timeline.step(0, -1),
    ArrowDown: () => timeline.step(0, 1),
    PageUp: () => timeline.scroll(-PAGE),
    PageDown: () => timeline.scroll(PAGE),
  };
  if (!Object.hasOwn(actions, key)) return false;
  actions[key]();
  return true;
}
