/**
 * The blocks of a part: stretches of its bytes that the manifest has a hash of each, so that a read checks what it reads and no more. They
 * follow one another from the first byte of the object to the last: one for each row group, then one for the footer.
 */

export interface Blocks {
  /** Rows of each row group. */
  readonly rows: readonly number[];
  /** Bytes of each row group's block, and then of the footer's: all that lies behind the last row group. */
  readonly bytes: readonly number[];
  /** A hash of `BLOCK_HASH_BYTES` for each block, one after another, as base64. That of the footer covers `rows` and `bytes`, too. */
  readonly hashes: string;
}

/** The first half of a SHA-256: against rot, not against forgery, and half the room in the manifest. */
export const BLOCK_HASH_BYTES = 16;

/** Rows counted within a part; `to` is exclusive. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

export interface Block {
  /** Its place among the blocks. */
  readonly index: number;
  readonly offset: number;
  readonly bytes: number;
  readonly isFooter: boolean;
}

/** All blocks, in their order. */
export function listBlocks({ bytes }: Blocks): readonly Block[] {
  let offset = 0;
  return bytes.map((length, index) => {
    const block = { index, offset, bytes: length, isFooter: index === bytes.length - 1 };
    offset += length;
    return block;
  });
}

/** What a read of the rows needs: the footer, which comes first, and the row groups that have any of them. */
export function blocksOfRows(blocks: Blocks, rows: RowRange): readonly Block[] {
  let firstRow = 0;
  const needed: Block[] = [];
  for (const block of listBlocks(blocks)) {
    const rowCount = blocks.rows[block.index] ?? 0;
    if (block.isFooter) needed.unshift(block);
    else if (firstRow < rows.to && firstRow + rowCount > rows.from) needed.push(block);
    firstRow += rowCount;
  }
  return needed;
}

/** What is hashed before the bytes of a block: a manifest that is damaged itself must not send a check to the wrong place. */
export function hashedBefore({ rows, bytes }: Pick<Blocks, 'rows' | 'bytes'>, { isFooter }: Block): string {
  return isFooter ? `${rows.join()} ${bytes.join()} ` : '';
}
