/**
 * The package as its users get it: packed, installed by npm into an empty folder without a network, its README's programs compiled there by
 * a strict consumer and run against a service. A browser's consumer, who has no types of Node, compiles too.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { programsOf } from '../../../test/feature/docs-blocks.ts';
import { startRunningService } from '../../../test/feature/running-service.ts';

const HOME = join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
const NODE_TYPES = join(dirname(require.resolve('@types/node/package.json')), '..');
const run = promisify(execFile);

async function execute(cwd: string, file: string, args: readonly string[], key = ''): Promise<string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_(?!config_)|NODE_OPTIONS$|NODE_TEST)/.test(name));
  const env = { ...Object.fromEntries(kept), KEY: key };
  const { stdout } = await run(file, [...args], { cwd, env, timeout: 90_000 }).catch((error: { stdout: string }) => {
    throw new Error(`${file} ${args.join(' ')}: ${error.stdout}`, { cause: error });
  });
  return stdout;
}

const BROWSER = `import { QueryResults, type Page } from 'query-results-client';
const client = new QueryResults({ url: 'https://results.example.com', key: 'k' });
export const pages: AsyncGenerator<Page<{ readonly n: bigint }>> = client.pages<{ readonly n: bigint }>({ query: 7 });
`;

test('it installs without a network, compiles and runs', { timeout: 120_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-client-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const packed = await execute(HOME, 'npm', ['pack', '--json', '--silent', '--pack-destination', folder]);
  const [{ filename }] = JSON.parse(packed.replace(/^[^[]*/, '')) as [{ readonly filename: string }];
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  await execute(folder, 'npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)]);
  const files = await readdir(join(folder, 'node_modules/query-results-client'), { recursive: true });
  for (const needed of ['package.json', 'README.md', 'dist/index.js', 'dist/index.d.ts']) {
    assert.ok(files.includes(needed), needed);
  }
  assert.deepEqual(
    files.filter((name) => /^(src|test)\b|tsconfig/.test(name)),
    [],
  );

  const service = await startRunningService(t, { 'shop/orders.csv': 'id,amount\n1,5\n2,7\n' });
  const send = async (path: string, body: object | string, type = 'application/json') => {
    const headers = { 'x-service-api-key': service.key, 'content-type': type };
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(service.url + path, { method: 'POST', headers, body: sent });
    assert.ok(response.ok, await response.text());
  };
  await send('/v1/query', { name: 'Trades', query_id: 100 });
  await send(
    '/v1/query/100/results?types=amount%3Duint256',
    'hash,amount\n0xff,5\n0xc0,12345678901234567890\n',
    'text/csv',
  );
  await send('/v1/query', {
    name: 'Orders',
    query_id: 101,
    query_sql: 'SELECT id::INT AS id FROM shop.orders WHERE id::INT > {{floor}}',
    parameters: [{ key: 'floor', type: 'number' }],
  });
  service.startRunner();

  const programs = programsOf('clients/typescript/README.md');
  const names = programs.map((_, i) => `program-${i}.ts`);
  for (const [i, { text }] of programs.entries()) {
    await writeFile(join(folder, `program-${i}.ts`), text.replaceAll('http://127.0.0.1:8080', service.url));
  }
  await writeFile(join(folder, 'browser.ts'), BROWSER);
  const strict = '--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --module nodenext';
  const compile = async (lib: string, types: readonly string[], sources: readonly string[]) =>
    await execute(folder, process.execPath, [
      TSC,
      ...strict.split(' '),
      '--lib',
      lib,
      '--target',
      'es2022',
      ...types,
      ...sources,
    ]);
  await compile('es2022', ['--types', 'node', '--typeRoots', NODE_TYPES], names);
  await compile('es2022,dom', ['--types', ''], ['browser.ts']);
  const said: string[] = [];
  for (const name of names)
    said.push(await execute(folder, process.execPath, ['--disable-warning=ExperimentalWarning', name], service.key));
  assert.deepEqual(said, ['0xc0 12345678901234567890n\n', "[ { name: 'id', type: 'integer' } ] [ { id: 2 } ]\n"]);
});
