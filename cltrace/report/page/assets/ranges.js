// Ranges of time that the user chose: their statistics, and the comparison of two.

import { element } from "./elements.js";
import { axisText, countText, valueText } from "./format.js";
import { exactQuery } from "./search.js";
import { rangeStatistics } from "./statistics.js";

const MAX_KERNELS = 8;
const MIN_FACTOR = 3;

export class Ranges {
  /** `chosen` and `pinned` are the statistics of a range, `null` for none. `onChange` is called after each change. */
  constructor(model, onChange) {
    this.model = model;
    this.onChange = onChange;
    this.chosen = null;
    this.pinned = null;
    this.shared = null;
  }

  choose(from, to) {
    const { begin_ns: begin, end_ns: end } = this.model.scene;
    const [low, high] = [Math.max(from, begin), Math.min(to, end)];
    if (high <= low) return;
    const statistics = this.model.bounds.map((_, trace) => rangeStatistics(this.model, low, high, trace));
    if (this.isOfTwoTraces) {
      this.shared = { from: low, to: high, span_ns: high - low };
      this.#set(statistics[1], statistics[0]);
    } else this.#set(statistics[0], this.pinned);
  }

  /** Compute the statistics of the chosen range again, after times have changed; give it up if no trace has any of it. */
  refresh() {
    if (!this.chosen) return;
    const { from, to } = this.shared ?? this.chosen;
    if (from >= this.model.scene.end_ns || to <= this.model.scene.begin_ns) this.clear();
    else this.choose(from, to);
  }

  /** Keep the chosen range, to compare the next one with it. */
  pin() {
    if (this.chosen && !this.isOfTwoTraces) this.#set(null, this.chosen);
  }

  /** Give up the chosen range, or else the pinned one. Return whether there was one. */
  clear() {
    if (!this.chosen && !this.pinned) return false;
    this.#set(null, this.chosen && !this.isOfTwoTraces ? this.pinned : null);
    return true;
  }

  /** Whether A and B are the same range of two traces, not two ranges of one. */
  get isOfTwoTraces() {
    return Boolean(this.model.scene.second);
  }

  /** Return the ranges with their letters, the pinned one first. */
  get lettered() {
    const all = [this.pinned, this.chosen].filter(Boolean);
    return all.map((statistics, at) => ({ letter: "AB"[at], statistics }));
  }

  /** Return the ranges to mark on the plot: of two traces only one, because A and B share it. */
  get marked() {
    if (!this.isOfTwoTraces) return this.lettered;
    return this.chosen ? [{ letter: "A", statistics: this.shared }] : [];
  }

  #set(chosen, pinned) {
    this.chosen = chosen;
    this.pinned = pinned;
    this.onChange();
  }
}

/** Return the panel of the ranges; `actions` has `show(from, to)` and `find(text)`. */
export function rangePanel(ranges, actions) {
  const { lettered, marked } = ranges;
  if (!lettered.length) return [];
  const rows = table(lettered.map(({ statistics }) => statistics), actions);
  const head = lettered.length > 1 ? [element("tr", {}, ...["", "A", "B", "B to A"].map((text) => element("th", { scope: "col" }, text)))] : [];
  const buttons = [
    ["zoom to it", "show this range only (z)", () => actions.show(marked.at(-1).statistics.from, marked.at(-1).statistics.to)],
    ...(ranges.chosen && !ranges.isOfTwoTraces ? [["pin", "keep this range to compare another with it (p)", () => ranges.pin()]] : []),
    ["clear", "give this range up (Esc)", () => ranges.clear()],
  ];
  const parts = [
    ...marked.map(({ letter, statistics }) => element("h2", {}, title(statistics, letter, !ranges.isOfTwoTraces && (lettered.length > 1 || !ranges.chosen)))),
    element(
      "div",
      { className: "buttons" },
      ...buttons.map(([text, hint, action]) => element("button", { title: hint, on: { click: action } }, text)),
    ),
    element("table", { className: lettered.length > 1 ? "two" : "one" }, element("thead", {}, ...head), element("tbody", {}, ...rows)),
  ];
  if (!ranges.chosen) parts.push(element("p", { className: "hint" }, "Drag over the plot to compare another range with A."));
  if (ranges.isOfTwoTraces && lettered.some(({ statistics }) => statistics.span_ns < ranges.shared.span_ns)) {
    parts.push(element("p", { className: "hint" }, "Each trace counts from its own begin to its own end."));
  }
  if (lettered.some(({ statistics }) => statistics.isApproximate)) {
    parts.push(element("p", { className: "hint" }, "about: short slices are merged, because there are too many"));
  }
  return parts;
}

