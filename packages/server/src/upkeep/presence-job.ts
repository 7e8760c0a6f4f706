// The round of liveness: writes what was heard, renews leases by it, and then looks for silence.
// The order matters: a lease is judged lost only after the signs of life that would renew it were
// written. Called by app.ts.

import { limits } from '@muster/contract';
import { type CommandsDeps } from '../commands/commands.ts';
import { renewLeasesOf, sweepCommands } from '../commands/leases.ts';
import type { MetricBook } from '../heartbeat/metrics.ts';
import type { PresenceBook } from '../heartbeat/presence.ts';
import type { Authenticator } from '../keys/authenticate.ts';
import type { Job } from './upkeep.ts';

/** The counters of a round. */
interface RoundMetrics {
  readonly presenceFlushed: (
    wasWritten: boolean,
    runners: number,
    rowWrites: ReturnType<PresenceBook['takeRowWrites']>,
  ) => void;
  readonly commandsSwept: (lost: number, expired: number) => void;
}

interface PresenceJobDeps {
  readonly presence: PresenceBook;
  readonly series: MetricBook;
  readonly authenticator: Pick<Authenticator, 'takeLastUsed'>;
  readonly commands: CommandsDeps;
  readonly metrics: RoundMetrics;
}

/** Every limits.presenceFlushMs: flush, renew, watch, sweep. */
export function presenceJob(deps: PresenceJobDeps): Job {
  return { name: 'presence', everyMs: limits.presenceFlushMs, run: () => round(deps) };
}

async function round(deps: PresenceJobDeps): Promise<void> {
  const { presence, series, authenticator, commands, metrics } = deps;
  const heardUntilMs = commands.clock.nowMs();
  try {
    const signs = await presence.flush(authenticator.takeLastUsed());
    metrics.presenceFlushed(true, signs.length, presence.takeRowWrites());
    await renewLeasesOf(commands, signs);
  } catch (error) {
    metrics.presenceFlushed(false, 0, presence.takeRowWrites());
    throw error;
  }
  await presence.watch();
  await series.flush();
  const { lost, expired } = await sweepCommands(commands, presence.listeningSinceMs, heardUntilMs);
  metrics.commandsSwept(lost, expired);
}
