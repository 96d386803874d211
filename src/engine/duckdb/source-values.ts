/** What values of a source table become: the type that is declared, exactly, or the query ends. DuckDB's casts round. */
import type { ColumnType } from '../../domain/column-type.ts';
import { quoteName } from '../../duckdb/quoting.ts';
import { storageType } from '../../duckdb/storage-type.ts';
import { textToStored } from '../../duckdb/text-value.ts';

/**
 * The type with texts in place of decimals and whole numbers: of a number in JSON, DuckDB makes 1.100000000000000128 for 1.1 where a decimal is wanted, and 2 for
 * 1.5 where a bigint is.
 */
function asTexts(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'uint256':
    case 'decimal':
      return { kind: 'varchar' };
    case 'array':
      return { ...type, element: asTexts(type.element) };
    case 'map':
      return { ...type, value: asTexts(type.value) };
    case 'row':
      return { ...type, fields: type.fields.map((field) => ({ ...field, type: asTexts(field.type) })) };
    default:
      return type;
  }
}

/** As which type a value is read from NDJSON. */
export function typeInJson(type: ColumnType): string {
  // Of 1e400 DuckDB makes infinity.
  return type.kind === 'double' ? 'VARCHAR' : sqlType(asTexts(type));
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

/** DuckDB's types of numbers that it casts to a double with two roundings; their text it reads as the nearest double. So it does a double as a decimal. */
const ROUNDED_TWICE = /^(DECIMAL|U?HUGEINT)/;

/** DuckDB's names of the types of whole numbers, as its errors have them. */
const WHOLE_NAMES: Partial<Record<ColumnType['kind'], string>> = {
  tinyint: 'INT8',
  smallint: 'INT16',
  integer: 'INT32',
  bigint: 'INT64',
  uint256: 'INT128',
};

/** SQL for the value as one of the declared type. @param value SQL @param foundType of it, as DuckDB writes it */
export function convert(value: string, type: ColumnType, foundType: string, depth = 0): string {
  const wholeName = WHOLE_NAMES[type.kind];
  if (wholeName !== undefined) return wholeNumber(value, type, foundType, wholeName);
  if (type.kind === 'decimal' && mayBeRounded(type, foundType)) {
    const text = `CAST(${value} AS VARCHAR)`;
    return textToStored(type, text, `error('Could not convert string "' || ${text} || '" to ${storageType(type)}')`);
  }
  if (type.kind === 'array' && isChecked(type.element)) {
    const foundElement = /^(.*)\[\d*\]$/s.exec(foundType)?.[1] ?? 'VARCHAR';
    const list = foundType === 'VARCHAR' ? `CAST(${value} AS VARCHAR[])` : value;
    const member = `member${depth}`;
    return `list_transform(${list}, lambda ${member}: ${convert(member, type.element, foundElement, depth + 1)})`;
  }
  if (type.kind === 'double' && foundType === 'VARCHAR') {
    const fail = `error('Could not convert string ''' || ${value} || ''' to DOUBLE')`;
    const number = `CAST(${value} AS DOUBLE)`;
    return `CASE WHEN isinf(${number}) AND regexp_matches(${value}, '[0-9]') THEN ${fail} ELSE ${number} END`;
  }
  if (type.kind === 'double' && ROUNDED_TWICE.test(foundType)) return `CAST(CAST(${value} AS VARCHAR) AS DOUBLE)`;
  return `CAST(${value} AS ${sqlType(type)})`;
}

/** Whether members of the type are looked at one by one. */
function isChecked(type: ColumnType): boolean {
  if (type.kind === 'array') return isChecked(type.element);
  return type.kind === 'decimal' || (type.kind in WHOLE_NAMES && type.kind !== 'uint256');
}

/** Whether DuckDB's cast to the decimal may round: all but whole numbers, and decimals of no more places. */
function mayBeRounded({ scale }: Extract<ColumnType, { kind: 'decimal' }>, foundType: string): boolean {
  const places = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(foundType)?.[1];
  return places === undefined ? /^(VARCHAR|DOUBLE|FLOAT)$/.test(foundType) : Number(places) > scale;
}

/** What is no whole number ends the query, in DuckDB's words for a text that is no number: a cast rounds. */
function wholeNumber(value: string, type: ColumnType, foundType: string, wholeName: string): string {
  const fail = (typeName: string) =>
    `error('Could not convert string ''' || CAST(${value} AS VARCHAR) || ''' to ${typeName}')`;
  const number = `CAST(${value} AS ${type.kind === 'uint256' ? 'HUGEINT' : storageType(type)})`;
  // By way of HUGEINT: DuckDB takes 15 µs to read a text as DECIMAL(38, 0), and 0.1 µs this way.
  const cast =
    type.kind === 'uint256'
      ? `CASE WHEN ${number} < 0 THEN ${fail('UINT256')} ELSE CAST(${number} AS DECIMAL(38, 0)) END`
      : number;
  const isWhole = isWholeNumber(value, foundType);
  if (isWhole === undefined) return cast;
  return `CASE WHEN ${value} IS NULL OR ${isWhole} THEN ${cast} ELSE ${fail(wholeName)} END`;
}

/** SQL; undefined where no value of the type has a fraction. */
function isWholeNumber(value: string, foundType: string): string | undefined {
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(foundType)) return `${value} = trunc(${value})`;
  if (foundType !== 'VARCHAR') return undefined;
  const number = `TRY_CAST(${value} AS DOUBLE)`;
  return `CASE WHEN contains(${value}, 'e') OR contains(${value}, 'E') THEN ${number} = trunc(${number})
    WHEN contains(${value}, '.') THEN regexp_full_match(${value}, '[^.]*\\.0*\\s*') ELSE true END`;
}
