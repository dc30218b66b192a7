// Painting of a part of the timeline on a canvas. The work grows with the pixels, not with the slices:
// slices narrower than a pixel and a half are painted pixel by pixel, each with the opacity of its busy
// share, which follows from prefix sums of the durations.

import { inkOn } from "./palette.js";
import { NONE, firstWhere } from "./model.js";

const MIN_WIDTH = 1.5;
const CHARACTER_WIDTH = 7;
const MIN_TEXT_WIDTH = 30;
const MIN_OPACITY = 0.3;
const MAX_SAMPLES = 8;
const DIMMED_OPACITY = 0.15;
const FLAG_SIZE = 5;
const MAX_ARROWS = 400;
const FONT = "11px system-ui, sans-serif";

export class Painter {
  constructor(model, layout) {
    this.model = model;
    this.layout = layout;
    this.colours = [];
    this.search = null;
    this.selected = NONE;
    this.showsEdges = false;
    this.ranges = [];
  }

  /** `view` has `from`, `to` (ns), `left`, `width`, `top`, `height` and `scroll` (CSS pixels). */
  paint(context, view) {
    const { layout, model } = this;
    context.save();
    context.beginPath();
    context.rect(view.left, view.top, view.width, view.height);
    context.clip();
    context.font = FONT;
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const item of layout.items) {
      const y = view.top + item.top - view.scroll;
      if (item.isHidden || y > view.top + view.height || y + item.height < view.top) continue;
      this.#separator(context, view, y + item.height + 2.5);
      if (item.kind === "counter") this.#counter(context, view, item, y);
      for (const row of item.rows) {
        const box = layout.rowTops.get(row);
        this.#row(context, view, model.rows[row], view.top + box.top - view.scroll, box.height);
        if (item.kind === "path") this.#underline(context, view, model.rows[row], view.top + box.top + box.height - view.scroll);
      }
    }
    if (this.showsEdges) this.#edges(context, view);
    if (this.selected !== NONE) this.#selection(context, view);
    for (const { letter, statistics } of this.ranges) this.#range(context, view, letter, statistics);
    context.restore();
  }

  x(view, ns) {
    return view.left + ((ns - view.from) / (view.to - view.from)) * view.width;
  }

  /** Shade a range of time, with lines at both ends and its letter. */
  #range(context, view, letter, { from, to }) {
    const [left, right] = [this.x(view, from), this.x(view, to)];
    if (right < view.left || left > view.left + view.width) return;
    context.fillStyle = this.palette.ink;
    context.globalAlpha = 0.08;
    context.fillRect(left, view.top, Math.max(right - left, 1), view.height);
    context.globalAlpha = 1;
    context.fillRect(Math.round(left), view.top, 1, view.height);
    context.fillRect(Math.round(right), view.top, 1, view.height);
    if (this.ranges.length > 1) context.fillText(letter, left + 4, view.top + view.height - 10);
  }

  #separator(context, view, y) {
    context.fillStyle = this.palette.grid;
    context.fillRect(view.left, Math.round(y), view.width, 1);
  }

  #row(context, view, row, y, height) {
    const { model } = this;
    const perPixel = (view.to - view.from) / view.width;
    let at = model.firstEndingAfter(row, view.from);
    while (at < row.end && model.begin_ns[at] < view.to) {
      if (model.duration_ns[at] >= MIN_WIDTH * perPixel) {
        this.#slice(context, view, at, y, height);
        at += 1;
        continue;
      }
      const pixel = Math.floor((model.begin_ns[at] - view.from) / perPixel);
      const limit = view.from + (pixel + 1) * perPixel;
      let next = model.firstBeginningAt(row, limit, at + 1);
      if (next > at + 1 && model.duration_ns[next - 1] >= MIN_WIDTH * perPixel) next -= 1;
      const share = (model.busyBefore[next] - model.busyBefore[at]) / perPixel;
      const shown = this.#representative(at, next);
      context.globalAlpha = Math.min(1, Math.max(MIN_OPACITY, share)) * (this.#isDimmed(shown) ? DIMMED_OPACITY : 1);
      context.fillStyle = this.colours[model.name[shown]];
      context.fillRect(view.left + pixel, y, 1, height);
      context.globalAlpha = 1;
      if (model.failedBefore[next] > model.failedBefore[at]) this.#failed(context, view.left + pixel, y);
      at = next;
    }
  }

  #isDimmed(slice) {
    return this.search !== null && !this.search.isMatch(slice);
  }

  /** Return the slice to show for several narrow ones: the first match of the search, or else the longest of a few. */
  #representative(from, to) {
    const { model, search } = this;
    if (search && search.matchesBefore[to] > search.matchesBefore[from]) {
      return firstWhere(from, to, (at) => search.matchesBefore[at + 1] > search.matchesBefore[from]);
    }
    const step = Math.max(1, Math.floor((to - from) / MAX_SAMPLES));
    let best = from;
    for (let at = from; at < to; at += step) {
      if (model.duration_ns[at] > model.duration_ns[best]) best = at;
    }
    return best;
  }

  #slice(context, view, slice, y, height) {
    const { model } = this;
    const from = Math.max(this.x(view, model.begin_ns[slice]), view.left - 1);
    const to = Math.min(this.x(view, model.end(slice)), view.left + view.width + 1);
    const colour = this.colours[model.name[slice]];
    // The opacity of a merged slice is the busy share of its time.
    const share = model.count[slice] > 1 ? model.busy_ns[slice] / Math.max(model.duration_ns[slice], 1) : 1;
    context.globalAlpha = Math.max(MIN_OPACITY, Math.min(share, 1)) * (this.#isDimmed(slice) ? DIMMED_OPACITY : 1);
    context.fillStyle = colour;
    context.fillRect(from, y, Math.max(to - from - 0.5, 1), height);
    const room = Math.floor((to - from - 6) / CHARACTER_WIDTH);
    if (height >= 12 && to - from >= MIN_TEXT_WIDTH && room > 2) {
      const { text } = model.nameOf(slice);
      const count = model.count[slice] > 1 ? ` and ${model.count[slice] - 1} more` : "";
      const whole = text + count;
      context.fillStyle = inkOn(colour);
      context.fillText(whole.length > room ? `${whole.slice(0, room - 1)}…` : whole, from + 4, y + height / 2 + 0.5);
    }
    context.globalAlpha = 1;
    if (model.status[slice]) this.#failed(context, from, y);
  }

  /** Paint a flag at the begin of a failed call, however short it is. */
  #failed(context, x, y) {
    context.fillStyle = this.palette.accent;
    context.beginPath();
    context.moveTo(x - FLAG_SIZE, y - 1);
    context.lineTo(x + FLAG_SIZE, y - 1);
    context.lineTo(x, y + FLAG_SIZE + 2);
    context.fill();
  }

  /** Paint the line below the critical path. */
  #underline(context, view, row, y) {
    if (row.first === row.end) return;
    const from = Math.max(this.x(view, this.model.begin_ns[row.first]), view.left);
    const to = Math.min(this.x(view, this.model.end(row.end - 1)), view.left + view.width);
    context.fillStyle = this.palette.accent;
    context.fillRect(from, y - 2, Math.max(to - from, 0), 2);
  }

  /** Paint a quantity over time as an area; each pixel has the height of its highest value. */
  #counter(context, view, item, y) {
    const { time_ns: times, value: values } = item.level;
    const perPixel = (view.to - view.from) / view.width;
    const bottom = this.layout.levelTop(item, 0);
    // The value is not known after the end of its trace, beyond which another trace may go on.
    const { end } = this.model.spanOf(this.model.traceOfLevel(item.level));
    const pixels = Math.min(view.width, (end - view.from) / perPixel);
    for (const tick of item.ticks) this.#separator(context, view, y + this.layout.levelTop(item, tick));
    context.fillStyle = this.palette.memory;
    context.globalAlpha = 0.55;
    let at = firstWhere(0, times.length, (index) => times[index] > view.from) - 1;
    for (let pixel = 0; pixel < pixels; pixel += 1) {
      const until = view.from + (pixel + 1) * perPixel;
      let value = at >= 0 ? values[at] : 0;
      while (at + 1 < times.length && times[at + 1] < until) {
        at += 1;
        value = Math.max(value, values[at]);
      }
      const top = this.layout.levelTop(item, value);
      context.fillRect(view.left + pixel, y + top, 1, bottom - top);
    }
    context.globalAlpha = 1;
  }

  /** Return the box of a slice in pixels, with the middle of its height; `null` where it is not shown. */
  #place(view, slice) {
    const box = slice >= 0 ? this.layout.rowTops.get(this.model.rowOf(slice)) : undefined;
    if (!box) return null;
    const y = view.top + box.top - view.scroll;
    return {
      from: this.x(view, this.model.begin_ns[slice]),
      to: this.x(view, this.model.end(slice)),
      y,
      height: box.height,
      middle: y + box.height / 2,
    };
  }

  #arrow(context, fromX, fromY, toX, toY) {
    const bend = Math.max(12, Math.min(80, Math.abs(toX - fromX) / 2));
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX + bend, fromY, toX - bend, toY, toX - 1, toY);
    context.stroke();
    context.beginPath();
    context.moveTo(toX, toY);
    context.lineTo(toX - 6, toY - 3.5);
    context.lineTo(toX - 6, toY + 3.5);
    context.fill();
  }

  /** Paint the arrows of the wait lists in view, unless they are too many to tell apart. */
  #edges(context, view) {
    const { edges } = this.model.links;
    context.strokeStyle = this.palette.faint;
    context.fillStyle = this.palette.faint;
    context.lineWidth = 1;
    const visible = [];
    for (let at = 0; at < edges.length && visible.length <= MAX_ARROWS; at += 2) {
      const [later, earlier] = [this.model.sliceOf(edges[at]), this.model.sliceOf(edges[at + 1])];
      if (later < 0 || earlier < 0) continue;
      if (this.model.begin_ns[later] > view.to || this.model.end(earlier) < view.from) continue;
      visible.push([earlier, later]);
    }
    this.hasTooManyEdges = visible.length > MAX_ARROWS;
    if (this.hasTooManyEdges) return;
    for (const [earlier, later] of visible) this.#dependency(context, view, earlier, later);
  }

  #dependency(context, view, earlier, later) {
    const [from, to] = [this.#place(view, earlier), this.#place(view, later)];
    if (from && to) this.#arrow(context, from.to, from.middle, to.from, to.middle);
  }

  /** Paint the selected slice, its clock's bound, and the arrows of its dependencies. */
  #selection(context, view) {
    const { model, selected, palette } = this;
    const place = this.#place(view, selected);
    if (!place) return;
    context.strokeStyle = palette.accent;
    context.fillStyle = palette.accent;
    context.lineWidth = 2;
    context.strokeRect(place.from - 1, place.y - 1, Math.max(place.to - place.from, 1) + 2, place.height + 2);
    this.#bound(context, view, place);
    context.lineWidth = 1.25;
    const command = model.command[selected];
    if (command >= 0) this.#commandArrows(context, view, command);
    for (const waited of model.waitedByCall.get(selected) ?? []) {
      this.#returning(context, view, model.sliceOf(waited), selected);
    }
  }

  #commandArrows(context, view, command) {
    const { model, palette } = this;
    const { host_slice: host, device_slice: device } = model.links;
    if (host[command] >= 0 && device[command] >= 0) {
      const [call, run] = [this.#place(view, host[command]), this.#place(view, device[command])];
      if (call && run) this.#arrow(context, call.from, call.middle, run.from, run.middle);
    }
    for (const call of model.callsWaitingFor.of(command)) this.#returning(context, view, model.sliceOf(command), call);
    context.strokeStyle = palette.ink;
    context.fillStyle = palette.ink;
    for (const before of model.waitsFor.of(command)) {
      this.#dependency(context, view, model.sliceOf(before), model.sliceOf(command));
    }
    for (const after of model.waitedForBy.of(command)) {
      this.#dependency(context, view, model.sliceOf(command), model.sliceOf(after));
    }
    const last = model.links.last_before[command];
    if (last >= 0 && !model.waitsFor.of(command).includes(last)) {
      context.setLineDash([4, 3]);
      this.#dependency(context, view, model.sliceOf(last), model.sliceOf(command));
      context.setLineDash([]);
    }
  }

  /** Paint an arrow from the end of a command to the return of the call that waited for it. */
  #returning(context, view, slice, call) {
    const [run, waiting] = [this.#place(view, slice), this.#place(view, call)];
    if (run && waiting) this.#arrow(context, run.to, run.middle, waiting.to, waiting.middle);
  }

  /** Paint the uncertainty of the slice's ends as whiskers, if it is wide enough to be seen. */
  #bound(context, view, place) {
    const reach = (Math.max(this.model.boundOf(this.selected), 0) / (view.to - view.from)) * view.width;
    if (reach < 2) return;
    context.lineWidth = 1;
    for (const x of [place.from, place.to]) {
      context.beginPath();
      context.moveTo(x - reach, place.middle);
      context.lineTo(x + reach, place.middle);
      for (const end of [x - reach, x + reach]) {
        context.moveTo(end, place.middle - 4);
        context.lineTo(end, place.middle + 4);
      }
      context.stroke();
    }
  }
}
