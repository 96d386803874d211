/** Installs Chromium for the tests of the explorer, where none is found: Playwright's, or in a CI that is root on Debian, Debian's. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { findBrowser } from '../test/explorer/browser.ts';

const MILLIS_MAX = 300_000;

if (findBrowser() === undefined) {
  const cli = join(dirname(createRequire(import.meta.url).resolve('playwright-core/package.json')), 'cli.js');
  const options = { stdio: 'inherit', timeout: MILLIS_MAX } as const;
  let { status } = spawnSync(process.execPath, [cli, 'install', 'chromium'], options);
  // On somebody's own machine no packages are installed unasked.
  if (status !== 0 && process.env.CI === 'true' && process.getuid?.() === 0) {
    spawnSync('apt-get', ['update', '-qq'], options);
    ({ status } = spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], options));
  }
  process.exitCode = status ?? 1;
}
