// Places and code flows of a finding, as the tool named them. Texts of the tool are shown, never
// followed unless they are web addresses.

import type { Flow, Place } from '../../detail.ts';
import { Section } from '../facts.tsx';
import { Foreign, ForeignBlock, ForeignLink } from '../foreign.tsx';

export function Places({
  title,
  places,
}: {
  readonly title: string;
  readonly places: readonly Place[];
}) {
  if (places.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="places">
        {places.map((place, index) => (
          <li key={`${index} ${place.where}`}>
            <PlaceView place={place} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Flows({ flows }: { readonly flows: readonly Flow[] }) {
  if (flows.length === 0) return null;
  return (
    <Section title={flows.length === 1 ? 'Code flow' : 'Code flows'}>
      {flows.map((flow, index) => (
        <details key={`${index} ${flow.message}`} open={index === 0}>
          <summary>
            {flow.message === null ? `Flow ${index + 1}` : <Foreign text={flow.message} />}
            {`, ${flow.steps.length} steps`}
          </summary>
          <ol className="steps">
            {flow.steps.map((step, position) => (
              <li key={`${position} ${step.where}`}>
                <PlaceView place={step} />
              </li>
            ))}
          </ol>
        </details>
      ))}
    </Section>
  );
}

function PlaceView({
  place: { where, url, logical, message, snippet },
}: {
  readonly place: Place;
}) {
  return (
    <>
      {where === null ? null : (
        <code>
          <Foreign text={where} />
        </code>
      )}
      {url === null ? null : <ForeignLink address={url} />}
      {logical === null ? null : (
        <span className="quiet">
          {' in '}
          <Foreign text={logical} />
        </span>
      )}
      {message === null ? null : (
        <p>
          <Foreign text={message} />
        </p>
      )}
      {snippet === null ? null : <ForeignBlock text={snippet} />}
    </>
  );
}
