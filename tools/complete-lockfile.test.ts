// Packages that a mirror left out of the lockfile are added, each version where npm would look for
// it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeLock } from './complete-lockfile.ts';

test('a package for another platform is added at the top, a second version of it below the package that asks for it', () => {
  const brings = (version: string) => ({
    version,
    dev: true,
    optionalDependencies: { '@db/linux-x64': `^${version}`, '@db/darwin-arm64': `^${version}` },
  });
  const lock = {
    packages: {
      'node_modules/db': brings('18.4.0'),
      'node_modules/db-15': brings('15.18.0'),
      'node_modules/@db/linux-x64': { version: '18.4.1' },
      'node_modules/db-15/node_modules/@db/linux-x64': { version: '15.18.0' },
    } as Parameters<typeof completeLock>[0]['packages'],
  };
  assert.deepEqual(completeLock(lock), ['@db/darwin-arm64', '@db/darwin-arm64']);
  const added = { dev: true, optional: true, os: ['darwin'], cpu: ['arm64'] };
  const place = 'node_modules/@db/darwin-arm64';
  assert.deepEqual(lock.packages[place], { version: '18.4.0', ...added });
  assert.deepEqual(lock.packages[`node_modules/db-15/${place}`], { version: '15.18.0', ...added });
  assert.deepEqual(completeLock(lock), [], 'nothing is missing any more');
});
