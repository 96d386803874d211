/** The sparse local file of an object: which blocks of it are there, and who uses it. */
import type { FileHandle } from 'node:fs/promises';
import { type Block, blocksOfRows, type RowRange } from '../../domain/blocks.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ObjectRef } from '../result-store.ts';

/** A file with some blocks of an object. */
export interface CachedFile {
  readonly path: string;
  /** 1 for each block that is there. */
  readonly blocks: Uint8Array;
  users: number;
  /** Bytes of the blocks that are there. */
  bytes: number;
  /** Fetches in progress. */
  fetches: number;
  /** The file's time of change after our last write. If it differs, somebody else has written. */
  changedAt: bigint;
  /** Somebody else made it shorter while we wrote. */
  isCut: boolean;
  /** When it was last used, by the service's clock. */
  usedAt: Instant;
}

/** A block; or the whole object, if its manifest has no blocks. */
export type Stretch = Pick<Block, 'index' | 'offset' | 'bytes'>;

/** What an object's file is known by. */
export function nameOf({ key, sha256, objectBytes }: ObjectRef): string {
  return `${key} ${sha256} ${objectBytes}`;
}

/** What a read of these rows needs, and the file does not have. */
export function missingOf(file: CachedFile, { blocks, objectBytes }: ObjectRef, rows: RowRange): readonly Stretch[] {
  const whole: Stretch = { index: 0, offset: 0, bytes: objectBytes };
  const needed: readonly Stretch[] = blocks === undefined ? [whole] : blocksOfRows(blocks, rows);
  return needed.filter(({ index }) => file.blocks[index] !== 1);
}

/** Whether somebody reads the file, or fetches blocks into it: then it must stay. */
export function isInUse({ users, fetches }: CachedFile): boolean {
  return users > 0 || fetches > 0;
}

/** Notes the file's state after a write of ours, whether or not the bytes were the right ones: a later change is somebody else's. */
export async function noteChange(file: CachedFile, handle: FileHandle, { objectBytes }: ObjectRef): Promise<void> {
  const { ctimeNs, size } = await handle.stat({ bigint: true });
  file.changedAt = ctimeNs;
  if (size !== BigInt(objectBytes)) file.isCut = true;
}
