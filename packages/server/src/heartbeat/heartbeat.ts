// POST /heartbeat: takes a sign of life, keeps what the runner reports of itself, and rings the
// doorbell when work waits (contract §3, RP §4.3).

import type { HeartbeatReply } from '@muster/contract';
import type { PendingSummary } from '../commands/pending-summary.ts';
import type { RunnerCaller } from '../keys/authenticate.ts';
import { Problem } from '../lib/problem.ts';
import { decodeHeartbeat } from './heartbeat.decode.ts';
import type { MetricBook } from './metrics.ts';
import type { Pace } from './pace.ts';
import type { PresenceBook } from './presence.ts';

export interface HeartbeatDeps {
  readonly presence: PresenceBook;
  readonly pendingSummary: PendingSummary;
  readonly pace: Pace;
  readonly metrics: MetricBook;
  /** Digest of the settings that the server governs for this runner; 16 hex digits. */
  readonly configVersion: string;
}

/** `features`: the header `X-OpenCTEM-Sensor-Features`. Problems: invalid_body, unavailable. */
export async function heartbeat(
  deps: HeartbeatDeps,
  caller: RunnerCaller,
  body: unknown,
  features: string,
): Promise<HeartbeatReply> {
  const report = decodeHeartbeat(body);
  if (report === null) {
    throw new Problem('invalid_body', 'A heartbeat is a JSON object, or an empty body.', {
      pointer: '',
    });
  }
  const doorbell = features
    .toLowerCase()
    .split(/[\s,]+/)
    .includes('doorbell');
  const work = await deps.pendingSummary.workOf(caller.tenantId, caller.runnerId);
  const mayClaim = !caller.paused && caller.scopes.includes('commands');
  const waiting = work.pending > 0 && mayClaim;
  // A command that the client keeps ignoring still waits for it, but is no reason to hurry.
  const hurry = work.wanted > 0 && mayClaim;
  const advised = waiting || doorbell ? deps.pace.next(caller.runnerId, hurry) : null;
  // Only clients that announce the doorbell follow the advice (RP §4.3).
  const advisedMs = doorbell && advised !== null ? advised * 1000 : null;
  await deps.presence.beat(caller.tenantId, caller.runnerId, report, advisedMs);
  deps.metrics.sample(caller.tenantId, caller.runnerId, report);
  if (!deps.presence.healthy) {
    throw new Problem('unavailable', 'Signs of life can not be stored just now.');
  }
  const actions: NonNullable<HeartbeatReply['actions']> = [];
  if (caller.paused) actions.push(caller.draining ? 'drain' : 'pause');
  if (caller.rotateAdvised && caller.scopes.includes('renew')) actions.push('rotate_key');
  return {
    agent_id: caller.runnerId,
    tenant_id: caller.tenantId,
    status: 'ok',
    ...(waiting ? { pending_jobs: Math.min(work.pending, 100) } : {}),
    ...(advised === null ? {} : { next_heartbeat_seconds: advised }),
    ...(actions.length > 0 ? { actions } : {}),
    ...(doorbell ? { config_version: deps.configVersion } : {}),
    ...(work.cancelIds.length > 0 ? { cancel_command_ids: [...work.cancelIds] } : {}),
  };
}
