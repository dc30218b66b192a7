// Colours. Those of a theme can be told apart by people who do not see red, green or blue, and all have
// a contrast of at least 3 to 1 with the background; a test computes both.

export const PALETTES = {
  light: {
    background: "#ffffff",
    kernels: ["#1164a2", "#e07800", "#009f97", "#9d3fe1", "#7d2a2b", "#23206b"],
    transfer: "#c52f52",
    other: "#6f7683",
    otherKernel: "#6f7683",
    region: "#d9e2ee",
    call: "#8a93a3",
    wait: "#c3c9d3",
    build: "#5a7d2a",
    host: "#4a5568",
    launch: "#b99a1a",
    return: "#ddc76f",
    ink: "#1c2230",
    faint: "#5b6472",
    grid: "#e6e9ee",
    accent: "#d0004f",
    memory: "#1164a2",
  },
  dark: {
    background: "#16181c",
    kernels: ["#8b91ff", "#f4d63a", "#448199", "#9a54ed", "#e46353", "#90eba6"],
    transfer: "#ff8fc7",
    other: "#9aa3b2",
    otherKernel: "#9aa3b2",
    region: "#2c3848",
    call: "#78818f",
    wait: "#454c58",
    build: "#7f9f3f",
    host: "#c3cad6",
    launch: "#b99a1a",
    return: "#6d5f1f",
    ink: "#e8ebf0",
    faint: "#a2abba",
    grid: "#2a2e36",
    accent: "#ff5c9a",
    memory: "#8b91ff",
  },
};

/** Return black or white, whichever is easier to read on a colour. */
export function inkOn(colour) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return light > 0.179 ? "#000000" : "#ffffff";
}

/** Return the colour of each name: the longest kernels have one each, the others share one. */
export function coloursOf(names, palette) {
  const kernels = names.filter((name) => name.kind === "kernel").sort((left, right) => right.total_ns - left.total_ns);
  const own = new Map(kernels.map((name, at) => [name.text, palette.kernels[at] ?? palette.otherKernel]));
  const byKind = {
    region: palette.region,
    transfer: palette.transfer,
    other: palette.other,
    call: palette.call,
    wait: palette.wait,
    build: palette.build,
    host: palette.host,
    launch: palette.launch,
    return: palette.return,
  };
  return names.map((name) => (name.kind === "kernel" ? own.get(name.text) : byKind[name.kind]));
}
