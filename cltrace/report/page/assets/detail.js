// Details of the selected slice, with links to the slices that it depends on.

import { element } from "./elements.js";
import { bytesText, exactText, timeText } from "./format.js";
import { NONE } from "./model.js";
import { exactQuery } from "./search.js";

const MAX_LINKS = 8;
const MAX_IN_LEGEND = 12;

/** Return the contents of the panel for a slice. `go` shows another slice, `find` searches for a name. */
export function detailOf(timeline, faultNames, { go, find }) {
  const { model, selected: slice } = timeline;
  if (slice === NONE) return [element("p", { className: "hint" }, HINT), legend(timeline, find)];
  const { text } = model.nameOf(slice);
  const list = element("dl");
  for (const [term, value] of facts(timeline, slice, faultNames)) {
    list.append(element("dt", {}, term), element("dd", {}, value));
  }
  const heading = element("h2", {}, text);
  const parts = [heading, list, ...links(model, slice, go)];
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
    ["begins", exactText(model.begin_ns[slice])],
    [isMerged ? "spans" : "takes", timeText(model.duration_ns[slice])],
  ];
  if (isMerged) rows.push(["stands for", `${model.count[slice]} slices, merged because there are too many`]);
  if (bound !== NONE) {
    const isProven = model.links.is_proven[model.command[slice]];
    rows.push(["clock", `± ${timeText(bound)}, ${isProven ? "proven" : "as far as most observations agree"}`]);
  }
  if (model.size_bytes[slice]) rows.push(["size", bytesText(model.size_bytes[slice])]);
  if (model.status[slice]) rows.push(["failed", model.scene.statuses[model.status[slice]]]);
  const site = model.siteOf(slice);
  if (site) rows.push(["called at", site]);
  if (model.command[slice] >= 0) rows.push(...commandFacts(model, model.command[slice], faultNames));
  return rows;
}

function commandFacts(model, command, faultNames) {
  const { links, scene } = model;
  const rows = [["command", String(links.id[command])]];
  if (links.launch[command]) rows.push(["NDRange", scene.launches[links.launch[command]]]);
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

/** Return buttons to other slices: the call or the command, those it waited for, those that waited for it. */
function links(model, slice, go) {
  const command = model.command[slice];
  const groups = [];
  if (command >= 0) {
    const { host_slice: host, device_slice: device, last_before: last } = model.links;
    const other = slice === device[command] ? host[command] : device[command];
    groups.push([slice === device[command] ? "enqueued by" : "ran as", other >= 0 ? [other] : []]);
    const waited = [...model.waitsFor.of(command)];
    if (last[command] >= 0) waited.unshift(last[command]);
    groups.push(["waited for", [...new Set(waited)].map((other) => model.sliceOf(other))]);
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
    const text = `${model.nameOf(slice).text}, at ${exactText(model.begin_ns[slice])}`;
    return element("li", {}, element("button", { className: "link", on: { click: () => go(slice) } }, text));
  });
  const rest = slices.length - shown.length;
  if (rest > 0) shown.push(element("li", {}, `and ${rest} more`));
  return element("section", {}, element("h3", {}, title), element("ul", {}, ...shown));
}
