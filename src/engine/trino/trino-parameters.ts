/**
 * How Trino is given a value: as a literal of its type. The characters that somebody typed are not in it: a text is its bytes as hex digits,
 * a number or a time is of digits and signs in known places. So no value can change what the SQL around it means, whatever is around it.
 *
 * Trino's own parameters (`EXECUTE … USING`) do not do: each `?` is another expression to it, so it refuses GROUP BY with the expression of
 * the SELECT, and LIMIT takes no value of them.
 */
import { EngineError } from '../engine.ts';
import type { BoundType, BoundValue, ParameterDialect } from '../sql/bind-parameters.ts';

export const TRINO_PARAMETERS: ParameterDialect = {
  comments: 'flat',
  // `PATTERN (A B?)` of MATCH_RECOGNIZE and of windows.
  patternWord: 'PATTERN',
  write: (bound, _number, before) => (isCount(bound, before) ? ` ${bound.value} ` : `(${literal(bound)})`),
};

/** Where Trino's grammar takes nothing but digits. */
const BEFORE_COUNTS = ['LIMIT', 'OFFSET', 'FIRST', 'NEXT'];
/** The most digits of a decimal. */
const DIGITS_MAX = 38;

function isCount({ value, type }: BoundValue, before: string): boolean {
  return type.kind === 'bigint' && /^[0-9]+$/.test(value) && BEFORE_COUNTS.includes(before);
}

function literal({ value, type }: BoundValue): string {
  if (type.kind === 'text') return `from_utf8(X'${Buffer.from(value).toString('hex').toUpperCase()}')`;
  if (!/^[-+0-9.:eE ]+$/.test(value)) throw new TypeError('the value of a parameter was not read as its type');
  requireDigits(value);
  return `CAST('${value}' AS ${sqlType(type, value)})`;
}

/** What is more than a decimal holds would be rounded; who writes an exponent asks for that. */
function requireDigits(value: string): void {
  const isNumber = /^[-+0-9.]+$/.test(value);
  if (!isNumber || value.replaceAll(/^[-+]?0*|\./g, '').length <= DIGITS_MAX) return;
  throw new EngineError(
    'syntax_error',
    `Trino has no number of more than ${DIGITS_MAX} digits: found ${value}; with an exponent (1e40) it may be rounded`,
  );
}

function sqlType(type: BoundType, value: string): string {
  switch (type.kind) {
    case 'text':
      return 'VARCHAR';
    case 'bigint':
      return 'BIGINT';
    case 'hugeint':
      return `DECIMAL(${value.replace(/^[+-]?0*/, '').length}, 0)`;
    case 'double':
      return 'DOUBLE';
    case 'decimal':
      return `DECIMAL(${type.precision}, ${type.scale})`;
    case 'timestamp':
      return `TIMESTAMP(${secondDigits(value)})`;
    case 'timestamp_with_zone':
      return `TIMESTAMP(${secondDigits(value)}) WITH TIME ZONE`;
    default:
      return type satisfies never;
  }
}

/** As many decimals of a second as the value has; of the types that results can hold. */
function secondDigits(value: string): 3 | 6 {
  return /\.[0-9]{4}/.test(value) ? 6 : 3;
}
