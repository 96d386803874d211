/** `qrs publish`: a file, or standard input, becomes the result of a run. Prints the execution id. */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { Service } from '../compose/service.ts';
import { declaredChangeProblem } from '../datasets/declared-by-dataset.ts';
import { changeDescriptions, descriptionsProblem, isSameDescriptions } from '../domain/column-descriptions.ts';
import type { ColumnType } from '../domain/column-type.ts';
import type { Execution } from '../domain/execution.ts';
import { nearest } from '../domain/nearest.ts';
import type { Column } from '../domain/result-set.ts';
import { TypeDeclarationError, typeDeclarations } from '../domain/type-declarations.ts';
import { PublishError } from '../publishing/publish-error.ts';
import { delimiterProblem } from '../publishing/sources/csv/csv-header.ts';
import { ENCODINGS, type Encoding } from '../publishing/sources/encoding.ts';
import { columnDescriptions, executionId, queryId, queryParameters, UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { executionRecord } from './execution-record.ts';
import { printJson, printLines, tell } from './printing.ts';
import { PublishProgress } from './publish-progress.ts';
import { withService } from './with-service.ts';

interface PublishCommandOptions {
  readonly query?: number;
  readonly execution?: string;
  readonly format?: 'parquet' | 'csv' | 'ndjson';
  readonly delimiter?: string;
  readonly encoding?: Encoding;
  readonly types?: ReadonlyMap<string, ColumnType>;
  readonly describe?: ReadonlyMap<string, string>;
  readonly param?: ReadonlyMap<string, string>;
  readonly json?: true;
}

const STANDARD_INPUT = '-';

export function addPublishCommand(program: Command, context: CommandContext): void {
  program
    .command('publish')
    .description('store a file as the result of an execution of a query')
    .argument('<file>', 'a Parquet, CSV or NDJSON file, plain or compressed (gzip, zstd), or - for standard input')
    .option('--query <number>', 'the id of the query; with --execution it may be left out', queryId)
    .option('--execution <id>', 'complete this execution instead of making a new one', executionId)
    .addOption(
      new Option('--format <format>', 'the format of the file, if its name and its first bytes do not tell').choices([
        'parquet',
        'csv',
        'ndjson',
      ]),
    )
    .option('--delimiter <character>', 'what separates the fields of a CSV file: one character, or tab', delimiterOf)
    .addOption(new Option('--encoding <name>', 'the encoding of a text file; UTF-8 if not given').choices(ENCODINGS))
    .option(
      '--types <column=type,…>',
      'types that the file cannot declare, such as price=decimal(10, 3)',
      declaredTypes,
    )
    .option('--describe <column=text>', 'what a column means, kept with the query; may be repeated', columnDescriptions)
    .option('--param <name=value>', 'a query parameter of the new execution; may be repeated', queryParameters)
    .option('--json', 'print JSON, and on standard error how far it has come, an event a line')
    .action(async (file: string, options: PublishCommandOptions) => {
      if (options.query === undefined && options.execution === undefined) {
        throw new UsageError("required option '--query <number>' not specified");
      }
      if (options.execution !== undefined && options.param !== undefined) {
        throw new UsageError('--param is for a new run: the one that --execution names has its parameters already');
      }
      context.priority.serviceFirst();
      await withService(context, async (service) => {
        const execution = await publishFile(service, file, options, context).catch(nameOption);
        if (options.describe !== undefined) await describe(service, execution.queryId, options.describe, context);
        if (options.json) printJson(context, executionRecord(execution, context.clock()));
        else {
          await tellIfTruncated(service, execution, context);
          printLines(context, [execution.id]);
        }
      });
    });
}

/** A result that is short looks like any other to whoever reads no more than its id. With `--json` the record has its state. */
async function tellIfTruncated(service: Service, { id, state }: Execution, context: CommandContext): Promise<void> {
  if (state !== 'COMPLETED_PARTIAL') return;
  const rows = (await (await service.catalog()).executions.findResultSet(id))?.rowCount;
  tell(
    context,
    `warning: run ${id} is truncated after ${rows} rows, since more do not fit into QRS_MAX_RESULT_BYTES; it is read with allow_partial_results=true`,
  );
}

async function publishFile(service: Service, file: string, options: PublishCommandOptions, context: CommandContext) {
  const { publish } = await import('../publishing/publish.ts');
  const { publishArguments } = await import('../compose/publishing.ts');
  const { dependencies, options: publishOptions } = await publishArguments(service, {
    newId: () => context.newExecutionId(context.clock()),
    owner: context.owner,
    random: context.random,
  });
  using progress = new PublishProgress(context, options.json ?? false);
  return await publish(
    {
      ...dependencies,
      checkColumns: async (queryId, columns) => {
        await dependencies.checkColumns?.(queryId, columns);
        if (options.describe !== undefined) await requireDescribable(service, queryId, options.describe, columns);
      },
    },
    {
      queryId: options.query ?? (await queryOf(service, options.execution ?? '')),
      source: file === STANDARD_INPUT ? { kind: 'stream', stream: context.stdin() } : { kind: 'file', path: file },
      ...(options.format !== undefined && { format: options.format }),
      ...(options.delimiter !== undefined && { delimiter: options.delimiter }),
      ...(options.encoding !== undefined && { encoding: options.encoding }),
      ...(options.types !== undefined && { types: options.types }),
      ...(options.param !== undefined && { parameters: Object.fromEntries(options.param) }),
      ...(options.execution !== undefined && { executionId: options.execution }),
    },
    publishOptions,
    context.signal,
    (step) => progress.show(step),
  );
}

/**
 * Checked before anything is stored.
 * @throws PublishError for a column that the result does not have, and where the query cannot be given these texts
 */
async function requireDescribable(
  service: Service,
  queryId: number,
  described: ReadonlyMap<string, string>,
  columns: readonly Column[],
): Promise<void> {
  const names = columns.map(({ name }) => name);
  const unknown = [...described.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const [near] = nearest(unknown, names);
    const instead = near === undefined ? `it has ${names.slice(0, 10).join(', ')}` : `did you mean ${near}?`;
    throw new PublishError(`--describe: the result has no column ${unknown}; ${instead}`);
  }
  const change = await describedChange(service, queryId, described);
  if (change === undefined) return;
  const { query, columnDescriptions } = change;
  const declared = await declaredChangeProblem(query, { columnDescriptions }, service);
  const problem = declared ?? descriptionsProblem(columnDescriptions ?? {});
  if (problem !== undefined) throw new PublishError(`--describe: ${problem}`);
}

/** Keeps what columns mean. */
async function describe(
  service: Service,
  queryId: number,
  described: ReadonlyMap<string, string>,
  context: CommandContext,
): Promise<void> {
  const change = await describedChange(service, queryId, described);
  if (change === undefined) return;
  const { columnDescriptions } = change;
  await (await service.catalog()).queries.update(queryId, { columnDescriptions }, context.clock());
}

/** What the query would say of its columns. Undefined where it says so already, which gives it no new version, or there is no such query. */
async function describedChange(service: Service, queryId: number, described: ReadonlyMap<string, string>) {
  const query = await (await service.catalog()).queries.find(queryId);
  const columnDescriptions = changeDescriptions(query?.columnDescriptions, described);
  if (query === undefined || isSameDescriptions(query.columnDescriptions, columnDescriptions)) return undefined;
  return { query, columnDescriptions };
}

/** Adds to the error which option of this command would have helped. */
function nameOption(error: unknown): never {
  if (!(error instanceof PublishError) || error.remedy === undefined) throw error;
  const { remedy } = error;
  const option = remedy.say === 'types' ? `--types ${remedy.declaration}` : `--encoding ${remedy.examples.join(', ')}`;
  throw new Error(`${error.message} (${option})`, { cause: error });
}

function declaredTypes(text: string, before?: ReadonlyMap<string, ColumnType>): ReadonlyMap<string, ColumnType> {
  try {
    return typeDeclarations([text], before);
  } catch (error) {
    if (error instanceof TypeDeclarationError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

function delimiterOf(text: string): string {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text;
  const problem = delimiterProblem(delimiter);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return delimiter;
}

async function queryOf(service: Service, id: string): Promise<number> {
  const execution = await (await service.catalog()).executions.find(id);
  if (execution === undefined) throw new Error(`execution ${id} does not exist`);
  return execution.queryId;
}
