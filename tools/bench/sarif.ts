// The report that the benchmarks hand in: a SARIF 2.1.0 log as a static analyser of a large
// repository writes it, made from a seed, so that every run and every machine has the same bytes.
// No two results are duplicates. Paths, messages and snippets have about the entropy of real ones,
// so that compression isn't flattered.

import { createWriteStream } from 'node:fs';
import { once } from 'node:events';

const RULES = 300;
const FILES = 2_500;
/** One in so many results has a code flow of a few steps. */
const FLOW_EVERY = 8;

const WORDS =
  `account address alias amount api archive array asset auth batch body bucket buffer cache call channel chunk client
  cluster code column command commit config context cookie count cursor data digest draft edge entry error event field
  file filter flag flow frame group handler hash header host id image index input invoice item job key label lease limit
  line list locale lock log loop mail map match message meta method mode model name node note object offset option order
  owner packet page param parser password path payload peer plan policy pool port price profile proxy query queue quota
  range rate reader record region report request result role route row rule scan schema scope secret seed segment
  server session shard shop signal slice slot socket source stage state store stream string table tag task tenant text
  thread ticket time title token topic trace tree type union unit update upload user value vendor version view visit
  volume wallet watch weight window worker writer zone`.split(/\s+/);

const DIRECTORIES = ['api', 'billing', 'core', 'gateway', 'jobs', 'lib', 'notify', 'search', 'ui'];
const LEVELS = ['error', 'warning', 'warning', 'warning', 'note'] as const;

/** mulberry32: 32 bits of state are plenty for text that only has to look varied. */
class Chance {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
  word(): string {
    return this.of(WORDS);
  }
  hex(chars: number): string {
    let text = '';
    while (text.length < chars) text += this.below(0x10000).toString(16).padStart(4, '0');
    return text.slice(0, chars);
  }
}

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

function codeLine(chance: Chance, indent: number): string {
  const [a, b, c, d] = [chance.word(), chance.word(), chance.word(), chance.word()];
  const blank = ' '.repeat(indent);
  switch (chance.below(5)) {
    case 0:
      return `${blank}const ${a}${capital(b)} = await ${c}.${d}(${b}Id, { limit: ${chance.below(500)} });`;
    case 1:
      return `${blank}if (${a}.${b} !== null && ${c}.length > ${chance.below(90)}) return ${d};`;
    case 2:
      return `${blank}for (const ${a} of ${b}.${c}s) ${d}.push(${a}.to${capital(c)}());`;
    case 3:
      return `${blank}this.#${a} = new ${capital(b)}${capital(c)}('${d}-${chance.hex(6)}');`;
    default:
      return `${blank}${a}.query(\`select ${b} from ${c} where ${d} = '\${request.${b}}'\`);`;
  }
}

function rule(chance: Chance, at: number): object {
  const [a, b] = [chance.word(), chance.word()];
  return {
    id: `acme.${a}-${b}-${at}`,
    name: `${capital(a)}${capital(b)}`,
    shortDescription: { text: `Unsafe ${a} of a ${b}` },
    fullDescription: {
      text: `A ${a} that comes from outside reaches a ${b} without being checked. ${codeLine(chance, 0)}`,
    },
    helpUri: `https://rules.example/acme/${at}`,
    defaultConfiguration: { level: chance.of(LEVELS) },
    properties: {
      'security-severity': (1 + chance.below(90) / 10).toFixed(1),
      tags: ['security', `external/cwe/cwe-${20 + chance.below(900)}`],
      precision: 'high',
    },
  };
}

function file(chance: Chance, at: number): string {
  const folder = `${chance.of(DIRECTORIES)}/${chance.word()}`;
  return `src/${folder}/${chance.word()}-${chance.word()}-${at}.ts`;
}

function location(chance: Chance, uri: string, line: number): object {
  const startColumn = 3 + chance.below(20);
  const text = codeLine(chance, startColumn - 1);
  return {
    physicalLocation: {
      artifactLocation: { uri, uriBaseId: '%SRCROOT%' },
      region: {
        startLine: line,
        startColumn,
        endColumn: text.length + 1,
        snippet: { text },
      },
      contextRegion: {
        startLine: line - 1,
        endLine: line + 1,
        snippet: { text: `${codeLine(chance, 4)}\n${text}\n${codeLine(chance, 4)}` },
      },
    },
  };
}

function result(
  chance: Chance,
  at: number,
  rules: readonly { id: string }[],
  files: readonly string[],
): object {
  const ruleIndex = chance.below(rules.length);
  const uri = chance.of(files);
  const line = 2 + chance.below(3000);
  const [a, b] = [chance.word(), chance.word()];
  const flow = {
    threadFlows: [
      {
        locations: Array.from({ length: 3 + chance.below(3) }, (_, step) => ({
          location: {
            ...location(chance, uri, Math.max(2, line - 30 + step * 7)),
            message: { text: `${chance.word()} flows on` },
          },
        })),
      },
    ],
  };
  return {
    ruleId: rules[ruleIndex]?.id,
    ruleIndex,
    level: chance.of(LEVELS),
    message: {
      text: `The ${a} of '${b}${capital(a)}' depends on a user-provided ${chance.word()}, which reaches ${chance.word()}() unchecked.`,
    },
    locations: [location(chance, uri, line)],
    partialFingerprints: {
      primaryLocationLineHash: `${chance.hex(16)}:${at}`,
      primaryLocationStartColumnFingerprint: String(chance.below(40)),
    },
    ...(at % FLOW_EVERY === 0 ? { codeFlows: [flow] } : {}),
  };
}

/**
 * Writes the log with `results` results to `path`; the same numbers give the same bytes. Returns
 * its size in bytes.
 */
export async function writeSarif(path: string, results: number, seed = 1): Promise<number> {
  const chance = new Chance(seed);
  const rules = Array.from({ length: RULES }, (_, at) => rule(chance, at) as { id: string });
  const files = Array.from({ length: FILES }, (_, at) => file(chance, at));
  const out = createWriteStream(path);
  const head = {
    tool: { driver: { name: 'Acme Scan', semanticVersion: '4.2.0', rules } },
    automationDetails: { id: 'nightly/' },
    versionControlProvenance: [
      {
        repositoryUri: 'https://github.com/example/monolith',
        branch: 'main',
        revisionId: chance.hex(40),
      },
    ],
    invocations: [{ executionSuccessful: true }],
  };
  const run = JSON.stringify(head).slice(0, -1);
  let text = `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[${run},"results":[`;
  for (let at = 0; at < results; at += 1) {
    text += `${at === 0 ? '' : ',\n'}${JSON.stringify(result(chance, at, rules, files))}`;
    if (text.length > 1_000_000) {
      if (!out.write(text)) await once(out, 'drain');
      text = '';
    }
  }
  out.end(`${text}]}]}\n`);
  await once(out, 'finish');
  return out.bytesWritten;
}
