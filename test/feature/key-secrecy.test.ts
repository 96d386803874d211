/** Contract §1: a key never appears in a log line, an error, `next_uri` or a metric, whichever way it came. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { makeCommandLine } from './command.ts';

const QRS = new URL('../../bin/qrs.js', import.meta.url).pathname;

async function listening(child: ChildProcess): Promise<string> {
  const [line] = await once(child.stdout?.setEncoding('utf8') ?? assert.fail('no standard output'), 'data');
  return String(line).trim();
}

test('a key is in no log line, metric, error or address, whichever way it came', { timeout: 180_000 }, async (t) => {
  const qrs = await makeCommandLine(t);
  // The service below has the real clock.
  qrs.now = Date.now();
  await qrs.get('users', 'add', 'ann');
  const key = await qrs.get('keys', 'create', '--user', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  assert.equal((await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n2\n')).code, 0);
  const env = { ...process.env, ...qrs.catalog, QRS_DATA_DIR: qrs.dataDir, QRS_PORT: '0', QRS_LOG_LEVEL: 'debug' };
  const child = spawn(process.execPath, [QRS, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const log = text(child.stderr);
  const url = await listening(child);

  const wrong = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
  const told: string[] = [];
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(url + path, { headers });
    told.push(JSON.stringify([...answer.headers]), await answer.text());
    return answer.status;
  };
  const results = '/v1/query/7/results';
  const statuses: number[] = [];
  for (const one of [key, wrong]) {
    for (const path of [`${results}?limit=1`, `${results}?limit=x`, `${results}/csv?limit=1`, '/v1/nothing']) {
      const inAddress = `${path}${path.includes('?') ? '&' : '?'}api_key=${one}`;
      statuses.push(await ask(inAddress), await ask(inAddress.replace('api_key', 'api%5Fkey')));
      for (const name of ['x-service-api-key', 'x-dune-api-key']) statuses.push(await ask(path, { [name]: one }));
      statuses.push(await ask(path, { authorization: `Bearer ${one}` }));
      statuses.push(await ask(path, { referer: `${url}${inAddress}`, 'x-service-api-key': one }));
    }
  }
  assert.deepEqual(
    statuses,
    [200, 400, 200, 404, 401, 401, 401, 401].flatMap((status) => Array<number>(6).fill(status)),
  );
  const metrics = await (await fetch(`${url}/metrics`)).text();
  child.kill('SIGTERM');
  await once(child, 'close');

  const lines = (await log).trimEnd().split('\n');
  assert.ok(lines.length > statuses.length, 'every request is in the log');
  for (const [where, written] of Object.entries({ log: lines.join('\n'), metrics, answers: told.join('\n') })) {
    // Nor a part of it that would be of use.
    for (const one of [key, wrong]) assert.ok(!written.includes(one.slice(0, 20)), where);
  }
});
