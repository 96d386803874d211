/**
 * The pre-sample: rows drawn once, at publishing, so that a request for a sample reads a small part instead of the whole.
 * A random subset of a uniform sample is itself uniform: each subset of the result's rows stays equally likely. The rows are kept
 * in stored order.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { randomSeed } from '../../domain/sample.ts';
import { sumOf } from '../../domain/sum-of.ts';
import { drawnPositions } from '../../duckdb/drawn-positions.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import { storageType, storedColumn } from '../../duckdb/storage-type.ts';
import { measurePart, type StagedPart } from './measure-part.ts';
import { type PartLayout, partOptions } from './part-writer.ts';

/** 8.5 MB for ten columns. A result of no more rows has no pre-sample: its rows are drawn directly. */
export const PRE_SAMPLE_ROWS = 100_000;

export interface PreSampleTarget {
  readonly path: string;
  readonly layout: Pick<PartLayout, 'rowGroupRows' | 'preSampleRows'>;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** @returns undefined where the result is small enough to be drawn from directly */
export async function writePreSample(
  duckDb: DuckDb,
  { parts, types }: { readonly parts: readonly StagedPart[]; readonly types: readonly ColumnType[] },
  { path, layout, random }: PreSampleTarget,
  signal: AbortSignal,
): Promise<StagedPart | undefined> {
  const total = sumOf(parts, 'rowCount');
  if (total <= layout.preSampleRows) return undefined;
  const draw = { seed: randomSeed(random), count: layout.preSampleRows, total };
  const columns = types.map((type, i) => `${storedColumn(i)}::${storageType(type)} AS ${storedColumn(i)}`).join(', ');
  const parameters = new Parameters();
  const paths = parameters.add(parts.map((part) => escapeGlob(part.path)));
  const firstRows = parameters.add(parts.map((part) => BigInt(part.firstRow)));
  const text =
    `COPY (SELECT ${columns} FROM read_parquet(${paths}::VARCHAR[], file_row_number = true) ` +
    `WHERE (${firstRows}::BIGINT[])[file_index::BIGINT + 1] + file_row_number IN (${drawnPositions(draw, parameters)}) ` +
    `ORDER BY file_index, file_row_number) TO ${quoteText(path)} (${partOptions(layout, types.length)})`;
  await duckDb.query({ text, values: parameters.values }, signal);
  // No filter is answered from it.
  return await measurePart(duckDb, { path, firstRow: 0, types, bloomBytesMin: Number.POSITIVE_INFINITY }, signal);
}
