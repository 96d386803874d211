/** Timing and printing for the benchmarks. Every figure is printed beside its floor or rival of the same run, as a ratio. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Median milliseconds of `runs` calls, after one that is not counted. */
export async function medianMillis(runs: number, task: (run: number) => Promise<unknown>): Promise<number> {
  await task(0);
  const times: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const start = performance.now();
    await task(run);
    times.push(performance.now() - start);
  }
  return quantile(times, 0.5);
}

/** Two tasks in turn, A B A B …, so that a machine whose speed drifts slows both. */
export async function medianPair(
  runs: number,
  a: (run: number) => Promise<unknown>,
  b: (run: number) => Promise<unknown>,
): Promise<readonly [number, number]> {
  await a(0);
  await b(0);
  const times: [number[], number[]] = [[], []];
  for (let run = 1; run <= runs; run += 1) {
    for (const [index, task] of [a, b].entries()) {
      const start = performance.now();
      await task(run);
      times[index]?.push(performance.now() - start);
    }
  }
  return [quantile(times[0], 0.5), quantile(times[1], 0.5)];
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((x, y) => x - y);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** One line of the report: what, the ratio and its target, and the two figures behind it. */
export function report(what: string, ratio: number, target: string, figures: string): void {
  print(`${what.padEnd(58)} ${ratio.toFixed(2).padStart(6)} ×  (target ${target})  ${figures}`);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The processes that a process has started and that have not ended. Linux alone says so. */
export function childrenOf(pid: number): readonly number[] {
  const folder = `/proc/${pid}/task`;
  const texts = readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/children`, 'utf8'));
  return texts.flatMap((text) => text.split(' ').filter(Boolean).map(Number));
}

/** Resident memory of a process in MB. */
export function residentMegabytes(pid: number): number {
  if (process.platform === 'linux') {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes) / 1024;
  }
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
}

/** The most resident memory that a process has had so far, in MB, as Linux notes it; NaN elsewhere. */
export function peakMegabytes(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Watches a process's memory until stopped; gives its peak in MB. */
export function watchMemory(pid: number): { stop(): number } {
  let peak = residentMegabytes(pid) || 0;
  const timer = setInterval(() => {
    try {
      // A process that is just starting or ending has no memory to speak of.
      peak = Math.max(peak, residentMegabytes(pid) || 0);
    } catch {
      // The process has ended.
    }
  }, 20);
  return {
    stop: () => {
      clearInterval(timer);
      return peak;
    },
  };
}
