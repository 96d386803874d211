/**
 * SQL that reads text as a value of a declared type, in the stored representation. Strict where a plain CAST is not: DuckDB
 * would round 1.5 to a bigint, cut 1.239 to a decimal(5, 2), drop the digits after the sixth of a second and read 1e400 as
 * infinity. Here whatever the type cannot hold is an invalid value.
 */
import type { ColumnType } from '../domain/column-type.ts';
import { isExactDouble, significantDigits } from './exact-double.ts';
import { hasNumberMark, losesDigits, losesWriting, NUMBER_MARK, unwrapNumbers, wrapNumbers } from './exact-json.ts';
import { quoteNonFinite } from './non-finite-json.ts';
import { positiveZero } from './positive-zero.ts';
import { quoteText } from './quoting.ts';
import { isWideDecimal, storageType, storedField } from './storage-type.ts';
import { inYears } from './years.ts';

export const UINT256_MAX = (2n ** 256n - 1n).toString();
export const INT256_MAX = (2n ** 255n - 1n).toString();
export const INT256_MIN_DIGITS = (2n ** 255n).toString();
const INT128_MAX = (2n ** 127n - 1n).toString();
const INT128_MIN_DIGITS = (2n ** 127n).toString();

/** Whatever its exponent is. */
const ZERO = '[-+]?(0+\\.?0*|\\.0+)([eE][-+]?[0-9]+)?';
const WHOLE = '[-+]?[0-9]+(\\.0*)?';
const DIGITS = '[-+]?[0-9]+';
/** Up to here these hold every whole number. */
const WHOLE_MAX = { real: 2 ** 24, double: 2 ** 53 };
const DAY = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?';
const ZONE = '(Z|z| ?UTC| ?[-+]([01][0-9]|2[0-3])(:?[0-5][0-9])?)';
/** Fractions that DuckDB would cut: finer than a microsecond, and of what has no fixed length, such as a month. */
const CUT_FRACTION = [
  '\\.[0-9]{6}[0-9]*[1-9]',
  '\\.[0-9]{3}[0-9]*[1-9][0-9]*\\s*(ms|millis)',
  '\\.[0-9]*[1-9][0-9]*\\s*(us|micros|mon|q|y|dec|c|mil($|[^l]|le))',
].join('|');
/** A time of day, which must be the end of an interval: DuckDB passes over all that follows it. */
const ENDS_IN_TIME = '[^:]*[0-9]:[0-9]+(:[0-9]+(\\.[0-9]*)?)?\\s*';
/** In JSON without its strings: what `json_valid` takes, and RFC 8259 does not. */
const LENIENT_JSON = ',\\s*[\\]}]|(?i:nan|inf)';

/**
 * SQL for the stored value of the text `expression`; null stays null.
 * @param fail SQL that ends the statement; evaluated for a text that is not of the type
 */
export function textToStored(type: ColumnType, expression: string, fail: string): string {
  return fromText(type, expression, fail, 0);
}

