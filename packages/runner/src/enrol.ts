// Enrolment: turns a token into a runner and its key, once for a state folder. The id of the
// enrolment is on disk before the call, so that the next try finds the same runner, whatever was
// lost on the way, instead of making a second one.

import { call, endpoints } from '@muster/contract';
import { hostName } from './lib/machine.ts';
import { retrying, type RetryOptions } from './retry.ts';
import { State } from './state.ts';

export interface EnrolOptions {
  readonly baseUrl: string;
  /** An enrolment token, `mst_enr_…`. */
  readonly token: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The folder that keeps the key; give the same one to `startRunner`. */
  readonly stateDirectory: string;
  readonly fetch?: typeof fetch;
  readonly retry?: RetryOptions;
}

/**
 * Resolves when the folder has a key: at once when it has one already, and the token is not used
 * then. Rejects with ApiError when the token is refused. May be repeated after any failure.
 */
export async function enrol(options: EnrolOptions): Promise<void> {
  const { baseUrl, token, name, labels, fetch } = options;
  const state = await State.open(options.stateDirectory);
  if ((await state.key()) !== null) return;
  const enrolment = {
    name,
    hostname: hostName(),
    enrollment_id: await state.enrollmentId(),
    ...(labels === undefined ? {} : { labels }),
  };
  const client = { baseUrl, key: token, ...(fetch === undefined ? {} : { fetch }) };
  const enroll = () => call(endpoints.enroll, { body: enrolment }, client);
  const { body } = await retrying(enroll, options.retry);
  await state.saveKey(body.api_key);
}
