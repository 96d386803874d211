/**
 * An S3 server for the tests of the store on it: `node scripts/versitygw.ts` builds it with Go into the user's cache, outside of the
 * checkout, and prints where it is. Its version is in the folder's name.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './venv.ts';

export const VERSION = 'v1.8.0';
const FOLDER = join(CACHE, `versitygw-${VERSION}`);
const BUILD_MILLIS = 600_000;

/** Undefined when it has not been built. */
export function versitygw(): string | undefined {
  const path = join(FOLDER, 'versitygw');
  return existsSync(path) ? path : undefined;
}

if (import.meta.main) {
  try {
    if (versitygw() === undefined) {
      mkdirSync(FOLDER, { recursive: true });
      execFileSync('go', ['install', `github.com/versity/versitygw/cmd/versitygw@${VERSION}`], {
        stdio: ['ignore', 'ignore', 'inherit'],
        timeout: BUILD_MILLIS,
        env: { ...process.env, GOBIN: FOLDER },
      });
    }
    process.stdout.write(`${versitygw()}\n`);
  } catch (error) {
    process.stderr.write(
      `no S3 server can be built: ${error instanceof Error ? error.message.split('\n')[0] : error}\n`,
    );
    process.exitCode = 1;
  }
}
