// Reports that nobody wrote: a codebase with defects, seen by scanners at several times. From one
// time to the next defects go, come back, move, change their words; the same state of the code can
// be told as SARIF or as CTIS. Texts come from small stocks, so that many defects look alike: there
// matching and resuming go wrong most easily.

import type { Random } from './random.ts';

export interface Defect {
  readonly id: number;
  /** The index of the run, or of the asset, among the places of the codebase. */
  readonly place: number;
  readonly rule: string;
  readonly path: string;
  readonly snippet: string;
  readonly fingerprint: string | null;
  line: number;
  message: string;
  level: 'error' | 'warning' | 'note';
  suppressed: boolean;
}

export interface Place {
  readonly repository: string;
  readonly branch: string;
  readonly tool: string;
  readonly category: string;
}

/** The codebase as the scanners see it at one time. */
export interface Sight {
  readonly places: readonly Place[];
  readonly defects: readonly Defect[];
}

/**
 * The number of defects a codebase begins with, and the largest number of places over which they
 * are spread.
 */
export interface Size {
  readonly defectsMin: number;
  readonly defectsMax: number;
  readonly placesMax: number;
}

/**
 * A codebase over time: `times` sights, each a changed form of the one before; removed defects may
 * come back.
 */
export function sightsOf(random: Random, times: number, size: Size): Sight[] {
  const { defectsMin, defectsMax, placesMax } = size;
  const places = Array.from({ length: 1 + random.below(placesMax) }, () => placeOf(random));
  const everything: Defect[] = [];
  const add = (count: number): Defect[] => {
    const added = Array.from({ length: count }, (_, index) =>
      defectOf(random, everything.length + index, places.length),
    );
    everything.push(...added);
    return added;
  };
  let present = add(defectsMin + random.below(defectsMax - defectsMin + 1));
  const sights = [{ places, defects: present.map((defect) => ({ ...defect })) }];
  while (sights.length < times) {
    const gone = random.pick([0, 0.1, 0.4, 0.7]);
    const back = random.pick([0, 0.5]);
    const before = new Set(present);
    const kept = everything.filter((defect) =>
      before.has(defect) ? !random.chance(gone) : random.chance(back),
    );
    present = [...kept, ...add(random.below(Math.ceil(defectsMax / 4)))];
    for (const defect of present) change(random, defect);
    sights.push({ places, defects: present.map((defect) => ({ ...defect })) });
  }
  return sights;
}

function placeOf(random: Random): Place {
  return {
    repository: `https://github.com/acme/${random.pick(['shop', 'pay'])}`,
    branch: random.pick(['main', 'main', 'next']),
    tool: random.pick(['Semgrep', 'CodeQL']),
    category: random.pick(['', 'api', 'web']),
  };
}

function defectOf(random: Random, id: number, places: number): Defect {
  return {
    id,
    place: random.below(places),
    rule: `rule-${random.below(4)}`,
    path: `src/${random.pick(['a', 'b', 'c'])}.ts`,
    snippet: random.chance(0.5) ? `call(${random.below(5)})` : `unique(${id})`,
    fingerprint: random.chance(0.4) ? `print-${random.chance(0.2) ? random.below(4) : id}` : null,
    line: 1 + random.below(40),
    message: `It is unsafe (${random.below(3)}).`,
    level: random.pick(['error', 'warning', 'note']),
    suppressed: random.chance(0.05),
  };
}

function change(random: Random, defect: Defect): void {
  if (random.chance(0.2)) defect.line += 1 + random.below(5);
  if (random.chance(0.1)) defect.message = `It is unsafe (${random.below(6)}).`;
  if (random.chance(0.1)) defect.level = random.pick(['error', 'warning', 'note']);
  if (random.chance(0.05)) defect.suppressed = !defect.suppressed;
}

/**
 * A SARIF log with one run for each place, in any order, now and then with repeats, passed checks
 * and unusable items.
 */
