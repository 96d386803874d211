/** `qrs datasets`: the curated datasets, how fresh they are, and a refresh of one or all of them now. */
import type { Command } from 'commander';
import type { Service } from '../compose/service.ts';
import type { Dataset } from '../datasets/dataset.ts';
import { type DatasetAge, datasetAgeOf } from '../datasets/dataset-age.ts';
import { findDataset } from '../datasets/registry.ts';
import { formatState } from '../domain/execution.ts';
import { formatInstant } from '../domain/instant.ts';
import { nearest } from '../domain/nearest.ts';
import { refreshNow } from '../scheduler/schedule.ts';
import { UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { executionRecord } from './execution-record.ts';
import { idCell, printList, timeCell } from './list.ts';
import { printJson, printLines, tell } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { refreshLine } from './refresh-line.ts';
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
            refreshed_at: ({ state }) => timeCell(state?.freshness.served?.startedAt) ?? 'never',
            row_count: ({ state }) => state?.rowCount,
            latest_state: ({ state }) => state?.freshness.latest?.state,
            next_refresh: ({ state }) => timeCell(state?.freshness.nextTick),
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

async function refreshEach(
  chosen: readonly Dataset[],
  service: Service,
  context: CommandContext,
  options: RefreshOptions,
): Promise<{ readonly records: readonly object[]; readonly failures: readonly string[] }> {
  const { refresherOf } = await import('../compose/schedule.ts');
  using progress = new ProgressLine(context.stderr);
  const refresher = await refresherOf(service, {
    ...context,
    observe: (event) => {
      if (event.kind !== 'refreshed') return;
      progress.clear();
      tell(context, refreshLine(event));
    },
    onFault: (what, error) => tell(context, `${what}: ${error instanceof Error ? error.message : error}`),
  });
  const records: object[] = [];
  const failures: string[] = [];
  for (const [index, dataset] of chosen.entries()) {
    if (!refresher.datasets.includes(dataset)) {
      failures.push(...refresher.refusals.filter((refusal) => refusal.startsWith(`query ${dataset.queryId} `)));
      continue;
    }
    progress.show(`refreshing ${dataset.name}, ${index + 1} of ${chosen.length}`);
    const outcome = await refreshNow(dataset, refresher, context.signal);
    progress.clear();
    context.signal.throwIfAborted();
    if (outcome === undefined) {
      failures.push(`dataset ${dataset.name} is being refreshed already`);
      continue;
    }
    if (outcome.kind === 'failed') failures.push(refreshLine(outcome));
    if (!options.json) printLines(context, [outcome.executionId]);
    const execution = await refresher.catalog.executions.find(outcome.executionId);
    if (execution !== undefined) records.push({ name: dataset.name, ...executionRecord(execution, context.clock()) });
  }
  return { records, failures };
}

/** A dataset, and how fresh it is where that is to be shown. */
interface Shown {
  readonly dataset: Dataset;
  readonly state?: { readonly freshness: DatasetAge; readonly rowCount: number | undefined };
}

async function lookAtEach(all: readonly Dataset[], service: Service): Promise<readonly Shown[]> {
  const catalog = await service.catalog();
  return await Promise.all(
    all.map(async (dataset) => {
      const freshness = await datasetAgeOf(dataset, catalog, service.clock());
      const resultSet = freshness.served && (await catalog.executions.findResultSet(freshness.served.id));
      return { dataset, state: { freshness, rowCount: resultSet?.rowCount } };
    }),
  );
}

function datasetRecord({ dataset, state }: Shown): object {
  const { latest, served, ageMillis, nextTick } = state?.freshness ?? {};
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
    latest_state: latest && formatState(latest.state),
    latest_error: latest?.error && { type: latest.error.type, message: latest.error.message },
  };
}
