// Pictures: the work-items of the NDRange, and memory whose elements are linked with those that write them.

import { byId, element } from "./elements.js";
import { countText } from "./format.js";
import { streamColour } from "./inside_model.js";

const MAX_PIXELS = 1 << 22;
const MAX_SIDE = 256;
const MAX_HEIGHT = 150;
const MAX_NAMED = 6;
const FADED = 40;

/** The picture, linked with the highlight. */
export class PictureView {
  constructor(model, highlight, colours) {
    this.model = model;
    this.highlight = highlight;
    this.colours = colours;
    this.pictures = [...itemPictures(model), ...model.pictures.map((picture, at) => writtenPicture(model, picture, at))];
    byId("image-figure").hidden = !this.pictures.length;
    if (!this.pictures.length) return;
    this.#addSelector();
    this.#addListeners();
    highlight.listen((what) => this.draw(what));
    this.#load();
  }

  /** The chosen picture, which is made when it is first shown. */
  get picture() {
    const chosen = this.pictures[Number(byId("picture").value)];
    chosen.made ??= chosen.make();
    return chosen.made;
  }

  #addSelector() {
    const select = byId("picture");
    for (const [at, { label }] of this.pictures.entries()) select.append(element("option", { value: String(at) }, label));
    const bound = this.pictures.findIndex((picture) => picture.isBound);
    select.value = String(Math.max(bound, 0));
    select.hidden = this.pictures.length < 2;
    select.addEventListener("change", () => {
      this.highlight.clear();
      this.#load();
    });
  }

  #addListeners() {
    const canvas = byId("image");
    canvas.addEventListener("mousemove", (event) => this.#onMove(event));
    canvas.addEventListener("mouseleave", () => this.highlight.leave());
    canvas.addEventListener("click", (event) => this.highlight.keep(this.#highlightAt(this.#pixelAt(event))));
    canvas.addEventListener("keydown", (event) => this.#onKey(event));
  }

  #load() {
    const { columns, rows } = this.picture;
    const canvas = byId("image");
    canvas.width = columns;
    canvas.height = rows;
    const fit = Math.min(MAX_SIDE / columns, MAX_SIDE / rows);
    const scale = fit < 1 ? fit : Math.max(1, Math.floor(Math.min(fit, MAX_HEIGHT / rows)));
    canvas.style.width = `${Math.max(columns * scale, 1)}px`;
    canvas.style.height = `${Math.max(rows * scale, 1)}px`;
    this.cursor = -1;
    this.draw(this.highlight.current);
  }

  #pixelAt(event) {
    const { columns, rows } = this.picture;
    const box = byId("image").getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) * columns) / box.width);
    const y = Math.floor(((event.clientY - box.top) * rows) / box.height);
    return Math.min(Math.max(y, 0), rows - 1) * columns + Math.min(Math.max(x, 0), columns - 1);
  }

  /** Return what a pixel highlights: the way of a work-item, or the work-items that write an element. */
  #highlightAt(pixel) {
    const { picture } = this;
    const rows = picture.rowsAt(pixel);
    if (picture.isWritten) return { rows, name: picture.nameOf(pixel), pixel };
    const stream = rows.length ? this.model.columns.stream[rows[0]] : -1;
    return stream < 0 ? { rows, pixel } : { stream, pixel };
  }

  #onMove(event) {
    const pixel = this.#pixelAt(event);
    if (this.highlight.isKept || pixel === this.highlight.current.pixel) return;
    this.highlight.show(this.#highlightAt(pixel));
  }

  #onKey(event) {
    const { columns, rows } = this.picture;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (event.key === "Enter" && this.cursor >= 0) this.highlight.keep(this.#highlightAt(this.cursor));
    if (!step) return;
    event.preventDefault();
    const next = this.cursor < 0 ? 0 : this.cursor + step;
    if (next < 0 || next >= columns * rows) return;
    this.highlight.clear();
    this.cursor = next;
    this.highlight.show(this.#highlightAt(next));
  }

  /** Draw again, in the colours of the theme: what is highlighted stands out. */
  draw(what) {
    if (!this.pictures.length) return;
    const { picture, model } = this;
    const context = byId("image").getContext("2d");
    const image = context.createImageData(picture.columns, picture.rows);
    const palette = this.colours();
    const pixels = new DataView(image.data.buffer);
    const codes = model.streams.map((_, number) => rgb(streamColour(number, palette)));
    const other = rgb(palette.otherKernel);
    const isChosen = model.itemTest(what);
    const isOpaque = (pixel) => image.data[4 * pixel + 3] === 255;
    const paint = (pixel, code, alpha) => pixels.setUint32(4 * pixel, code + alpha);
    let marked = 0;
    picture.forEach((row, pixel) => {
      const code = codes[model.columns.stream[row]] ?? other;
      if (!isChosen || isChosen(row)) {
        if (!isOpaque(pixel)) marked += 1;
        paint(pixel, code, 255);
      } else if (!isOpaque(pixel)) {
        paint(pixel, code, FADED);
      }
    });
    if (what.pixel !== undefined) paint(what.pixel, rgb(palette.accent), 255);
    context.putImageData(image, 0, 0);
    byId("image-note").textContent = this.#note(what, isChosen ? marked : -1);
  }

  #note(what, marked) {
    const { picture } = this;
    if (what.pixel !== undefined) return picture.describe(what.pixel);
    if (marked < 0 || !picture.isWritten) return picture.note;
    return `${countText(marked)} of ${countText(picture.written)} written elements`;
  }
}

