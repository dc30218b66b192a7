// The trace as columns: rows of slices that do not overlap and ascend, and links of commands.

export const NONE = -1;

/** Return the first position in [from, to) where `isBeyond`, which changes from false to true once, is true; else `to`. */
export function firstWhere(from, to, isBeyond) {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBeyond(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Group pairs by their first number: `starts[a]` to `starts[a + 1]` are the positions of its partners in `others`. */
function groupPairs(first, second, count) {
  const starts = new Int32Array(count + 1);
  for (const number of first) starts[number + 1] += 1;
  for (let at = 0; at < count; at += 1) starts[at + 1] += starts[at];
  const next = starts.slice(0, count);
  const others = new Int32Array(first.length);
  for (let at = 0; at < first.length; at += 1) {
    others[next[first[at]]] = second[at];
    next[first[at]] += 1;
  }
  return { of: (number) => others.subarray(starts[number], starts[number + 1]) };
}

/** Return prefix sums: the difference of two is the sum of the values between. */
export function prefixSums(values, Kind) {
  const before = new Kind(values.length + 1);
  for (let at = 0; at < values.length; at += 1) before[at + 1] = before[at] + values[at];
  return before;
}

const evenAndOdd = (pairs) => [pairs.filter((_, at) => at % 2 === 0), pairs.filter((_, at) => at % 2)];

export class Model {
  constructor(scene, columns) {
    this.scene = scene;
    for (const name of ["begin_ns", "duration_ns", "name", "command", "site", "status", "size_bytes", "count", "busy_ns"]) {
      this[name] = columns[`slice.${name}`];
    }
    this.links = Object.fromEntries(
      Object.entries(columns)
        .filter(([name]) => name.startsWith("link."))
        .map(([name, values]) => [name.slice(5), values]),
    );
    this.length = this.begin_ns.length;
    this.shift_ns = 0;
    // A shift of the second trace may go beyond 32 bits.
    if (scene.second) this.begin_ns = Float64Array.from(this.begin_ns);
    this.bounds = this.#bounds();
    this.commands = this.links.id.length;
    this.rows = this.#rows(columns["row.size"]);
    this.busyBefore = prefixSums(this.busy_ns, Float64Array);
    this.failedBefore = prefixSums(this.status.map((status) => Number(status !== 0)), Uint32Array);
    this.rowOf = (slice) => firstWhere(0, this.rows.length, (at) => this.rows[at].end > slice);
    this.#link();
  }

  /** Return the first and the last time of each trace on its own axis. */
  #bounds() {
    const whole = { begin: this.scene.begin_ns, end: this.scene.end_ns };
    if (!this.scene.second) return [whole];
    const { spans } = this.scene.second;
    return spans.map(([begin, end]) => ({ begin, end }));
  }

  /** Return the trace of a slice or track of two traces: 0 or 1. */
  traceOf(slice) {
    return Number(Boolean(this.scene.second) && slice >= this.scene.second.slice);
  }

  traceOfRow(row) {
    return Number(Boolean(this.scene.second) && row.track >= this.scene.second.track);
  }

  /** Return the first and the last time of a trace on the shared axis. */
  spanOf(trace) {
    const { begin, end } = this.bounds[trace];
    const shift = trace ? this.shift_ns : 0;
    return { begin: begin + shift, end: end + shift };
  }

  traceOfLevel(level) {
    return Number(Boolean(this.scene.second) && this.scene.levels.indexOf(level) >= this.scene.second.level);
  }

  /** Return the quantities over time of a trace. */
  levelsOf(trace) {
    const { levels, second } = this.scene;
    if (!second) return levels;
    return trace ? levels.slice(second.level) : levels.slice(0, second.level);
  }

  /** Return when a slice began on the axis of its own trace. */
  ownBegin(slice) {
    return this.begin_ns[slice] - (this.traceOf(slice) ? this.shift_ns : 0);
  }

  /** Move the second trace on the axis, to `ns` after where it was recorded relative to the first one. */
  shiftSecond(ns) {
    const by = ns - this.shift_ns;
    this.shift_ns = ns;
    for (let slice = this.scene.second.slice; slice < this.length; slice += 1) this.begin_ns[slice] += by;
    for (const level of this.levelsOf(1)) level.time_ns = level.time_ns.map((time) => time + by);
    const [first, second] = this.bounds;
    this.scene.begin_ns = Math.min(first.begin, second.begin + ns);
    this.scene.end_ns = Math.max(first.end, second.end + ns);
  }

  /** Return the command's run of the same name and the same number in the other trace; `NONE` without one. */
  counterpart(slice) {
    this.counterparts ??= this.#pairRuns();
    return this.counterparts[slice];
  }

  /** Return for each slice its counterpart. One pass over all slices, because a page may have a million. */
  #pairRuns() {
    const runs = [new Map(), new Map()];
    for (const row of this.rows) {
      if (this.scene.tracks[row.track].kind !== "queue") continue;
      const byName = runs[this.traceOfRow(row)];
      for (let slice = row.first; slice < row.end; slice += 1) {
        if (!byName.has(this.name[slice])) byName.set(this.name[slice], []);
        byName.get(this.name[slice]).push(slice);
      }
    }
    const counterparts = new Int32Array(this.length).fill(NONE);
    const byBegin = (left, right) => this.begin_ns[left] - this.begin_ns[right];
    for (const [name, first] of runs[0]) {
      const second = (runs[1].get(name) ?? []).sort(byBegin);
      for (const [at, slice] of first.sort(byBegin).slice(0, second.length).entries()) {
        counterparts[slice] = second[at];
        counterparts[second[at]] = slice;
      }
    }
    return counterparts;
  }

  #rows(sizes) {
    const rows = [];
    let first = 0;
    this.scene.tracks.forEach((track, number) => {
      for (let depth = 0; depth < track.rows; depth += 1) {
        const end = first + sizes[rows.length];
        rows.push({ track: number, depth, first, end });
        first = end;
      }
    });
    return rows;
  }

  #link() {
    const { edges, waits, queue_before: before } = this.links;
    const [later, earlier] = evenAndOdd(edges);
    this.waitsFor = groupPairs(later, earlier, this.commands);
    this.waitedForBy = groupPairs(earlier, later, this.commands);
    const [calls, waited] = evenAndOdd(waits);
    this.callsWaitingFor = groupPairs(waited, calls, this.commands);
    this.waitedByCall = new Map();
    calls.forEach((call, at) => {
      if (!this.waitedByCall.has(call)) this.waitedByCall.set(call, []);
      this.waitedByCall.get(call).push(waited[at]);
    });
    const followers = [];
    const followed = [];
    before.forEach((command, at) => {
      if (command >= 0) {
        followed.push(command);
        followers.push(at);
      }
    });
    this.queueAfter = groupPairs(followed, followers, this.commands);
  }

  end(slice) {
    return this.begin_ns[slice] + this.duration_ns[slice];
  }

  /** Return the first slice of a row that ends after a time. */
  firstEndingAfter(row, ns) {
    return firstWhere(row.first, row.end, (at) => this.begin_ns[at] + this.duration_ns[at] > ns);
  }

  /** Return the first slice of a row that begins at a time or after it. */
  firstBeginningAt(row, ns, from = row.first) {
    return firstWhere(from, row.end, (at) => this.begin_ns[at] >= ns);
  }

  /** Return the slice of a row that is nearest to a time and at most `within` ns away; `NONE` if there is none. */
  nearest(row, ns, within) {
    const at = this.firstEndingAfter(row, ns);
    const distance = (slice) =>
      slice >= row.first && slice < row.end
        ? Math.max(this.begin_ns[slice] - ns, ns - this.end(slice), 0)
        : Infinity;
    const best = distance(at) <= distance(at - 1) ? at : at - 1;
    return distance(best) <= within ? best : NONE;
  }

  /** Return whether a row belongs to the critical path. */
  isPath(row) {
    return this.scene.tracks[row.track].kind === "path";
  }

  /** Return the next matching slice after a time, or the last before it, in all rows but the critical path's.
   *  Slices that begin at the same time are in the order of their numbers; `slice` itself is skipped. */
  seek(isMatch, ns, slice, isForward) {
    const candidates = this.rows
      .filter((row) => !this.isPath(row))
      .map((row) => this.#seekInRow(row, isMatch, ns, slice, isForward))
      .filter((candidate) => candidate !== NONE);
    const isBetter = isForward
      ? (candidate, best) => this.begin_ns[candidate] < this.begin_ns[best]
      : (candidate, best) => this.begin_ns[candidate] >= this.begin_ns[best];
    return candidates.reduce((best, candidate) => (best === NONE || isBetter(candidate, best) ? candidate : best), NONE);
  }

  #seekInRow(row, isMatch, ns, slice, isForward) {
    const step = isForward ? 1 : -1;
    const isSkipped = (at) => slice !== NONE && this.begin_ns[at] === ns && step * (slice - at) >= 0;
    let at = isForward ? this.firstBeginningAt(row, ns) : this.firstBeginningAt(row, ns + 1) - 1;
    while (at >= row.first && at < row.end) {
      if (isMatch(at) && !isSkipped(at)) return at;
      at += step;
    }
    return NONE;
  }

  /** Return the text and the kind of a slice's name. */
  nameOf(slice) {
    return this.scene.names[this.name[slice]];
  }

  /** Return the number of the place of a slice's host call, or of the call that enqueued its command; 0 for none. */
  siteNumberOf(slice) {
    const command = this.command[slice];
    const call = this.site[slice] || command < 0 ? slice : this.links.host_slice[command];
    return call >= 0 ? this.site[call] : 0;
  }

  /** Return the place of a slice's host call, or of the call that enqueued its command. */
  siteOf(slice) {
    return this.scene.sites[this.siteNumberOf(slice)];
  }

  /** Return whether a slice is the run of a command on its device. */
  isOnDevice(slice) {
    const command = this.command[slice];
    return command >= 0 && this.links.device_slice[command] === slice;
  }

  /** Return the uncertainty of a slice's times in ns; `NONE` for a host call, or where it is not known. */
  boundOf(slice) {
    return this.isOnDevice(slice) ? this.links.bound_ns[this.command[slice]] : NONE;
  }

  /** Return the slice of a command on the device, or that of its call; `NONE` if neither is drawn. */
  sliceOf(command) {
    const onDevice = this.links.device_slice[command];
    return onDevice >= 0 ? onDevice : this.links.host_slice[command];
  }
}
