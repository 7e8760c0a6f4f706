// Whole uploads through the real story on SQLite: what the receipt of every fixture says the first
// time, the same again, and with one item changed and one gone. A line for each upload, without
// zeros, so that a review sees a change of any count. The larger corpus beside the repository is
// counted, too, if it is there.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { limits, type Receipt } from '@muster/contract';
import { golden } from '../../../../../tools/golden.ts';
import { type Format, fixtureNames, sharedFiles } from '../formats/readers.ts';
import { newCaller, openStage, receive, type Stage, workOnce } from './scene.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(async () => await stage.close());

interface Document {
  readonly name: string;
  readonly format: Format;
  readonly url: URL;
}

const FIXTURES: readonly Document[] = (['ctis', 'gitleaks', 'sarif'] satisfies Format[]).flatMap(
  (format) =>
    fixtureNames(format)
      .sort()
      .map((name) => {
        const url = new URL(`../../fixtures/${format}/${name}.json`, import.meta.url);
        return { name: `${format}/${name}`, format, url };
      }),
);

const CORPUS: readonly Document[] = (['ctis', 'sarif'] satisfies Format[]).flatMap((format) =>
  (sharedFiles(`corpus/${format}`) ?? []).map(({ name, url }) => ({
    name: `${format}/${name}`,
    format,
    url,
  })),
);

test('fixtures have the receipts of their golden file: first, again, changed', async () => {
  const lines: string[] = [];
  for (const document of FIXTURES) lines.push(...(await toldThrice(document)));
  golden(new URL('golden/receipts-fixtures.txt', import.meta.url), `${lines.join('\n')}\n`);
});

const skip = CORPUS.length === 0 ? '../shared/corpus is not there' : false;
test('reports of real tools have the counts of their golden file: first, again', {
  skip,
}, async () => {
  const lines: string[] = [];
  for (const { name, format, url } of CORPUS) {
    const bytes = readFileSync(url);
    const told = await tell(name, format, [bytes, bytes]);
    lines.push(name, `  first: ${told[0]}`, `  again: ${told[1]}`);
  }
  golden(new URL('golden/receipts-corpus.txt', import.meta.url), `${lines.join('\n')}\n`);
});

async function toldThrice({ name, format, url }: Document): Promise<string[]> {
  const bytes = readFileSync(url);
  const other = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, '')) as Listed;
  changeOne(other);
  const told = await tell(name, format, [bytes, bytes, Buffer.from(JSON.stringify(other))]);
  return [name, ...['first', 'again', 'other'].map((when, index) => `  ${when}: ${told[index]}`)];
}

interface Listed {
  runs?: { results?: unknown[] | null }[];
  findings?: unknown[] | null;
  report?: Listed;
}

/**
 * Changes the words of the first item in the first list with items, and removes the last of
 * several.
 */
function changeOne({ runs, findings, report }: Listed): void {
  const lists = [...(runs ?? []).map(({ results }) => results), findings, report?.findings];
  const list = lists.find((entries) => Array.isArray(entries) && entries.length > 0) ?? [];
  const [first] = list as Record<string, unknown>[];
  if (typeof first === 'object' && first !== null) {
    first['message'] = runs === undefined ? 'Changed words.' : { text: 'Changed words.' };
  }
  if (list.length > 1) list.pop();
}

/** The uploads of one runner, one after the other. */
async function tell(name: string, format: Format, uploads: readonly Buffer[]): Promise<string[]> {
  const caller = await newCaller(stage);
  const told: string[] = [];
  for (const bytes of uploads) {
    // Later the same bytes are a new upload, and not a repeat of the first one.
    stage.clock.advance(limits.lostAnswerMs + 1);
    const repositoryUrl = `https://github.com/golden/${encodeURIComponent(name)}`;
    const context = { repositoryUrl, branch: 'main', defaultBranch: true };
    const id = await receive(stage, caller, format, bytes, context);
    const worked = await workOnce(stage, () => undefined);
    assert.equal(worked?.upload.id, id);
    const { receipt, problem } = await stage.database
      .tenant(caller.tenantId)
      .selectFrom('upload')
      .select(['receipt', 'problem'])
      .where('tenant_id', '=', caller.tenantId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const { code, detail, pointer } = JSON.parse(problem ?? '{}') as Record<string, string>;
    const refusal = code === undefined ? [] : [`refused ${code} at "${pointer ?? ''}": ${detail}`];
    const account = receipt === null ? [] : [accountOf(JSON.parse(receipt) as Receipt)];
    told.push([...refusal, ...account].join('; '));
  }
  return told;
}

function accountOf(receipt: Receipt): string {
  const counted = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
  const { findings, assets, dependencies, relationships, rejections_by_code: rejected } = receipt;
  const { resolved, suppressed, held } = receipt;
  const warnings: Record<string, number> = {};
  for (const { code } of receipt.warnings) warnings[code] = (warnings[code] ?? 0) + 1;
  const parts = { findings, assets, dependencies, relationships, rejected, warnings };
  return [
    receipt.outcome,
    ...Object.entries(parts).map(([part, counts]) => [part, counted(counts)] as const),
    ['', counted({ resolved, suppressed, held })] as const,
  ]
    .filter((part) => typeof part === 'string' || part[1] !== '')
    .map((part) => (typeof part === 'string' ? part : part.join(': ').replace(/^: /, '')))
    .join('; ');
}
