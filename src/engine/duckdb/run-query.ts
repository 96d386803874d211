/**
 * One user's query, from its text to a Parquet file, on a DuckDB of its own that can reach the source tables that the query
 * names and nothing else. Runs in a process of its own (run-sql.ts), since SQL that takes too much must be able to be killed.
 *
 *   bind parameters → one statement? → its tree: one SELECT of source tables? → lock down → views → prepare → COPY
 */
import { basename } from 'node:path';
import type { Column } from '../../domain/result-set.ts';
import { shortened } from '../../domain/shortened.ts';
import { NEVER, type Sleep } from '../../domain/time.ts';
import { type DescribedColumn, DuckDb, type PreparedText } from '../../duckdb/duckdb.ts';
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import { EngineError, type EngineQuery, isWrittenAsText, type Materialized, type SourceTable } from '../engine.ts';
import { partPath } from '../part-path.ts';
import { type BoundSql, bindParameters } from '../sql/bind-parameters.ts';
import { requireOwnNames } from '../sql/column-names.ts';
import { checkStatement, RefusedStatement } from './check-statement.ts';
import { DUCKDB_PARAMETERS } from './duckdb-parameters.ts';
import { engineColumnType } from './engine-column-type.ts';
import { type ErrorContext, refusalError, sourceError, toEngineError } from './engine-errors.ts';
import { type Ask, columnsOfFiles } from './source-columns.ts';
import { findSource, hasMark, type SourceFiles } from './source-files.ts';
import { isOfDoubles } from './source-values.ts';
import {
  columnsMeant,
  exactSourceView,
  type FoundColumn,
  rewrittenNumbers,
  roundedNumbers,
  sourceView,
} from './source-view.ts';

export interface QueryJob extends EngineQuery {
  /** Where the rows go; without it the query is only prepared. */
  readonly path?: string;
  readonly sourcesDirectory: string;
  /** Of this job alone. */
  readonly tempDirectory: string;
  readonly threads: number;
  readonly memoryLimit: string;
  readonly tempSizeMax: string;
}

const TELL_MILLIS = 1000;

/**
 * @param told the percent that is done, every second
 * @throws EngineError
 */
export async function runQuery(
  job: QueryJob,
  sleep: Sleep,
  told: (percent: number) => void = () => undefined,
): Promise<Materialized> {
  const bound = bindParameters(job.sql, job.parameters ?? [], DUCKDB_PARAMETERS);
  const values = bound.values.map(({ value }) => value);
  const context: ErrorContext = {
    sql: job.sql,
    bound,
    linesBefore: 0,
  };
  const options = { ...job, allowedDirectories: [job.tempDirectory], sleep };
  const tables = await readStatement(bound, options, context);
  const sources = await findSources(tables, job);
  if (job.path === undefined && sources.some(({ files }) => files === undefined)) return { columns: [], rowCount: 0 };
  const reached = sources.flatMap(({ files }) => (files === undefined ? [] : [files]));
  await using duckDb = await DuckDb.open({
    ...options,
    threads: await threadsFor(reached, job),
    knowsProgress: true,
    allowedDirectories: [job.tempDirectory, ...reached.filter((f) => f.partitioned).map((f) => f.place)],
    allowedPaths: [
      ...reached.filter((f) => !f.partitioned).map((f) => f.place),
      ...(job.path === undefined ? [] : [job.path, partPath(job.path)]),
    ],
  });
  const ask: Ask = (text, values = []) => duckDb.query({ text, values }, NEVER);
  for (const source of sources) await createView(ask, source, job.path !== undefined);
  const prepared = await explained(context, () => duckDb.prepare(bound.text));
  // Only with its values is it known what a statement answers with. DuckDB runs nothing for no rows.
  const limited = { text: `SELECT * FROM (\n${bound.text}\n) LIMIT 0`, values };
  const oneLineBelow = { ...context, linesBefore: 1 };
  const described = await explained(oneLineBelow, () => duckDb.describe(limited, NEVER));
  const columns = columnsOf(prepared, described, job);
  if (job.path === undefined) return { columns, rowCount: 0 };
  const copy = copyStatement(bound.text, columns, job.path);
  const ended = new AbortController();
  void tellUntil(ended.signal, () => duckDb.percentDone(), { told, sleep });
  const [[rowCount] = []] = await explained(oneLineBelow, () => ask(copy, values)).finally(() => ended.abort());
  return { columns, rowCount: Number(rowCount ?? 0) };
}

/** The tables that the statement reads, on an instance that can reach no file at all. */
async function readStatement(
  bound: BoundSql,
  options: Parameters<typeof DuckDb.open>[0],
  context: ErrorContext,
): Promise<readonly string[]> {
  await using parser = await DuckDb.open({ ...options, allowedDirectories: [] });
  const ask: Ask = (text, values = []) => parser.query({ text, values }, NEVER);
  const [[tree] = []] = await ask('SELECT json_serialize_sql(CAST($1 AS VARCHAR))', [bound.text]);
  try {
    return checkStatement(String(tree)).tables;
  } catch (error) {
    if (!(error instanceof RefusedStatement)) throw error;
    throw refusalError(error, context);
  }
}

