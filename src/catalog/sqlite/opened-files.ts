/**
 * Whether the files of an open catalog are still those that were opened. What is written to a file that somebody has removed or replaced
 * goes with it: no other process sees it, and it is lost when this one is killed.
 */
import { realpathSync, statSync } from 'node:fs';
import { NotReady } from '../../errors/not-ready.ts';

/** As SQLite calls them, by the endings of their names. */
const FILES = { '': 'its file', '-wal': 'its log', '-shm': 'the index of its log' } as const;
type Ending = keyof typeof FILES;

export interface OpenedFile {
  readonly ending: Ending;
  readonly inode: bigint;
}

/** @param path of a catalog that is open, so that it has a log */
export function openedFiles(path: string): readonly OpenedFile[] {
  const file = fileOf(path);
  return (Object.keys(FILES) as Ending[]).flatMap((ending) => {
    const inode = inodeOf(file + ending);
    return inode === undefined ? [] : [{ ending, inode }];
  });
}

/** @throws NotReady */
export function requireOpened(path: string, files: readonly OpenedFile[]): void {
  const file = fileOf(path);
  const other = files.find(({ ending, inode }) => inodeOf(file + ending) !== inode);
  if (other !== undefined) throw new NotReady(`${FILES[other.ending]} is gone, or is another than was opened`);
}

/** Where the path is a link, the log lies beside what it leads to. */
function fileOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function inodeOf(path: string): bigint | undefined {
  try {
    return statSync(path, { bigint: true }).ino;
  } catch {
    return undefined;
  }
}
