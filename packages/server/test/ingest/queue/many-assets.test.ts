// A report about very many assets, on both databases: their stored findings are read some scopes at
// a time, those of large scopes page by page, and each finding is matched only with those of its
// own asset.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Receipt } from '@muster/contract';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import { BACKENDS } from '../../harness.ts';
import { ctisFinding } from '../../http/reports.ts';
import type { Fields } from '../../http/wire.ts';
import { newCaller, openStage, receiptOf, receive, type Stage, workOnce } from '../crash/scene.ts';

/**
 * Findings of each asset: one has more than a page of them, one a good part of a page, the others a
 * few.
 */
const COUNTS = [2100, 600, ...Array.from({ length: 260 }, () => 4)];
const TOTAL = COUNTS.reduce((sum, count) => sum + count, 0);

/** The same findings on each asset, as many as it has, without those that are gone. */
function reportOf(isGone: (asset: number, finding: number) => boolean = () => false): Fields {
  const findings = COUNTS.flatMap((count, asset) =>
    Array.from({ length: count }, (_, number) => number)
      .filter((number) => !isGone(asset, number))
      .map((number) => ctisFinding({ rule: `rule-${number}`, more: { asset_ref: `a${asset}` } })),
  );
  return {
    version: '1.6',
    metadata: { coverage_type: 'full' },
    tool: { name: 'testtool' },
    assets: COUNTS.map((_, asset) => ({
      id: `a${asset}`,
      type: 'host',
      value: `host-${asset}.example`,
    })),
    findings,
  };
}

async function tell(stage: Stage, caller: RunnerCaller, report: Fields): Promise<Receipt> {
  const id = await receive(stage, caller, 'ctis', report);
  const { outcome } = present(await workOnce(stage, () => {}), 'an upload');
  assert.equal(outcome, 'processed');
  stage.clock.advance(3_600_000);
  return await receiptOf(stage, caller, id);
}

for (const backend of BACKENDS) {
  test(`findings of many assets, equal but for their asset, are each known again on ${backend}`, async (t) => {
    const stage = await openStage(backend);
    t.after(async () => await stage.close());
    const caller = await newCaller(stage);
    const first = await tell(stage, caller, reportOf());
    assert.equal(first.findings.created, TOTAL);
    const again = await tell(stage, caller, reportOf());
    assert.deepEqual(again.findings, { ...first.findings, created: 0, unchanged: TOTAL });

    // Every other asset lacks a finding that all others have.
    const isGone = (asset: number, number: number): boolean => asset % 2 === 0 && number % 4 === 3;
    const gone = COUNTS.flatMap((count, asset) =>
      Array.from({ length: count }, (_, number) => number)
        .filter((number) => isGone(asset, number))
        .map((number) => `host-${asset}.example rule-${number}`),
    );
    const less = await tell(stage, caller, reportOf(isGone));
    assert.equal(less.findings.unchanged, TOTAL - gone.length);
    assert.equal(less.resolved, gone.length);
    const resolved = await stage.database
      .tenant(caller.tenantId)
      .selectFrom('finding')
      .innerJoin('asset', 'asset.id', 'finding.asset_id')
      .select(['asset.value', 'rule_id'])
      .where('finding.tenant_id', '=', caller.tenantId)
      .where('status', '=', 'resolved')
      .execute();
    const closed = resolved.map((row) => `${row.value} ${row.rule_id}`);
    assert.deepEqual(new Set(closed), new Set(gone), 'where it is missing, and nowhere else');
    const back = await tell(stage, caller, reportOf());
    assert.equal(back.findings.reopened, gone.length);
    assert.equal(back.findings.unchanged, TOTAL - gone.length);
  });
}
