/** A process that may open few files refuses requests for that reason, and nothing else goes wrong. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { withoutSettings } from '../without-settings.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');
const CONNECTIONS = 400;
const TURNS = 2;
const ROWS = 5000;

/** A service that may open so many files, with one result: of query 7, from these lines of CSV. */
async function start(t: TestContext, filesMax: number, settings: Record<string, string>, lines: readonly string[]) {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-files-'));
  t.after(async () => await rm(cwd, { recursive: true, force: true }));
  const env = { ...withoutSettings(), QRS_PORT: '0', QRS_DATA_DIR: 'data', QRS_LOG_LEVEL: 'error', ...settings };
  const run = async (args: readonly string[], input = '') => {
    const child = spawn(process.execPath, [QRS, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.end(input);
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    assert.equal(code, 0);
    return out.trim();
  };
  await run(['users', 'add', 'ann']);
  const key = await run(['keys', 'create', '--user', 'ann']);
  await run(['queries', 'add', '--id', '7', '--user', 'ann']);
  await run(['publish', '-', '--query', '7', '--format', 'csv'], `${lines.join('\n')}\n`);
  const limited = ['-c', `ulimit -n ${filesMax}; exec "$@"`, 'sh', process.execPath, QRS, 'serve'];
  const child = spawn('sh', limited, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];

  const get = async (path: string, agent?: Agent) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
    const sent = request(url + path, { agent, headers: { 'x-service-api-key': key } }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
    });
    sent.on('error', reject);
    sent.end();
    return await promise;
  };
  return { get, dataDir: join(cwd, 'data') };
}

test('400 connections where 256 files may be open are refused with 503 or not let in, never 500, and all is well after', async (t) => {
  const lines = ['n', ...Array.from({ length: ROWS }, (_, n) => String(n))];
  const { get } = await start(t, 256, { QRS_HEAVY_READS_PER_KEY: '400' }, lines);
  const counts = new Map<string, number>();
  const count = (outcome: string) => counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const ask = async (connection: number, agent: Agent) => {
    for (let turn = 0; turn < TURNS; turn += 1) {
      const n = connection * TURNS + turn;
      const ways = [
        `offset=${n}&limit=10`,
        `limit=5&filters=n>${n}`,
        `sample_count=${n + 1}`,
        `format=parquet&limit=${n + 1}`,
      ];
      const path = `?${ways[n % ways.length]}`;
      await get(`/v1/query/7/results${path}`, agent).then(
        ({ status, body }) => {
          count(status < 500 || status === 503 ? String(status) : `${status} ${path} ${body}`);
        },
        (error: { code?: string }) => count(error.code ?? 'error'),
      );
    }
  };
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => ask(connection, agent)));
  agent.destroy();
  t.diagnostic(JSON.stringify([...counts]));
  const wrong = [...counts].filter(([outcome]) => !/^(200|503|ECONNRESET)$/.test(outcome));
  assert.deepEqual(wrong, []);
  assert.ok((counts.get('200') ?? 0) >= 100, 'whoever is let in is answered');
  const after = new Agent();
  // The service lets nobody in until it has noticed that the connections of before are closed.
  const letIn = async (): Promise<{ status: number; body: string }> => {
    return await get('/v1/query/7/results?offset=17&limit=1&filters=n>3', after).catch((error: { code?: string }) => {
      if (error.code === 'ECONNRESET') return letIn();
      throw error;
    });
  };
  const { status, body } = await letIn();
  after.destroy();
  assert.equal(status, 200, body);
  assert.deepEqual(JSON.parse(body).result.rows, [{ n: 21 }]);
});

test('of files that are read again and again, no more are kept open than leave enough for requests', async (t) => {
  const names = Array.from({ length: 64 }, (_, column) => `c${column}`);
  const lines = [names, ...Array.from({ length: 100 }, (_, row) => names.map(() => row))].map(String);
  const settings = { QRS_INDEX_USES: '1', QRS_INDEX_ROWS: '1', QRS_ROW_FILES: 'off', QRS_PAGE_CACHE: '0' };
  const { get, dataDir } = await start(t, 90, settings, lines);
  const filterEach = async () => {
    for (const name of names) {
      const { status, body } = await get(`/v1/query/7/results?limit=1&columns=c0&filters=${name}=7`);
      assert.equal(status, 200, body);
      assert.deepEqual(JSON.parse(body).result.rows, [{ c0: 7 }]);
    }
  };
  const indexes = async () => (await readdir(join(dataDir, 'derived'))).filter((name) => name.endsWith('.index'));
  while ((await indexes()).length < names.length) await filterEach();
  await filterEach();
  const { status, body } = await get('/readyz');
  assert.equal(status, 200, body);
});
