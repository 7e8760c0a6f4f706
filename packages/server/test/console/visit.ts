// The parts that the console's tests share: a page of the real console that is watched for faults,
// and a report to look at.

import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from '@muster/contract';
import type { Page } from 'playwright-core';
import type { TestBrowser } from '../../../../tools/browser.ts';
import type { TestServer } from '../harness.ts';

const CONSOLE = fileURLToPath(new URL('../../../console/', import.meta.url));

/**
 * The server serves the built console: with a build older than the sources these tests would prove
 * nothing.
 */
export function assertBuilt(): void {
  const builtMs = statSync(path.join(CONSOLE, 'dist/index.html'), {
    throwIfNoEntry: false,
  })?.mtimeMs;
  const sources = globSync(['src/**/*.*', 'index.html', 'vite.config.ts'], { cwd: CONSOLE });
  const newestMs = Math.max(...sources.map((file) => statSync(path.join(CONSOLE, file)).mtimeMs));
  assert(
    builtMs !== undefined && builtMs >= newestMs,
    'the console is not built from its present sources: npm run build -w @muster/console',
  );
}

export interface Visit {
  readonly page: Page;
  /**
   * Fails if the page has logged an error, thrown, broken its content policy or asked another
   * origin. A refused request is logged by the browser itself: `refusals` says how many there
   * should be.
   */
  assertNoFaults(refusals?: number): void;
}

const REFUSED = /^Failed to load resource: the server responded with a status of 401/;

/** Opens the console in a storage of its own. */
export async function visit(
  browser: TestBrowser,
  server: TestServer,
  options: { readonly width?: number; readonly hash?: string } = {},
): Promise<Visit> {
  const viewport = { width: options.width ?? 1200, height: 800 };
  // Without a locale a headless browser may name its language in a way that no reader's browser
  // does.
  const page = await browser.newPage({ viewport, locale: 'en-US' });
  const faults: string[] = [];
  let refused = 0;
  page.on('console', (message) => {
    if (REFUSED.test(message.text())) refused += 1;
    else if (message.type() === 'error' || message.type() === 'warning')
      faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== server.url) faults.push(`asked ${request.url()}`);
  });
  await page.exposeFunction('reportViolation', (text: string) => faults.push(text));
  await page.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    reportViolation('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`);
  await page.goto(`${server.url}/${options.hash ?? ''}`);
  return {
    page,
    assertNoFaults(refusals = 0) {
      assert.deepEqual(faults, []);
      assert.equal(refused, refusals, 'requests that were refused with 401');
    },
  };
}

/** The same, signed in. */
export async function visitAs(
  browser: TestBrowser,
  server: TestServer,
  options: { readonly width?: number; readonly hash?: string } = {},
): Promise<Visit> {
  const visited = await visit(browser, server, options);
  await signIn(visited.page, server.operatorToken);
  await visited.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return visited;
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Operator token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** One more than two pages of the list, so that "load more" has something to do twice. */
export const FINDINGS = 2 * limits.pageLimitDefault + 1;

/** A title that tries to become an element, and to run: it must stay a text. */
export const HOSTILE_TITLE = '<img src=x onerror="document.title=\'taken\'"> <b>bold</b>';
export const HOSTILE_LINK = 'javascript:document.title="taken"';

/**
 * Hands in a report with the runner's key: one critical finding that is hostile, the others of
 * medium severity.
 */
export async function handIn(server: TestServer): Promise<void> {
  const about = 'repository_url=https://github.com/example/shop&branch=main';
  const response = await fetch(`${server.url}/api/v1/agent/ingest/sarif?${about}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.runnerKey}` },
    body: JSON.stringify(report()),
  });
  assert.equal(response.status, 201);
}

function report() {
  const place = (uri: string, startLine: number) => [
    { physicalLocation: { artifactLocation: { uri }, region: { startLine } } },
  ];
  const rules = [
    { id: 'hostile', helpUri: HOSTILE_LINK, properties: { 'security-severity': '9.9' } },
    { id: 'weak-hash', helpUri: 'https://example.com/weak-hash' },
  ];
  const usual = Array.from({ length: FINDINGS - 1 }, (_, index) => ({
    ruleId: 'weak-hash',
    level: 'warning',
    message: { text: `Weak hash number ${index}` },
    locations: place(`src/file-${index}.ts`, index + 1),
  }));
  const hostile = {
    ruleId: 'hostile',
    level: 'error',
    message: { text: HOSTILE_TITLE },
    locations: place('src/hostile.ts', 7),
    properties: { team: 'blue' },
    fixes: [{ properties: { effort: 'low' } }],
  };
  const run = {
    tool: { driver: { name: 'Probe', version: '1.2', rules } },
    automationDetails: { id: 'nightly/7' },
    invocations: [{ executionSuccessful: true, exitCode: 0 }],
  };
  return {
    version: '2.1.0',
    runs: [{ ...run, results: [hostile, ...usual] }],
  };
}
