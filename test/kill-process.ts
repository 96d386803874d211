/** Ends a process that a test has started, and waits until it is gone. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** With SIGKILL: it has no say. Nothing is done where it was never started, or has ended. */
export async function killProcess(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
