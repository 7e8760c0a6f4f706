// Paths and addresses of SARIF results, in one form for every spelling.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UploadContext } from '../../../../src/ingest/report/report.rules.ts';
import { decodeSarif, at, onlyDraft, sarif } from '../readers.ts';

const draftAt = (location: unknown, run: object = {}, context: UploadContext = {}) =>
  onlyDraft(decodeSarif(sarif([{ message: { text: 'm' }, locations: [location] }], run), context));
const pathAt = (uri: string, run: object = {}, more: object = {}, context: UploadContext = {}) =>
  draftAt(at(uri, undefined, more), run, context).path;

test('a relative path is decoded once, its slashes and dots are resolved', () => {
  assert.equal(pathAt('./src//a%20b.c'), 'src/a b.c');
  assert.equal(pathAt('%2525doc.txt'), '%25doc.txt');
  assert.equal(pathAt('100%.txt'), '100%.txt');
  assert.equal(pathAt('src\\lib\\..\\x.cs'), 'src/x.cs');
});

test('no path leaves its root', () => {
  for (const uri of [
    '../../etc/passwd',
    'a/../../etc/passwd',
    '%2e%2e/%2e%2e/etc/passwd',
    '..\\..\\etc\\passwd',
  ]) {
    assert.equal(pathAt(uri), 'etc/passwd');
  }
  assert.equal(pathAt('file:///C:/../../x'), 'C:/x');
});

test('a checkout path with a leading slash is relative, a machine path stays recognisable', () => {
  assert.equal(pathAt('/modules/x.tf'), 'modules/x.tf');
  assert.equal(pathAt('/home/ada/x.tf'), '/home/ada/x.tf');
  assert.equal(pathAt('file:////src/x.js'), '/src/x.js');
  assert.equal(pathAt('file:///c:/code/x.c'), 'C:/code/x.c');
  assert.equal(pathAt('c:\\code\\x.c'), 'C:/code/x.c');
  assert.equal(pathAt('C:code\\x.c'), 'code/x.c', 'relative to where the scanner ran');
});

test('the same code on another machine has the same path, where the checkout can be told', () => {
  assert.equal(pathAt('file:///home/runner/work/shop/shop/src/a.ts'), 'src/a.ts');
  assert.equal(pathAt('file:///D:/a/shop/shop/src/a.ts'), 'src/a.ts');
  assert.equal(pathAt('/builds/acme/shop/src/a.ts'), 'src/a.ts');
  assert.equal(pathAt('/github/workspace/src/a.ts'), 'src/a.ts');
  const context = { repositoryUrl: 'https://github.com/acme/Shop.git' };
  assert.equal(pathAt('file:///home/ada/code/shop/src/a.ts', {}, {}, context), 'src/a.ts');
  // First a user who is called like the repository, then a package with its name inside the
  // checkout.
  assert.equal(pathAt('file:///home/shop/src/shop/lib/a.ts', {}, {}, context), 'lib/a.ts');
  assert.equal(pathAt('file:///C:/Users/Shop/shop/a.ts', {}, {}, context), 'a.ts');
  assert.equal(pathAt('file:///home/ada/shop/src/shop/a.py', {}, {}, context), 'src/shop/a.py');
  const invocations = [{ workingDirectory: { uri: 'file:///home/ada/code/' } }];
  assert.equal(pathAt('file:///home/ada/code/src/a.ts', { invocations }), 'src/a.ts');
});

test('base ids are followed to their root; loops and unknown ids end there', () => {
  const originalUriBaseIds = {
    ROOT: { uri: 'file:///home/ada/code' },
    SRC: { uri: 'src/', uriBaseId: 'ROOT' },
    LOOP: { uri: 'x/', uriBaseId: 'LOOP' },
    ONE: { uri: 'one/', uriBaseId: 'TWO' },
    TWO: { uri: 'two/', uriBaseId: 'ONE' },
    WEB: { uri: 'https://github.com/acme/shop/blob/main/' },
  };
  const under = (uriBaseId: string, uri = 'a.ts') =>
    pathAt(uri, { originalUriBaseIds }, { uriBaseId });
  assert.equal(under('ROOT'), 'a.ts');
  assert.equal(under('SRC'), 'src/a.ts');
  assert.equal(under('WEB'), '%WEB%/a.ts');
  assert.equal(under('constructor'), '%constructor%/a.ts');
  assert.equal(under('LOOP'), 'x/a.ts');
  assert.equal(under('ONE'), 'two/one/a.ts');
  assert.equal(under('SRC', 'file:///home/ada/code/lib/b.ts'), 'lib/b.ts');
});

