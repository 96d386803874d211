/**
 * Folders that must not overlap, because what is deleted in one would be missing in the other. Compared by where they really are: a
 * symbolic link is no folder of its own.
 */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';

export interface NamedPath {
  /** As a person knows it: `the store`. */
  readonly name: string;
  /** Absolute; it need not exist. */
  readonly path: string;
}

export interface Overlap {
  readonly inner: NamedPath;
  readonly outer: NamedPath;
  readonly same: boolean;
}

/** The first of `inner` that is, or lies inside of, one of `outer`. A path is not compared with itself. */
export async function findOverlap(
  inner: readonly NamedPath[],
  outer: readonly NamedPath[],
): Promise<Overlap | undefined> {
  for (const one of inner) {
    const path = await realPathOf(one.path);
    for (const other of outer) {
      const folder = await realPathOf(other.path);
      if (other !== one && isWithin(path, folder)) return { inner: one, outer: other, same: path === folder };
    }
  }
  return undefined;
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`));
}

/** Of a path that is not there yet, as far as it is there. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await realPathOf(parent), basename(path));
  }
}
