/** Draws charts by uPlot, in the colours of the page. Only Chart.svelte loads this module. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { locale } from "../i18n.svelte";

export interface Series {
  label: string;
  /** A value for each time; null where there is none. */
  values: readonly (number | null)[];
}

interface Drawing {
  times: readonly number[];
  series: readonly Series[];
  kind: "line" | "bars";
  format: (value: number) => string;
  /** Receives the index below the pointer; undefined when the pointer leaves. */
  onpoint: (index?: number) => void;
}

const height = 200; // px
const dashes = [[], [6, 4], [2, 3]];

/** Draws into an element until the returned function is called; follows its width and the theme. */
export function draw(place: HTMLElement, what: Drawing): () => void {
  let plot: uPlot | undefined;
  const again = () => {
    plot?.destroy();
    plot = new uPlot(
      options(place, what),
      [what.times as number[], ...what.series.map(({ values }) => values as (number | null)[])],
      place,
    );
  };
  again();
  const resized = new ResizeObserver(() => {
    if (plot && place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height });
  });
  resized.observe(place);
  const repainted = new MutationObserver(again);
  repainted.observe(document.documentElement, { attributeFilter: ["data-theme", "style", "lang"] });
  const forced = matchMedia("(forced-colors: active)");
  forced.addEventListener("change", again);
  return () => {
    resized.disconnect();
    repainted.disconnect();
    forced.removeEventListener("change", again);
    plot?.destroy();
  };
}

function options(place: HTMLElement, { times, series, kind, format, onpoint }: Drawing): uPlot.Options {
  const style = getComputedStyle(place);
  const forced = matchMedia("(forced-colors: active)").matches;
  const color = (name: string, system: string) => (forced ? system : style.getPropertyValue(name));
  const colors = [color("--accent", "Highlight"), color("--text-2", "CanvasText"), color("--text-3", "GrayText")];
  const line = color("--line", "GrayText");
  const font = `12px ${style.fontFamily}`;
  const axis = { stroke: color("--text-2", "CanvasText"), font, ticks: { show: false } };
  const days = (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * 86_400_000;
  const half = times.length > 1 ? (times[1]! - times[0]!) / 2 : 1;
  const label = new Intl.DateTimeFormat(
    locale(),
    days ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit" },
  );
  return {
    width: place.clientWidth,
    height,
    ms: 1,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: {
      // a bar needs half a step beside it
      ...(kind === "bars" && { x: { range: (_, from, to) => [from - half, to + half] } }),
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 72,
        values: (_, splits) => splits.map((ms) => label.format(ms)),
      },
      { ...axis, grid: { stroke: line, width: 1 }, size: 56, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...series.map((one, nth) => ({
        label: one.label,
        stroke: colors[nth % colors.length]!,
        width: kind === "bars" ? 0 : 2,
        dash: dashes[nth % dashes.length]!,
        fill: kind === "bars" ? colors[nth % colors.length]! : undefined,
        paths: kind === "bars" ? uPlot.paths.bars!({ size: [0.6, 40], radius: 0.2 }) : undefined,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [(plot) => onpoint(plot.cursor.idx ?? undefined)] },
  } as uPlot.Options;
}
