import { expect, test } from "vitest";
import { Columns } from "./columns";
import { downsample, lowerBound } from "./downsample";
import type { Interval } from "../types";

const interval = (index: number, ops: [string, number][]): Interval => ({
  interval: index,
  start_s: index,
  length_s: 1,
  ops: ops.map(([op, value]) => ({
    op,
    ops_per_s: value,
    bytes_per_s: value,
    failed: 0,
    p50_ns: value,
    p99_ns: value,
    p999_ns: value,
    max_ns: value,
  })),
});

test("a spike among many points stays visible", () => {
  const x = Array.from({ length: 100_000 }, (_, at) => at);
  const y = x.map((at) => (at === 77_777 ? 1000 : at === 12_345 ? -1000 : at % 7));
  const [times = [], values = []] = downsample(x, [y], 0, 100_000, 800);
  expect(times.length).toBe(1600);
  expect(Math.max(...values.map(Number))).toBe(1000);
  expect(Math.min(...values.map(Number))).toBe(-1000);
  expect(times).toEqual([...times].sort((a, b) => Number(a) - Number(b)));
});

test("few points stay as they are, gaps included", () => {
  expect(downsample([0, 1, 2], [[5, Number.NaN, 7]], 0, 2, 100)).toEqual([
    [0, 1, 2],
    [5, null, 7],
  ]);
  expect(lowerBound([1, 2, 2, 3], 2)).toBe(1);
});

test("columns stay aligned when an operation starts late, and repeats are ignored", () => {
  const columns = new Columns();
  columns.add(interval(0, [["read", 1]]));
  columns.add(interval(1, [["read", 2], ["write", 3]])); // prettier-ignore
  columns.add(interval(1, [["read", 9]]));
  columns.add(interval(2, [["write", 4]]));
  expect(columns.x).toEqual([0.5, 1.5, 2.5]);
  expect(columns.ops.get("read")?.ops_per_s).toEqual([1, 2, Number.NaN]);
  expect(columns.ops.get("write")?.ops_per_s).toEqual([Number.NaN, 3, 4]);
});

test("columns are bounded", () => {
  const columns = new Columns();
  for (let at = 0; at < 500_000; at += 1) columns.add(interval(at, [["read", at]]));
  expect(columns.length).toBeLessThanOrEqual(400_000);
  expect(columns.ops.get("read")?.max_ns.at(-1)).toBe(499_999);
});
