// The reports that were handed in for a command, each with its outcome. An upload without a receipt
// yet says so.

import { type CommandUpload, FINDING_OUTCOMES } from '@muster/contract';
import { countText, numberText, words } from '../../format.ts';
import { hrefTo } from '../../route.ts';
import { Section } from '../facts.tsx';
import { Foreign } from '../foreign.tsx';
import { StateTag } from '../findings/tags.tsx';
import { Time } from '../time.tsx';

export function UploadsSection({ uploads }: { readonly uploads: readonly CommandUpload[] }) {
  return (
    <Section title={uploads.length === 1 ? 'Its report' : 'Its reports'}>
      {uploads.length === 0 ? (
        <p className="quiet">None was handed in for it.</p>
      ) : (
        <ul className="places">
          {uploads.map((upload) => (
            <li key={upload.id}>
              <a href={hrefTo('uploads', upload.id)}>
                {upload.tool === null ? 'Report' : <Foreign text={upload.tool} />}
              </a>
              , <Time iso={upload.received_at} />{' '}
              <StateTag state={upload.receipt?.outcome ?? upload.state} />
              <br />
              <span className="quiet">{summaryOf(upload)}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** "12 findings: 3 created, 9 unchanged; 2 resolved". */
function summaryOf({ receipt }: CommandUpload): string {
  if (receipt === null) return 'Its receipt is not there yet.';
  const { findings, resolved, held } = receipt;
  const parts = FINDING_OUTCOMES.filter((outcome) => findings[outcome] > 0).map(
    (outcome) => `${numberText(findings[outcome])} ${words(outcome)}`,
  );
  const received = countText(findings.received, 'finding');
  const outcomes = parts.length === 0 ? received : `${received}: ${parts.join(', ')}`;
  const absent = [
    ...(resolved === 0 ? [] : [`${numberText(resolved)} resolved`]),
    ...(held === 0 ? [] : [`${numberText(held)} absent, but held back`]),
  ];
  return [outcomes, ...absent].join('; ');
}
