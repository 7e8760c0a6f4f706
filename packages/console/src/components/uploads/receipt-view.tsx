// A receipt: the outcome of everything that was handed in. The outcomes are shown with their sum,
// because the receipt's promise is that they add up to the number received; rejections and warnings
// with their place in the document.

import { FINDING_OUTCOMES, type FindingOutcome, type Receipt } from '@muster/contract';
import { countText, numberText, sentence } from '../../format.ts';
import { Facts, Section } from '../facts.tsx';
import { Foreign } from '../foreign.tsx';

const MEANING: Readonly<Record<FindingOutcome, string>> = {
  created: 'not known before',
  changed: 'known, and something about them is new',
  unchanged: 'known, as before',
  reopened: 'resolved before, and here again',
  duplicate: 'twice in this report',
  not_problem: 'a passed check or a note, not a problem',
  rejected: 'could not be used, see below',
};

const FRAME_PARTS = ['assets', 'dependencies', 'relationships', 'endpoints'] as const;
const FRAME_COLUMNS = ['received', 'created', 'updated', 'duplicate', 'rejected'] as const;

export function ReceiptView({ receipt }: { readonly receipt: Receipt }) {
  const frame = FRAME_PARTS.filter((part) => receipt[part].received > 0);
  return (
    <>
      <Section title="What became of the findings">
        <table className="plain outcomes">
          <caption className="visually-hidden">Findings of this upload by outcome</caption>
          <thead>
            <tr>
              <th scope="col">Outcome</th>
              <th scope="col" className="number">
                Findings
              </th>
              <th scope="col">Meaning</th>
            </tr>
          </thead>
          <tbody>
            {FINDING_OUTCOMES.map((outcome) => (
              <tr key={outcome} className={receipt.findings[outcome] === 0 ? 'zero' : undefined}>
                <th scope="row">{sentence(outcome)}</th>
                <td className="number">{numberText(receipt.findings[outcome])}</td>
                <td className="quiet">{MEANING[outcome]}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Received</th>
              <td className="number">{numberText(receipt.findings.received)}</td>
              <td className="quiet">the sum of the above</td>
            </tr>
          </tfoot>
        </table>
        <Facts
          facts={[
            ['Resolved, no longer there', numberText(receipt.resolved)],
            ['Suppressed, of the stored ones', numberText(receipt.suppressed)],
            ['Absent, but held back', receipt.held === 0 ? null : numberText(receipt.held)],
          ]}
        />
      </Section>
      {frame.length === 0 ? null : <FrameTable receipt={receipt} parts={frame} />}
      <Places
        title={`${countText(receipt.findings.rejected + rejectedFrame(receipt), 'rejection')}`}
        places={receipt.rejections}
      />
      <Places title={countText(receipt.warnings_total, 'warning')} places={receipt.warnings} />
    </>
  );
}

const rejectedFrame = (receipt: Receipt): number =>
  FRAME_PARTS.reduce((sum, part) => sum + receipt[part].rejected, 0);

function FrameTable({
  receipt,
  parts,
}: {
  readonly receipt: Receipt;
  readonly parts: readonly (typeof FRAME_PARTS)[number][];
}) {
  return (
    <Section title="Assets and their parts">
      <div className="scroll" tabIndex={0} role="region" aria-label="Assets and their parts">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Kind</th>
              {FRAME_COLUMNS.map((column) => (
                <th scope="col" className="number" key={column}>
                  {sentence(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {parts.map((part) => (
              <tr key={part}>
                <th scope="row">{sentence(part)}</th>
                {FRAME_COLUMNS.map((column) => (
                  <td className="number" key={column}>
                    {numberText(receipt[part][column])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** The server keeps the first hundred; the title has the whole count. */
function Places({
  title,
  places,
}: {
  readonly title: string;
  readonly places: Receipt['rejections'];
}) {
  if (places.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="places">
        {places.map(({ pointer, code, detail }, index) => (
          <li key={`${index} ${pointer} ${code}`}>
            <code>{pointer === '' ? '(whole document)' : pointer}</code> <code>{code}</code>
            <br />
            <Foreign text={detail} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
