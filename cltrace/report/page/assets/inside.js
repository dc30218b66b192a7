// The page of the events inside a launch: reads its data, then builds its linked views.

import { byId, element } from "./elements.js";
import { countText } from "./format.js";
import { BranchView } from "./inside_branches.js";
import { MemoryView } from "./inside_memory.js";
import { Highlight, InsideModel } from "./inside_model.js";
import { PictureView } from "./inside_pictures.js";
import { SourceView } from "./inside_source.js";
import { TreeView } from "./inside_tree.js";
import { ValueView } from "./inside_values.js";
import { PALETTES } from "./palette.js";
import { unpackColumns } from "./payload.js";

const THEMES = ["system", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");

class InsidePage {
  constructor(model) {
    this.model = model;
    this.theme = "system";
    this.highlight = new Highlight();
  }

  get colours() {
    return PALETTES[this.themeShown];
  }

  get themeShown() {
    if (this.theme !== "system") return this.theme;
    return systemDark.matches ? "dark" : "light";
  }

  start() {
    const { model, highlight } = this;
    byId("launch").textContent = model.title;
    byId("digest").textContent = model.facts.filter((fact) => ["work-groups", "divergence", "active lanes"].includes(fact.label)).map((fact) => `${fact.label}: ${fact.text}`).join(" · ");
    for (const fact of model.facts) byId("facts").append(element("dt", {}, fact.label), element("dd", {}, fact.text));
    for (const note of model.notes) byId("notes").append(element("li", {}, note));
    this.memory = new MemoryView(model, highlight, () => this.colours);
    this.branches = new BranchView(model, highlight, () => this.colours);
    this.pictures = new PictureView(model, highlight, () => this.colours);
    this.tree = new TreeView(model, highlight);
    this.source = new SourceView(model, highlight);
    this.values = new ValueView(model, () => this.colours);
    this.memory.onGroup = () => this.values.draw(this.memory.group);
    this.#addFaults();
    highlight.listen((what) => this.#onHighlight(what));
    byId("clear").addEventListener("click", () => highlight.clear());
    byId("change-theme").addEventListener("click", () => this.#nextTheme());
    byId("show-help").addEventListener("click", () => byId("help").showModal());
    byId("close-help").addEventListener("click", () => byId("help").close());
    systemDark.addEventListener("change", () => this.#applyTheme());
    addEventListener("keydown", (event) => this.#onKey(event));
    this.#applyTheme();
  }

  #addFaults() {
    const { races, barriers, sites, memories } = this.model;
    const items = [...races.map((race) => this.#raceItem(race, sites, memories)), ...barriers.map((barrier) => this.#barrierItem(barrier, sites))];
    if (!items.length) return;
    byId("faults").hidden = false;
    byId("faults").append(element("h3", {}, "Faults"), element("ul", {}, ...items));
  }

  #raceItem(race, sites, memories) {
    const [first, second] = race.sites.map((site) => sites[site]);
    const scope = race.is_within_group ? "of one work-group" : "of different work-groups";
    const text =
      `data race on ${memories[race.memory].name}: line ${first.place} writes what line ${second.place} accesses (${second.kind}), ` +
      `work-items ${countText(race.items[0])} and ${countText(race.items[1])} ${scope}, at ${countText(race.locations)} places` + (race.has_barrier ? ", with barriers of other memory between" : "");
    const show = () => {
      const row = this.model.columns.item.indexOf(race.items[0]);
      this.highlight.clear();
      this.memory.choose(race.memory, this.model.columns.group[row]);
      this.highlight.keep({ lines: [first.line, second.line].filter((line) => line > 0) });
    };
    return element("li", {}, element("button", { className: "link", on: { click: show } }, text));
  }

  #barrierItem(barrier, sites) {
    const { line, place } = sites[barrier.site];
    const text = `barrier of line ${place}: ${countText(barrier.arrived)} of ${countText(barrier.items)} work-items of work-group ${barrier.group} reach it`;
    return element("li", {}, element("button", { className: "link", on: { click: () => this.highlight.keep({ line }) } }, text));
  }

  #onHighlight(what) {
    byId("clear").hidden = !this.highlight.isKept;
    byId("choice").textContent = this.#choiceText(what);
  }

  #choiceText({ name, stream, proxy, line, place }) {
    if (name) return name;
    if (proxy !== undefined) return `work-items of warps of kind ${proxy + 1}`;
    if (stream !== undefined) return `work-items of way ${stream + 1}`;
    if (line !== undefined) return `line ${this.model.lineName(line)}`;
    return place ? `${place.kind ?? "place"} ${countText(place.number)}`.replace("place", "bank or sector") : "";
  }

  #onKey(event) {
    if (event.target.matches("select, input")) return;
    if (event.key === "Escape") this.highlight.clear();
    if (event.key === "t") this.#nextTheme();
    if (event.key === "?") byId("help").showModal();
  }

  #nextTheme() {
    this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
    this.#applyTheme();
  }

  #applyTheme() {
    document.documentElement.dataset.theme = this.themeShown;
    byId("change-theme").textContent = `colours: ${this.theme}`;
    this.branches.draw();
    this.pictures.draw(this.highlight.current);
    this.memory.draw();
    this.values.draw(this.memory.group);
  }
}

async function main() {
  const report = JSON.parse(byId("report").textContent);
  const columns = await unpackColumns(report.columns, byId("columns").textContent);
  const page = new InsidePage(new InsideModel(report, columns));
  page.start();
  document.documentElement.dataset.ready = "yes";
}

main().catch((error) => {
  byId("failure").hidden = false;
  byId("failure").textContent = `the page cannot be drawn: ${error.message}`;
});
