// Charts drawn by uPlot: histograms, quantities over time, and the busy share over the whole trace.

import { element } from "./elements.js";
import { bytesText, countText, timeText, valueText } from "./format.js";

const FONT = "11px system-ui, sans-serif";
const HEIGHT = 210;
const POWERS_OF_2 = Array.from({ length: 50 }, (_, at) => 2 ** at);

function axis(colours, values, extra = {}) {
  return {
    stroke: () => colours().faint,
    grid: { stroke: () => colours().grid, width: 1 },
    ticks: { stroke: () => colours().grid, width: 1, size: 4 },
    font: FONT,
    values: (_, splits) => splits.map((split) => (split === null ? "" : values(split))),
    ...extra,
  };
}

/** Keep a chart as wide as its container. */
function fitToHolder(chart, holder, height) {
  new ResizeObserver(() => {
    if (holder.clientWidth > 0) chart.setSize({ width: holder.clientWidth, height });
  }).observe(holder);
  return chart;
}

/** Add a histogram: `edges` in the quantity's unit, one more than `counts`. All bars are equally wide. */
export function histogram(holder, { title, edges, counts, unit, is_logarithmic: isLogarithmic }, colours) {
  const textOf = unit === "bytes" ? bytesText : timeText;
  const plotElement = element("div", { className: "chart", role: "img" });
  const highest = counts.reduce((highest, count) => Math.max(highest, count), 0);
  plotElement.setAttribute(
    "aria-label",
    `${title}: ${countText(counts.reduce((sum, count) => sum + count, 0))} values from ` +
      `${textOf(edges[0])} to ${textOf(edges.at(-1))}, at most ${countText(highest)} in a bar`,
  );
  holder.append(element("figure", {}, element("figcaption", {}, isLogarithmic ? `${title}, logarithmic` : title), plotElement));
  const edgeText = (at) => (edges[at] === undefined ? "" : textOf(edges[at]));
  const chart = new uPlot(
    {
      width: Math.max(plotElement.clientWidth, 200),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: [-0.5, counts.length - 0.5] }, y: { range: (_, __, high) => [0, high * 1.08 || 1] } },
      axes: [
        axis(colours, (at) => edgeText(Math.round(at + 0.5)), {
          splits: () => counts.map((_, at) => at - 0.5).filter((_, at) => at % Math.ceil(counts.length / 6) === 0),
        }),
        axis(colours, countText, { size: 58 }),
      ],
      series: [
        {},
        {
          paths: uPlot.paths.bars({ size: [0.94, Infinity] }),
          stroke: () => colours().memory,
          fill: () => colours().memory,
          points: { show: false },
        },
      ],
      hooks: { setCursor: [(plot) => showInTitle(plot, (at) => `${edgeText(at)} to ${edgeText(at + 1)}: ${countText(counts[at])}`)] },
    },
    [counts.map((_, at) => at), counts],
    plotElement,
  );
  return fitToHolder(chart, plotElement, HEIGHT);
}

/** Describe the value below the cursor in the chart's tooltip. */
function showInTitle(plot, textAt) {
  const { idx } = plot.cursor;
  plot.root.title = idx === null || idx === undefined ? "" : textAt(idx);
}

/** Add a chart of a quantity over time, in steps: bytes or watts. */
export function levelChart(holder, { label, unit, time_ns: times, value: values }, endNs, colours) {
  const textOf = (value) => valueText(value, unit);
  const scale = unit === "bytes" ? { size: 68, incrs: POWERS_OF_2 } : { size: 68 };
  const plotElement = element("div", { className: "chart", role: "img" });
  const highest = values.reduce((highest, value) => Math.max(highest, value), 0);
  const [allTimes, allValues] = [[...times, Math.max(endNs, times.at(-1) ?? endNs)], [...values, values.at(-1) ?? 0]];
  plotElement.setAttribute("aria-label", `${label}: at most ${textOf(highest)}`);
  holder.append(element("figure", {}, element("figcaption", {}, `${label}: at most ${textOf(highest)}`), plotElement));
  const chart = new uPlot(
    {
      width: Math.max(plotElement.clientWidth, 200),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (_, __, high) => [0, high * 1.08 || 1] } },
      axes: [axis(colours, timeText), axis(colours, textOf, scale)],
      series: [
        {},
        {
          paths: uPlot.paths.stepped({ align: 1 }),
          stroke: () => colours().memory,
          fill: () => `${colours().memory}55`,
          width: 1.5,
          points: { show: false },
        },
      ],
      hooks: { setCursor: [(plot) => showInTitle(plot, (at) => `${timeText(allTimes[at])}: ${textOf(allValues[at])}`)] },
    },
    [allTimes, allValues],
    plotElement,
  );
  return fitToHolder(chart, plotElement, HEIGHT);
}

/** Add a strip of the busy share over the whole trace. Dragging over it calls `onRange(from, to)`. */
export function overview(holder, { times, shares }, colours, onRange) {
  const chart = new uPlot(
    {
      width: Math.max(holder.clientWidth, 200),
      height: 44,
      padding: [2, 0, 2, 0],
      legend: { show: false },
      cursor: { x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 3 } },
      scales: { x: { time: false, range: [times[0], times.at(-1)] }, y: { range: [0, 1] } },
      axes: [{ show: false }, { show: false }],
      series: [
        {},
        {
          paths: uPlot.paths.stepped({ align: 1 }),
          stroke: () => colours().memory,
          fill: () => `${colours().memory}88`,
          width: 1,
          points: { show: false },
        },
      ],
      hooks: {
        setSelect: [
          (plot) => {
            if (plot.select.width > 0) {
              onRange(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
            }
          },
        ],
      },
    },
    [times, shares],
    holder,
  );
  return fitToHolder(chart, holder, 44);
}
