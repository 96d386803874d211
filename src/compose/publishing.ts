/** From the service's parts to what publishing needs, and what curated datasets demand of the results of their queries. */
import { columnMismatch } from '../datasets/check-columns.ts';
import type { Dataset } from '../datasets/dataset.ts';
import { isCurated } from '../datasets/register.ts';
import { isReservedQueryId } from '../datasets/reserved-ids.ts';
import { type ColumnType, formatColumnType } from '../domain/column-type.ts';
import type { Column } from '../domain/result-set.ts';
import { makeWorkspace } from '../files/workspace.ts';
import { PART_LAYOUT, type PublishDependencies, type PublishOptions } from '../publishing/publish.ts';
import { PublishError } from '../publishing/publish-error.ts';
import type { Service } from './service.ts';
import { tempBytesOfEach } from './spilling.ts';

export interface PublisherEffects {
  /** A new execution id. */
  readonly newId: () => string;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** What `publish` takes beside the request: what it works with, and how results are laid out and kept. */
export interface PublishArguments {
  readonly dependencies: PublishDependencies;
  readonly options: PublishOptions;
}

export async function publishArguments(service: Service, effects: PublisherEffects): Promise<PublishArguments> {
  const { settings, directories, clock, sleep } = service;
  // What is being written is as private as what is stored, also where the store is outside the data directory.
  await makeWorkspace(directories.staging);
  return {
    dependencies: {
      catalog: await service.catalog(),
      store: await service.store(),
      stagingDirectory: directories.staging,
      memoryLimit: `${settings.publishMemoryBytes}B`,
      tempSizeMax: `${tempBytesOfEach(settings)}B`,
      clock,
      sleep,
      room: service.room,
      defaultTypes: async (queryId) => await declaredTypes(service, queryId),
      checkColumns: async (queryId, columns) => await requireDeclaredColumns(service, queryId, columns),
      ...effects,
    },
    options: {
      ...PART_LAYOUT,
      resultBytesMax: settings.resultBytesMax,
      retentionDays: settings.retentionDays,
      leaseMillis: settings.leaseMillis,
    },
  };
}

/** The curated dataset whose query this is. Where somebody else has the query of its id, the dataset is not served. */
export async function findCuratedDataset(service: Service, queryId: number): Promise<Dataset | undefined> {
  if (!isReservedQueryId(queryId)) return undefined;
  const dataset = (await service.datasets()).find((declared) => declared.queryId === queryId);
  const query = dataset && (await (await service.catalog()).queries.find(queryId));
  return query !== undefined && isCurated(query) ? dataset : undefined;
}

/** The dataset's columns have these types, so nobody has to declare them again; other types are refused anyway. */
async function declaredTypes(service: Service, queryId: number): Promise<ReadonlyMap<string, ColumnType>> {
  const dataset = await findCuratedDataset(service, queryId);
  return new Map(dataset?.columns.map(({ name, type }) => [name, type]));
}

/** The address of a dataset answers with whatever run is its query's latest, so each has the columns that are declared. */
async function requireDeclaredColumns(service: Service, queryId: number, columns: readonly Column[]): Promise<void> {
  const dataset = await findCuratedDataset(service, queryId);
  if (dataset === undefined) return;
  const mismatch = columnMismatch(dataset, columns, { exact: true });
  if (mismatch === undefined) return;
  const isNamed =
    columns.length === dataset.columns.length && columns.every(({ name }, i) => name === dataset.columns[i]?.name);
  const declaration = dataset.columns.map(({ name, type }) => `${name}=${formatColumnType(type)}`).join(',');
  throw new PublishError(mismatch, isNamed ? { remedy: { say: 'types', declaration } } : {});
}
