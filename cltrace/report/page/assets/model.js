// What happened, as columns: rows of slices that are apart and ascend, and how commands are linked.

export const NONE = -1;

/** The first position in [from, to) where `isBeyond`, which turns from false to true, is true; else `to`. */
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

/** Pairs of numbers as lists by the first number: `starts[a]` to `starts[a + 1]` are places in `others`. */
function grouped(first, second, count) {
  const starts = new Int32Array(count + 1);
  for (const one of first) starts[one + 1] += 1;
  for (let at = 0; at < count; at += 1) starts[at + 1] += starts[at];
  const next = starts.slice(0, count);
  const others = new Int32Array(first.length);
  for (let at = 0; at < first.length; at += 1) {
    others[next[first[at]]] = second[at];
    next[first[at]] += 1;
  }
  return { of: (one) => others.subarray(starts[one], starts[one + 1]) };
}

/** What the values before each place add up to: a difference of two is the sum of any stretch. */
export function sums(values, Kind) {
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
    this.commands = this.links.id.length;
    this.rows = this.#rows(columns["row.size"]);
    this.busyBefore = sums(this.busy_ns, Float64Array);
    this.failedBefore = sums(this.status.map((status) => Number(status !== 0)), Uint32Array);
    this.rowOf = (slice) => firstWhere(0, this.rows.length, (at) => this.rows[at].end > slice);
    this.#link();
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
    this.waitsFor = grouped(later, earlier, this.commands);
    this.waitedForBy = grouped(earlier, later, this.commands);
    const [calls, waited] = evenAndOdd(waits);
    this.callsWaitingFor = grouped(waited, calls, this.commands);
    this.waitedByCall = new Map();
    calls.forEach((call, at) => {
      if (!this.waitedByCall.has(call)) this.waitedByCall.set(call, []);
      this.waitedByCall.get(call).push(waited[at]);
    });
    const followers = [];
    const followed = [];
    before.forEach((one, at) => {
      if (one >= 0) {
        followed.push(one);
        followers.push(at);
      }
    });
    this.queueAfter = grouped(followed, followers, this.commands);
  }

  end(slice) {
    return this.begin_ns[slice] + this.duration_ns[slice];
  }

  /** The first slice of a row that ends after a time. */
  firstEndingAfter(row, ns) {
    return firstWhere(row.first, row.end, (at) => this.begin_ns[at] + this.duration_ns[at] > ns);
  }

  /** The first slice of a row that begins at a time or after it. */
  firstBeginningAt(row, ns, from = row.first) {
    return firstWhere(from, row.end, (at) => this.begin_ns[at] >= ns);
  }

  /** The slice of a row that is nearest to a time, no further than so many ns; `NONE` if there is none. */
  nearest(row, ns, within) {
    const at = this.firstEndingAfter(row, ns);
    const distance = (slice) =>
      slice >= row.first && slice < row.end
        ? Math.max(this.begin_ns[slice] - ns, ns - this.end(slice), 0)
        : Infinity;
    const best = distance(at) <= distance(at - 1) ? at : at - 1;
    return distance(best) <= within ? best : NONE;
  }

  /** Whether a row is of the critical path. */
  isPath(row) {
    return this.scene.tracks[row.track].kind === "path";
  }

  /** The next wanted slice after a time, or the last one before it, over all rows but the critical path's.
   *  Slices that begin at one time are in the order of their numbers; `slice` itself is passed over. */
  seek(isWanted, ns, slice, isForward) {
    const found = this.rows
      .filter((row) => !this.isPath(row))
      .map((row) => this.#seekInRow(row, isWanted, ns, slice, isForward))
      .filter((one) => one !== NONE);
    const isBetter = isForward
      ? (one, best) => this.begin_ns[one] < this.begin_ns[best]
      : (one, best) => this.begin_ns[one] >= this.begin_ns[best];
    return found.reduce((best, one) => (best === NONE || isBetter(one, best) ? one : best), NONE);
  }

  #seekInRow(row, isWanted, ns, slice, isForward) {
    const step = isForward ? 1 : -1;
    const isPassed = (at) => slice !== NONE && this.begin_ns[at] === ns && step * (slice - at) >= 0;
    let at = isForward ? this.firstBeginningAt(row, ns) : this.firstBeginningAt(row, ns + 1) - 1;
    while (at >= row.first && at < row.end) {
      if (isWanted(at) && !isPassed(at)) return at;
      at += step;
    }
    return NONE;
  }

  /** What the text of a slice's name is, and of what kind. */
  nameOf(slice) {
    return this.scene.names[this.name[slice]];
  }

  /** Where the host call of a slice is, or of the call that made its command. */
  siteOf(slice) {
    const command = this.command[slice];
    const call = this.site[slice] || command < 0 ? slice : this.links.host_slice[command];
    return call >= 0 ? this.scene.sites[this.site[call]] : "";
  }

  /** How far off the times of a slice may be, in ns; `NONE` for one of the host, or where it is not known. */
  boundOf(slice) {
    const command = this.command[slice];
    return command >= 0 && this.links.device_slice[command] === slice ? this.links.bound_ns[command] : NONE;
  }

  /** The slice of a command on the device, or that of its call; `NONE` if neither is drawn. */
  sliceOf(command) {
    const onDevice = this.links.device_slice[command];
    return onDevice >= 0 ? onDevice : this.links.host_slice[command];
  }
}
