// muster me: prints which operator the token speaks for, with its role and tenant. The quickest
// check of a token.

import { endpoints } from '@muster/contract';
import { command } from '../command.ts';

export const me = command({
  name: 'me',
  summary: 'Show who the operator token is',
  operands: [],
  options: {},
  examples: ['muster me', 'muster me --json | jq -r .role'],
  run: async (context) => {
    const operator = await context.operator(endpoints.whoAmI, {});
    const { print } = context;
    print.result(operator, () =>
      print.fields([
        ['Name', operator.name],
        ['Role', operator.role],
        ['Tenant', `${operator.tenant} (${operator.tenant_id})`],
      ]),
    );
  },
});
