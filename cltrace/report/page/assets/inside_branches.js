// Branches: histogram of streams, and proxy warps as donuts.

import { byId, element } from "./elements.js";
import { countText } from "./format.js";
import { streamColour } from "./inside_model.js";

const SVG = "http://www.w3.org/2000/svg";
const MAX_LABELLED_BARS = 12;

/** The branching view, linked with the highlight. */
export class BranchView {
  constructor(model, highlight, colours) {
    this.model = model;
    this.highlight = highlight;
    this.colours = colours;
    this.#addHistogram();
    this.#addDonuts();
    highlight.listen((what) => this.#mark(what));
  }

  /** Draw again, in the colours of the theme. */
  draw() {
    const palette = this.colours();
    for (const [number, bar] of this.bars.entries()) bar.querySelector("span").style.background = streamColour(number, palette);
    for (const { path, stream } of this.arcs) path.style.fill = streamColour(stream, palette);
    for (const ring of this.rings) ring.style.stroke = this.colours().accent;
    for (const ring of this.tracks) ring.style.stroke = this.colours().grid;
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
    const isLabelled = streams.length <= MAX_LABELLED_BARS;
    const largest = Math.max(...streams.map((stream) => stream.items), 1);
    this.bars = streams.map((stream, number) => {
      const bar = element(
        "button",
        {
          "aria-label": `${countText(stream.items)} work-items, conditions ${stream.bits || "none"}`,
          title: `${countText(stream.items)} work-items (${((100 * stream.items) / itemCount).toFixed(1)} %)\n${shorten(stream.bits) || "no condition"}`,
          on: this.#listeners({ stream: number }),
        },
        ...(isLabelled ? [element("small", {}, countText(stream.items))] : []),
        element("span", {}),
        ...(isLabelled ? [element("code", {}, stream.bits ? ends(stream.bits) : "none")] : []),
      );
      bar.querySelector("span").style.height = `calc(var(--full-bar) * ${Math.max(stream.items / largest, 0.02)})`;
      return bar;
    });
    byId("histogram").append(...this.bars);
    byId("histogram").classList.toggle("is-dense", this.bars.length > 80);
    byId("histogram").classList.toggle("is-labelled", isLabelled);
    const rest = count > streams.length ? `, the ${countText(count - streams.length)} rarest not drawn` : "";
    this.summary = `${countText(count)} ${count === 1 ? "way" : "ways"} through the kernel, of ${countText(itemCount)} work-items${rest}`;
    byId("histogram-note").textContent = this.summary;
  }

  #addDonuts() {
    this.arcs = [];
    this.rings = [];
    this.tracks = [];
    const total = this.model.proxies.reduce((sum, proxy) => sum + proxy.issued, 0) || 1;
    this.donuts = this.model.proxies.map((proxy, number) => this.#donut(proxy, number, total));
    byId("donuts").append(...this.donuts);
    const hidden = this.model.proxy_count - this.model.proxies.length;
    if (hidden > 0) byId("donuts").append(element("p", { className: "note" }, `and ${countText(hidden)} more kinds of warps`));
  }

  #donut(proxy, number, total) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("width", "92");
    svg.setAttribute("height", "92");
    svg.setAttribute("viewBox", "-46 -46 92 92");
    const lanes = proxy.shares.reduce((sum, [, count]) => sum + count, 0);
    let begin = 0;
    for (const [stream, count] of proxy.shares) {
      svg.append(this.#arc(stream, number, [begin / lanes, (begin + count) / lanes], count));
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
      {
        className: "donut",
        role: "group",
        tabIndex: 0,
        on: this.#proxyListeners(number),
        "aria-label": `${countText(proxy.warps)} warps, ${ways} ways, ${share} % of all operations, ${active} % of lanes active`,
      },
      svg,
      cost,
    );
  }

  #proxyListeners(proxy) {
    const keep = (event) => {
      if (event.key === "Enter" && event.target === event.currentTarget) this.highlight.keep({ proxy });
    };
    return { ...this.#listeners({ proxy }), keydown: keep };
  }

  #arc(stream, proxy, [begin, end], lanes) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", arcPath(begin, end, 22, 40));
    path.setAttribute("stroke", "var(--background)");
    path.setAttribute("tabindex", "0");
    path.setAttribute("role", "button");
    path.setAttribute("aria-label", `${lanes} lanes`);
    const what = stream < 0 ? { proxy } : { stream };
    const listeners = {
      ...this.#listeners(what),
      mouseleave: () => this.highlight.show({ proxy }), // the pointer is still in the donut, or leaves it next
      click: (event) => {
        event.stopPropagation();
        this.highlight.keep(what);
      },
      keydown: (event) => event.key === "Enter" && this.highlight.keep(what),
    };
    for (const [event, listener] of Object.entries(listeners)) path.addEventListener(event, listener);
    this.arcs.push({ path, stream, proxy });
    return path;
  }

  #mark(what) {
    const { stream, proxy } = what;
    const weights = this.model.weightsOf(what);
    for (const [number, bar] of this.bars.entries()) {
      bar.classList.toggle("is-faded", Boolean(weights) && !weights.has(number));
      bar.setAttribute("aria-pressed", String(number === stream));
    }
    for (const [number, donut] of this.donuts.entries()) donut.classList.toggle("is-chosen", number === proxy);
    for (const arc of this.arcs) {
      const isOther = proxy === undefined ? Boolean(weights) && !weights.has(arc.stream) : arc.proxy !== proxy;
      arc.path.classList.toggle("is-faded", isOther);
    }
    const shown = this.model.streams[stream];
    byId("histogram-note").textContent = shown
      ? `${shorten(shown.bits) || "no condition"}: ${countText(shown.items)} work-items, ${countText(shown.length)} ${shown.length === 1 ? "condition" : "conditions"}`
      : this.summary;
  }
}

function ends(bits) {
  return bits.length > 8 ? `${bits.slice(0, 4)}…${bits.slice(-3)}` : bits;
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
