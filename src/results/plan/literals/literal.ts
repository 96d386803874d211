/** A literal takes the type of the column it meets (contract §5): here is how each type reads each kind of literal. */
import type { ColumnType, NestedType } from '../../../domain/column-type.ts';
import type { Literal } from '../../../expression/tree.ts';
import { readInterval } from './interval.ts';
import { readApproximate, readExact } from './number.ts';
import { type Reading, unreadable } from './reading.ts';
import { readInstant, readTime, readZonedTime } from './time.ts';

/** Null is not read as a value: a comparison with it is unknown, whatever the type. */
export type ValueLiteral = Exclude<Literal, { readonly kind: 'null' }>;

/** Types whose values can be compared with a literal. */
export type ScalarType = Exclude<ColumnType, NestedType>;

export function readLiteral(literal: ValueLiteral, type: ScalarType): Reading {
  switch (type.kind) {
    case 'boolean':
      return readBoolean(literal);
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'hugeint':
    case 'uint256':
    case 'int256':
    case 'decimal':
      return literal.kind === 'boolean' ? unreadable('a number') : readExact(literal.text, type);
    case 'real':
    case 'double':
      return literal.kind === 'boolean' ? unreadable('a number') : readApproximate(literal.text, type);
    case 'varchar':
    case 'json':
      return readText(literal);
    case 'varbinary':
      return readBinary(literal);
    case 'uuid':
      return readUuid(literal);
    case 'date':
      return readInstant(textOf(literal), 'day');
    case 'timestamp':
      return readInstant(textOf(literal), type.digits === 9 ? 'nanosecond' : 'microsecond');
    case 'time':
      return type.withZone ? readZonedTime(textOf(literal)) : readTime(textOf(literal));
    case 'interval':
      return readInterval(textOf(literal));
    default:
      return type satisfies never;
  }
}

function readBoolean(literal: ValueLiteral): Reading {
  if (literal.kind === 'boolean') return { kind: 'value', value: literal.value };
  const word = literal.text.trim().toLowerCase();
  if (literal.kind === 'text' && (word === 'true' || word === 'false'))
    return { kind: 'value', value: word === 'true' };
  return unreadable('true or false');
}

/** A bare number is not read as text: which of 1, 1.0 and 01 was meant would be a guess. */
function readText(literal: ValueLiteral): Reading {
  if (literal.kind === 'text' || literal.kind === 'hex') return { kind: 'value', value: literal.text };
  return unreadable('a text in single quotes');
}

function readBinary(literal: ValueLiteral): Reading {
  const expected = 'bytes in hexadecimal, such as 0x6a3e';
  const match = literal.kind === 'text' || literal.kind === 'hex' ? /^0x([0-9a-f]*)$/i.exec(literal.text) : null;
  const digits = match?.[1];
  if (digits === undefined) return unreadable(expected);
  if (digits.length % 2 === 1) return unreadable(expected, `A byte has two digits; these are ${digits.length}.`);
  return { kind: 'value', value: digits.toLowerCase() };
}

function readUuid(literal: ValueLiteral): Reading {
  const digits = textOf(literal).toLowerCase();
  const match = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/.exec(digits);
  if (match === null) return unreadable("a UUID such as '6f1c0d3e-…' (32 hexadecimal digits)");
  return { kind: 'value', value: match.slice(1).join('-') };
}

/** Of literals that can be nothing but text here; a bare one reads as no text at all. */
function textOf(literal: ValueLiteral): string {
  return literal.kind === 'text' ? literal.text : '';
}
