/** Watches the service while it is read from: its memory once a second, and the delay of its event loop. */
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from './client.ts';

export interface Gauges {
  /** Resident memory in bytes, in the order of time. */
  readonly memory: number[];
  /** What the service says of its memory, in bytes, by part. It tells whether growth is caches that fill, or something else. */
  readonly parts: ReadonlyMap<string, number[]>;
  /** Of the event loop, in milliseconds, each since the one before. */
  readonly delayP99: number[];
  readonly delayMax: number[];
  /** CPU time of one turn: without the time that other threads and programs have the core. */
  readonly heldP99: number[];
  readonly heldMax: number[];
  /** The same without collections of the heap, and these. */
  readonly workP99: number[];
  readonly workMax: number[];
  readonly gcMax: number[];
}

const SAMPLE_MILLIS = 1000;
/** The metrics forget the delays that they have told. */
const METRICS_EVERY = 10;
/** Part of memory → the metrics that add up to it. */
const PARTS: Readonly<Record<string, RegExp>> = {
  caches: /^qrs_cache_bytes\{cache="(?!views)\w+"\} (\S+)$/gm,
  DuckDB: /^qrs_duckdb_memory_bytes\{\S+\} (\S+)$/gm,
  'V8 heap': /^nodejs_heap_size_used_bytes (\S+)$/gm,
  'buffers outside of it': /^nodejs_external_memory_bytes (\S+)$/gm,
};

export async function watchOn(pid: number, client: Client, end: AbortSignal): Promise<Gauges> {
  const parts = new Map<string, number[]>(Object.keys(PARTS).map((name) => [name, []]));
  const gauges: Gauges = {
    memory: [],
    parts,
    delayP99: [],
    delayMax: [],
    heldP99: [],
    heldMax: [],
    workP99: [],
    workMax: [],
    gcMax: [],
  };
  // What starting took is nobody's turn to wait.
  await client.get('/metrics', '');
  for (let second = 1; !end.aborted; second += 1) {
    await wait(SAMPLE_MILLIS, undefined, { signal: end }).catch(() => undefined);
    gauges.memory.push(await residentBytes(pid));
    if (second % METRICS_EVERY !== 0) continue;
    const text = (await client.get('/metrics', '')).body.toString();
    const value = (name: string) => 1000 * Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    gauges.delayP99.push(value('nodejs_eventloop_lag_p99_seconds'));
    gauges.delayMax.push(value('nodejs_eventloop_lag_max_seconds'));
    const turn = (part: string, quantile: string) =>
      value(`qrs_event_loop_${part}_seconds\\{quantile="${quantile}"\\}`);
    gauges.heldP99.push(turn('held', '0.99'));
    gauges.heldMax.push(turn('held', '1'));
    gauges.workP99.push(turn('work', '0.99'));
    gauges.workMax.push(turn('work', '1'));
    gauges.gcMax.push(turn('gc', '1'));
    for (const [name, line] of Object.entries(PARTS)) {
      parts.get(name)?.push([...text.matchAll(line)].reduce((sum, [, bytes]) => sum + Number(bytes), 0));
    }
  }
  return gauges;
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}

/** The mean of each quarter of the samples. */
export function quarterMeans(samples: readonly number[]): readonly number[] {
  const size = Math.floor(samples.length / 4);
  return [0, 1, 2, 3].map((quarter) => {
    const part = samples.slice(quarter * size, (quarter + 1) * size);
    return part.reduce((sum, sample) => sum + sample, 0) / Math.max(1, part.length);
  });
}
