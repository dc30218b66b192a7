// Tables of a report, sortable and searchable.

import { element } from "./elements.js";
import { valueText } from "./format.js";

const TEXT_UNITS = new Set(["text", "place", "prose", "code"]);
const MAX_HEIGHT = 520;
const MAX_BASIC_ROWS = 18;
const WRAPPED_UNITS = new Set(["text", "place", "code"]);
const MIN_TEXT_WIDTH = 110;
const TEXT_SHARE = 0.45;
const NARROW_TEXT_SHARE = 0.17;
const MIN_PROSE_WIDTH = 280;
const PROSE_SHARE = 0.7;
const NARROW_PROSE_SHARE = 0.36;
const MAX_WIDE_COLUMNS = 8;

/** Add a table of the report below a heading. `onRow`, if given, gets the values of a clicked row. */
export function reportTable(holder, table, onRow) {
  holder.append(element("h3", {}, table.title));
  if (!table.rows.length) {
    holder.append(element("p", { className: "note" }, table.why_empty));
    return null;
  }
  const tableElement = element("div", { className: "table", "data-table": table.key });
  holder.append(tableElement);
  if (table.note) holder.append(element("p", { className: "note" }, table.note));
  const tabulator = new Tabulator(tableElement, {
    data: table.rows.map((row, id) => ({ id, ...Object.fromEntries(table.columns.map(({ key }, at) => [key, row[at]])) })),
    columns: table.columns.map((column, at) => ({ ...columnOf(column, at, table.columns), visible: isShown(column, at, table) })),
    layout: table.columns.some(({ unit }) => unit === "prose") ? "fitDataStretch" : "fitDataTable",
    maxHeight: MAX_HEIGHT,
    renderVertical: table.rows.length > MAX_BASIC_ROWS ? "virtual" : "basic",
    selectableRows: onRow ? 1 : false,
    columnHeaderSortMulti: false,
    placeholder: "no row matches",
    rowFormatter: (row) => row.getElement().classList.toggle("marked", row.getData().id === row.getTable().markedRow),
  });
  if (onRow) tabulator.on("rowClick", (_, row) => onRow(row.getData()));
  makeReachable(tabulator, tableElement, Boolean(onRow));
  tabulator.searchedText = new Map(
    table.rows.map((row, id) => [id, row.filter((value) => typeof value === "string").join("\n").toLowerCase()]),
  );
  return tabulator;
}

/** Make headers, and rows with an action, reachable by the Tab key; Enter or Space acts as a click. */
function makeReachable(table, tableElement, hasRows) {
  table.on("tableBuilt", () => {
    for (const header of tableElement.querySelectorAll(".tabulator-col")) header.tabIndex = 0;
  });
  if (hasRows) {
    table.on("renderComplete", () => {
      for (const row of tableElement.querySelectorAll(".tabulator-row")) row.tabIndex = 0;
    });
  }
  tableElement.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    if (!event.target.matches(".tabulator-col, .tabulator-row")) return;
    event.target.click();
    event.preventDefault();
  });
}

/** Return the width in pixels of the scrollbars of a panel and of a table in it: 0 where they are drawn over the content. */
function scrollbarsWidth() {
  const probe = element("div", {});
  probe.style.overflow = "scroll";
  document.body.append(probe);
  const width = probe.offsetWidth - probe.clientWidth;
  probe.remove();
  return 2 * width;
}

/** Return the width in pixels from which names and places are wrapped, so that the numbers beside them are in view. */
function maxTextWidth(columnCount) {
  const share = columnCount > MAX_WIDE_COLUMNS ? NARROW_TEXT_SHARE : TEXT_SHARE;
  return Math.max(MIN_TEXT_WIDTH, share * innerWidth - scrollbarsWidth());
}

/** Return the width in pixels from which sentences are wrapped: most of it where few columns are beside them. */
function maxProseWidth(columnCount) {
  return Math.max(MIN_PROSE_WIDTH, (columnCount > MAX_WIDE_COLUMNS ? NARROW_PROSE_SHARE : PROSE_SHARE) * innerWidth);
}

/** Return a sentence, with the lines of code that its row has below it, so that they are in view. */
function withCode(cell, unit, codes) {
  const row = cell.getRow().getData();
  const lines = codes.filter(({ key }) => row[key]).map(({ key, header }) =>
    element("div", { className: "code-line" }, element("strong", {}, header), element("code", {}, valueText(row[key], "code"))),
  );
  return element("div", {}, element("span", {}, valueText(cell.getValue(), unit)), ...lines);
}

/** Return false for places that no row has, and for code that is shown below a sentence. */
function isShown({ unit }, at, { columns, rows }) {
  if (unit === "place") return rows.some((row) => row[at]);
  return unit !== "code" || !columns.some((column) => column.unit === "prose");
}

function columnOf({ key, header, unit }, _, columns) {
  const isText = TEXT_UNITS.has(unit), { length } = columns;
  const isProse = unit === "prose", codes = columns.filter((column) => column.unit === "code");
  return {
    title: header,
    field: key,
    headerTooltip: key,
    hozAlign: isText ? "left" : "right",
    headerHozAlign: isText ? "left" : "right",
    sorter: isText ? "string" : "number",
    sorterParams: { alignEmptyValues: "bottom" },
    headerSortStartingDir: isText ? "asc" : "desc",
    cssClass: unit,
    formatter: (cell) => (isProse ? withCode(cell, unit, codes) : element("span", {}, valueText(cell.getValue(), unit))),
    ...(isProse ? { widthGrow: 3, maxInitialWidth: maxProseWidth(length), variableHeight: true } : {}),
    ...(WRAPPED_UNITS.has(unit) ? { maxInitialWidth: maxTextWidth(length), variableHeight: true } : {}),
  };
}

/** Mark a row of a table, and bring it into view. */
export function markRow(table, id) {
  const mark = () => {
    table.markedRow = id;
    table.clearFilter();
    for (const row of table.getRows()) row.reformat();
    table.scrollToRow(id, "center", false).then(() => table.getRow(id).getElement().scrollIntoView({ block: "nearest" }));
  };
  if (table.initialized) mark();
  else table.on("tableBuilt", mark);
}

/** Show only the rows of tables that contain a text. */
export function filterTables(tables, text) {
  const query = text.trim().toLowerCase();
  for (const table of tables) {
    if (query) table.setFilter((row) => table.searchedText.get(row.id).includes(query));
    else table.clearFilter();
  }
}
