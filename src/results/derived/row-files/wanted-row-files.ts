/** Builds the row files of a result or view, one part after another, each unless it exists or another process is making it. */
import { rm } from 'node:fs/promises';
import type { Part } from '../../../domain/result-set.ts';
import { sumOf } from '../../../domain/sum-of.ts';
import { readIntact } from '../../limits/open-all.ts';
import { type BuildStep, NotBuildable, type Wanted } from '../build-queue.ts';
import type { RowFileOrder } from './build-row-file.ts';
import type { OpenRowFiles } from './open-row-files.ts';
import type { RowOrigin } from './row-origin.ts';

/** Builds row files outside this process. */
export interface RowFileBuilder {
  /** @returns the file's bytes @throws NotBuildable; what building throws; an error where the builder ended */
  buildRowFile(order: RowFileOrder, signal: AbortSignal): Promise<number>;
}

export interface RowFileBuilding {
  readonly open: OpenRowFiles;
  readonly builder: RowFileBuilder;
  /** The most bytes for everything derived together. */
  readonly bytesMax: number;
}

/** The most bytes of a row file: this many times its part's, and for a small part `SMALL_FILE_BYTES`. */
const PART_BYTES_FACTOR = 2;
const SMALL_FILE_BYTES = 1024 * 1024;

export function wantedRowFiles(origin: RowOrigin, building: RowFileBuilding): Wanted {
  const { id, executionId, resultSet } = origin;
  const steps = () =>
    resultSet.parts.map(
      (part): BuildStep => ({
        id: origin.fileOf(part).path,
        build: async (signal) => await build(origin, part, building, signal),
      }),
    );
  return { id, executionId, steps };
}

async function build(
  origin: RowOrigin,
  part: Part,
  { open, builder, bytesMax }: RowFileBuilding,
  signal: AbortSignal,
): Promise<number> {
  const { columns, parts } = origin.resultSet;
  const stored = sumOf(parts, 'objectBytes');
  if (stored > bytesMax) {
    throw new NotBuildable(`the result takes ${stored} bytes, and all that is made from results may take ${bytesMax}`);
  }
  const { path, identity } = origin.fileOf(part);
  using held = origin.hold();
  if (held === undefined) return 0;
  void open.forget(path);
  if ((await open.find(path, identity).catch(() => undefined)) !== undefined) {
    await origin.touch(part);
    return 0;
  }
  if (await origin.isMadeElsewhere(part)) return 0;
  const staged = origin.stagingPath(part);
  try {
    await using object = await origin.open(part, signal);
    const { rowCount, cellBytes, objectBytes } = part;
    const fileBytesMax = Math.max(SMALL_FILE_BYTES, PART_BYTES_FACTOR * objectBytes);
    const order = { part: object.path, path: staged, identity, columns, rowCount, cellBytes, bytesMax: fileBytesMax };
    const bytes = await readIntact([object], () => builder.buildRowFile(order, signal));
    await origin.publish(part, staged, bytes);
    void open.forget(path);
    return bytes;
  } catch (error) {
    await rm(staged, { force: true });
    throw error;
  }
}
