// On which branches the findings of a list are: the default ones, all of them, or one by its name.
// In the address `on` says which of these; the name stands in `branch`.

import { useId } from 'react';
import { goTo } from '../../route.ts';
import { type FilterProps, TextFilter } from '../filters.tsx';

const CHOICES = [
  ['', 'Default branches'],
  ['all', 'All branches'],
  ['one', 'One branch'],
] as const;

type BranchChoice = (typeof CHOICES)[number][0];

/** A name alone is one branch, too: somebody may have typed the address. */
export function branchChoice(filters: URLSearchParams): BranchChoice {
  if (filters.has('branch')) return 'one';
  const [choice = ''] = CHOICES.find(([value]) => value === filters.get('on')) ?? [];
  return choice;
}

export function BranchFilter({ page, filters }: Pick<FilterProps, 'page' | 'filters'>) {
  const id = useId();
  const choice = branchChoice(filters);
  const choose = (on: string): void => {
    const { branch: _name, ...others } = Object.fromEntries(filters);
    goTo(page, null, { ...others, on });
  };
  return (
    <>
      <div className="field">
        <label htmlFor={id}>Branches</label>
        <select id={id} value={choice} onChange={(event) => choose(event.target.value)}>
          {CHOICES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {choice === 'one' ? (
        <TextFilter page={page} filters={filters} name="branch" label="Name of the branch" />
      ) : null}
    </>
  );
}
