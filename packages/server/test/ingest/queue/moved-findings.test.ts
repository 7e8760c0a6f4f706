// Findings whose file was renamed or whose code was edited are the same findings, on both
// databases: they keep their ids, their decisions and their past. A finding that merely looks alike
// is not merged with them.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import { BACKENDS } from '../../harness.ts';
import { ctis, ctisFinding, sarif } from '../../http/reports.ts';
import type { Fields } from '../../http/wire.ts';
import {
  newCaller,
  newRunnerOf,
  openStage,
  postpone,
  receiptOf,
  receive,
  type Stage,
  workOnce,
} from '../crash/scene.ts';

type Status = 'false_positive' | 'resolved';

const REPOSITORY = 'https://github.com/acme/moved';

interface Seen {
  readonly path: string;
  readonly line?: number;
  /** The code; null: the report shows none. */
  readonly code?: string | null;
  /** Empty: the report names none. */
  readonly rule?: string;
  readonly message?: string;
}

const resultOf = ({
  path,
  line = 10,
  code = 'evaluate(request.body.input)',
  rule = 'r1',
}: Seen): Fields => ({
  ruleId: rule,
  message: { text: 'Input is evaluated' },
  locations: [
    {
      physicalLocation: {
        artifactLocation: { uri: path },
        region: { startLine: line, ...(code === null ? {} : { snippet: { text: code } }) },
      },
    },
  ],
});

