// How the runs of an upload's report went, as the report says: the first runs, each with what the
// report says of it.

import type { Upload } from '@muster/contract';
import { countText, durationText, numberText } from '../../format.ts';
import { type Fact, Facts, Section } from '../facts.tsx';
import { Foreign } from '../foreign.tsx';
import { Time } from '../time.tsx';

type Run = NonNullable<Upload['runs']>[number];

/** `runs` is null for an upload that ended before its report said anything of them. */
export function ReportRuns({ runs, total }: { runs: Upload['runs']; total: number | null }) {
  if (runs === null) {
    return (
      <Section title="Runs of the report">
        <p className="quiet">The report could not be read far enough to tell of its runs.</p>
      </Section>
    );
  }
  const count = total ?? runs.length;
  if (count === 0) {
    return (
      <Section title="Runs of the report">
        <p className="quiet">The report has no runs.</p>
      </Section>
    );
  }
  return (
    <Section title={`${countText(count, 'run')} of the report`}>
      {runs.map((run, index) => (
        <details key={`${index} ${run.automation_guid}`} open={index === 0}>
          <summary>
            <Foreign text={nameOf(run)} />
            {endOf(run)}
          </summary>
          <Facts facts={factsOf(run)} />
        </details>
      ))}
      {count > runs.length ? (
        <p className="quiet">{`The first ${numberText(runs.length)} are shown.`}</p>
      ) : null}
    </Section>
  );
}

const nameOf = ({ tool, tool_version: version }: Run): string =>
  version === null ? tool : `${tool} ${version}`;

function endOf({ succeeded, exit_code: code }: Run): string {
  const parts = [
    succeeded === null ? null : succeeded ? 'did well' : 'failed',
    code === null ? null : `exit code ${code}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}

function factsOf(run: Run): Fact[] {
  const foreign = (text: string | null) => (text === null ? null : <Foreign text={text} />);
  const time = (iso: string | null) => (iso === null ? null : <Time iso={iso} />);
  return [
    ['Name', foreign(run.automation_id)],
    ['GUID', foreign(run.automation_guid)],
    ['Correlation', foreign(run.correlation_guid)],
    ['Source', foreign(run.source_type)],
    ['Coverage', foreign(run.coverage)],
    ['Scope', foreign(scopeText(run.scope))],
    ['Invocations', run.invocations === 0 ? null : numberText(run.invocations)],
    ['Started', time(run.started_at)],
    ['Ended', time(run.ended_at)],
    ['Took', run.duration_ms === null ? null : durationText(run.duration_ms)],
    ['Exit code', run.exit_code === null ? null : String(run.exit_code)],
    ['Signal', foreign(run.exit_signal)],
    ['The tool says', run.succeeded === null ? null : run.succeeded ? 'did well' : 'failed'],
  ];
}

function scopeText(scope: Run['scope']): string | null {
  if (scope === null) return null;
  const { type, name, includes, excludes } = scope;
  const named = [type, name].filter((part) => part !== null).join(' ');
  const parts = [
    named === '' ? null : named,
    includes === 0 ? null : `${numberText(includes)} included`,
    excludes === 0 ? null : `${numberText(excludes)} excluded`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}
