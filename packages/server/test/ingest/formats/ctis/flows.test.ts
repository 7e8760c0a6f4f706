// Places, data flows and stacks of a CTIS finding (CTIS §2.2, §2.3), as a finding page shows them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FindingDetail } from '@muster/contract';
import { decodeCtis, ctis, onlyDraft } from '../readers.ts';

const FINDING = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };

test('places, steps and frames are shown with all their members', () => {
  const { locations, code_flows, stacks } = onlyDraft(
    decodeCtis(
      ctis([
        {
          ...FINDING,
          location: {
            path: 'a.c',
            branch: 'dev',
            commit_sha: 'c1',
            logical_location: { name: 'f', parent_index: 0 },
          },
          data_flow: {
            sources: [
              {
                path: 'a.c',
                line: 1,
                end_column: 9,
                class: 'C',
                module: 'm',
                parameter_index: 0,
                taint_state: 'tainted',
                label: 'l',
                notes: 'n',
              },
            ],
          },
          stacks: [{ frames: [{ module: 'm', parameters: ['x=1', 'token=abc'] }] }],
        },
      ]),
      {},
    ),
  ).detail as FindingDetail;
  assert.deepEqual(locations, [
    { path: 'a.c', logical: 'f', logical_parent_index: 0, branch: 'dev', commit_sha: 'c1' },
  ]);
  assert.deepEqual(code_flows?.[0]?.steps[0], {
    path: 'a.c',
    start_line: 1,
    end_column: 9,
    message: 'l',
    role: 'source',
    module: 'm',
    facts: { class: 'C', parameter_index: 0, taint_state: 'tainted', notes: 'n' },
  });
  assert.deepEqual(stacks, [{ frames: [{ module: 'm', parameters: ['x=1', 'token=***'] }] }]);
});
