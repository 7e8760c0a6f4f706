// Severity, status and presence as small labels. Each has its word and a shape of its own: colour
// only helps.

import { type Severity, SEVERITIES } from '@muster/contract';
import { words } from '../../format.ts';
import { Mark, type Shape } from '../mark.tsx';

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

/**
 * Shape and tone of every state word on the wire. A word that isn't here is shown without a mark.
 */
const MARKS: Readonly<Record<string, readonly [shape: Shape, tone: Tone]>> = {
  // Findings.
  open: ['ring', 'busy'],
  confirmed: ['target', 'bad'],
  in_progress: ['half', 'busy'],
  resolved: ['check', 'good'],
  false_positive: ['cross', 'quiet'],
  accepted: ['pause', 'quiet'],
  duplicate: ['twins', 'quiet'],
  suppressed: ['barred', 'quiet'],
  // Runners.
  online: ['dot', 'good'],
  late: ['half', 'busy'],
  stopped: ['square', 'quiet'],
  offline: ['cross', 'bad'],
  never: ['ring', 'quiet'],
  active: ['play', 'quiet'],
  paused: ['pause', 'busy'],
  revoked: ['barred', 'bad'],
  draining: ['pause', 'busy'],
  degraded: ['half', 'busy'],
  error: ['cross', 'bad'],
  cloned: ['twins', 'bad'],
  clock_skew: ['half', 'busy'],
  // Keys.
  candidate: ['ring', 'busy'],
  superseded: ['half', 'quiet'],
  proven: ['check', 'good'],
  retired: ['square', 'quiet'],
  // Uploads and receipts.
  receiving: ['up', 'busy'],
  received: ['ring', 'busy'],
  processing: ['half', 'busy'],
  processed: ['check', 'good'],
  refused: ['barred', 'bad'],
  failed: ['cross', 'bad'],
  complete: ['check', 'good'],
  partial: ['half', 'busy'],
  // Commands.
  pending: ['ring', 'busy'],
  acknowledged: ['target', 'busy'],
  running: ['half', 'busy'],
  completed: ['check', 'good'],
  canceled: ['barred', 'quiet'],
  expired: ['cross', 'quiet'],
};

export function StateTag({
  state,
  isQuiet = false,
}: {
  readonly state: string;
  /** Without its colour: another tag beside it has the say. */
  readonly isQuiet?: boolean;
}) {
  const [shape, tone] = MARKS[state] ?? [null, 'quiet'];
  return (
    <span className={`tag tone-${isQuiet ? 'quiet' : tone}`}>
      {shape === null ? null : <Mark shape={shape} />}
      {words(state)}
    </span>
  );
}
