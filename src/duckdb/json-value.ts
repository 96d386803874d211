/**
 * Values as JSON, encoded by DuckDB (contract §6). `jsonValueOf` gives a SQL expression that `json_object` embeds as the
 * contract wants it: most types as they are, the others as text or as a JSON value made beforehand.
 *
 * Why in SQL: encoding 25,000 rows of 10 columns takes 16 ms there, 60 ms in JavaScript from column vectors, and 150 ms
 * through row objects, with the event loop blocked.
 */
import { type ColumnType, isNested } from '../domain/column-type.ts';
import type { Parameters } from './parameters.ts';
import { positiveZero } from './positive-zero.ts';
import { isWideDecimal, storedField } from './storage-type.ts';

/** Up to it, and down to its negative, a double tells every whole number from its neighbours. */
const SAFE_INTEGER = Number.MAX_SAFE_INTEGER;

/** What takes the names of row fields, and says how the statement has them. */
type Names = Pick<Parameters, 'add'>;

/**
 * @param expression SQL of a stored value of this type
 * @param parameters receives the names of row fields
 * @param textIntegers integers that readers with doubles alone would round are strings of digits
 */
export function jsonValueOf(type: ColumnType, expression: string, parameters: Names, textIntegers = false): string {
  return encode(type, expression, { parameters, textIntegers }, 0);
}

/** Whether a value of the type may itself be NaN or infinite. Those within lists, maps and rows are not looked for. */
export function mayBeNonFinite(type: ColumnType): boolean {
  return type.kind === 'real' || type.kind === 'double';
}

/** The same as `jsonValueOf` for a value that is not NaN or infinite itself, at two thirds of its cost. */
export function finiteJsonValueOf(
  type: ColumnType,
  expression: string,
  parameters: Names,
  textIntegers = false,
): string {
  return mayBeNonFinite(type)
    ? finiteNumber(type, expression)
    : jsonValueOf(type, expression, parameters, textIntegers);
}

interface Writing {
  readonly parameters: Names;
  readonly textIntegers: boolean;
}

/** `depth` gives the variable of each nested lambda a name of its own. */
function encode(type: ColumnType, e: string, writing: Writing, depth: number): string {
  if (isEmbeddedAsIs(type, writing)) return e;
  switch (type.kind) {
    case 'real':
    case 'double':
      // `to_json` prints NaN and infinities bare, which no JSON parser reads.
      return `CASE WHEN isfinite(${e}) THEN to_json(${finiteNumber(type, e)}) ELSE to_json(${nonFiniteText(e)}) END`;
    case 'bigint':
      return `CASE WHEN ${e} BETWEEN -${SAFE_INTEGER} AND ${SAFE_INTEGER} THEN to_json(${e}) ELSE to_json(${e}::VARCHAR) END`;
    case 'array': {
      const x = `x${depth}`;
      return `list_transform(${e}, lambda ${x}: ${encode(type.element, x, writing, depth + 1)})`;
    }
    case 'map': {
      const x = `x${depth}`;
      const key = isNested(type.key)
        ? `to_json(${encode(type.key, `${x}.key`, writing, depth + 1)})::VARCHAR`
        : plainText(type.key, `${x}.key`);
      const value = encode(type.value, `${x}.value`, writing, depth + 1);
      return `map_from_entries(list_transform(map_entries(${e}), lambda ${x}: {'k': ${key}, 'v': ${value}}))`;
    }
    case 'row': {
      const fields = type.fields.map((field, index) => {
        const value = encode(field.type, `struct_extract(${e}, '${storedField(index)}')`, writing, depth);
        return `${writing.parameters.add(field.name)}::VARCHAR, ${value}`;
      });
      return `CASE WHEN ${e} IS NULL THEN NULL ELSE json_object(${fields.join(', ')}) END`;
    }
    default:
      return plainText(type, e);
  }
}

/** Types that `json_object` prints as the contract wants them: no digits lost, no quotes missing. */
function isEmbeddedAsIs(type: ColumnType, writing: Pick<Writing, 'textIntegers'>): boolean {
  switch (type.kind) {
    case 'boolean':
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'hugeint':
    case 'uint256':
    case 'int256':
    case 'varchar':
    case 'json':
    case 'interval':
      return true;
    case 'bigint':
      return !writing.textIntegers;
    case 'decimal':
      return isWideDecimal(type);
    case 'time':
      return type.withZone;
    case 'array':
      return isEmbeddedAsIs(type.element, writing);
    default:
      return false;
  }
}

/** A real goes through text: as a double, 0.1::FLOAT is 0.10000000149011612. */
function finiteNumber(type: ColumnType, e: string): string {
  return type.kind === 'real' ? `${positiveZero(e)}::VARCHAR::DOUBLE` : positiveZero(e);
}

function nonFiniteText(e: string): string {
  return `CASE WHEN isnan(${e}) THEN 'NaN' WHEN ${e} > 0 THEN 'Infinity' WHEN ${e} < 0 THEN '-Infinity' END`;
}

/** A value as text, null as null: what CSV shows unquoted, and JSON as a string. Nested types have no plain text. */
export function plainText(type: ColumnType, e: string): string {
  switch (type.kind) {
    case 'real':
    case 'double':
      // As JSON spells it: 1e308, where a cast makes 1e+308.
      return `CASE WHEN isfinite(${e}) THEN to_json(${finiteNumber(type, e)})::VARCHAR ELSE ${nonFiniteText(e)} END`;
    case 'varbinary':
      return `('0x' || lower(hex(${e})))`;
    case 'decimal':
      if (isWideDecimal(type)) return e;
      // DuckDB leaves out the zero before the point where the type has no digit for it.
      return type.scale === type.precision ? `replace('0' || ${e}::VARCHAR, '0-', '-0')` : `${e}::VARCHAR`;
    case 'timestamp': {
      const decimals = { 3: '%g', 6: '%f', 9: '%n' }[type.digits];
      return type.withZone
        ? `strftime(${e} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S.${decimals} UTC')`
        : `strftime(${e}, '%Y-%m-%d %H:%M:%S.${decimals}')`;
    }
    case 'varchar':
    case 'json':
    case 'hugeint':
    case 'uint256':
    case 'int256':
    case 'interval':
      return e;
    default:
      return `${e}::VARCHAR`;
  }
}