test('files of base ids that lie below one root are told apart', () => {
  const originalUriBaseIds = {
    '%SRCROOT%': { uri: 'file:///home/ada/shop/' },
    LIB: { uri: 'file:///home/ada/shop/lib/' },
    HOME: { uri: 'file:///home/ada/' },
  };
  const under = (uriBaseId: string, ids: object = originalUriBaseIds) =>
    pathAt('a.ts', { originalUriBaseIds: ids }, { uriBaseId });
  assert.equal(under('%SRCROOT%'), 'a.ts');
  assert.equal(under('LIB'), 'lib/a.ts');
  assert.equal(under('HOME'), '%HOME%/a.ts', 'what is above the root is no part of the checkout');
  assert.equal(
    under('HOME', { '%SRCROOT%': originalUriBaseIds['%SRCROOT%'], HOME: originalUriBaseIds.HOME }),
    '%HOME%/a.ts',
  );
  const { LIB } = originalUriBaseIds;
  assert.equal(under('LIB', { LIB }), 'a.ts', 'nothing else to tell it from');
});

test('files of roots that have nothing to do with each other are told apart by base id, on every machine', () => {
  const path = (uriBaseId: string, uris: object, more: object = {}) => {
    const ids = Object.entries(uris).map(([id, uri]) => [id, uri === null ? {} : { uri }]);
    return pathAt('a.c', { originalUriBaseIds: Object.fromEntries(ids), ...more }, { uriBaseId });
  };
  const here = { LIB: 'file:///opt/vendor/lib/', SRC: 'file:///srv/job-17/src/' };
  const there = { LIB: 'file:///C:/lib/', SRC: 'file:///C:/w/18/' };
  for (const machine of [here, there]) {
    assert.equal(path('SRC', machine), 'a.c', 'no other id can mean the checkout');
    assert.equal(path('LIB', machine), '%LIB%/a.c');
  }
  const unnamed = { ONE: 'file:///srv/one', TWO: 'file:///srv/two' };
  assert.equal(path('ONE', unnamed), '%ONE%/a.c');
  assert.equal(path('TWO', unnamed), '%TWO%/a.c');
  assert.equal(
    pathAt('file:///srv/two/a.c', {
      originalUriBaseIds: { ONE: { uri: 'file:///srv/one' }, TWO: { uri: 'file:///srv/two' } },
    }),
    '%TWO%/a.c',
  );
  // An id without a uri, or without a description, stands for its directory.
  assert.equal(path('PROJ1', {}), '%PROJ1%/a.c');
  assert.equal(path('%GOROOT%', {}), '%GOROOT%/a.c');
  assert.equal(path('a/..\\b', {}), '%a-..-b%/a.c');
  for (const id of ['%SRCROOT%', 'SRCROOT', 'solutionDir', 'WORKINGDIR']) {
    assert.equal(path(id, {}), 'a.c');
  }
  const logs = { REPOROOT: null, LOGSROOT: 'file:///C:/logs/' };
  assert.equal(path('REPOROOT', logs), 'a.c');
  assert.equal(path('LOGSROOT', logs), '%LOGSROOT%/a.c');
});

test('the directory that the tool ran in is the checkout only where no base id names the checkout', () => {
  const invocations = ['one', 'two'].map((folder) => ({
    workingDirectory: { uri: `file:///srv/job-17/${folder}` },
  }));
  const uri = 'file:///srv/job-17/two/a.c';
  assert.equal(pathAt(uri, { invocations }), 'two/a.c', 'of several the folder around them');
  const bases = (dir: string) => ({ SRCROOT: { uri: `file:///srv/${dir}` } });
  assert.equal(pathAt(uri, { invocations, originalUriBaseIds: bases('job-17') }), 'two/a.c');
  assert.equal(pathAt(uri, { invocations, originalUriBaseIds: bases('src') }), '%PWD%/two/a.c');
});

test('a file below a base on the web is an address, unless the web shows a repository there', () => {
  const on = (uri: string, id: string, file = 'login.php', more: object = {}) =>
    draftAt(at(file, undefined, { uriBaseId: id }), {
      originalUriBaseIds: { [id]: { uri }, SUB: { uri: 'app/', uriBaseId: id } },
      ...more,
    });
  const draft = on('https://a.example.com/', 'A', 'login.php?q=1');
  assert.equal(draft.path, 'https://a.example.com/login.php');
  assert.deepEqual(draft.identity.content, ['', 'a.example.com/login.php', 'q']);
  assert.equal(on('https://b.example.com', 'SRCROOT', '/x').path, 'https://b.example.com/x');
  const sub = {
    originalUriBaseIds: {
      A: { uri: 'https://a.example.com/' },
      SUB: { uri: 'app/', uriBaseId: 'A' },
    },
  };
  assert.equal(pathAt('x', sub, { uriBaseId: 'SUB' }), 'https://a.example.com/app/x');
  for (const page of [
    'https://github.com/acme/shop/blob/4f2a/',
    'https://git.test/acme/shop/-/blob/4f2a/',
    'https://raw.githubusercontent.com/acme/shop/4f2a/',
  ]) {
    assert.equal(on(page, 'A', 'src/a.c').path, 'src/a.c', 'the commit is no part of a place');
  }
  const versionControlProvenance = [{ repositoryUri: 'https://git.test/acme/shop' }];
  assert.equal(
    on('https://git.test/acme/shop/4f2a/', 'A', 'a.c', { versionControlProvenance }).path,
    'a.c',
  );
});

