// Branches: histogram of streams, picture of the work-items, and proxy warps as donuts.

import { byId, element } from "./elements.js";
import { countText } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const MAX_PICTURE = 1 << 22;

/** The branching view, linked with the highlight. */
export class BranchView {
  constructor(model, highlight, colours) {
    this.model = model;
    this.highlight = highlight;
    this.colours = colours;
    this.#addHistogram();
    this.#addDonuts();
    this.#preparePicture();
    highlight.listen((what) => this.#mark(what));
  }

  /** Return the colour of a stream: the most frequent ones have one each, the others share one. */
  colourOf(stream) {
    const palette = this.colours();
    return palette.kernels[stream] ?? palette.otherKernel;
  }

  /** Draw again, in the colours of the theme. */
  draw() {
    for (const [number, bar] of this.bars.entries()) bar.firstChild.style.background = this.colourOf(number);
    for (const { path, stream } of this.arcs) path.style.fill = this.colourOf(stream);
    for (const ring of this.rings) ring.style.stroke = this.colours().accent;
    for (const ring of this.tracks) ring.style.stroke = this.colours().grid;
    this.#drawPicture(this.highlight.current);
  }

  #listeners(what) {
    return {
      mouseenter: () => this.highlight.show(what),
      mouseleave: () => this.highlight.leave(),
      focus: () => this.highlight.show(what),
      blur: () => this.highlight.leave(),
      click: () => this.highlight.keep(what),
    };
  }

  #addHistogram() {
    const { streams, stream_count: count, itemCount } = this.model;
    const largest = Math.max(...streams.map((stream) => stream.items), 1);
    this.bars = streams.map((stream, number) => {
      const bar = element(
        "button",
        {
          "aria-label": `${countText(stream.items)} work-items, conditions ${stream.bits || "none"}`,
          title: `${countText(stream.items)} work-items (${((100 * stream.items) / itemCount).toFixed(1)} %)\n${shorten(stream.bits) || "no condition"}`,
          on: this.#listeners({ stream: number }),
        },
        element("span", {}),
      );
      bar.firstChild.style.height = `${Math.max((100 * stream.items) / largest, 2)}%`;
      return bar;
    });
    byId("histogram").append(...this.bars);
    byId("histogram").classList.toggle("is-dense", this.bars.length > 80);
    const rest = count > streams.length ? `, the ${countText(count - streams.length)} rarest not drawn` : "";
    this.summary = `${countText(count)} ways through the kernel, of ${countText(itemCount)} work-items${rest}`;
    byId("histogram-note").textContent = this.summary;
  }

  #addDonuts() {
    this.arcs = [];
    this.rings = [];
    this.tracks = [];
    const total = this.model.proxies.reduce((sum, proxy) => sum + proxy.issued, 0) || 1;
    this.donuts = this.model.proxies.map((proxy) => this.#donut(proxy, total));
    byId("donuts").append(...this.donuts);
    const hidden = this.model.proxy_count - this.model.proxies.length;
    if (hidden > 0) byId("donuts").append(element("p", { className: "note" }, `and ${countText(hidden)} more kinds of warps`));
  }

  #donut(proxy, total) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("width", "92");
    svg.setAttribute("height", "92");
    svg.setAttribute("viewBox", "-46 -46 92 92");
    const lanes = proxy.shares.reduce((sum, [, count]) => sum + count, 0);
    let begin = 0;
    for (const [stream, count] of proxy.shares) {
      svg.append(this.#arc(stream, begin / lanes, (begin + count) / lanes, count));
      begin += count;
    }
    this.tracks.push(circle(svg, 44, 1, 2));
    this.rings.push(circle(svg, 44, proxy.issued / total, 3));
    const label = document.createElementNS(SVG, "text");
    label.textContent = countText(proxy.warps);
    svg.append(label);
    const share = ((100 * proxy.issued) / total).toFixed(1);
    const active = proxy.issued ? ((100 * proxy.active) / proxy.issued).toFixed(0) : "100";
    const ways = proxy.shares.length;
    const cost = element("div", { className: "cost" }, `${ways} ${ways > 1 ? "ways" : "way"}`, element("br"), `${share} % of all, ${active} % active`);
    return element(
      "div",
      { className: "donut", role: "group", "aria-label": `${countText(proxy.warps)} warps, ${ways} ways, ${share} % of all operations, ${active} % of lanes active` },
      svg,
      cost,
    );
  }

  #arc(stream, begin, end, lanes) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", arcPath(begin, end, 22, 40));
    path.setAttribute("stroke", "var(--background)");
    path.setAttribute("tabindex", "0");
    path.setAttribute("role", "button");
    path.setAttribute("aria-label", `${lanes} lanes`);
    for (const [event, listener] of Object.entries(this.#listeners(stream < 0 ? {} : { stream }))) path.addEventListener(event, listener);
    path.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && stream >= 0) this.highlight.keep({ stream });
    });
    this.arcs.push({ path, stream });
    return path;
  }

  #preparePicture() {
    const [columns, rows] = this.#pictureSize();
    this.picture = { columns, rows };
    const canvas = byId("image");
    if (columns * rows > MAX_PICTURE || !this.model.itemCount) {
      byId("image-figure").hidden = true;
      return;
    }
    canvas.width = columns;
    canvas.height = rows;
    const fit = Math.min(256 / columns, 256 / rows);
    const scale = fit < 1 ? fit : Math.max(1, Math.floor(Math.min(fit, 150 / rows)));
    canvas.style.width = `${columns * scale}px`;
    canvas.style.height = `${rows * scale}px`;
    const [width, height] = this.model.global_size;
    byId("image-note").textContent = height ? `work-items, ${width} × ${height}` : `work-items, ${columns} in a row`;
    canvas.addEventListener("mousemove", (event) => this.#onPicture(event));
    canvas.addEventListener("mouseleave", () => this.highlight.leave());
    canvas.addEventListener("click", (event) => this.highlight.keep(this.#pictured(event)));
  }

  #pictureSize() {
    const [width, height = 1, depth = 1] = this.model.global_size;
    if (height * depth > 1) return [width, height * depth];
    const columns = Math.min(width, Math.max(this.model.local_size[0], 2 ** Math.ceil(Math.log2(Math.sqrt(width)))));
    return [columns, Math.ceil(width / columns)];
  }

  #pictured(event) {
    const box = byId("image").getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) * this.picture.columns) / box.width);
    const y = Math.floor(((event.clientY - box.top) * this.picture.rows) / box.height);
    this.rowOfItem ??= this.#rowsByItem();
    const row = this.rowOfItem[y * this.picture.columns + x] ?? -1;
    const stream = row < 0 ? -1 : this.model.columns.stream[row];
    return stream < 0 ? {} : { stream };
  }

  #rowsByItem() {
    const rows = new Int32Array(this.picture.columns * this.picture.rows).fill(-1);
    for (let row = 0; row < this.model.itemCount; row += 1) rows[this.model.columns.item[row]] = row;
    return rows;
  }

  #onPicture(event) {
    this.highlight.show(this.#pictured(event));
  }

  #drawPicture({ stream, rows: chosenRows }) {
    if (byId("image-figure").hidden) return;
    const { columns, rows } = this.picture;
    const context = byId("image").getContext("2d");
    const image = context.createImageData(columns, rows);
    const palette = this.colours();
    const codes = this.model.streams.map((_, number) => rgb(this.colourOf(number)));
    const other = rgb(palette.otherKernel);
    const chosen = chosenRows && new Set(chosenRows);
    const { item, stream: numbers } = this.model.columns;
    for (let row = 0; row < item.length; row += 1) {
      const code = codes[numbers[row]] ?? other;
      const isFaded = chosen ? !chosen.has(row) : stream !== undefined && numbers[row] !== stream;
      const at = 4 * item[row];
      image.data[at] = code[0];
      image.data[at + 1] = code[1];
      image.data[at + 2] = code[2];
      image.data[at + 3] = isFaded ? 40 : 255;
    }
    context.putImageData(image, 0, 0);
  }

  #mark(what) {
    const { stream } = what;
    for (const [number, bar] of this.bars.entries()) {
      bar.classList.toggle("is-faded", stream !== undefined && number !== stream);
      bar.setAttribute("aria-pressed", String(number === stream));
    }
    for (const arc of this.arcs) arc.path.classList.toggle("is-faded", stream !== undefined && arc.stream !== stream);
    const shown = this.model.streams[stream];
    byId("histogram-note").textContent = shown
      ? `${shorten(shown.bits) || "no condition"}: ${countText(shown.items)} work-items, ${countText(shown.length)} conditions`
      : this.summary;
    this.#drawPicture(what);
  }
}

