/** The types that DuckDB writes to Parquet files, and the column types when such a file is published. */

const instant = (n: bigint, unit: string) => `make_timestamp(${n % 4_000_000_000_000_000n})::${unit}`;

/** DuckDB type, column type, and SQL that makes a value from any 64-bit number. */
export const DUCKDB_TYPES: readonly (readonly [string, string, (n: bigint) => string])[] = [
  ['BOOLEAN', 'boolean', (n) => String(n % 2n === 0n)],
  ['TINYINT', 'tinyint', (n) => String(BigInt.asIntN(8, n))],
  ['SMALLINT', 'smallint', (n) => String(BigInt.asIntN(16, n))],
  ['INTEGER', 'integer', (n) => String(BigInt.asIntN(32, n))],
  ['BIGINT', 'bigint', (n) => String(n)],
  ['UTINYINT', 'smallint', (n) => String(BigInt.asUintN(8, n))],
  ['USMALLINT', 'integer', (n) => String(BigInt.asUintN(16, n))],
  ['UINTEGER', 'bigint', (n) => String(BigInt.asUintN(32, n))],
  ['UBIGINT', 'decimal(20, 0)', (n) => String(BigInt.asUintN(64, n))],
  ['DOUBLE', 'double', (n) => `${n}::DOUBLE / 3`],
  ['FLOAT', 'real', (n) => `${n}::FLOAT / 3`],
  ['DECIMAL(38, 6)', 'decimal(38, 6)', (n) => `'${n}12345.678901'`],
  ['VARCHAR', 'varchar', (n) => `'é,"' || ${n}`],
  ['BLOB', 'varbinary', (n) => `encode('é' || ${n})`],
  ['UUID', 'uuid', (n) => `md5('${n}')`],
  ['DATE', 'date', (n) => `DATE '1970-01-01' + ${n % 700_000n}::INTEGER`],
  ['TIME', 'time', (n) => `TIME '00:00:00' + to_microseconds(${BigInt.asUintN(36, n)})`],
  ['TIMETZ', 'time with time zone', (n) => `'1${BigInt.asUintN(3, n)}:02:03.000004+0${BigInt.asUintN(3, n)}'`],
  // Parquet has no seconds: DuckDB writes microseconds.
  ['TIMESTAMP_S', 'timestamp(6)', (n) => instant(n, 'TIMESTAMP_S')],
  ['TIMESTAMP_MS', 'timestamp(3)', (n) => instant(n, 'TIMESTAMP_MS')],
  ['TIMESTAMP', 'timestamp(6)', (n) => instant(n, 'TIMESTAMP')],
  ['TIMESTAMP_NS', 'timestamp(9)', (n) => `make_timestamp_ns(${n / 2n})`],
  ['TIMESTAMPTZ', 'timestamp(6) with time zone', (n) => instant(n, 'TIMESTAMPTZ')],
  [`ENUM('a', 'é', '')`, 'varchar', (n) => (n % 2n === 0n ? `'é'` : `''`)],
  // Parquet has no type for these three: DuckDB writes doubles and text.
  ['HUGEINT', 'double', (n) => `${n}::HUGEINT * 1000`],
  ['UHUGEINT', 'double', (n) => `${BigInt.asUintN(63, n)}::UHUGEINT * 1000`],
  ['BIT', 'varchar', (n) => `'${BigInt.asUintN(64, n).toString(2)}'`],
  ['JSON', 'json', (n) => `'{"k": [${n}]}'`],
  ['INTEGER[2]', 'array(integer)', (n) => `[${BigInt.asIntN(32, n)}, NULL]`],
  ['BIGINT[]', 'array(bigint)', (n) => `[${n}, NULL]`],
  ['MAP(VARCHAR, DECIMAL(20, 2))', 'map(varchar, decimal(20, 2))', (n) => `MAP {'${n}': ${n % 1000n}.25}`],
];
