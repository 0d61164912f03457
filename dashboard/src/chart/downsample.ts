/** Reduces series to what a chart can show: the min and the max of each pixel column. */

/** Index of the first value that is not below `limit`, in a rising column. */
export function lowerBound(x: readonly number[], limit: number): number {
  let [from, to] = [0, x.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((x[middle] ?? Infinity) < limit) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * The points between `min` and `max`, with one neighbour on each side, at most four per pixel column: all series share
 * the x values, so a column keeps its first and last moment, and each series has its own min and max at these.
 */
export function downsample(
  x: readonly number[],
  series: readonly (readonly number[])[],
  min: number,
  max: number,
  pixels: number,
): (number | null)[][] {
  const from = Math.max(0, lowerBound(x, min) - 1);
  const to = Math.min(x.length, lowerBound(x, max) + 2);
  const plain = (value: number | undefined): number | null =>
    value === undefined || Number.isNaN(value) ? null : value;
  if (to - from <= pixels * 2) {
    return [x, ...series].map((column) => column.slice(from, to).map(plain));
  }
  const out: (number | null)[][] = [[], ...series.map(() => [])];
  const step = (to - from) / pixels;
  for (let column = 0; column < pixels; column += 1) {
    const start = from + Math.floor(column * step);
    const end = from + Math.floor((column + 1) * step);
    out[0]?.push(x[start] ?? 0, x[end - 1] ?? 0);
    series.forEach((values, number) => {
      let [low, high, lowAt, highAt] = [Infinity, -Infinity, -1, -1];
      for (let at = start; at < end; at += 1) {
        const value = values[at] ?? Number.NaN;
        if (value < low) [low, lowAt] = [value, at];
        if (value > high) [high, highAt] = [value, at];
      }
      const pair = lowAt < 0 ? [null, null] : lowAt <= highAt ? [low, high] : [high, low];
      out[number + 1]?.push(...pair);
    });
  }
  return out;
}
