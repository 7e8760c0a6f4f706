// The console in a real browser against a real server: an operator's actions in it, and the
// promises of its content policy. Controls are found by role and name, as a screen reader finds
// them.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CallInput, call, type Endpoint, endpoints, type ReplyOf } from '@muster/contract';
import { browserMissing, openBrowser, type TestBrowser } from '../../../../tools/browser.ts';
import { startServer, type TestServer } from '../harness.ts';
import { assertBuilt, FINDINGS, HOSTILE_TITLE, handIn, signIn, visit, visitAs } from './visit.ts';

describe('the console', { skip: browserMissing() }, () => {
  let browser: TestBrowser;
  let server: TestServer;

  before(async () => {
    assertBuilt();
    [browser, server] = await Promise.all([openBrowser(), startServer()]);
    await handIn(server);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('says that a wrong token is refused, and puts the cursor back into its field', async () => {
    const { page, assertNoFaults } = await visit(browser, server);
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await signIn(page, 'mst_op_wrong');
    const alert = page.getByRole('alert').filter({ hasText: 'does not accept this token' });
    await alert.waitFor();
    assert.match((await alert.textContent()) ?? '', /unauthorized, request [0-9a-f-]{36}/);
    const field = page.getByLabel('Operator token');
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await field.and(page.locator(':focus')).waitFor();
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
    assertNoFaults(1);
  });

  test('tells a runner key from an operator token without asking the server', async () => {
    const { page, assertNoFaults } = await visit(browser, server);
    await signIn(page, server.runnerKey);
    await page.getByRole('alert').filter({ hasText: 'This is a runner key' }).waitFor();
    assertNoFaults();
  });

  test('keeps the token in the session storage only, and forgets it on signing out', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server);
    assert.equal(
      await page.evaluate("sessionStorage.getItem('muster.operator-token')"),
      server.operatorToken,
    );
    assert.equal(await page.evaluate('localStorage.length'), 0);
    assert.equal(await page.evaluate('document.cookie'), '');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'You are signed out' }).waitFor();
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
    assertNoFaults();
  });

  test('gives every page one heading, its title and its mark in the navigation', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server);
    for (const name of ['Findings', 'Uploads', 'Commands', 'Assets', 'Fleet']) {
      const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name });
      await link.click();
      const heading = page.getByRole('heading', { level: 1, name });
      await heading.waitFor();
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
      await heading.and(page.locator(':focus')).waitFor();
      assert.equal(await link.getAttribute('aria-current'), 'page');
      assert.equal(await page.title(), `${name} · Muster`);
    }
    assertNoFaults();
  });

  test('leads the keyboard past the navigation with its first link', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/findings' });
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Findings' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
    assert.equal(await page.evaluate('location.hash'), '#/findings');
    assertNoFaults();
  });

  test('shows findings worst first, and all of them page by page', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/findings' });
    const rows = page.getByRole('table', { name: 'findings' }).getByRole('row');
    await page.getByRole('status').filter({ hasText: '50 findings loaded' }).waitFor();
    await rows.nth(1).getByText('critical').waitFor();
    const more = page.getByRole('button', { name: 'Load more findings' });
    await more.click();
    await page.getByRole('status').filter({ hasText: '100 findings loaded' }).waitFor();
    await more.click();
    await page
      .getByRole('status')
      .filter({ hasText: /^101 findings$/ })
      .waitFor();
    assert.equal(await rows.count(), 1 + FINDINGS);
    assert.equal(await more.count(), 0);
    assertNoFaults();
  });

  test('sets a finding to false positive from the list, says so and keeps the keyboard in the page', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/findings' });
    const status = page.getByRole('combobox', { name: 'Status', exact: true });
    await status.selectOption('Open');
    await page
      .getByRole('button', { name: 'Set status of Weak hash number 90', exact: true })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Set the status' });
    await dialog.getByLabel('Status').selectOption('False positive');
    await dialog.getByLabel('Comment').fill('only in a test');
    await dialog.getByRole('button', { name: 'Set status' }).click();
    await page
      .getByRole('status')
      .filter({ hasText: 'Set to false positive: Weak hash number 90' })
      .waitFor();
    // The row has left the list of open findings, and with it the button that had the focus.
    await page.getByRole('heading', { level: 1 }).and(page.locator(':focus')).waitFor();
    await status.selectOption('False positive');
    await page
      .getByRole('status')
      .filter({ hasText: /^1 finding$/ })
      .waitFor();
    await page.getByRole('link', { name: 'Weak hash number 90' }).click();
    await page.getByRole('heading', { level: 1, name: 'Weak hash number 90' }).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'only in a test' }).waitFor();
    assert.equal(
      await page.getByRole('link', { name: 'example.com/weak-hash' }).getAttribute('href'),
      'https://example.com/weak-hash',
    );
    assertNoFaults();
  });

  test('shows what a report says as text: no element and no script link comes of it', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/findings' });
    await page.getByRole('link', { name: HOSTILE_TITLE }).click();
    await page.getByRole('heading', { level: 1, name: HOSTILE_TITLE }).waitFor();
    await page.getByText('javascript:').waitFor();
    assert.equal(await page.locator('main img, main b').count(), 0);
    assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
    assert.equal(await page.title(), `${HOSTILE_TITLE} · Muster`);
    assertNoFaults();
  });

  test('shows an upload with its receipt, whose outcomes add up', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/uploads' });
    await page
      .getByRole('table', { name: 'uploads' })
      .getByRole('rowheader')
      .getByRole('link')
      .click();
    const outcomes = page.getByRole('table', { name: 'Findings of this upload by outcome' });
    await outcomes.waitFor();
    const numbers = await outcomes.locator('td.number').allTextContents();
    const received = numbers.map(Number).pop();
    assert.equal(received, FINDINGS);
    assert.equal(
      numbers.slice(0, -1).reduce((sum, text) => sum + Number(text), 0),
      FINDINGS,
    );
    const runs = page.getByRole('region', { name: '1 run of the report' });
    await runs.getByText('Probe 1.2, did well, exit code 0').waitFor();
    await runs.getByText('nightly/7').waitFor();
    assertNoFaults();
  });

  test('says of an upload that could not be read, or has no runs, that there is nothing to tell of them', async () => {
    const empty = await startServer();
    try {
      for (const body of ['[1, 2', '{"version": "2.1.0", "runs": []}']) {
        await fetch(`${empty.url}/api/v1/agent/ingest/sarif`, {
          method: 'POST',
          headers: { authorization: `Bearer ${empty.runnerKey}` },
          body,
        });
      }
      const { items } = await asOperator(empty, endpoints.listUploads, {});
      const { page, assertNoFaults } = await visitAs(browser, empty, { hash: '#/uploads' });
      for (const [at, sign] of [
        [0, 'The report has no runs.'],
        [1, 'could not be read far enough to tell of its runs'],
      ] as const) {
        await page.goto(`${empty.url}/#/uploads/${String(items[at]?.id)}`);
        await page.getByRole('region', { name: 'Runs of the report' }).getByText(sign).waitFor();
      }
      assertNoFaults();
    } finally {
      await empty.stop();
    }
  });

  test('shows what the tool says beside its format, of a finding and below it, and opens it by keyboard', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/findings' });
    await page.getByRole('link', { name: HOSTILE_TITLE }).click();
    const said = page.getByRole('region', { name: 'What else the tool says' });
    await said.getByText('"team": "blue"').waitFor();
    const below = said.getByText('"effort": "low"');
    assert.equal(await below.isVisible(), false);
    await said.locator('summary').filter({ hasText: '/fixes/0' }).focus();
    await page.keyboard.press('Enter');
    await below.waitFor();
    assertNoFaults();
  });

  test('creates a command, says what is wrong with its payload first, and cancels it', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { hash: '#/commands' });
    await page.getByRole('heading', { name: 'No command yet' }).waitFor();
    await page.getByRole('button', { name: 'New command' }).click();
    const dialog = page.getByRole('dialog', { name: 'New command' });
    await dialog.getByLabel('Runner').selectOption('first-runner');
    await dialog.getByLabel('Payload').fill('{');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'This is not JSON' }).waitFor();
    await dialog
      .getByLabel('Payload')
      .fill('{"scanner": "semgrep", "target": "https://github.com/example/shop"}');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const row = page.getByRole('table', { name: 'commands' }).getByRole('row').nth(1);
    await row.getByText('pending').waitFor();
    await row.getByRole('button', { name: 'Cancel the command scan' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the command' }).click();
    await row.getByText('canceled').waitFor();
    assertNoFaults();
  });

  test('follows a command: why it waits, then its progress, its log line by line and its report', async () => {
    const made = await asOperator(server, endpoints.createCommand, {
      body: {
        type: 'scan',
        payload: { scanner: 'probe', target: 'https://github.com/example/shop' },
        target: { tools: ['probe'] },
      },
    });
    const hash = `#/commands/${made.id}`;
    const { page, assertNoFaults } = await visitAs(browser, server, { hash });
    const reasons = page.getByRole('table', { name: 'What keeps each runner from taking it' });
    await reasons.getByText('It reports no tool probe').waitFor();
    const runner = { baseUrl: server.url, key: server.runnerKey };
    await call(endpoints.heartbeat, { body: { scanners: ['probe'] } }, runner);
    await reasons.getByText('With its next poll').waitFor();
    const params = { id: made.id };
    await call(endpoints.acknowledgeCommand, { params }, runner);
    await call(endpoints.reportProgress, { params, body: { percent: 40 } }, runner);
    await page.getByText('40 %').waitFor();
    const log = page.getByRole('region', { name: 'Log' });
    for (const [offset, line] of ['cloning', 'scanning'].entries()) {
      await call(endpoints.appendLog, { params, body: { offset, lines: [line] } }, runner);
      await log.getByText(line).waitFor();
    }
    const report = {
      version: '2.1.0',
      runs: [{ tool: { driver: { name: 'Probe' } }, results: [] }],
    };
    const headers = {
      authorization: `Bearer ${server.runnerKey}`,
      'x-openctem-command-id': made.id,
    };
    const init = { method: 'POST', headers, body: JSON.stringify(report) };
    const answer = await fetch(`${server.url}/api/v1/agent/ingest/sarif`, init);
    assert.equal(answer.status, 201);
    await call(endpoints.completeCommand, { params, body: { result: { done: true } } }, runner);
    await page.getByRole('region', { name: 'Its report' }).getByText('0 findings').waitFor();
    await page.getByRole('status').filter({ hasText: 'completed' }).waitFor();
    assertNoFaults();
  });

  test('shows what a runner measured, in words beside the charts', async () => {
    const options = { baseUrl: server.url, key: server.runnerKey };
    await call(endpoints.heartbeat, { body: { cpu_percent: 37, memory_percent: 52 } }, options);
    const { page, assertNoFaults } = await visitAs(browser, server);
    await page.getByRole('link', { name: 'first-runner' }).click();
    await page.getByRole('figure').getByText('Processor: last 37 %').waitFor();
    await page.getByRole('combobox', { name: 'Time' }).selectOption('Last 30 days');
    await page.getByRole('figure').getByText('Memory: last 52 %').waitFor();
    assert.equal(await page.locator('canvas').count(), 1);
    assertNoFaults();
  });

  test('shows an online runner that reports an error as unwell, with its message, in list and head', async () => {
    const { api_key: key } = await asOperator(server, endpoints.createRunner, {
      body: { name: 'unwell' },
    });
    const beat = async (body: { status: string; message?: string }): Promise<void> => {
      await call(endpoints.heartbeat, { body }, { baseUrl: server.url, key });
    };
    await beat({ status: 'error', message: 'no space left on /scans' });
    const { page, assertNoFaults } = await visitAs(browser, server);
    const row = page.getByRole('row').filter({ hasText: 'unwell' });
    await row.getByText('no space left on /scans').waitFor();
    assert.deepEqual(await row.locator('.tag').allTextContents(), ['online', 'error']);
    assert.equal(await row.locator('.tone-good').count(), 0, 'it looks well');
    await row.getByRole('link', { name: 'unwell' }).click();
    const head = page.locator('.heading');
    await head.getByText('no space left on /scans').waitFor();
    assert.deepEqual(await head.locator('.tag').allTextContents(), ['online', 'error', 'active']);
    await beat({ status: 'running' });
    await head.getByText('error').waitFor({ state: 'detached' });
    assert.equal(await head.getByText('no space left').count(), 0);
    assertNoFaults();
  });

  test('pauses a runner, drains it and lets it go on', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server);
    await page.getByRole('link', { name: 'first-runner' }).click();
    for (const [action, confirm, state] of [
      ['Pause', 'Pause it', 'paused'],
      ['Drain', 'Drain it', 'draining'],
      ['Resume', 'Let it go on', 'active'],
    ] as const) {
      await page.getByRole('button', { name: `${action}…` }).click();
      await page.getByRole('dialog').getByRole('button', { name: confirm }).click();
      await page.locator('.heading').getByText(state).waitFor();
    }
    assertNoFaults();
  });

  test('rolls a key, shows its successor once, and revokes the old one', async () => {
    const runner = await asOperator(server, endpoints.createRunner, { body: { name: 'rolled' } });
    const { page, assertNoFaults } = await visitAs(browser, server, {
      hash: `#/fleet/${runner.runner.id}`,
    });
    const keys = page.getByRole('table', { name: 'Keys of this runner' });
    await keys.getByRole('button', { name: /^Roll the key/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll this key' });
    await dialog.getByRole('button', { name: 'Make the new key' }).click();
    const shown = await dialog.getByRole('region', { name: 'The new key' }).textContent();
    const options = { baseUrl: server.url, key: String(shown).trim() };
    await call(endpoints.heartbeat, { body: {} }, options);
    await dialog.getByRole('button', { name: 'Done' }).click();
    assert.equal(await page.getByText(options.key).count(), 0);
    await keys.getByRole('button', { name: `Revoke the key ${runner.key.prefix}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click();
    await keys.getByText('revoked').waitFor();
    const old = { baseUrl: server.url, key: runner.api_key };
    await assert.rejects(call(endpoints.heartbeat, { body: {} }, old), { status: 401 });
    assertNoFaults();
  });

  test('is nowhere wider than a screen of 400 px', async () => {
    const { page, assertNoFaults } = await visitAs(browser, server, { width: 400 });
    for (const [name, sign] of [
      ['Findings', '50 findings'],
      ['Uploads', '2 uploads'],
      ['Assets', '1 asset'],
      ['Fleet', '3 runners'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click();
      await page.getByRole('status').filter({ hasText: sign }).waitFor();
      const overhang = 'document.documentElement.scrollWidth - innerWidth';
      assert.equal(await page.evaluate(overhang), 0, name);
    }
    assertNoFaults();
  });

  test('goes back to the sign-in page with the reason when the token is revoked', async () => {
    const doomed = await startServer();
    try {
      const { page } = await visitAs(browser, doomed);
      await revokeOperator(doomed);
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      await page.getByRole('status').filter({ hasText: 'expired or was revoked' }).waitFor();
      assert.equal(await page.evaluate('sessionStorage.length'), 0);
    } finally {
      await doomed.stop();
    }
  });
});

async function asOperator<E extends Endpoint>(
  { url, operatorToken }: TestServer,
  endpoint: E,
  input: CallInput<E>,
): Promise<ReplyOf<E>> {
  return (await call(endpoint, input, { baseUrl: url, key: operatorToken })).body;
}

/** With the token itself: it is the only one. */
async function revokeOperator({ url, operatorToken }: TestServer): Promise<void> {
  const options = { baseUrl: url, key: operatorToken };
  const { body } = await call(endpoints.listKeys, {}, options);
  const own = body.items.find((key) => operatorToken.startsWith(`mst_op_${key.key_id}`));
  assert(own !== undefined);
  await call(endpoints.revokeKey, { params: { id: own.key_id } }, options);
}
