/**
 * What values of a source table become: exactly what the text, the number or the time says, of the type that is declared, or the query ends. DuckDB's
 * casts round, cut and guess; texts are read by the rules of publishing instead.
 */
import { type ColumnType, formatColumnType } from '../../domain/column-type.ts';
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import { storageType } from '../../duckdb/storage-type.ts';
import { matches, textToStored } from '../../duckdb/text-value.ts';
import { countSince1970, type InstantType, inYears } from '../../duckdb/years.ts';
import { elementOf, fieldsOf, keyAndValueOf } from './found-type.ts';

/** As which type a value is read from NDJSON: all that it holds as texts. Of a number, DuckDB makes 2 for 1.5 where a bigint is wanted, and true for 2. */
export function typeInJson(type: ColumnType): string {
  return sqlType(asTexts(type));
}

function asTexts(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'array':
      return { ...type, element: asTexts(type.element) };
    case 'map':
      return { ...type, key: asTexts(type.key), value: asTexts(type.value) };
    case 'row':
      return { ...type, fields: type.fields.map((field) => ({ ...field, type: asTexts(field.type) })) };
    default:
      return { kind: 'varchar' };
  }
}

/** As `storageType`, but that the fields of rows have their names: the SQL of a query says them. */
function sqlType(type: ColumnType): string {
  switch (type.kind) {
    case 'array':
      return `${sqlType(type.element)}[]`;
    case 'map':
      return `MAP(${sqlType(type.key)}, ${sqlType(type.value)})`;
    case 'row':
      return `STRUCT(${type.fields.map((field) => `${quoteName(field.name)} ${sqlType(field.type)}`).join(', ')})`;
    default:
      return storageType(type);
  }
}

/** Whether DuckDB reads all numbers that a value of the type holds as they are meant: as doubles. */
export function isOfDoubles(type: ColumnType): boolean {
  switch (type.kind) {
    case 'real':
    case 'double':
      return true;
    case 'array':
      return isOfDoubles(type.element);
    case 'map':
      return isOfDoubles(type.value);
    case 'row':
      return type.fields.every((field) => isOfDoubles(field.type));
    default:
      return false;
  }
}

export interface Place {
  /** `schema.table` */
  readonly table: string;
  readonly column: string;
}

/** DuckDB's types of numbers that it casts to a double with two roundings; their text it reads as the nearest double. */
const ROUNDED_TWICE = /^(DECIMAL|U?HUGEINT)/;
const WHOLE_FOUND = /^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/;
const FRACTION_FOUND = /^(DOUBLE|FLOAT|DECIMAL\(\d+,\s*\d+\))$/;
const INSTANT_FOUND = /^(DATE|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?)$/;
const WITH_EXPONENT = '[-+]?[0-9]*\\.?[0-9]*[eE][-+]?[0-9]+';
/** What the SQL of a query can add up. */
const UINT256_SUMMED = 'DECIMAL(38, 0)';

/**
 * SQL for the value as one of the declared type.
 * @param value SQL; a name in it may be none of those that a lambda of text-value.ts gives
 * @param foundType of it, as DuckDB writes it
 */
export function convert(value: string, type: ColumnType, foundType: string, place: Place): string {
  if (type.kind === 'uint256') return summedUint256(value, foundType, place);
  return member(value, type, foundType, place, 0);
}

