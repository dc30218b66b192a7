// Memory: accesses of a work-group's items by epoch, with the banks or sectors of the access pointed at.

import { byId, element } from "./elements.js";
import { bytesText, countText } from "./format.js";

const BARRIER_PIXELS = 5;
const MAX_ROWS = 4000;

/** The memory view, linked with the highlight. */
export class MemoryView {
  constructor(model, highlight, colours) {
    this.model = model;
    this.highlight = highlight;
    this.colours = colours;
    this.marked = null;
    this.chosen = null;
    this.onGroup = () => {};
    this.#addSelectors();
    this.#addEpochs();
    const canvas = byId("blocks");
    canvas.addEventListener("mousemove", (event) => this.#point(event));
    canvas.addEventListener("mouseleave", () => this.highlight.leave());
    canvas.addEventListener("click", () => this.chosen !== null && this.highlight.keep(this.#highlightOf(this.chosen)));
    canvas.addEventListener("keydown", (event) => this.#onKey(event));
    highlight.listen((what) => this.#mark(what));
    addEventListener("resize", () => this.#layOut());
    this.#load();
  }

  /** Draw again, in the colours of the theme. */
  draw() {
    this.#drawEpochs();
    this.#draw();
  }

  get memory() {
    return Number(byId("memory").value);
  }

  get group() {
    return Number(byId("group").value);
  }

  /** Show a memory object and a work-group. */
  choose(memory, group) {
    if ([...byId("memory").options].some((option) => Number(option.value) === memory)) byId("memory").value = String(memory);
    if (this.model.shown_groups.includes(group)) byId("group").value = String(group);
    this.#load();
  }

  #addSelectors() {
    const { memories, shown_groups: groups, groups: count, columns } = this.model;
    const used = new Set(columns.event_memory);
    const shared = memories.map((memory, number) => [memory, number]).filter(([, number]) => used.has(number));
    shared.sort(([left], [right]) => (right.space === "local") - (left.space === "local"));
    for (const [memory, number] of shared) {
      byId("memory").append(element("option", { value: String(number) }, `${memory.name} (${memory.space}, ${bytesText(memory.bytes)})`));
    }
    for (const group of groups) byId("group").append(element("option", { value: String(group) }, String(group)));
    for (const name of ["memory", "group"]) {
      byId(name).addEventListener("change", () => {
        this.highlight.clear();
        this.#load();
      });
    }
    const hidden = count - groups.length;
    if (hidden > 0) byId("memory-note").textContent = `the first ${countText(groups.length)} of ${countText(count)} recorded work-groups`;
  }

  #addEpochs() {
    const largest = Math.max(1, ...this.model.epochs.map(([reads, writes, atomics]) => reads + writes + atomics));
    this.epochBars = this.model.epochs.map(([reads, writes, atomics, barriers], epoch) => {
      const parts = [atomics, writes, reads].map((count) => {
        const part = element("span", {});
        part.style.height = `${(42 * count) / largest}px`;
        return part;
      });
      const text = `epoch ${epoch}: ${countText(reads)} reads, ${countText(writes)} writes, ${countText(atomics)} atomic operations, ${countText(barriers)} barriers`;
      return element("button", { title: text, "aria-label": text, on: { click: () => this.#scrollTo(epoch) } }, ...parts);
    });
    byId("epochs").append(...this.epochBars);
  }

  #drawEpochs() {
    const palette = this.colours();
    for (const bar of this.epochBars) {
      for (const [at, colour] of [palette.transfer, palette.kernels[1], palette.kernels[0]].entries()) bar.children[at].style.background = colour;
    }
  }

  #scrollTo(epoch) {
    const top = this.epochTops?.[epoch];
    if (top !== undefined) byId("blocks").parentElement.scrollTop = top;
  }

  /** Sort the events of the group by work-item and epoch. */
  #load() {
    const { columns } = this.model;
    const { begin, count } = this.model.groupRows(this.group);
    this.begin = begin;
    this.count = count;
    this.events = this.model.eventsOf(this.group, this.memory);
    const places = new Map();
    this.depths = [];
    this.placed = this.events.filter((event) => !this.model.isBarrier(event)).map((event) => {
      const epoch = columns.event_epoch[event];
      const key = columns.event_row[event] * 65536 + epoch;
      const depth = places.get(key) ?? 0;
      places.set(key, depth + 1);
      this.depths[epoch] = Math.max(this.depths[epoch] ?? 0, depth + 1);
      return { event, x: columns.event_row[event] - begin, epoch, depth };
    });
    this.barriers = new Map();
    for (const event of this.events) {
      if (this.model.isBarrier(event)) {
        const epoch = columns.event_epoch[event];
        this.depths[epoch] ??= 0;
        this.barriers.set(epoch, event);
      }
    }
    this.chosen = null;
    this.marked = null;
    this.#layOut();
    this.#showPlaces(null);
    this.onGroup();
  }

  #layOut() {
    const canvas = byId("blocks");
    const depths = Array.from(this.depths, (depth) => depth ?? 0);
    const total = depths.reduce((sum, depth) => sum + depth, 0);
    const width = canvas.parentElement.clientWidth || 600;
    this.cell = { width: Math.min(Math.max(width / Math.max(this.count, 1), 2), 22), height: total > 300 ? 4 : 9 };
    this.epochTops = [];
    let top = 2;
    let rows = 0;
    for (const [epoch, depth] of depths.entries()) {
      this.epochTops[epoch] = top;
      rows += depth;
      if (rows > MAX_ROWS) break;
      top += depth * this.cell.height + (this.barriers.has(epoch) ? BARRIER_PIXELS + 3 : 2);
    }
    const ratio = window.devicePixelRatio || 1;
    this.size = { width: Math.max(this.cell.width * this.count, 1), height: top + 2 };
    canvas.width = Math.ceil(this.size.width * ratio);
    canvas.height = Math.ceil(this.size.height * ratio);
    canvas.style.width = `${this.size.width}px`;
    canvas.style.height = `${this.size.height}px`;
    this.byCell = new Map();
    for (const block of this.placed) {
      const epochTop = this.epochTops[block.epoch];
      if (epochTop === undefined) continue;
      block.y = epochTop + block.depth * this.cell.height;
      this.byCell.set(`${block.x},${block.epoch},${block.depth}`, block);
    }
    this.#draw();
  }

  #draw() {
    const canvas = byId("blocks");
    const context = canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    const palette = this.colours();
    const fills = { read: palette.kernels[0], write: palette.kernels[1], atomic: palette.transfer };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.size.width, this.size.height);
    const gap = this.cell.width > 4 ? 1 : 0;
    for (const [epoch] of this.barriers) {
      if (this.epochTops[epoch] === undefined) continue;
      context.fillStyle = palette.faint;
      context.globalAlpha = 0.6;
      context.fillRect(0, this.epochTops[epoch] + (this.depths[epoch] ?? 0) * this.cell.height + 2, this.size.width, BARRIER_PIXELS - 2);
    }
    for (const block of this.placed) {
      if (block.y === undefined) continue;
      context.globalAlpha = this.marked && !this.marked.has(block.event) ? 0.16 : 1;
      context.fillStyle = fills[this.model.sites[this.model.columns.event_site[block.event]].kind];
      context.fillRect(block.x * this.cell.width, block.y, this.cell.width - gap, this.cell.height - 1);
    }
    context.globalAlpha = 1;
    if (this.chosen) {
      context.strokeStyle = palette.accent;
      context.lineWidth = 2;
      context.strokeRect(this.chosen.x * this.cell.width - 1, this.chosen.y - 1, this.cell.width + 1, this.cell.height + 1);
    }
  }

  #blockAt(x, y) {
    const column = Math.floor(x / this.cell.width);
    for (let epoch = this.epochTops.length - 1; epoch >= 0; epoch -= 1) {
      if (this.epochTops[epoch] !== undefined && y >= this.epochTops[epoch]) {
        const depth = Math.floor((y - this.epochTops[epoch]) / this.cell.height);
        return this.byCell.get(`${column},${epoch},${depth}`) ?? null;
      }
    }
    return null;
  }

