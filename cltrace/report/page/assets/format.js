// Quantities as short text, as the command line writes them: three digits and a unit that fits.

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const RATES = [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]];
const ENERGIES = [[1e6, "MJ"], [1e3, "kJ"], [1, "J"], [1e-3, "mJ"], [1e-6, "µJ"], [1e-9, "nJ"], [1e-12, "pJ"]];
const POWERS = [[1e3, "kW"], [1, "W"], [1e-3, "mW"]];
const ABSENT = "–";

function scaledText(value, units) {
  const unit = units.find(([scale]) => (value === 0 ? scale === 1 : Math.abs(value) >= scale * 0.9995));
  const [scale, name] = unit ?? units.at(-1);
  const number = value / scale;
  if (scale === 1 && Number.isInteger(number)) return `${number} ${name}`;
  const digits = number === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(+number.toPrecision(3)))));
  return `${number.toFixed(Math.min(digits, 2))} ${name}`;
}

/** Return a duration in ns as text. */
export function timeText(ns) {
  const seconds = Math.abs(ns) / 1e9;
  if (seconds >= 3600) {
    const minutes = Math.round(ns / 6e10);
    return `${Math.trunc(minutes / 60)} h ${String(Math.abs(minutes % 60)).padStart(2, "0")} min`;
  }
  if (seconds >= 600) {
    const whole = Math.round(ns / 1e9);
    return `${Math.trunc(whole / 60)} min ${String(Math.abs(whole % 60)).padStart(2, "0")} s`;
  }
  return scaledText(ns, TIMES);
}

/** Return a time on the trace's axis, exact to the ns. */
export function exactText(ns) {
  const [scale, name] = TIMES.find(([scale]) => Math.abs(ns) >= scale) ?? TIMES.at(-1);
  return `${(ns / scale).toFixed(Math.round(Math.log10(scale)))} ${name}`;
}

/** Return a size in bytes as text. */
export const bytesText = (bytes) => scaledText(bytes, SIZES);

/** Return a whole number with its thousands separated. */
export const countText = (count) => Math.round(count).toLocaleString("en").replaceAll(",", "\u202f");

const BY_UNIT = {
  ns: timeText,
  bytes: bytesText,
  bytes_per_s: (value) => scaledText(value, RATES),
  j: (value) => scaledText(value, ENERGIES),
  w: (value) => scaledText(value, POWERS),
  share: (value) => `${(100 * value).toFixed(1)} %`,
  count: countText,
};

/** Return a value of a table as text for people. */
export function valueText(value, unit) {
  if (value === null || value === undefined) return ABSENT;
  return typeof value === "string" ? value : (BY_UNIT[unit] ?? String)(value);
}

/** Return a time on an axis, with enough digits to tell it from one `step` ns away. */
export function axisText(ns, step, largest) {
  const [scale, name] = TIMES.find(([scale]) => largest >= scale) ?? TIMES.at(-1);
  const digits = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
  return `${(ns / scale).toFixed(digits)} ${name}`;
}
