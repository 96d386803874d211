/** Values that Parquet holds more exactly than DuckDB reads them (parquet-schema.ts), as SQL over what they physically are. */
import { DAY_MILLIS } from '../domain/instant.ts';
import type { BareLeaf } from './parquet-schema.ts';
import type { StoredConversion } from './stored-conversion.ts';

/** The fewest and most nanoseconds since 1970 that DuckDB takes for a timestamp. */
const NANOS_MIN = '-9223286400000000000';
const NANOS_MAX = '9223372036854775806';
const MICROS_MIN = `epoch_us(TIMESTAMP '0001-01-01')`;
const MICROS_MAX = `epoch_us(TIMESTAMP '9999-12-31 23:59:59.999999')`;
const DAY_NANOS = DAY_MILLIS * 1_000_000;
/** The Julian day of 1970-01-01. */
const JULIAN_1970 = 2440588;

const BYTES_MAX = 32;
const TWO_TO_64 = '18446744073709551616';

/**
 * @param asNanos whether instants become timestamp(9) in UTC; else those that are whole microseconds are kept, with their zone
 * @param fail SQL that ends the statement, given SQL for the text of a value that cannot be stored
 */
export function bareLeafType(bare: BareLeaf, asNanos: boolean, fail: (text: string) => string): StoredConversion {
  switch (bare.kind) {
    case 'decimal':
      return {
        type: { kind: 'decimal', precision: bare.precision, scale: bare.scale },
        stored: (e) => decimal(bare, e, fail),
        shown: wholeOfBytes,
      };
    case 'nanos':
      return asNanos ? timestampOfNanos((e) => e, fail) : microseconds((e) => e, true, fail);
    case 'int96':
      return asNanos ? timestampOfNanos(nanosOfInt96, fail) : microseconds(nanosOfInt96, false, fail);
    case 'time-nanos':
      return {
        type: { kind: 'time', withZone: false },
        shown: (e) => `${e}::VARCHAR || ' nanoseconds since midnight'`,
        stored: (e) => {
          const fits = `${e} >= 0 AND ${e} < ${DAY_NANOS} AND ${e} % 1000 = 0`;
          const value = `TIME '00:00:00' + to_microseconds(${e} // 1000)`;
          return whenFits(e, fits, value, fail(`${e}::VARCHAR || ' nanoseconds since midnight'`));
        },
      };
    default:
      return bare satisfies never;
  }
}

function whenFits(e: string, fits: string, value: string, otherwise: string): string {
  return `CASE WHEN ${e} IS NULL THEN NULL WHEN ${fits} THEN ${value} ELSE ${otherwise} END`;
}

function timestampOfNanos(nanosOf: (e: string) => string, fail: (text: string) => string): StoredConversion {
  return {
    type: { kind: 'timestamp', digits: 9, withZone: false },
    shown: (e) => sinceEpoch(nanosOf(e)),
    stored: (e) => {
      const nanos = nanosOf(e);
      const fits = `${nanos} BETWEEN ${NANOS_MIN} AND ${NANOS_MAX}`;
      return whenFits(e, fits, `make_timestamp_ns((${nanos})::BIGINT)`, fail(sinceEpoch(nanos)));
    },
  };
}

function microseconds(
  nanosOf: (e: string) => string,
  withZone: boolean,
  fail: (text: string) => string,
): StoredConversion {
  return {
    type: { kind: 'timestamp', digits: 6, withZone },
    shown: (e) => sinceEpoch(nanosOf(e)),
    stored: (e) => {
      const nanos = nanosOf(e);
      const micros = `(${nanos} // 1000)`;
      const fits = `${nanos} % 1000 = 0 AND ${micros} BETWEEN ${MICROS_MIN} AND ${MICROS_MAX}`;
      const make = withZone ? 'make_timestamptz' : 'make_timestamp';
      return whenFits(e, fits, `${make}(${micros}::BIGINT)`, fail(sinceEpoch(nanos)));
    },
  };
}

function sinceEpoch(nanos: string): string {
  return `(${nanos})::VARCHAR || ' nanoseconds since 1970'`;
}

/** A HUGEINT: the years that it can tell are more than 64 bits of nanoseconds have. */
function nanosOfInt96(e: string): string {
  const bytesFrom = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, i) => `substr(hex(${e}), ${2 * (last - i) + 1}, 2)`).join(' || ');
  const ofDay = `('0x' || ${bytesFrom(0, 7)})::UBIGINT::HUGEINT`;
  const day = `('0x' || ${bytesFrom(8, 11)})::UBIGINT::HUGEINT`;
  return `((${day} - ${JULIAN_1970}) * ${DAY_NANOS} + ${ofDay})`;
}

function decimal(
  { precision, scale }: BareLeaf & { readonly kind: 'decimal' },
  e: string,
  fail: (text: string) => string,
): string {
  const digits = `ltrim(d, '-')`;
  const padded = `CASE WHEN strlen(${digits}) <= ${scale} THEN lpad(${digits}, ${scale + 1}, '0') ELSE ${digits} END`;
  const pointed = `list_transform([${padded}], lambda m: left(m, strlen(m)::BIGINT - ${scale}) || '.' || right(m, ${scale}))[1]`;
  const text = scale === 0 ? 'd' : `CASE WHEN starts_with(d, '-') THEN '-' ELSE '' END || ${pointed}`;
  const value = `list_transform([${wholeOfBytes(e)}], lambda d: CASE WHEN strlen(${digits}) <= ${precision} THEN ${text} ELSE ${fail('d')} END)[1]`;
  return whenFits(e, `octet_length(${e}) BETWEEN 1 AND ${BYTES_MAX}`, value, fail(`'0x' || hex(${e})`));
}

/**
 * The digits of a whole number in two's complement. DuckDB's numbers of any width can only be added, so a wide one is the sum
 * of its words, the upper two doubled 128 times and the third 64 times.
 */
function wholeOfBytes(e: string): string {
  const padded = `lpad(hex(${e}), ${2 * BYTES_MAX}, CASE WHEN hex(${e}) >= '8' THEN 'F' ELSE '0' END)`;
  const word = (index: number) => `('0x' || substr(h, ${16 * index + 1}, 16))::UBIGINT::HUGEINT`;
  const highest = (index: number) => `(${word(index)} - CASE WHEN h >= '8' THEN ${TWO_TO_64} ELSE 0 END)`;
  // 120 bits at most: most numbers.
  const isNarrow = `left(h, 34) IN ('${'0'.repeat(34)}', '${'F'.repeat(34)}')`;
  const narrow = `(${highest(2)} * ${TWO_TO_64} + ${word(3)})::VARCHAR`;
  // Through text: DuckDB 1.5.5 makes 0 of 72057594037927936 (2 ** 56) where it casts a number.
  const big = (number: string) => `${number}::VARCHAR::BIGNUM`;
  const doubled = (number: string, times: number) =>
    `list_reduce(list_prepend(${big(number)}, list_transform(range(${times}), lambda i: '0'::BIGNUM)), lambda n, i: n + n)`;
  const upper = doubled(`(${highest(0)} * ${TWO_TO_64} + ${word(1)})`, 128);
  const wide = `(${upper} + ${doubled(word(2), 64)} + ${big(word(3))})::VARCHAR`;
  return `list_transform([${padded}], lambda h: CASE WHEN ${isNarrow} THEN ${narrow} ELSE ${wide} END)[1]`;
}
