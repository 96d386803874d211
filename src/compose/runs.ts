/** From the service's parts to what runs queries: the queue, a runner, and the check of a query before it is added. */
import { pruneSuperseded } from '../datasets/prune.ts';
import { checkParameters, exampleValues, ParameterError } from '../domain/parameter-values.ts';
import { EngineError, EngineUnavailable, type SourceTable } from '../engine/engine.ts';
import { RequestError } from '../errors/errors.ts';
import type { CheckSql } from '../http/writing/query-checks.ts';
import { isLeaseOwnerDead } from '../leases/lease-owner.ts';
import { publish } from '../publishing/publish.ts';
import type { PublishRun, RunEvent } from '../runs/run-claimed.ts';
import { RunQueue } from '../runs/run-queue.ts';
import type { RunnerDeps } from '../runs/runner.ts';
import { engineInRoom } from './engine.ts';
import { findCuratedDataset, type PublisherEffects, publishArguments } from './publishing.ts';
import type { Service } from './service.ts';

export interface RunEffects extends Omit<PublisherEffects, 'newId'> {
  /**
   * A new execution id, greater than the last one of the same millisecond, so that runs sort in the order in which they began.
   */
  readonly newExecutionId: (at: number) => string;
  readonly observe: (event: RunEvent) => void;
  readonly onFault: (what: string, error: unknown) => void;
}

/** How soon submissions and cancellations of other processes are noticed. */
const POLL_MILLIS = 1000;

export async function runQueueOf(
  service: Service,
  { newExecutionId }: Pick<RunEffects, 'newExecutionId'>,
): Promise<RunQueue> {
  const { settings, clock } = service;
  return new RunQueue({
    catalog: await service.catalog(),
    clock,
    newExecutionId,
    limits: { waitingMax: settings.runsWaitingMax, waitingOfKeyMax: settings.runsWaitingPerKeyMax },
    coalesce: settings.coalesceRuns,
  });
}

export async function runnerOf(service: Service, queue: RunQueue, effects: RunEffects): Promise<RunnerDeps> {
  const { settings, clock, sleep, directories } = service;
  const { owner, observe, onFault } = effects;
  return {
    catalog: await service.catalog(),
    engine: engineInRoom(await service.engine(), service.room),
    sources: await declaredSources(service),
    findDataset: (queryId) => findCuratedDataset(service, queryId),
    publish: await publishRun(service, effects),
    stagingDirectory: directories.staging,
    queue,
    clock,
    sleep,
    owner,
    isLeaseOwnerDead,
    leaseMillis: settings.leaseMillis,
    runningMax: settings.runsMax,
    runningOfKeyMax: settings.runsPerKeyMax,
    pollMillis: POLL_MILLIS,
    observe,
    onFault,
  };
}

/** Tables whose columns a dataset declares. */
async function declaredSources(service: Service): Promise<readonly SourceTable[]> {
  return (await service.datasets()).flatMap(({ sources }) => sources);
}

async function publishRun(service: Service, effects: RunEffects): Promise<PublishRun> {
  const { settings, clock } = service;
  const newId = () => effects.newExecutionId(clock());
  const { dependencies, options } = await publishArguments(service, { ...effects, newId });
  const catalog = await service.catalog();
  return async ({ executionId, queryId, path, types, dataset, lease, giveUp }, signal) => {
    const source = { kind: 'file', path } as const;
    const request = { queryId, executionId, source, format: 'parquet', types, held: { lease, giveUp } } as const;
    const completed = await publish(dependencies, request, options, signal);
    if (dataset !== undefined) {
      const keep = dataset.keep ?? settings.datasetsKeep;
      await pruneSuperseded(queryId, keep, { catalog, now: clock() }, signal).catch((error: unknown) => {
        if (!signal.aborted) effects.onFault(`pruning ${dataset.name}`, error);
      });
    }
    return completed;
  };
}

export function queryChecker(service: Service): CheckSql {
  return async (sql, parameters, signal) => {
    try {
      checkParameters(parameters);
      const query = { sql, parameters: exampleValues(parameters), sources: await declaredSources(service) };
      await (await service.engine()).check(query, signal);
    } catch (error) {
      if (error instanceof ParameterError) throw new RequestError('invalid_query', error.message);
      if (error instanceof EngineUnavailable) {
        const message = 'what runs the queries cannot be reached at the moment';
        throw new RequestError('engine_unavailable', message, { cause: error });
      }
      if (!(error instanceof EngineError) || error.type === 'engine_error') throw error;
      throw new RequestError('invalid_query', placed(error));
    }
  };
}

function placed({ message, line, column }: EngineError): string {
  if (line === undefined) return message;
  return `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}`;
}
