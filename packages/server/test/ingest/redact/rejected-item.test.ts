// The text that is stored of a rejected item: enough to find and mend the item, bounded, and
// without secrets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import fc from 'fast-check';
import { rejectedItemText } from '../../../src/ingest/redact/rejected-item.rules.ts';

test('an item is shown as the JSON that it is', () => {
  assert.equal(rejectedItemText(7), '7');
  assert.equal(rejectedItemText(null), 'null');
  const item = { ruleId: 'r1', locations: [{ uri: 'src/a.js', startLine: 3 }] };
  assert.deepEqual(JSON.parse(rejectedItemText(item)), item);
});

test('texts that quote code or values, and those under the names of credentials, are masked', () => {
  const secret = 'AKIAIOSFODNN7EXAMPLE';
  const text = rejectedItemText({
    snippet: { text: `key = "${secret}"`, lines: [secret, { deeper: secret }] },
    password: secret,
    message: `found password=${secret} in a.js`,
    match: secret,
    properties: { 'X-Api-Key': [secret], value: 12345678 },
  });
  assert.ok(!text.includes(secret) && !text.includes('12345678'), text);
  assert.ok(text.includes('in a.js') || text.includes('found password='), text);
});

test('whatever an item is, its text is bounded and can be stored', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), fc.string({ unit: 'binary' }), (value, name) => {
      const text = rejectedItemText({ [name]: value, long: 'x'.repeat(9000), __proto__: null });
      assert.ok(text.length <= limits.rejectedItemCharsMax);
      assert.ok(text.isWellFormed() && !text.includes('\u0000'));
    }),
  );
  const wide = rejectedItemText(Array.from({ length: 100_000 }, (_, n) => `item ${n}`));
  assert.ok(wide.length <= limits.rejectedItemCharsMax && wide.includes('…'));
});
