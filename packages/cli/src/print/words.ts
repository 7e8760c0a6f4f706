// The colour of each closed word: red needs somebody now, yellow may need somebody soon, green is
// well.

import type {
  CommandStatus,
  FindingStatus,
  Presence,
  Runner,
  Severity,
  UploadState,
} from '@muster/contract';
import type { Style } from './printer.ts';

const SEVERITY: Readonly<Record<Severity, Style>> = {
  critical: ['red', 'bold'],
  high: 'red',
  medium: 'yellow',
  low: 'blue',
  info: 'dim',
};
const PRESENCE: Readonly<Record<Presence, Style>> = {
  online: 'green',
  late: 'yellow',
  offline: 'red',
  stopped: 'dim',
  never: 'dim',
};
const COMMAND: Readonly<Record<CommandStatus, Style>> = {
  pending: 'yellow',
  acknowledged: 'cyan',
  running: 'cyan',
  completed: 'green',
  failed: 'red',
  canceled: 'dim',
  expired: 'red',
};
const UPLOAD: Readonly<Record<UploadState, Style>> = {
  receiving: 'cyan',
  received: 'cyan',
  processing: 'cyan',
  processed: 'green',
  refused: 'red',
  failed: 'red',
};
const FINDING: Readonly<Record<FindingStatus, Style>> = {
  open: 'yellow',
  confirmed: 'red',
  in_progress: 'cyan',
  resolved: 'green',
  false_positive: 'dim',
  accepted: 'dim',
  duplicate: 'dim',
  suppressed: 'dim',
};

/** A word that a newer server knows and this program doesn't is printed without a colour. */
const styleOf =
  <W extends string>(styles: Readonly<Record<W, Style>>) =>
  (word: W): Style =>
    Object.hasOwn(styles, word) ? styles[word] : 'reset';

export const severityStyle = styleOf(SEVERITY);
/** A runner that is there but says that it isn't well doesn't look well. */
export const presenceStyle = ({ presence, health }: Pick<Runner, 'presence' | 'health'>): Style =>
  presence === 'online' ? healthStyle(health) : styleOf(PRESENCE)(presence);
/** Green where nothing else is said. */
export const healthStyle = (health: Runner['health']): Style =>
  health === 'error' ? 'red' : health === 'degraded' ? 'yellow' : 'green';
export const commandStyle = styleOf(COMMAND);
export const uploadStyle = styleOf(UPLOAD);
export const findingStyle = styleOf(FINDING);
