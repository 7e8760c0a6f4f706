// The behaviour of deployed agents, call by call, from the description in the protocol reference
// (RP §4 to §5, §10 to §12): K1 is the SDK up to 0.5, K2 the one from 0.6 on, which falls back to
// version 1. They repeat verbatim every call that got no answer, without any key that would make
// the repeat known.

import assert from 'node:assert/strict';
import { type Answer, type Fields, fieldsOf, listOf, send } from './wire.ts';

const AGENT = '/api/v1/agent';
/** RP §11.2: after the first try up to three more. K2's jitter changes nothing here. */
const WAITS_MS = [2000, 4000, 8000];
/** RP §10: a renewal is not repeated by itself; the next attempt comes after this time. */
const RENEW_AGAIN_MS = 30_000;
/** RP §5.6: the types that A1 executes; all others are skipped silently. */
const ALLOWED = new Set(['scan', 'collect', 'health_check', 'validate']);

export interface ClientPorts {
  readonly url: string;
  readonly key: string;
  /** Lets time pass for the server, too. */
  readonly pause: (ms: number) => Promise<void>;
  /**
   * The result of a scan: the report that is pushed; or a string: the scan fails with this message.
   */
  readonly execute: (command: Fields) => Fields | string;
}

/** The part that both eras share: the main client with its one retry loop. */
class Client {
  protected key: string;
  protected readonly ports: ClientPorts;
  /** Ids of commands in the order in which they were executed. */
  readonly executed: string[] = [];
  /** The final answer to each call: `acknowledge 200 acknowledged`. */
  readonly story: string[] = [];

  constructor(ports: ClientPorts) {
    this.ports = ports;
    this.key = ports.key;
  }

  protected async call(
    method: string,
    path: string,
    body?: Fields,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const sending = {
      method,
      path: AGENT + path,
      key: this.key,
      headers: { 'content-type': 'application/json', 'user-agent': 'sdk/1.0', ...headers },
      body: body ?? (method === 'GET' ? undefined : ''),
    };
    for (const wait of [...WAITS_MS, null]) {
      const answer = await sendOver(this.ports.url, sending);
      const isDone = answer !== null && answer.status < 500 && answer.status !== 429;
      if (isDone) {
        // RP §11.1: both mean that the key is lost; the process ends, or its poller does.
        assert.ok(![401, 403].includes(answer.status), `locked out: ${method} ${path}`);
        return answer;
      }
      if (wait === null) break;
      await this.ports.pause(wait);
    }
    throw new Error(`gave up: ${method} ${path}`);
  }

  /** True for any 2xx: only the status is looked at (RP §1.1). */
  protected async move(id: unknown, verb: string, body?: Fields): Promise<boolean> {
    const answer = await this.call('POST', `/commands/${String(id)}/${verb}`, body);
    const { status, code } = fieldsOf(answer);
    this.story.push(`${verb} ${answer.status} ${String(answer.status < 300 ? status : code)}`);
    return answer.status < 300;
  }

  /** The offers that the client would execute. */
  protected async poll(limit: number): Promise<Fields[]> {
    const answer = await this.call('GET', `/commands?limit=${limit}`);
    assert.equal(answer.status, 200);
    return listOf(answer).filter(({ type }) => ALLOWED.has(String(type)));
  }

  /** Pushes before it completes; a push that fails becomes the failure of the command (RP §5.7). */
  protected async execute(command: Fields, headers: Record<string, string> = {}): Promise<void> {
    const id = String(command['id']);
    this.executed.push(id);
    const found = this.ports.execute(command);
    if (typeof found === 'string') {
      await this.move(id, 'fail', { error_message: found });
      return;
    }
    const pushed = await this.call('POST', '/ingest', found, headers);
    assert.equal(pushed.status, 201, pushed.text);
    const count = (found['findings'] as unknown[]).length;
    await this.move(id, 'complete', { result: resultOf(count) });
  }

  async goodbye(): Promise<void> {
    await this.call('POST', '/heartbeat', { name: 'agent-x', status: 'stopped' });
  }
}

/** RP §5.8. */
const resultOf = (findings: number): Fields => ({
  status: 'completed',
  completed_at: '2026-11-20T08:00:00Z',
  duration_ms: 12,
  exit_code: 0,
  findings_count: findings,
  metadata: { scanner_name: 'semgrep', scanner_version: '1.0' },
});

/** The answer; null where the line swallowed it. Any other fault is a fault of the test itself. */
async function sendOver(url: string, sending: Parameters<typeof send>[1]): Promise<Answer | null> {
  try {
    return await send(url, { ...sending, alone: true });
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'ECONNRESET' || code === 'EPIPE') return null;
    throw error;
  }
}

