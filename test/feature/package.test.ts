/**
 * The package as its users get it: packed, installed by npm into an empty folder, and used there as a command, as a library and
 * over HTTP. The only test that needs the package registry; without it the test is skipped and says so.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { ProgramFailed, runProgram } from '../run-program.ts';

const ROOT = join(import.meta.dirname, '../..');
const STEP_MILLIS = 90_000;
/** See src/library/node-version.ts. */
const OLDEST_NODE = '22.16.0';
const UNREACHABLE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ENOTCACHED/;

/** Without the variables that npm sets for the scripts it runs, which are about this project and not the folder. */
function cleanEnvironment(): Readonly<Record<string, string | undefined>> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_)|QRS_|NODE_OPTIONS$|NODE_TEST)/.test(name),
  );
  return Object.fromEntries(kept);
}

/** It ends at the latest with the test, as does all that it starts. */
async function execute(t: TestContext, cwd: string, file: string, args: readonly string[]): Promise<string> {
  const signal = AbortSignal.any([t.signal, AbortSignal.timeout(STEP_MILLIS)]);
  return await runProgram(file, args, { cwd, env: { ...cleanEnvironment() }, signal });
}

/** @returns the folder, or why npm could not fill it */
async function install(t: TestContext): Promise<{ readonly folder: string } | { readonly skip: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-package-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const packed: { readonly filename: string }[] = JSON.parse(
    (await execute(t, ROOT, 'npm', ['pack', '--json', '--silent', '--pack-destination', folder])).replace(/^[^[]*/, ''),
  );
  const tarball = join(folder, packed[0]?.filename ?? '');
  await writeFile(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  try {
    await execute(t, folder, 'npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball]);
  } catch (error) {
    if (error instanceof ProgramFailed && UNREACHABLE.test(error.stderr)) {
      return { skip: 'the package registry cannot be reached' };
    }
    throw error;
  }
  return { folder };
}

/** The oldest Node, from the registry; undefined where the registry does not have it for this machine. */
async function oldestNode(t: TestContext, folder: string): Promise<string | undefined> {
  const home = join(folder, 'oldest-node');
  await mkdir(home);
  await writeFile(join(home, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }\n');
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', `node@${OLDEST_NODE}`];
  const installed = await execute(t, home, 'npm', args).catch(() => undefined);
  return installed === undefined ? undefined : join(home, 'node_modules/node/bin/node');
}

/** Starts the service, and waits until it listens. It is stopped with the test at the latest. */
async function serve(t: TestContext, folder: string, args: readonly string[]) {
  const env = { ...cleanEnvironment(), QRS_PORT: '0', QRS_LOG_LEVEL: 'silent' };
  const child: ChildProcess = spawn(process.execPath, [join(folder, 'node_modules/.bin/qrs'), 'serve', ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  assert.ok(child.stdout !== null && child.stderr !== null);
  const { stderr } = child;
  const signal = AbortSignal.timeout(STEP_MILLIS);
  const [url] = (await once(createInterface(child.stdout), 'line', { signal })) as [string];
  const stop = async () => {
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit', { signal });
    return code;
  };
  /** What it has written to standard error, as soon as that matches `pattern`. */
  const saying = async (pattern: RegExp) => {
    while (!pattern.test(said)) await once(stderr, 'data', { signal });
    return said;
  };
  return { url, saying, stop };
}

test('the package works where npm installs it', { timeout: 270_000 }, async (t) => {
  const installed = await install(t);
  if ('skip' in installed) return t.skip(installed.skip);
  const { folder } = installed;
  const home = join(folder, 'node_modules/query-results-service');
  const qrs = async (...args: readonly string[]) =>
    (await execute(t, folder, join(folder, 'node_modules/.bin/qrs'), args)).trim();

  await t.test('it holds what is used, and no sources or tests', async () => {
    const files = await readdir(home, { recursive: true });
    for (const needed of [
      'LICENSE',
      'README.md',
      'dist/main.js',
      'dist/publisher.d.ts',
      'dist/datasets/points/query.sql',
    ])
      assert.ok(files.includes(needed), needed);
    for (const unwanted of ['src', 'test', 'bench', 'scripts']) assert.ok(!files.includes(unwanted), unwanted);
    assert.deepEqual(
      files.filter((file) => /\.test\.|\.map$/.test(file) && !file.startsWith('node_modules')),
      [],
    );
  });

  await t.test('the command: a version, a published file', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    assert.equal((await execute(t, folder, 'npx', ['--no-install', 'qrs', '--version'])).trim(), version);
    await qrs('users', 'add', 'ann');
    await qrs('queries', 'add', '--id', '100', '--user', 'ann');
    await writeFile(join(folder, 'trades.csv'), 'name,amount\nann,12345678901234567890\n');
    assert.match(await qrs('publish', 'trades.csv', '--query', '100', '--types', 'amount=uint256'), /^[0-9A-Z]{26}$/);
  });

  await t.test('the library, with its types', async () => {
    const program = `import { openPublisher, type Execution } from 'query-results-service';
const publisher = await openPublisher({ QRS_DATA_DIR: './data' });
const execution: Execution = await publisher.publish({
  queryId: 100,
  source: { kind: 'file', path: 'trades.csv' },
  types: { amount: 'uint256' },
});
await publisher[Symbol.asyncDispose]();
process.stdout.write(execution.state);
`;
    await writeFile(join(folder, 'publish.ts'), program);
    assert.equal(await execute(t, folder, process.execPath, ['publish.ts']), 'COMPLETED');
    const require = createRequire(join(ROOT, 'package.json'));
    const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
    const types = join(dirname(require.resolve('@types/node/package.json')), '..');
    const options = '--noEmit --strict --module nodenext --target es2024 --lib es2024,esnext.disposable --types node';
    await execute(t, folder, process.execPath, [tsc, ...options.split(' '), '--typeRoots', types, 'publish.ts']);
  });

  await t.test('the library on the oldest Node that it runs on', async (t) => {
    const node = await oldestNode(t, folder);
    if (node === undefined) return t.skip(`Node ${OLDEST_NODE} cannot be had from the package registry`);
    const program = `import { openPublisher } from 'query-results-service';
const publisher = await openPublisher({ QRS_DATA_DIR: './data' });
const rows = [{ amount: 2n ** 200n, at: new Date(0) }, { amount: null }];
const { state } = await publisher.publish({ queryId: 100, source: { kind: 'rows', rows } });
const file = await publisher.publish({ queryId: 100, source: { kind: 'file', path: 'trades.csv' } });
await publisher[Symbol.asyncDispose]();
process.stdout.write([process.version, state, file.state].join(' '));
`;
    await writeFile(join(folder, 'publish.mjs'), program);
    assert.equal(await execute(t, folder, node, ['publish.mjs']), `v${OLDEST_NODE} COMPLETED COMPLETED`);
  });

  await t.test('the service answers, and ends at SIGTERM', async (t) => {
    const key = await qrs('keys', 'create', '--user', 'ann');
    const service = await serve(t, folder, []);
    const response = await fetch(`${service.url}/v1/query/100/results/csv?api_key=${key}`);
    assert.equal(await response.text(), 'name,amount\nann,12345678901234567890\n');
    const page = await (await fetch(`${service.url}/`, { headers: { accept: 'text/html' } })).text();
    const files = [...page.matchAll(/"(\/explorer\/[^"]+)"/g)].map(([, file = '']) => file);
    assert.deepEqual(
      await Promise.all(files.map(async (file) => (await fetch(service.url + file)).status)),
      [200, 200],
    );
    assert.equal(await service.stop(), 0);
  });

  await t.test('the demo: without its files, the datasets are there', async (t) => {
    await rm(join(folder, 'data'), { recursive: true });
    const service = await serve(t, folder, ['--demo']);
    const said = await service.saying(/curated dataset:.*\n.*\n\n/);
    const key = /qrs_[0-9a-z]{40}/.exec(said)?.[0] ?? assert.fail(said);
    const response = await fetch(`${service.url}/v1/restaking/avs-stats?limit=1&api_key=${key}`);
    assert.equal(response.status, 200);
    assert.match(said, /npm package vega-datasets/);
    assert.doesNotMatch(said, /query\/1\/results/);
    assert.equal(await service.stop(), 0);
  });

  await t.test('without the Node that the package brings: the running one, if it is new enough', async () => {
    await rm(join(folder, 'node_modules/node/bin'), { recursive: true });
    assert.match(
      await execute(t, folder, process.execPath, [join(home, 'bin/qrs.js'), '--version']),
      /^\d+\.\d+\.\d+\n$/,
    );
  });
});
