// Details of the selected slice, with links to the slices that it depends on.

import { element } from "./elements.js";
import { bytesText, exactText, timeText, valueText } from "./format.js";
import { NONE } from "./model.js";
import { rowLinks } from "./places.js";
import { exactQuery } from "./search.js";

const MAX_LINKS = 8;
const MAX_LINES = 3;
const MAX_IN_LEGEND = 12;

/** Return the contents of the panel for a slice. `go` shows another slice, `find` searches for a name. */
export function detailOf(timeline, report, { go, find, showTab, showRow, shift }) {
  const { model, selected: slice } = timeline;
  if (slice === NONE) return [element("p", { className: "hint" }, HINT), legend(timeline, find)];
  const { text } = model.nameOf(slice);
  const list = element("dl");
  for (const [term, value] of facts(timeline, slice, report.fault_names)) {
    list.append(element("dt", {}, term), element("dd", {}, value));
  }
  const heading = element("h2", {}, text);
  const parts = [heading, list, ...alignment(model, slice, shift), ...argumentsOf(model, slice), ...sourceLines(model, slice, report, showTab)];
  parts.push(...rowLinks(model, slice, report, showRow), ...links(model, slice, go));
  parts.push(element("button", { on: { click: () => find(exactQuery(text)) } }, "find all of this name"));
  return parts;
}

const HINT =
  "Click a slice for its details. Drag over the plot for statistics of a range, with Shift to zoom in; double-click to see all; " +
  "press ? for keys.";

/** Return the names on the timeline with their colours: kernels by their time, then the other kinds. */
function legend({ model, painter }, find) {
  const { names } = model.scene;
  const kernels = names.map((_, at) => at).filter((at) => names[at].kind === "kernel");
  kernels.sort((left, right) => names[right].total_ns - names[left].total_ns);
  const kinds = OTHERS.map(([kind, text]) => [names.findIndex((name) => name.kind === kind), text]);
  const rows = [
    ...kernels.slice(0, MAX_IN_LEGEND).map((at) => [at, names[at].text, timeText(names[at].total_ns)]),
    ...kinds.filter(([at]) => at >= 0).map(([at, text]) => [at, text, ""]),
  ];
  const items = rows.map(([at, text, amount]) => {
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = painter.colours[at];
    const label = amount
      ? element("button", { className: "link", title: `find ${text}`, on: { click: () => find(exactQuery(text)) } }, text)
      : element("span", {}, text);
    return element("li", {}, swatch, label, element("span", { className: "amount" }, amount));
  });
  return element("ul", { className: "legend" }, ...items);
}

const OTHERS = [
  ["region", "regions of the program"],
  ["transfer", "transfers"],
  ["other", "markers and barriers"],
  ["wait", "calls that wait for the device"],
  ["build", "builds of programs"],
  ["call", "other calls"],
  ["host", "path: the program itself"],
  ["launch", "path: enqueued, not yet running"],
  ["return", "path: done, the host not yet notified"],
];

function facts(timeline, slice, faultNames) {
  const { model } = timeline;
  const bound = model.boundOf(slice);
  const isMerged = model.count[slice] > 1;
  const rows = [
    ["begins", exactText(model.ownBegin(slice))],
    [isMerged ? "spans" : "takes", timeText(model.duration_ns[slice])],
  ];
  if (isMerged) rows.push(["stands for", `${model.count[slice]} slices, merged because there are too many`]);
  if (bound !== NONE) {
    const isProven = model.links.is_proven[model.command[slice]];
    rows.push(["clock", `± ${timeText(bound)}, ${isProven ? "proven" : "as far as most observations agree"}`]);
  }
  if (model.size_bytes[slice]) {
    rows.push(["size", bytesText(model.size_bytes[slice])]);
    if (model.isOnDevice(slice) && model.duration_ns[slice]) {
      rows.push(["rate", valueText((model.size_bytes[slice] * 1e9) / model.duration_ns[slice], "bytes_per_s")]);
    }
  }
  if (model.status[slice]) rows.push(["failed", model.scene.statuses[model.status[slice]]]);
  if (model.scene.second) rows.unshift(["trace", "AB"[model.traceOf(slice)]]);
  const site = model.siteOf(slice);
  if (site) rows.push(["called at", site]);
  if (model.command[slice] >= 0) rows.push(...commandFacts(model, model.command[slice], faultNames));
  return rows;
}

function commandFacts(model, command, faultNames) {
  const { links, scene } = model;
  const rows = [["command", String(links.id[command])]];
  if (links.launch[command]) {
    const { size, facts } = scene.launches[links.launch[command]];
    rows.push(["NDRange", size], ...facts);
  }
  if (links.device_slice[command] < 0) {
    rows.push(["device", "not on the timeline: without stamps, or with stamps that cannot be right"]);
  }
  if (links.queued_ns[command] !== NONE) rows.push(["queued before start", timeText(links.queued_ns[command])]);
  if (links.submit_ns[command] !== NONE) rows.push(["submitted before start", timeText(links.submit_ns[command])]);
  if (links.slack_ns[command] >= 0) {
    rows.push(["slack", links.slack_ns[command] ? timeText(links.slack_ns[command]) : "none: on the critical path, or equally tight"]);
  }
  const faults = faultNames.filter((_, bit) => (links.faults[command] >> bit) & 1);
  if (faults.length) rows.push(["stamps", faults.join(", ")]);
  return rows;
}

