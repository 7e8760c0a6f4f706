// A few series over time, drawn by uPlot on a canvas. The important values stand beside it in
// words, for those who can't see the canvas and those who don't want to.

import { useEffect, useRef } from 'react';
import uPlot from 'uplot';

export interface Series {
  readonly label: string;
  /** One value for each of `at`; null: not known. */
  readonly values: readonly (number | null)[];
}

const HEIGHT_PX = 180;

/** More points than this would hide the line. */
const POINTS_MAX = 60;

/** In the order of the series. Names of colours.css: they follow light and dark. */
const STROKES = ['--accent', '--severity-high', '--good', '--severity-critical'] as const;

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name);

export function SeriesChart({
  label,
  at,
  series,
  text,
}: {
  readonly label: string;
  /** Seconds since 1970. */
  readonly at: readonly number[];
  readonly series: readonly Series[];
  /** A value as people read it. */
  readonly text: (value: number) => string;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const axis: uPlot.Axis = {
      stroke: () => colour('--quiet'),
      grid: { stroke: () => colour('--line'), width: 1 },
      ticks: { stroke: () => colour('--line'), width: 1 },
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        cursor: { y: false },
        series: [
          {},
          ...series.map((each, index) => ({
            label: each.label,
            stroke: () => colour(STROKES[index % STROKES.length] ?? '--accent'),
            width: 1.5,
            // A lone point makes no line.
            points: { show: each.values.filter((value) => value !== null).length <= POINTS_MAX },
            value: (_: uPlot, value: number | null) => (value === null ? '–' : text(value)),
          })),
        ],
        axes: [axis, { ...axis, size: 72, values: (_, ticks) => ticks.map(text) }],
        scales: { y: { range: (_, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
      },
      [[...at], ...series.map((each) => [...each.values])],
      element,
    );
    const resized = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => plot.redraw();
    scheme.addEventListener('change', redraw);
    return () => {
      scheme.removeEventListener('change', redraw);
      resized.disconnect();
      plot.destroy();
    };
  }, [at, series, text]);
  return (
    <figure className="chart">
      <figcaption>{label}</figcaption>
      <div ref={place} aria-hidden="true" />
      <ul className="quiet">
        {series.map((each) => (
          <li key={each.label}>{summaryOf(each, text)}</li>
        ))}
      </ul>
    </figure>
  );
}

/** "Processor: last 12 %, highest 80 %". */
function summaryOf({ label, values }: Series, text: (value: number) => string): string {
  const known = values.filter((value) => value !== null);
  const last = known.at(-1);
  if (last === undefined) return `${label}: nothing measured`;
  const highest = known.reduce((most, value) => Math.max(most, value));
  return `${label}: last ${text(last)}, highest ${text(highest)}`;
}
