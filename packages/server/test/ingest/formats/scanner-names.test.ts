// Which tools' reports may come from a scanner, by the names that commands and reports use.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitsTool } from '../../../src/ingest/formats/common/clean-scan.rules.ts';
import { scanContextOf, scanOf } from '../../../src/ingest/formats/common/scan-context.rules.ts';

/** The scanner's name in commands, and the tool's name in its reports. */
const FITTING: readonly (readonly [scanner: string, tool: string])[] = [
  ['semgrep', 'Semgrep OSS'],
  ['semgrep', 'semgrep'],
  ['semgrep-pro', 'Semgrep PRO'],
  ['trivy-fs', 'Trivy'],
  ['trivy-config', 'trivy'],
  ['trivy', 'Trivy Vulnerability Scanner'],
  ['gitleaks', 'gitleaks'],
  ['gitleaks-history', 'Gitleaks'],
  ['nuclei', 'Nuclei'],
  ['codeql', 'CodeQL'],
  ['codeql-java', 'CodeQL'],
  ['codeql', 'CodeQL command-line toolchain'],
  ['zap', 'ZAP'],
  ['zap-baseline', 'OWASP ZAP'],
  ['snyk-code', 'SnykCode'],
  ['snyk-code', 'Snyk Code'],
  ['snyk-open-source', 'Snyk Open Source'],
  ['snyk-oss', 'Snyk Open Source'],
  ['snyk-container', 'Snyk Container'],
  ['snyk-iac', 'Snyk IaC'],
  ['snyk', 'Snyk Open Source'],
  ['grype', 'Grype'],
  ['checkov', 'Checkov'],
  ['bandit', 'Bandit'],
  ['gosec', 'gosec'],
  ['govulncheck', 'govulncheck'],
  ['osv-scanner', 'osv-scanner'],
  ['osv', 'osv-scanner'],
  ['dependency-check', 'OWASP Dependency-Check'],
  ['kics', 'KICS'],
  ['axe', 'axe-core'],
  ['trufflehog', 'TruffleHog'],
  ['veracode-pipeline', 'Veracode Static Analysis Pipeline Scan'],
];

const FOREIGN: readonly (readonly [scanner: string, tool: string])[] = [
  ['snyk-code', 'Snyk Open Source'],
  ['snyk-code', 'Snyk Container'],
  ['snyk-oss', 'SnykCode'],
  ['snyk-iac', 'Snyk Open Source'],
  ['snyk-open-source', 'Snyk Secrets'],
  ['code', 'Snyk Code'],
  ['semgrep', 'Semgrepper'],
  ['trivy-fs', 'Grype'],
  ['gitleaks', 'git'],
  ['dependency-check', 'Dependency-Track'],
  ['owasp', 'OWASP ZAP'],
  ['zap', 'OWASP Dependency-Check'],
  ['codeql', 'CodeScanner'],
  ['', 'Trivy'],
  ['trivy', ''],
  ['-', '-'],
];

test('a scanner fits the tool that it runs, whatever both call themselves', () => {
  for (const [scanner, tool] of FITTING) assert.ok(fitsTool(scanner, tool), `${scanner}: ${tool}`);
});

test('a scanner does not fit another product of the same house, nor a name that merely sounds like its own', () => {
  for (const [scanner, tool] of FOREIGN) assert.ok(!fitsTool(scanner, tool), `${scanner}: ${tool}`);
});

test('a report belongs to the only scan of its runner that fits it', () => {
  const scan = (scanner: string) => scanContextOf(scanner, { scanner }, false);
  const scans = ['snyk-code', 'snyk-container', 'trivy-fs'].map(scan);
  assert.equal(scanOf({ scans }, 'SnykCode')?.commandId, 'snyk-code');
  assert.equal(scanOf({ scans }, 'Snyk Container')?.commandId, 'snyk-container');
  assert.equal(scanOf({ scans }, 'Snyk Open Source'), null);
  assert.equal(scanOf({ scans }, 'Trivy')?.commandId, 'trivy-fs');
});
