// Values: charts of what annotations emit, of the work-group that the memory view shows.

import { byId, element } from "./elements.js";
import { countText } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const SIZE = { width: 560, height: 180, left: 64, bottom: 22, top: 8, right: 8 };
const MAX_SERIES = 12;

/** The charts of emitted values. */
export class ValueView {
  constructor(model, colours) {
    this.model = model;
    this.colours = colours;
    this.bindings = this.#bindings();
    byId("values").hidden = !model.emissions.length;
  }

  /** Return the charts that are asked for; a line for each value or vector that none has. */
  #bindings() {
    const { bindings, emissions } = this.model;
    const bound = new Set(bindings.flatMap((binding) => binding.names));
    const lines = new Map(); // the components of a vector share a chart
    for (const name of new Set(emissions.map((emission) => emission.name))) {
      const vector = name.split(".")[0];
      if (!bound.has(name)) lines.set(vector, [...(lines.get(vector) ?? []), name]);
    }
    return [...bindings, ...[...lines.values()].map((names) => ({ chart: "line", names }))];
  }

  /** Draw the charts of a work-group. */
  draw(group) {
    if (byId("values").hidden) return;
    byId("charts").replaceChildren(...this.bindings.map((binding) => this.#figure(binding, group)));
  }

  /** Return the values of a name in a group: points by index, one series per repetition of an index. */
  #series(name, group) {
    const { columns, emissions, values } = this.model;
    const series = [];
    const repetitions = new Map();
    for (let at = 0; at < values.length; at += 1) {
      if (emissions[columns.value_emission[at]].name !== name || columns.group[columns.value_row[at]] !== group) continue;
      const index = columns.value_index[at];
      const repetition = repetitions.get(index) ?? 0;
      repetitions.set(index, repetition + 1);
      series[repetition] ??= [];
      if (values[at] !== null) series[repetition].push([index, values[at]]);
    }
    for (const points of series) points.sort(([left], [right]) => left - right);
    return series;
  }

  #figure(binding, group) {
    const all = binding.names.flatMap((name) => this.#series(name, group).map((points, repetition) => ({ name, repetition, points })));
    const series = binding.chart === "scatter" && binding.names.length === 2 ? this.#pairs(binding, group) : all.slice(0, MAX_SERIES);
    const hidden = all.length - MAX_SERIES;
    const title = `${binding.names.join(", ")}: ${binding.chart}, work-group ${group}${hidden > 0 ? `, ${hidden} later series not drawn` : ""}`;
    const legend = series.length > 1 ? [this.#legend(series)] : [];
    const parts = [this.#svg(binding.chart, series, title), ...legend, element("figcaption", {}, title)];
    return element("figure", { className: "chart" }, ...parts);
  }

  /** Return the colours of the series: by name, and by how often an index has had a value before. */
  #legend(series) {
    const entries = series.map(({ name, repetition }, at) => {
      const swatch = element("i", {});
      swatch.style.background = this.#colour(at);
      return element("span", {}, swatch, repetition || series.some((one) => one.name === name && one.repetition) ? `${name}, time ${repetition + 1}` : name);
    });
    return element("div", { className: "series" }, ...entries);
  }

  #colour(at) {
    const palette = this.colours();
    return palette.kernels[at] ?? palette.otherKernel;
  }

  /** Return one series whose points are the values of two names at the same index. */
  #pairs({ names }, group) {
    const [across, up] = names.map((name) => this.#series(name, group));
    return across.map((points, repetition) => {
      const other = new Map(up[repetition] ?? []);
      return { name: names.join(", "), repetition, points: points.filter(([index]) => other.has(index)).map(([index, value]) => [value, other.get(index)]) };
    });
  }

  #svg(chart, series, title) {
    const svg = shape("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, width: SIZE.width, height: SIZE.height, role: "img", "aria-label": title });
    const stacked = chart === "stackedarea" ? stack(series) : series;
    const points = stacked.flatMap((one) => one.points);
    if (!points.length) {
      svg.append(label(SIZE.left, SIZE.height / 2, "no value in this work-group", "start"));
      return svg;
    }
    const scale = scaleOf(points, chart, this.colours());
    svg.append(...scale.axes);
    for (const [at, one] of stacked.entries()) svg.append(...this.#marks(chart, one, at, stacked.length, scale));
    return svg;
  }

  #marks(chart, { name, repetition, points, floor }, at, count, scale) {
    const colour = this.#colour(at);
    const tip = (index, value) => shape("title", {}, `${name}[${countText(index)}]${repetition ? `, time ${repetition + 1}` : ""}: ${value}`);
    const placed = points.map(([x, y]) => [scale.x(x), scale.y(y), x, y]);
    if (chart === "multibar") {
      const width = Math.max(scale.step / count - 1, 1);
      return placed.map(([x, y, index, value]) => {
        const zero = scale.y(0);
        return shape("rect", { x: x + at * (width + 1) - scale.step / 2, y: Math.min(y, zero), width, height: Math.max(Math.abs(y - zero), 1), fill: colour }, tip(index, value));
      });
    }
    if (chart === "stackedarea") {
      const lower = points.map(([x], position) => [scale.x(x), scale.y(floor[position])]).reverse();
      return [shape("polygon", { points: [...placed, ...lower].map(([x, y]) => `${x},${y}`).join(" "), fill: colour, "fill-opacity": 0.75 })];
    }
    const dots = placed.map(([x, y, index, value]) => shape("circle", { cx: x, cy: y, r: chart === "scatter" ? 3 : 2, fill: colour }, tip(index, value)));
    if (chart === "scatter") return dots;
    return [shape("polyline", { points: placed.map(([x, y]) => `${x},${y}`).join(" "), fill: "none", stroke: colour, "stroke-width": 1.5 }), ...dots];
  }
}

