/** The statistics of one column, read from the parts of a result: each statement in its turn among other searches. */
import { formatColumnType } from '../../domain/column-type.ts';
import { allRowsOf, type Column, type Part, type ResultSet } from '../../domain/result-set.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { withRoom } from '../../files/disk-room.ts';
import { openAll } from '../limits/open-all.ts';
import { withinMillis } from '../limits/time-limit.ts';
import type { ReadDeps } from '../read/open-page.ts';
import { readFailure } from '../read-failure.ts';
import {
  compileHistogram,
  compileSummary,
  compileTop,
  DISTINCT_COUNTED_MAX,
  hasBins,
  hasMean,
  spreads,
} from './compile-statistics.ts';

export type StatisticsReadDeps = Pick<
  ReadDeps,
  'store' | 'scanner' | 'rangeReader' | 'searches' | 'statementMillisMax' | 'sleep' | 'room'
>;

interface Summary {
  readonly distinct_estimate?: number;
  readonly low?: number | null;
  readonly high?: number | null;
}

/** JSON of one column. @throws RequestError read_timeout · overloaded · result_damaged */
export async function columnStatistics(
  resultSet: ResultSet,
  index: number,
  keyId: string,
  deps: StatisticsReadDeps,
  signal: AbortSignal,
): Promise<string> {
  const column = resultSet.columns[index];
  if (column === undefined) throw new Error(`there is no column ${index}`);
  const { type } = column;
  const head = headOf(column);
  if (resultSet.parts.length === 0) return `{${head},"row_count":0,"null_count":0}`;
  const read = (compile: (paths: readonly string[]) => Statement, duckDb = deps.scanner) =>
    deps.searches.run(keyId, () => readText(resultSet.parts, compile, { ...deps, duckDb }, signal), signal);
  const asked = { index, type };
  // Sums of doubles depend on their order. One thread adds them up as they are stored, so that the answer has the same bytes each time.
  const text = await read((paths) => compileSummary(asked, paths), hasMean(type) ? deps.rangeReader : deps.scanner);
  // Only what is small is read out of it: the values stay the text that they are.
  const { distinct_estimate: estimate, low, high } = JSON.parse(text) as Summary;
  const members = [head, ...told(text)];
  if (estimate !== undefined && estimate > DISTINCT_COUNTED_MAX) {
    members.push(`"distinct_count":${estimate},"distinct_is_exact":false`);
  } else if (estimate !== undefined) {
    const top = await read((paths) => compileTop(asked, paths));
    const { distinct } = JSON.parse(top) as { readonly distinct: number };
    members.push(`"distinct_count":${distinct},"distinct_is_exact":true`);
    members.push(`"top":${top.slice(top.indexOf('"top":') + '"top":'.length, -1)}`);
  }
  if (spreads(type) && typeof low === 'number' && typeof high === 'number' && hasBins(low, high)) {
    members.push(`"histogram":${await read((paths) => compileHistogram(asked, paths, low, high))}`);
  }
  return `{${members.join(',')}}`;
}

function headOf({ name, type }: Column): string {
  return `"name":${JSON.stringify(name)},"type":${JSON.stringify(formatColumnType(type))}`;
}

/** The members of the summary that are told, as they stand in its text: what a column has none of is left out. */
function told(text: string): readonly string[] {
  const {
    distinct_estimate: _,
    low: _low,
    high: _high,
    ...rest
  } = JSON.parse(text, keepText) as Record<string, unknown>;
  return Object.entries(rest).flatMap(([name, value]) => (value === null ? [] : [`"${name}":${String(value)}`]));
}

type Reviver = (name: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Each value as the text that it was, so that none passes through a double. */
const keepText: Reviver = (name, value, context) => (name === '' || value === null ? value : context?.source);

async function readText(
  parts: readonly Part[],
  compile: (paths: readonly string[]) => Statement,
  { store, duckDb, statementMillisMax: millisMax, sleep, room }: StatisticsReadDeps & { readonly duckDb: DuckDb },
  signal: AbortSignal,
): Promise<string> {
  return await withinMillis({ millisMax, duckDb, sleep }, signal, async (within) => {
    await using objects = new AsyncDisposableStack();
    try {
      const open = (part: Part, opening: AbortSignal) => store.open(part, allRowsOf(part), opening);
      const { paths, during } = await openAll(parts, open, objects, within);
      return textOf(await during(() => withRoom(room, () => duckDb.query(compile(paths), within))));
    } catch (error) {
      throw readFailure(error);
    }
  });
}

function textOf([row]: Awaited<ReturnType<DuckDb['query']>>): string {
  const text = row?.[0];
  if (typeof text !== 'string') throw new Error('statistics were not answered with a text');
  return text;
}
