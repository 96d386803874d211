/**
 * The Python client: its own tests, with a real service for those that want one; and its package, built, installed without a network into an
 * empty environment, its README's programs run there. Skipped, with the reason, where there is no Python.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { pythonWithEngines } from '../../../scripts/engines.ts';
import { type RunningService, startRunningService } from '../../../test/feature/running-service.ts';

const HOME = join(import.meta.dirname, '..');
const engines = pythonWithEngines();
const isThere = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;
const python = engines ?? (isThere ? 'python3' : undefined);
const skip = python === undefined && 'no Python 3.9 or later';
const skipPackage = engines === undefined && 'no Python environment with setuptools: npm run setup:engines';

const run = promisify(execFile);
const HUGE = String(2n ** 256n - 1n);
const VALUES = `{"small":1,"big":9223372036854775807,"huge":"${HUGE}","money":"123456789012345678901234567890123456.78","real":0.1,"text":"é","bytes":"0xc0ff","list":["1","${2n ** 255n}",null],"row":{"a, b":9007199254740993,"c":"1","d":[{"e":"${HUGE}"}]},"on":true}
{"small":-1,"money":"0.10","real":"NaN"}
`;
const VALUE_TYPES = {
  small: 'integer',
  big: 'bigint',
  huge: 'uint256',
  money: 'decimal(38, 2)',
  real: 'double',
  bytes: 'varbinary',
  list: 'array(uint256)',
  row: 'row("a, b" bigint, c varchar, d array(row(e uint256)))',
};

async function start(t: TestContext): Promise<RunningService> {
  const service = await startRunningService(
    t,
    { 'shop/orders.csv': 'id,amount\n1,5\n2,7\n' },
    { QRS_MAX_DATAPOINTS: '500' },
  );
  const add = async (query: object) => {
    const { status, body } = await service.send('POST', '/v1/query', query);
    assert.equal(status, 201, JSON.stringify(body));
  };
  const publish = async (id: number, body: string, type: string, types: Readonly<Record<string, string>>) => {
    const declared = new URLSearchParams();
    for (const [name, text] of Object.entries(types)) declared.append('types', `${name}=${text}`);
    const headers = { 'x-service-api-key': service.key, 'content-type': type };
    const response = await fetch(`${service.url}/v1/query/${id}/results?${declared}`, {
      method: 'POST',
      headers,
      body,
    });
    assert.equal(response.status, 201, await response.text());
  };
  await add({ name: 'Values', query_id: 7 });
  await publish(7, VALUES, 'application/x-ndjson', VALUE_TYPES);
  await add({ name: 'Numbers', query_id: 8 });
  const lines = Array.from({ length: 1234 }, (_, n) => `${n},${n % 3 === 0 ? 'base' : 'celo'}\n`).join('');
  await publish(8, `n,chain\n${lines}`, 'text/csv', { n: 'bigint' });
  const query_sql = 'SELECT id::INT AS id, amount::HUGEINT * {{factor}}::HUGEINT AS cost FROM shop.orders ORDER BY id';
  await add({ name: 'Orders', query_id: 9, query_sql, parameters: [{ key: 'factor', type: 'number', value: 1 }] });
  await add({ name: 'Failing', query_id: 10, query_sql: "SELECT error('no such luck') FROM shop.orders" });
  await add({ name: 'Prices', query_id: 11 });
  await publish(11, 'n\n1\n', 'text/csv', {});
  service.commandLine.now = Date.parse('2024-03-05T22:00:00Z');
  await publish(11, 'n\n2\n', 'text/csv', {});
  service.startRunner();
  return service;
}

test('its tests pass, against a real service', { skip, timeout: 200_000 }, async (t) => {
  assert.ok(python !== undefined);
  const service = await start(t);
  const env = {
    ...process.env,
    PYTHONPATH: [join(HOME, 'src'), join(HOME, 'tests')].join(':'),
    PYTHONDONTWRITEBYTECODE: '1',
    QRS_TEST_URL: service.url,
    QRS_TEST_KEY: service.key,
  };
  const args = ['-W', 'error', '-m', 'unittest', 'discover', '-s', join(HOME, 'tests')];
  const { stderr } = await run(python, args, { env, timeout: 150_000 });
  assert.match(stderr, /^Ran [2-9]\d tests/m);
  if (engines !== undefined) assert.match(stderr, /^OK$/m);
});

test('its package is built and installed, and the programs of its README run', {
  skip: skipPackage,
  timeout: 200_000,
}, async (t) => {
  assert.ok(engines !== undefined);
  const service = await start(t);
  const folder = await mkdtemp(join(tmpdir(), 'qrs-python-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  await cp(HOME, join(folder, 'source'), { recursive: true });
  const pip = async (...args: readonly string[]) =>
    await run(engines, ['-m', 'pip', ...args, '--no-index', '--no-deps', '--quiet', '--disable-pip-version-check']);
  await pip('wheel', '--no-build-isolation', '--wheel-dir', folder, join(folder, 'source'));
  await pip('install', '--target', join(folder, 'site'), join(folder, 'query_results-0.1.0-py3-none-any.whl'));
  const env = { ...process.env, PYTHONPATH: join(folder, 'site'), KEY: service.key };
  const said: string[] = [];
  const readme = await readFile(join(HOME, 'README.md'), 'utf8');
  for (const [, program = ''] of readme.matchAll(/^```python\n(.*?)^```$/gms)) {
    const file = join(folder, 'program.py');
    await writeFile(file, program.replaceAll('http://127.0.0.1:8080', service.url));
    said.push((await run(engines, ['-W', 'error', file], { cwd: folder, env })).stdout);
  }
  assert.deepEqual(said, ['1233 base\n1230 base\n', '2\n', "[{'id': 2, 'cost': 70}]\n"]);
});
