// What a tool says beside what its format has a member for, as it says it: of the finding, and of
// what is below it.

import type { Detail } from '../../detail.ts';
import { Section } from '../facts.tsx';
import { Foreign, ForeignBlock } from '../foreign.tsx';

export function PropertyBags({ bags }: { readonly bags: Detail['bags'] }) {
  if (bags.length === 0) return null;
  return (
    <Section title="What else the tool says">
      {bags.map(({ where, text }, index) => (
        <details key={`${index} ${where}`} open={index === 0}>
          <summary>
            {where === null ? (
              'Of the finding'
            ) : (
              <code>
                <Foreign text={where} />
              </code>
            )}
          </summary>
          <ForeignBlock text={text} />
        </details>
      ))}
    </Section>
  );
}
