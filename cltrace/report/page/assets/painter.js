// Painting a part of the timeline on a canvas. The work grows with the pixels, not with the slices: what
// is narrower than a pixel and a half is painted pixel by pixel, each as strong as the share of its time
// in which something went on, which the sums of lengths tell at once.

import { inkOn } from "./palette.js";
import { NONE, firstWhere } from "./model.js";

const NARROW = 1.5;
const TEXT_WIDTH = 7;
const LEAST_TEXT = 30;
const WEAKEST = 0.3;
const LOOKED_AT = 8;
const DIMMED = 0.15;
const MARK = 5;
const MOST_ARROWS = 400;
const FONT = "11px system-ui, sans-serif";

export class Painter {
  constructor(model, layout) {
    this.model = model;
    this.layout = layout;
    this.colours = [];
    this.search = null;
    this.selected = NONE;
    this.showsEdges = false;
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
    context.restore();
  }

  x(view, ns) {
    return view.left + ((ns - view.from) / (view.to - view.from)) * view.width;
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
      if (model.duration_ns[at] >= NARROW * perPixel) {
        this.#slice(context, view, at, y, height);
        at += 1;
        continue;
      }
      const pixel = Math.floor((model.begin_ns[at] - view.from) / perPixel);
      const limit = view.from + (pixel + 1) * perPixel;
      let next = model.firstBeginningAt(row, limit, at + 1);
      if (next > at + 1 && model.duration_ns[next - 1] >= NARROW * perPixel) next -= 1;
      const share = (model.busyBefore[next] - model.busyBefore[at]) / perPixel;
      const shownOne = this.#strongest(at, next);
      context.globalAlpha = Math.min(1, Math.max(WEAKEST, share)) * (this.#isDimmed(shownOne) ? DIMMED : 1);
      context.fillStyle = this.colours[model.name[shownOne]];
      context.fillRect(view.left + pixel, y, 1, height);
      context.globalAlpha = 1;
      if (model.failedBefore[next] > model.failedBefore[at]) this.#failed(context, view.left + pixel, y);
      at = next;
    }
  }

  #isDimmed(slice) {
    return this.search !== null && !this.search.isWanted(slice);
  }

  /** Of some narrow slices the one to show: the first that is searched for, else the longest of a few. */
  #strongest(from, to) {
    const { model, search } = this;
    if (search && search.wantedBefore[to] > search.wantedBefore[from]) {
      return firstWhere(from, to, (at) => search.wantedBefore[at + 1] > search.wantedBefore[from]);
    }
    const step = Math.max(1, Math.floor((to - from) / LOOKED_AT));
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
    // What stands for several is as strong as the share of its time in which one of them went on.
    const share = model.count[slice] > 1 ? model.busy_ns[slice] / Math.max(model.duration_ns[slice], 1) : 1;
    context.globalAlpha = Math.max(WEAKEST, Math.min(share, 1)) * (this.#isDimmed(slice) ? DIMMED : 1);
    context.fillStyle = colour;
    context.fillRect(from, y, Math.max(to - from - 0.5, 1), height);
    const room = Math.floor((to - from - 6) / TEXT_WIDTH);
    if (height >= 12 && to - from >= LEAST_TEXT && room > 2) {
      const { text } = model.nameOf(slice);
      const count = model.count[slice] > 1 ? ` and ${model.count[slice] - 1} more` : "";
      const whole = text + count;
      context.fillStyle = inkOn(colour);
      context.fillText(whole.length > room ? `${whole.slice(0, room - 1)}…` : whole, from + 4, y + height / 2 + 0.5);
    }
    context.globalAlpha = 1;
    if (model.status[slice]) this.#failed(context, from, y);
  }

  /** A call that failed has a flag at its begin, however short it is. */
  #failed(context, x, y) {
    context.fillStyle = this.palette.accent;
    context.beginPath();
    context.moveTo(x - MARK, y - 1);
    context.lineTo(x + MARK, y - 1);
    context.lineTo(x, y + MARK + 2);
    context.fill();
  }

  /** The line below the critical path. */
  #underline(context, view, row, y) {
    if (row.first === row.end) return;
    const from = Math.max(this.x(view, this.model.begin_ns[row.first]), view.left);
    const to = Math.min(this.x(view, this.model.end(row.end - 1)), view.left + view.width);
    context.fillStyle = this.palette.accent;
    context.fillRect(from, y - 2, Math.max(to - from, 0), 2);
  }

  /** A quantity over time as an area, each pixel as high as the highest in it. */
  #counter(context, view, item, y) {
    const { time_ns: times, value: values } = item.level;
    item.highest ??= values.reduce((one, other) => Math.max(one, other), 1);
    const { highest } = item;
    const perPixel = (view.to - view.from) / view.width;
    context.fillStyle = this.palette.memory;
    context.globalAlpha = 0.55;
    let at = firstWhere(0, times.length, (one) => times[one] > view.from) - 1;
    for (let pixel = 0; pixel < view.width; pixel += 1) {
      const until = view.from + (pixel + 1) * perPixel;
      let value = at >= 0 ? values[at] : 0;
      while (at + 1 < times.length && times[at + 1] < until) {
        at += 1;
        value = Math.max(value, values[at]);
      }
      const height = (value / highest) * (item.height - 4);
      context.fillRect(view.left + pixel, y + item.height - height, 1, height);
    }
    context.globalAlpha = 1;
  }

  /** Where a slice is: its ends in pixels and the middle of its height; `null` where it is not shown. */
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

  /** Arrows of the wait lists in view, if they are few enough to be told apart. */
  #edges(context, view) {
    const { edges } = this.model.links;
    context.strokeStyle = this.palette.faint;
    context.fillStyle = this.palette.faint;
    context.lineWidth = 1;
    const found = [];
    for (let at = 0; at < edges.length && found.length <= MOST_ARROWS; at += 2) {
      const [later, earlier] = [this.model.sliceOf(edges[at]), this.model.sliceOf(edges[at + 1])];
      if (later < 0 || earlier < 0) continue;
      if (this.model.begin_ns[later] > view.to || this.model.end(earlier) < view.from) continue;
      found.push([earlier, later]);
    }
    this.hasTooManyEdges = found.length > MOST_ARROWS;
    if (this.hasTooManyEdges) return;
    for (const [earlier, later] of found) this.#dependency(context, view, earlier, later);
  }

  #dependency(context, view, earlier, later) {
    const [one, other] = [this.#place(view, earlier), this.#place(view, later)];
    if (one && other) this.#arrow(context, one.to, one.middle, other.from, other.middle);
  }

  /** The selected slice, its clock's bound, and arrows to and from what it depends on. */
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

  /** From the end of a command to the return of the call that waited for it. */
  #returning(context, view, slice, call) {
    const [run, waiting] = [this.#place(view, slice), this.#place(view, call)];
    if (run && waiting) this.#arrow(context, run.to, run.middle, waiting.to, waiting.middle);
  }

  /** How far the ends of the slice may be off, as whiskers, where that is wide enough to be seen. */
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
