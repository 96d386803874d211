/** Opens the files that a statement reads, such as the parts of a result, a few at a time: each may have to be fetched. */
import { readAhead } from './read-ahead.ts';

const OPENED_AHEAD = 1;

/** A local file, until it is disposed of. */
interface OpenFile extends AsyncDisposable {
  readonly path: string;
  /** As of `OpenObject`. */
  requireIntact?(): Promise<void>;
}

interface OpenFiles {
  /** In the order of the items. */
  readonly paths: readonly string[];
  /**
   * Runs what reads them. What was read of a file that somebody has damaged meanwhile is not given back, nor why it could not be read.
   * @throws what `read` throws; ObjectDamaged where a file was damaged
   */
  during<R>(read: () => Promise<R>): Promise<R>;
}

/**
 * @param held is given what was opened, also when something else could not be
 * @throws what `open` throws
 */
export async function openAll<T>(
  items: readonly T[],
  open: (item: T, signal: AbortSignal) => Promise<OpenFile>,
  held: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<OpenFiles> {
  const openOne = async (item: T, during: AbortSignal) => held.use(await open(item, during));
  const [first] = items;
  const isAlone = items.length === 1 && first !== undefined;
  const files = isAlone
    ? [await openOne(first, signal)]
    : await Array.fromAsync(readAhead(items, OPENED_AHEAD, openOne, signal));
  return {
    paths: files.map(({ path }) => path),
    during: (read) => readIntact(files, read),
  };
}

/** As `during` of `OpenFiles`. */
export async function readIntact<R>(
  files: readonly Pick<OpenFile, 'requireIntact'>[],
  read: () => Promise<R>,
): Promise<R> {
  try {
    return await read();
  } finally {
    await Promise.all(files.map((file) => file.requireIntact?.()));
  }
}
