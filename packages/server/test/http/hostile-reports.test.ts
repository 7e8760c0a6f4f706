// Reports made to choke the server or to be misread (contract §2, §5), handed in over HTTP: each is
// refused with its place, or all of its good items are read, and the next report is read as if
// nothing had been.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type ErrorCode, errors, limits, type Receipt } from '@muster/contract';
import { type Answer, type Fields, ok, problemOf, send } from './wire.ts';
import { startWorld, type World } from './world.ts';

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

const post = async (
  body: string | Buffer | readonly Buffer[],
  headers: Record<string, string> = {},
): Promise<Answer> =>
  await send(world.url, {
    method: 'POST',
    path: '/api/v1/agent/ingest',
    key: world.own.runner.key,
    headers,
    body: typeof body === 'string' ? Buffer.from(body) : body,
  });

/**
 * The job of a report that takes longer than its request waits: on a busy machine any may. Null:
 * the answer says how the report ended.
 */
async function endedJob(answer: Answer): Promise<Fields | null> {
  if (answer.status !== 202) return null;
  const path = `/api/v1/agent/ingest/jobs/${String(ok(answer, 202)['upload_id'])}?wait=60`;
  for (;;) {
    const job = ok(await send(world.url, { path, key: world.own.runner.key }));
    if (job['status'] !== 'pending' && job['status'] !== 'processing') return job;
  }
}

async function receiptOf(body: string | Buffer | readonly Buffer[]): Promise<Receipt> {
  const answer = await post(body);
  const job = await endedJob(answer);
  assert.ok(job === null || job['result'] !== undefined, JSON.stringify(job));
  return (job === null ? ok(answer, 201) : job['result']) as unknown as Receipt;
}

/** The problem in which a report ends. */
async function refusalOf(
  body: string | Buffer,
  code: ErrorCode,
  headers: Record<string, string> = {},
): Promise<Fields> {
  const answer = await post(body, headers);
  const job = await endedJob(answer);
  if (job === null) return problemOf(answer, code);
  const problem = (job['error'] ?? {}) as Fields;
  assert.equal(problem['code'], code, JSON.stringify(job));
  assert.equal(problem['status'], errors[code].status);
  return problem;
}

/** For reports that take longer than a request waits, on any machine. */
const LATER = { prefer: 'respond-async' };

const item = (rule: string, more = ''): string =>
  `{"type":"vulnerability","title":"Rule ${rule}","severity":"high","rule_id":"${rule}"${more}}`;

/** A report with these items, and members of its own before and behind them. */
const report = (items: string, before = '', behind = ''): string =>
  `{"version":"1.0","metadata":{},"tool":{"name":"t"}${before},"findings":[${items}]${behind}}`;

const MiB = 1024 * 1024;

describe('bombs', () => {
  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  const encoders: Record<string, (text: string) => Buffer> = {
    gzip: (text) => gzipSync(text),
    zstd: (text) => zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 9 } }),
    deflate: (text) => deflateSync(text),
    br: (text) => brotliCompressSync(text, fast),
  };
  const bombs: Record<string, string> = {
    'between items': report(Array.from({ length: 2048 }, () => `{}${' '.repeat(8192)}`).join()),
    'in one string of an item': report(item('r', `,"message":"${'x'.repeat(16 * MiB)}"`)),
    'in the frame': report(item('r'), `,"x":[${'0,'.repeat(8 * MiB)}0]`),
  };
  for (const [where, text] of Object.entries(bombs)) {
    for (const [encoding, encode] of Object.entries(encoders)) {
      test(`a bomb ${where} in ${encoding} is refused for its ratio`, async () => {
        const bytes = encode(text);
        assert.ok(text.length > bytes.length * limits.decompressionRatioMax);
        await refusalOf(bytes, 'body_too_large', { 'content-encoding': encoding });
      });
    }
  }
});

