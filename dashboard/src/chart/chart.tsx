/** A time chart: uPlot fed with as many points as it has pixels. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { downsample } from "./downsample";

/** One line of a chart. */
export interface Line {
  label: string;
  /** Number of its colour. */
  colour: number;
  dashed?: boolean;
  width?: number;
  values: readonly number[];
}

interface ChartProps {
  /** What people who do not see it hear. */
  label: string;
  x: readonly number[];
  lines: readonly Line[];
  format: (value: number) => string;
  log?: boolean;
  /** Changes when values were added. */
  revision: number;
  /** A stretch of time to mark, in seconds. */
  window?: readonly [number, number] | undefined;
}

const HEIGHT = 240;
// uPlot declares the kinds of scales as an enum that exists only for the compiler; 3 is logarithmic.
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
const LOG_SCALE: uPlot.Scale = { distr: 3, log: 10 };
const COLOURS = 6;

const variable = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const seconds = (value: number): string => {
  if (value < 60) return `${+value.toFixed(2)} s`;
  const whole = Math.round(value);
  const minutes = `${Math.floor(whole / 60) % 60}`;
  const rest = `:${String(whole % 60).padStart(2, "0")}`;
  return whole < 3600 ? minutes + rest : `${Math.floor(whole / 3600)}:${minutes.padStart(2, "0")}${rest}`;
};

function options(props: ChartProps, width: number, redraw: (chart: uPlot) => void): uPlot.Options {
  const [ink, faint] = [variable("--soft"), variable("--faint")];
  const axis = { stroke: ink, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint, width: 1 } };
  return {
    width,
    height: HEIGHT,
    legend: { live: true },
    cursor: { drag: { x: true, y: false, setScale: true } },
    scales: {
      x: { time: false },
      y: props.log ? LOG_SCALE : { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      { ...axis, space: 80, values: (_, ticks) => ticks.map(seconds) },
      {
        ...axis,
        size: 76,
        values: (_, ticks) => ticks.map((tick: number | null) => (tick === null ? "" : props.format(tick))),
      },
    ],
    series: [
      { label: "time", value: (_, value: number | null) => (value === null ? "–" : seconds(value)) },
      ...props.lines.map((line) => ({
        label: line.label,
        stroke: variable(`--c${line.colour % COLOURS}`),
        width: line.width ?? 1.5,
        points: { show: false },
        ...(line.dashed && { dash: [5, 4] }),
        value: (_: uPlot, value: number | null) => (value === null ? "–" : props.format(value)),
      })),
    ],
    hooks: {
      setScale: [(chart, key) => key === "x" && redraw(chart)],
      drawClear: [
        (chart) => {
          if (!props.window) return;
          const [from, to] = props.window.map((value) => chart.valToPos(value, "x", true));
          const { left, width, top, height } = chart.bbox;
          const start = Math.max(left, from ?? left);
          const end = Math.min(left + width, to ?? left);
          if (end <= start) return;
          chart.ctx.save();
          chart.ctx.globalAlpha = 0.12;
          chart.ctx.fillStyle = variable("--steady");
          chart.ctx.fillRect(start, top, end - start, height);
          chart.ctx.restore();
        },
      ],
    },
  };
}

/** A chart that can be zoomed by dragging; a double click shows everything again. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  /** The range the user zoomed to. */
  const zoom = useRef<[number, number] | null>(null);
  const feeding = useRef(false);

  const feed = (plot: uPlot): void => {
    const { x, lines } = latest.current;
    const [first, last] = [x[0] ?? 0, x.at(-1) ?? 1];
    const [min, max] = zoom.current ?? [first, last > first ? last : first + 1];
    const values = lines.map((line) => line.values);
    const pixels = Math.max(100, Math.round(plot.bbox.width / devicePixelRatio));
    const drawn = downsample(x, values, min, max, pixels);
    // How many points there are and how many of them are drawn: tests read it.
    plot.root.parentElement?.setAttribute("data-points", `${x.length}`);
    plot.root.parentElement?.setAttribute("data-drawn", `${drawn[0]?.length ?? 0}`);
    feeding.current = true;
    plot.setData(drawn as uPlot.AlignedData, false);
    plot.setScale("x", { min, max });
    feeding.current = false;
  };

  // A new chart only if its lines change: new values are fed to the one there is.
  const shape = props.lines.map((line) => `${line.label}${line.colour}`).join() + String(props.log);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const build = (): void => {
      chart.current?.destroy();
      const redraw = (plot: uPlot): void => {
        if (feeding.current) return;
        const { min, max } = plot.scales.x ?? {};
        const { x } = latest.current;
        const whole = min == null || max == null || (min <= (x[0] ?? 0) && max >= (x.at(-1) ?? 1));
        zoom.current = whole ? null : [min, max];
        // uPlot is in the middle of a change.
        queueMicrotask(() => chart.current === plot && feed(plot));
      };
      const plot = new uPlot(
        options(latest.current, element.clientWidth, redraw),
        [[], ...latest.current.lines.map(() => [])],
        element,
      );
      plot.over.addEventListener("dblclick", () => {
        zoom.current = null;
        feed(plot);
      });
      chart.current = plot;
      feed(plot);
    };
    build();
    const resized = new ResizeObserver(() => {
      const plot = chart.current;
      if (!plot || Math.abs(plot.width - element.clientWidth) < 1) return;
      plot.setSize({ width: element.clientWidth, height: HEIGHT });
      feed(plot);
    });
    resized.observe(element);
    // Colours are resolved when a chart is built.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", build);
    return () => {
      resized.disconnect();
      scheme.removeEventListener("change", build);
      chart.current?.destroy();
      chart.current = null;
    };
  }, [shape]);

  useEffect(() => {
    if (chart.current) feed(chart.current);
  }, [props.revision, props.x, props.window]);

  return <div class="plot" role="img" aria-label={props.label} ref={place} />;
}