/** Return buttons that move the second of two traces, so that a command begins with its like in the other one. */
function alignment(model, slice, shift) {
  if (!model.scene.second) return [];
  const other = model.isOnDevice(slice) ? model.counterpart(slice) : NONE;
  const buttons = [];
  if (other !== NONE) {
    const [first, second] = model.traceOf(slice) ? [other, slice] : [slice, other];
    const by = model.ownBegin(first) - model.ownBegin(second);
    buttons.push(element("button", { id: "align", title: "move B so that both begin at the same time", on: { click: () => shift(by) } }, "align A and B here"));
  }
  return buttons.length ? [element("div", { className: "buttons" }, ...buttons)] : [];
}

/** Return the arguments of a launch, in the order of the kernel's parameters. */
function argumentsOf(model, slice) {
  const launch = model.command[slice] < 0 ? 0 : model.links.launch[model.command[slice]];
  if (!launch) return [];
  const texts = model.scene.launches[launch].arguments;
  if (!texts.length && model.scene.has_arguments) return [];
  const items = texts.map((text) => element("li", {}, text));
  const note = element("p", { className: "hint" }, "too many configurations to have them here: `cltrace query` shows v_launch_arg");
  return [element("section", {}, element("h3", {}, "arguments"), texts.length ? element("ol", { start: 0 }, ...items) : note)];
}

/** Return the lines of a kernel's source that do the most, with their counts. */
function sourceLines(model, slice, { sections }, showTab) {
  const { text, kind } = model.nameOf(slice);
  const section = sections.find(({ key }) => key === "understood");
  const table = kind === "kernel" && section?.tables.find(({ key, title }) => key.startsWith("listing_") && title.startsWith(`${text} (`));
  if (!table) return [];
  const at = Object.fromEntries(table.columns.map(({ key }, position) => [key, position]));
  const work = (row) => (row[at.operations] ?? 0) + (row[at.accesses] ?? 0);
  const rows = table.rows.filter(work).sort((left, right) => work(right) - work(left)).slice(0, MAX_LINES);
  const lines = rows.map((row) => {
    const counts = [["operations", "ops"], ["accesses", "accesses"], ["sectors", "sectors per access of a warp"]]
      .filter(([key]) => row[at[key]] !== null)
      .map(([key, unit]) => `${row[at[key]]} ${unit}`);
    return element(
      "li",
      {},
      element("code", {}, `${row[at.line]}: ${row[at.source].trim()}`),
      element("div", { className: "hint" }, counts.join(", ")),
    );
  });
  const all = element("button", { className: "link", on: { click: () => showTab("understood") } }, "all lines");
  return [element("section", {}, element("h3", {}, "source, with counts per work-item"), element("ul", {}, ...lines), all)];
}

/** Return buttons to other slices: the call or the command, those it waited for, those that waited for it. */
function links(model, slice, go) {
  const command = model.command[slice];
  const groups = [];
  if (command >= 0) {
    const { host_slice: host, device_slice: device, last_before: last } = model.links;
    const other = slice === device[command] ? host[command] : device[command];
    groups.push([slice === device[command] ? "enqueued by" : "ran as", other >= 0 ? [other] : []]);
    groups.push(["waited for last", last[command] >= 0 ? [model.sliceOf(last[command])] : []]);
    groups.push(["waited for (wait list)", [...model.waitsFor.of(command)].map((other) => model.sliceOf(other))]);
    const after = [...model.waitedForBy.of(command), ...model.queueAfter.of(command)];
    groups.push(["then", [...new Set(after)].map((other) => model.sliceOf(other))]);
    groups.push(["waited for by", [...model.callsWaitingFor.of(command)]]);
  } else {
    groups.push(["waited for", (model.waitedByCall.get(slice) ?? []).map((other) => model.sliceOf(other))]);
  }
  return groups
    .map(([title, slices]) => [title, slices.filter((slice) => slice >= 0)])
    .filter(([, slices]) => slices.length)
    .map(([title, slices]) => linkGroup(model, title, slices, go));
}

function linkGroup(model, title, slices, go) {
  const shown = slices.slice(0, MAX_LINKS).map((slice) => {
    const text = `${model.nameOf(slice).text}, at ${exactText(model.ownBegin(slice))}`;
    return element("li", {}, element("button", { className: "link", on: { click: () => go(slice) } }, text));
  });
  const rest = slices.length - shown.length;
  if (rest > 0) shown.push(element("li", {}, `and ${rest} more`));
  return element("section", {}, element("h3", {}, title), element("ul", {}, ...shown));
}
