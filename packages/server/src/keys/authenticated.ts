// The gate of the HTTP layer: authenticates the caller, and reports the sign of life that every
// authenticated call of a runner is.

import { limits } from '@muster/contract';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import { TokenBuckets } from '../lib/token-bucket.ts';
import type { Authenticator, Caller } from './authenticate.ts';
import type { KeyKind } from './key.format.ts';

/**
 * Notes that a runner is alive. `isCi`: the runner's key takes no commands, so it belongs to a
 * pipeline.
 */
interface SignsOfLife {
  seen(tenantId: TenantId, runnerId: RunnerId, isCi: boolean): Promise<void>;
}

export class CallerGate {
  readonly failures = new TokenBuckets(limits.authFailureBurst, limits.authFailureEveryMs);
  readonly #authenticator: Authenticator;
  readonly #signs: SignsOfLife;
  readonly #clock: Clock;

  constructor(authenticator: Authenticator, signs: SignsOfLife, clock: Clock) {
    this.#authenticator = authenticator;
    this.#signs = signs;
    this.#clock = clock;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  async authenticate(key: string, kind: KeyKind, from: string): Promise<Caller | null> {
    return await this.#authenticator.authenticate(key, kind, from);
  }

  outOfScope(caller: Caller, from: string): void {
    this.#authenticator.outOfScope(caller.keyId, from);
  }

  async seen(caller: Caller): Promise<void> {
    if (caller.kind !== 'runner') return;
    // A key that may not take commands belongs to a pipeline: when it falls silent, its job is
    // done.
    const isCi = !caller.scopes.includes('commands');
    await this.#signs.seen(caller.tenantId, caller.runnerId, isCi);
  }
}
