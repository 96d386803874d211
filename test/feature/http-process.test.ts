/** `qrs serve` as a process, beside other processes on the same data directory; and how it stops. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { withoutSettings } from '../without-settings.ts';
import { openAnswer, rawRequest } from './http-client.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');

interface Processes {
  /** Runs `qrs` to its end, with this standard input. @returns its standard output without the last line break */
  run(args: readonly string[], input?: string): Promise<string>;
  /** Starts a service on the same data directory, and waits until it listens. @param niceness by how much it gives way to others */
  serve(
    niceness?: number,
  ): Promise<{ readonly url: string; readonly child: ChildProcess; readonly output: () => string }>;
}

async function processes(t: TestContext): Promise<Processes> {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-serve-'));
  const env = { ...withoutSettings(), QRS_PORT: '0', QRS_DATA_DIR: 'data' };
  const children: ChildProcess[] = [];
  t.after(async () => {
    for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
    await rm(cwd, { recursive: true, force: true });
  });
  return {
    async run(args, input = '') {
      const child = spawn(process.execPath, [QRS, ...args], { cwd, env });
      const ended = once(child, 'close');
      child.stdin.end(input);
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      const [code] = await ended;
      assert.equal(code, 0, err);
      return out.replace(/\n$/, '');
    },
    async serve(niceness = 0) {
      const own = [process.execPath, QRS, 'serve'] as const;
      const [program, ...args] = niceness === 0 ? own : (['nice', '-n', String(niceness), ...own] as const);
      const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
      children.push(child);
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (piece: string) => {
          output += piece;
        });
      }
      const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
      assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
      return { url, child, output: () => output };
    },
  };
}

/** The name of each thread of a process, and its `nice` value. */
function threadsOf(pid: number | undefined): readonly { readonly name: string; readonly nice: number }[] {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).flatMap((thread) => {
    const stat = statOf(`${tasks}/${thread}/stat`);
    if (stat === undefined) return [];
    // The name is in parentheses, may hold blanks, and is followed by the fields from the third on.
    const [from, to] = [stat.indexOf('('), stat.lastIndexOf(')')];
    return [{ name: stat.slice(from + 1, to), nice: Number(stat.slice(to + 2).split(' ')[16]) }];
  });
}

/** Undefined where the thread has ended since its folder was listed. */
function statOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const noThreads = existsSync('/proc/self/task') ? false : 'the system does not tell of threads (/proc)';
for (const niceness of [0, 6]) {
  test(`threads that compute give way to the event loop, in a service that gives way to others by ${niceness}`, {
    skip: noThreads,
  }, async (t) => {
    const { run, serve } = await processes(t);
    await run(['users', 'add', 'ann']);
    const { child } = await serve(niceness);
    const threads = threadsOf(child.pid);
    // The tests themselves may give way to others.
    const own = Math.min(19, getPriority() + niceness);
    const pool = threads.filter(({ name }) => name === 'libuv-worker');
    assert.ok(pool.length > 16);
    assert.deepEqual(new Set(pool.map(({ nice }) => nice)), new Set([Math.min(19, own + 5)]));
    assert.deepEqual(threads.find(({ name }) => name === 'MainThread')?.nice, own);
  });
}

test('a result is published by one process, read from another, and its key revoked by a third', async (t) => {
  const { run, serve } = await processes(t);
  await run(['users', 'add', 'ann']);
  const key = await run(['keys', 'create', '--user', 'ann']);
  await run(['queries', 'add', '--id', '7', '--user', 'ann']);
  const { url, child, output } = await serve();
  const get = async (path: string, headers: Readonly<Record<string, string>> = { 'x-service-api-key': key }) => {
    const response = await fetch(url + path, { headers });
    return [response.status, await response.text()] as const;
  };
  assert.equal((await get('/v1/query/7/results'))[0], 404);

  const first = await run(['publish', '-', '--query', '7', '--format', 'csv'], 'n,w\n1,x\n2,\n');
  const [status, body] = await get('/v1/query/7/results');
  assert.equal(status, 200);
  assert.equal(JSON.parse(body).execution_id, first);
  assert.deepEqual(JSON.parse(body).result.rows, [
    { n: 1, w: 'x' },
    { n: 2, w: null },
  ]);
  assert.deepEqual(await get('/v1/query/7/results/csv'), [200, 'n,w\n1,x\n2,\n']);

  const second = await run(['publish', '-', '--query', '7', '--format', 'csv'], 'n,w\n3,y\n');
  assert.equal(JSON.parse((await get('/v1/query/7/results'))[1]).execution_id, second);
  assert.equal((await get(`/v1/execution/${first}/results`))[0], 200);

  await get(`/v1/query/7/results?api_key=${key}&limit=x`, {});
  await get(`/v1/nothing?api_key=${key}`, {});
  await run(['keys', 'revoke', await run(['keys', 'list'])]);
  assert.deepEqual(await get('/v1/query/7/results'), [401, '{"error":"invalid API Key"}']);

  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert(!output().includes(key), 'a key stands in the log');
});

test('SIGTERM: requests in flight are answered to their end, new ones get 503, exit 0', async (t) => {
  const { run, serve } = await processes(t);
  await run(['users', 'add', 'ann']);
  const key = await run(['keys', 'create', '--user', 'ann']);
  await run(['queries', 'add', '--id', '7', '--user', 'ann']);
  const rowCount = 150_000;
  const line = 'x'.repeat(150);
  const csv = `w\n${`${line}\n`.repeat(rowCount)}`;
  await run(['publish', '-', '--query', '7', '--format', 'csv'], csv);
  const { url, child, output } = await serve();
  const path = '/v1/query/7/results/csv?ignore_max_datapoints_per_request=true';
  const answer = await openAnswer(url, path, { 'x-service-api-key': key });
  await once(answer, 'readable');
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  while (!output().includes('stopping')) await once(child.stderr ?? child, 'data');
  const refused = await rawRequest(url, path, { 'x-service-api-key': key });
  assert.deepEqual([refused.status, refused.headers['x-error-code']], [503, 'shutting_down']);
  assert.match(refused.headers['retry-after'] ?? '', /^[0-9]+$/);
  assert.deepEqual(Object.keys(JSON.parse(refused.body)), ['error']);
  const body = await text(answer);
  assert.equal(body.length, csv.length);
  assert.deepEqual(await ended, [0, null]);
});