export function sarifOf(random: Random, sight: Sight): unknown {
  const runs = sight.places.map((place, index) => {
    const mine = sight.defects.filter((defect) => defect.place === index);
    const results: unknown[] = mine.map(resultOf);
    if (random.chance(0.3)) results.push(...mine.slice(0, 3).map(resultOf));
    if (random.chance(0.3)) results.push({ kind: 'pass', message: { text: 'fine' }, ruleId: 'ok' });
    if (random.chance(0.1)) results.push('not a result');
    return {
      tool: { driver: { name: place.tool } },
      automationDetails: { id: `${place.category}/${random.below(1000)}` },
      versionControlProvenance: [{ repositoryUri: place.repository, branch: place.branch }],
      results: random.shuffled(results),
    };
  });
  return { version: '2.1.0', runs: random.shuffled(runs) };
}

function resultOf(defect: Defect): unknown {
  return {
    ruleId: defect.rule,
    level: defect.level,
    message: { text: defect.message },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: defect.path },
          region: { startLine: defect.line, snippet: { text: defect.snippet } },
        },
      },
    ],
    ...(defect.fingerprint === null ? {} : { partialFingerprints: { stable: defect.fingerprint } }),
    ...(defect.suppressed ? { suppressions: [{ kind: 'external', status: 'accepted' }] } : {}),
  };
}

const SEVERITY = { error: 'high', warning: 'medium', note: 'low' } as const;

/** The same as a CTIS report: the repositories as assets, a few dependencies, a relationship. */
export function ctisOf(random: Random, sight: Sight): unknown {
  const repositories = [...new Set(sight.places.map((place) => place.repository))];
  const findings: unknown[] = sight.defects.map((defect) => ({
    type: 'vulnerability',
    title: `${defect.rule} in ${defect.path}`,
    severity: SEVERITY[defect.level],
    rule_id: defect.rule,
    message: defect.message,
    asset_ref: sight.places[defect.place]?.repository,
    location: { path: defect.path, start_line: defect.line, snippet: defect.snippet },
    ...(defect.fingerprint === null ? {} : { fingerprint: defect.fingerprint }),
    ...(defect.suppressed ? { suppression: { kind: 'external', status: 'accepted' } } : {}),
  }));
  if (random.chance(0.1)) findings.push(5);
  const names = Array.from({ length: random.below(6) }, () => `library-${random.below(8)}`);
  const [from, to] = repositories;
  return {
    version: '1.6',
    metadata: {
      id: `scan-${random.below(1000)}`,
      coverage_type: random.chance(0.8) ? 'full' : 'incremental',
      branch: { name: 'main', is_default_branch: random.chance(0.5) },
    },
    tool: { name: 'Generated' },
    assets: repositories.map((value) => ({ id: value, type: 'repository', value })),
    dependencies: names.map((name) => ({
      name,
      version: '1.0.0',
      ecosystem: 'npm',
      purl: `pkg:npm/${name}@1.0.0`,
      depends_on: names.slice(0, 2),
    })),
    relationships: to === undefined ? [] : [{ from_ref: from, to_ref: to, type: 'depends_on' }],
    endpoints: names.map((name) => ({ origin: 'https://shop.example', path: `/${name}` })),
    findings: random.shuffled(findings),
  };
}

/**
 * One run with the results `from` to `to` - 1: as large as a test needs. Every second result has
 * the same content as others of its file and rule, and only its line tells it from them. `shift`
 * moves all of them down.
 */
export function largeSarif(to: number, tool = 'Semgrep', from = 0, shift = 0): unknown {
  const results = Array.from({ length: to - from }, (_, position) => {
    const index = from + position;
    return {
      ruleId: `rule-${index % 20}`,
      level: 'warning',
      message: { text: 'A finding of a large report.' },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: `src/module-${index % 100}/file.ts` },
            region: {
              startLine: 1 + index + shift,
              snippet: { text: index % 2 === 0 ? 'danger()' : `danger(${index})` },
            },
          },
        },
      ],
    };
  });
  return { version: '2.1.0', runs: [{ tool: { driver: { name: tool } }, results }] };
}
