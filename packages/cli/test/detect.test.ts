// A file is recognised as SARIF or CTIS by its content.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../src/errors.ts';
import { detect, topMembers } from '../src/upload/detect.ts';

const of = (text: string, name = 'report.json') => detect(Buffer.from(text), name);

test('SARIF is known by runs, by its schema or by version 2', () => {
  assert.equal(of('{"version":"2.1.0","runs":[]}'), 'sarif');
  assert.equal(of('{"runs":[{"tool":'), 'sarif');
  assert.equal(of('{"$schema":"https://json.schemastore.org/sarif-2.1.0.json"'), 'sarif');
  assert.equal(of('{ "version" : "2.1.0"'), 'sarif');
});

test('CTIS is known by findings, metadata, assets or version 1, flat or wrapped', () => {
  assert.equal(of('{"version":"1.3","metadata":{}'), 'ctis');
  assert.equal(of('{"findings":[]}'), 'ctis');
  assert.equal(of('{"report":{"version":"1.0"'), 'ctis');
  assert.equal(of('{"version":"1.0"'), 'ctis');
});

test('Gitleaks is known by the first finding of its list, an empty list by its name', () => {
  assert.equal(of('[\n {"RuleID":"aws","File":"a"}]'), 'gitleaks');
  assert.equal(of('[]', 'gitleaks-report.json'), 'gitleaks');
  assert.throws(() => of('[]'), /--format gitleaks/);
  assert.throws(() => of('[{"ruleId":"a"}]'), UsageError);
});

test('Members further inside, and words in texts, decide nothing', () => {
  assert.equal(
    of('{"metadata":{"runs":1,"$schema":"sarif"},"tool":{"name":"\\"runs\\": ["}}'),
    'ctis',
  );
  assert.equal(of('{"properties":{"findings":[{"metadata":{}}]},"runs":[]}'), 'sarif');
});

test('Content beats the name; the name helps where the beginning says nothing', () => {
  assert.equal(of('{"findings":[]}', 'wrong.sarif'), 'ctis');
  const long = `{"properties":{"text":"${'x'.repeat(100)}`;
  assert.equal(of(long, 'scan.sarif'), 'sarif');
  assert.equal(of(long, 'scan.sarif.json'), 'sarif');
  assert.equal(of(long, 'scan-ctis.json'), 'ctis');
  assert.throws(() => of(long), /--format sarif or --format ctis/);
});

test('A byte order mark and blanks before the document are passed over', () => {
  assert.equal(of('\ufeff \n\t{"runs":[]}'), 'sarif');
});

test('What is no JSON object is refused with what to do about it', () => {
  const refused = (bytes: Uint8Array, reason: RegExp) =>
    assert.throws(
      () => detect(bytes, 'report'),
      (error) => error instanceof UsageError && reason.test(error.message),
    );
  refused(Buffer.from(''), /is empty/);
  refused(Buffer.from(' \n'), /is empty/);
  refused(Buffer.from('[]'), /begin with \{/);
  refused(Buffer.from('<html>'), /begin with \{/);
  refused(Buffer.from([0x1f, 0x8b, 8, 0]), /gunzip -c/);
  refused(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), /zstd -dc/);
  refused(Buffer.from('PK\u0003\u0004'), /ZIP/);
  refused(Buffer.from('\ufeff{"runs":[]}', 'utf16le'), /UTF-16/);
  refused(Buffer.from('{"runs":[]}', 'utf16le'), /UTF-16/);
});

test('Members are read as far as the text goes, wherever it is cut', () => {
  const text = '{"a":"x\\"}","b":{"c":[1,{"d":"e"}]},"f":[{"g":"h"}],"i":"j"}';
  const whole = topMembers(text);
  assert.deepEqual(
    [...whole],
    [
      ['a', 'x\\"}'],
      ['b', null],
      ['f', null],
      ['i', 'j'],
    ],
  );
  for (let end = 0; end < text.length; end += 1) {
    for (const name of topMembers(text.slice(0, end)).keys()) assert.ok(whole.has(name), name);
  }
});
