/** The SQL of a query on the command line: its text as a file, its parameters, its schedule. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Service } from '../compose/service.ts';
import { declaredChangeProblem } from '../datasets/declared-by-dataset.ts';
import { CronError, checkCron } from '../domain/cron.ts';
import type { QueryDefinition, QueryParameter } from '../domain/query.ts';
import { scheduleProblem } from '../domain/schedule-problem.ts';
import { fileProblem } from '../files/file-problem.ts';
import { readUtf8 } from '../files/read-utf8.ts';
import { SETTINGS } from '../settings/settings.ts';
import { queryId, UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printLines } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { withService } from './with-service.ts';

export interface SqlOptions {
  readonly sql?: string;
  readonly parameter?: readonly QueryParameter[];
  readonly schedule?: string;
}

type QuerySql = Partial<Pick<QueryDefinition, 'sql' | 'parameters' | 'schedule'>>;

export function sqlOptions(command: Command): Command {
  return command
    .option('--sql <file>', 'a file with the SQL that the service runs: one SELECT, with {{name}} for parameters')
    .option(
      '--parameter <name:type=value>',
      'a parameter of the SQL: text, number, datetime or enum(a,b), and the value that holds if none is given; may be repeated',
      queryParameter,
    )
    .option('--schedule <cron>', 'when the service runs it: a cron expression in UTC', cronExpression);
}

/** What the options say of a query, looked at by the engine. @throws RequestError with line and column */
export async function readSql(
  options: SqlOptions,
  service: Service,
  context: CommandContext,
  before: QuerySql = {},
): Promise<QuerySql> {
  const { sql: file, parameter: parameters, schedule } = options;
  const sql = file === undefined ? undefined : await readSqlFile(file);
  const read: QuerySql = {
    ...(sql !== undefined && { sql }),
    ...(parameters !== undefined && { parameters }),
    ...(schedule !== undefined && { schedule }),
  };
  const whole = { ...before, ...read };
  if (whole.sql === undefined) {
    if (parameters !== undefined || schedule !== undefined)
      throw new UsageError('--parameter and --schedule need --sql');
    return read;
  }
  const problem = scheduleProblem(before, read);
  if (problem !== undefined) throw new UsageError(problem);
  if (sql !== undefined || parameters !== undefined) {
    await checkSql(whole.sql, whole.parameters ?? [], service, context);
  }
  return read;
}

async function checkSql(
  sql: string,
  parameters: readonly QueryParameter[],
  service: Service,
  { signal, stderr }: CommandContext,
): Promise<void> {
  const { queryChecker } = await import('../compose/runs.ts');
  // An engine that is away is waited for, as one that starts anew.
  using progress = new ProgressLine(stderr);
  progress.show(`checking the SQL: the tables are in ${service.placeOfSources}`);
  try {
    await queryChecker(service)(sql, parameters, signal);
  } catch (error) {
    const isAway = error instanceof Error && 'code' in error && error.code === 'engine_unavailable';
    if (!isAway) throw error;
    throw new Error(`${whyUnavailable(error)}: ${service.placeOfSources} (${SETTINGS.engine.name})`, { cause: error });
  }
}

/** What clients are not told: it has addresses of the network. */
function whyUnavailable({ cause, message }: Error): string {
  if (!(cause instanceof Error)) return message;
  return cause.cause instanceof Error ? `${cause.message} (${cause.cause.message})` : cause.message;
}

export function addScheduleCommand(queries: Command, context: CommandContext): void {
  queries
    .command('schedule')
    .description('have a query run at these times, by every service with QRS_SCHEDULE')
    .argument('<id>', 'the id of the query', queryId)
    .argument('[cron]', 'a cron expression in UTC, as "*/15 * * * *"', cronExpression)
    .option('--off', 'end the schedule of the query')
    .action(async (id: number, schedule: string | undefined, { off }: { readonly off?: true }) => {
      if ((schedule === undefined) === (off === undefined)) throw new UsageError('give one of CRON and --off');
      await withService(context, async (service) => {
        const catalog = await service.catalog();
        const before = await catalog.queries.find(id);
        const declared = before && (await declaredChangeProblem(before, { schedule }, service));
        if (declared !== undefined) throw new Error(declared);
        await catalog.atomically(async ({ queries: all }) => {
          const query = await all.find(id);
          if (query === undefined) throw new Error(`there is no query ${id}: add it first`);
          if (query.sql === undefined)
            throw new Error(`query ${id} has no SQL: its results are published by whoever runs it`);
          const problem = scheduleProblem(query, { schedule });
          if (problem !== undefined) throw new Error(problem);
          await all.update(id, { schedule }, context.clock());
        });
        printLines(context, [id]);
      });
    });
}

/** @throws Error which names the option and the file */
async function readSqlFile(file: string): Promise<string> {
  try {
    return await readUtf8(file);
  } catch (error) {
    throw new Error(`--sql: ${fileProblem(file, error) ?? (error as Error).message}`, { cause: error });
  }
}

const PARAMETER = /^([^:=]+)(?::(text|number|datetime|enum)(?:\(([^)]*)\))?)?(?:=([\s\S]*))?$/;

/** Collects `chain:enum(base,celo)=base`, `day:datetime`, `name=x`. */
function queryParameter(text: string, before: readonly QueryParameter[] = []): readonly QueryParameter[] {
  const [matched, key = '', type = 'text', options, value] = PARAMETER.exec(text) ?? [];
  if (matched === undefined || (type === 'enum') !== (options !== undefined)) {
    throw new InvalidArgumentError(
      'A parameter is written as name:type=value; the types are text, number, datetime and enum(a,b).',
    );
  }
  const parameter: QueryParameter = {
    key: key.trim(),
    type: type as QueryParameter['type'],
    ...(value !== undefined && { value }),
    ...(options !== undefined && { enumOptions: options.split(',').map((option) => option.trim()) }),
  };
  return [...before, parameter];
}

function cronExpression(text: string): string {
  try {
    checkCron(text);
    return text;
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    throw new InvalidArgumentError(error.message);
  }
}
