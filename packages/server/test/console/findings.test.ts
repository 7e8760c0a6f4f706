// Findings in the console, in a real browser: where the list begins, how it is narrowed to a branch
// by keyboard, what it says when it is empty, and what the tool says of one.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { browserMissing, openBrowser, type TestBrowser } from '../../../../tools/browser.ts';
import { startServer, type TestServer } from '../harness.ts';
import { sarif, sarifResult } from '../http/reports.ts';
import type { Fields } from '../http/wire.ts';
import { assertBuilt, visitAs } from './visit.ts';

const MESSAGE = 'MD5 is used for passwords.\nTake Argon2id instead.';
const DESCRIPTION = 'Fast hashes are guessed fast.';

/** A scan of one branch; everything found has a rule of its own. */
async function scan(server: TestServer, branch: string, found: readonly string[]): Promise<void> {
  const results = found.map((rule) => sarifResult({ rule, path: `src/${rule}.c` }));
  await handIn(server, branch, sarif(results));
}

async function handIn(server: TestServer, branch: string, body: Fields): Promise<void> {
  const about = `repository_url=https://github.com/example/shop&branch=${branch}`;
  const isDefault = branch === 'main' ? '&default_branch=true' : '';
  const response = await fetch(`${server.url}/api/v1/agent/ingest/sarif?${about}${isDefault}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.runnerKey}` },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 201);
}

describe('findings in the console', { skip: browserMissing() }, () => {
  let browser: TestBrowser;
  let server: TestServer;

  before(async () => {
    assertBuilt();
    [browser, server] = await Promise.all([openBrowser(), startServer()]);
    await scan(server, 'main', ['kept', 'fixed']);
    await scan(server, 'feature/login', ['kept', 'fixed', 'added']);
    await scan(server, 'main', ['kept']);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('the list begins with what is active on default branches, and goes on to all of them', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/findings' });
    const rows = page.getByRole('table', { name: 'findings' }).getByRole('rowheader');
    const count = (text: RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor();
    await count(/^1 finding$/);
    assert.match((await rows.allTextContents()).join(), /Rule kept was broken/);
    await page.getByRole('combobox', { name: 'Branches' }).selectOption('All branches');
    await count(/^2 findings$/);
    await page.getByRole('combobox', { name: 'Status', exact: true }).selectOption('All');
    await count(/^3 findings$/);
    await page.getByRole('combobox', { name: 'Branches' }).selectOption('Default branches');
    await count(/^2 findings$/);
    assert.doesNotMatch((await rows.allTextContents()).join(), /Rule added/);
    assertNoFaults();
  });

  test('one branch is named by keyboard; a link to it shows the same, and what is fixed elsewhere', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/findings' });
    const count = (text: RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor();
    await count(/^1 finding$/);
    await page.getByRole('combobox', { name: 'Branches' }).focus();
    await page.keyboard.press('End');
    const name = page.getByRole('searchbox', { name: 'Name of the branch' });
    await name.waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('feature/login');
    await page.keyboard.press('Enter');
    await count(/^3 findings$/);
    await page.getByText('what is fixed there may still be on this one').waitFor();
    await page.reload();
    await count(/^3 findings$/);
    assert.equal(await name.inputValue(), 'feature/login');
    const fixed = page.getByRole('row').filter({ hasText: 'Rule fixed was broken' });
    await fixed.getByText('resolved').waitFor();
    await page.getByRole('combobox', { name: 'Branches' }).selectOption('Default branches');
    await count(/^1 finding$/);
    assert.equal(await name.count(), 0);
    assertNoFaults();
  });

  test('an empty list tells nothing open from nothing at all, and from filters without a match', async () => {
    const other = await startServer();
    try {
      const { page, assertNoFaults } = await visitAs(browser, other, { hash: '#/findings' });
      await page.getByRole('heading', { name: 'No report yet' }).waitFor();
      await scan(other, 'main', []);
      await scan(other, 'feature', ['added']);
      await page.reload();
      await page
        .getByRole('heading', { name: 'Nothing is open on the default branches' })
        .waitFor();
      await page.getByRole('link', { name: 'Show all findings' }).click();
      await page.getByRole('link', { name: 'Rule added was broken' }).waitFor();
      await page.goto(`${other.url}/#/findings?rule_id=added`);
      await page.getByText('Nothing matches these filters').waitFor();
      const everywhere = page.getByRole('link', { name: 'Look in all statuses and branches' });
      await everywhere.click();
      await page.getByRole('link', { name: 'Rule added was broken' }).waitFor();
      await page.goto(`${other.url}/#/findings?rule_id=nothing&status=all&on=all`);
      await page.getByText('Nothing matches these filters').waitFor();
      assert.equal(await everywhere.count(), 0);
      assertNoFaults();
    } finally {
      await other.stop();
    }
  });

  test('the way from an asset leads to as many findings as it counts', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/assets' });
    await page.getByRole('link', { name: '2 open findings of github.com/example/shop' }).click();
    await page
      .getByRole('status')
      .filter({ hasText: /^2 findings$/ })
      .waitFor();
    assertNoFaults();
  });

  test('a finding shows the message of its tool first, before what describes its rule', async () => {
    const rules = [{ id: 'weak', name: 'Weak hash', fullDescription: { text: DESCRIPTION } }];
    const result = { ...sarifResult({ rule: 'weak' }), message: { text: MESSAGE } };
    const driver = { name: 'Told', rules };
    await handIn(server, 'main', sarif([result], { tool: { driver } }));
    for (const width of [1200, 400]) {
      const hash = '#/findings?tool=told';
      const { page, assertNoFaults } = await visitAs(browser, server, { hash, width });
      await page.getByRole('rowheader').getByRole('link').click();
      const message = page.getByRole('region', { name: 'Message' });
      await message.getByText('Take Argon2id instead.').waitFor();
      assert.equal(await message.locator('p').textContent(), MESSAGE);
      const description = page.getByRole('region', { name: 'Description' });
      await description.getByText(DESCRIPTION).waitFor();
      const [first] = await page.locator('main h2').allTextContents();
      assert.equal(first, 'Message');
      const tops = "[...document.querySelectorAll('main section')].map((e) => e.offsetTop)";
      const [top, ...below] = (await page.evaluate(tops)) as number[];
      assert.ok(
        below.every((each) => each > Number(top)),
        `not on top at ${width} px`,
      );
      assertNoFaults();
    }
  });
});
