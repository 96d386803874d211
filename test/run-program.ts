/**
 * Runs a program of a test to its end, with all that it starts. npm, asked to stop, waits for the scripts that it runs: a test that only asked
 * npm would wait as long as they take.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted, it ends the program and all that it has started. */
  readonly signal: AbortSignal;
}

/** How a program failed. */
export class ProgramFailed extends Error {
  override readonly name: string = 'ProgramFailed';
  readonly stderr: string;

  constructor(message: string, stderr: string) {
    super(`${message}: ${stderr.trim()}`);
    this.stderr = stderr;
  }
}

/** @returns what it wrote to its standard output. @throws ProgramFailed, also where it was ended by the signal */
export async function runProgram(file: string, args: readonly string[], options: ProgramOptions): Promise<string> {
  const { signal, ...started } = options;
  signal.throwIfAborted();
  // The first of a group of its own, which can be ended as one.
  const child = spawn(file, [...args], { ...started, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of them have just ended.
    }
  };
  signal.addEventListener('abort', end);
  try {
    const closed = once(child, 'close');
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    if (signal.aborted) throw new ProgramFailed(`${file} ${args.join(' ')} did not end: ${signal.reason}`, stderr);
    if (code !== 0) throw new ProgramFailed(`${file} ${args.join(' ')} ended with ${code}`, stderr);
    return stdout;
  } finally {
    signal.removeEventListener('abort', end);
  }
}
