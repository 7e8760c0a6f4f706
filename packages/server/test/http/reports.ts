// Small reports for upload tests: CTIS and SARIF with as few members as the rule under test needs.

import type { Fields } from './wire.ts';

export interface Item {
  readonly rule?: string;
  readonly path?: string;
  readonly line?: number;
  readonly severity?: string;
  readonly fingerprint?: string;
  readonly more?: Fields;
}

export const ctisFinding = (item: Item = {}): Fields => ({
  type: 'vulnerability',
  title: `Rule ${item.rule ?? 'r1'} was broken`,
  severity: item.severity ?? 'high',
  rule_id: item.rule ?? 'r1',
  location: {
    path: item.path ?? 'src/a.js',
    start_line: item.line ?? 1,
    snippet: `f(${item.path})`,
  },
  ...(item.fingerprint === undefined ? {} : { fingerprint: item.fingerprint }),
  ...item.more,
});

export interface CtisOptions {
  readonly repository?: string;
  readonly branch?: string;
  readonly isDefault?: boolean;
  readonly coverage?: string;
  readonly tool?: string;
  readonly more?: Fields;
}

/**
 * A CTIS report on a repository's default branch; without `repository` the report names no asset at
 * all.
 */
export const ctis = (findings: readonly Fields[], options: CtisOptions = {}): Fields => ({
  version: '1.2',
  metadata: {
    timestamp: '2026-11-20T08:00:00Z',
    source_type: 'scanner',
    ...(options.coverage === undefined ? {} : { coverage_type: options.coverage }),
    ...(options.repository === undefined
      ? {}
      : {
          branch: {
            name: options.branch ?? 'main',
            is_default_branch: options.isDefault ?? true,
            repository_url: options.repository,
          },
        }),
  },
  tool: { name: options.tool ?? 'testtool', version: '1.0' },
  findings,
  ...options.more,
});

export const sarifResult = (item: Item = {}): Fields => ({
  ruleId: item.rule ?? 'r1',
  level: item.severity ?? 'error',
  message: { text: `Rule ${item.rule ?? 'r1'} was broken` },
  locations: [
    {
      physicalLocation: {
        artifactLocation: { uri: item.path ?? 'src/a.js' },
        region: { startLine: item.line ?? 1, snippet: { text: `f(${item.path})` } },
      },
    },
  ],
  ...(item.fingerprint === undefined
    ? {}
    : { partialFingerprints: { 'primaryLocationLineHash/v1': item.fingerprint } }),
  ...item.more,
});

export const sarif = (results: readonly Fields[], run: Fields = {}): Fields => ({
  version: '2.1.0',
  runs: [{ tool: { driver: { name: 'testtool', version: '1.0' } }, results, ...run }],
});

/** `count` different findings. */
export const many = (count: number, make: (item: Item) => Fields, from = 0): Fields[] =>
  Array.from({ length: count }, (_, index) => {
    const n = from + index;
    return make({ rule: `rule-${n}`, path: `src/file-${n}.js`, line: n + 1 });
  });
