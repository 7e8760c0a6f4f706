// The measurements of a runner over time, one chart for each group of measurements with the same
// unit.

import { DAY_MS, endpoints, type RunnerMetric, type RunnerMetrics } from '@muster/contract';
import { useId, useMemo, useState } from 'react';
import { request, useOne } from '../../api.ts';
import { bytesText, numberText } from '../../format.ts';
import { wordOf } from '../../route.ts';
import { Section } from '../facts.tsx';
import { ProblemBox } from '../problem-box.tsx';
import { type Series, SeriesChart } from './series-chart.tsx';
import { tick } from '../time.tsx';

const REFRESH_CHART_MS = 60_000;
const PERIODS = {
  day: ['Last 24 hours', 1],
  week: ['Last 7 days', 7],
  month: ['Last 30 days', 30],
  year: ['Last 12 months', 365],
} as const;
type Period = keyof typeof PERIODS;
const PERIOD_NAMES = Object.keys(PERIODS) as Period[];

interface Group {
  readonly label: string;
  readonly metrics: readonly (readonly [metric: RunnerMetric, label: string])[];
  readonly text: (value: number) => string;
}

const rounded = (value: number): string => numberText(Math.round(10 * value) / 10);

const GROUPS: readonly Group[] = [
  {
    label: 'Processor and memory',
    metrics: [
      ['cpu_percent', 'Processor'],
      ['memory_percent', 'Memory'],
    ],
    text: (value) => `${rounded(value)} %`,
  },
  {
    label: 'Jobs, and reports that it has yet to hand in',
    metrics: [
      ['active_jobs', 'Jobs'],
      ['outbox_pending', 'Reports waiting'],
    ],
    text: rounded,
  },
  {
    label: 'Disk and network',
    metrics: [
      ['disk_read_mbps', 'Disk, read'],
      ['disk_write_mbps', 'Disk, written'],
      ['network_rx_mbps', 'Network, received'],
      ['network_tx_mbps', 'Network, sent'],
    ],
    text: (value) => `${rounded(value)} MB/s`,
  },
  {
    label: 'Free disk',
    metrics: [['disk_free_bytes', 'Free']],
    text: (value) => bytesText(Math.round(value)),
  },
];

export function MetricsSection({ id }: { readonly id: string }) {
  const field = useId();
  const [period, setPeriod] = useState<Period>('day');
  const { data, error, refetch } = useOne(
    ['runner-metrics', id, period],
    (signal) => {
      const from = new Date(tick() - PERIODS[period][1] * DAY_MS).toISOString();
      return request(endpoints.runnerMetrics, { params: { id }, query: { from }, signal });
    },
    () => REFRESH_CHART_MS,
  );
  return (
    <Section title="What it measured">
      <div className="filters">
        <div className="field">
          <label htmlFor={field}>Time</label>
          <select
            id={field}
            value={period}
            onChange={({ target }) => setPeriod(wordOf(PERIOD_NAMES, target.value) ?? 'day')}
          >
            {PERIOD_NAMES.map((name) => (
              <option key={name} value={name}>
                {PERIODS[name][0]}
              </option>
            ))}
          </select>
        </div>
      </div>
      {error === null ? null : (
        <ProblemBox
          error={error}
          doing="The measurements could not be read"
          onRetry={() => void refetch()}
        />
      )}
      {data === undefined ? null : <Charts metrics={data} />}
    </Section>
  );
}

function Charts({ metrics }: { readonly metrics: RunnerMetrics }) {
  const at = useMemo(() => metrics.at.map((iso) => Date.parse(iso) / 1000), [metrics]);
  const groups = useMemo(
    () =>
      GROUPS.map((group) => ({ ...group, series: seriesOf(group, metrics) })).filter(
        ({ series }) => series.length > 0,
      ),
    [metrics],
  );
  if (groups.length === 0) {
    return <p className="quiet">It has sent no measurements in this time.</p>;
  }
  return groups.map(({ label, series, text }) => (
    <SeriesChart key={label} label={label} at={at} series={series} text={text} />
  ));
}

function seriesOf({ metrics: wanted }: Group, { series }: RunnerMetrics): Series[] {
  return wanted.flatMap(([metric, label]) => {
    const found = series.find((each) => each.metric === metric);
    return found === undefined ? [] : [{ label, values: found.average }];
  });
}