function title({ from, to, span_ns: span }, letter, hasLetter) {
  const text = (ns) => axisText(ns, span / 100, to);
  return `${hasLetter ? `${letter}: ` : ""}${text(from)} to ${text(to)}`;
}

/** Return the rows of the table of one range, or of two. */
function table(all, actions) {
  // A trace that has no part of the range has no values.
  const value = (unit, of) => ({ unit, values: all.map((one) => (one.span_ns ? of(one) : null)) });
  const rows = [
    row("length", value("ns", (one) => one.span_ns)),
    row("busy", value("ns", (one) => one.busy_ns)),
    row("busy share", value("share", (one) => one.busy_ns / one.span_ns)),
    row("gaps", value("count", (one) => one.gaps.length)),
    row("longest gap", value("ns", (one) => lengthOf(longestGap(one))), longestGap(all.at(-1)) && (() => actions.show(...longestGap(all.at(-1))))),
    ...lines(all, "kernels", actions),
    ...lines(all, "transfers", actions),
  ];
  const sum = (of) => (one) => one.transfers.reduce((total, line) => total + line[of], 0);
  if (all.some((one) => one.transfers.length)) {
    rows.push(row("moved", value("bytes", sum("bytes"))));
    rows.push(row("rate", value("bytes_per_s", (one) => (sum("time_ns")(one) ? (sum("bytes")(one) * 1e9) / sum("time_ns")(one) : null))));
  }
  const channels = [...new Set(all.flatMap(({ energies }) => energies.map(({ name }) => name)))];
  if (channels.length) rows.push(group("energy", all));
  for (const channel of channels) {
    const energyOf = ({ energies }) => energies.find(({ name }) => name === channel)?.energy_j ?? null;
    rows.push(row(channel, value("j", energyOf)));
    rows.push(row("mean power", value("w", (one) => (energyOf(one) === null ? null : (energyOf(one) * 1e9) / one.span_ns))));
  }
  return rows;
}

const lengthOf = (gap) => (gap ? gap[1] - gap[0] : 0);

function longestGap({ gaps }) {
  return gaps.reduce((longest, gap) => (lengthOf(gap) > lengthOf(longest) ? gap : longest), null);
}

/** Return the rows of the kernels or transfers of the ranges: the time of each name, and how often it ran. */
function lines(all, kind, actions) {
  const byName = all.map((one) => new Map(one[kind].map((line) => [line.name, line])));
  const total = (name) => byName.reduce((sum, map) => sum + (map.get(name)?.time_ns ?? 0), 0);
  const names = [...new Set(byName.flatMap((map) => [...map.keys()]))].sort((left, right) => total(right) - total(left));
  if (!names.length) return [];
  const rows = names.slice(0, MAX_KERNELS).map((name) => {
    const found = byName.map((map) => map.get(name));
    const counts = found.map((line) => countText(line?.count ?? 0)).join(", ");
    const made = row(name, { unit: "ns", values: found.map((line) => line?.time_ns ?? null) }, () => actions.find(exactQuery(name)), `${counts} ×`);
    made.title = `${name}: ${counts} times in part or as a whole`;
    return made;
  });
  if (names.length > MAX_KERNELS) rows.push(group(`and ${names.length - MAX_KERNELS} more`, all));
  return [group(kind, all), ...rows];
}

const group = (text, all) => element("tr", { className: "group" }, element("th", { scope: "colgroup", colSpan: all.length + 2 }, text));

function row(name, { unit, values }, action, amount = "") {
  const text = action ? element("button", { className: "link", on: { click: action } }, name) : name;
  const cells = values.map((value) => element("td", {}, valueText(value, unit)));
  cells.push(element("td", { className: "amount" }, values.length > 1 ? changeText(...values, unit) : amount));
  return element("tr", {}, element("th", { scope: "row", title: name }, text), ...cells);
}

/** Return by how much the second value differs from the first. */
function changeText(before, after, unit) {
  if (before === null || after === null) return "";
  if (unit === "share") return `${after < before ? "−" : "+"}${Math.abs(100 * (after - before)).toFixed(1)}`;
  if (!before || after === before) return after === before ? "same" : "";
  const factor = after / before;
  if (factor >= MIN_FACTOR) return `× ${factor.toPrecision(3)}`;
  return `${factor < 1 ? "−" : "+"}${Math.abs(100 * (factor - 1)).toFixed(1)} %`;
}
