/**
 * How the command stops. One Ctrl-C may arrive as two signals, one from the terminal and one passed on by npm. When its parent
 * ends, the command ends, too, whatever signal ended the parent.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { sleep } from '../real-time.ts';
import { withoutSettings } from '../without-settings.ts';

const ROOT = join(import.meta.dirname, '../..');
const QRS = join(ROOT, 'bin/qrs.js');

function environment(): Readonly<Record<string, string | undefined>> {
  return { ...withoutSettings(), QRS_PORT: '0', QRS_LOG_LEVEL: 'silent' };
}

for (const signals of [['SIGTERM'], ['SIGINT', 'SIGINT'], ['SIGINT', 'SIGTERM']] as const) {
  test(`${signals.join(' and ')} at once: the service stops in order`, { timeout: 180_000 }, async (t) => {
    const cwd = await mkdtemp(join(tmpdir(), 'qrs-signals-'));
    t.after(async () => await rm(cwd, { recursive: true, force: true }));
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    const child = spawn(process.execPath, [QRS, 'serve'], { cwd, env: environment(), stdio: [...stdio] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data', { signal: AbortSignal.timeout(30_000) });
    for (const signal of signals) child.kill(signal);
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(30_000) });
    assert.equal(code, 0);
  });
}

test('npm start, stopped while it fills the demo, leaves no process behind, and the next start completes the demo', {
  timeout: 300_000,
}, async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-signals-'));
  t.after(async () => await rm(cwd, { recursive: true, force: true }));
  const env = { ...environment(), QRS_DATA_DIR: join(cwd, 'data') };
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  npm.stdout.resume();
  // The demo is begun twice, which takes a busy machine more than a minute.
  const signal = AbortSignal.timeout(240_000);
  for await (const [text] of on(npm.stderr.setEncoding('utf8'), 'data', { signal })) {
    if (String(text).includes('publishing query')) break;
  }
  // Emitted when no process holds the output open any more: neither npm nor what it started.
  const closed = once(npm, 'close', { signal });
  npm.stderr.resume();
  npm.kill('SIGTERM');
  await closed;

  const again = spawn(process.execPath, [QRS, 'serve', '--demo'], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => again.kill('SIGKILL'));
  again.stdout.resume();
  let said = '';
  for await (const [text] of on(again.stderr.setEncoding('utf8'), 'data', { signal })) {
    said += text;
    if (said.includes('/v1/restaking/avs-stats')) break;
  }
  const key = /Your key [^:]+: (qrs_\w+)/.exec(said)?.[1];
  const url = /(http:\/\/[^/]+)\/v1/.exec(said)?.[1];
  const ids = [1, 2, 3, 4, 5, 6, 990_000_001, 990_000_002, 990_000_003, 990_000_004];
  for (const id of ids) {
    const answer = await fetch(`${url}/v1/query/${id}/results?limit=1&api_key=${key}`);
    assert.equal(answer.status, 200, `query ${id}`);
    assert.equal((JSON.parse(await answer.text()) as { state: string }).state, 'QUERY_STATE_COMPLETED', `query ${id}`);
  }
});

test('when bin/qrs.js is killed, where it could not become the service, the service stops', {
  timeout: 180_000,
}, async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-signals-'));
  t.after(async () => await rm(cwd, { recursive: true, force: true }));
  const env = { ...environment(), QRS_DATA_DIR: join(cwd, 'data') };
  const asNode20 = ['--import', 'data:text/javascript,delete process.execve'];
  const bin = spawn(process.execPath, [...asNode20, QRS, 'serve'], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => bin.kill('SIGKILL'));
  const signal = AbortSignal.timeout(30_000);
  await once(bin.stdout, 'data', { signal });
  const closed = once(bin, 'close', { signal });
  bin.kill('SIGKILL');
  await closed;
});

/**
 * Makes the file a pipe that nobody writes to. Whoever reads it hangs on a thread that nothing interrupts, as with a disk that
 * went away.
 */
async function hangingFile(t: TestContext, path: string): Promise<{ readonly opened: Promise<void> }> {
  await rm(path, { force: true });
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  // The open for writing returns as soon as somebody has opened the file for reading.
  const writer = open(path, 'w');
  t.after(async () => await (await writer).close());
  return { opened: writer.then(() => undefined) };
}

test('qrs run, interrupted, says by what, and its run is cancelled', { timeout: 180_000 }, async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-signals-'));
  t.after(async () => await rm(cwd, { recursive: true, force: true }));
  const qrs = (...args: readonly string[]) =>
    spawnSync(process.execPath, [QRS, ...args], { cwd, env: environment(), encoding: 'utf8' }).stdout;
  await writeFile(join(cwd, 'slow.sql'), 'SELECT count(*) AS n FROM range(100000000000) a(i) WHERE i % 7 = 3');
  qrs('users', 'add', 'ann');
  qrs('queries', 'add', '--id', '7', '--user', 'ann', '--sql', 'slow.sql');
  const running = spawn(process.execPath, [QRS, 'run', '7'], {
    cwd,
    env: environment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => running.kill('SIGKILL'));
  const said = text(running.stderr);
  while (qrs('executions', 'list', '--state', 'EXECUTING') === '') await sleep(100, t.signal);
  running.kill('SIGINT');
  assert.equal(await said, 'error: interrupted (SIGINT)\n');
  assert.equal(running.exitCode ?? (await once(running, 'exit'))[0], 1);
  assert.notEqual(qrs('executions', 'list', '--state', 'CANCELLED'), '');
});

test('a thread that hangs does not keep an interrupted command from ending', { timeout: 300_000 }, async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-signals-'));
  t.after(async () => await rm(cwd, { recursive: true, force: true }));
  const env = { ...environment(), QRS_SHUTDOWN_GRACE: '0' };
  const run = (...args: readonly string[]) => spawnSync(process.execPath, [QRS, ...args], { cwd, env });
  run('users', 'add', 'ann');
  run('queries', 'add', '--id', '7', '--user', 'ann');
  const start = (...args: readonly string[]) => {
    const child = spawn(process.execPath, [QRS, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const stop = async (child: ReturnType<typeof start>) => {
    child.kill('SIGTERM');
    return await once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
  };

  const input = await hangingFile(t, join(cwd, 'input.csv'));
  const publishing = start('publish', 'input.csv', '--query', '7');
  await input.opened;

  const serving = start('serve');
  const [url] = await once(serving.stdout, 'data', { signal: AbortSignal.timeout(30_000) });
  const store = await hangingFile(t, join(cwd, 'data/results/installation.txt'));
  const ready = fetch(`${String(url).trim()}/readyz`).catch(() => undefined);
  await store.opened;

  const ended = await Promise.all([stop(publishing), stop(serving)]);
  assert.deepEqual(ended[0], [1, null]);
  // Exit code 0 if everything but the thread ended in time.
  assert.equal(ended[1][1], null);
  await ready;
});
