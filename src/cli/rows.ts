/**
 * `qrs rows`: rows of a query's latest result, or of one run: of a service elsewhere (QRS_URL, QRS_KEY) or out of the data directory. A
 * table for people; CSV, JSON and NDJSON as the service writes them, byte by byte, so that no digit is lost on the way.
 */
import { type Command, Option } from 'commander';
import { openService } from '../compose/service.ts';
import { isExecutionId } from '../domain/execution.ts';
import { loadSettings } from '../settings/load-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { queryOrExecutionId, queryParameters, rowCount, UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { tell } from './printing.ts';
import { readAnswer, whyNoResult } from './rows/answer-document.ts';
import { printBytes } from './rows/print-bytes.ts';
import { remoteRows } from './rows/remote-rows.ts';
import { rowsLine, rowsTable } from './rows/rows-table.ts';

export interface RowsOptions {
  readonly filter?: string;
  readonly search?: string;
  readonly sort?: string;
  readonly columns?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly asOf?: string;
  readonly param?: ReadonlyMap<string, string>;
  readonly partial?: true;
  readonly format?: RowsFormat;
  readonly json?: true;
}

export const FORMATS = ['table', 'csv', 'json', 'ndjson'] as const;
export type RowsFormat = (typeof FORMATS)[number];
const TYPES = {
  table: 'application/json',
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
} as const satisfies Record<RowsFormat, string>;

/** Of a table that nobody limits: about a screen. */
const TABLE_ROWS = 20;
/** A table is made in memory. */
const TABLE_ROWS_MAX = 10_000;

export function addRowsCommand(program: Command, context: CommandContext): void {
  program
    .command('rows')
    .description('print rows of the latest result of a query, or of one execution')
    .argument('<query>', 'the id of a query, or of an execution', queryOrExecutionId)
    .option('--filter <expression>', 'only the rows that match, such as "chain = \'base\' and volume > 100"')
    .option('--search <text>', 'only the rows in which a value contains the text, whatever the case')
    .option('--sort <keys>', 'in this order, such as "volume desc, day"')
    .option('--columns <names>', 'these columns, separated by commas, in this order')
    .option('--limit <number>', `this many rows; ${TABLE_ROWS} of a table and all otherwise, if not given`, rowCount)
    .option('--offset <number>', 'skip this many rows', rowCount)
    .option('--param <name=value>', 'read the latest run with this query parameter; may be repeated', queryParameters)
    .option('--as-of <time>', 'read the run that was the latest then, such as 2024-03-05')
    .option('--partial', 'read a truncated result, too')
    .addOption(
      new Option('--format <format>', 'table, csv, json or ndjson; on a terminal table, otherwise csv').choices(
        FORMATS,
      ),
    )
    .option('--json', 'the same as --format json')
    .action(async (query: string, options: RowsOptions) => await printRows(query, options, context));
}

/** @param settings of the service that has the rows */
export async function printRows(
  query: string,
  options: RowsOptions,
  context: CommandContext,
  settings = loadSettings(context).settings,
): Promise<void> {
  if (options.json && options.format !== undefined) throw new UsageError('give one of --json and --format');
  const format = options.json ? 'json' : (options.format ?? (context.stdout.isTerminal ? 'table' : 'csv'));
  if (format === 'table' && (options.limit ?? 0) > TABLE_ROWS_MAX) {
    throw new UsageError(`a table has at most ${TABLE_ROWS_MAX} rows; --format csv has all`);
  }
  const chunks = askedRows(query, queryStringOf(options, format), format, settings, context);
  if (format === 'table') await printTable(chunks, options, context);
  else await printBytes(chunks, context, format === 'json' ? whyNoResult : () => undefined);
}

async function* askedRows(
  query: string,
  queryString: string,
  format: RowsFormat,
  settings: Settings,
  context: CommandContext,
): AsyncGenerator<Uint8Array> {
  const { clientUrl: url, clientKey: key } = settings;
  const isExecution = isExecutionId(query);
  if (url !== undefined) {
    if (key === undefined) throw new UsageError('QRS_URL names a service, and QRS_KEY is not set: it needs a key');
    const path = `/${isExecution ? 'execution' : 'query'}/${encodeURIComponent(query)}/results`;
    yield* remoteRows({ url, key }, { path, queryString, type: TYPES[format] }, context.signal);
    return;
  }
  const { localRows } = await import('../compose/local-rows.ts');
  await using service = await openService(settings, context);
  const effects = { ...context, newId: () => context.newExecutionId(context.clock()), observe: () => undefined };
  const target = isExecution
    ? ({ kind: 'execution', executionId: query.toUpperCase() } as const)
    : ({ kind: 'query', queryId: query } as const);
  const request = { target, format: format === 'table' ? ('json' as const) : format, queryString };
  yield* localRows(service, request, effects, context.signal);
}

function queryStringOf(options: RowsOptions, format: RowsFormat): string {
  const { filter, search, sort, columns, limit, offset, param, asOf, partial } = options;
  const parameters = new URLSearchParams({ format: format === 'table' ? 'json' : format });
  const rows = limit ?? (format === 'table' ? TABLE_ROWS : undefined);
  if (filter !== undefined) parameters.set('filters', filter);
  if (search !== undefined) parameters.set('search', search);
  if (sort !== undefined) parameters.set('sort_by', sort);
  if (columns !== undefined) parameters.set('columns', columns);
  if (rows !== undefined) parameters.set('limit', String(rows));
  if (offset !== undefined) parameters.set('offset', String(offset));
  if (asOf !== undefined) parameters.set('as_of', asOf);
  if (partial) parameters.set('allow_partial_results', 'true');
  // Whoever asks for all rows, or for so many, gets them, and not what one page may have.
  parameters.set('ignore_max_datapoints_per_request', 'true');
  for (const [name, value] of param ?? []) parameters.set(`params.${name}`, value);
  return String(parameters);
}

async function printTable(
  chunks: AsyncIterable<Uint8Array>,
  options: RowsOptions,
  context: CommandContext,
): Promise<void> {
  const answer = readAnswer(Buffer.concat(await Array.fromAsync(chunks)).toString('utf8'));
  if (answer.columns.length > 0) context.stdout.write(rowsTable(answer, context.stdout.columns));
  tell(context, rowsLine(answer, options.offset ?? 0, options.filter !== undefined || options.search !== undefined));
}
