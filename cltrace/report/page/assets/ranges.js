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
  }

  choose(from, to) {
    const { begin_ns: begin, end_ns: end } = this.model.scene;
    const [low, high] = [Math.max(from, begin), Math.min(to, end)];
    if (high > low) this.#set(rangeStatistics(this.model, low, high), this.pinned);
  }

  /** Keep the chosen range, to compare the next one with it. */
  pin() {
    if (this.chosen) this.#set(null, this.chosen);
  }

  /** Give up the chosen range, or else the pinned one. Return whether there was one. */
  clear() {
    if (!this.chosen && !this.pinned) return false;
    this.#set(null, this.chosen ? this.pinned : null);
    return true;
  }

  /** Return the ranges with their letters, the pinned one first. */
  get lettered() {
    const all = [this.pinned, this.chosen].filter(Boolean);
    return all.map((statistics, at) => ({ letter: "AB"[at], statistics }));
  }

  #set(chosen, pinned) {
    this.chosen = chosen;
    this.pinned = pinned;
    this.onChange();
  }
}

/** Return the panel of the ranges; `actions` has `show(from, to)` and `find(text)`. */
export function rangePanel(ranges, actions) {
  const { lettered } = ranges;
  if (!lettered.length) return [];
  const rows = table(lettered.map(({ statistics }) => statistics), actions);
  const head = lettered.length > 1 ? [element("tr", {}, ...["", "A", "B", "B to A"].map((text) => element("th", { scope: "col" }, text)))] : [];
  const buttons = [
    ["zoom to it", "show this range only (z)", () => actions.show(lettered.at(-1).statistics.from, lettered.at(-1).statistics.to)],
    ...(ranges.chosen ? [["pin", "keep this range to compare another with it (p)", () => ranges.pin()]] : []),
    ["clear", "give this range up (Esc)", () => ranges.clear()],
  ];
  const parts = [
    ...lettered.map(({ letter, statistics }) => element("h2", {}, title(statistics, letter, lettered.length > 1 || !ranges.chosen))),
    element(
      "div",
      { className: "buttons" },
      ...buttons.map(([text, hint, action]) => element("button", { title: hint, on: { click: action } }, text)),
    ),
    element("table", { className: lettered.length > 1 ? "two" : "one" }, element("thead", {}, ...head), element("tbody", {}, ...rows)),
  ];
  if (!ranges.chosen) parts.push(element("p", { className: "hint" }, "Drag over the plot to compare another range with A."));
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
  const value = (unit, of) => ({ unit, values: all.map(of) });
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
  if (all[0].energies.length) rows.push(group("energy", all));
  all[0].energies.forEach(({ name }, at) => {
    rows.push(row(name, value("j", (one) => one.energies[at].energy_j)));
    rows.push(row("mean power", value("w", (one) => (one.energies[at].energy_j * 1e9) / one.span_ns)));
  });
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
