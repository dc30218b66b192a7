// Tables of a report, sortable and searchable.

import { element } from "./elements.js";
import { shown } from "./format.js";

const WORDS = new Set(["text", "place", "prose", "code"]);
const TALLEST = 520;
const MOST_UNROLLED = 18;

/** A table of the report below a heading. `onRow`, if given, gets the values of a row that is clicked. */
export function reportTable(holder, table, onRow) {
  holder.append(element("h3", {}, table.title));
  if (!table.rows.length) {
    holder.append(element("p", { className: "note" }, table.why_empty));
    return null;
  }
  const spot = element("div", { className: "table" });
  holder.append(spot);
  if (table.note) holder.append(element("p", { className: "note" }, table.note));
  const made = new Tabulator(spot, {
    data: table.rows.map((row, id) => ({ id, ...Object.fromEntries(table.columns.map(({ key }, at) => [key, row[at]])) })),
    columns: table.columns.map(columnOf),
    layout: table.columns.some(({ unit }) => unit === "prose") ? "fitDataStretch" : "fitDataTable",
    maxHeight: TALLEST,
    renderVertical: table.rows.length > MOST_UNROLLED ? "virtual" : "basic",
    selectableRows: onRow ? 1 : false,
    columnHeaderSortMulti: false,
    placeholder: "nothing is like that",
  });
  if (onRow) made.on("rowSelected", (row) => onRow(row.getData()));
  madeReachable(made, spot, Boolean(onRow));
  made.searchedText = new Map(
    table.rows.map((row, id) => [id, row.filter((one) => typeof one === "string").join("\n").toLowerCase()]),
  );
  return made;
}

/** Let the Tab key reach headers, and rows that do something; Enter or Space acts as a click. */
function madeReachable(table, spot, hasRows) {
  table.on("tableBuilt", () => {
    for (const header of spot.querySelectorAll(".tabulator-col")) header.tabIndex = 0;
  });
  if (hasRows) {
    table.on("renderComplete", () => {
      for (const row of spot.querySelectorAll(".tabulator-row")) row.tabIndex = 0;
    });
  }
  spot.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    if (!event.target.matches(".tabulator-col, .tabulator-row")) return;
    event.target.click();
    event.preventDefault();
  });
}

function columnOf({ key, header, unit }) {
  const isWords = WORDS.has(unit);
  return {
    title: header,
    field: key,
    headerTooltip: key,
    hozAlign: isWords ? "left" : "right",
    headerHozAlign: isWords ? "left" : "right",
    sorter: isWords ? "string" : "number",
    sorterParams: { alignEmptyValues: "bottom" },
    headerSortStartingDir: isWords ? "asc" : "desc",
    cssClass: unit,
    formatter: (cell) => element("span", {}, shown(cell.getValue(), unit)),
    ...(unit === "prose" ? { widthGrow: 3, variableHeight: true } : {}),
  };
}

/** Show only the rows of tables that have a text somewhere. */
export function filterTables(tables, text) {
  const wanted = text.trim().toLowerCase();
  for (const table of tables) {
    if (wanted) table.setFilter((row) => table.searchedText.get(row.id).includes(wanted));
    else table.clearFilter();
  }
}
