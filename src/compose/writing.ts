/** From the service's parts to what the writing routes need. */
import { statfs } from 'node:fs/promises';
import { declaredChangeProblem } from '../datasets/declared-by-dataset.ts';
import { RESERVED_QUERY_IDS_FROM } from '../datasets/reserved-ids.ts';
import { freedMemory } from '../duckdb/freed-memory.ts';
import { RequestError } from '../errors/errors.ts';
import { QueryChecks } from '../http/writing/query-checks.ts';
import { UploadSlots } from '../http/writing/upload-slots.ts';
import type { Upload } from '../http/writing/upload-writes.ts';
import type { WritingDeps } from '../http/writing/writing.ts';
import { createKey, type RandomBytes } from '../keys/create-key.ts';
import { type PublishDependencies, publish } from '../publishing/publish.ts';
import { PublishError, type Remedy } from '../publishing/publish-error.ts';
import { StagingBudget, type StagingDisk } from '../publishing/staging-budget.ts';
import type { LimitParts } from '../replicas/live-replicas.ts';
import { WorkQueue } from '../results/limits/work-queue.ts';
import type { RunQueue } from '../runs/run-queue.ts';
import { diskBytes, freeForDisk } from '../settings/disk.ts';
import { publishArguments } from './publishing.ts';
import { expressionLimitsOf } from './read-path.ts';
import { isOnOneDisk } from './room-for-commits.ts';
import { queryChecker, runQueueOf } from './runs.ts';
import type { Service } from './service.ts';

export interface WritingEffects {
  readonly replicas: LimitParts;
  readonly newId: () => string;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly randomBytes: RandomBytes;
}

/** The most zstd frames of one body: more take minutes to decompress, however few bytes they hold. */
const ZSTD_FRAMES_MAX = 10_000;

/** Includes the whole queue, for the runner in this process. */
export type OpenedWriting = WritingDeps & { readonly runQueue: RunQueue };

export async function openWriting(service: Service, effects: WritingEffects): Promise<OpenedWriting> {
  const { settings, clock, sleep } = service;
  const { newId, owner } = effects;
  // A DuckDB is closed after an upload that failed: its memory is given back by another thread, so that no answer waits for it.
  freedMemory.want();
  const catalog = await service.catalog();
  // Every admitted upload may wait, its file on disk.
  const turns = new WorkQueue({ runningMax: settings.uploadsRunningMax, waitingMax: settings.uploadsMax });
  const staging = new StagingBudget(stagingDisk(service));
  return {
    catalog,
    clock,
    leases: { catalog, clock, sleep, owner, leaseMillis: settings.leaseMillis },
    newId,
    reservedIdsFrom: RESERVED_QUERY_IDS_FROM,
    changeProblem: async (query, changes) => await declaredChangeProblem(query, changes, service),
    queryChecks: new QueryChecks(queryChecker(service), sleep),
    runQueue: await runQueueOf(service, { newExecutionId: newId }),
    runsAnySql: settings.sqlExecute,
    createKey: (principals, keyOwner, terms, now) => createKey(principals, keyOwner, terms, now, effects.randomBytes),
    expressionLimits: expressionLimitsOf(settings),
    randomBytes: effects.randomBytes,
    webhookRules: { allowsPrivate: settings.webhooksPrivate },
    slots: new UploadSlots({
      get perKeyMax() {
        return effects.replicas.wholePartOf(settings.uploadsPerKeyMax);
      },
      allMax: settings.uploadsMax,
    }),
    publish: async (upload, signal) => {
      try {
        return await publishUpload(service, effects, { turns, staging }, upload, signal);
      } catch (error) {
        throw error instanceof PublishError ? explain(error) : error;
      }
    },
  };
}

function stagingDisk({ settings: { uploadDisk }, directories: { staging, data }, room }: Service): StagingDisk {
  return {
    limit: async (staged) => {
      const { bavail, blocks, bsize } = await statfs(staging);
      return { now: diskBytes(uploadDisk, bavail * bsize + staged), ever: diskBytes(uploadDisk, blocks * bsize) };
    },
    makeRoom: async (bytes) => (await isOnOneDisk(staging, data)) && (await room.make(freeForDisk(uploadDisk, bytes))),
  };
}

/** Limits that all uploads share. */
interface UploadLimits {
  readonly turns: WorkQueue;
  readonly staging: StagingBudget;
}

async function publishUpload(
  service: Service,
  effects: WritingEffects,
  { turns, staging }: UploadLimits,
  upload: Upload,
  signal: AbortSignal,
) {
  const { dependencies, options } = await publishArguments(service, effects);
  const { keyId, body, announcedBytes, commit, ...request } = upload;
  using staged = await staging.begin(announcedBytes);
  return await publish(
    {
      ...dependencies,
      catalog: committingBy(commit, dependencies.catalog),
      takeTurn: (waiting) => turns.enter(keyId, waiting),
      staged,
      duckDbs: await service.publishers(),
    },
    {
      ...request,
      source: { kind: 'stream', stream: body() },
      decompression: { bytesMax: service.settings.uploadBytesMax, framesMax: ZSTD_FRAMES_MAX },
    },
    options,
    signal,
  );
}

/** The same catalog, except that the step that makes the result exist is part of the request's commit. */
function committingBy(
  commit: Upload['commit'],
  { executions, leases, queries, runs }: PublishDependencies['catalog'],
): PublishDependencies['catalog'] {
  return {
    leases,
    queries,
    runs,
    executions: {
      find: (id) => executions.find(id),
      findResultSet: (id) => executions.findResultSet(id),
      findNewestPlace: (id) => executions.findNewestPlace(id),
      addCompleted: (...run) => commit((transaction) => transaction.executions.addCompleted(...run)),
      complete: (id, completion, lease) =>
        commit((transaction) => transaction.executions.complete(id, completion, lease)),
    },
  };
}

function explain(error: PublishError): RequestError {
  switch (error.kind) {
    case 'input':
      return new RequestError('invalid_result', error.message + optionOf(error.remedy));
    case 'archived':
      return new RequestError('query_not_runnable', error.message);
    case 'busy':
      return new RequestError('conflict', error.message);
    case 'full':
      return new RequestError(
        'storage_full',
        'nothing was published, since a disk of the service is full; try again later',
        { cause: error },
      );
    case 'no_room':
      return new RequestError('storage_full', error.message);
    case 'too_large':
      return new RequestError('body_too_large', error.message);
    default:
      return error.kind satisfies never;
  }
}

/** How a request says what this one left out: the end of the error. */
function optionOf(remedy: Remedy | undefined): string {
  switch (remedy?.say) {
    case undefined:
      return '';
    case 'types':
      return ` (?types=${remedy.declaration})`;
    case 'encoding': {
      const charsets = remedy.examples.map((name) => (name === 'latin-1' ? 'iso-8859-1' : name));
      return ` (Content-Type: text/csv; charset=${charsets.join(', ')})`;
    }
    default:
      return remedy satisfies never;
  }
}
