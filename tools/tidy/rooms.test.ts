// The rules of rooms: each refuses its bad samples and leaves the good ones alone. The samples are
// small trees of files.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusedLines } from './bad-sample.ts';
import {
  circles,
  crowdedFolders,
  falseCallers,
  FOLDER_FILES_MAX,
  roomOf,
  upwardImports,
} from './rooms.ts';

const SERVER = 'packages/server/src/';

/** File, import, and whether the order of the rooms permits it. */
const TABLE: [file: string, code: string, isPermitted: boolean][] = [
  ['operator/a.ts', "import { b } from '../commands/b.ts';", true],
  ['commands/a.ts', "import { b } from '../operator/b.ts';", false],
  ['commands/a.ts', "import type { B } from '../heartbeat/b.ts';", false],
  ['keys/a.ts', "import type { B } from '../heartbeat/b.ts';", false],
  ['uploads/a.ts', "import { b } from '../commands/b.ts';", false],
  ['commands/a.ts', "import { b } from '../uploads/b.ts';", true],
  ['commands/poll/a.ts', "import { b } from '../b.ts';", true],
  ['ingest/ingest.ts', "import { b } from './finish/b.ts';", true],
  ['ingest/finish/a.ts', "import { b } from '../ingest.ts';", false],
  ['ingest/finish/a.ts', "export { b } from '../queue/b.ts';", false],
  ['ingest/reconcile/a.ts', "import { b } from '../match/b.rules.ts';", true],
  ['ingest/match/a.rules.ts', "import { b } from '../report/b.rules.ts';", true],
  ['ingest/match/a.rules.ts', "import { b } from '../json/b.decode.ts';", false],
  ['ingest/match/a.rules.ts', "import { b } from '../../lib/b.ts';", true],
  ['ingest/store/a.queries.ts', "import { b } from '../json/b.decode.ts';", false],
  ['ingest/store/a.queries.ts', "import type { B } from '../../db/db.ts';", true],
  ['ingest/index/a.ts', "import { b } from '../formats/formats.ts';", true],
  ['ingest/inventory/a.ts', "import { b } from '../formats/formats.ts';", false],
  ['ingest/index/a.ts', "import { b } from '../formats/sarif/sarif.decode.ts';", false],
  ['ingest/index/a.ts', "import { b } from '../formats/common/b.rules.ts';", true],
  ['ingest/formats/formats.ts', "import { b } from './ctis/ctis.decode.ts';", true],
  ['ingest/formats/ctis/a.ts', "import { b } from '../sarif/read/b.decode.ts';", false],
  ['ingest/formats/sarif/a.ts', "import { b } from '../ctis/b.decode.ts';", false],
  ['ingest/formats/sarif/show/a.ts', "import { b } from '../read/b.decode.ts';", true],
  ['ingest/formats/sarif/read/a.ts', "import { b } from '../show/b.decode.ts';", false],
  ['db/sqlite/a.ts', "import { b } from '../b.ts';", true],
  ['lib/a.ts', "import { b } from '../db/b.ts';", false],
  ['keys/a.ts', "import { b } from '../app.ts';", false],
  ['app.ts', "import { b } from './operator/b.ts';", true],
  ['somewhere/a.ts', '', false],
];

describe('the order of the rooms', () => {
  for (const [file, code, isPermitted] of TABLE) {
    test(`${file} ${isPermitted ? 'may' : 'may not'} say: ${code}`, () => {
      assert.equal(refusedLines(upwardImports, SERVER + file, code).length, isPermitted ? 0 : 1);
    });
  }
});

test('the innermost room that a folder belongs to counts', () => {
  assert.equal(
    roomOf(`${SERVER}ingest/formats/sarif/read/rules.decode.ts`),
    'ingest/formats/sarif/read',
  );
  assert.equal(roomOf(`${SERVER}commands/poll/wake.ts`), 'commands');
  assert.equal(roomOf(`${SERVER}app.ts`), null);
});

const file = (place: string, text: string) => ({ path: SERVER + place, text });

test('files that import each other in a circle are refused, as one circle', () => {
  const files = [
    file('keys/a.ts', "import { b } from './b.ts';"),
    file('keys/b.ts', "import { c } from './c.ts';"),
    file('keys/c.ts', "import { a } from './a.ts';"),
    file('keys/d.ts', "import { a } from './a.ts';"),
  ];
  const [circle, ...more] = circles(files);
  assert.equal(circle?.path, `${SERVER}keys/a.ts`);
  assert.match(circle?.message ?? '', /keys\/b\.ts, .*keys\/c\.ts$/);
  assert.deepEqual(more, []);
});

test('a circle of types is refused between rooms, and left alone inside one', () => {
  const within = [
    file('keys/a.ts', "import { b } from './b.ts';"),
    file('keys/b.ts', "import type { A } from './a.ts';"),
  ];
  const between = [
    file('keys/a.ts', "import { b } from '../http/b.ts';"),
    file('http/b.ts', "import type { A } from '../keys/a.ts';"),
  ];
  assert.deepEqual(circles(within), []);
  assert.equal(circles(between).length, 1);
});

test('a folder with more files than fit in one head is refused', () => {
  const inFolder = (count: number) =>
    Array.from({ length: count }, (_, at) => `packages/console/src/components/c${at}.tsx`);
  assert.deepEqual(crowdedFolders(inFolder(FOLDER_FILES_MAX)), []);
  assert.equal(crowdedFolders(inFolder(FOLDER_FILES_MAX + 1)).length, 1);
  const data = Array.from({ length: 40 }, (_, at) => `packages/server/test/golden/${at}.json`);
  assert.deepEqual(crowdedFolders(data), []);
});

test('"Called by" names files that import this one, and nothing else', () => {
  const caller = file('keys/renewal.ts', "import { a } from './a.ts';");
  const thread = file('keys/threads.ts', "new Worker(new URL('./a.ts', import.meta.url));");
  const stranger = file('keys/stranger.ts', '');
  const refusals = (comment: string) => {
    const own = file('keys/a.ts', comment);
    return falseCallers(own, [own, caller, thread, stranger]).length;
  };
  assert.equal(refusals('// Makes keys. Called by renewal.ts and keys/threads.ts.'), 0);
  assert.equal(refusals('// Makes keys. Called by renewal.ts,\n// and keys/threads.ts.'), 0);
  assert.equal(refusals('// Makes keys. Called by stranger.ts.'), 1);
  assert.equal(refusals('// Makes keys. Called by renewal.ts, stranger.ts.'), 1);
  assert.equal(refusals('// Makes keys. Called by the upkeep.'), 1);
  assert.equal(refusals('/** Called by gone.ts. */'), 1);
});