function shorten(bits) {
  return bits.length > 60 ? `${bits.slice(0, 57)}…` : bits;
}

function arcPath(begin, end, inner, outer) {
  if (end - begin > 0.9999) {
    const ring = (radius, sweep) => `M0 ${-radius}A${radius} ${radius} 0 1 ${sweep} 0 ${radius}A${radius} ${radius} 0 1 ${sweep} 0 ${-radius}Z`;
    return ring(outer, 1) + ring(inner, 0);
  }
  const point = (share, radius) => `${(radius * Math.sin(2 * Math.PI * share)).toFixed(2)} ${(-radius * Math.cos(2 * Math.PI * share)).toFixed(2)}`;
  const isLarge = end - begin > 0.5 ? 1 : 0;
  return `M${point(begin, outer)}A${outer} ${outer} 0 ${isLarge} 1 ${point(end, outer)}L${point(end, inner)}A${inner} ${inner} 0 ${isLarge} 0 ${point(begin, inner)}Z`;
}

function circle(svg, radius, share, width) {
  const length = 2 * Math.PI * radius;
  const ring = document.createElementNS(SVG, "circle");
  ring.setAttribute("r", radius);
  ring.setAttribute("fill", "none");
  ring.setAttribute("stroke-width", width);
  ring.setAttribute("stroke-dasharray", `${share * length} ${length}`);
  ring.setAttribute("transform", "rotate(-90)");
  svg.append(ring);
  return ring;
}

function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}
