/** Builds the index of one column, unless it exists or another process is making it. */
import { open as openFile, rm } from 'node:fs/promises';
import { allRowsOf, type Part } from '../../../domain/result-set.ts';
import { sumOf } from '../../../domain/sum-of.ts';
import type { ResultStore } from '../../../store/result-store.ts';
import { openAll } from '../../limits/open-all.ts';
import type { Wanted } from '../build-queue.ts';
import type { DerivedFiles } from '../derived-files.ts';
import { type IndexBuild, mayGroup } from './build-index.ts';
import type { IndexOrigin } from './index-origin.ts';
import { isNoReadableFile } from './open-indexes.ts';

/** Builds indexes outside this process. */
export interface IndexBuilder {
  /** @returns the file's bytes @throws NotBuildable; what building throws; an error where the builder ended */
  buildIndex(order: IndexBuild, signal: AbortSignal): Promise<number>;
}

export interface IndexBuilding {
  readonly files: Pick<DerivedFiles, 'isMadeElsewhere' | 'pathOf' | 'publish' | 'stagingPath'>;
  readonly builder: IndexBuilder;
  readonly store: Pick<ResultStore, 'open'>;
  /** The most bytes for everything derived together. */
  readonly bytesMax: number;
}

/** When it has been built, the column's number in the result is reported. */
export interface WantedIndex extends Wanted {
  readonly column: number;
}

/** The most bytes of an index: this many times its result's, and for a small result `SMALL_FILE_BYTES`. */
const BYTES_FACTOR = 2;
const SMALL_FILE_BYTES = 1024 * 1024;

export function wantedIndex(origin: IndexOrigin, building: IndexBuilding): WantedIndex {
  const { name, executionId, column } = origin;
  const step = { id: name, build: async (signal: AbortSignal) => await build(origin, building, signal) };
  return { id: name, executionId, column: column.index, steps: () => [step] };
}

async function build(
  { resultSet, column, identity, name }: IndexOrigin,
  { files, builder, store, bytesMax }: IndexBuilding,
  signal: AbortSignal,
): Promise<number> {
  if ((await isReadable(files.pathOf(name))) || (await files.isMadeElsewhere(name))) return 0;
  const { parts, rowCount, preSample } = resultSet;
  const stored = sumOf(parts, 'objectBytes');
  const staged = files.stagingPath(name);
  await using objects = new AsyncDisposableStack();
  try {
    const open = (part: Part, opening: AbortSignal) => store.open(part, allRowsOf(part), opening);
    const { paths, during } = await openAll(parts, open, objects, signal);
    const sample = mayGroup({ rowCount, column }) ? preSample : undefined;
    // It only helps to choose: an index does without a sample that is damaged or cannot be had.
    const opened = sample && (await open(sample, signal).catch(() => undefined));
    signal.throwIfAborted();
    const samplePath = opened && objects.use(opened).path;
    const order: IndexBuild = {
      paths,
      firstRows: parts.map(({ firstRow }) => firstRow),
      rowCount,
      samplePath,
      column: { index: column.index, type: column.type },
      identity,
      destination: staged,
      bytesMax: Math.min(bytesMax, Math.max(SMALL_FILE_BYTES, BYTES_FACTOR * stored)),
    };
    const bytes = await during(() => builder.buildIndex(order, signal));
    await files.publish(name, staged);
    return bytes;
  } finally {
    await rm(staged, { force: true });
  }
}

/** Another file may be put in the place of one that cannot be opened. */
async function isReadable(path: string): Promise<boolean> {
  try {
    await using file = await openFile(path, 'r');
    return (await file.stat()).isFile();
  } catch (error) {
    // Too many open files, for example, say nothing of this one.
    if (!isNoReadableFile(error)) throw error;
    return false;
  }
}
