/**
 * The alarms: the metrics that they name exist, they fire when they should and only then (promtool), and the guide explains
 * each.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findPromtool } from '../../scripts/promtool.ts';
import { startHttpService } from './http-service.ts';

const ROOT = join(import.meta.dirname, '../..');
const ALERTS = join(ROOT, 'packaging/alerts.yml');
const promtool = findPromtool();

async function expressions(): Promise<readonly string[]> {
  const lines = (await readFile(ALERTS, 'utf8')).split('\n');
  return lines.flatMap((line) => /^ +expr: (.*)$/.exec(line)?.[1] ?? []);
}

test('every metric and error code that an alarm names exists', async (t) => {
  const service = await startHttpService(t);
  const text = await (await service.get('/metrics')).text();
  const there = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
  const all = await expressions();
  assert.ok(all.length >= 8);
  const named = all.flatMap((expr) => expr.match(/\bqrs_\w+/g) ?? []);
  assert.deepEqual(
    named.filter((name) => !there.includes(name)),
    [],
  );
  const errors = await readFile(join(ROOT, 'docs/reference/errors.md'), 'utf8');
  const codes = all.flatMap((expr) => [...expr.matchAll(/code="(\w+)"/g)].map(([, code]) => code));
  assert.deepEqual(
    codes.filter((code) => !errors.includes(`### \`${code}\``)),
    [],
  );
});

test('the guide explains each alarm', async () => {
  const guide = await readFile(join(ROOT, 'docs/guides/operating.md'), 'utf8');
  const names = [...(await readFile(ALERTS, 'utf8')).matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? '');
  const told = [...guide.matchAll(/^\| `(Qrs\w+)` \|/gm)].map(([, name]) => name ?? '');
  assert.deepEqual(told, names);
});

test('the dataset alarm knows how often each dataset is refreshed', async (t) => {
  const service = await startHttpService(t);
  const text = await (await service.get('/metrics')).text();
  const periods = [...text.matchAll(/^qrs_dataset_period_seconds\{dataset="(\S+)"\} (\d+)$/gm)];
  assert.deepEqual(
    periods.map(([, dataset, seconds]) => [dataset, Number(seconds)]),
    [
      ['avs-stats', 900],
      ['operator-stats', 900],
      ['operator-to-avs-mapping', 900],
      ['points', 86_400],
    ],
  );
});

test('promtool accepts the rules, and each fires when it should', {
  skip: promtool === undefined && 'promtool is not installed: npm run setup:promtool',
}, async () => {
  const run = async (...words: readonly string[]) =>
    (await promisify(execFile)(promtool ?? '', [...words], { cwd: join(ROOT, 'packaging') })).stdout;
  assert.match(await run('check', 'rules', 'alerts.yml'), /SUCCESS: 8 rules found/);
  assert.match(await run('test', 'rules', 'alerts.test.yml'), /SUCCESS/);
});
