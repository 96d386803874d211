/**
 * `qrs executions`: the life of a run whose engine is elsewhere: submitted, started, then published (`qrs publish
 * --execution`), failed or cancelled. Every step prints the execution id, or with `--json` the run as it now is.
 */
import type { Command } from 'commander';
import type { Executions } from '../catalog/catalog.ts';
import { type Execution, type ExecutionState, stateAt } from '../domain/execution.ts';
import { DEFAULT_ERROR_TYPE, ERROR_MESSAGE_LENGTH_MAX, ERROR_TYPE_LENGTH_MAX } from '../domain/run-input.ts';
import {
  executionId,
  executionState,
  label,
  listLimit,
  position,
  queryId,
  queryParameters,
  UsageError,
} from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { executionLines, executionRecord } from './execution-record.ts';
import { idCell, printList, timeCell } from './list.ts';
import { printJson, printLines, tell } from './printing.ts';
import { withService } from './with-service.ts';

interface JsonOption {
  readonly json?: true;
}

interface SubmitOptions extends JsonOption {
  readonly query: number;
  readonly param?: ReadonlyMap<string, string>;
}

interface FailOptions extends JsonOption {
  readonly message: string;
  readonly type: string;
  readonly line?: number;
  readonly column?: number;
}

interface ListOptions extends JsonOption {
  readonly query?: number;
  readonly state?: ExecutionState;
  readonly limit: number;
}

const LIST_LIMIT = 100;

export function addExecutionsCommand(program: Command, context: CommandContext): void {
  const executions = program
    .command('executions')
    .description('record executions that run in an engine elsewhere, and look at executions');
  const step = stepOf(context);
  addSubmit(executions, context, step);
  addStart(executions, context, step);
  addFail(executions, context, step);
  addCancel(executions, context, step);
  addShow(executions, context);
  addList(executions, context);
}

/** One step of one run, or the making of it; prints the run. */
type Step = (options: JsonOption, take: (executions: Executions) => Promise<Execution>) => Promise<void>;

function stepOf(context: CommandContext): Step {
  return async (options, take) => {
    await withService(context, async (service) => {
      const execution = await take((await service.catalog()).executions);
      if (options.json) printJson(context, executionRecord(execution, context.clock()));
      else printLines(context, [execution.id]);
    });
  };
}

function addSubmit(executions: Command, context: CommandContext, step: Step): void {
  executions
    .command('submit')
    .description('begin an execution of a query, in the state PENDING; prints its id')
    .requiredOption('--query <number>', 'the id of the query', queryId)
    .option('--param <name=value>', 'a query parameter of the execution; may be repeated', queryParameters)
    .option('--json', 'print JSON')
    .action(async (options: SubmitOptions) => {
      await step(options, async (all) => {
        const submittedAt = context.clock();
        const execution: Execution = {
          id: context.newExecutionId(submittedAt),
          queryId: options.query,
          parameters: Object.fromEntries(options.param ?? []),
          state: 'PENDING',
          submittedAt,
        };
        await all.add(execution);
        return execution;
      });
    });
}

function addStart(executions: Command, context: CommandContext, step: Step): void {
  executions
    .command('start')
    .description('record that an execution has started: PENDING → EXECUTING')
    .argument('<id>', 'the execution id', executionId)
    .option('--json', 'print JSON')
    .action(async (id: string, options: JsonOption) => {
      await step(options, (all) => all.start(id, context.clock()));
    });
}

function addFail(executions: Command, context: CommandContext, step: Step): void {
  executions
    .command('fail')
    .description('record that an execution has failed: PENDING or EXECUTING → FAILED')
    .argument('<id>', 'the execution id', executionId)
    .requiredOption(
      '--message <text>',
      'what went wrong, for those who read the results',
      label(ERROR_MESSAGE_LENGTH_MAX),
    )
    .option('--type <type>', 'the kind of error', label(ERROR_TYPE_LENGTH_MAX), DEFAULT_ERROR_TYPE)
    .option('--line <number>', 'the line of the query where it went wrong', position)
    .option('--column <number>', 'the column of that line', position)
    .option('--json', 'print JSON')
    .action(async (id: string, options: FailOptions) => {
      const { type, message, line, column } = options;
      if (column !== undefined && line === undefined) throw new UsageError('--column needs --line');
      const error = { type, message, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
      await step(options, (all) => all.fail(id, error, context.clock()));
    });
}

function addCancel(executions: Command, context: CommandContext, step: Step): void {
  executions
    .command('cancel')
    .description('record that an execution was cancelled: PENDING or EXECUTING → CANCELLED')
    .argument('<id>', 'the execution id', executionId)
    .option('--json', 'print JSON')
    .action(async (id: string, options: JsonOption) => {
      await step(options, (all) => all.cancel(id, context.clock()));
    });
}

function addShow(executions: Command, context: CommandContext): void {
  executions
    .command('show')
    .description('print an execution as lines of name=value')
    .argument('<id>', 'the execution id', executionId)
    .option('--json', 'print JSON')
    .action(async (id: string, options: JsonOption) => {
      await withService(context, async (service) => {
        const { executions: all, runs } = await service.catalog();
        const execution = await all.find(id);
        if (execution === undefined) throw new Error(`execution ${id} does not exist`);
        const progress = execution.state === 'EXECUTING' ? await runs.findProgress(id) : undefined;
        const record = executionRecord(execution, context.clock(), progress);
        if (options.json) printJson(context, record);
        else printLines(context, executionLines(record));
      });
    });
}

function addList(executions: Command, context: CommandContext): void {
  executions
    .command('list')
    .description('list the ids of executions, newest first')
    .option('--query <number>', 'only executions of this query', queryId)
    .option('--state <state>', 'only executions in this stored state', executionState)
    .option('--limit <number>', 'how many to list at most', listLimit, LIST_LIMIT)
    .option('--json', 'print JSON')
    .action(async (options: ListOptions) => {
      await withService(context, async (service) => {
        const { query, state, limit } = options;
        // One more than is printed tells whether there are more.
        const found = await (await service.catalog()).executions.list({
          limit: limit + 1,
          ...(query !== undefined && { queryId: query }),
          ...(state !== undefined && { state }),
        });
        const now = context.clock();
        printList(context, found.slice(0, limit), options, {
          value: ({ id }) => id,
          record: (execution) => executionRecord(execution, now),
          columns: {
            execution_id: ({ id }) => id,
            query_id: ({ queryId }) => idCell(queryId),
            state: (execution) => stateAt(execution, now),
            submitted_at: ({ submittedAt }) => timeCell(submittedAt),
            execution_ended_at: ({ endedAt }) => timeCell(endedAt),
            expires_at: ({ expiresAt }) => timeCell(expiresAt),
          },
          none: 'no such runs',
        });
        if (found.length > limit)
          tell(context, `these are the newest ${limit}, and there are more: --limit lists them`);
      });
    });
}
