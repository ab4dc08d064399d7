/** Draws charts by uPlot, in the colours of the page. Only Chart.svelte loads this module. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { locale, size } from "../i18n.svelte";

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
/** The distances between the lines of the values, which are whole numbers. */
const wholeSteps = Array.from({ length: 16 }, (_, zeros) => [1, 2, 5].map((n) => n * 10 ** zeros)).flat();
/** The same for sizes, whose units are powers of 1,024. */
const sizeSteps = Array.from({ length: 5 }, (_, unit) =>
  [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * 1024 ** unit),
).flat();
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

/** The bars of a series: those of two are side by side, so that none covers the other. */
function barsOf(all: number, nth: number): uPlot.Series.PathBuilder {
  if (all !== 2) return uPlot.paths.bars!({ size: [0.6, 40], radius: 0.2 });
  return uPlot.paths.bars!({ size: [0.35, 20], radius: 0.2, align: nth === 0 ? -1 : 1 });
}

function options(place: HTMLElement, { times, series, kind, format, onpoint }: Drawing): uPlot.Options {
  const style = getComputedStyle(place);
  const forced = matchMedia("(forced-colors: active)").matches;
  const color = (name: string, system: string) => (forced ? system : style.getPropertyValue(name));
  const colors = [color("--accent", "Highlight"), color("--text-2", "CanvasText"), color("--text-3", "GrayText")];
  const line = color("--line", "GrayText");
  const font = `12px ${style.fontFamily}`;
  const axis = { stroke: color("--text-2", "CanvasText"), font, ticks: { show: false } };
  const day = 86_400_000; // ms
  const few = times.length <= 4 && (times.at(-1) ?? 0) - (times[0] ?? 0) >= day;
  const days = few || (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * day;
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
      // a bar, and the name of a day, need half a step beside them
      ...((kind === "bars" || few) && { x: { range: (_, from, to) => [from - half, to + half] } }),
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 72,
        ...(few && { splits: () => [...times] }), // uPlot would name a day several times
        values: (_, splits) => splits.map((ms) => label.format(ms)),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 56,
        incrs: format === size ? sizeSteps : wholeSteps,
        values: (_, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      ...series.map((one, nth) => ({
        label: one.label,
        stroke: colors[nth % colors.length]!,
        width: kind === "bars" ? 0 : 2,
        dash: dashes[nth % dashes.length]!,
        fill: kind === "bars" ? colors[nth % colors.length]! : undefined,
        paths: kind === "bars" ? barsOf(series.length, nth) : undefined,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [(plot) => onpoint(plot.cursor.idx ?? undefined)] },
  } as uPlot.Options;
}
