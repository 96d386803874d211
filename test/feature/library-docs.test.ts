/**
 * The library's page is true: its programs compile against the library's types and run, and its errors are the classes that the
 * library exports, each with its own name.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import * as library from '../../src/publisher.ts';
import { programsOf } from './docs-blocks.ts';

const ROOT = join(import.meta.dirname, '../..');
const QRS = join(ROOT, 'bin/qrs.js');
const PAGE = 'docs/reference/library.md';
const run = promisify(execFile);
const programs = [...programsOf(PAGE), ...programsOf('README.md').filter(({ text }) => text.includes('openPublisher'))];

let folder: string;
let service: { readonly child: ChildProcess; readonly url: string; readonly key: string };
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qrs-library-'));
  // A package with the library's name, whose files lie outside of node_modules, where Node runs TypeScript.
  await mkdir(join(folder, 'package'));
  await mkdir(join(folder, 'node_modules'));
  await symlink(join(folder, 'package'), join(folder, 'node_modules/query-results-service'));
  await writeFile(join(folder, 'package/package.json'), '{ "type": "module", "exports": "./index.ts" }');
  await writeFile(join(folder, 'package/index.ts'), `export * from '${ROOT}/src/publisher.ts';\n`);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'trades.csv'), 'amount,hash\n12345678901234567890,0xff\n');
  for (const words of ['users add ann', 'queries add --id 100 --user ann']) await qrs(...words.split(' '));
  const key = await qrs('keys', 'create', '--user', 'ann', '--scope', 'write');
  const env = { ...environment(), QRS_PORT: '0', QRS_LOG_LEVEL: 'silent' };
  const child = spawn(process.execPath, [QRS, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  service = { child, url, key };
});
after(async () => {
  service?.child.kill('SIGTERM');
  if (service?.child.exitCode === null) await once(service.child, 'exit');
  await rm(folder, { recursive: true, force: true });
});

function environment() {
  return { PATH: process.env.PATH, QRS_DATA_DIR: join(folder, 'data') };
}

async function qrs(...words: readonly string[]): Promise<string> {
  return (await run(process.execPath, [QRS, ...words], { env: environment() })).stdout.trim();
}

test('the page has programs', () => assert.ok(programs.length >= 4, `${programs.length} programs`));

test('every program compiles', { timeout: 300_000 }, async () => {
  const files = await Promise.all(
    programs.map(async ({ text }, i) => {
      const file = join(folder, `program-${i}.ts`);
      await writeFile(file, text.replaceAll('http://127.0.0.1:8080', service.url));
      return file;
    }),
  );
  const require = createRequire(import.meta.url);
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
  const types = join(dirname(require.resolve('@types/node/package.json')), '..');
  // The project's own options, like those of a strict consumer.
  const options = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { typeRoots: [types], noUnusedLocals: false },
    include: [],
    files,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options));
  const { stdout } = await run(process.execPath, [tsc, '-p', folder]).catch((error: { stdout: string }) => error);
  assert.equal(stdout, '');
});

for (const [i, { place }] of programs.entries()) {
  test(`${place} runs, and its last run is finished`, async () => {
    const file = join(folder, `program-${i}.ts`);
    const env = { PATH: process.env.PATH, KEY: service.key };
    const { stderr } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
      cwd: folder,
      env,
    });
    assert.doesNotMatch(stderr, /error/i);
    const [execution = ''] = (await qrs('executions', 'list', '--query', '100', '--state', 'COMPLETED')).split('\n');
    assert.match(execution, /^[0-9A-Z]{26}$/);
  });
}

test('the errors of the page are the classes of the library, each with its own name', async () => {
  const [, table = ''] = (await readFile(join(ROOT, PAGE), 'utf8')).split('\n## Errors\n');
  const documented = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const classes = Object.entries(library).filter(([name]) => name !== 'openPublisher');
  assert.deepEqual(classes.map(([name]) => name).sort(), documented.toSorted());
  for (const [name, errorClass] of classes) {
    const error = new (errorClass as new (...words: readonly string[]) => Error)('a', 'b', 'c');
    assert.ok(error instanceof Error);
    assert.equal(error.name, name);
  }
  const promised = await readFile(join(ROOT, 'src/library/publication.ts'), 'utf8');
  const thrown = [...promised.matchAll(/\b([A-Z]\w+(?:Error|Conflict|Transition|Lost))\b/g)].map(([, name]) => name);
  assert.deepEqual(
    thrown.filter((name) => !documented.includes(name)),
    [],
  );
});