function fromText(type: ColumnType, text: string, fail: string, depth: number): string {
  const trimmed = `trim(${text})`;
  const tryCast = `TRY_CAST(${trimmed} AS ${storageType(type)})`;
  const when = (fits: string, value: string) =>
    `CASE WHEN ${text} IS NULL THEN NULL WHEN ${fits} THEN ${value} ELSE ${fail} END`;
  switch (type.kind) {
    case 'varchar':
      return text;
    case 'json':
      return when(isJson(text), text);
    case 'boolean':
      return when(`lower(${trimmed}) IN ('true', 'false', '1', '0')`, tryCast);
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
      return when(`${matches(trimmed, WHOLE)} AND ${tryCast} IS NOT NULL`, tryCast);
    case 'hugeint':
      return when(inRange(wholeDigits(trimmed), INT128_MAX, INT128_MIN_DIGITS), wholeDigits(trimmed));
    case 'uint256':
      return whole256(text, trimmed, fail, UINT256_MAX, undefined);
    case 'int256':
      return whole256(text, trimmed, fail, INT256_MAX, INT256_MIN_DIGITS);
    case 'real':
    case 'double': {
      const named = `lower(ltrim(${trimmed}, '-+')) IN ('nan', 'inf', 'infinity')`;
      // A whole number exactly, another the nearest number that there is: neither infinity for 1e400 nor zero for 1e-400; and a cast reads 1_0 as ten. Cases, so that what is
      // dear is worked out for few values.
      // A cast passes over more kinds of blanks than trim does.
      const bare = `regexp_replace(${trimmed}, '^\\s+|\\s+$', '', 'g')`;
      const fits = `CASE WHEN abs(${tryCast}) < ${WHOLE_MAX[type.kind]} AND ${tryCast} <> 0 THEN NOT contains(${trimmed}, '_')
        WHEN isfinite(${tryCast}) AND ${tryCast} <> 0 THEN CASE WHEN ${matches(bare, DIGITS)} THEN ${keepsWhole(tryCast, bare)} ELSE NOT contains(${trimmed}, '_') END
        WHEN ${tryCast} = 0 THEN ${matches(trimmed, ZERO)} ELSE ${tryCast} IS NOT NULL AND ${named} END`;
      return when(fits, positiveZero(tryCast));
    }
    case 'decimal': {
      if (isWideDecimal(type)) return wideDecimal(type, text, trimmed, fail);
      const isPlain = (number: string) => matches(number, `[-+]?[0-9]*(\\.[0-9]{0,${type.scale}}0*)?`);
      // A cast reads no exponent of more than some digits, cuts what it moves, and takes 5e-1 for a number with a digit before the point.
      const moved = `TRY_CAST(plain AS ${storageType(type)})`;
      const rest = `list_transform([${withoutExponent(trimmed)}], lambda plain: CASE WHEN ${isPlain('plain')} AND ${moved} IS NOT NULL THEN ${moved} ELSE ${fail} END)[1]`;
      return `CASE WHEN ${text} IS NULL THEN NULL WHEN ${isPlain(trimmed)} AND ${tryCast} IS NOT NULL THEN ${tryCast} ELSE ${rest} END`;
    }
    case 'varbinary':
      return when(matches(trimmed, '0[xX]([0-9a-fA-F]{2})*'), `unhex(substr(${trimmed}, 3))`);
    case 'uuid':
      return when(`${tryCast} IS NOT NULL`, tryCast);
    case 'date':
      return when(`${matches(trimmed, DAY)} AND ${inYears(type, tryCast)}`, tryCast);
    case 'time': {
      const zone = type.withZone ? `${ZONE}?` : '';
      const value = type.withZone ? `CAST(${zonedTimeFromText(trimmed)} AS VARCHAR)` : tryCast;
      return when(`${matches(trimmed, `${TIME.replace('{1,9}', '{1,6}0*')}${zone}`)} AND ${value} IS NOT NULL`, value);
    }
    case 'timestamp': {
      const value = timestampFromText(type, trimmed);
      return when(`${matches(trimmed, timestampPattern(type))} AND ${value} IS NOT NULL`, value);
    }
    case 'interval': {
      const value = `CAST(TRY_CAST(${trimmed} AS INTERVAL) AS VARCHAR)`;
      const isCut = `regexp_matches(${trimmed}, ${quoteText(CUT_FRACTION)}, 'i')`;
      const isWhole = `NOT contains(${trimmed}, ':') OR ${matches(trimmed, ENDS_IN_TIME)}`;
      return when(`${value} IS NOT NULL AND NOT ${isCut} AND (${isWhole})`, value);
    }
    case 'array':
    case 'map':
    case 'row':
      return when(isJson(text), fromJsonText(type, text, fail, { depth, exact: false }));
    default:
      return type satisfies never;
  }
}

interface JsonReading {
  readonly depth: number;
  /** A number is a number: not one in quotes, and not one that a double would round. */
  readonly exact: boolean;
  /** Numbers are wrapped (exact-json.ts). */
  readonly wrapped: boolean;
}

/**
 * SQL for the stored value of the JSON text `text`; JSON's null is null. No digit of a number is lost, unless a declared real or
 * double rounds it. A value of another shape is an invalid value: an object with a key that the row does not have too, since leaving it
 * out would lose it. A key that is missing is null.
 * @param exact whether a number that a double would round is an invalid value too, and one in quotes
 */
export function jsonToStored(type: ColumnType, text: string, fail: string, exact: boolean): string {
  return fromJsonText(type, text, fail, { depth: 0, exact });
}