describe('sizes', () => {
  test('an item over the bound is rejected with its place, its neighbours are kept', async () => {
    const large = item('large', `,"message":"${'x'.repeat(limits.itemBytesMax)}"`);
    const receipt = await receiptOf(report([item('size-1'), large, item('size-2')].join()));
    assert.equal(receipt.outcome, 'partial');
    assert.equal(receipt.findings.created, 2);
    const places = receipt.rejections.map(({ pointer, code }) => [pointer, code]);
    assert.deepEqual(places, [['/findings/1', 'item_too_large']]);
  });

  test('an item that nests too deep is rejected with its place, its neighbours are kept', async () => {
    const nested = item('deep', `,"x":${deep(3).replace('§', '')}`);
    const most = item('most', `,"x":${deep(4).replace('§', '')}`);
    const receipt = await receiptOf(report([item('nest-1'), nested, most, item('nest-2')].join()));
    assert.equal(receipt.findings.created, 3);
    const places = receipt.rejections.map(({ pointer, code }) => [pointer, code]);
    assert.deepEqual(places, [['/findings/1', 'item_too_deep']]);
  });

  test('an item that nests too deep costs its neighbours nothing, whatever else the report has twice', async () => {
    const nested = item('deep-2', `,"x":${deep(3).replace('§', '')}`);
    const twice = `,"findings":[${[item('twice-3'), nested, item('twice-4')].join()}]`;
    const receipt = await receiptOf(report(item('gone-2'), '', twice));
    assert.equal(receipt.findings.created, 2);
    const places = receipt.rejections.map(({ pointer, code }) => [pointer, code]);
    assert.deepEqual(places, [['/findings/1', 'item_too_deep']]);
    const broken = report(`{"x":${'['.repeat(1000)}${']'.repeat(999)}}`, '', twice);
    await refusalOf(broken, 'invalid_json');
  });

  test('beside an item that nests too deep a fault of syntax is told with its own place', async () => {
    const max = limits.jsonDepthMax;
    const deep = '['.repeat(max) + ']'.repeat(max);
    const problem = await refusalOf(report(`${deep},\n\n{"a":tru}`), 'invalid_json');
    assert.match(String(problem['detail']), /line 3, column 9/);
  });

  test('an item that nests too deep and is no JSON refuses the document', async () => {
    const max = limits.jsonDepthMax;
    const crossed = '['.repeat(max) + '}'.repeat(max);
    await refusalOf(report([crossed, item('crossed')].join()), 'invalid_json');
  });

  test('an envelope over the bound is refused', async () => {
    const text = report(item('r'), `,"x":"${'x'.repeat(limits.envelopeBytesMax)}"`);
    await refusalOf(text, 'body_too_large');
  });

  test('a huge string within the bound of an item is cut visibly', async () => {
    const receipt = await receiptOf(report(item('huge', `,"message":"${'x'.repeat(10 * MiB)}"`)));
    assert.equal(receipt.findings.created, 1);
    assert.ok(receipt.warnings.some(({ code }) => code === 'text_cut'));
  });

  test('a million tiny items are judged one by one, and one more is too many', async () => {
    const tiny = (count: number): string => report(Array.from({ length: count }, () => '1').join());
    const problem = await refusalOf(tiny(limits.uploadItemsMax), 'report_refused', LATER);
    const receipt = problem['receipt'] as Receipt;
    assert.equal(receipt.findings.rejected, limits.uploadItemsMax);
    assert.equal(receipt.rejections.length, limits.receiptRejectionsMax);
    await refusalOf(tiny(limits.uploadItemsMax + 1), 'too_many_items', LATER);
  });

  test('a log of very many empty runs is read', async () => {
    const runs = Array.from({ length: 200_000 }, () => '{"results":[]}').join();
    const receipt = await receiptOf(`{"version":"2.1.0","runs":[${runs}]}`);
    assert.equal(receipt.findings.received, 0);
  });

  test('bytes that are not UTF-8 are replaced, and told with the item and the envelope that hold them', async () => {
    const text = report([item('valid'), item('caf\u00ff'), item('plain')].join(), ',"x":"\u00ff"');
    const receipt = await receiptOf([Buffer.from(text, 'latin1')]);
    assert.equal(receipt.findings.created, 3);
    const told = receipt.warnings.filter(({ code }) => code === 'invalid_utf8');
    assert.deepEqual(
      told.map(({ pointer }) => pointer),
      ['', '/findings/1'],
    );
  });

  test('a report that comes byte by byte is read like any other', async () => {
    const bytes = Buffer.from(report([item('bytes-1'), item('bytes-é😀')].join()));
    const receipt = await receiptOf([...bytes].map((byte) => Buffer.from([byte])));
    assert.equal(receipt.findings.created, 2);
  });
});

