// The filters of a list. They live in the address (route.ts): a choice goes there, and the list
// follows.

import { type FormEvent, type ReactNode, useId } from 'react';
import { textIn } from '../form-text.ts';
import { sentence } from '../format.ts';
import { goTo, type PageName } from '../route.ts';
import { Mark } from './mark.tsx';

export interface FilterProps {
  readonly page: PageName;
  readonly filters: URLSearchParams;
  /** The name in the address and in the API. */
  readonly name: string;
  readonly label: string;
}

export function FilterBar({ children }: { readonly children: ReactNode }) {
  return (
    <div role="search" aria-label="Filters" className="filters">
      {children}
    </div>
  );
}

/** One of a few words, or what stands first. */
export function ChoiceFilter({
  options,
  first = 'All',
  ...filter
}: FilterProps & { readonly options: readonly string[]; readonly first?: string }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{filter.label}</label>
      <select
        id={id}
        value={filter.filters.get(filter.name) ?? ''}
        onChange={(event) => setFilter(filter, event.target.value)}
      >
        <option value="">{first}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {sentence(option)}
          </option>
        ))}
      </select>
    </div>
  );
}

/**
 * A text; takes effect with Enter or on leaving the field, so that not every key press asks the
 * server.
 */
export function TextFilter(filter: FilterProps) {
  const id = useId();
  const value = filter.filters.get(filter.name) ?? '';
  const apply = (text: string): void => {
    if (text.trim() !== value) setFilter(filter, text.trim());
  };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    apply(textIn(new FormData(event.currentTarget), filter.name));
  };
  return (
    <form className="field" onSubmit={submit}>
      <label htmlFor={id}>{filter.label}</label>
      <input
        key={value}
        id={id}
        name={filter.name}
        type="search"
        defaultValue={value}
        onBlur={(event) => apply(event.target.value)}
      />
    </form>
  );
}

/** A filter that came with a link ("uploads of this runner"): shown, and can be taken away. */
export function PinnedFilter({
  children,
  ...filter
}: FilterProps & { readonly children: ReactNode }) {
  if (!filter.filters.has(filter.name)) return null;
  return (
    <div className="field">
      <span className="field-label">{filter.label}</span>
      <span className="pinned">
        {children}
        <button
          type="button"
          aria-label={`Remove the filter ${filter.label}`}
          onClick={() => setFilter(filter, '')}
        >
          <Mark shape="cross" />
        </button>
      </span>
    </div>
  );
}

function setFilter({ page, filters, name }: FilterProps, value: string): void {
  goTo(page, null, { ...Object.fromEntries(filters), [name]: value });
}