  #point(event) {
    if (this.highlight.isKept) return;
    const box = byId("blocks").getBoundingClientRect();
    const block = this.#blockAt(event.clientX - box.left, event.clientY - box.top);
    if (block === this.chosen) return;
    this.chosen = block;
    if (block) this.highlight.show(this.#highlightOf(block));
    else this.highlight.leave();
  }

  #highlightOf(block) {
    const site = this.model.sites[this.model.columns.event_site[block.event]];
    return { lines: [site.line], events: [block.event], block };
  }

  #onKey(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (event.key === "Enter" && this.chosen) this.highlight.keep(this.#highlightOf(this.chosen));
    if (!step || !this.placed.length) return;
    event.preventDefault();
    const next = this.chosen ? this.#neighbour(this.chosen, step) : this.placed[0];
    if (!next) return;
    this.highlight.clear();
    this.chosen = next;
    this.highlight.show(this.#highlightOf(next));
    byId("blocks").parentElement.scrollTop = Math.max(next.y - 80, 0);
  }

  #neighbour(block, [across, down]) {
    const inColumn = (x) => this.placed.filter((other) => other.x === x && other.y !== undefined).sort((left, right) => left.y - right.y);
    if (down) {
      const column = inColumn(block.x);
      return column[column.indexOf(block) + down] ?? null;
    }
    for (let x = block.x + across; x >= 0 && x < this.count; x += across) {
      const nearest = inColumn(x).sort((left, right) => Math.abs(left.y - block.y) - Math.abs(right.y - block.y))[0];
      if (nearest) return nearest;
    }
    return null;
  }

  #mark(what) {
    const { line, block, place } = what;
    const { columns, sites } = this.model;
    const isChosen = this.model.itemTest(what);
    if (isChosen) this.marked = this.#eventsWhere((event) => isChosen(columns.event_row[event]));
    else if (line !== undefined) this.marked = this.#eventsWhere((event) => sites[columns.event_site[event]].line === line);
    else if (place) this.marked = this.#eventsWhere((event) => this.model.placeOf(event).number === place.number);
    else if (block) this.marked = new Set(this.model.requestOf(block.event, this.events));
    else this.marked = null;
    if (!block && !place) this.chosen = null;
    if (!place) this.#showPlaces(block ?? null);
    this.#draw();
  }

  #eventsWhere(test) {
    return new Set(this.placed.filter((block) => test(block.event)).map((block) => block.event));
  }

  /** Describe the access of a block, and show the banks or sectors that its warp needs with it. */
  #showPlaces(block) {
    const box = byId("places");
    box.replaceChildren();
    if (!block) {
      byId("access").textContent = this.placed.length
        ? "Point at a block: it shows its access, the bank or sector, and the line."
        : "This work-group does not access it.";
      return;
    }
    const { columns } = this.model;
    const request = this.model.requestOf(block.event, this.events);
    const site = this.model.sites[columns.event_site[block.event]];
    const memory = this.model.memories[columns.event_memory[block.event]];
    const own = this.model.placeOf(block.event);
    const offset = columns.event_offset[block.event];
    const lanes = request.length > 1 ? `${request.length} lanes of its warp access it together` : "one lane of its warp alone";
    byId("access").textContent =
      `work-item ${countText(columns.item[columns.event_row[block.event]])}: ${site.kind} of ${site.element}, ${memory.name} at byte ${countText(offset)}, ` +
      `line ${site.place}, ${own.kind} ${countText(own.number)}, after ${countText(block.epoch)} ${block.epoch === 1 ? "barrier" : "barriers"}; ${lanes}`;
    box.append(...(own.kind === "bank" ? this.#bankButtons(request) : this.#sectorButtons(request)));
  }

  #bankButtons(request) {
    const words = this.model.wordsByBank(request);
    const rounds = Math.max(...words.map((bank) => bank.size), 1);
    const needed = Math.max(Math.ceil(words.reduce((sum, bank) => sum + bank.size, 0) / this.model.banks), 1);
    const title = rounds > needed ? `banks: a ${rounds}-way conflict, ${rounds} rounds` : `banks: no conflict, ${needed} ${needed > 1 ? "rounds for so many words" : "round"}`;
    const buttons = words.map((bank, number) => {
      const text = `bank ${number}: ${bank.size} words`;
      const kind = bank.size > needed ? "is-conflict" : bank.size ? "is-used" : "";
      const label = bank.size > 1 ? `${number}×${bank.size}` : String(number);
      return element("button", { className: kind, title: text, "aria-label": text, on: this.#placeListeners({ number }) }, label);
    });
    return [element("span", { className: "title" }, title), ...buttons];
  }

  #sectorButtons(request) {
    const sectors = new Map();
    for (const event of request) {
      const bytes = Math.max(this.model.sites[this.model.columns.event_site[event]].bytes, 1);
      const first = Math.floor(this.model.columns.event_offset[event] / this.model.sector_bytes);
      const last = Math.floor((this.model.columns.event_offset[event] + bytes - 1) / this.model.sector_bytes);
      for (let sector = first; sector <= last; sector += 1) sectors.set(sector, (sectors.get(sector) ?? 0) + 1);
    }
    const title = `${sectors.size} ${sectors.size > 1 ? "sectors" : "sector"} of ${this.model.sector_bytes} B for this access of the warp`;
    const buttons = [...sectors].sort(([left], [right]) => left - right).map(([number, lanes]) =>
      element(
        "button",
        { className: "sector is-used", title: `${lanes} lanes`, "aria-label": `sector ${number}, ${lanes} lanes`, on: this.#placeListeners({ number }) },
        countText(number),
      ),
    );
    return [element("span", { className: "title" }, title), ...buttons];
  }

  #placeListeners(place) {
    const lines = () => {
      const { columns, sites } = this.model;
      const events = this.#eventsWhere((event) => this.model.placeOf(event).number === place.number);
      return [...new Set([...events].map((event) => sites[columns.event_site[event]].line))];
    };
    const show = () => {
      const what = { place, lines: lines() };
      if (this.highlight.isKept) this.highlight.keep(what);
      else this.highlight.show(what);
    };
    return { mouseenter: show, focus: show, click: () => this.highlight.keep({ place, lines: lines() }) };
  }
}
