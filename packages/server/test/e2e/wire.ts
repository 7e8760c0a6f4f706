// The calls of the end-to-end tests to a server over HTTP, as a runner and as an operator, and the
// rules that every receipt must keep.

import assert from 'node:assert/strict';
import { request, type ClientRequest } from 'node:http';
import {
  ApiError,
  call,
  endpoints,
  FINDING_OUTCOMES,
  type Finding,
  type Receipt,
  type Upload,
} from '@muster/contract';
import { eventually } from '../harness.ts';

export type Format = 'sarif' | 'ctis';
export type Query = Readonly<Record<string, string>>;

/** Who calls which server. */
export interface Party {
  readonly url: string;
  readonly key: string;
}

export interface Sent {
  readonly status: number;
  readonly receipt: Receipt | null;
  /** The problem document of a refusal. */
  readonly problem: Readonly<Record<string, unknown>> | null;
  /** The job of an upload that was accepted but not finished yet. */
  readonly jobId: string | null;
  readonly isReplay: boolean;
}

/** Hands in a report: an object, or the text of a document as it is. */
export async function send(
  party: Party,
  format: Format,
  document: unknown,
  query: Query = {},
  headers: Query = {},
): Promise<Sent> {
  const endpoint = format === 'sarif' ? endpoints.ingestSarif : endpoints.ingestCtis;
  const raw = typeof document === 'string' ? document : JSON.stringify(document);
  const options = { baseUrl: party.url, key: party.key };
  try {
    const { status, body, headers: got } = await call(endpoint, { raw, query, headers }, options);
    const isReplay = got.get('idempotent-replayed') === 'true';
    return status === 201
      ? { status, receipt: body as Receipt, problem: null, jobId: null, isReplay }
      : {
          status,
          receipt: null,
          problem: null,
          jobId: (body as { job_id: string }).job_id,
          isReplay,
        };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, problem } = error;
    return { status, receipt: null, problem, jobId: null, isReplay: false };
  }
}

/**
 * Hands the same report in once more, and waits for a receipt of its own. For a moment after the
 * first answer the server can't know yet that it arrived, and gives the first answer again
 * (contract §2, Repeats).
 */
export async function sendAgain(
  party: Party,
  format: Format,
  document: unknown,
  query: Query = {},
): Promise<Sent> {
  return await eventually(async () => {
    const sent = await send(party, format, document, query);
    return sent.isReplay ? null : sent;
  });
}

/** The receipt of an upload that must be accepted. */
export function receiptOf(sent: Sent): Receipt {
  assert.equal(sent.status, 201, JSON.stringify(sent.problem));
  const { receipt } = sent;
  assert.ok(receipt !== null);
  assertAddsUp(receipt);
  return receipt;
}

/** Contract §5: the seven outcomes add up to what was received, and so do the other lists. */
export function assertAddsUp(receipt: Receipt): void {
  const { findings } = receipt;
  const sum = FINDING_OUTCOMES.reduce((total, outcome) => total + findings[outcome], 0);
  assert.equal(sum, findings.received, JSON.stringify(findings));
  for (const list of [
    receipt.assets,
    receipt.dependencies,
    receipt.relationships,
    receipt.endpoints,
  ]) {
    const parts = list.created + list.updated + list.duplicate + list.rejected;
    assert.equal(parts, list.received, JSON.stringify(list));
  }
  assert.equal(receipt.findings_created, findings.created);
  assert.equal(
    receipt.findings_updated + receipt.findings_skipped + findings.created,
    findings.received,
  );
}

export async function jobOf(party: Party, id: string) {
  const input = { params: { id } };
  const { body } = await call(endpoints.uploadJob, input, { baseUrl: party.url, key: party.key });
  return body;
}

/** The receipt of an accepted upload, once it is there. */
export async function finished(party: Party, id: string): Promise<Receipt> {
  const job = await eventually(async () => {
    const now = await jobOf(party, id);
    return now.status === 'completed' || now.status === 'failed' ? now : null;
  });
  assert.equal(job.status, 'completed', JSON.stringify(job.error));
  const receipt = job.result as Receipt;
  assertAddsUp(receipt);
  return receipt;
}

/** All findings, page by page. */
export async function allFindings(operator: Party): Promise<Finding[]> {
  const options = { baseUrl: operator.url, key: operator.key };
  const findings: Finding[] = [];
  let after: string | null = null;
  do {
    const query: { limit: string; after?: string } = { limit: '250' };
    if (after !== null) query.after = after;
    const { body } = await call(endpoints.listFindings, { query }, options);
    const page = body as { items: Finding[]; next: string | null };
    findings.push(...page.items);
    after = page.next;
  } while (after !== null);
  return findings;
}

export async function allUploads(operator: Party): Promise<Upload[]> {
  const options = { baseUrl: operator.url, key: operator.key };
  const { body } = await call(endpoints.listUploads, { query: { limit: '250' } }, options);
  return (body as { items: Upload[] }).items;
}

export interface HalfSent {
  readonly request: ClientRequest;
  /** Sends the rest and resolves with the status and the body of the answer. */
  finish(): Promise<{ status: number; body: unknown }>;
}

/** Begins an upload and stops in the middle of its body, once the server is seen receiving it. */
export async function sendHalf(
  runner: Party,
  operator: Party,
  document: unknown,
  path = '/api/v1/agent/ingest/sarif',
): Promise<HalfSent> {
  const bytes = Buffer.from(JSON.stringify(document));
  const half = Math.floor(bytes.length / 2);
  const out = request(`${runner.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${runner.key}`, 'content-length': bytes.length },
  });
  const answered = new Promise<{ status: number; body: unknown }>((resolve, reject) => {
    out.on('error', reject);
    out.on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as unknown }),
      );
    });
  });
  answered.catch(() => {});
  out.write(bytes.subarray(0, half));
  await eventually(async () =>
    (await allUploads(operator)).some((upload) => upload.state === 'receiving'),
  );
  const finish = async (): Promise<{ status: number; body: unknown }> => {
    out.end(bytes.subarray(half));
    return await answered;
  };
  return { request: out, finish };
}
