// One runner: its last report of itself, its measurements, its keys, and the links to its uploads
// and commands.

import { endpoints, type Runner } from '@muster/contract';
import { lazy, Suspense } from 'react';
import { REFRESH_MS, request, useIsAdmin, useOne } from '../api.ts';
import { Facts, Section } from '../components/facts.tsx';
import { Foreign, ForeignBlock } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { OneView } from '../components/one-view.tsx';
import { RunnerActions } from '../components/runners/runner-actions.tsx';
import { RunnerState, RunnerTrouble } from '../components/runners/runner-state.tsx';
import { KeysSection } from '../components/runners/runner-keys.tsx';
import { StateTag } from '../components/findings/tags.tsx';
import { Ago, Time } from '../components/time.tsx';
import { jsonText, numberText } from '../format.ts';
import { hrefTo } from '../route.ts';

/**
 * Charts come with a library of their own, which no other page needs. After an upgrade the server
 * may no longer have that file.
 */
const MetricsSection = lazy(async () => {
  try {
    const { MetricsSection: section } = await import('../components/runners/runner-metrics.tsx');
    return { default: section };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { default: NoCharts };
  }
});

function NoCharts() {
  return (
    <Section title="What it measured">
      <p role="alert">The charts could not be loaded. Load this page again.</p>
    </Section>
  );
}

const BACK = { href: hrefTo('fleet'), label: 'Fleet' };

export function RunnerPage({ id }: { readonly id: string }) {
  const query = useOne(
    ['runner', id],
    (signal) => request(endpoints.showRunner, { params: { id }, signal }),
    () => REFRESH_MS,
  );
  return (
    <OneView query={query} noun="runner" back={BACK}>
      {(runner) => <RunnerView runner={runner} />}
    </OneView>
  );
}

function RunnerView({ runner }: { readonly runner: Runner }) {
  const isAdmin = useIsAdmin();
  return (
    <>
      <Heading
        title={runner.name}
        back={BACK}
        lead={
          <>
            <span className="tags">
              <RunnerState runner={runner} />
              <StateTag state={runner.admin} />
              <span>
                since <Time iso={runner.presence_since} />
              </span>
            </span>
            <RunnerTrouble runner={runner} />
          </>
        }
      >
        <a className="button" href={hrefTo('uploads', null, { runner_id: runner.id })}>
          Its uploads
        </a>
        <a className="button" href={hrefTo('commands', null, { runner_id: runner.id })}>
          Its commands
        </a>
        {isAdmin ? <RunnerActions runner={runner} /> : null}
      </Heading>
      <Warnings runner={runner} />
      <About runner={runner} />
      <Suspense>
        <MetricsSection id={runner.id} />
      </Suspense>
      {isAdmin ? <KeysSection runnerId={runner.id} /> : null}
      <LastHeartbeat runner={runner} />
    </>
  );
}

/** A skew below a second says more about the network than about the clock. */
function skewText(skewMs: number | null): string | null {
  if (skewMs === null) return null;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (seconds === 0) return 'right';
  return `${numberText(seconds)} s ${skewMs > 0 ? 'ahead' : 'behind'}`;
}

function Warnings({ runner: { warnings } }: { readonly runner: Runner }) {
  if (warnings.length === 0) return null;
  return (
    <Section title="Look at this">
      <ul className="places">
        {warnings.map(({ code, detail }) => (
          <li key={code}>
            <StateTag state={code} /> <Foreign text={detail} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function About({ runner }: { readonly runner: Runner }) {
  const labels = Object.entries(runner.labels);
  return (
    <Section title="About it">
      <Facts
        facts={[
          ['Last seen', runner.last_seen_at === null ? 'never' : <Ago iso={runner.last_seen_at} />],
          ['Reports every', `${runner.interval_seconds} s`],
          ['Version', runner.version === null ? null : <Foreign text={runner.version} />],
          ['Host', runner.hostname === null ? null : <Foreign text={runner.hostname} />],
          ['Region', runner.region === null ? null : <Foreign text={runner.region} />],
          [
            'Labels',
            labels.length === 0 ? null : labels.map((label) => label.join('=')).join(', '),
          ],
          ['Its clock', skewText(runner.clock_skew_ms)],
          ['Created', <Time key="time" iso={runner.created_at} />],
          ['Created by', <Foreign key="by" text={runner.created_by} />],
          ['Id', <code key="id">{runner.id}</code>],
        ]}
      />
    </Section>
  );
}

function LastHeartbeat({ runner }: { readonly runner: Runner }) {
  return (
    <Section title="Last heartbeat">
      {runner.reported_at === null ? (
        <p>It has not sent one yet. Start it with its key: the first heartbeat shows up here.</p>
      ) : (
        <>
          <p>
            As received <Ago iso={runner.reported_at} />:
          </p>
          <ForeignBlock text={jsonText(runner.reported)} />
        </>
      )}
    </Section>
  );
}
