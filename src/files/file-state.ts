/** What tells a file from what it was before. */
import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

export function stateOf({ size, ctimeNs, ino }: BigIntStats): string {
  // Whoever writes into a file may set back when it was written, but not when it was changed.
  return `${size} ${ctimeNs} ${ino}`;
}

/** Undefined where it is not there, or nobody can tell. */
export async function stateOfFile(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && stateOf(found);
}
