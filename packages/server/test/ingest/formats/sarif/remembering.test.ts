// The memory of the SARIF readers about a run: it stays within its bounds, and changes nothing that
// is read.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Warnings } from '../../../../src/ingest/json/warnings.decode.ts';
import { Places } from '../../../../src/ingest/formats/sarif/read/places.decode.ts';
import { RuleBook } from '../../../../src/ingest/formats/sarif/read/rules.decode.ts';
import { decodeSarif, drafts, sarif } from '../readers.ts';

test('results with a rule of their own each get the right rule, however many there are', () => {
  const results = Array.from({ length: 10_050 }, (_, index) => ({
    ruleId: index % 1000 === 999 || index === 10_049 ? 'described' : `made-up-${index}`,
    message: { text: 'm' },
  }));
  const rules = [{ id: 'described', shortDescription: { text: 'It is well known' } }];
  const read = drafts(decodeSarif(sarif(results, {}, { rules })));
  assert.equal(read.at(-1)?.title, 'It is well known');
  assert.equal(read.at(-2)?.ruleId, 'made-up-10048');
});

test('rules are remembered until there are too many of them, and then forgotten', () => {
  const book = new RuleBook(
    { tool: { driver: { rules: [{ id: 'described', name: 'n' }] } } },
    new Warnings(),
  );
  const first = book.of({ ruleId: 'described' });
  assert.equal(book.of({ ruleId: 'described' }), first);
  for (let index = 0; index < 10_000; index += 1) book.of({ ruleId: `made-up-${index}` });
  const again = book.of({ ruleId: 'described' });
  assert.notEqual(again, first);
  assert.deepEqual(again, first);
  assert.equal(book.of({ ruleId: 'described' }), again);
});

test('places are remembered by base id, up to a bound over all of them', () => {
  const originalUriBaseIds = { A: { uri: 'a/' }, B: { uri: 'b/' } };
  const places = new Places({ originalUriBaseIds }, null, new Warnings());
  const first = places.of({ uri: 'x.c', uriBaseId: 'A' });
  assert.equal(places.of({ uri: 'x.c', uriBaseId: 'A' }), first);
  assert.notDeepEqual(
    places.of({ uri: 'x.c', uriBaseId: '?' }),
    places.of({ uri: 'x.c', uriBaseId: '!' }),
  );
  for (let id = 0; id < 60; id += 1) {
    const own = places.of({ uri: 'x.c', uriBaseId: `${id}` });
    assert.equal(places.of({ uri: 'x.c', uriBaseId: `${id}` }), own);
  }
  for (let file = 0; file < 50_000; file += 1) places.of({ uri: `${file}.c`, uriBaseId: 'B' });
  const again = places.of({ uri: 'x.c', uriBaseId: 'A' });
  assert.notEqual(again, first);
  assert.deepEqual(again, first);
});
