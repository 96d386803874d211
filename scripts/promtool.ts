/**
 * Prometheus' promtool, for the test of packaging/alerts.yml: the one on the path, else the one of Debian's package `prometheus`, which
 * `node scripts/promtool.ts` fetches and unpacks into the user's cache without installing it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './venv.ts';

const HOME = join(CACHE, 'promtool');
const UNPACKED = join(HOME, 'usr/bin/promtool');
const FETCH_MILLIS = 300_000;

/** The program; undefined when it is not there. */
export function findPromtool(): string | undefined {
  if (spawnSync('promtool', ['--version']).status === 0) return 'promtool';
  return existsSync(UNPACKED) ? UNPACKED : undefined;
}

function fetchPromtool(): string {
  const present = findPromtool();
  if (present !== undefined) return present;
  const making = `${HOME}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    const options = {
      cwd: making,
      timeout: FETCH_MILLIS,
      stdio: ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'],
    };
    execFileSync('apt-get', ['download', 'prometheus'], options);
    const file = readdirSync(making).find((name) => name.endsWith('.deb'));
    if (file === undefined) throw new Error('apt-get fetched no package');
    execFileSync('dpkg-deb', ['-x', file, '.'], options);
    rmSync(join(making, file));
    renameSync(making, HOME);
    return UNPACKED;
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  try {
    process.stdout.write(`${fetchPromtool()}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
    process.stderr.write(`promtool cannot be had, so its test of the alarms will be skipped: ${reason}\n`);
    process.exitCode = 1;
  }
}
