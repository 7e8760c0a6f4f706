// The refs on which a finding is present, and its events, newest last as the server tells them.
// Comments in events are foreign text.

import type { endpoints, ReplyOf } from '@muster/contract';
import { words } from '../../format.ts';
import { Section } from '../facts.tsx';
import { Foreign } from '../foreign.tsx';
import { Time } from '../time.tsx';

type FindingWithDetail = ReplyOf<typeof endpoints.showFinding>;

export function History({ finding }: { readonly finding: FindingWithDetail }) {
  return (
    <>
      {finding.refs.length === 0 ? null : (
        <Section title="Refs">
          <ul className="places">
            {finding.refs.map((ref) => (
              <li key={ref.name}>
                <strong>{ref.name === '' ? 'no name' : <Foreign text={ref.name} />}</strong>
                {ref.is_default ? ' (default)' : ''}: {ref.present ? 'present' : 'gone'}, last seen{' '}
                <Time iso={ref.last_seen_at} />
                {ref.last_commit === null ? null : (
                  <>
                    {' at '}
                    <code>
                      <Foreign text={ref.last_commit} />
                    </code>
                  </>
                )}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {finding.events.length === 0 ? null : (
        <Section title="History">
          <ol className="steps">
            {finding.events.map((event, index) => (
              <li key={`${index} ${event.at}`}>
                <Time iso={event.at} />: {words(event.kind)}
                <EventText data={event.data} />, by <Foreign text={event.by} />
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}

/** The texts among the event's own members: from, to and comment. */
function EventText({ data }: { readonly data: unknown }) {
  if (typeof data !== 'object' || data === null) return null;
  const { from, to, comment } = data as Readonly<Record<string, unknown>>;
  return (
    <>
      {typeof from === 'string' && typeof to === 'string' ? ` ${words(from)} → ${words(to)}` : ''}
      {typeof comment === 'string' && comment !== '' ? (
        <>
          {' “'}
          <Foreign text={comment} />
          {'”'}
        </>
      ) : null}
    </>
  );
}
