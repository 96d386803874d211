/**
 * What a transaction changed, row by row, as SQLite's session extension records it. The format is that of
 * https://www.sqlite.org/sessionintro.html: for each table its columns and keys, then each changed row before and after.
 */
export type Value = number | string | null | undefined;
export type Row = Readonly<Record<string, Value>>;

export interface RowChange {
  readonly table: string;
  readonly kind: 'insert' | 'update' | 'delete';
  /** The table and the values of its primary key. */
  readonly key: string;
  /** Columns by name. Of an update, the key and the columns that changed; `before` has the key. */
  readonly before: Row;
  readonly after: Row;
}

const KINDS = new Map<number, RowChange['kind']>([
  [18, 'insert'],
  [23, 'update'],
  [9, 'delete'],
]);
const TABLE = 0x54;

export type ColumnsOf = (table: string) => readonly string[];

export function parseChangeset(bytes: Uint8Array, columnsOf: ColumnsOf): readonly RowChange[] {
  return [...new ChangesetReader(bytes, columnsOf).changes()];
}

class ChangesetReader {
  readonly #bytes: Buffer;
  readonly #columnsOf: ColumnsOf;
  #at = 0;
  #table = '';
  #columns: readonly string[] = [];
  #isKey: readonly boolean[] = [];

  constructor(bytes: Uint8Array, columnsOf: ColumnsOf) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#columnsOf = columnsOf;
  }

  *changes(): Generator<RowChange> {
    while (this.#at < this.#bytes.length) {
      const byte = this.#byte();
      if (byte === TABLE) this.#readTable();
      else yield this.#readChange(byte);
    }
  }

  #readTable(): void {
    const count = this.#varint();
    this.#isKey = Array.from({ length: count }, () => this.#byte() !== 0);
    const end = this.#bytes.indexOf(0, this.#at);
    this.#table = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    this.#columns = this.#columnsOf(this.#table);
  }

  #readChange(byte: number): RowChange {
    const kind = KINDS.get(byte);
    if (kind === undefined) throw new Error(`a changeset has ${byte} where a change begins, at ${this.#at}`);
    // Whether a trigger made it.
    this.#byte();
    const before = kind === 'insert' ? {} : this.#record();
    const after = kind === 'delete' ? {} : this.#record();
    const known = kind === 'insert' ? after : before;
    const values = this.#columns.filter((_, index) => this.#isKey[index]).map((column) => known[column]);
    return { table: this.#table, kind, key: `${this.#table} ${values.join(' ')}`, before, after };
  }

  #record(): Row {
    const row: Record<string, Value> = {};
    for (const column of this.#columns) {
      const value = this.#value();
      if (value !== undefined) row[column] = value;
    }
    return row;
  }

  #value(): Value {
    const type = this.#byte();
    switch (type) {
      case 0:
        return undefined;
      case 1:
        return Number(this.#bytes.readBigInt64BE(this.#take(8)));
      case 2:
        return this.#bytes.readDoubleBE(this.#take(8));
      case 3: {
        const length = this.#varint();
        const start = this.#take(length);
        return this.#bytes.toString('utf8', start, start + length);
      }
      case 5:
        return null;
      default:
        throw new Error(`a changeset has a value of the type ${type}, which no table of ours has`);
    }
  }

  #byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  #take(bytes: number): number {
    const start = this.#at;
    this.#at += bytes;
    return start;
  }

  /** Seven bits a byte, the highest first; the eighth says that another follows. */
  #varint(): number {
    let value = 0;
    for (;;) {
      const byte = this.#byte();
      value = value * 128 + (byte & 0x7f);
      if (byte < 0x80) return value;
    }
  }
}
