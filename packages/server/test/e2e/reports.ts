// The two reports of the end-to-end stories: small enough to be read, written by two scanners of
// one repository.

export const REPOSITORY = 'https://github.com/acme/shop';

const result = (rule: string, path: string, line: number, snippet: string): unknown => ({
  ruleId: rule,
  level: 'error',
  message: { text: `${rule} in ${path}` },
  locations: [
    {
      physicalLocation: {
        artifactLocation: { uri: path },
        region: { startLine: line, snippet: { text: snippet } },
      },
    },
  ],
});

/** Three defects. */
export const SARIF = {
  version: '2.1.0',
  runs: [
    {
      tool: { driver: { name: 'Semgrep', version: '1.90.0' } },
      results: [
        result('eval', 'src/run.js', 12, 'eval(input)'),
        result('eval', 'src/run.js', 40, 'eval(other)'),
        result('sql', 'src/orders.js', 7, 'query("select " + id)'),
      ],
    },
  ],
};

/** One vulnerable dependency and one secret, on the same repository. */
export const CTIS = {
  version: '1.6',
  metadata: { id: 'nightly-7', coverage_type: 'full', branch: { name: 'main' } },
  tool: { name: 'Trivy' },
  assets: [{ id: 'shop', type: 'repository', value: REPOSITORY }],
  dependencies: [
    { name: 'lodash', version: '4.17.20', ecosystem: 'npm', purl: 'pkg:npm/lodash@4.17.20' },
  ],
  findings: [
    {
      type: 'vulnerability',
      title: 'Command injection in lodash',
      severity: 'high',
      rule_id: 'CVE-2021-23337',
      asset_ref: 'shop',
      vulnerability: {
        cve_id: 'CVE-2021-23337',
        package: 'lodash',
        affected_version: '4.17.20',
        purl: 'pkg:npm/lodash@4.17.20',
      },
    },
    {
      type: 'secret',
      title: 'A private key',
      severity: 'critical',
      rule_id: 'private-key',
      asset_ref: 'shop',
      location: { path: 'deploy/key.pem', start_line: 1 },
      secret: { secret_type: 'private_key', masked_value: 'MIIE****' },
    },
  ],
};
