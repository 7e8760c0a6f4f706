// Severity, status and presence as small labels. Each says its word and has a shape of its own: colour only helps.

import { type Severity, SEVERITIES } from '@muster/contract';
import { words } from '../format.ts';

const BARS = SEVERITIES.length;
const BAR_WIDTH = 3;
const BAR_STEP = 4;
const BAR_HEIGHT = 12;

/** A meter of rising bars, all of them filled for `critical`, one for `info`. */
export function SeverityTag({ severity }: { readonly severity: Severity }) {
  const level = BARS - SEVERITIES.indexOf(severity);
  return (
    <span className={`tag severity-${severity}`}>
      <svg
        className="meter"
        viewBox={`0 0 ${BARS * BAR_STEP - 1} ${BAR_HEIGHT}`}
        aria-hidden="true"
      >
        {SEVERITIES.map((name, index) => {
          const height = ((index + 1) / BARS) * BAR_HEIGHT;
          return (
            <rect
              key={name}
              className={index < level ? undefined : 'unlit'}
              x={index * BAR_STEP}
              y={BAR_HEIGHT - height}
              width={BAR_WIDTH}
              height={height}
            />
          );
        })}
      </svg>
      {severity}
    </span>
  );
}

type Tone = 'good' | 'busy' | 'bad' | 'quiet';

/** Shape and tone of every state word on the wire. What isn't here is shown without a mark. */
const MARKS: Readonly<Record<string, readonly [mark: string, tone: Tone]>> = {
  // Findings.
  open: ['○', 'busy'],
  confirmed: ['◉', 'bad'],
  in_progress: ['◐', 'busy'],
  resolved: ['✓', 'good'],
  false_positive: ['✕', 'quiet'],
  accepted: ['⏸', 'quiet'],
  duplicate: ['⧉', 'quiet'],
  suppressed: ['⊘', 'quiet'],
  // Runners.
  online: ['●', 'good'],
  late: ['◐', 'busy'],
  stopped: ['■', 'quiet'],
  offline: ['✕', 'bad'],
  never: ['○', 'quiet'],
  active: ['▶', 'quiet'],
  paused: ['⏸', 'busy'],
  revoked: ['⊘', 'bad'],
  // Uploads and receipts.
  receiving: ['↑', 'busy'],
  received: ['…', 'busy'],
  processing: ['◐', 'busy'],
  processed: ['✓', 'good'],
  refused: ['⊘', 'bad'],
  failed: ['✕', 'bad'],
  complete: ['✓', 'good'],
  partial: ['◐', 'busy'],
  // Commands.
  pending: ['○', 'busy'],
  acknowledged: ['◔', 'busy'],
  running: ['◐', 'busy'],
  completed: ['✓', 'good'],
  canceled: ['⊘', 'quiet'],
  expired: ['✕', 'quiet'],
};

export function StateTag({ state }: { readonly state: string }) {
  const [mark, tone] = MARKS[state] ?? ['', 'quiet'];
  return (
    <span className={`tag tone-${tone}`}>
      {mark === '' ? null : <span aria-hidden="true">{mark}</span>}
      {words(state)}
    </span>
  );
}
