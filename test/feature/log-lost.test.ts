/** A service serves without its log: lines that cannot be written are dropped and counted, and nothing else changes. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { withoutSettings } from '../without-settings.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');

/** @param log what standard error is connected to */
async function serve(
  t: TestContext,
  log: 'pipe' | number,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const cwd = await mkdtemp(join(tmpdir(), 'qrs-log-'));
  const env = { ...withoutSettings(), QRS_PORT: '0', QRS_SCHEDULE: 'false', QRS_LOG_LEVEL: 'debug' };
  const child = spawn(process.execPath, [QRS, 'serve'], { cwd, env, stdio: ['ignore', 'pipe', log] });
  t.after(async () => {
    child.kill('SIGKILL');
    await rm(cwd, { recursive: true, force: true });
  });
  assert.ok(child.stdout);
  const [url] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(30_000) });
  return { url: String(url), child };
}

async function droppedLines(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^qrs_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
}

async function endOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
  child.kill('SIGTERM');
  return (await ended)[0];
}

test('the reader of the log is gone', { timeout: 180_000 }, async (t) => {
  const { url, child } = await serve(t, 'pipe');
  child.stderr?.destroy();
  child.stdout?.destroy();
  for (let i = 0; i < 20; i += 1) assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert.ok((await droppedLines(url)) >= 19);
  assert.equal(await endOf(child), 0);
});

test('the disk of the log is full', { timeout: 180_000 }, async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has /dev/full');
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const { url, child } = await serve(t, full);
  for (let i = 0; i < 20; i += 1) assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert.ok((await droppedLines(url)) >= 19);
  assert.equal(await endOf(child), 0);
});

test('the reader of the log hangs: SIGTERM still ends the service', { timeout: 180_000 }, async (t) => {
  const { url, child } = await serve(t, 'pipe');
  child.stderr?.pause();
  // More than a pipe takes (64 KB).
  const addresses = Array.from({ length: 500 }, (_, i) =>
    fetch(`${url}/healthz?${i}`, { headers: { 'x-request-id': 'r'.repeat(128) } }),
  );
  for (const answer of addresses) assert.equal((await answer).status, 200);
  assert.equal(await endOf(child), 0);
});