for (const backend of BACKENDS) {
  describe(`moved findings on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const tell = async (
      caller: RunnerCaller,
      document: Fields,
      format: 'sarif' | 'ctis',
      context: Fields = {},
    ) => {
      // Later the same bytes are a new upload, and not a repeat of the first one.
      stage.clock.advance(limits.lostAnswerMs + 1);
      const id = await receive(stage, caller, format, document, {
        repositoryUrl: REPOSITORY,
        branch: 'main',
        defaultBranch: true,
        ...context,
      });
      assert.equal(present(await workOnce(stage, () => {}), 'an upload').outcome, 'processed');
      const { findings, resolved } = await receiptOf(stage, caller, id);
      const { created, changed, unchanged, reopened } = findings;
      return { created, changed, unchanged, reopened, resolved };
    };
    const tellSarif = async (caller: RunnerCaller, seen: readonly Seen[], context: Fields = {}) =>
      await tell(caller, sarif(seen.map(resultOf)), 'sarif', context);
    const findingsOf = async ({ tenantId }: RunnerCaller) =>
      await stage.database
        .tenant(tenantId)
        .selectFrom('finding')
        .select(['id', 'path', 'start_line', 'status', 'matched_by'])
        .where('tenant_id', '=', tenantId)
        .orderBy('path')
        .orderBy('start_line')
        .execute();
    const decide = async ({ tenantId }: RunnerCaller, path: string, line: number, status: Status) =>
      await stage.database
        .tenant(tenantId)
        .updateTable('finding')
        .set({ status, status_by: 'operator' })
        .where('tenant_id', '=', tenantId)
        .where('path', '=', path)
        .where('start_line', '=', line)
        .execute();
    const none = { created: 0, changed: 0, unchanged: 0, reopened: 0, resolved: 0 };

    test('a renamed file keeps its findings and what was decided about them', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'src/a.ts' }, { path: 'src/other.ts', rule: 'r2' }]);
      const [before] = await findingsOf(caller);
      await decide(caller, 'src/a.ts', 10, 'false_positive');
      const moved = [
        { path: 'lib/b.ts', line: 400 },
        { path: 'src/other.ts', rule: 'r2' },
      ];
      assert.deepEqual(await tellSarif(caller, moved), { ...none, changed: 1, unchanged: 1 });
      const [finding] = await findingsOf(caller);
      assert.deepEqual(finding, {
        id: before?.id,
        path: 'lib/b.ts',
        start_line: 400,
        status: 'false_positive',
        matched_by: 'moved',
      });
      const events = await stage.database
        .tenant(caller.tenantId)
        .selectFrom('finding_event')
        .select(['finding_id', 'kind', 'data'])
        .where('tenant_id', '=', caller.tenantId)
        .execute();
      const data = JSON.stringify({ from: 'src/a.ts:10', to: 'lib/b.ts:400', by: 'moved' });
      assert.deepEqual(events, [{ finding_id: before?.id, kind: 'moved', data }]);
      assert.deepEqual(await tellSarif(caller, moved), { ...none, unchanged: 2 });
    });

    test('when a folder with equal code moves, each finding goes with its file', async () => {
      const caller = await newCaller(stage);
      const paths = Array.from({ length: 20 }, (_, at) => `part-${at % 5}/file-${at}.ts`);
      await tellSarif(
        caller,
        paths.map((path) => ({ path: `src/${path}` })),
      );
      const before = await findingsOf(caller);
      const moved = paths.map((path) => ({ path: `packages/core/${path}` })).reverse();
      assert.deepEqual(await tellSarif(caller, moved), { ...none, changed: 20 });
      const idOf = new Map(before.map(({ id, path }) => [path, id]));
      for (const { id, path } of await findingsOf(caller)) {
        assert.equal(
          id,
          idOf.get(present(path, 'a path').replace('packages/core', 'src')),
          `${path}`,
        );
      }
    });

    test('edited code keeps its finding, something else further away is a new one', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'a.ts', line: 10 }]);
      const edited = [{ path: 'a.ts', line: 13, code: 'evaluate(request.body.input, mode)' }];
      assert.deepEqual(await tellSarif(caller, edited), { ...none, changed: 1 });
      assert.equal((await findingsOf(caller))[0]?.matched_by, 'nearest');
      const another = [{ path: 'a.ts', line: 64, code: 'evaluate(something, else)' }];
      assert.deepEqual(await tellSarif(caller, another), { ...none, created: 1, resolved: 1 });
    });

    test('a copy, another rule, trifling code and no code at all are no moves', async () => {
      for (const [first, second] of [
        [[{ path: 'a.ts' }], [{ path: 'a.ts' }, { path: 'b.ts' }]],
        [[{ path: 'a.ts' }], [{ path: 'b.ts', rule: 'r2' }]],
        [
          [{ path: 'a.ts', code: 'except Exception:' }],
          [{ path: 'b.ts', code: 'except Exception:' }],
        ],
        [[{ path: 'a.ts', code: null }], [{ path: 'b.ts', code: null }]],
      ] as const) {
        const caller = await newCaller(stage);
        await tellSarif(caller, first);
        const { created, changed } = await tellSarif(caller, second);
        assert.deepEqual({ created, changed }, { created: 1, changed: 0 }, JSON.stringify(second));
      }
    });

    test('a resolved finding stays resolved, and a partial report moves nothing', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'a.ts' }]);
      await tellSarif(caller, [{ path: 'z.ts', rule: 'r2' }]);
      const back = [{ path: 'b.ts' }, { path: 'z.ts', rule: 'r2' }];
      assert.deepEqual(await tellSarif(caller, back), { ...none, created: 1, unchanged: 1 });
      const part = await tellSarif(caller, [{ path: 'c.ts' }], { coverage: 'partial' });
      assert.deepEqual(part, { ...none, created: 1 });
    });

    test('on another branch the file is another one there only', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'a.ts' }]);
      const feature = { branch: 'feature', defaultBranch: false };
      const renamed = [{ path: 'b.ts' }];
      assert.deepEqual(await tellSarif(caller, renamed, feature), { ...none, unchanged: 1 });
      assert.deepEqual(
        (await findingsOf(caller)).map(({ path }) => path),
        ['a.ts'],
      );
      assert.deepEqual(await tellSarif(caller, renamed), { ...none, changed: 1 });
    });

    test('similar findings of two other branches are not one finding', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'z.ts', rule: 'r2' }]);
      const others = [{ path: 'z.ts', rule: 'r2' }];
      const on = (branch: string) => ({ branch, defaultBranch: false });
      await tellSarif(caller, [...others, { path: 'a.ts', line: 10 }], on('one'));
      const alike = [...others, { path: 'a.ts', line: 12, code: 'evaluate(twice)' }];
      const { created } = await tellSarif(caller, alike, on('two'));
      assert.equal(created, 1);
    });

    test('a resolved finding moves nowhere: another one nearby is a new one', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'a.ts' }]);
      await decide(caller, 'a.ts', 10, 'resolved');
      const other = [{ path: 'a.ts', line: 12, code: 'evaluate(somethingElse.entirely)' }];
      assert.equal((await tellSarif(caller, other)).created, 1);
    });

    test('without a rule, or with nothing but the words, nothing has moved', async () => {
      const message = 'The function at line 10 is too complex';
      for (const [first, second] of [
        [
          { path: 'a.ts', rule: '' },
          { path: 'z/b.ts', rule: '', code: 'completely(different)' },
        ],
        [
          { path: 'a.ts', rule: '' },
          { path: 'a.ts', rule: '', code: 'completely(different)' },
        ],
        [
          { path: 'a.ts', code: null, message },
          { path: 'b.ts', code: null, message },
        ],
      ] as const) {
        const caller = await newCaller(stage);
        await tellSarif(caller, [first]);
        assert.equal((await tellSarif(caller, [second])).created, 1, JSON.stringify(second));
      }
    });

    test('a decision goes along when the branch that renames is scanned before the default one', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'a.ts' }]);
      await decide(caller, 'a.ts', 10, 'false_positive');
      const feature = { branch: 'feature', defaultBranch: false };
      const renamed = [{ path: 'b.ts' }];
      assert.deepEqual(await tellSarif(caller, renamed, feature), { ...none, unchanged: 1 });
      assert.deepEqual(await tellSarif(caller, renamed), { ...none, changed: 1 });
      const statuses = (await findingsOf(caller)).map(({ path, status }) => `${path} ${status}`);
      assert.deepEqual(statuses, ['b.ts false_positive']);
    });

    test('the nearest is taken, and what people decided goes no further than an edit', async () => {
      const caller = await newCaller(stage);
      await tellSarif(
        caller,
        [100, 140, 1000].map((line) => ({ path: 'a.ts', line, code: `old(code.at.line.${line})` })),
      );
      await decide(caller, 'a.ts', 100, 'false_positive');
      const before = new Map(
        (await findingsOf(caller)).map(({ id, start_line: line }) => [line, id]),
      );
      const lines = [60, 101, 141, 980];
      const edited = lines.map((line) => ({
        path: 'a.ts',
        line,
        code: `new(code.at.line.${line})`,
      }));
      const { created, changed } = await tellSarif(caller, edited);
      assert.deepEqual({ created, changed }, { created: 1, changed: 3 });
      const after = new Map(
        (await findingsOf(caller)).map(({ id, start_line: line }) => [line, id]),
      );
      assert.deepEqual(
        [101, 141, 980].map((line) => after.get(line)),
        [100, 140, 1000].map((line) => before.get(line)),
      );
      const further = edited.map((one) =>
        one.line === 101 ? { ...one, line: 108, code: 'x(y.z, 1)' } : one,
      );
      assert.equal((await tellSarif(caller, further)).created, 1);
    });

    test('equal code in a renamed file moves together', async () => {
      const caller = await newCaller(stage);
      await tellSarif(
        caller,
        [10, 20, 30].map((line) => ({ path: 'a.ts', line })),
      );
      const before = (await findingsOf(caller)).map(({ id }) => id);
      const moved = [20, 30, 40].map((line) => ({ path: 'b.ts', line }));
      assert.deepEqual(await tellSarif(caller, moved), { ...none, changed: 3 });
      assert.deepEqual(
        (await findingsOf(caller)).map(({ id }) => id),
        before,
      );
    });

    test('one log with very many branches of a renamed file has one finding', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'a.ts' }]);
      const runs = Array.from({ length: 20 }, (_, at) => ({
        ...present((sarif([resultOf({ path: 'b.ts' })]).runs as Fields[])[0], 'a run'),
        versionControlProvenance: [{ repositoryUri: REPOSITORY, branch: `b${at}` }],
      }));
      const { created } = await tell(caller, { version: '2.1.0', runs }, 'sarif', { branch: null });
      assert.equal(created, 0);
      assert.equal((await findingsOf(caller)).length, 1);
    });

    test('an upload that came late knows a finding by where it was', async () => {
      const caller = await newCaller(stage);
      await tellSarif(caller, [{ path: 'a.ts' }]);
      const context = { repositoryUrl: REPOSITORY, branch: 'main', defaultBranch: true };
      const document = sarif([resultOf({ path: 'a.ts', line: 12 })]);
      stage.clock.advance(1);
      const other = await newRunnerOf(stage, caller.tenantId);
      const older = await receive(stage, other, 'sarif', document, context);
      await postpone(stage, other, older, 10 * limits.uploadLeaseMs);
      assert.deepEqual(await tellSarif(caller, [{ path: 'b.ts' }]), { ...none, changed: 1 });
      await postpone(stage, other, older, 0);
      assert.equal(present(await workOnce(stage, () => {}), 'it').outcome, 'processed');
      const { findings } = await receiptOf(stage, other, older);
      assert.deepEqual(
        { created: findings.created, unchanged: findings.unchanged },
        { created: 0, unchanged: 1 },
      );
      assert.deepEqual(
        (await findingsOf(caller)).map(({ path }) => path),
        ['b.ts'],
      );
    });

    test('a part that came late hides nothing', async () => {
      const caller = await newCaller(stage);
      const other = await newRunnerOf(stage, caller.tenantId);
      const part = { repositoryUrl: REPOSITORY, branch: 'main', coverage: 'partial' } as const;
      await tellSarif(caller, [{ path: 'z.ts', rule: 'r2' }], { coverage: 'partial' });
      const document = sarif([resultOf({ path: 'a.ts', line: 20, code: 'evaluate(project.x)' })]);
      const older = await receive(stage, other, 'sarif', document, part);
      await postpone(stage, other, older, 10 * limits.uploadLeaseMs);
      await tellSarif(caller, [{ path: 'a.ts', line: 40 }], { coverage: 'partial' });
      await postpone(stage, other, older, 0);
      assert.equal(present(await workOnce(stage, () => {}), 'it').outcome, 'processed');
      assert.equal((await receiptOf(stage, other, older)).findings.created, 1);
    });

    test('components move with their manifests, secrets with their values', async () => {
      const caller = await newCaller(stage);
      const report = (folder: string): Fields =>
        ctis(
          [
            ctisFinding({
              rule: 'CVE-2024-1',
              path: `${folder}/package-lock.json`,
              more: {
                type: 'vulnerability',
                vulnerability: { cve_id: 'CVE-2024-1', purl: 'pkg:npm/left-pad@1.0.0' },
              },
            }),
            ctisFinding({
              rule: 'key',
              path: `${folder}/settings.py`,
              more: { type: 'secret', secret: { secret_type: 'key', masked_value: `AKI****4` } },
            }),
          ],
          { repository: REPOSITORY, coverage: 'full' },
        );
      const { created } = await tell(caller, report('app'), 'ctis');
      assert.equal(created, 2);
      const moved = await tell(caller, report('service'), 'ctis');
      // Only a mask of the secret is known.
      assert.deepEqual(moved, { ...none, changed: 1, created: 1, resolved: 1 });
    });
  });
}