function member(value: string, type: ColumnType, foundType: string, place: Place, depth: number): string {
  const fail = failWith(formatColumnType(type), place);
  const isText = foundType === 'VARCHAR';
  const text = isText ? value : `CAST(${value} AS VARCHAR)`;
  switch (type.kind) {
    case 'array':
    case 'map':
    case 'row':
      if (isText) return nestedText(value, type, place, depth);
      return nested(value, type, foundType, place, depth);
    case 'varchar':
      return text;
    case 'json':
      return textToStored(type, isNestedName(foundType) ? `CAST(to_json(${value}) AS VARCHAR)` : text, fail(text));
    case 'boolean':
    case 'varbinary':
    case 'uuid':
    case 'interval':
    case 'time':
      if (foundType === storageType(type) && !isText) return value;
      if (foundType === 'INTERVAL') return text;
      return textToStored(type, text, fail(text));
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint': {
      const cast = `TRY_CAST(${value} AS ${storageType(type)})`;
      if (foundType === storageType(type)) return value;
      if (WHOLE_FOUND.test(foundType)) return orFail(value, `${cast} IS NOT NULL`, cast, fail(text));
      if (FRACTION_FOUND.test(foundType))
        return orFail(value, `${value} = trunc(${value}) AND ${cast} IS NOT NULL`, cast, fail(text));
      // What prints as it was written is what it says, which is soon found.
      const read = `TRY_CAST(${text} AS ${storageType(type)})`;
      return `CASE WHEN CAST(${read} AS VARCHAR) = ${text} THEN ${read} ELSE ${wholeFromText(text, type, fail(text))} END`;
    }
    case 'hugeint':
    case 'uint256':
    case 'int256':
      return wholeFromText(text, type, fail(text));
    case 'real':
      // A whole number is one without .0, too.
      if (foundType === 'FLOAT') return value;
      if (isText) return textToStored(type, text, fail(text));
      return textToStored(type, `regexp_replace(${text}, '\\.0+$', '')`, fail(text));
    case 'double':
      if (isText) return textToStored(type, text, fail(text));
      return ROUNDED_TWICE.test(foundType) ? `CAST(${text} AS DOUBLE)` : `CAST(${value} AS DOUBLE)`;
    case 'decimal': {
      const cast = `TRY_CAST(${value} AS ${storageType(type)})`;
      if (fitsExactly(type, foundType)) return orFail(value, `${cast} IS NOT NULL`, cast, fail(text));
      return textToStored(type, text, fail(text));
    }
    case 'date':
    case 'timestamp':
      if (INSTANT_FOUND.test(foundType)) return instant(value, type, foundType, fail);
      // Of a timestamp(3) nothing is cut here before the sixth digit.
      return textToStored(type.kind === 'date' || type.digits === 9 ? type : { ...type, digits: 6 }, text, fail(text));
    default:
      return type satisfies never;
  }
}

/** SQL that ends the query with the text of a value; engine-words.ts tells it. */
function failWith(type: string, { table, column }: Place): (text: string) => string {
  const said = quoteText(`Source value of ${table} ${quoteName(column)} ${quoteName(type)}: `);
  return (text) => `error(${said} || coalesce(${text}, ''))`;
}

function orFail(value: string, fits: string, read: string, fail: string): string {
  return `CASE WHEN ${value} IS NULL THEN NULL WHEN ${fits} THEN ${read} ELSE ${fail} END`;
}

/** As publishing reads it, and with an exponent, as in 2e3. */
function wholeFromText(text: string, type: ColumnType, fail: string): string {
  const number = textToStored({ kind: 'decimal', precision: 38, scale: 0 }, text, fail);
  const read = `TRY_CAST(${number} AS ${storageType(type)})`;
  const fits = type.kind === 'uint256' ? `${number} >= 0` : `${read} IS NOT NULL`;
  const hasExponent = `contains(lower(${text}), 'e') AND ${matches(`trim(${text})`, WITH_EXPONENT)}`;
  return `CASE WHEN ${hasExponent} THEN CASE WHEN ${fits} THEN ${read} ELSE ${fail} END ELSE ${textToStored(type, text, fail)} END`;
}

/** A uint256 that is no member of another value: a number of up to 38 digits. */
function summedUint256(value: string, foundType: string, place: Place): string {
  const isText = foundType === 'VARCHAR';
  const text = isText ? value : `CAST(${value} AS VARCHAR)`;
  const fail = failWith('uint256', place)(text);
  const long = failWith('uint256 of at most 38 digits', place)(text);
  // By way of HUGEINT: DuckDB takes 15 µs to read a text as DECIMAL(38, 0), and 0.1 µs this way.
  const huge = `TRY_CAST(${value} AS HUGEINT)`;
  const number = `coalesce(TRY_CAST(${huge} AS ${UINT256_SUMMED}), ${long})`;
  if (isText || !(WHOLE_FOUND.test(foundType) || FRACTION_FOUND.test(foundType))) {
    const other = `coalesce(TRY_CAST(${wholeFromText(text, { kind: 'uint256' }, fail)} AS ${UINT256_SUMMED}), ${long})`;
    if (!isText) return `CASE WHEN ${value} IS NOT NULL THEN ${other} END`;
    return `CASE WHEN ${value} IS NULL THEN NULL WHEN ${huge} >= 0 AND CAST(${huge} AS VARCHAR) = ${value} THEN ${number} ELSE ${other} END`;
  }
  const isWhole = FRACTION_FOUND.test(foundType) ? ` AND ${value} = trunc(${value})` : '';
  return orFail(value, `${value} >= 0${isWhole}`, number, fail);
}

