/**
 * Columns and values as SQL, so that DuckDB compares them by the meaning of their type, not by how they are stored. A number that is too
 * wide for DuckDB is stored as text (storage-type.ts) and compared as a number. Every value travels as a parameter.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import type { Parameters } from '../../duckdb/parameters.ts';
import { storageType } from '../../duckdb/storage-type.ts';
import { formatTime } from '../plan/literals/time.ts';
import type { Value } from '../plan/predicate.ts';

/** SQL for a value of the type, to be compared with the `comparableColumn` of that type. */
export function compileValue(value: Value, type: ColumnType, parameters: Parameters): string {
  switch (type.kind) {
    case 'varchar':
    case 'json':
      return parameters.add(text(value));
    case 'hugeint':
    case 'uint256':
    case 'int256':
      return parameters.add(whole(value).toString());
    case 'boolean':
      return `${parameters.add(value)}::BOOLEAN`;
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
      return `${parameters.add(whole(value))}::${storageType(type)}`;
    case 'decimal':
      return `${parameters.add(decimalText(whole(value), type))}::${storageType(type)}`;
    case 'real':
    case 'double':
    case 'uuid':
      return `${parameters.add(text(value))}::${storageType(type)}`;
    case 'varbinary':
      return `unhex(${parameters.add(text(value))})`;
    case 'date':
      return `make_date(${parameters.add(whole(value))}::INTEGER)`;
    case 'timestamp':
      return `${instantMaker(type)}(${parameters.add(whole(value))}::BIGINT)`;
    case 'time':
      return type.withZone
        ? `${parameters.add(text(value))}::TIMETZ`
        : `${parameters.add(formatTime(whole(value)))}::TIME`;
    case 'interval':
      return `${parameters.add(whole(value))}::HUGEINT`;
    case 'array':
    case 'map':
    case 'row':
      throw new TypeError(`there are no values of ${type.kind} types`);
    default:
      return type satisfies never;
  }
}

/** SQL for a stored column (or list element), to be compared with what `compileValue` makes of a value of its type. */
export function comparableColumn(stored: string, type: ColumnType): string {
  if (type.kind === 'interval') return intervalMicros(`${stored}::INTERVAL`);
  return type.kind === 'time' && type.withZone ? `${stored}::TIMETZ` : stored;
}

/** The length of an interval as literals/interval.ts counts it. DuckDB's `microsecond` part has the whole seconds in it. */
function intervalMicros(interval: string): string {
  const part = (name: string) => `datepart('${name}', ${interval})::HUGEINT`;
  const days = `(${part('year')} * 12 + ${part('month')}) * 30 + ${part('day')}`;
  const minutes = `((${days}) * 24 + ${part('hour')}) * 60 + ${part('minute')}`;
  return `((${minutes}) * 60000000 + ${part('microsecond')})`;
}

function instantMaker(type: ColumnType & { readonly kind: 'timestamp' }): string {
  if (type.withZone) return 'make_timestamptz';
  return type.digits === 9 ? 'make_timestamp_ns' : 'make_timestamp';
}

/** −5 with scale 2 is `-0.05`. */
export function decimalText(units: bigint, { scale }: ColumnType & { readonly kind: 'decimal' }): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
}

function whole(value: Value): bigint {
  if (typeof value !== 'bigint') throw new TypeError(`expected a whole number, found a ${typeof value}`);
  return value;
}

function text(value: Value): string {
  if (typeof value !== 'string') throw new TypeError(`expected a text, found a ${typeof value}`);
  return value;
}