/** Return the picture of the work-items, unless there are too many. */
function itemPictures(model) {
  const [width, height = 1, depth = 1] = model.global_size;
  const columns = height * depth > 1 ? width : Math.min(width, Math.max(model.local_size[0], 2 ** Math.ceil(Math.log2(Math.sqrt(width)))));
  const rows = height * depth > 1 ? height * depth : Math.ceil(width / columns);
  if (columns * rows > MAX_PIXELS || !model.itemCount) return [];
  const note = model.global_size.length > 1 ? `work-items, ${model.global_size.join(" × ")}` : `work-items, ${columns} in a row`;
  const make = () => {
    const picture = new Picture(columns, rows, null, model.columns.item, { note });
    picture.describe = (pixel) => (picture.rowsAt(pixel).length ? `work-item ${countText(pixel)}` : `work-item ${countText(pixel)} is not recorded`);
    return picture;
  };
  return [{ label: "work-items", make }];
}

function writtenPicture(model, facts, at) {
  return { label: `${facts.name}, as written`, isBound: facts.is_bound, make: () => makeWritten(model, facts, at) };
}

/** Return the picture of a memory object, by the elements that work-items write. */
function makeWritten(model, facts, at) {
  const { name, columns, rows, per_pixel: step, is_cut: isCut } = facts;
  const [writers, pixels] = [model.columns[`picture_${at}_row`], model.columns[`picture_${at}_pixel`]];
  const size = facts.is_image ? `${columns} × ${rows}` : `${columns} in a row`;
  const note = `${name} by who writes it, ${size}${isCut ? "; the first writes only" : ""}`;
  const picture = new Picture(columns, rows, writers, pixels, { note, isWritten: true });
  picture.nameOf = (pixel) => {
    if (facts.is_image) return `${name}(${pixel % columns}, ${Math.floor(pixel / columns)})`;
    return step > 1 ? `${name}[${pixel * step}] to [${(pixel + 1) * step - 1}]` : `${name}[${pixel}]`;
  };
  picture.describe = (pixel) => `${picture.nameOf(pixel)}: ${writersText(model, picture.rowsAt(pixel))}`;
  return picture;
}

function writersText(model, rows) {
  if (!rows.length) return "no recorded work-item writes it";
  const items = rows.map((row) => countText(model.columns.item[row]));
  const hidden = items.length - MAX_NAMED;
  const named = items.slice(0, MAX_NAMED).join(", ");
  return `written by ${items.length > 1 ? "work-items" : "work-item"} ${named}${hidden > 0 ? ` and ${countText(hidden)} more` : ""}`;
}

/** Pixels with the rows of the work-items that each stands for; without `itemRows` each row has a pixel. */
class Picture {
  constructor(columns, rows, itemRows, pixels, facts) {
    Object.assign(this, { columns, rows, isWritten: false }, facts);
    this.begins = new Int32Array(columns * rows + 1);
    for (const pixel of pixels) this.begins[pixel + 1] += 1;
    for (let pixel = 0; pixel < columns * rows; pixel += 1) this.begins[pixel + 1] += this.begins[pixel];
    const next = this.begins.slice();
    this.sorted = new Int32Array(pixels.length);
    for (let at = 0; at < pixels.length; at += 1) {
      this.sorted[next[pixels[at]]] = itemRows ? itemRows[at] : at;
      next[pixels[at]] += 1;
    }
  }

  /** The number of pixels that have work-items. */
  get written() {
    let count = 0;
    for (let pixel = 0; pixel + 1 < this.begins.length; pixel += 1) count += this.begins[pixel + 1] > this.begins[pixel] ? 1 : 0;
    return count;
  }

  rowsAt(pixel) {
    return [...this.sorted.subarray(this.begins[pixel], this.begins[pixel + 1])];
  }

  forEach(visit) {
    for (let pixel = 0; pixel + 1 < this.begins.length; pixel += 1) {
      for (let at = this.begins[pixel]; at < this.begins[pixel + 1]; at += 1) visit(this.sorted[at], pixel);
    }
  }
}

/** Return a colour as red, green and blue in the upper bytes of a number. */
function rgb(colour) {
  return parseInt(colour.slice(1, 7), 16) * 256;
}