/** Whether every value of the found type is of the decimal, if it is not too large. */
function fitsExactly(type: Extract<ColumnType, { kind: 'decimal' }>, foundType: string): boolean {
  if (storageType(type) === 'VARCHAR') return false;
  const places = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(foundType)?.[1];
  return places === undefined ? WHOLE_FOUND.test(foundType) : Number(places) <= type.scale;
}

/** A date of a time is one at midnight, and a microsecond one of whole microseconds. */
function instant(value: string, type: InstantType, foundType: string, fail: (text: string) => string): string {
  const isNanos = foundType === 'TIMESTAMP_NS';
  if (storageType(type) === 'TIMESTAMP_NS' && !isNanos) {
    // A cast ends the query where there are no nanoseconds of the time.
    const text = `CAST(CAST(${value} AS TIMESTAMP) AS VARCHAR)`;
    return textToStored(type, text, fail(text));
  }
  const isCut = isNanos && type.kind === 'timestamp' && type.digits !== 9;
  const read = `CAST(${isCut ? `CAST(${value} AS TIMESTAMP)` : value} AS ${storageType(type)})`;
  const whole =
    type.kind === 'date'
      ? ` AND CAST(${read} AS ${foundType}) = ${value}`
      : isCut
        ? ` AND epoch_ns(${value}) % 1000 = 0`
        : '';
  const found: InstantType =
    foundType === 'DATE'
      ? { kind: 'date' }
      : { kind: 'timestamp', digits: isNanos ? 9 : 6, withZone: foundType.endsWith('ZONE') };
  const isPrinted = isNanos ? 'true' : `isinf(${value}) OR ${inYears(found, value)}`;
  const shown = `CASE WHEN ${isPrinted} THEN CAST(${value} AS VARCHAR) ELSE ${countSince1970(found, value)} END`;
  return orFail(value, `${inYears(type, read)}${whole}`, read, fail(shown));
}

function isNestedName(foundType: string): boolean {
  return [elementOf, keyAndValueOf, fieldsOf].some((inner) => inner(foundType) !== undefined);
}

/** A list, map or struct as DuckDB writes it. */
function nestedText(value: string, type: ColumnType, place: Place, depth: number): string {
  const found = typeInJson(type);
  const fail = failWith(formatColumnType(type), place)(value);
  const texts = orFail(value, `TRY_CAST(${value} AS ${found}) IS NOT NULL`, `TRY_CAST(${value} AS ${found})`, fail);
  // Worked out once.
  const whole = `whole${depth}`;
  return `list_transform([${texts}], lambda ${whole}: ${nested(whole, type, found, place, depth + 1)})[1]`;
}

/** Member by member. What is found to be of another shape is left to DuckDB. */
function nested(value: string, type: ColumnType, foundType: string, place: Place, depth: number): string {
  const name = `member${depth}`;
  const each = (list: string, element: ColumnType, found: string) => {
    const read = member(name, element, found, place, depth + 1);
    return read === name ? list : `list_transform(${list}, lambda ${name}: ${read})`;
  };
  if (type.kind === 'array') {
    const element = elementOf(foundType);
    if (element !== undefined) return each(value, type.element, element);
  }
  if (type.kind === 'map') {
    const [key, found] = keyAndValueOf(foundType) ?? [];
    if (key !== undefined && found !== undefined) {
      return `map(${each(`map_keys(${value})`, type.key, key)}, ${each(`map_values(${value})`, type.value, found)})`;
    }
  }
  const there = type.kind === 'row' ? fieldsOf(foundType) : undefined;
  if (type.kind === 'row' && there !== undefined) {
    const fields = type.fields.map((field) => {
      const found = there.find((one) => one.name.toLowerCase() === field.name.toLowerCase());
      const read =
        found === undefined
          ? `CAST(NULL AS ${sqlType(field.type)})`
          : member(`struct_extract(${value}, ${quoteText(found.name)})`, field.type, found.type, place, depth + 1);
      return `${quoteName(field.name)} := ${read}`;
    });
    return `CASE WHEN ${value} IS NOT NULL THEN struct_pack(${fields.join(', ')}) END`;
  }
  return `CAST(${value} AS ${sqlType(type)})`;
}
