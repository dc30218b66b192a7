// The page: reads its data, then builds its parts.

import { overview } from "./charts.js";
import { detailOf } from "./detail.js";
import { byId, element } from "./elements.js";
import { axisText, countText, timeText } from "./format.js";
import { addGutter } from "./gutter.js";
import { Model, NONE } from "./model.js";
import { PALETTES } from "./palette.js";
import { unpackColumns } from "./payload.js";
import { Ranges, rangePanel } from "./ranges.js";
import { Search } from "./search.js";
import { factList, fillSection } from "./sections.js";
import { markRow } from "./tables.js";
import { Timeline, handleTimelineKey } from "./timeline.js";

const DIGEST = [["A", "A: "], ["B", "B: "], ["command", ""], ["ended", ""], ["device busy", "device busy "], ["device", ""]];
const THEMES = ["system", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");

class Page {
  constructor(report, model) {
    this.report = report;
    this.scene = report.scene;
    this.model = model;
    this.search = new Search(model);
    this.ranges = new Ranges(model, () => this.#onRanges());
    this.charts = [];
    this.tables = new Map();
    this.theme = "system";
    this.colours = () => PALETTES[this.themeShown];
  }

  get themeShown() {
    if (this.theme !== "system") return this.theme;
    return systemDark.matches ? "dark" : "light";
  }

  start() {
    byId("facts").append(factList(this.report.facts));
    byId("digest").replaceChildren(...this.#digest());
    for (const note of this.report.notes) byId("notes").append(element("li", {}, note));
    this.#addTabs();
    this.timeline = new Timeline(
      this.model,
      {
        plot: byId("plot"),
        labels: byId("labels"),
        onRange: (range, hasTooManyEdges) => this.#onRange(range, hasTooManyEdges),
        onHover: (slice, event, text) => this.#onHover(slice, event, text),
        onChoose: (from, to) => this.ranges.choose(from, to),
      },
      () => this.#onSelect(),
    );
    if (this.scene.second) this.#adaptToTwo();
    else this.#addOverview();
    this.#addToolbar();
    this.applyTheme();
    addGutter();
    systemDark.addEventListener("change", () => this.applyTheme());
    document.addEventListener("keydown", (event) => this.#onKey(event));
    this.showTab("timeline");
    this.timeline.resize();
    this.timeline.showAll();
    document.documentElement.dataset.ready = "yes";
  }

  /** Return the header's line: what ran, on which device, how it ended, and how many notes there are. */
  #digest() {
    const { facts, notes } = this.report;
    const texts = DIGEST.map(([label, prefix]) => {
      const fact = facts.find((candidate) => candidate.label === label);
      return fact ? prefix + fact.text : "";
    }).filter(Boolean);
    const parts = this.scene.second
      ? texts.map((text) => element("span", { className: "trace" }, text))
      : [texts.join(" · ") || "what was traced"];
    if (notes.length) parts.push(element("span", { className: "notes-count" }, ` · ${notes.length} note${notes.length > 1 ? "s" : ""}`));
    return parts;
  }

  showTab(key) {
    for (const tab of document.querySelectorAll('[role="tab"]')) {
      const isChosen = tab.dataset.key === key;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      byId(`panel-${tab.dataset.key}`).hidden = !isChosen;
    }
    const panel = byId(`panel-${key}`);
    const section = this.report.sections.find((candidate) => candidate.key === key);
    if (section && !panel.childElementCount) this.charts.push(fillSection(panel, section, this));
    if (key === "timeline") this.timeline?.resize();
  }

  /** Search the timeline for a text and show the next match, or the first match that `has` a property. */
  find(text, has = null) {
    this.showTab("timeline");
    byId("search").value = text;
    this.#onSearch();
    const slice = has ? this.search.first(has) : NONE;
    if (slice !== NONE) this.timeline.reveal(slice);
    else this.step(true);
  }

  /** Show a row of a table of a section, and mark it. */
  showRow(sectionKey, tableKey, row) {
    this.showTab(sectionKey);
    markRow(this.tables.get(tableKey), row);
  }

  step(isForward) {
    this.showTab("timeline");
    const slice = this.search.next(this.timeline.selected, this.timeline.range.from, isForward);
    if (slice !== NONE) this.timeline.reveal(slice);
  }

  applyTheme() {
    document.documentElement.dataset.theme = this.themeShown;
    this.timeline.setTheme(this.themeShown);
    this.#onSelect();
    for (const chart of this.charts.flat()) chart.redraw(false, true);
  }

  #addTabs() {
    const keys = [{ key: "timeline", title: "Timeline" }, ...this.report.sections];
    for (const { key, title } of keys) {
      const tab = element("button", { id: `tab-${key}`, role: "tab", "aria-controls": `panel-${key}`, on: { click: () => this.showTab(key) } }, title);
      tab.dataset.key = key;
      byId("tabs").append(tab);
      if (key === "timeline") continue;
      byId("panels").append(
        element("section", { id: `panel-${key}`, role: "tabpanel", "aria-labelledby": `tab-${key}`, hidden: true, className: "panel" }),
      );
    }
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const at = keys.findIndex(({ key }) => key === event.target.dataset.key);
      const next = keys[(at + step + keys.length) % keys.length].key;
      this.showTab(next);
      byId(`tab-${next}`).focus();
      event.stopPropagation();
    });
  }

  #addToolbar() {
    const actions = {
      "take-range": () => this.#takeRange(),
      "zoom-in": () => this.timeline.zoom(1.5),
      "zoom-out": () => this.timeline.zoom(1 / 1.5),
      "zoom-all": () => this.timeline.showAll(),
      "next-match": () => this.step(true),
      "previous-match": () => this.step(false),
      "show-help": () => byId("help").showModal(),
      "close-help": () => byId("help").close(),
      "change-theme": () => this.#nextTheme(),
      arrows: () => byId("arrows").setAttribute("aria-pressed", String(this.timeline.toggleEdges())),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
    byId("search").addEventListener("input", () => this.#onSearch());
    byId("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(!event.shiftKey);
      else if (event.key === "Escape") byId("plot").focus();
      else return;
      event.stopPropagation();
    });
  }

  #nextTheme() {
    this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
    byId("change-theme").textContent = `colours: ${this.theme}`;
    this.applyTheme();
  }

  #onSearch() {
    this.search.set(byId("search").value);
    const more = this.scene.merged_below_ns ? " or more" : "";
    byId("matches").textContent = this.search.isMatch ? `${countText(this.search.count)}${more} found` : "";
    this.timeline.highlight(this.search.isMatch ? this.search : null);
  }

  #onSelect() {
    const parts = detailOf(this.timeline, this.report, {
      go: (slice) => {
        this.timeline.reveal(slice);
        byId("plot").focus();
      },
      find: (text) => this.find(text),
      showTab: (key) => this.showTab(key),
      showRow: (section, table, row) => this.showRow(section, table, row),
      shift: (ns) => this.#shift(ns),
    });
    byId("detail").replaceChildren(...parts);
  }

  #addOverview() {
    this.overview = overview(byId("overview"), this.report.overview, this.colours, (from, to) =>
      this.timeline.show(from, to),
    );
    this.charts.push(this.overview);
  }

  /** Leave out what is of one trace only: the strip and the pinning of ranges. */
  #adaptToTwo() {
    byId("strip").classList.add("is-empty");
    byId("strip").replaceChildren();
    byId("range-keys").textContent = "z";
    byId("range-help").textContent = "zoom to the range";
    byId("unalign").addEventListener("click", () => this.#shift(0));
  }

  /** Move the second of two traces on the axis. */
  #shift(ns) {
    this.timeline.shiftSecond(ns);
    this.ranges.refresh();
    byId("shift").textContent = ns ? `B is ${timeText(Math.abs(ns))} ${ns < 0 ? "earlier" : "later"}` : "";
    byId("unalign").hidden = !ns;
    this.#onSelect();
  }

  /** Choose the time in view as a range. */
  #takeRange() {
    this.ranges.choose(this.timeline.range.from, this.timeline.range.to);
  }

  #onRanges() {
    const parts = rangePanel(this.ranges, {
      show: (from, to) => this.timeline.show(from, to),
      find: (text) => this.find(text),
    });
    byId("ranges").hidden = !parts.length;
    byId("ranges").replaceChildren(...parts);
    this.timeline.markRanges(this.ranges.marked);
  }

  #onRange({ from, to }, hasTooManyEdges) {
    byId("arrows-note").hidden = !hasTooManyEdges;
    const text = (ns) => axisText(Math.max(ns, Math.min(this.scene.begin_ns, 0)), (to - from) / 1000, to);
    byId("range").textContent = `${text(from)} to ${text(to)}, ${timeText(to - from)}`;
    const chart = this.overview;
    if (!chart) return;
    const [left, right] = [chart.valToPos(from, "x"), chart.valToPos(to, "x")];
    const width = chart.over.clientWidth;
    const low = Math.max(left, 0);
    const isAll = left <= 0 && right >= width;
    chart.root.classList.toggle("is-all", isAll);
    chart.setSelect(
      { left: low, top: 0, width: isAll ? 0 : Math.max(Math.min(right, width) - low, 2), height: chart.over.clientHeight },
      false,
    );
  }

  #onHover(slice, event, text) {
    const tip = byId("tip");
    tip.hidden = slice === NONE;
    if (slice === NONE) return;
    tip.textContent = text;
    const { clientX: x, clientY: y } = event;
    tip.style.left = `${Math.min(x + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(y + 14, innerHeight - tip.offsetHeight - 8)}px`;
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    if (event.target.matches("input, textarea, select")) return;
    if (event.target.matches("button, summary, .tabulator *") && ["Enter", " "].includes(event.key)) return;
    if (this.#onPageKey(event.key) || (!byId("panel-timeline").hidden && this.#onTimelineKey(event.key))) {
      event.preventDefault();
    }
  }

  /** Run the action of a key on the ranges or on the timeline. Return whether the key has one. */
  #onTimelineKey(key) {
    const range = this.ranges.marked.at(-1)?.statistics;
    if (key === "r") this.#takeRange();
    else if (key === "p") this.ranges.pin();
    else if (key === "z" && range) this.timeline.show(range.from, range.to);
    else if (key === "Escape" && this.timeline.selected === NONE) this.ranges.clear();
    else return handleTimelineKey(this.timeline, key);
    return true;
  }

  #onPageKey(key) {
    const tabs = document.querySelectorAll('[role="tab"]');
    const at = "1234567890".indexOf(key);
    if (at >= 0 && tabs[at]) this.showTab(tabs[at].dataset.key);
    else if (key === "?") byId("help").showModal();
    else if (key === "/") {
      this.showTab("timeline");
      byId("search").focus();
    } else if (key === "n" || key === "N") this.step(key === "n");
    else return false;
    return true;
  }
}

async function start() {
  const report = JSON.parse(byId("report").textContent);
  const columns = await unpackColumns(report.columns, byId("columns").textContent);
  byId("columns").remove();
  const page = new Page(report, new Model(report.scene, columns));
  page.start();
  performance.mark("ready");
  // For inspection with the browser's developer tools.
  window.cltrace = page;
}

start().catch((error) => {
  byId("failure").hidden = false;
  byId("failure").textContent =
    `This page cannot be shown: ${error.message}. It needs a browser of 2023 or newer; ` +
    "`cltrace timeline` shows the same trace in a terminal.";
  throw error;
});
