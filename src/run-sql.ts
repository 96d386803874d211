/**
 * The program that runs one user's query (engine/duckdb/run-query.ts): a process of its own, with nothing of the environment, that its parent
 * may kill at any moment. It ends with its answer, when its parent is gone, and when it takes more memory than it may.
 */

import { writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { SandboxAnswer, SandboxProgress, SandboxRequest } from './engine/duckdb/sandbox.ts';

/** What the process itself takes, beside DuckDB. */
const BASE_BYTES = 400_000_000;
const LOOK_MILLIS = 50;

// Requests go first on the cores.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
// Where memory runs short, this process is the one to end. Only Linux has it.
await writeFile('/proc/self/oom_score_adj', '1000').catch(() => undefined);
// An interrupted terminal interrupts all its processes; this one is its parent's to end.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.once('message', (request) => void answer(request as SandboxRequest));

async function answer({ job, memoryBytes }: SandboxRequest): Promise<void> {
  // By this clock's own count, since what DuckDB counts is not all that it takes.
  setInterval(() => {
    if (process.memoryUsage.rss() > 2 * memoryBytes + BASE_BYTES) send({ kind: 'out_of_memory' });
  }, LOOK_MILLIS).unref();
  const { runQuery } = await import('./engine/duckdb/run-query.ts');
  const { EngineError } = await import('./engine/engine.ts');
  const { NOT_THE_QUERYS_FAULT } = await import('./engine/duckdb/engine-errors.ts');
  const sleep = async (millis: number, signal?: AbortSignal) => await wait(millis, undefined, { signal });
  try {
    send({ kind: 'done', made: await runQuery(job, sleep, tellProgress) });
  } catch (error) {
    const known = error instanceof EngineError ? error : undefined;
    const { type = 'engine_error', message = NOT_THE_QUERYS_FAULT, line, column } = known ?? {};
    const cause = known === undefined ? error : known.cause;
    send({
      kind: 'failed',
      error: { type, message, line, column, ...(cause instanceof Error && { cause: cause.message }) },
    });
  }
}

function tellProgress(percent: number): void {
  const message: SandboxProgress = { kind: 'progress', percent };
  process.send?.(message);
}

/** The last that it says. */
function send(message: SandboxAnswer): void {
  process.send?.(message, () => process.kill(process.pid, 'SIGKILL'));
}
