/** Figures for people: rates are decimal, times have the unit that fits. */

const PREFIXES = ["", "k", "M", "G", "T"];

/** Three significant digits, without trailing zeros of large numbers. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || size === 0) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : 2);
}

function scaled(value: number, unit: string): string {
  let prefix = 0;
  // 999.5 would be shown as 1000.
  while (Math.abs(value) >= 999.5 && prefix < PREFIXES.length - 1) {
    value /= 1000;
    prefix += 1;
  }
  return `${digits(value)} ${PREFIXES[prefix] ?? ""}${unit}`.trimEnd();
}

export const byteRate = (perSecond: number): string => scaled(perSecond, "B/s");

export const rate = (perSecond: number): string => scaled(perSecond, "");

export function latency(ns: number): string {
  for (const [unit, size] of [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
  ] as const) {
    if (ns >= size * 0.9995) return `${digits(ns / size)} ${unit}`;
  }
  return `${digits(ns)} ns`;
}

/** A time with its sign, such as the offset of a clock. */
export const span = (ns: number): string => `${ns < 0 ? "−" : "+"}${latency(Math.abs(ns))}`;

/** How long ago something was, in the reader's clock. */
export function ago(text: string | null): string {
  if (!text) return "–";
  return `${duration(Math.max(0, (Date.now() - Date.parse(text)) / 1000))} ago`;
}

/** `45 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [large, small, names] =
    whole < 3600
      ? [Math.floor(whole / 60), whole % 60, ["min", "s"]]
      : [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), ["h", "min"]];
  return `${large} ${names[0] ?? ""}${small > 0 ? ` ${small} ${names[1] ?? ""}` : ""}`;
}

export const percent = (share: number): string => `${digits(share * 100)} %`;

/** A relative change with its sign. */
export const change = (share: number): string => `${share < 0 ? "−" : "+"}${digits(Math.abs(share) * 100)} %`;

const CLOCK = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** A moment in the reader's time zone. */
export const moment = (text: string | null): string => (text ? CLOCK.format(new Date(text)) : "–");

/** `1 cell`, `3 cells`. */
export const count = (number: number, one: string): string => `${number} ${one}${number === 1 ? "" : "s"}`;

/** The formatter of a comparison's metric, by its name: `bandwidth`, `read.p99`. */
export function metric(name: string): (value: number) => string {
  const last = name.split(".").at(-1) ?? name;
  if (last === "bandwidth") return byteRate;
  return last === "rate" ? (value) => `${rate(value)}/s` : latency;
}

/** A criterion's figure in its unit. */
export function inUnit(value: number, unit: string): string {
  switch (unit) {
    case "share":
      return percent(value);
    case "bytes-per-s":
      return byteRate(value);
    case "ops-per-s":
      return `${rate(value)}/s`;
    case "nanoseconds":
      return latency(value);
    case "seconds":
      return duration(value);
    default:
      return scaled(value, unit === "bytes" ? "B" : "");
  }
}
