/**
 * `qrs run`: a run of a query, now, and its rows. The command runs it itself unless a service that works on the same data is
 * quicker to. Interrupted, it cancels the run.
 */
import { type Command, Option } from 'commander';
import type { Service } from '../compose/service.ts';
import { type Execution, STATES } from '../domain/execution.ts';
import { loadSettings } from '../settings/load-settings.ts';
import { queryId, queryParameters, UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printLines, tell } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { FORMATS, printRows, type RowsFormat } from './rows.ts';
import { withService } from './with-service.ts';

interface RunOptions {
  readonly param?: ReadonlyMap<string, string>;
  readonly format?: RowsFormat;
  readonly json?: true;
  /** False with `--no-rows`. */
  readonly rows: boolean;
}

export function addRunCommand(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('run a query now and print its rows')
    .argument('<query>', 'the id of the query', queryId)
    .option('--param <name=value>', 'the value of a parameter; may be repeated', queryParameters)
    .addOption(
      new Option('--format <format>', 'table, csv, json or ndjson; on a terminal table, otherwise csv').choices(
        FORMATS,
      ),
    )
    .option('--json', 'the same as --format json')
    .option('--no-rows', 'print the execution id instead of the rows')
    .action(async (id: number, { param, rows, format, json }: RunOptions) => {
      if (json && format !== undefined) throw new UsageError('give one of --json and --format');
      const execution = await withService(context, async (service) => await runQuery(id, param, service, context));
      tell(context, `run ${execution.id} of query ${id} took ${secondsOf(execution)} s`);
      if (!rows) return printLines(context, [execution.id]);
      // Of the data directory, in which it was run.
      const settings = { ...loadSettings(context).settings, clientUrl: undefined };
      const limit = { limit: Number.MAX_SAFE_INTEGER };
      const shown = json ? 'json' : format;
      const isTable = shown === 'table' || (shown === undefined && context.stdout.isTerminal);
      const options = { partial: true, ...(shown !== undefined && { format: shown }), ...(!isTable && limit) } as const;
      await printRows(execution.id, options, context, settings);
    });
}

async function runQuery(
  id: number,
  param: ReadonlyMap<string, string> = new Map(),
  service: Service,
  context: CommandContext,
): Promise<Execution> {
  const { runQueueOf, runnerOf } = await import('../compose/runs.ts');
  const { runNow } = await import('../runs/run-now.ts');
  const query = await (await service.catalog()).queries.find(id);
  if (query === undefined) throw new Error(`there is no query ${id}: add it first`);
  const queue = await runQueueOf(service, context);
  const { id: executionId } = await queue.submit({ query, parameters: Object.fromEntries(param) });
  const runner = await runnerOf(service, queue, runEffects(context));
  using progress = new ProgressLine(context.stderr);
  try {
    return requireResult(
      await runNow(executionId, runner, context.signal, (state) =>
        progress.show(state === 'EXECUTING' ? 'running' : 'waiting'),
      ),
    );
  } catch (error) {
    if (context.signal.aborted) await queue.cancel(executionId).catch(() => undefined);
    throw error;
  }
}

/** What runs in a command tell: only what is no run's failure. */
export function runEffects(context: CommandContext) {
  return {
    ...context,
    observe: () => undefined,
    onFault: (what: string, error: unknown) =>
      tell(context, `${what}: ${error instanceof Error ? error.message : error}`),
  };
}

function requireResult(execution: Execution): Execution {
  const { id, state, error } = execution;
  if (STATES[state].hasResult) return execution;
  if (error === undefined) throw new Error(`run ${id} was ${state.toLowerCase()}`);
  const column = error.column === undefined ? '' : `, column ${error.column}`;
  throw new Error(
    `run ${id} failed: ${error.line === undefined ? '' : `line ${error.line}${column}: `}${error.message}`,
  );
}

export function secondsOf({ startedAt = 0, endedAt = 0 }: Execution): string {
  return ((endedAt - startedAt) / 1000).toFixed(1);
}