test('only the root of the analysis’s own repository is left out of paths', () => {
  const run = (bases: object, more: object[] = []) => ({
    originalUriBaseIds: bases,
    versionControlProvenance: [
      { repositoryUri: 'https://git.test/acme/main', mappedTo: { uriBaseId: 'ROOT' } },
      { repositoryUri: 'https://git.test/acme/sub', mappedTo: { uri: 'sub/', uriBaseId: 'ROOT' } },
      ...more,
    ],
  });
  const path = (uri: string, bases: object, context: UploadContext = {}) =>
    pathAt(uri, run(bases), { uriBaseId: 'ROOT' }, context);
  for (const bases of [{ ROOT: { uri: 'file:///srv/job/' } }, { ROOT: {} }, {}]) {
    assert.equal(path('a.c', bases), 'a.c');
    assert.equal(path('sub/a.c', bases), 'sub/a.c');
    const sub = { repositoryUrl: 'https://git.test/acme/sub' };
    assert.equal(path('sub/a.c', bases, sub), 'a.c');
    assert.equal(path('a.c', bases, sub), '%ROOT%/a.c');
    const mirror = { repositoryUrl: 'https://mirror.test/acme/main' };
    assert.equal(path('sub/a.c', bases, mirror), 'sub/a.c', 'the one that holds all others');
  }
});

test('the root of the machine as base id is a root like any other', () => {
  const originalUriBaseIds = { ROOTPATH: { uri: 'file:///' } };
  const path = (uri: string) => pathAt(uri, { originalUriBaseIds }, { uriBaseId: 'ROOTPATH' });
  assert.equal(path('library/ubuntu'), 'library/ubuntu');
  assert.equal(path('home/runner/work/shop/shop/a.tf'), 'a.tf');
});

test('an index leads to the artifact, a uri of the location comes first', () => {
  const artifacts = [{ location: { uri: 'src/listed.c' } }];
  assert.equal(
    draftAt({ physicalLocation: { artifactLocation: { index: 0 } } }, { artifacts }).path,
    'src/listed.c',
  );
  assert.equal(pathAt('own.c', { artifacts }, { index: 0 }), 'own.c');
  assert.equal(
    draftAt({ physicalLocation: { artifactLocation: { index: 9 } } }, { artifacts }).path,
    null,
  );
});

test('a text that names no file is no path, and the finding stays', () => {
  for (const uri of ['', ' ', 'no file associated with this alert', 'unknown-file'])
    assert.equal(pathAt(uri), null);
  assert.equal(draftAt({}).path, null);
  assert.equal(draftAt(null).path, null);
});

test('a web address stays an address, without user, query and fragment', () => {
  const draft = draftAt(
    at('https://ada:pw@shop.test/orders/7?token=abc&q=1#top', { startLine: 3 }),
  );
  assert.equal(draft.path, 'https://shop.test/orders/7');
  assert.deepEqual(draft.identity, {
    kind: 'web',
    content: ['', 'shop.test/orders/{int}', 'q,token'],
  });
  assert.ok(!JSON.stringify(draft).includes('abc') && !JSON.stringify(draft).includes('pw'));
  assert.deepEqual(draftAt(at('host://10.0.0.1')).identity, {
    kind: 'network',
    content: ['10.0.0.1', ''],
  });
});

test('a region without a line is tolerated, lines and columns count from 1', () => {
  const line = (region: object) => draftAt(at('a.c', region)).startLine;
  assert.deepEqual(
    [
      line({}),
      line({ startLine: 0 }),
      line({ charOffset: 5 }),
      line({ startLine: -1 }),
      line({ startLine: 2 }),
    ],
    [null, null, null, null, 2],
  );
  const ends = draftAt(at('a.c', { startLine: 5, endLine: 2 })).detail.locations as {
    end_line?: number;
  }[];
  assert.equal(ends[0]?.end_line, undefined);
});

