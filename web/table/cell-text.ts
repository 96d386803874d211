/** A value as a cell shows it: a line of text, and its alignment. Values are never inserted as HTML. */
import { Digits, type ExactJson, formatExact } from '../api/exact-json.ts';

export interface CellText {
  readonly text: string;
  readonly kind: 'null' | 'number' | 'boolean' | 'text' | 'code' | 'nested';
  /** Whether the value is longer than what is shown. */
  readonly isCut: boolean;
}

/** More than fits into any column. */
const LENGTH_MAX = 240;
/** An address or hash: its beginning and end suffice to tell it from others. */
const LONG_HEX = /^0x[0-9a-fA-F]{24,}$/;

const NUMBERS = /^(tinyint|smallint|integer|bigint|hugeint|real|double|decimal|uint256|int256)\b/;

export function isNumberType(type: string): boolean {
  return NUMBERS.test(type);
}

export function isTimeType(type: string): boolean {
  return /^(date|time|timestamp)\b/.test(type);
}

export function cellText(value: ExactJson, type: string): CellText {
  if (value === null) return { text: 'null', kind: 'null', isCut: false };
  if (value instanceof Digits) return { text: value.text, kind: 'number', isCut: false };
  if (typeof value === 'boolean') return { text: String(value), kind: 'boolean', isCut: false };
  if (typeof value !== 'string') return cut(formatExact(value), 'nested');
  if (isNumberType(type)) return { text: value, kind: 'number', isCut: false };
  if (LONG_HEX.test(value)) return { text: `${value.slice(0, 8)}…${value.slice(-6)}`, kind: 'code', isCut: true };
  return cut(value, isTimeType(type) || type === 'uuid' || type === 'varbinary' ? 'code' : 'text');
}

/** The whole value, for copying. */
export function wholeText(value: ExactJson): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : formatExact(value);
}

function cut(text: string, kind: CellText['kind']): CellText {
  const line = text.slice(0, LENGTH_MAX).replaceAll(/[\r\n\t]+/g, ' ⏎ ');
  return { text: line, kind, isCut: text.length > LENGTH_MAX };
}