function fromJsonText(
  type: ColumnType,
  text: string,
  fail: string,
  reading: Pick<JsonReading, 'depth' | 'exact'>,
): string {
  const plain = fromJson(type, `CAST(${text} AS JSON)`, fail, { ...reading, wrapped: false });
  if (type.kind === 'json') return plain;
  // Worked out once, and only for the few texts that need it.
  const wrapped = `list_transform([CAST(${wrapNumbers(text)} AS JSON)], lambda whole: ${fromJson(type, 'whole', fail, { ...reading, wrapped: true })})[1]`;
  return `CASE WHEN ${keepsWriting(type) ? losesWriting(text) : losesDigits(text)} THEN CASE WHEN ${hasNumberMark(text)} THEN ${fail} ELSE ${wrapped} END ELSE ${plain} END`;
}

/** Whether a value of the type shows how a number was written. */
export function keepsWriting(type: ColumnType): boolean {
  switch (type.kind) {
    case 'varchar':
    case 'json':
      return true;
    case 'array':
      return keepsWriting(type.element);
    case 'map':
      return keepsWriting(type.value);
    case 'row':
      return type.fields.some((field) => keepsWriting(field.type));
    default:
      return false;
  }
}

function fromJson(type: ColumnType, json: string, fail: string, reading: JsonReading): string {
  const inner = { ...reading, depth: reading.depth + 1 };
  const member = `j${reading.depth}`;
  const each = (element: ColumnType, list: string) =>
    `list_transform(${list}, lambda ${member}: ${fromJson(element, member, fail, inner)})`;
  const when = (jsonType: string, fits: string, value: string) =>
    `CASE json_type(${json}) WHEN ${quoteText(jsonType)} THEN CASE WHEN ${fits} THEN ${value} ELSE ${fail} END WHEN 'NULL' THEN NULL ELSE CASE WHEN ${json} IS NOT NULL THEN ${fail} END END`;
  switch (type.kind) {
    case 'array':
      return when('ARRAY', 'true', each(type.element, `json_extract(${json}, '$[*]')`));
    case 'map': {
      const keys = `list_transform(json_keys(${json}), lambda ${member}: ${fromText(type.key, member, fail, inner.depth)})`;
      const unique = `${countOfKeys(type.key, keys)} = len(json_keys(${json}))`;
      return when('OBJECT', unique, `map(${keys}, ${each(type.value, `json_extract(${json}, '$.*')`)})`);
    }
    case 'row': {
      const pointers = type.fields.map((f) => quoteText(jsonPointer(f.name)));
      const known = `list_count(json_extract(${json}, [${pointers.join(', ')}])) = len(json_keys(${json}))`;
      const fields = type.fields.map((f, i) => {
        const value = `json_extract(${json}, ${pointers[i]})`;
        return `${storedField(i)} := ${fromJson(f.type, value, fail, inner)}`;
      });
      return when('OBJECT', known, `struct_pack(${fields.join(', ')})`);
    }
    case 'json':
      return jsonFromJson(json, fail, reading);
    default: {
      const held = `json_extract_string(${json}, '$')`;
      const bare = reading.wrapped ? `ltrim(${held}, '${NUMBER_MARK}')` : held;
      // Nested values become text with all that is in them.
      const text = reading.wrapped && type.kind === 'varchar' ? unwrapNumbers(bare) : bare;
      const value = fromText(type, text, fail, reading.depth);
      if (!reading.exact || type.kind === 'varchar') return value;
      const token = `CAST(${json} AS VARCHAR)`;
      const quoted = `starts_with(${token}, '"')${reading.wrapped ? ` AND NOT starts_with(${held}, '${NUMBER_MARK}')` : ''}`;
      const rounded = type.kind === 'double' ? ` OR ${isRounded(text, reading.wrapped)}` : '';
      return `CASE WHEN ${quoted}${rounded} THEN ${fail} ELSE ${value} END`;
    }
  }
}

function isJson(text: string): string {
  const lenient = quoteText(LENIENT_JSON);
  // To leave its strings out takes time, and few texts could be lenient ones.
  const bare = `regexp_replace(${text}, '"([^"\\\\]|\\\\.)*"', '""', 'g')`;
  const isStrict = `NOT regexp_matches(${text}, ${lenient}) OR NOT regexp_matches(${bare}, ${lenient})`;
  return `(json_valid(${text}) AND (${isStrict}))`;
}

