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

/** What is highlighted: a stream, or events at a line, bank or sector. A kept highlight outlives pointing. */
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