/** Return series whose values stand on those before, with the floor of each. */
function stack(series) {
  const sums = new Map();
  return series.map((one) => {
    const floor = one.points.map(([x]) => sums.get(x) ?? 0);
    const points = one.points.map(([x, y], at) => [x, floor[at] + y]);
    for (const [x, y] of points) sums.set(x, y);
    return { ...one, points, floor };
  });
}

function scaleOf(points, chart, palette) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const from = { x: smallest(xs), y: chart === "line" || chart === "scatter" ? smallest(ys) : Math.min(smallest(ys), 0) };
  const to = { x: largest(xs), y: largest(ys) };
  if (to.x === from.x) to.x += 1;
  if (to.y === from.y) to.y += 1;
  const inner = { width: SIZE.width - SIZE.left - SIZE.right, height: SIZE.height - SIZE.top - SIZE.bottom };
  const step = inner.width / (to.x - from.x + 1);
  const x = (value) => SIZE.left + step / 2 + ((value - from.x) / (to.x - from.x)) * (inner.width - step);
  const y = (value) => SIZE.top + (1 - (value - from.y) / (to.y - from.y)) * inner.height;
  const base = SIZE.height - SIZE.bottom;
  const axes = [
    shape("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: base, y2: base, stroke: palette.faint }),
    shape("line", { x1: SIZE.left, x2: SIZE.left, y1: SIZE.top, y2: base, stroke: palette.faint }),
    label(SIZE.left - 6, SIZE.top + 8, short(to.y), "end"),
    label(SIZE.left - 6, base, short(from.y), "end"),
    label(SIZE.left, SIZE.height - 6, short(from.x), "start"),
    label(SIZE.width - SIZE.right, SIZE.height - 6, short(to.x), "end"),
  ];
  return { x, y, step, axes };
}

const smallest = (numbers) => numbers.reduce((low, number) => Math.min(low, number), Infinity);
const largest = (numbers) => numbers.reduce((high, number) => Math.max(high, number), -Infinity);

function short(number) {
  return Number.isInteger(number) && Math.abs(number) < 1e9 ? countText(number) : number.toPrecision(4);
}

function label(x, y, text, anchor) {
  return shape("text", { x, y, "text-anchor": anchor, class: "axis" }, text);
}

function shape(tag, attributes, ...children) {
  const created = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
}
