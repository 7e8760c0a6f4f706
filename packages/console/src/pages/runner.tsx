// One runner: what it last said of itself, and the ways to its uploads and commands.

import { endpoints, type Runner } from '@muster/contract';
import { REFRESH_MS, request, useOne } from '../api.ts';
import { Facts, Section } from '../components/facts.tsx';
import { Foreign, ForeignBlock } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { OneView } from '../components/one-view.tsx';
import { StateTag } from '../components/tags.tsx';
import { Ago, Time } from '../components/time.tsx';
import { jsonText } from '../format.ts';
import { hrefTo } from '../route.ts';

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
  const labels = Object.entries(runner.labels);
  return (
    <>
      <Heading
        title={runner.name}
        back={BACK}
        lead={
          <span className="tags">
            <StateTag state={runner.presence} />
            <StateTag state={runner.admin} />
            <span>
              since <Time iso={runner.presence_since} />
            </span>
          </span>
        }
      >
        <a className="button" href={hrefTo('uploads', null, { runner_id: runner.id })}>
          Its uploads
        </a>
        <a className="button" href={hrefTo('commands', null, { runner_id: runner.id })}>
          Its commands
        </a>
      </Heading>
      <Section title="About it">
        <Facts
          facts={[
            [
              'Last seen',
              runner.last_seen_at === null ? 'never' : <Ago iso={runner.last_seen_at} />,
            ],
            ['Reports every', `${runner.interval_seconds} s`],
            ['Version', runner.version === null ? null : <Foreign text={runner.version} />],
            ['Host', runner.hostname === null ? null : <Foreign text={runner.hostname} />],
            ['Region', runner.region === null ? null : <Foreign text={runner.region} />],
            [
              'Labels',
              labels.length === 0 ? null : labels.map((label) => label.join('=')).join(', '),
            ],
            ['Created', <Time key="time" iso={runner.created_at} />],
            ['Created by', <Foreign key="by" text={runner.created_by} />],
            ['Id', <code key="id">{runner.id}</code>],
          ]}
        />
      </Section>
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
    </>
  );
}
