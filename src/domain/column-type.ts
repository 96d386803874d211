/**
 * The types a result column can have, and their names on the wire.
 *
 * The names are Trino's, in lower case (contract §6): `decimal(10, 3)`, `timestamp(3) with time zone`,
 * `array(varchar)`. A type is a plain tree; `parseColumnType` reads a name and `formatColumnType` prints it.
 */
import { shortened } from './shortened.ts';

export type ColumnType =
  | { readonly kind: 'boolean' }
  | { readonly kind: 'tinyint' | 'smallint' | 'integer' | 'bigint' }
  /** Whole numbers wider than 64 bits: 128 bits signed, 256 bits without and with a sign. */
  | { readonly kind: 'hugeint' | 'uint256' | 'int256' }
  | { readonly kind: 'real' | 'double' }
  /** `precision`: 1 to 76 digits, `scale` of them behind the point. */
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'varchar' | 'varbinary' | 'json' | 'uuid' }
  | { readonly kind: 'date' }
  | { readonly kind: 'interval' }
  | { readonly kind: 'time'; readonly withZone: boolean }
  /** `digits`: how many decimals a second has: 3, 6 or 9 (9 only without a zone). */
  | { readonly kind: 'timestamp'; readonly digits: 3 | 6 | 9; readonly withZone: boolean }
  | { readonly kind: 'array'; readonly element: ColumnType }
  | { readonly kind: 'map'; readonly key: ColumnType; readonly value: ColumnType }
  | { readonly kind: 'row'; readonly fields: readonly RowField[] };

export interface RowField {
  readonly name: string;
  readonly type: ColumnType;
}

export type NestedType = Extract<ColumnType, { readonly kind: 'array' | 'map' | 'row' }>;

/** Whether values of the type are made of other values. They have no order, and no literal. */
export function isNested(type: ColumnType): type is NestedType {
  return type.kind === 'array' || type.kind === 'map' || type.kind === 'row';
}

const SIMPLE = [
  'boolean',
  'tinyint',
  'smallint',
  'integer',
  'bigint',
  'hugeint',
  'uint256',
  'int256',
  'real',
  'double',
  'varchar',
  'varbinary',
  'json',
  'uuid',
  'date',
  'interval',
] as const;

/** As many digits as 256 bits hold. */
const DECIMAL_PRECISION_MAX = 76;

/** Deeper types than this are refused: every walk over a type is recursive, and what DuckDB takes to plan one over lists doubles with each level. */
export const COLUMN_TYPE_DEPTH_MAX = 16;

export class ColumnTypeError extends Error {
  override readonly name: string = 'ColumnTypeError';
}

/** The wire name of a type, for example `array(decimal(10, 3))`. */
export function formatColumnType(type: ColumnType): string {
  switch (type.kind) {
    case 'decimal':
      return `decimal(${type.precision}, ${type.scale})`;
    case 'time':
      return type.withZone ? 'time with time zone' : 'time';
    case 'timestamp':
      return `timestamp(${type.digits})${type.withZone ? ' with time zone' : ''}`;
    case 'array':
      return `array(${formatColumnType(type.element)})`;
    case 'map':
      return `map(${formatColumnType(type.key)}, ${formatColumnType(type.value)})`;
    case 'row':
      return `row(${type.fields.map((f) => `${formatFieldName(f.name)} ${formatColumnType(f.type)}`).join(', ')})`;
    default:
      return type.kind;
  }
}

