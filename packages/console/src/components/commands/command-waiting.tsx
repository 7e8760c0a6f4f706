// Why nobody has taken a command yet: the reasons that lie in the command itself, and for each
// runner the reasons that keep it from taking the command.

import { type CommandWaiting, endpoints } from '@muster/contract';
import { REFRESH_MS, request, useOne } from '../../api.ts';
import { Section } from '../facts.tsx';
import { Foreign } from '../foreign.tsx';
import { ProblemBox } from '../problem-box.tsx';
import { RunnerLink } from '../runners/runner-link.tsx';
import { RunnerState, RunnerTrouble } from '../runners/runner-state.tsx';

export function WaitingSection({ id }: { readonly id: string }) {
  const { data, error, refetch } = useOne(
    ['command-waiting', id],
    (signal) => request(endpoints.commandWaiting, { params: { id }, signal }),
    () => REFRESH_MS,
  );
  return (
    <Section title="Why it waits">
      {error === null ? null : (
        <ProblemBox
          error={error}
          doing="The reasons could not be read"
          onRetry={() => void refetch()}
        />
      )}
      {data === undefined ? null : <Reasons waiting={data} />}
    </Section>
  );
}

function Reasons({ waiting: { reasons, items, next } }: { readonly waiting: CommandWaiting }) {
  return (
    <>
      {reasons.map(({ code, detail }) => (
        <p key={code}>{detail}</p>
      ))}
      {items.length === 0 ? (
        <p className="quiet">There is no runner that could take it. Enrol one.</p>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label="Runners and their reasons">
          <table className="plain">
            <caption className="visually-hidden">What keeps each runner from taking it</caption>
            <thead>
              <tr>
                <th scope="col">Runner</th>
                <th scope="col">Presence</th>
                <th scope="col">Takes it?</th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr key={item.runner_id}>
                  <th scope="row">
                    <RunnerLink id={item.runner_id} />
                  </th>
                  <td>
                    <span className="tags">
                      <RunnerState runner={item} />
                    </span>
                    <RunnerTrouble runner={item} />
                  </td>
                  <td>
                    {item.can_take ? 'With its next poll' : null}
                    {item.reasons.map((reason) => (
                      <p key={reason.code}>
                        <Foreign text={reason.detail} />
                      </p>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next === null ? null : (
        <p className="quiet">Only the newest {items.length} runners are shown.</p>
      )}
    </>
  );
}
