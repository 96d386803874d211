/**
 * Packages of earlier releases, made from the history of this project as `npm pack` made them then. They stand in for published ones, of
 * which there are none yet. Their dependencies are ours, as long as the versions are the same.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const OURS = join(ROOT, 'node_modules');
const MAKING_MILLIS_MAX = 100_000;

/** By the commit that was the last of them. */
export const RELEASES = {
  /** Objects have no hashes of their row groups, and catalogs the first version. */
  withoutBlocks: '625bfdb948891195dd78435b438b83a03be7b3fe',
  /** The last one whose replicas do not write that they run. */
  withoutHeartbeats: '2c5654fa0299ea99b41163160394710e059cd0d1',
  /** The first one whose replicas do. */
  withHeartbeats: '70c59f5cce028cc9f9f8d077161fb9e24300e3e8',
} as const;

/** What tests of them are skipped with: a tarball or a shallow clone has no history. */
export const RELEASES_MISSING = reasonMissing();

function reasonMissing(): string | undefined {
  for (const commit of Object.values(RELEASES)) {
    try {
      execFileSync('git', ['cat-file', '-e', `${commit}^{tree}`], { cwd: ROOT, stdio: 'ignore' });
    } catch {
      return `the history of the project is not here: it takes a clone with the commit ${commit.slice(0, 7)}`;
    }
  }
  return undefined;
}

export interface EarlierRelease extends Disposable {
  /** Its command, to be run by Node. */
  readonly program: string;
}

/** Packs and unpacks it below a folder of its own, which is removed in the end. It takes some seconds of computing. */
export function makeRelease(commit: string): EarlierRelease {
  const folder = mkdtempSync(join(tmpdir(), 'qrs-release-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const source = join(folder, 'source');
    mkdirSync(source);
    const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x'], { cwd: source, input: archive });
    requireSameDependencies(source);
    symlinkSync(OURS, join(source, 'node_modules'));
    run(process.execPath, ['scripts/build.ts'], source);
    run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], source);
    const modules = join(folder, 'node_modules');
    mkdirSync(modules);
    run('tar', ['-xzf', join(folder, 'query-results-service-0.1.0.tgz')], modules);
    const installed = join(modules, 'query-results-service');
    renameSync(join(modules, 'package'), installed);
    symlinkSync(OURS, join(installed, 'node_modules'));
    rmSync(source, { recursive: true });
    return { program: join(installed, 'bin', 'qrs.js'), [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function run(program: string, args: readonly string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], timeout: MAKING_MILLIS_MAX });
}

/** @throws Error naming the first that we have in another version: then the release needs an installation of its own */
function requireSameDependencies(source: string): void {
  const { dependencies } = readJson(join(source, 'package.json'));
  for (const [name, version] of Object.entries(dependencies ?? {})) {
    const ours = readJson(join(OURS, name, 'package.json')).version;
    if (ours !== version) throw new Error(`the release needs ${name} ${version}, and ${ours} is installed`);
  }
}

function readJson(path: string): { readonly version?: string; readonly dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(path, 'utf8'));
}
