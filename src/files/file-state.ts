/** What tells a file from what it was before. */
import type { BigIntStats } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import { MadeIsGone } from '../errors/workspace-unavailable.ts';

/** A file, as it was once it had been written. */
export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  readonly state: string;
}

/** @param file open for writing at its path */
export async function writtenFile(path: string, file: Pick<FileHandle, 'stat'>): Promise<WrittenFile> {
  const stats = await file.stat({ bigint: true });
  return { path, bytes: Number(stats.size), state: stateOf(stats) };
}

export function stateOf({ size, ctimeNs, ino }: BigIntStats): string {
  // Whoever writes into a file may set back when it was written, but not when it was changed.
  return `${size} ${ctimeNs} ${ino}`;
}

/** Undefined where it is not there, or nobody can tell. */
export async function stateOfFile(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && stateOf(found);
}

/** @throws MadeIsGone where it is not as it was once it had been written */
export async function requireWritten({ path, state }: Pick<WrittenFile, 'path' | 'state'>): Promise<void> {
  if ((await stateOfFile(path)) !== state) throw new MadeIsGone(`${path} is gone, or not what was made`);
}
