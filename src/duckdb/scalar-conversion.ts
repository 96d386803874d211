/** What a value that holds no others becomes when it is published, by its DuckDB type. */
import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import { quoteNonFinite } from './non-finite-json.ts';
import { positiveZero } from './positive-zero.ts';
import { type ConversionOptions, cast, type StoredConversion, same } from './stored-conversion.ts';
import { countSince1970, type InstantType, inYears } from './years.ts';

const TIMESTAMP_MILLIS = cast({ kind: 'timestamp', digits: 3, withZone: false });

const JSON_TEXT: StoredConversion = {
  type: { kind: 'json' },
  stored: (expression) => quoteNonFinite(`CAST(${expression} AS VARCHAR)`),
};

/** The types that are always converted in the same way. */
const CONVERSIONS: Partial<Record<DuckDBTypeId, StoredConversion>> = {
  [DuckDBTypeId.BOOLEAN]: same({ kind: 'boolean' }),
  [DuckDBTypeId.TINYINT]: same({ kind: 'tinyint' }),
  [DuckDBTypeId.SMALLINT]: same({ kind: 'smallint' }),
  [DuckDBTypeId.INTEGER]: same({ kind: 'integer' }),
  [DuckDBTypeId.BIGINT]: same({ kind: 'bigint' }),
  [DuckDBTypeId.UTINYINT]: cast({ kind: 'smallint' }),
  [DuckDBTypeId.USMALLINT]: cast({ kind: 'integer' }),
  [DuckDBTypeId.UINTEGER]: cast({ kind: 'bigint' }),
  [DuckDBTypeId.UBIGINT]: cast({ kind: 'decimal', precision: 20, scale: 0 }),
  [DuckDBTypeId.HUGEINT]: cast({ kind: 'hugeint' }),
  [DuckDBTypeId.UHUGEINT]: cast({ kind: 'uint256' }),
  [DuckDBTypeId.FLOAT]: { type: { kind: 'real' }, stored: positiveZero },
  [DuckDBTypeId.DOUBLE]: { type: { kind: 'double' }, stored: positiveZero },
  [DuckDBTypeId.BLOB]: same({ kind: 'varbinary' }),
  [DuckDBTypeId.UUID]: same({ kind: 'uuid' }),
  [DuckDBTypeId.TIME_TZ]: cast({ kind: 'time', withZone: true }),
  [DuckDBTypeId.INTERVAL]: cast({ kind: 'interval' }),
  [DuckDBTypeId.TIMESTAMP_S]: TIMESTAMP_MILLIS,
  [DuckDBTypeId.TIMESTAMP_MS]: TIMESTAMP_MILLIS,
  [DuckDBTypeId.VARIANT]: {
    type: { kind: 'json' },
    stored: (expression) => quoteNonFinite(`CAST(CAST(${expression} AS JSON) AS VARCHAR)`),
  },
};

/** @param digits of the second, in the file: 3 or 6 */
export function scalarConversion(source: DuckDBType, digits: 3 | 6, options: ConversionOptions): StoredConversion {
  switch (source.typeId) {
    case DuckDBTypeId.DECIMAL:
      return same({ kind: 'decimal', precision: source.width, scale: source.scale });
    case DuckDBTypeId.VARCHAR:
      return source.alias === 'JSON' ? JSON_TEXT : same({ kind: 'varchar' });
    case DuckDBTypeId.DATE:
      return instant({ kind: 'date' }, options);
    case DuckDBTypeId.TIME:
      return timeOfDay(options);
    case DuckDBTypeId.TIMESTAMP:
      return instant({ kind: 'timestamp', digits, withZone: false }, options);
    case DuckDBTypeId.TIMESTAMP_NS:
      return instant({ kind: 'timestamp', digits: 9, withZone: false }, options);
    case DuckDBTypeId.TIMESTAMP_TZ:
      return instant({ kind: 'timestamp', digits, withZone: true }, options);
    default:
      // ENUM, BIT, TIME_NS, GEOMETRY and types that come later become text, which says everything they hold.
      return CONVERSIONS[source.typeId] ?? cast({ kind: 'varchar' });
  }
}

/** A value in the years that `years.ts` names; others end the statement. */
function instant(type: InstantType, { fail }: ConversionOptions): StoredConversion {
  // Null for infinity, where DuckDB has the value from the file's statistics.
  const shown = (e: string) => `coalesce(${countSince1970(type, e)}, 'infinity')`;
  return {
    type,
    shown,
    stored: (e) => `CASE WHEN ${e} IS NULL THEN NULL WHEN ${inYears(type, e)} THEN ${e} ELSE ${fail(shown(e))} END`,
  };
}

/** DuckDB crashes when it prints a time outside of the day. */
function timeOfDay({ fail }: ConversionOptions): StoredConversion {
  const shown = (e: string) => `epoch_us(${e})::VARCHAR || ' microseconds since midnight'`;
  return {
    type: { kind: 'time', withZone: false },
    shown,
    stored: (e) =>
      `CASE WHEN ${e} IS NULL THEN NULL WHEN ${e} BETWEEN TIME '00:00:00' AND TIME '23:59:59.999999' THEN ${e} ELSE ${fail(shown(e))} END`,
  };
}