/**
 * Up to SDK 0.5: acknowledges everything it was offered, then works. The oldest never call `start`.
 */
export class K1 extends Client {
  readonly #starts: boolean;

  constructor(ports: ClientPorts, starts: boolean) {
    super(ports);
    this.#starts = starts;
  }

  async probe(): Promise<void> {
    const body = { name: 'connection-test', status: 'running', message: 'connection test' };
    assert.equal((await this.call('POST', '/heartbeat', body)).status, 200);
  }

  async beat(): Promise<void> {
    const body = { name: 'agent-x', status: 'running', scanners: ['semgrep'], total_scans: 1 };
    assert.equal((await this.call('POST', '/heartbeat', body)).status, 200);
  }

  /** One turn of its loop. */
  async turn(): Promise<void> {
    const claimed: Fields[] = [];
    for (const offer of await this.poll(10)) {
      if (await this.move(offer['id'], 'acknowledge')) claimed.push(offer);
    }
    for (const command of claimed) {
      // Best effort: the client executes even if this fails (RP §5.6).
      if (this.#starts) await this.move(command['id'], 'start');
      await this.execute(command);
    }
  }
}

/**
 * From SDK 0.6: asks for version 2 first, renews to learn its key's expiry, polls on the doorbell,
 * heeds cancels.
 */
export class K2 extends Client {
  readonly #slots: number;
  #running: string[] = [];

  constructor(ports: ClientPorts, slots: number) {
    super(ports);
    this.#slots = slots;
  }

  async hello(): Promise<void> {
    const sending = { path: '/api/v2/sensor/hello', key: this.key };
    let answer: Answer | null = null;
    while (answer === null) answer = await sendOver(this.ports.url, sending);
    assert.equal(answer.status, 404);
    assert.doesNotMatch(answer.headers['content-type'] ?? '', /problem/, 'that would be a refusal');
  }

  /** The expiry of the key is unknown, so the client renews at once. Only 200 is a success. */
  async renew(): Promise<void> {
    const sending = {
      method: 'POST',
      path: `${AGENT}/renew`,
      key: this.key,
      headers: { 'content-length': '0' },
    };
    while (true) {
      const answer = await sendOver(this.ports.url, sending);
      if (answer?.status === 200) {
        this.key = String(fieldsOf(answer)['api_key']);
        return;
      }
      assert.equal(answer, null, `renew: ${answer?.status}`);
      await this.ports.pause(RENEW_AGAIN_MS);
    }
  }

  /** Sends a heartbeat. Returns the hints of the answer. */
  async beat(): Promise<Fields> {
    const free = this.#slots - this.#running.length;
    const body = {
      name: 'agent-x',
      status: 'running',
      version: '0.12',
      max_concurrent_jobs: this.#slots,
      capacity: { slots_total: this.#slots, slots_free: free, active_jobs: this.#running.length },
      queue: { claimed: 0, running: this.#running.length, queued_local: 0, oldest_age_seconds: 0 },
      running: this.#running,
      instance_id: '0123456789abcdef0123456789abcdef',
    };
    const headers = { 'x-openctem-sensor-features': 'doorbell, results-v2' };
    const answer = await this.call('POST', '/heartbeat', body, headers);
    assert.equal(answer.status, 200);
    return fieldsOf(answer);
  }

  /** Polls for as many commands as there are free slots, and claims them. */
  async claim(): Promise<Fields[]> {
    const claimed: Fields[] = [];
    for (const offer of await this.poll(this.#slots - this.#running.length)) {
      if (await this.move(offer['id'], 'acknowledge')) claimed.push(offer);
    }
    return claimed;
  }

  /**
   * RP §5.6: a command that the client may not start is not executed. `during`: the events while
   * the command runs.
   */
  async work(command: Fields, during: () => Promise<void> = async () => {}): Promise<void> {
    const id = String(command['id']);
    if (!(await this.move(id, 'start'))) return;
    this.#running = [...this.#running, id];
    await during();
    const hints = await this.beat();
    const canceled = (hints['cancel_command_ids'] ?? []) as string[];
    if (canceled.includes(id)) await this.move(id, 'fail', { error_message: 'canceled' });
    else await this.execute(command, { 'x-openctem-command-id': id });
    this.#running = this.#running.filter((other) => other !== id);
  }

  async release(command: Fields): Promise<void> {
    await this.move(command['id'], 'release');
  }
}
