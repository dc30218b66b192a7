// Where tracks stand below each other. One that is folded has all its rows in one thin line.

const ROW = 18;
const FOLDED = 8;
const COUNTER = 40;
const GAP = 6;
const MOST_OPEN_ROWS = 12;

/** Tracks and counters in the order in which they are shown, each with its process's name where it begins. */
function ordered(model) {
  const { tracks, levels: all, processes } = model.scene;
  const items = [];
  let row = 0;
  const lanes = tracks.map((track, number) => {
    const rows = Array.from({ length: track.rows }, (_, depth) => row + depth);
    row += track.rows;
    return { kind: track.kind, label: track.label, process: track.process, track: number, rows };
  });
  const several = Object.keys(processes).length > 1;
  for (const process of new Set([0, ...lanes.map((lane) => lane.process), ...all.map((level) => level.process)])) {
    const own = lanes.filter((lane) => lane.process === process && (lane.rows.length || lane.kind === "queue"));
    const levels = all
      .filter((level) => level.process === process)
      .map((level) => ({ kind: "counter", label: level.label, process, level, rows: [] }));
    if (several && process && own.length + levels.length) {
      items.push({ kind: "process", label: processes[process], process, rows: [] });
    }
    items.push(...own, ...levels);
  }
  return items;
}

export class Layout {
  constructor(model) {
    this.items = ordered(model).map((item) => ({ ...item, isFolded: item.rows.length > MOST_OPEN_ROWS }));
    this.place();
  }

  /** Give each item its `top` and `height`; those of a folded process have none. */
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

  fold(item) {
    item.isFolded = !item.isFolded;
    this.place();
  }

  /** The item at a height. */
  itemAt(y) {
    return this.items.find((item) => !item.isHidden && y >= item.top && y < item.top + item.height);
  }

  /** The numbers of the rows at a height: several where a track is folded. */
  rowsAt(y) {
    const item = this.itemAt(y);
    if (!item || !item.rows.length) return [];
    return item.isFolded ? item.rows : [item.rows[Math.floor((y - item.top) / ROW)]];
  }

  /** Unfold what hides a row. Returns whether something did. */
  unfoldFor(row) {
    const item = this.items.find((one) => one.rows.includes(row));
    const head = this.items.find((one) => one.kind === "process" && one.process === item.process);
    if (!head?.isFolded) return false;
    this.fold(head);
    return true;
  }
}
