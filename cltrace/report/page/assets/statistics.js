// Statistics of a range of time: how busy the devices were, with what, and what they moved and used.
// A command that the range cuts counts with the part that lies within: its time, and as much of its bytes.

import { firstWhere } from "./model.js";

/** Return the statistics of the time from `low` to `high`, in ns on the axis, as far as it lies in the trace.
 *
 *  `from` and `to` are the ends of that part; `span_ns` is 0 where no part of the range lies in the trace.
 *  `busy_ns` is the time in which at least one device worked; `gaps` are the times between, as pairs. `kernels`
 *  and `transfers` are lists of `{name, count, time_ns, bytes}`, those that took the most time first. `energies`
 *  are the joules of each channel. Of two traces only `trace` counts. `isApproximate` says that some slices stand for several. */
export function rangeStatistics(model, low, high, trace = 0) {
  const { begin, end } = model.spanOf(trace);
  const from = Math.max(low, begin);
  const to = Math.max(from, Math.min(high, end));
  const byName = new Map();
  let busy = [[], []];
  let isApproximate = false;
  const parts = [];
  for (const row of to > from ? model.rows : []) {
    if (model.scene.tracks[row.track].kind !== "queue" || model.traceOfRow(row) !== trace) continue;
    const intervals = [[], []];
    const first = model.firstEndingAfter(row, from);
    for (let slice = first; slice < row.end && model.begin_ns[slice] < to; slice += 1) {
      isApproximate ||= model.count[slice] > 1;
      addSlice(model, slice, from, to, byName, intervals);
    }
    if (intervals[0].length) parts.push(intervals);
  }
  while (parts.length > 1) parts.push(unionOf(parts.shift(), parts.shift()));
  if (parts.length) [busy] = parts;
  const of = (kind) => [...byName.values()].filter((line) => line.kind === kind).sort((left, right) => right.time_ns - left.time_ns);
  return {
    from,
    to,
    span_ns: to - from,
    busy_ns: busy[0].reduce((sum, begin, at) => sum + busy[1][at] - begin, 0),
    gaps: gapsBetween(busy, from, to),
    kernels: of("kernel"),
    transfers: of("transfer"),
    energies: model
      .levelsOf(trace)
      .filter((level) => to > from && level.energy_j.length)
      .map((level) => ({ name: level.label, energy_j: energyAt(level, to) - energyAt(level, from) })),
    isApproximate,
  };
}

/** Add the part of a slice that lies in a range to the sums of its name, and to the intervals of its row. */
function addSlice(model, slice, from, to, byName, [begins, ends]) {
  const begin = Math.max(model.begin_ns[slice], from);
  const end = Math.min(model.end(slice), to);
  const share = model.duration_ns[slice] ? (end - begin) / model.duration_ns[slice] : 1;
  const number = model.name[slice];
  let line = byName.get(number);
  if (!line) {
    const { text, kind } = model.scene.names[number];
    byName.set(number, (line = { name: text, kind, count: 0, time_ns: 0, bytes: 0 }));
  }
  line.count += model.count[slice];
  line.time_ns += model.busy_ns[slice] * share;
  line.bytes += model.size_bytes[slice] * share;
  if (begins.length && begin <= ends[ends.length - 1]) {
    ends[ends.length - 1] = Math.max(ends[ends.length - 1], end);
  } else {
    begins.push(begin);
    ends.push(end);
  }
}

/** Return the union of two lists of disjoint ascending intervals, each as its begins and its ends. */
function unionOf(left, right) {
  const begins = [];
  const ends = [];
  let [at, other] = [0, 0];
  while (at < left[0].length || other < right[0].length) {
    const isLeft = other >= right[0].length || (at < left[0].length && left[0][at] <= right[0][other]);
    const [begin, end] = isLeft ? [left[0][at], left[1][at]] : [right[0][other], right[1][other]];
    if (isLeft) at += 1;
    else other += 1;
    const last = ends.length - 1;
    if (last >= 0 && begin <= ends[last]) ends[last] = Math.max(ends[last], end);
    else {
      begins.push(begin);
      ends.push(end);
    }
  }
  return [begins, ends];
}

/** Return the times of a range outside of the intervals, as pairs. */
function gapsBetween([begins, ends], from, to) {
  const gaps = [];
  let since = from;
  begins.forEach((begin, at) => {
    if (begin > since) gaps.push([since, begin]);
    since = ends[at];
  });
  if (to > since) gaps.push([since, to]);
  return gaps;
}

/** Return the energy of a channel from its first reading until a time, in J. */
function energyAt({ time_ns: times, energy_j: energies }, ns) {
  const after = firstWhere(0, times.length, (at) => times[at] > ns);
  if (!after) return 0;
  if (after === times.length) return energies.at(-1);
  const share = (ns - times[after - 1]) / (times[after] - times[after - 1]);
  return energies[after - 1] + share * (energies[after] - energies[after - 1]);
}
