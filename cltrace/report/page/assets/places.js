// Links between tables and the timeline: rows of findings, failed calls and memory that was left have a place, as slices do.

import { element } from "./elements.js";
import { exactQuery } from "./search.js";

/** Tables whose rows have a place, with the words for a row. */
const TABLES = {
  advice: (row) => `advice: ${row.rule}`,
  failures: (row) => `failed ${row.calls} times: ${row.status}`,
  live_at_exit: (row) => `memory ${row.fate}`,
};

/** Return the values of a table's rows by the keys of its columns. */
function valuesOf(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map(({ key }, at) => [key, row[at]])));
}

/** Return the place of a row as slices have it: a call that a package makes has the package's line. */
const placeOf = (row) => row.library_site || row.site;

/** Return the handler that shows a row of a table on the timeline; `null` if its rows have no place. */
export function placeHandler(table, page) {
  if (!Object.hasOwn(TABLES, table.key)) return null;
  return (row) => {
    if (!placeOf(row)) return;
    const isFailure = table.key === "failures";
    page.find(exactQuery(placeOf(row)), (slice) => !isFailure || failsAs(page.model, slice, row));
  };
}

function failsAs(model, slice, { api, status }) {
  return model.nameOf(slice).text === api && model.scene.statuses[model.status[slice]] === status;
}

/** Return buttons to the rows of tables that have the place of a slice. */
export function rowLinks(model, slice, { sections }, showRow) {
  const place = model.siteOf(slice);
  if (!place) return [];
  const items = [];
  for (const section of sections) {
    for (const table of section.tables.filter(({ key }) => Object.hasOwn(TABLES, key))) {
      valuesOf(table).forEach((row, number) => {
        if (row.site !== place && row.library_site !== place) return;
        if (table.key === "failures" && !failsAs(model, slice, row)) return;
        const show = () => showRow(section.key, table.key, number);
        items.push(element("li", {}, element("button", { className: "link", on: { click: show } }, TABLES[table.key](row))));
      });
    }
  }
  return items.length ? [element("section", {}, element("h3", {}, "about this place"), element("ul", {}, ...items))] : [];
}
