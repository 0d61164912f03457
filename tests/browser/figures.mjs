// Reads the figures off the page as a person would, and compares them with the JSON.
import assert from "node:assert/strict";

const PREFIXES = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const TIMES = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 };

/** The value at a JSON pointer. */
export function at(data, pointer) {
  return pointer.slice(1).split("/").reduce(
    (value, part) => value[part.replaceAll("~1", "/").replaceAll("~0", "~")], data);
}

/** A number as it is written, and by how much it may be off because it was rounded. */
function number(text) {
  const plain = text.replaceAll("\u202f", "").replace("−", "-").replace(/^[+±]/, "");
  assert.match(plain, /^-?\d+(\.\d+)?$/, `not a number: ${text}`);
  const decimals = plain.split(".")[1]?.length ?? 0;
  return { value: Number(plain), slack: 0.5 * 10 ** -decimals };
}

/** What the text says, in the unit of the JSON. */
export function read(text, pointer, data) {
  const parts = text.trim().split(" ");
  const criterion = /^(.*\/criteria\/\d+)\//.exec(pointer);
  const seconds = pointer.endsWith("_s") && !pointer.endsWith("_per_s")
    || pointer.endsWith("/seconds") || (criterion && at(data, criterion[1]).unit === "seconds");
  // 5 min 20 s
  if (parts.length === 4) {
    const [a, b] = [number(parts[0]), number(parts[2])];
    const value = a.value * TIMES[parts[1]] + b.value * TIMES[parts[3]];
    // The smaller part of hours and minutes is cut off, not rounded.
    const slack = TIMES[parts[3]] * (parts[3] === "min" ? 1.01 : 0.51);
    return { value: value / 1e9, slack: slack / 1e9 };
  }
  const [first, unit = ""] = parts;
  if (first.endsWith("/s")) return number(first.slice(0, -2));
  const scale = (factor) => {
    const { value, slack } = number(first);
    return { value: value * factor, slack: slack * factor };
  };
  if (unit === "") return first.startsWith("<") ? { value: 0, slack: Number(first.slice(1)) } : scale(1);
  if (unit === "%") return scale(0.01);
  if (unit in TIMES) return scale(seconds ? TIMES[unit] / 1e9 : TIMES[unit]);
  const prefix = /^([kMGT]?)(B\/s|B|\/s)$/.exec(unit);
  assert.ok(prefix, `unknown unit ${unit} in ${text}`);
  return scale(PREFIXES[prefix[1]]);
}

/** Compares every figure on the page; how many there are. */
export async function checkFigures(page, data, kind) {
  const shown = await page.locator("data[data-path]").evaluateAll((elements) => elements.map((element) => ({
    paths: element.dataset.path.split(" "),
    value: Number(element.value),
    text: element.textContent,
    visible: element.getClientRects().length > 0,
  })));
  const seen = new Set();
  for (const { paths, value, text, visible } of shown) {
    const truth = paths.map((path) => at(data, path)).reduce((sum, one) => sum + one, 0) / paths.length;
    const where = `${paths.join(" ")}: ${text}`;
    assert.ok(Math.abs(truth - value) <= 1e-12 * Math.abs(truth), `${where} is marked as ${value}, and is ${truth}`);
    const said = read(text, paths[0], data);
    assert.ok(Math.abs(said.value - truth) <= said.slack * 1.001 + 1e-9 * Math.abs(truth), `${where} is ${truth} in the JSON`);
    assert.ok(visible, `${where} cannot be seen`);
    if (paths.length === 1) seen.add(paths[0]);
  }
  const intervals = await page.locator("[data-estimate]").evaluateAll((elements) => elements.map((element) => ({
    path: element.dataset.estimate, text: element.textContent,
  })));
  for (const { path, text } of intervals) {
    const { low, high, mean } = at(data, path);
    const half = (high - low) / 2 / Math.abs(mean);
    const said = number(/^± (.*) %$/.exec(text)[1]);
    assert.ok(Math.abs(said.value / 100 - half) <= said.slack / 100 * 1.001 || half < 1e-4, `${path}: ${text} is ${half}`);
  }
  if (kind === "report") headlines(data, seen);
  else assert.ok(data.cells.every((_, n) => seen.has(`/cells/${n}/difference/relative`)), "every difference is shown");
  return shown.length + intervals.length;
}

/** No cell's headline is missing. */
function headlines(data, seen) {
  data.cells.forEach((cell, position) => {
    if (!cell.result) return;
    const total = `/cells/${position}/result/total`;
    const wanted = ["ops_per_s/mean", "failed", ...(cell.result.total.bytes ? ["bytes_per_s/mean"] : [])];
    if (cell.result.total.response.count) wanted.push("response/p50_ns", "response/p99_ns", "response/p999_ns", "response/max_ns");
    for (const field of wanted) assert.ok(seen.has(`${total}/${field}`), `${total}/${field} is not shown`);
    cell.result.gates.forEach((_, n) => assert.ok(seen.has(`/cells/${position}/result/gates/${n}/measured`), "a gate is not shown"));
  });
}
