// Validators that are compiled when they are first needed: every schema is a valid one, and faults
// are told as Fastify expects them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointList } from '@muster/contract';
import { buildValidators } from '../../src/http/validators.ts';
import { isTime } from '../../src/http/time-format.ts';

const compile = buildValidators(
  {},
  { customOptions: { coerceTypes: false }, onCreate: (ajv) => ajv.addFormat('date-time', isTime) },
);
const validatorOf = (schema: object) =>
  compile({ schema, method: 'POST', url: '/', httpPart: 'body' } as never);

test('the schema of every endpoint can be compiled', () => {
  let schemas = 0;
  for (const { id, params, query, body } of endpointList) {
    for (const schema of [params, query, body]) {
      if (schema === undefined) continue;
      const { $id: _id, ...anonymous } = schema as { $id?: string };
      assert.doesNotThrow(() => void validatorOf(anonymous)({}), id);
      schemas += 1;
    }
  }
  assert.ok(schemas > endpointList.length / 2);
});

test('a schema is compiled with the first value, and what is wrong stands at the validator', () => {
  const validate = validatorOf({ type: 'object', required: ['name'] });
  assert.equal(validate({}), false);
  assert.equal(validate.errors?.[0]?.keyword, 'required');
  assert.equal(validate({ name: 1 }), true);
  assert.equal(validate.errors, null);
  const broken = validatorOf({ type: 'nonsense' });
  assert.throws(() => void broken({}), /schema is invalid/);
});
