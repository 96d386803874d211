/** Runs a statement on a connection, with its values as the driver takes them. */
import { type DuckDBConnection, type DuckDBMaterializedResult, type DuckDBValue, listValue } from '@duckdb/node-api';
import type { ParameterValue, Statement } from './statement.ts';

/** Each step waits for a thread and then for the event loop, so there are no more of them than it takes. */
export async function runStatement(
  connection: DuckDBConnection,
  { text, values }: Statement,
): Promise<DuckDBMaterializedResult> {
  const prepared = await connection.prepare(text);
  try {
    prepared.bind(values.map(driverValue));
    return await prepared.run();
  } finally {
    prepared.destroySync();
  }
}

/** A value of a statement as the driver takes it. */
export function driverValue(value: ParameterValue): DuckDBValue {
  return isList(value) ? listValue(value) : value;
}

function isList(value: ParameterValue): value is Extract<ParameterValue, readonly unknown[]> {
  return Array.isArray(value);
}
