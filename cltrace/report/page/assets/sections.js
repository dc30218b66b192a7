// Sections beside the timeline: tables of the report, histograms, memory over time.

import { histogram, levelChart } from "./charts.js";
import { element } from "./elements.js";
import { FlameGraph } from "./flame.js";
import { placeHandler } from "./places.js";
import { exactQuery } from "./search.js";
import { filterTables, reportTable } from "./tables.js";

/** Fill the panel of a section when it is first shown. Return the charts to redraw when colours change. */
export function fillSection(panel, section, page) {
  const charts = [];
  const tables = [];
  if (section.key === "file") panel.append(factList(page.report.file_facts));
  if (section.tables.some((table) => table.rows.length > 1)) {
    panel.append(
      element("input", {
        type: "search",
        className: "filter",
        placeholder: "search these tables",
        "aria-label": `search the tables of ${section.title}`,
        on: { input: (event) => filterTables(tables, event.target.value) },
      }),
    );
  }
  if (section.key === "stacks") charts.push(...flameGraphs(panel, page));
  const below = element("div", { className: "charts" });
  for (const table of section.tables) {
    const tabulator = reportTable(panel, table, differenceHandler(table, page) ?? placeHandler(table, page) ?? handlerOf(table, page, below, charts));
    if (tabulator) {
      tables.push(tabulator);
      page.tables.set(table.key, tabulator);
    }
    if (table === section.tables[0] && page.report.histograms.some((candidate) => candidate.section === section.key)) {
      panel.append(below);
      showHistograms(below, charts, firstName(page.report.histograms, section.key), page);
    }
  }
  const unit = UNIT_OF_SECTION[section.key];
  for (const level of page.scene.levels.filter((candidate) => candidate.unit === unit)) {
    charts.push(levelChart(panel, level, page.scene.end_ns, page.colours));
  }
  if (!panel.childElementCount) panel.append(element("p", { className: "note" }, "there is nothing here"));
  return charts;
}

/** Return the handler that shows a kernel of two traces on the timeline; `null` for other tables. */
function differenceHandler(table, page) {
  return table.key === "kernel_differences" ? (row) => page.find(exactQuery(row.name)) : null;
}

/** Add flame graphs below the search field, which marks frames, too. */
function flameGraphs(panel, page) {
  const graphs = page.report.flames.map((graph) => {
    const holder = element("div", { className: "flame-holder" });
    panel.append(holder);
    return new FlameGraph(holder, graph, page);
  });
  panel.querySelector(".filter")?.addEventListener("input", (event) => {
    for (const graph of graphs) graph.search(event.target.value);
  });
  return graphs;
}

/** Unit of the levels over time that a section shows. */
const UNIT_OF_SECTION = { memory: "bytes", energy: "w" };

const firstName = (histograms, section) => histograms.find((candidate) => candidate.section === section).name;

/** Return the handler that shows the histograms of a row; `null` for tables without histograms. */
function handlerOf(table, page, below, charts) {
  const names = new Set(page.report.histograms.filter((candidate) => candidate.table === table.key).map(({ name }) => name));
  if (!names.size) return null;
  return (row) => {
    const name = row.name ?? row.direction;
    if (names.has(name)) showHistograms(below, charts, name, page);
  };
}

function showHistograms(below, charts, name, page) {
  for (const chart of charts.splice(0)) chart.destroy();
  const own = page.report.histograms.filter((candidate) => candidate.name === name);
  const find = element("button", { on: { click: () => page.find(exactQuery(own[0].search)) } }, "find on the timeline");
  below.replaceChildren(element("div", { className: "chart-head" }, element("h3", {}, name), find));
  const row = element("div", { className: "chart-row" });
  below.append(row);
  for (const data of own) charts.push(histogram(row, data, page.colours));
}

/** Return facts as a list of terms. */
export function factList(facts) {
  const list = element("dl", { className: "facts" });
  for (const { label, text } of facts) list.append(element("div", {}, element("dt", {}, label), element("dd", {}, text)));
  return list;
}
