/** Every committed row of the tables that invariants speak about, whole: so that a change shows the row before and after it. */
import type { Row, RowChange } from '../database/changeset.ts';

export interface WholeChange {
  readonly table: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

export class CommittedRows {
  readonly #tables = new Map<string, Map<string, Row>>();

  of(table: string): ReadonlyMap<string, Row> {
    return this.#of(table);
  }

  take({ table, kind, key, after }: RowChange): WholeChange {
    const rows = this.#of(table);
    const before = rows.get(key);
    if (kind === 'delete') {
      rows.delete(key);
      return { table, before, after: undefined };
    }
    const whole = { ...before, ...after };
    rows.set(key, whole);
    return { table, before, after: whole };
  }

  #of(table: string): Map<string, Row> {
    const known = this.#tables.get(table);
    if (known !== undefined) return known;
    const rows = new Map<string, Row>();
    this.#tables.set(table, rows);
    return rows;
  }
}
