/**
 * Numbers as they were typed, `-1.50e3` or `0x6a3e`, read as each numeric type: digit by digit for the exact types, as the
 * nearest value for real and double.
 */
import type { ColumnType } from '../../../domain/column-type.ts';
import { placeOnPoints, type Reading, unreadable } from './reading.ts';

/** The number (−1)^negative × digits × 10^exponent. No leading or trailing zeros in `digits`; zero is `''`. */
interface DecimalNumber {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

export type ExactType = ColumnType & {
  readonly kind: 'tinyint' | 'smallint' | 'integer' | 'bigint' | 'hugeint' | 'uint256' | 'int256' | 'decimal';
};

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;
const HEX = /^0x[0-9a-f]+$/i;
/** Larger exponents make no difference: the number is beyond every type. */
const EXPONENT_MAX = 1_000_000_000;
/** Longer than the digits of any exact value (78). */
const MAGNITUDE_MAX = 100;

/** Bits of the types that are two's complement. */
const SIGNED_BITS = { tinyint: 8, smallint: 16, integer: 32, bigint: 64, hugeint: 128, int256: 256 } as const;

export function readExact(text: string, type: ExactType): Reading {
  const number = parseNumber(text);
  if (number === undefined) return unreadable('a number such as 42 or 1.5');
  const scale = type.kind === 'decimal' ? type.scale : 0;
  const { min, max } = rangeOf(type);
  const { negative, digits, exponent } = number;
  if (digits === '') return placeOnPoints(0n, true, min, max);
  // How many digits stand before the point, counted in units of the type.
  const magnitude = digits.length + exponent + scale;
  if (magnitude > MAGNITUDE_MAX) return { kind: 'beyond', side: negative ? 'below' : 'above' };
  const exact = exponent + scale >= 0;
  const whole = magnitude <= 0 ? 0n : BigInt(digits.slice(0, magnitude).padEnd(magnitude, '0'));
  const floor = negative ? (exact ? -whole : -whole - 1n) : whole;
  return placeOnPoints(floor, exact, min, max);
}

/** Rounded to the nearest value of the type by DuckDB, which reads decimal text correctly; only overflow is decided here. */
export function readApproximate(text: string, type: ColumnType & { readonly kind: 'real' | 'double' }): Reading {
  const named = /^([+-]?)(nan|inf|infinity)$/i.exec(text.trim());
  if (named !== null) {
    const value = named[2]?.toLowerCase() === 'nan' ? 'NaN' : named[1] === '-' ? '-Infinity' : 'Infinity';
    return { kind: 'value', value };
  }
  const number = parseNumber(text);
  if (number === undefined) return unreadable("a number such as 1.5, or 'NaN', 'Infinity', '-Infinity'");
  const { negative, digits, exponent } = number;
  const value = `${negative ? '-' : ''}${digits === '' ? '0' : digits}e${exponent}`;
  const nearest = type.kind === 'real' ? Math.fround(Number(value)) : Number(value);
  if (!Number.isFinite(nearest)) return { kind: 'beyond', side: negative ? 'below' : 'above' };
  return { kind: 'value', value };
}

/** The least and greatest value of an exact type, in units of its last digit. */
function rangeOf(type: ExactType): { readonly min: bigint; readonly max: bigint } {
  switch (type.kind) {
    case 'decimal': {
      const max = 10n ** BigInt(type.precision) - 1n;
      return { min: -max, max };
    }
    case 'uint256':
      return { min: 0n, max: 2n ** 256n - 1n };
    default: {
      const half = 2n ** BigInt(SIGNED_BITS[type.kind] - 1);
      return { min: -half, max: half - 1n };
    }
  }
}

function parseNumber(text: string): DecimalNumber | undefined {
  const trimmed = text.trim();
  if (HEX.test(trimmed)) return normalized(false, BigInt(trimmed).toString(), 0);
  const match = DECIMAL.exec(trimmed);
  if (match === null) return undefined;
  const [, sign, before = '', after = '', power = '0'] = match;
  if (before === '' && after === '') return undefined;
  const exponent = Math.min(Math.max(Number(power), -EXPONENT_MAX), EXPONENT_MAX);
  return normalized(sign === '-', before + after, exponent - after.length);
}

function normalized(negative: boolean, digits: string, exponent: number): DecimalNumber {
  let start = 0;
  while (digits[start] === '0') start += 1;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end -= 1;
  return start === end
    ? { negative: false, digits: '', exponent: 0 }
    : { negative, digits: digits.slice(start, end), exponent: exponent + digits.length - end };
}
