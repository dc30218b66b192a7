// Model of the events inside a launch, and of what is highlighted in all views.

/** Data of the page: what `inside_kernel.py` wrote, with its columns. */
export class InsideModel {
  constructor(report, columns) {
    Object.assign(this, report);
    this.columns = columns;
    this.itemCount = columns.item.length;
    this.rowsOfGroup = new Map();
    for (let row = 0; row < this.itemCount; row += 1) {
      if (row === 0 || columns.group[row] !== columns.group[row - 1]) this.rowsOfGroup.set(columns.group[row], row);
    }
  }

  /** Return the events of a work-group that access a memory object, and all barriers, in their order. */
  eventsOf(group, memory) {
    const { event_row: rows, event_memory: memories } = this.columns;
    const events = [];
    for (let at = 0; at < rows.length; at += 1) {
      if (this.columns.group[rows[at]] !== group) continue;
      if (memories[at] === memory || this.isBarrier(at)) events.push(at);
    }
    return events;
  }

  /** Return the name of a line of the source, as its `#line` directives state it. */
  lineName(line) {
    const [file, number] = this.line_names[line - 1] ?? ["", line];
    return file ? `${file}:${number}` : String(number);
  }

  /** Return true for a line that follows another one by name, too. */
  areNeighbours(first, second) {
    const [from, to] = [this.line_names[first - 1], this.line_names[second - 1]];
    return !from || (from[0] === to[0] && from[1] + 1 === to[1]);
  }

  isBarrier(event) {
    return this.sites[this.columns.event_site[event]].kind.endsWith("barrier");
  }

  /** Return the work-items of a group: the first row and their number. */
  groupRows(group) {
    const begin = this.rowsOfGroup.get(group) ?? 0;
    let end = begin;
    while (end < this.itemCount && this.columns.group[end] === group) end += 1;
    return { begin, count: end - begin };
  }

  /** Return the bank of an access, or its sector where the memory is not local. */
  placeOf(event) {
    const memory = this.memories[this.columns.event_memory[event]];
    const offset = this.columns.event_offset[event];
    if (memory?.space === "local") return { kind: "bank", number: Math.floor(offset / this.bank_bytes) % this.banks };
    return { kind: "sector", number: Math.floor(offset / this.sector_bytes) };
  }

  /** Return the events that a warp does together with one. */
  requestOf(event, events) {
    const { event_step: steps, event_row: rows, warp } = this.columns;
    const ownWarp = warp[rows[event]];
    return events.filter((other) => steps[other] === steps[event] && warp[rows[other]] === ownWarp);
  }

  /** Return the highlighted streams with their numbers of work-items, null if none is. */
  weightsOf({ stream, streams, proxy, rows }) {
    const all = (numbers) => new Map(numbers.map((number) => [number, this.streams[number]?.items ?? 0]));
    if (stream !== undefined) return all([stream]);
    if (streams) return all(streams);
    if (rows) return countEach(rows.map((row) => this.columns.stream[row]));
    if (proxy === undefined) return null;
    return new Map(this.proxies[proxy].shares.map(([number, lanes]) => [number, lanes * this.proxies[proxy].warps]));
  }

  /** Return a test of the highlighted work-items, by row; null if none is. */
  itemTest({ stream, streams, proxy, rows }) {
    const { stream: numbers, proxy: proxies } = this.columns;
    if (stream !== undefined) return (row) => numbers[row] === stream;
    if (streams) {
      const chosen = new Set(streams);
      return (row) => chosen.has(numbers[row]);
    }
    if (rows) {
      const chosen = new Set(rows);
      return (row) => chosen.has(row);
    }
    return proxy === undefined ? null : (row) => proxies[row] === proxy;
  }

  /** Return the distinct words of each bank that a request needs: lanes with one word share a round. */
  wordsByBank(request) {
    const words = Array.from({ length: this.banks }, () => new Set());
    for (const event of request) {
      const bytes = this.sites[this.columns.event_site[event]].bytes;
      const first = Math.floor(this.columns.event_offset[event] / this.bank_bytes);
      const last = Math.floor((this.columns.event_offset[event] + Math.max(bytes, 1) - 1) / this.bank_bytes);
      for (let word = first; word <= last; word += 1) words[word % this.banks].add(word);
    }
    return words;
  }
}

/** Return the colour of a stream: the most frequent ones have one each, the others share one. */
export const streamColour = (stream, palette) => palette.kernels[stream] ?? palette.otherKernel;

function countEach(numbers) {
  const counts = new Map();
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1);
  return counts;
}

/**
 * What is highlighted: work-items, as a stream, several streams, a proxy warp or rows; or events at a line,
 * bank or sector. A kept highlight outlives pointing.
 */
export class Highlight {
  #listeners = [];
  #kept = null;

  constructor() {
    this.current = {};
  }

  listen(listener) {
    this.#listeners.push(listener);
  }

  show(what) {
    if (!this.#kept) this.#set(what);
  }

  keep(what) {
    this.#kept = what;
    this.#set(what);
  }

  leave() {
    if (!this.#kept) this.#set({});
  }

  clear() {
    this.#kept = null;
    this.#set({});
  }

  get isKept() {
    return this.#kept !== null;
  }

  #set(what) {
    this.current = what;
    for (const listener of this.#listeners) listener(what);
  }
}
