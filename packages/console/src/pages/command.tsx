// One command: why it waits, its states so far, its attempts and reports, its log, its payload and
// its result.

import { type Command, endpoints, type ReplyOf } from '@muster/contract';
import { REFRESH_MS, request, useMayChange, useOne } from '../api.ts';
import { CancelCommandButton, isCancelable } from '../components/commands/cancel-command.tsx';
import { LogSection } from '../components/commands/command-log.tsx';
import { UploadsSection } from '../components/commands/command-uploads.tsx';
import { WaitingSection } from '../components/commands/command-waiting.tsx';
import { type Fact, Facts, Section } from '../components/facts.tsx';
import { Foreign, ForeignBlock } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { OneView } from '../components/one-view.tsx';
import { RunnerLink } from '../components/runners/runner-link.tsx';
import { StateTag } from '../components/findings/tags.tsx';
import { Ago, Time } from '../components/time.tsx';
import { jsonText, words } from '../format.ts';
import { hrefTo } from '../route.ts';

type CommandWithAttempts = ReplyOf<typeof endpoints.showCommand>;

const BACK = { href: hrefTo('commands'), label: 'Commands' };

export function CommandPage({ id }: { readonly id: string }) {
  const query = useOne(
    ['command', id],
    (signal) => request(endpoints.showCommand, { params: { id }, signal }),
    (command) => (command?.completed_at === null ? REFRESH_MS : false),
  );
  return (
    <OneView query={query} noun="command" back={BACK}>
      {(command) => <CommandView command={command} />}
    </OneView>
  );
}

function CommandView({ command }: { readonly command: CommandWithAttempts }) {
  const mayCancel = useMayChange() && isCancelable(command);
  return (
    <>
      <Heading
        title={`Command ${command.type}`}
        back={BACK}
        lead={
          <span className="tags" role="status">
            <StateTag state={command.status} />
            {command.reason === null ? null : <span>{words(command.reason)}</span>}
          </span>
        }
      >
        {mayCancel ? <CancelCommandButton command={command} /> : undefined}
      </Heading>
      {command.error_message === null ? null : (
        <Section title="What the runner said went wrong">
          <ForeignBlock text={command.error_message} />
        </Section>
      )}
      {command.status === 'pending' ? <WaitingSection id={command.id} /> : null}
      <Section title="Its way so far">
        <Facts facts={factsOf(command)} />
      </Section>
      <Section title="Attempts">
        <Attempts command={command} />
      </Section>
      <UploadsSection uploads={command.uploads} />
      <LogSection key={command.id} id={command.id} />
      <Section title="Payload">
        <Document value={command.payload} none="It carries none." />
      </Section>
      <Section title="Result">
        <Document value={command.result} none="There is none yet." />
      </Section>
    </>
  );
}

function Document({ value, none }: { readonly value: unknown; readonly none: string }) {
  if (value === null || value === undefined) return <p className="quiet">{none}</p>;
  return <ForeignBlock text={jsonText(value)} />;
}

const timeOrNull = (iso: string | null) => (iso === null ? null : <Time iso={iso} />);

function factsOf(command: Command): Fact[] {
  const { runner_id: runnerId, holder_id: holderId } = command;
  return [
    ['For', runnerId === null ? 'whichever claims it first' : <RunnerLink id={runnerId} />],
    ['Held by', holderId === null ? null : <RunnerLink id={holderId} />],
    ['Asked of the runner', targetText(command)],
    ['Priority', command.priority],
    ['Progress', progressOf(command)],
    ['Created', timeOrNull(command.created_at)],
    ['Created by', <Foreign key="by" text={command.created_by} />],
    ['Not before', timeOrNull(command.scheduled_at)],
    ['Acknowledged', timeOrNull(command.acknowledged_at)],
    ['Started', timeOrNull(command.started_at)],
    ['Asked to stop', timeOrNull(command.cancel_requested_at)],
    ['Ended', timeOrNull(command.completed_at)],
    ['Lease until', timeOrNull(command.lease_expires_at)],
    ['Expires', timeOrNull(command.expires_at)],
    ['Time allowed', `${command.timeout_seconds} s`],
    ['Attempts', `${command.attempt} of ${command.max_attempts}`],
    ['Id', <code key="id">{command.id}</code>],
  ];
}

/** "region=eu; semgrep; docker": the things that a runner must have to take the command. */
function targetText({ target }: Command): string | null {
  if (target === null) return null;
  const labels = Object.entries(target.labels).map((label) => label.join('='));
  return [...labels, ...target.tools, ...target.capabilities].join('; ');
}

function progressOf({ progress }: Command) {
  if (progress === null) return null;
  const { percent, message, at } = progress;
  return (
    <>
      {percent === undefined ? null : (
        <>
          <progress max={100} value={percent} aria-label="Progress" /> {percent} %{' '}
        </>
      )}
      {message === undefined ? null : <Foreign text={message} />} <Ago iso={at} />
    </>
  );
}

function Attempts({ command: { attempts } }: { readonly command: CommandWithAttempts }) {
  if (attempts.length === 0) return <p className="quiet">No runner has taken it yet.</p>;
  return (
    <ol className="steps">
      {attempts.map((attempt) => (
        <li key={attempt.attempt}>
          <RunnerLink id={attempt.runner_id} /> took it <Time iso={attempt.acknowledged_at} />
          {attempt.started_at === null ? null : (
            <>
              , started <Time iso={attempt.started_at} />
            </>
          )}
          {attempt.ended_at === null ? null : (
            <>
              , ended <Time iso={attempt.ended_at} />
            </>
          )}
          {attempt.outcome === null ? null : `: ${words(attempt.outcome)}`}
        </li>
      ))}
    </ol>
  );
}