function formatFieldName(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/**
 * Reads a type name, in any case and spacing.
 * @throws ColumnTypeError naming what was found and what was expected.
 */
export function parseColumnType(text: string): ColumnType {
  const reader = new TypeReader(text);
  const type = reader.type(0);
  reader.end();
  return type;
}

class TypeReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  type(depth: number): ColumnType {
    if (depth > COLUMN_TYPE_DEPTH_MAX) {
      throw new ColumnTypeError(`the type is nested more than ${COLUMN_TYPE_DEPTH_MAX} deep`);
    }
    const at = this.#at;
    const word = this.#word();
    switch (word) {
      case 'int':
        return { kind: 'integer' };
      case 'float':
        return { kind: 'real' };
      case 'text':
      case 'string':
        return { kind: 'varchar' };
      case 'varchar':
      case 'char':
        if (this.#accept('(')) {
          this.#integer();
          this.#expect(')');
        }
        return { kind: 'varchar' };
      case 'decimal':
      case 'numeric':
        return this.#decimal();
      case 'time':
        if (this.#accept('(')) {
          this.#integer();
          this.#expect(')');
        }
        return { kind: 'time', withZone: this.#withTimeZone() };
      case 'timestamp':
        return this.#timestamp();
      case 'array': {
        this.#expect('(');
        const element = this.type(depth + 1);
        this.#expect(')');
        return { kind: 'array', element };
      }
      case 'map': {
        this.#expect('(');
        const key = this.type(depth + 1);
        this.#expect(',');
        const value = this.type(depth + 1);
        this.#expect(')');
        return { kind: 'map', key, value };
      }
      case 'row': {
        this.#expect('(');
        const fields: RowField[] = [];
        const names = new Set<string>();
        do {
          const name = this.#fieldName();
          // Its values would be objects with a key twice.
          if (names.has(name))
            throw new ColumnTypeError(`a row has the field ${JSON.stringify(shortened(name, 60))} twice`);
          names.add(name);
          fields.push({ name, type: this.type(depth + 1) });
        } while (this.#accept(','));
        this.#expect(')');
        return { kind: 'row', fields };
      }
      default: {
        const simple = SIMPLE.find((kind) => kind === word);
        if (simple !== undefined) return { kind: simple };
        this.#at = at;
        throw this.#error('a type name such as varchar, bigint, decimal(10, 3) or timestamp(3) with time zone');
      }
    }
  }

  end(): void {
    this.#blanks();
    if (this.#at < this.#text.length) throw this.#error('the end of the type');
  }

  #decimal(): ColumnType {
    let precision = 38;
    let scale = 0;
    if (this.#accept('(')) {
      precision = this.#integer();
      if (this.#accept(',')) scale = this.#integer();
      this.#expect(')');
    }
    if (precision < 1 || precision > DECIMAL_PRECISION_MAX || scale > precision) {
      throw new ColumnTypeError(
        `decimal(${precision}, ${scale}) is out of range: the precision is 1 to ${DECIMAL_PRECISION_MAX}, the scale at most the precision`,
      );
    }
    return { kind: 'decimal', precision, scale };
  }

  #timestamp(): ColumnType {
    let digits = 3;
    if (this.#accept('(')) {
      digits = this.#integer();
      this.#expect(')');
    }
    const withZone = this.#withTimeZone();
    if (digits !== 3 && digits !== 6 && !(digits === 9 && !withZone)) {
      throw new ColumnTypeError(
        `timestamp(${digits})${withZone ? ' with time zone' : ''} is not stored: a timestamp has 3 or 6 digits, or 9 without a zone`,
      );
    }
    return { kind: 'timestamp', digits, withZone };
  }

  #withTimeZone(): boolean {
    const at = this.#at;
    if (this.#word() === 'with' && this.#word() === 'time' && this.#word() === 'zone') return true;
    this.#at = at;
    return false;
  }

  #fieldName(): string {
    this.#blanks();
    if (this.#text[this.#at] !== '"') {
      const name = /^[^\s,()"]+/.exec(this.#text.slice(this.#at))?.[0];
      if (name === undefined) throw this.#error('a field name');
      this.#at += name.length;
      return name;
    }
    let name = '';
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      if (this.#text[this.#at] !== '"') name += this.#text[this.#at];
      else if (this.#text[this.#at + 1] === '"') {
        name += '"';
        this.#at += 1;
      } else {
        this.#at += 1;
        return name;
      }
    }
    throw this.#error('a closing double quote');
  }

  #word(): string {
    this.#blanks();
    const word = /^[A-Za-z][A-Za-z0-9_]*/.exec(this.#text.slice(this.#at, this.#at + 64))?.[0] ?? '';
    this.#at += word.length;
    return word.toLowerCase();
  }

  #integer(): number {
    this.#blanks();
    const digits = /^[0-9]{1,9}/.exec(this.#text.slice(this.#at, this.#at + 10))?.[0];
    if (digits === undefined) throw this.#error('a number');
    this.#at += digits.length;
    return Number(digits);
  }

  #accept(mark: string): boolean {
    this.#blanks();
    if (this.#text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#accept(mark)) throw this.#error(`"${mark}"`);
  }

  #blanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #error(expected: string): ColumnTypeError {
    const found = this.#at < this.#text.length ? `"${this.#text.slice(this.#at, this.#at + 30)}"` : 'the end';
    return new ColumnTypeError(
      `type "${shortened(this.#text, 100)}", position ${this.#at + 1}: found ${found}, expected ${expected}`,
    );
  }
}
