// Whether a runner is there, and how it says it is. One that is online and reports an error must
// not look well: its presence loses its colour, and what it says stands beside it.

import type { Runner } from '@muster/contract';
import { StateTag } from '../findings/tags.tsx';
import { Foreign } from '../foreign.tsx';

type Seen = Pick<Runner, 'presence' | 'health' | 'health_message'>;

/** The tags, in a row with others. */
export function RunnerState({ runner }: { readonly runner: Seen }) {
  return (
    <>
      <StateTag
        state={runner.presence}
        isQuiet={runner.presence === 'online' && isUnwell(runner)}
      />
      {isUnwell(runner) ? <StateTag state={String(runner.health)} /> : null}
    </>
  );
}

/** The message of an unwell runner, below its tags. */
export function RunnerTrouble({ runner }: { readonly runner: Seen }) {
  if (!isUnwell(runner) || runner.health_message === null) return null;
  return (
    <span className="under">
      <Foreign text={runner.health_message} />
    </span>
  );
}

const isUnwell = ({ health }: Seen): boolean => health === 'degraded' || health === 'error';