test('snippet and logical name are the content, embedded source stands in for a snippet', () => {
  const located = (region: object, more: object = {}) =>
    draftAt(
      { physicalLocation: { artifactLocation: { index: 0 }, region }, ...more },
      {
        artifacts: [{ location: { uri: 'a.c' }, contents: { text: 'one\ntwo\nthree\n' } }],
        logicalLocations: [{ fullyQualifiedName: 'ns::f' }],
      },
    ).identity.content;
  assert.deepEqual(located({ startLine: 2, snippet: { text: 'own' } }), ['own', '']);
  assert.deepEqual(located({ startLine: 2 }, { logicalLocations: [{ index: 0 }] }), [
    'two',
    'ns::f',
  ]);
  assert.deepEqual(located({}), ['m']);
});

test('without any content the message is the content, without the numbers of lines', () => {
  const document = sarif([{ message: { text: 'opened on line 146, closed on lines 3-4' } }]);
  const { content } = onlyDraft(decodeSarif(document, {})).identity;
  assert.deepEqual(content, ['opened on line, closed on line']);
});

test('the host localhost is no folder', () => {
  assert.equal(pathAt('file://localhost/home/ada/x.c'), '/home/ada/x.c');
  assert.equal(pathAt('file://localhost2/x.c'), '/localhost2/x.c');
});

test('paths are relative to where the report says that the repository’s root is', () => {
  const run = (mappedTo: object) => ({
    originalUriBaseIds: {
      ROOT: { uri: 'file:///work/' },
      SRC: { uri: 'file:///work/shop/src/' },
      LIB: { uri: 'lib%20a/', uriBaseId: 'SRC' },
    },
    versionControlProvenance: [{ repositoryUri: 'https://x.test/acme/shop', mappedTo }],
  });
  const shop = run({ uri: 'shop', uriBaseId: 'ROOT' });
  assert.equal(pathAt('shop/a.c', shop, { uriBaseId: 'ROOT' }), 'a.c');
  assert.equal(pathAt('a.c', shop, { uriBaseId: 'SRC' }), 'src/a.c');
  assert.equal(pathAt('../a.c', shop, { uriBaseId: 'SRC' }), 'a.c');
  assert.equal(pathAt('x%20y.c', shop, { uriBaseId: 'LIB' }), 'src/lib a/x y.c');
  assert.equal(pathAt('file:///work/shop/src/a.c', shop), 'src/a.c');
  assert.equal(pathAt('a.c', run({ uriBaseId: 'SRC' }), { uriBaseId: 'SRC' }), 'a.c');
  assert.equal(pathAt('a.c', run({ uri: 'file:///work/shop' }), { uriBaseId: 'SRC' }), 'src/a.c');
  // The report says that the repository is elsewhere.
  assert.equal(pathAt('a.c', run({ uriBaseId: 'NONE' }), { uriBaseId: 'SRC' }), '%SRC%/a.c');
  assert.equal(pathAt('a.c', run({ uriBaseId: 'NONE' }), { uriBaseId: 'NONE' }), 'a.c');
});

test('a file in an archive is named after it, however it is referred to', () => {
  const artifacts = [
    { location: { uri: 'dist/app.zip' } },
    { location: { uri: '/lib/a.c' }, parentIndex: 0 },
    { parentIndex: 1 },
    { location: { uri: '../../x' }, parentIndex: 0 },
    { location: { uri: 'loop' }, parentIndex: 4 },
    { location: { uri: 'five' }, parentIndex: 6 },
    { location: { uri: 'six' }, parentIndex: 5 },
  ];
  const path = (artifactLocation: object) =>
    draftAt({ physicalLocation: { artifactLocation } }, { artifacts }).path;
  assert.equal(path({ index: 1 }), 'dist/app.zip!/lib/a.c');
  assert.equal(path({ uri: '/lib/a.c', index: 1 }), 'dist/app.zip!/lib/a.c');
  assert.equal(path({ uri: 'other.c', index: 1 }), 'other.c');
  assert.equal(path({ index: 2 }), 'dist/app.zip!/lib/a.c');
  assert.equal(path({ index: 3 }), 'dist/app.zip!/x');
  assert.equal(path({ index: 4 }), 'loop');
  assert.equal(path({ index: 5 }), 'six!/five');
});

test('embedded source is found by its uri as well as by its index', () => {
  const artifacts = [
    { location: { uri: 'a.c', uriBaseId: 'B' }, contents: { text: 'other' } },
    { location: { uri: 'a.c' }, contents: { text: 'one\ntwo' } },
  ];
  const draft = draftAt(at('a.c', { startLine: 2 }), { artifacts });
  assert.equal(draft.identity.content[0], 'two');
});