/** One bracket more than may be nested, with `around` brackets outside. */
const deep = (around: number): string => {
  const count = limits.jsonDepthMax - around + 1;
  return `${'['.repeat(count - 1)}§[${']'.repeat(count)}`;
};

describe('places', { concurrency: 2 }, () => {
  const good = report([item('place-1'), item('place-2')].join());
  /** `§` marks where the text stops being JSON, and isn't sent; columns count UTF-16 code units. */
  const cases: Readonly<Record<string, string>> = {
    'nested too deep in the frame': report(item('r'), `,"x":${deep(1)}`),
    'unterminated in an item': `${good.slice(0, good.length - 9)}§`,
    'unterminated between items': `${report('').slice(0, -2)}1,§`,
    'followed by garbage': `${good}§]`,
    'followed by another document': `${good} §${good}`,
    'broken in an item, and again behind it': report('{"a" §1}').slice(0, -1),
    'broken in an item, and before it': report('{"a" 1}', ',"x" §1'),
    'broken behind characters of several bytes': report('"é😀é" §1'),
    'broken in a list that comes again': `${report('{"a":§x}').slice(0, -1)},"findings":[]}`,
    'broken in a list that is not asked for': report('', ',"runs":[{"results":[§x]}]'),
  };
  for (const [what, marked] of Object.entries(cases)) {
    test(`a report ${what} is refused with its place`, async () => {
      const column = marked.indexOf('§') + 1;
      const { detail, pointer } = await refusalOf(marked.replace('§', ''), 'invalid_json');
      assert.match(String(detail), new RegExp(` at line 1, column ${column}: `));
      assert.equal(pointer, '');
      assert.ok(!String(detail).includes('Rule'), 'the document is not quoted');
    });
  }

  test('UTF-16 is refused, with its mark and without', async () => {
    for (const mark of ['\ufeff', '']) {
      const bytes = Buffer.from(mark + good, 'utf16le');
      await refusalOf(bytes, 'invalid_json');
      await refusalOf(bytes.swap16(), 'invalid_json');
    }
  });
});

test('a credential in the name of a tool is masked in the receipt, as it is with the run', async () => {
  const receipt = await receiptOf(report(item('odd'), '', ',"tool":{"name":"x --token=abc123"}'));
  assert.equal(receipt.tool, 'x --token=***');
});

test('names that come twice are warned about with their place, and the last one counts', async () => {
  const items = `${item('twice-1', ',"a/b":{"x":1,"x":2}')},${item('twice-2')}`;
  const text = report(item('gone'), '', `,"tool":{"name":"u"},"findings":[${items}]`);
  const receipt = await receiptOf(text);
  assert.equal(receipt.tool, 'u');
  assert.equal(receipt.findings.received, 2);
  const warned = receipt.warnings.filter(({ code }) => code === 'member_repeated');
  const places = warned.map(({ pointer }: Fields) => pointer);
  assert.deepEqual(places, ['/tool', '/findings', '/findings/0/a~1b/x']);
});
