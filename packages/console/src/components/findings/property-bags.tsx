// The properties that a tool gives beside the members of its format, unchanged: those of the
// finding, and those of the objects below it.

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
