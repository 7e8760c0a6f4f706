// Proves the test browser itself: it starts without any system package, runs a page's script, draws
// the page, and reaches nothing but the loopback.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { browserMissing, openBrowser, type TestBrowser } from './browser.ts';

const PAGE = `<!doctype html><title>Muster</title>
<button onclick="document.querySelector('p').textContent = 'reported in'">report</button><p>absent</p><input type="password" aria-label="key">`;

describe('the test browser', { skip: browserMissing() }, () => {
  let browser: TestBrowser;
  let server: Server;
  let origin: string;

  before(async () => {
    browser = await openBrowser();
    server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(PAGE);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert(address !== null && typeof address === 'object');
    origin = `http://127.0.0.1:${address.port}`;
  });

  after(async () => {
    server.closeAllConnections();
    server.close();
    await browser.close();
  });

  test('loads a page from a local server, and a click runs its script', async () => {
    const page = await browser.newPage();
    await page.goto(origin);
    assert.equal(await page.title(), 'Muster');
    await page.getByRole('button', { name: 'report' }).click();
    assert.equal(await page.locator('p').textContent(), 'reported in');
  });

  test('draws text: a screenshot is a PNG, and not the same with other text on it', async () => {
    const page = await browser.newPage({ viewport: { width: 320, height: 200 } });
    await page.goto(origin);
    const before = await page.screenshot();
    await page.getByRole('button').click();
    const after = await page.screenshot();
    assert.equal(before.toString('latin1', 1, 4), 'PNG');
    assert.notDeepEqual(before, after);
  });

  test('gives each page a storage of its own', async () => {
    const [first, second] = [await browser.newPage(), await browser.newPage()];
    await first.goto(origin);
    await first.evaluate("localStorage.setItem('key', 'first')");
    await second.goto(origin);
    assert.equal(await second.evaluate("localStorage.getItem('key')"), null);
  });

  test('resolves no name outside the loopback', async () => {
    const page = await browser.newPage();
    await assert.rejects(page.goto('http://example.com/'), /ERR_NAME_NOT_RESOLVED/);
  });
});
