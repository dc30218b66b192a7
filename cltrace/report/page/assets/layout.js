// Vertical positions of the tracks. A folded track has all its rows in one thin line.

const ROW = 18;
const FOLDED = 8;
const COUNTER = 52;
const MAX_TICKS = 3;
const GAP = 6;
const LEVEL_MARGIN = 6;
const MAX_OPEN_ROWS = 12;

/** Return round values on the axis of a quantity from 0 to its highest value, two or three besides 0. */
function levelTicks(highest, unit) {
  const base = unit === "bytes" ? 2 : 10;
  let step = base ** Math.floor(Math.log(highest) / Math.log(base));
  while (highest / step < 2) step /= 2;
  while (highest / step > MAX_TICKS + 1) step *= 2;
  return Array.from({ length: Math.floor(highest / step) + 1 }, (_, at) => at * step);
}

/** Return a quantity as an item, with its highest value and the values on its axis. */
function levelItem(level, process) {
  const highest = level.value.reduce((highest, value) => Math.max(highest, value), 1);
  return { kind: "counter", label: level.label, process, level, rows: [], highest, ticks: levelTicks(highest, level.unit) };
}

/** Return tracks and counters in display order; where a process begins, its name comes first. */
function orderedItems(model) {
  const { tracks, levels: all, processes } = model.scene;
  const items = [];
  let row = 0;
  const trackItems = tracks.map((track, number) => {
    const rows = Array.from({ length: track.rows }, (_, depth) => row + depth);
    row += track.rows;
    return { kind: track.kind, label: track.label, process: track.process, track: number, rows };
  });
  const hasProcesses = Object.keys(processes).length > 1;
  for (const process of new Set([0, ...trackItems.map((item) => item.process), ...all.map((level) => level.process)])) {
    const own = trackItems.filter((item) => item.process === process && (item.rows.length || item.kind === "queue"));
    const levels = all
      .filter((level) => level.process === process)
      .map((level) => levelItem(level, process));
    if (hasProcesses && process && own.length + levels.length) {
      items.push({ kind: "process", label: processes[process], process, rows: [] });
    }
    items.push(...own, ...levels);
  }
  return items;
}

export class Layout {
  constructor(model) {
    this.items = orderedItems(model).map((item) => ({ ...item, isFolded: item.rows.length > MAX_OPEN_ROWS }));
    this.place();
  }

  /** Give each item its `top` and `height`; items of a folded process have no height. */
  place() {
    let top = 0;
    const folded = new Set();
    this.rowTops = new Map();
    for (const item of this.items) {
      if (item.kind === "process" && item.isFolded) folded.add(item.process);
      item.isHidden = item.kind !== "process" && folded.has(item.process);
      const height = item.isFolded ? ROW : Math.max(item.rows.length, 1) * ROW;
      item.height = item.isHidden ? 0 : item.kind === "counter" ? COUNTER : height;
      item.top = top;
      if (item.isHidden) continue;
      item.rows.forEach((row, depth) => {
        const box = item.isFolded
          ? { top: top + (ROW - FOLDED) / 2, height: FOLDED }
          : { top: top + depth * ROW + 1, height: ROW - 2 };
        this.rowTops.set(row, box);
      });
      top += item.height + GAP;
    }
    this.height = top;
  }

  /** Return the vertical position of a value of a counter within its item. */
  levelTop(item, value) {
    return LEVEL_MARGIN + (item.height - LEVEL_MARGIN) * (1 - value / item.highest);
  }

  fold(item) {
    item.isFolded = !item.isFolded;
    this.place();
  }

  /** Return the item at a vertical position. */
  itemAt(y) {
    return this.items.find((item) => !item.isHidden && y >= item.top && y < item.top + item.height);
  }

  /** Return the numbers of the rows at a vertical position: several in a folded track. */
  rowsAt(y) {
    const item = this.itemAt(y);
    if (!item || !item.rows.length) return [];
    return item.isFolded ? item.rows : [item.rows[Math.floor((y - item.top) / ROW)]];
  }

  /** Unfold the process that hides a row. Return whether it was folded. */
  unfoldFor(row) {
    const item = this.items.find((candidate) => candidate.rows.includes(row));
    const head = this.items.find((candidate) => candidate.kind === "process" && candidate.process === item.process);
    if (!head?.isFolded) return false;
    this.fold(head);
    return true;
  }
}