/** Declared json takes text as JSON, which is how answers spell it; where json is what was found, text is a JSON string. */
function jsonFromJson(json: string, fail: string, { exact, wrapped }: JsonReading): string {
  const text = quoteNonFinite(`CAST(${json} AS VARCHAR)`);
  const asIs = wrapped ? unwrapNumbers(text) : text;
  if (exact) return `CASE WHEN json_type(${json}) <> 'NULL' THEN ${asIs} END`;
  const held = `json_extract_string(${json}, '$')`;
  const isText = `json_type(${json}) = 'VARCHAR'${wrapped ? ` AND NOT starts_with(${held}, '${NUMBER_MARK}')` : ''}`;
  return `CASE WHEN ${isText} THEN CASE WHEN ${isJson(held)} THEN ${held} ELSE ${fail} END WHEN json_type(${json}) <> 'NULL' THEN ${asIs} END`;
}

/** Only a wrapped number still has digits that a double would not print; a whole one could have been a bigint. */
function isRounded(text: string, wrapped: boolean): string {
  const long = matches(text, '-?[0-9]{16,}');
  return wrapped ? `${long} OR ${text} IS NOT NULL AND NOT ${isExactDouble(text)}` : long;
}

/** RFC 6901: the one form of a JSON path that takes any name, and takes it as it is written. */
export function jsonPointer(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What text a timestamp of this type is read from: ISO 8601, with an offset only when the type has a zone. */
export function timestampPattern(type: ColumnType & { readonly kind: 'timestamp' }): string {
  const time = TIME.replace('{1,9}', `{1,${type.digits}}0*`);
  return `${DAY}([ T]${time}${type.withZone ? `${ZONE}?` : ''})?`;
}

/** DuckDB reads an offset only after seconds, so missing ones are put in; and of a time no zone that is no offset. */
function zonedTimeFromText(text: string): string {
  const offset = `regexp_replace(${text}, ' ?(Z|z|UTC)$', '+00')`;
  const filled = `regexp_replace(${offset}, '^([0-9]{2}:[0-9]{2})([^:0-9])', '\\1:00\\2')`;
  return `coalesce(TRY_CAST(${text} AS TIMETZ), TRY_CAST(${filled} AS TIMETZ))`;
}

/** DuckDB reads an offset only after seconds, so missing ones are put in. */
export function timestampFromText(type: ColumnType & { readonly kind: 'timestamp' }, text: string): string {
  const cast = `TRY_CAST(${text} AS ${storageType(type)})`;
  const filled = `regexp_replace(${text}, '^(.{10}[ T][0-9]{2}:[0-9]{2})([^:0-9])', '\\1:00\\2')`;
  const value = type.withZone ? `coalesce(${cast}, TRY_CAST(${filled} AS ${storageType(type)}))` : cast;
  return `CASE WHEN ${inYears(type, value)} THEN ${value} END`;
}

export function matches(text: string, pattern: string): string {
  return `regexp_full_match(${text}, ${quoteText(pattern)})`;
}

/** The canonical digits of a whole number in decimal, or null. */
function wholeDigits(text: string): string {
  const canonical = `regexp_replace(regexp_replace(${text}, '^\\+|\\.0*$', '', 'g'), '^(-?)0+([0-9])', '\\1\\2')`;
  return `CASE WHEN ${matches(text, WHOLE)} THEN CASE ${canonical} WHEN '-0' THEN '0' ELSE ${canonical} END END`;
}

/** SQL: how many different keys a map of this list of keys would have. */
export function countOfKeys(type: ColumnType, keys: string): string {
  if (type.kind !== 'real' && type.kind !== 'double') return `len(list_distinct(${keys}))`;
  // Two NaN may differ to `list_distinct`, and are one key to a map, as the two zeros are.
  const texts = `list_transform(${keys}, lambda key: CASE WHEN isnan(key) THEN 'nan' ELSE ${positiveZero('key')}::VARCHAR END)`;
  return `len(list_distinct(${texts}))`;
}

/**
 * SQL: whether the real or double `number`, which was read from the whole number `text`, still tells its digits: it is that number, or prints those digits
 * as its own, as JavaScript writes 2 ** 60 as 1152921504606847000.
 */
function keepsWhole(number: string, text: string): string {
  const digits = significantDigits(text);
  const printed = [
    `${number}::VARCHAR`,
    `CAST(CAST(${number} AS DOUBLE) AS BIGNUM)::VARCHAR`,
    `format('{:.16e}', ${number})`,
  ];
  return `CASE ${printed.map((p) => `WHEN ${digits} = ${significantDigits(p)} THEN true`).join(' ')} ELSE false END`;
}

/** Compares by length and then digit by digit: no number type of DuckDB's is both wide enough and exact. */
export function inRange(digits: string, max: string, minDigits: string | undefined): string {
  const above = `(strlen(${digits}) < ${max.length} OR strlen(${digits}) = ${max.length} AND ${digits} <= '${max}')`;
  if (minDigits === undefined) return `(NOT starts_with(${digits}, '-') AND ${above})`;
  const length = minDigits.length + 1;
  const below = `(strlen(${digits}) < ${length} OR strlen(${digits}) = ${length} AND ${digits} <= '-${minDigits}')`;
  return `CASE WHEN starts_with(${digits}, '-') THEN ${below} ELSE ${above} END`;
}

function whole256(text: string, trimmed: string, fail: string, max: string, minDigits: string | undefined): string {
  const hex = matches(trimmed, '0[xX][0-9a-fA-F]{1,64}');
  const digits = `CASE WHEN ${hex} THEN ${digitsOfHex(trimmed)} ELSE ${wholeDigits(trimmed)} END`;
  // Worked out once: the digits of a hex text take hundreds of additions.
  return `list_transform([${digits}], lambda w: CASE WHEN ${text} IS NULL THEN NULL WHEN ${inRange('w', max, minDigits)} THEN w ELSE ${fail} END)[1]`;
}

/** Only its digits: sign, no zeros in front, as many behind the point as the scale says. */
function wideDecimal(
  { precision, scale }: ColumnType & { readonly kind: 'decimal' },
  text: string,
  trimmed: string,
  fail: string,
): string {
  const isNumber = matches('plain', '[-+]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)');
  const before = `ltrim(regexp_extract(plain, '^[-+]?([0-9]*)', 1), '0')`;
  const after = `rtrim(regexp_extract(plain, '\\.([0-9]*)$', 1), '0')`;
  const fits = `${isNumber} AND strlen(${before}) <= ${precision - scale} AND strlen(${after}) <= ${scale}`;
  const sign = `CASE WHEN starts_with(plain, '-') AND ${before} || ${after} <> '' THEN '-' ELSE '' END`;
  const fraction = scale === 0 ? '' : ` || '.' || rpad(${after}, ${scale}, '0')`;
  const value = `${sign} || coalesce(nullif(${before}, ''), '0')${fraction}`;
  // Worked out once.
  return `list_transform([${withoutExponent(trimmed)}], lambda plain: CASE WHEN ${text} IS NULL THEN NULL WHEN ${fits} THEN ${value} ELSE ${fail} END)[1]`;
}

/** SQL: whether the number is zero, whatever its exponent is. */
function isZeroWithExponent(number: string): string {
  return `contains(lower(${number}), 'e') AND ${matches(number, ZERO)}`;
}

/** SQL: the number without an exponent, its point moved; as it is where it has none, or one that no decimal has room for. */
function withoutExponent(number: string): string {
  const parts = `regexp_extract(${number}, '^([-+]?)([0-9]*)\\.?([0-9]*)[eE]([-+]?0*[0-9]{1,3})$', ['sign', 'whole', 'rest', 'power'])`;
  const point = 'strlen(n.whole) + n.power::INTEGER';
  const digits = 'n.whole || n.rest';
  const moved = `CASE WHEN ${point} <= 0 THEN '0.' || repeat('0', -(${point})) || ${digits}
    ELSE substr(rpad(${digits}, greatest(strlen(${digits}), ${point})::INTEGER, '0'), 1, ${point}) || '.' || substr(${digits}, ${point} + 1) END`;
  const read = `list_transform([${parts}], lambda n: CASE WHEN n.power = '' OR ${digits} = '' THEN ${number} ELSE n.sign || ${moved} END)[1]`;
  return `CASE WHEN ${isZeroWithExponent(number)} THEN '0' WHEN contains(lower(${number}), 'e') THEN ${read} ELSE ${number} END`;
}

/** By doubling: sixteen times a big number is its sum with itself, four times over, and DuckDB can only add these exactly. */
function digitsOfHex(text: string): string {
  const nibbles = `list_transform(string_split(lower(substr(${text}, 3)), ''), lambda n: (strpos('0123456789abcdef', n) - 1)::BIGNUM)`;
  const twice = (x: string) => `list_transform([${x}], lambda d: d + d)[1]`;
  return `list_reduce(${nibbles}, lambda h, n: ${twice(twice(twice(twice('h'))))} + n)::VARCHAR`;
}
