// Query parameters, X-Muster-* headers and Prefer become the context of an upload: what the sender
// says beside the document. A parameter beats the header of the same name. Credentials in URLs are
// removed here, so that they are stored nowhere.

import type { IncomingHttpHeaders } from 'node:http';
import { ASSET_KINDS, limits, type AssetKind } from '@muster/contract';
import { parseId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import type { UploadContext } from '../ingest/report/report.rules.ts';
import { withoutCredentials } from '../ingest/formats/common/web.rules.ts';

type Query = Readonly<Record<string, string | undefined>>;

const CONTEXT_NAMES = [
  'repository_url',
  'asset',
  'asset_type',
  'branch',
  'commit_sha',
  'base_branch',
  'pull_request',
  'default_branch',
  'category',
  'coverage',
] as const;

/**
 * The names of the context, `wait`, and `sync`, a parameter of the protocol (RP §8) that asks for
 * what the server does anyhow.
 */
const KNOWN_NAMES: ReadonlySet<string> = new Set([...CONTEXT_NAMES, 'wait', 'sync']);

const HEADER_PREFIX = 'x-muster-';

/** How many unknown names are kept, and how much of each: enough to recognise a name. */
const UNKNOWN_MAX = 10;
const UNKNOWN_CHARS_MAX = 64;

/** Parameters and headers of ours that mean nothing; most likely they are misspelt. */
function unknownNames(query: Query, headers: IncomingHttpHeaders): string[] {
  const parameters = Object.keys(query).filter((name) => !KNOWN_NAMES.has(name));
  const ours = Object.keys(headers).filter(
    (name) =>
      name.startsWith(HEADER_PREFIX) &&
      !KNOWN_NAMES.has(name.slice(HEADER_PREFIX.length).replaceAll('-', '_')),
  );
  const names = [...parameters, ...ours].slice(0, UNKNOWN_MAX);
  return names.map((name) => name.slice(0, UNKNOWN_CHARS_MAX).toWellFormed());
}

/** Problem: invalid_parameter, for a header whose value would be refused in the query, too. */
export function contextOf(query: Query, headers: IncomingHttpHeaders): UploadContext {
  const given = new Map<string, string>();
  for (const name of CONTEXT_NAMES) {
    const header = headers[`${HEADER_PREFIX}${name.replaceAll('_', '-')}`];
    const value = query[name] ?? (typeof header === 'string' ? decodeHeader(header) : undefined);
    if (value !== undefined && value !== '') given.set(name, withoutUser(name, value));
  }
  const text = (name: (typeof CONTEXT_NAMES)[number]): string | undefined => {
    const value = given.get(name);
    if (value !== undefined && value.length > limits.pathCharsMax)
      throw invalid(name, 'is too long');
    return value;
  };
  const word = <W extends string>(
    name: (typeof CONTEXT_NAMES)[number],
    words: readonly W[],
  ): W | undefined => {
    const value = text(name);
    const known = words.find((candidate) => candidate === value);
    if (value !== undefined && known === undefined)
      throw invalid(name, `must be one of ${words.slice(0, 4).join(', ')} …`);
    return known;
  };
  const defaultBranch = word('default_branch', ['true', 'false']);
  const unknown = unknownNames(query, headers);
  const context: { [Name in keyof UploadContext]: UploadContext[Name] | undefined } = {
    repositoryUrl: text('repository_url'),
    asset: text('asset'),
    assetType: word<AssetKind>('asset_type', ASSET_KINDS),
    branch: text('branch'),
    commitSha: text('commit_sha'),
    baseBranch: text('base_branch'),
    pullRequest: text('pull_request'),
    defaultBranch: defaultBranch === undefined ? undefined : defaultBranch === 'true',
    category: text('category'),
    // An unknown name may be a misspelt `coverage`.
    coverage: word('coverage', ['full', 'partial']) ?? (unknown.length > 0 ? 'partial' : undefined),
    unknown: unknown.length > 0 ? unknown : undefined,
  };
  return Object.fromEntries(
    Object.entries(context).filter(([, value]) => value !== undefined),
  ) as UploadContext;
}

/**
 * A URL without its user info (RFC 3986 §3.2.1) and with the credentials in its query masked; any
 * other text unchanged. CI systems put tokens there: GitLab's CI_REPOSITORY_URL is
 * `https://gitlab-ci-token:…@host/org/repo.git`.
 */
function withoutUser(name: (typeof CONTEXT_NAMES)[number], text: string): string {
  // `user:secret@host/repo` has a user; `name:tag@sha256:…` names an image, and has none.
  if (name === 'repository_url' && !text.includes('://')) {
    return text.replace(/^[^/@]+:[^/@]*@/, '');
  }
  return withoutCredentials(text);
}

const invalid = (name: string, detail: string): Problem =>
  new Problem('invalid_parameter', `${name} ${detail}.`, {
    pointer: `/${name}`,
    errors: [{ pointer: `/${name}`, code: 'invalid', detail }],
  });

/** Headers are Latin-1 on the wire, but clients send UTF-8 bytes in them. */
const decodeHeader = (text: string): string => Buffer.from(text, 'latin1').toString('utf8').trim();

/** The command that this upload was made for, if the header names one (RP §2.4). */
export function commandOf(headers: IncomingHttpHeaders): string | null {
  const header = headers['x-openctem-command-id'];
  return typeof header === 'string' ? parseId<string>(header) : null;
}

/** Problem: invalid_parameter, for a key that is empty or too long. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | null {
  const header = headers['idempotency-key'];
  if (typeof header !== 'string') return null;
  const key = header.trim().replace(/^"(.*)"$/, '$1');
  if (key === '' || key.length > limits.idempotencyKeyCharsMax) {
    throw new Problem(
      'invalid_parameter',
      `Idempotency-Key must have 1 to ${limits.idempotencyKeyCharsMax} characters.`,
    );
  }
  return key;
}

export interface WaitWish {
  /** The most seconds that the caller wants to wait; null: the caller didn't say. */
  readonly seconds: number | null;
  /** The part of `Prefer` that was honoured, for `Preference-Applied`. */
  readonly applied: string | null;
}

/** `?wait=n`, else `Prefer: respond-async` or `wait=n` (RFC 7240 §4.1, §4.3). */
export function waitOf(query: Query, headers: IncomingHttpHeaders): WaitWish {
  if (query['wait'] !== undefined) return { seconds: Number(query['wait']), applied: null };
  const header = headers['prefer'];
  const text = (Array.isArray(header) ? header.join(',') : (header ?? '')).toLowerCase();
  const wishes = text.split(/[,;]/).map((wish) => wish.trim());
  const wait = wishes
    .map((wish) => /^wait\s*=\s*(\d{1,5})$/.exec(wish)?.[1])
    .find((value) => value !== undefined);
  if (wait !== undefined) return { seconds: Number(wait), applied: `wait=${wait}` };
  if (wishes.includes('respond-async')) return { seconds: 0, applied: 'respond-async' };
  return { seconds: null, applied: null };
}
