/**
 * A process of its own for each query (run-sql.ts): SQL that crashes DuckDB, hangs in it or takes all memory takes nothing else
 * with it, and killing it ends it at once. It has nothing of our environment, and a folder of its own that goes with it.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChildEnd } from '../../children/child.ts';
import { type ChildListener, startChild } from '../../children/start-child.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import type { Sleep } from '../../domain/time.ts';
import { COMPILED_CODE } from '../../files/compiled-code.ts';
import { EngineError, type EngineErrorType, type Materialized } from '../engine.ts';
import { partPath } from '../part-path.ts';
import type { QueryJob } from './run-query.ts';

export interface SandboxRequest {
  readonly job: QueryJob;
  readonly memoryBytes: number;
}

/** Any number of times before the answer. */
export interface SandboxProgress {
  readonly kind: 'progress';
  readonly percent: number;
}

export type SandboxAnswer =
  | { readonly kind: 'done'; readonly made: Materialized }
  | { readonly kind: 'failed'; readonly error: SandboxError }
  | { readonly kind: 'out_of_memory' };

interface SandboxError {
  readonly type: EngineErrorType;
  readonly message: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** In the words of whatever failed: for the log alone. */
  readonly cause?: string;
}

export interface SandboxLimits {
  /** Absolute; folders of the processes are made in it. */
  readonly tempDirectory: string;
  readonly memoryBytes: number;
  /** Of the file of rows. */
  readonly resultBytesMax: number;
  readonly sleep: Sleep;
  readonly told: (progress: RunProgress) => void;
}

// As this file is: TypeScript in a checkout, JavaScript in a package.
const PROGRAM = fileURLToPath(new URL(`../../run-sql${extname(import.meta.url)}`, import.meta.url));
const FLAGS = ['--disable-warning=ExperimentalWarning', '--max-old-space-size=256'];
/** How often the size of the answer is looked at. */
const LOOK_MILLIS = 100;
const SAID_CHARS_MAX = 2000;

/** @throws EngineError; the signal's reason once it is aborted. The process has ended by then. */
export async function runInSandbox(
  job: Omit<QueryJob, 'tempDirectory'>,
  limits: SandboxLimits,
  signal: AbortSignal,
): Promise<Materialized> {
  signal.throwIfAborted();
  await mkdir(limits.tempDirectory, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(limits.tempDirectory, 'query-'));
  const ended = new AbortController();
  try {
    signal.throwIfAborted();
    const heard = new Heard(limits.told);
    const child = startChild(
      {
        program: PROGRAM,
        flags: FLAGS,
        cwd: folder,
        env: { UV_THREADPOOL_SIZE: String(job.threads + 4), NODE_COMPILE_CACHE: COMPILED_CODE },
      },
      heard,
    );
    const kill = () => child.kill();
    signal.addEventListener('abort', kill, { once: true });
    const tooLarge = watchSize(job.path, limits, kill, ended.signal);
    try {
      const request: SandboxRequest = { job: { ...job, tempDirectory: folder }, memoryBytes: limits.memoryBytes };
      child.send(request);
      const answer = heard.answerAt(await child.ended);
      signal.throwIfAborted();
      if (tooLarge.found) throw new EngineError('result_limit', tooLarge.message);
      return madeOf(answer);
    } finally {
      signal.removeEventListener('abort', kill);
      kill();
    }
  } finally {
    ended.abort();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the process says. */
class Heard implements ChildListener {
  readonly #told: SandboxLimits['told'];
  #answer: SandboxAnswer | undefined;
  #said = '';

  constructor(told: SandboxLimits['told']) {
    this.#told = told;
  }

  readonly onMessage = (message: unknown): void => {
    const heard = message as SandboxAnswer | SandboxProgress;
    if (heard.kind === 'progress') this.#told({ percent: heard.percent });
    else this.#answer ??= heard;
  };

  readonly onSaid = (text: string): void => {
    this.#said = (this.#said + text).slice(-SAID_CHARS_MAX);
  };

  /** What it answered before it ended, or how it ended. @throws EngineError */
  answerAt({ code, signal, error }: ChildEnd): SandboxAnswer {
    if (error !== undefined) {
      throw new EngineError('engine_error', 'the process that runs the query could not be started', { cause: error });
    }
    if (this.#answer !== undefined) return this.#answer;
    // Nobody but the system ends it so: for want of memory.
    if (signal === 'SIGKILL') return { kind: 'out_of_memory' };
    const cause = new Error(`exit ${code ?? signal}: ${this.#said}`);
    throw new EngineError('engine_error', `the process that ran the query ended before its time (${code ?? signal})`, {
      cause,
    });
  }
}

function madeOf(answer: SandboxAnswer): Materialized {
  switch (answer.kind) {
    case 'done':
      return answer.made;
    case 'failed': {
      const { type, message, line, column, cause } = answer.error;
      throw new EngineError(type, message, { line, column, ...(cause !== undefined && { cause: new Error(cause) }) });
    }
    case 'out_of_memory':
      throw new EngineError('memory_limit', 'the query took more memory than it may (QRS_ENGINE_MEMORY)');
    default:
      return answer satisfies never;
  }
}

interface SizeWatch {
  readonly found: boolean;
  readonly message: string;
}

/** Ends the query whose answer grows beyond what one may have. */
function watchSize(path: string | undefined, limits: SandboxLimits, kill: () => void, ended: AbortSignal): SizeWatch {
  const { resultBytesMax, sleep } = limits;
  const watch = {
    found: false,
    message: `the rows take more than ${resultBytesMax} bytes on disk (QRS_ENGINE_RESULT_MAX)`,
  };
  void (async () => {
    if (path === undefined) return;
    while (!ended.aborted) {
      await sleep(LOOK_MILLIS, ended).catch(() => undefined);
      const sizes = await Promise.all(
        [path, partPath(path)].map(async (p) => (await stat(p).catch(() => undefined))?.size ?? 0),
      );
      if (Math.max(...sizes) <= resultBytesMax) continue;
      watch.found = true;
      kill();
      return;
    }
  })();
  return watch;
}
