/**
 * The soak: mixed use of the service for so many minutes, 64 requests at a time, while runs and keys change, datasets are refreshed
 * and the sweep deletes. Every answer's content is checked. It fails on any wrong answer, on any 5xx but an honest 503, on memory
 * beyond QRS_MEMORY, on an event loop that work holds for more than 40 ms (the aim is 20), and, where it lasts long enough to tell, on memory that grows.
 *
 *   npm run soak -- [--minutes 30] [--seed N] [--memory 2GB]
 */
import { rmSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { changeKeysOn, fillService, makeWriteKey, publishOn, refreshOn } from './changes.ts';
import { Client, Refused } from './client.ts';
import { quarterMeans, watchOn } from './gauges.ts';
import { random } from './random.ts';
import { READS, someRead } from './reads.ts';
import { Soaked } from './service.ts';
import { World } from './world.ts';
import { worstReads } from './worst-reads.ts';

const CONNECTIONS = 64;
/** In a shorter run the second quarter has not yet seen everything once, so that memory still grows in the last. */
const FLAT_FROM_MINUTES = 10;
const GROWTH_MAX = 1.05;
/** The aim: of computing time in one turn of the event loop, collections of the heap apart. The cores that others have do not count. */
const WORK_MILLIS_AIM = 20;
/** Beyond this the soak fails. On cores that are shared with much else, the same work takes up to twice the computing time. */
const WORK_MILLIS_MAX = 2 * WORK_MILLIS_AIM;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    memory: { type: 'string', default: '2GB' },
  },
});
const minutes = Number(values.minutes);
const below = random(Number(values.seed));
print(`soak of ${minutes} minutes, --seed ${values.seed} --memory ${values.memory}; ${machine()}`);

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());
const world = new World();
process.on('exit', () => rmSync(world.folder, { recursive: true, force: true }));
const service = await Soaked.start(join(world.folder, 'data'), values.memory);
const client = new Client(service.url, CONNECTIONS + 4);
const reads = [...READS];
const problems: string[] = [];
const counts = new Map<string, { answered: number; refused: number }>();
try {
  await fillService(service, world);
  reads.push(...worstReads(client, await makeWriteKey(service)));
  const end = AbortSignal.any([AbortSignal.timeout(minutes * 60_000), interruption.signal]);
  const [gauges] = await Promise.all([
    watchOn(service.pid, client, end),
    ...Array.from({ length: CONNECTIONS }, () => readOn(end)),
    ...[publishOn(service, world, end), refreshOn(service, end), changeKeysOn(service, world, client, below, end)].map(
      (change) => change.catch(note),
    ),
  ]);
  print(`after: ${machine()}`);
  if (interruption.signal.aborted) wrong('interrupted before its end');
  else report(gauges);
} finally {
  client.close();
  const code = await service.stop();
  if (code !== 0) wrong(`the service exited with ${code}`);
}
print(problems.length === 0 ? 'all well' : `${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

function machine(): string {
  const load = loadavg().map((average) => average.toFixed(1));
  return `${availableParallelism()} cores, load ${load.join(' ')}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** One connection: asks for one thing after another. */
async function readOn(end: AbortSignal): Promise<void> {
  while (!end.aborted && service.isRunning) {
    const { name, read } = someRead(reads, below);
    const count = counts.get(name) ?? { answered: 0, refused: 0 };
    counts.set(name, count);
    const held = world.keys[below(world.keys.length)];
    if (held === undefined) throw new Error('there is no key to ask with');
    held.users += 1;
    try {
      await read(client, world, held.key, below);
      count.answered += 1;
    } catch (error) {
      if (error instanceof Refused) count.refused += 1;
      else note(error);
    } finally {
      held.users -= 1;
    }
  }
}

function note(error: unknown): void {
  wrong(error instanceof Error ? error.message : String(error));
}

/** Each problem is told when it is found: beside what the service logs then. */
function wrong(problem: string): void {
  problems.push(problem);
  print(`WRONG after ${Math.round(performance.now() / 1000)} s: ${problem}`);
}

function report({ memory, parts, ...loop }: Awaited<ReturnType<typeof watchOn>>): void {
  for (const [name, { answered, refused }] of counts) print(`${name}: ${answered} answered, ${refused} refused`);
  const megabytes = (bytes: number) => Math.round(bytes / 1e6);
  const means = quarterMeans(memory);
  const most = Math.max(...memory);
  const growth = (means[3] ?? 0) / (means[1] ?? 1);
  print(`memory: means of the quarters ${means.map(megabytes).join(', ')} MB, at most ${megabytes(most)} MB`);
  print(`memory: last quarter / second ${growth.toFixed(3)} (≤ ${GROWTH_MAX})`);
  for (const [name, samples] of parts) print(`  ${name}: ${quarterMeans(samples).map(megabytes).join(', ')} MB`);
  reportLoop('held', loop.heldP99, loop.heldMax);
  reportLoop('held by work alone', loop.workP99, loop.workMax);
  print(`event loop held by collections of the heap: at most ${Math.max(...loop.gcMax).toFixed(0)} ms`);
  reportLoop('delayed, also by what else wants the cores', loop.delayP99, loop.delayMax);
  const memoryMax = megabytesOf(values.memory) * 1e6;
  if (most > memoryMax) wrong(`memory: ${megabytes(most)} MB, more than QRS_MEMORY=${values.memory}`);
  const work = Math.max(...loop.workMax);
  if (work > WORK_MILLIS_AIM)
    print(`the event loop was held for ${work.toFixed(0)} ms by work; the aim is ${WORK_MILLIS_AIM}`);
  if (!(work <= WORK_MILLIS_MAX))
    wrong(`the event loop was held for ${work.toFixed(0)} ms by work, more than ${WORK_MILLIS_MAX}`);
  if (minutes >= FLAT_FROM_MINUTES && growth > GROWTH_MAX) wrong(`memory grows: ${growth.toFixed(3)}`);
}

function reportLoop(what: string, p99: readonly number[], max: readonly number[]): void {
  const median = [...p99].sort((a, b) => a - b)[Math.floor(p99.length / 2)] ?? 0;
  const worst = (millis: readonly number[]) => Math.max(...millis).toFixed(0);
  print(`event loop ${what}: p99 ${median.toFixed(0)} ms (median), ${worst(p99)} ms (worst), at most ${worst(max)} ms`);
}

function megabytesOf(size: string): number {
  const [, digits, unit] = /^([\d.]+)(MB|GB)$/.exec(size) ?? [];
  if (digits === undefined) throw new Error(`--memory ${size}: expected MB or GB`);
  return Number(digits) * (unit === 'GB' ? 1000 : 1);
}
