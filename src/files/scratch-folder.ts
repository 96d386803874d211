/**
 * A folder of this process's own for files that nobody needs once it has ended. Several processes share the parent, so each
 * folder carries the number of its process; those of processes that are gone (killed, or before a reboot) are removed when
 * the next one is made.
 */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../errors/system-code.ts';

export interface ScratchFolder extends AsyncDisposable {
  /** Absolute when the parent is. */
  readonly path: string;
}

/** Exactly as they are named below: a folder of any other name is not ours, and stays. */
const SCRATCH = /^scratch-([1-9][0-9]{0,9})-[0-9A-Za-z]{6}$/;

export function isScratchName(name: string): boolean {
  return SCRATCH.test(name);
}

const RETRIES_MAX = 5;

/** In a container every process may have the same number: what of our number we did not make is a predecessor's. */
const ours = new Set<string>();

/** One is made after the other: between its making and its noting a folder looks like a predecessor's. */
let last: Promise<unknown> = Promise.resolve();

export async function makeScratchFolder(parent: string): Promise<ScratchFolder> {
  const made = last.then(async () => await make(parent));
  last = made.catch(() => undefined);
  return await made;
}

async function make(parent: string): Promise<ScratchFolder> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    if (!ours.has(path) && isAbandoned(name)) await rm(path, { recursive: true, force: true });
  }
  const path = await mkdtemp(join(parent, `scratch-${process.pid}-`));
  ours.add(path);
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      // What was interrupted may leave one more file while the others are being removed.
      await rm(path, { recursive: true, force: true, maxRetries: RETRIES_MAX });
      ours.delete(path);
    },
  };
}

function isAbandoned(name: string): boolean {
  const pid = Number(SCRATCH.exec(name)?.[1] ?? Number.NaN);
  if (Number.isNaN(pid)) return false;
  if (pid === process.pid) return true;
  try {
    // Signal 0 only asks whether there is such a process.
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return hasCode(error, 'ESRCH');
  }
}
