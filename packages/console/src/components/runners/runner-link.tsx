// A runner by its name, in lists that carry only its id. The id stands there until the name is
// known.

import { useRunnerNames } from '../../api.ts';
import { shortId } from '../../format.ts';
import { hrefTo } from '../../route.ts';
import { Foreign } from '../foreign.tsx';

export function RunnerLink({ id }: { readonly id: string }) {
  const name = useRunnerNames().get(id);
  return (
    <a href={hrefTo('fleet', id)} title={id}>
      <Foreign text={name ?? shortId(id)} />
    </a>
  );
}
