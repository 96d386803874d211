/**
 * The columns of rows that a program hands over: each key in order of first appearance, and what kinds of values it has. Where the
 * values themselves tell the type (times, bytes, numbers with fractions, text) that is it; the rest is inferred as from JSON.
 */
import type { ColumnType } from '../../../domain/column-type.ts';
import type { ValueKind } from './row-values.ts';

const TOLD_TYPE: Partial<Record<ValueKind, ColumnType>> = {
  date: { kind: 'timestamp', digits: 3, withZone: true },
  bytes: { kind: 'varbinary' },
};

const IN_WORDS: Readonly<Record<ValueKind, string>> = {
  null: 'null',
  boolean: 'a boolean',
  whole: 'a number',
  double: 'a number',
  bigint: 'a bigint',
  text: 'text',
  date: 'a Date',
  bytes: 'bytes',
  nested: 'a list or an object',
};

interface SeenColumn {
  readonly kinds: Set<ValueKind>;
  /** The first value that is not null: its row, from 1, and its kind. */
  first: { readonly row: number; readonly kind: ValueKind } | undefined;
}

export class RowColumns {
  readonly #declared: ReadonlyMap<string, ColumnType>;
  readonly #seen = new Map<string, SeenColumn>();

  constructor(declared: ReadonlyMap<string, ColumnType>) {
    this.#declared = declared;
  }

  get count(): number {
    return this.#seen.size;
  }

  /** @returns why the value does not go with those before it; undefined when it does */
  add(name: string, kind: ValueKind, row: number): string | undefined {
    const column = this.#column(name);
    if (kind === 'null' || column.kinds.has(kind)) return undefined;
    column.kinds.add(kind);
    column.first ??= { row, kind };
    const { first } = column;
    const clash = first.kind !== kind && (first.kind in TOLD_TYPE || kind in TOLD_TYPE);
    if (!clash || this.#declared.has(name)) return undefined;
    return `${IN_WORDS[kind]}, and in row ${first.row} ${IN_WORDS[first.kind]}: pass values of one kind, or declare the type of the column`;
  }

  /** The types that need not be inferred: those declared, and those that the values tell. */
  types(): ReadonlyMap<string, ColumnType> {
    const told = [...this.#seen].flatMap(([name, { kinds }]) => {
      const type = typeOf(kinds);
      return type === undefined || this.#declared.has(name) ? [] : [[name, type] as const];
    });
    return new Map([...this.#declared, ...told]);
  }

  #column(name: string): SeenColumn {
    let column = this.#seen.get(name);
    if (column === undefined) {
      column = { kinds: new Set(), first: undefined };
      this.#seen.set(name, column);
    }
    return column;
  }
}

function typeOf(kinds: ReadonlySet<ValueKind>): ColumnType | undefined {
  const [only] = kinds;
  if (kinds.size === 1 && only !== undefined && only in TOLD_TYPE) return TOLD_TYPE[only];
  if (kinds.has('text')) return { kind: 'varchar' };
  return kinds.has('double') && kinds.isSubsetOf(new Set(['double', 'whole'])) ? { kind: 'double' } : undefined;
}
