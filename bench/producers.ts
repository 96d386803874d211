/**
 * Small results published over HTTP, 1,000 a minute from 16 producers, while readers read: whether all of them are taken, how long each
 * takes, and what the readers notice of it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { print, report } from './measure.ts';
import { DATA, qrs, sourceFile, startListening } from './service.ts';

const PRODUCERS = 16;
const PER_MINUTE = 1000;
const SECONDS = 30;
const READERS = 4;
const ROWS = 100;
const QRS = join(import.meta.dirname, '..', 'bin', 'qrs.js');

const source = await sourceFile(100_000);
const folder = mkdtempSync(join(DATA, 'producers-'));
const env = { QRS_DATA_DIR: folder };
try {
  await qrs(['users', 'add', 'bench'], env);
  const read = await qrs(['keys', 'create', '--user', 'bench'], env);
  const write = await qrs(['keys', 'create', '--user', 'bench', '--scope', 'write'], env);
  for (const id of ['1', '2']) await qrs(['queries', 'add', '--id', id, '--user', 'bench'], env);
  const execution = await qrs(['publish', source, '--query', '1'], env);
  await using service = await startListening([QRS, 'serve'], { ...env, QRS_PORT: '0', QRS_LOG_LEVEL: 'warn' });
  const alone = await readFor(SECONDS / 3, service.url, execution, read);
  const [beside, published] = await Promise.all([
    readFor(SECONDS, service.url, execution, read),
    produce(service.url, write),
  ]);
  const asked = (PER_MINUTE / 60) * SECONDS;
  report(
    `${PER_MINUTE} results a minute from ${PRODUCERS} producers: taken / sent`,
    published.length / asked,
    '≥ 0.98',
    `${published.length} of ${ROWS} rows each, median ${at(published, 0.5).toFixed(0)} ms, 99th percentile ${at(published, 0.99).toFixed(0)} ms`,
  );
  report(
    'a page of 100 rows while they publish / alone, 99th percentile',
    at(beside, 0.99) / at(alone, 0.99),
    '≤ 5',
    `${at(beside, 0.99).toFixed(1)} ms / ${at(alone, 0.99).toFixed(1)} ms; medians ${at(beside, 0.5).toFixed(2)} ms / ${at(alone, 0.5).toFixed(2)} ms`,
  );
  print('readers and producers are one process on the same machine, and take their share of it');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Each producer sends on time, whether or not its last result has been answered: milliseconds of those that were taken. */
async function produce(url: string, key: string): Promise<readonly number[]> {
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},user_${n * 7},${n / 8}`).join('\n');
  const body = `n,name,amount\n${lines}\n`;
  const each = (60_000 / PER_MINUTE) * PRODUCERS;
  const start = performance.now();
  const taken: number[] = [];
  const publish = async () => {
    const began = performance.now();
    const response = await fetch(`${url}/v1/query/2/results`, {
      method: 'POST',
      headers: { 'x-service-api-key': key, 'content-type': 'text/csv' },
      body,
    });
    const text = await response.text();
    if (response.status === 201) taken.push(performance.now() - began);
    else print(`refused: ${response.status} ${text}`);
  };
  const producer = async (number: number) => {
    const sent: Promise<void>[] = [];
    for (let at = (each / PRODUCERS) * number; at < SECONDS * 1000; at += each) {
      await wait(Math.max(0, start + at - performance.now()));
      sent.push(publish());
    }
    await Promise.all(sent);
  };
  await Promise.all(Array.from({ length: PRODUCERS }, (_, number) => producer(number)));
  return taken;
}

/** Pages that no cache has, by each reader one after the other: milliseconds of each. */
async function readFor(seconds: number, url: string, execution: string, key: string): Promise<readonly number[]> {
  const end = performance.now() + seconds * 1000;
  const millis: number[] = [];
  const reader = async (number: number) => {
    for (let page = 0; performance.now() < end; page += 1) {
      const offset = (number * 25_000 + page * 101) % 99_900;
      const began = performance.now();
      const response = await fetch(`${url}/v1/execution/${execution}/results?limit=100&offset=${offset}`, {
        headers: { 'x-service-api-key': key },
      });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`a page was answered ${response.status}`);
      millis.push(performance.now() - began);
      // A reader who looks at what it reads.
      await wait(20);
    }
  };
  await Promise.all(Array.from({ length: READERS }, (_, number) => reader(number)));
  return millis;
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
