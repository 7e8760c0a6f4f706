// Prints what people need after a start: where the console is, how to sign in, and on the first run
// ready-to-paste commands. A restart prints no secret.

import type { FirstRun } from './keys/first-run.ts';

export function welcome(url: string, made: FirstRun | null, host: string): string {
  const lines = ['', `Muster listens on ${url}`, `  console   ${url}/`, `  API       ${url}/docs`];
  if (made === null) {
    lines.push('  sign in with your operator token (lost it? npx muster admin operator-token)', '');
    return lines.join('\n');
  }
  const key = made.runnerKey.expose();
  const insecure = host.startsWith('127.') || host === '::1' || host === 'localhost';
  lines.push(
    '',
    'First run: these secrets are shown once. Keep them.',
    `  operator token   ${made.operatorToken.expose()}   (sign in to the console with it)`,
    `  enrolment token  ${made.enrolmentToken.expose()}   (turns up to 10 machines into runners, 7 days)`,
    `  runner key       ${key}   (of first-runner)`,
    '',
    'Upload a first report, with curl:',
    `  curl -sS -H 'Authorization: Bearer ${key}' --data-binary @examples/first.sarif '${url}/api/v1/agent/ingest/sarif?repository_url=https://github.com/example/shop&branch=main'`,
    '',
    "or with Muster's own command line:",
    `  MUSTER_URL=${url} MUSTER_KEY=${key} npx muster upload --repository https://github.com/example/shop --branch main examples/first.sarif`,
    '',
    'and look at what came in:',
    `  MUSTER_URL=${url} MUSTER_TOKEN=${made.operatorToken.expose()} npx muster findings list`,
    '',
  );
  if (!insecure)
    lines.push('It listens beyond this machine: put TLS in front (docs/operating.md).', '');
  return lines.join('\n');
}
