/** `qrs datasets`: the curated datasets, how fresh they are, and a refresh of one or all of them now. */
import type { Command } from 'commander';
import type { Catalog } from '../catalog/catalog.ts';
import type { Service } from '../compose/service.ts';
import type { Dataset } from '../datasets/dataset.ts';
import { type DatasetAge, datasetAgeOf } from '../datasets/dataset-age.ts';
import { findDataset } from '../datasets/registry.ts';
import { counted } from '../domain/counted.ts';
import { type Execution, formatState } from '../domain/execution.ts';
import { formatInstant } from '../domain/instant.ts';
import { nearest } from '../domain/nearest.ts';
import type { RunQueue } from '../runs/run-queue.ts';
import type { RunnerDeps } from '../runs/runner.ts';
import { UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { executionRecord } from './execution-record.ts';
import { idCell, printList, timeCell } from './list.ts';
import { printJson, printLines, tell } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { runEffects, secondsOf } from './run.ts';
import { withService } from './with-service.ts';

interface RefreshOptions {
  readonly all?: true;
  readonly json?: true;
}

export function addDatasetsCommand(program: Command, context: CommandContext): void {
  const datasets = program.command('datasets').description('list the curated datasets, and refresh them');

  datasets
    .command('list')
    .description('list the curated datasets by name')
    .option('--json', 'print JSON, with how fresh each is')
    .action(async (options: { readonly json?: true }) => {
      await withService(context, async (service) => {
        const all = await service.datasets();
        const isPlain = !options.json && !context.stdout.isTerminal;
        const shown = isPlain ? all.map((dataset) => ({ dataset })) : await lookAtEach(all, service);
        printList<Shown>(context, shown, options, {
          value: ({ dataset }) => dataset.name,
          record: datasetRecord,
          columns: {
            name: ({ dataset }) => dataset.name,
            path: ({ dataset }) => dataset.path,
            query_id: ({ dataset }) => idCell(dataset.queryId),
            refreshed_at: ({ state }) => timeCell(state?.age.served?.startedAt) ?? 'never',
            row_count: ({ state }) => state?.rowCount,
            latest_state: ({ state }) => state?.age.latestState,
            next_refresh: ({ state }) => timeCell(state?.age.nextTick),
          },
          none: 'there are no datasets',
        });
      });
    });

  datasets
    .command('refresh')
    .description('run the query of a dataset now; prints the execution id')
    .argument('[name]', 'the name of the dataset')
    .option('--all', 'every dataset, one after the other, even if one fails')
    .option('--json', 'print JSON: the runs')
    .action(async (name: string | undefined, options: RefreshOptions) => {
      context.priority.serviceFirst();
      await withService(context, async (service) => {
        const chosen = choose(await service.datasets(), name, options);
        const { records, failures } = await refreshEach(chosen, service, context, options);
        if (options.json) printJson(context, records);
        if (failures.length === 1) throw new Error(failures[0]);
        if (failures.length > 1) throw new Error(`${failures.length} refreshes failed: ${failures.join('; ')}`);
      });
    });
}

function choose(all: readonly Dataset[], name: string | undefined, { all: every }: RefreshOptions): readonly Dataset[] {
  if ((name === undefined) === (every === undefined)) throw new UsageError('give one of NAME and --all');
  if (name === undefined) return all;
  const found = findDataset(all, name);
  if (found !== undefined) return [found];
  const names = all.map((dataset) => dataset.name);
  const [near] = nearest(name, names);
  const hint = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`;
  throw new UsageError(`there is no dataset "${name}": ${hint}`);
}

interface Refreshed {
  readonly records: readonly object[];
  readonly failures: readonly string[];
}

async function refreshEach(
  chosen: readonly Dataset[],
  service: Service,
  context: CommandContext,
  options: RefreshOptions,
): Promise<Refreshed> {
  const { runQueueOf, runnerOf } = await import('../compose/runs.ts');
  const { registerDatasets } = await import('../datasets/register.ts');
  const catalog = await service.catalog();
  const { datasets, refusals } = await registerDatasets(catalog, await service.datasets(), service.clock());
  const queue = await runQueueOf(service, context);
  const runner = await runnerOf(service, queue, runEffects(context));
  using progress = new ProgressLine(context.stderr);
  const records: object[] = [];
  const failures: string[] = [];
  for (const [index, dataset] of chosen.entries()) {
    const { name, queryId } = dataset;
    if (!datasets.includes(dataset)) {
      failures.push(...refusals.filter((refusal) => refusal.startsWith(`query ${queryId} `)));
      continue;
    }
    progress.show(`refreshing ${name}, ${index + 1} of ${chosen.length}`);
    const execution = await refresh(dataset, queue, { ...runner, catalog }, context.signal);
    progress.clear();
    if (execution === undefined) {
      failures.push(`dataset ${name} is being refreshed already`);
      continue;
    }
    const resultSet = await catalog.executions.findResultSet(execution.id);
    if (resultSet === undefined) failures.push(failureLine(name, execution));
    else tell(context, `dataset ${name}: ${counted(resultSet.rowCount, 'row')} in ${secondsOf(execution)} s`);
    if (!options.json) printLines(context, [execution.id]);
    records.push({ name, ...executionRecord(execution, context.clock()) });
  }
  return { records, failures };
}

/** @returns the run, ended, or undefined when another process has begun one. Interrupted, it cancels what it has asked for. */
async function refresh(
  { queryId, sql }: Dataset,
  queue: RunQueue,
  runner: RunnerDeps & { readonly catalog: Pick<Catalog, 'now'> },
  signal: AbortSignal,
): Promise<Execution | undefined> {
  const { isBeingRun, runNow } = await import('../runs/run-now.ts');
  const query = { id: queryId, sql, parameters: [], isArchived: false };
  const { kind, execution } = await queue.submitOutOfTurn(query);
  if (kind === 'joined' && (await isBeingRun(execution.id, runner.catalog, runner.isLeaseOwnerDead))) return undefined;
  try {
    return await runNow(execution.id, runner, signal);
  } catch (error) {
    if (signal.aborted && kind === 'added') await queue.cancel(execution.id).catch(() => undefined);
    throw error;
  }
}

function failureLine(name: string, { state, error }: Execution): string {
  if (error === undefined) return `dataset ${name} was not refreshed: the run was ${state.toLowerCase()}`;
  const { type, message, line, column } = error;
  const place = line === undefined ? '' : ` (line ${line}${column === undefined ? '' : `, column ${column}`})`;
  return `dataset ${name} was not refreshed: ${type}: ${message}${place}`;
}

/** A dataset, and how fresh it is where that is to be shown. */
interface Shown {
  readonly dataset: Dataset;
  readonly state?: { readonly age: DatasetAge; readonly rowCount: number | undefined };
}

async function lookAtEach(all: readonly Dataset[], service: Service): Promise<readonly Shown[]> {
  const catalog = await service.catalog();
  return await Promise.all(
    all.map(async (dataset) => {
      const age = await datasetAgeOf(dataset, catalog, service.clock());
      const resultSet = age.served && (await catalog.executions.findResultSet(age.served.id));
      return { dataset, state: { age, rowCount: resultSet?.rowCount } };
    }),
  );
}

function datasetRecord({ dataset, state }: Shown): object {
  const { latest, latestState, served, ageMillis, nextTick } = state?.age ?? {};
  return {
    name: dataset.name,
    path: dataset.path,
    query_id: dataset.queryId,
    schedule: dataset.schedule,
    next_refresh: nextTick && formatInstant(nextTick),
    execution_id: served?.id,
    refreshed_at: served?.startedAt === undefined ? undefined : formatInstant(served.startedAt),
    age_seconds: ageMillis === undefined ? undefined : Math.floor(ageMillis / 1000),
    row_count: state?.rowCount,
    latest_execution_id: latest?.id,
    latest_state: latestState && formatState(latestState),
    latest_error: latest?.error && { type: latest.error.type, message: latest.error.message },
  };
}
