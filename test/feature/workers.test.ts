/** `qrs serve --workers`: several processes on one address, which look like one service. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { withoutSettings } from '../without-settings.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');

interface Workers {
  readonly url: string;
  readonly key: string;
  readonly child: ChildProcess;
  /** Where commands run. */
  readonly cwd: string;
  /** The next line of the log that contains this. */
  line(part: string): Promise<string>;
  run(...args: readonly string[]): string;
}

async function serveWith(t: TestContext, settings: Readonly<Record<string, string>>): Promise<Workers> {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-workers-'));
  const env = { ...withoutSettings(), QRS_PORT: '0', QRS_DATA_DIR: 'data', ...settings };
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, [QRS, ...args], { cwd, env, encoding: 'utf8' }).trimEnd();
  run('users', 'add', 'ann');
  const key = run('keys', 'create', '--user', 'ann');
  run('queries', 'add', '--id', '7', '--user', 'ann');
  execFileSync(process.execPath, [QRS, 'publish', '-', '--query', '7', '--format', 'csv'], {
    cwd,
    env,
    input: 'n\n1\n',
  });
  const child = spawn(process.execPath, [QRS, 'serve', '--workers', '2'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(async () => {
    if (child.exitCode === null) child.kill('SIGKILL');
    await rm(cwd, { recursive: true, force: true, maxRetries: 10 });
  });
  const lines: string[] = [];
  const log = createInterface(child.stderr).on('line', (line) => lines.push(line));
  const line = async (part: string): Promise<string> => {
    for (;;) {
      const found = lines.findIndex((one) => one.includes(part));
      if (found >= 0) return lines.splice(found, 1)[0] ?? '';
      await once(log, 'line');
    }
  };
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { url, key, child, cwd, line, run };
}

/** Each request on a connection of its own, so that the workers take turns. */
async function ask(url: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
  const asked = request(url, { method, headers, agent: new Agent({ keepAlive: false }) }).end();
  const [response] = await once(asked, 'response');
  return { status: response.statusCode as number, body: await text(response) };
}

/** An answer that goes on only while it is read: much more than all buffers on its way hold. */
async function begun(url: string) {
  const asked = request(url, { agent: new Agent({ keepAlive: false }) }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response;
}

/** Begins two, one of each worker, since these take turns. */
async function longAnswers({ url, key, cwd, run }: Workers): Promise<readonly IncomingMessage[]> {
  await writeFile(join(cwd, 'long.csv'), `w\n${`${'x'.repeat(200)}\n`.repeat(200_000)}`);
  run('queries', 'add', '--id', '8', '--user', 'ann');
  run('publish', 'long.csv', '--query', '8');
  const long = `${url}/v1/query/8/results?ignore_max_datapoints_per_request=true&api_key=${key}`;
  return [await begun(long), await begun(long)];
}

/** The processes that answer. */
function workersOf(child: ChildProcess): readonly number[] {
  return execFileSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number);
}

/** Asks until the run has its result. */
async function completed(results: string, key: string): Promise<void> {
  for (;;) {
    const { body } = await ask(results, { 'x-service-api-key': key });
    const { state, result } = JSON.parse(body);
    if (state === 'QUERY_STATE_COMPLETED') return assert.deepEqual(result.rows, [{ n: 42 }]);
    assert.match(state, /^QUERY_STATE_(PENDING|EXECUTING)$/, body);
  }
}

async function metricsOf(url: string): Promise<ReadonlyMap<string, number>> {
  const { body } = await ask(`${url}/metrics`);
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

test('two workers answer as one service: metrics and usage are sums, and a revoked key is refused by both', async (t) => {
  const { url, key, child, run } = await serveWith(t, { QRS_USAGE_INTERVAL: '0.1' });
  const results = `${url}/v1/query/7/results`;
  for (let i = 0; i < 6; i++) assert.equal((await ask(results, { 'x-service-api-key': key })).status, 200);
  const metrics = await metricsOf(url);
  assert.equal(metrics.get('qrs_workers'), 2);
  assert.equal(metrics.get('qrs_http_requests_total{route="/v1/query/:id/results",status="200"}'), 6);
  assert.equal(metrics.get('qrs_rows_total'), 6);
  // Both read it from the catalog, so it is not summed.
  assert.equal(metrics.get('qrs_publishing_under_way'), 0);
  // A refresh each quarter of an hour, whoever tells of it.
  assert.equal(metrics.get('qrs_dataset_period_seconds{dataset="avs-stats"}'), 900);
  run('keys', 'revoke', run('keys', 'list'));
  for (let i = 0; i < 4; i++) assert.equal((await ask(results, { 'x-service-api-key': key })).status, 401);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  const [used] = JSON.parse(run('usage', '--json')) as [{ readonly requests: number }];
  assert.equal(used.requests, 6);
});

test('runs asked of both workers are run once each', async (t) => {
  const { url, key, run, cwd } = await serveWith(t, {});
  const write = run('keys', 'create', '--user', 'ann', '--scope', 'write');
  await writeFile(join(cwd, 'answer.sql'), 'select 42 as n');
  run('queries', 'add', '--id', '8', '--user', 'ann', '--sql', 'answer.sql');
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) {
    const { status, body } = await ask(`${url}/v1/query/8/execute`, { 'x-service-api-key': write }, 'POST');
    assert.equal(status, 200, body);
    ids.push(JSON.parse(body).execution_id);
  }
  for (const id of ids) await completed(`${url}/v1/execution/${id}/results`, key);
  assert.equal((await metricsOf(url)).get('qrs_runs_total{outcome="completed"}'), 4);
});

test("a key's burst is for all workers together", async (t) => {
  const { url, key } = await serveWith(t, { QRS_RATE_LIMIT: '0.001', QRS_RATE_BURST: '20' });
  const statuses: Record<number, number> = {};
  for (let i = 0; i < 60; i++) {
    const { status } = await ask(`${url}/v1/query/7/results`, { 'x-service-api-key': key });
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  assert.deepEqual(statuses, { 200: 20, 429: 40 });
});

test('a killed worker is replaced, and the other answers meanwhile', async (t) => {
  const { url, child, line } = await serveWith(t, {});
  await line('"message":"listening"');
  await line('"message":"listening"');
  const workers = workersOf(child);
  assert.equal(workers.length, 2);
  for (let i = 0; i < 4; i++) assert.equal((await ask(`${url}/v1/nothing`)).status, 401);
  const counted = 'qrs_http_requests_total{route="none",status="401"}';
  assert.equal((await metricsOf(url)).get(counted), 4);
  process.kill(workers[0] ?? 0, 'SIGKILL');
  assert.match(
    await line('another takes its place'),
    /"message":"worker [01] ended \(SIGKILL\); another takes its place"/,
  );
  for (let i = 0; i < 4; i++) assert.equal((await ask(`${url}/healthz`)).status, 200);
  await line('"message":"listening"');
  const metrics = await metricsOf(url);
  assert.equal(metrics.get('qrs_workers'), 2);
  // What the killed one had counted is not forgotten.
  assert.equal(metrics.get(counted), 4);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('a worker that takes the place of another has the settings with which the service was started', async (t) => {
  const { url, key, child, cwd, line } = await serveWith(t, {});
  await line('"message":"listening"');
  await line('"message":"listening"');
  await writeFile(join(cwd, 'qrs.env'), 'QRS_FILTER_LENGTH_MAX=1\n');
  const [killed = 0] = workersOf(child);
  process.kill(killed, 'SIGKILL');
  await line('"message":"listening"');
  for (let i = 0; i < 4; i++) {
    const { status } = await ask(`${url}/v1/query/7/results?filters=n%3D1`, { 'x-service-api-key': key });
    assert.equal(status, 200);
  }
});

test('a worker that is asked to stop gets no more connections: the other answers them while its last answer goes out', async (t) => {
  const served = await serveWith(t, { QRS_SHUTDOWN_GRACE: '600' });
  const { url, key, child, line } = served;
  const answers = await longAnswers(served);
  const [stopped = 0] = workersOf(child);
  process.kill(stopped, 'SIGTERM');
  await line('"message":"stopping"');
  for (let i = 0; i < 10; i++) {
    assert.equal((await ask(`${url}/v1/query/7/results`, { 'x-service-api-key': key })).status, 200);
  }
  for (const answer of answers) assert.equal(JSON.parse(await text(answer)).result.rows.length, 200_000);
  await line('ended (exit code 0); another takes its place');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('when all workers are asked to stop, one of them is left to say so', async (t) => {
  const served = await serveWith(t, { QRS_SHUTDOWN_GRACE: '600' });
  const { url, key, child, line } = served;
  const answers = await longAnswers(served);
  for (const worker of workersOf(child)) process.kill(worker, 'SIGTERM');
  await line('"message":"stopping"');
  await line('"message":"stopping"');
  assert.equal((await ask(`${url}/v1/query/7/results`, { 'x-service-api-key': key })).status, 503);
  for (const answer of answers) assert.equal(JSON.parse(await text(answer)).result.rows.length, 200_000);
});

test('a connection that was on its way to a worker that dies is cut', async (t) => {
  const { url, child } = await serveWith(t, {});
  const [hung = 0] = workersOf(child);
  process.kill(hung, 'SIGSTOP');
  // The workers take turns: one of two connections is for the one that hangs.
  const asked = [ask(`${url}/healthz`), ask(`${url}/healthz`)];
  const first = await Promise.race(asked.map(async (one, index) => ({ index, answer: await one })));
  assert.equal(first.answer.status, 200);
  process.kill(hung, 'SIGKILL');
  await assert.rejects(async () => await asked[1 - first.index], { code: 'ECONNRESET' });
});

test('an address that is taken ends the start with exit 1', async (t) => {
  const { url } = await serveWith(t, {});
  const { port } = new URL(url);
  const environment = {
    ...withoutSettings(),
    QRS_PORT: port,
    QRS_DATA_DIR: await mkdtemp(join(tmpdir(), 'qrs-taken-')),
  };
  const taken = spawn(process.execPath, [QRS, 'serve', '--workers', '2'], { env: environment });
  const [err, [code]] = await Promise.all([text(taken.stderr), once(taken, 'close')]);
  assert.equal(code, 1);
  assert.match(err, /port \d+ is taken by another program/);
  assert.match(err, /error: worker [01] ended before it listened \(exit code 1\); it said why above/);
  await rm(environment.QRS_DATA_DIR, { recursive: true, force: true });
});
