/** A Parquet file as a source: its own types (duckdb/source-type.ts) unless declared, its own names even where DuckDB renames. */
import type { ColumnType } from '../domain/column-type.ts';
import { formatColumnType } from '../domain/column-type.ts';
import { type SourceType, sourceTypeOf } from '../duckdb/source-type.ts';
import { jsonToStored, textToStored } from '../duckdb/text-value.ts';
import { PublishError } from './publish-error.ts';
import { failIn, opened, type Source, type SourceColumn, type SourceContext } from './source.ts';

/** @throws PublishError when the file is not Parquet. */
export async function openParquet(context: SourceContext, signal: AbortSignal): Promise<Source> {
  const explain = async (error: Error) => explainParquet(error);
  const open = async () => {
    const read = 'read_parquet($1, hive_partitioning = false)';
    const described = await context.duckDb.describe(
      { text: `SELECT * FROM ${read} LIMIT 0`, values: [context.path] },
      signal,
    );
    const fields = await topFields(context, signal);
    if (fields.length !== described.length) {
      throw new PublishError(`the file says it has ${fields.length} columns and holds ${described.length}`);
    }
    // By position: DuckDB finds names without regard to case, and reserves some.
    const relation = `${read} AS s(${described.map((_, i) => `s${i}`).join(', ')})`;
    const columns = described.map(({ name: shown, type }, i): SourceColumn => {
      const { name, millis } = fields[i] ?? { name: shown, millis: false };
      return column(name, i, natural(sourceTypeOf(type), millis), context.types.get(name));
    });
    const source: Source = {
      relation,
      path: context.path,
      columns,
      widen: async () => source,
      explain,
    };
    return source;
  };
  return await opened(open, explain, signal);
}

interface Field {
  readonly name: string;
  /** A timestamp that the file keeps in milliseconds; DuckDB reads it as one of microseconds. */
  readonly millis: boolean;
}

/** The columns as the file's own schema names them: a tree in depth-first order, of which only the first level counts. */
async function topFields(context: SourceContext, signal: AbortSignal): Promise<readonly Field[]> {
  const text = 'SELECT name, num_children, logical_type, converted_type FROM parquet_schema($1)';
  const [, ...nodes] = await context.duckDb.query({ text, values: [context.path] }, signal);
  const fields: Field[] = [];
  let within = 0;
  for (const [name, children, logical, converted] of nodes) {
    if (within === 0) {
      const millis =
        String(converted) === 'TIMESTAMP_MILLIS' || /^Timestamp.*MILLIS=MilliSeconds/.test(String(logical));
      fields.push({ name: String(name), millis });
      within = 1;
    }
    within += Number(children ?? 0) - 1;
  }
  return fields;
}

function natural(source: SourceType, millis: boolean): SourceType {
  if (!millis || source.type.kind !== 'timestamp') return source;
  return { ...source, type: { ...source.type, digits: 3 } };
}

function column(name: string, index: number, source: SourceType, declared: ColumnType | undefined): SourceColumn {
  const raw = `s${index}`;
  if (declared === undefined || formatColumnType(declared) === formatColumnType(source.type)) {
    return { name, type: source.type, raw, stored: source.stored(raw), inferred: false };
  }
  const nested = source.type.kind === 'array' || source.type.kind === 'map' || source.type.kind === 'row';
  const fail = failIn(index, raw);
  const stored = nested
    ? jsonToStored(declared, `CAST(to_json(${raw}) AS VARCHAR)`, fail, false)
    : textToStored(declared, `CAST(${raw} AS VARCHAR)`, fail);
  return { name, type: declared, raw, stored, inferred: false };
}

function explainParquet(error: Error): Error {
  if (!/Invalid Input|IO Error|Parquet|Serialization/i.test(error.message)) return error;
  if (/[Mm]agic bytes|too small to be a Parquet/.test(error.message)) {
    return new PublishError('the file is not Parquet, or its end is missing');
  }
  const reason = error.message.replace(/\s*LINE [0-9]+:[\s\S]*$/, '').replace(/[^\n]*?file "[^"]*": ?/, '');
  return new PublishError(`the Parquet file cannot be read: ${reason.trim()}`);
}