/** Only with one thread does DuckDB pass over a byte order mark of NDJSON for certain: several read one file in pieces, and then it is no JSON. */
async function threadsFor(files: readonly SourceFiles[], { threads }: QueryJob): Promise<number> {
  if (threads === 1) return 1;
  for (const each of files) if (await hasMark(each)) return 1;
  return threads;
}

interface FoundSource {
  readonly name: string;
  /** As a dataset declares the table; undefined: with the columns that its files have. */
  readonly declared: SourceTable | undefined;
  /** Undefined where the query is only checked and the table is not there yet. */
  readonly files: SourceFiles | undefined;
}

/** One after the other, the declared ones first and in their order: the first that is missing is the one that is told. */
async function findSources(tables: readonly string[], job: QueryJob): Promise<readonly FoundSource[]> {
  // Several datasets may declare one table.
  const byName = new Map(job.sources.toReversed().map((source) => [source.name, source]));
  const names = new Set(job.sources.map(({ name }) => name));
  const declared = [...names].flatMap((name) => (tables.includes(name) ? (byName.get(name) ?? []) : []));
  const others = tables.filter((name) => !declared.some((source) => source.name === name)).toSorted();
  const found: FoundSource[] = [];
  for (const name of [...declared.map((source) => source.name), ...others]) {
    const files = await findSource(job.sourcesDirectory, name).catch((error: unknown) => {
      if (job.path === undefined && error instanceof EngineError && error.type === 'missing_source') return undefined;
      throw error;
    });
    found.push({ name, declared: declared.find((source) => source.name === name), files });
  }
  return found;
}

async function createView(ask: Ask, { name, declared, files }: FoundSource, isRun: boolean): Promise<void> {
  if (files === undefined) return;
  const [schema = '', table = ''] = name.split('.');
  try {
    const found = await columnsOfFiles(ask, { name, declared: declared?.columns, files }, isRun);
    const isExact = isRun && declared === undefined && (await rewritesNumbers(ask, files));
    const select = isExact ? exactSourceView(name, files, found) : sourceView(name, declared?.columns, files, found);
    if (isRun) await refuseRounding(ask, { name, declared, files }, found);
    await ask(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`);
    await ask(`CREATE VIEW ${quoteName(schema)}.${quoteName(table)} AS ${select}`);
  } catch (error) {
    if (error instanceof EngineError || !(error instanceof Error)) throw error;
    throw sourceError(name, error);
  }
}

async function rewritesNumbers(ask: Ask, files: SourceFiles): Promise<boolean> {
  return files.format === 'ndjson' && (await ask(rewrittenNumbers(files))).length > 0;
}

/** Of NDJSON, whose numbers DuckDB reads as doubles. @throws EngineError wrong_source */
async function refuseRounding(
  ask: Ask,
  { name, declared, files }: FoundSource,
  found: readonly FoundColumn[],
): Promise<void> {
  if (files?.format !== 'ndjson') return;
  const exact = (declared?.columns ?? []).filter(({ type }) => !isOfDoubles(type));
  const keys = columnsMeant(name, exact, found).map(({ column }) => column.name);
  if (keys.length === 0) return;
  const [rounded] = await ask(roundedNumbers(files, keys));
  if (rounded === undefined) return;
  const [key, number, file] = rounded.map(String);
  throw new EngineError(
    'wrong_source',
    `source table ${name} cannot be read: ${basename(file ?? '')}: ${JSON.stringify(key)} has the number ${shortened(number ?? '', 100)}, and of a number in JSON a double is read, which has fewer digits: put it in quotes`,
  );
}

function columnsOf(
  { isSelect, columnNames }: PreparedText,
  described: readonly DescribedColumn[],
  { sql }: QueryJob,
): readonly Column[] {
  // The tree said so already; the statement that runs is asked, too.
  if (!isSelect) throw new EngineError('syntax_error', 'a query is one SELECT');
  requireOwnNames(columnNames, sql);
  return described.map(({ name, type }) => ({ name, type: engineColumnType(type) }));
}

/** The statement was read alone and is one SELECT, so its parentheses and quotes are closed; a comment ends with its line. */
function copyStatement(sql: string, columns: readonly Column[], path: string): string {
  const target = `TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`;
  if (!columns.some(isWrittenAsText)) return `COPY (\n${sql}\n) ${target}`;
  const written = columns.map((column, i) => {
    return `${isWrittenAsText(column) ? `CAST(c${i} AS VARCHAR)` : `c${i}`} AS ${quoteName(column.name)}`;
  });
  const names = columns.map((_, i) => `c${i}`).join(', ');
  return `COPY (SELECT ${written.join(', ')} FROM (\n${sql}\n) AS result(${names})) ${target}`;
}

async function tellUntil(
  ended: AbortSignal,
  percentDone: () => number | undefined,
  { told, sleep }: { readonly told: (percent: number) => void; readonly sleep: Sleep },
): Promise<void> {
  for (;;) {
    // Waiting ends with an error once the statement has ended.
    await sleep(TELL_MILLIS, ended).catch(() => undefined);
    if (ended.aborted) return;
    const percent = percentDone();
    if (percent !== undefined) told(percent);
  }
}

async function explained<T>(context: ErrorContext, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toEngineError(error, context);
  }
}
