/** The HTTP service inside the test's own process, with a command line on the same data directory and the same fake clock. */

import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { monotonicFactory, ulid } from 'ulid';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { publishArguments } from '../../src/compose/publishing.ts';
import { type ServerEffects, serve } from '../../src/compose/server.ts';
import { openService, type ServiceEffects } from '../../src/compose/service.ts';
import { parseColumnType } from '../../src/domain/column-type.ts';
import type { Execution } from '../../src/domain/execution.ts';
import type { Scope } from '../../src/domain/scope.ts';
import { createKey } from '../../src/keys/create-key.ts';
import { currentLeaseOwner } from '../../src/leases/lease-owner.ts';
import type { Observation, Observe } from '../../src/observation/observation.ts';
import { publish } from '../../src/publishing/publish.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import type { ResultStore } from '../../src/store/result-store.ts';
import { sleep as realSleep } from '../real-time.ts';
import { type CommandLine, makeCommandLine } from './command.ts';

export interface HttpService {
  readonly commandLine: CommandLine;
  readonly url: string;
  /** A key of the user `ann`, who owns every query that `publish` makes. */
  readonly key: string;
  /** Internal errors, in order. */
  readonly faults: readonly unknown[];
  /** Everything observed, in order. */
  readonly observed: readonly Observation[];
  /** Accepts no more requests, as at SIGTERM. Resolves when the last answer is out or was cut. */
  stop(): Promise<void>;
  /** Stops, and releases everything. The command line goes on. */
  close(): Promise<void>;
  catalog(): Promise<Catalog>;
  store(): Promise<ResultStore>;
  /** The folder of what is being written. */
  readonly staging: string;
  /** GET, with ann's key unless another (or none: '') is given. */
  get(path: string, options?: GetOptions): Promise<Response>;
  /** The body of a GET that must answer 200. */
  json(path: string): Promise<Record<string, unknown>>;
  /** Publishes the content as a run of the query. A query that does not exist is added, public and ann's. */
  publish(queryId: number, content: string | Uint8Array, options?: PublishOptions): Promise<Execution>;
}

export interface GetOptions {
  readonly key?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface PublishOptions {
  readonly format?: 'csv' | 'ndjson' | 'parquet';
  /** Column to type name. */
  readonly types?: Readonly<Record<string, string>>;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly executionId?: string;
  readonly resultBytesMax?: number;
  /** Rows of a row group, and row groups of a part. With small numbers a small result has many parts. */
  readonly rowGroupRows?: number;
  readonly rowGroupsPerPart?: number;
  /** Rows of the pre-sample. */
  readonly preSampleRows?: number;
  /** Bytes of a first part whose result gets Bloom filters. Unless told otherwise each does, however small. */
  readonly bloomBytesMin?: number;
}

/**
 * Settings for all services of a test run, unless a service sets them itself. So any test can be run in another way:
 * `TEST_SETTINGS='QRS_ROW_FILES=0 QRS_INDEX_USES=1 QRS_INDEX_ROWS=0'` reads from row files and indexes as soon as there are
 * some.
 */
const FORCED = Object.fromEntries(
  (process.env.TEST_SETTINGS ?? '').split(' ').flatMap((pair) => {
    const [name, value] = pair.split('=');
    return name === undefined || value === undefined ? [] : [[name, value]];
  }),
);

/** Another server on the command line's data directory, with its own settings and version. */
export async function openServer(
  commandLine: CommandLine,
  environment: Readonly<Record<string, string>>,
  observe: Observe = () => undefined,
  version = '1.2.3',
  { sleep = realSleep, ...effects }: Partial<ServerEffects & Pick<ServiceEffects, 'sleep'>> = {},
) {
  const { settings } = loadSettings({
    environment: {
      QRS_DATA_DIR: commandLine.dataDir,
      QRS_PORT: '0',
      ...commandLine.catalog,
      ...FORCED,
      ...environment,
    },
    readFile: () => (environment.QRS_CONFIG_FILE === undefined ? undefined : ''),
  });
  const service = await openService(settings, {
    clock: () => commandLine.now,
    sleep,
    monotonic: () => performance.now(),
  });
  const newId = monotonicFactory();
  const server = await serve(service, {
    version,
    random: Math.random,
    randomBytes: (length) => randomBytes(length),
    threadCpuMicros: () => process.threadCpuUsage().user,
    startTimer: (callback, millis) => setTimeout(callback, millis),
    newId: () => newId(commandLine.now),
    owner: currentLeaseOwner(),
    replica: { id: randomBytes(6).toString('hex'), name: settings.replicaName ?? 'test', beats: true },
    tracing: undefined,
    logLines: { dropped: 0 },
    observe,
    ...effects,
  });
  const close = async () => {
    await server[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  };
  return { service, server, close };
}

const ANN = { kind: 'user', name: 'ann' } as const;

/** By the catalog that is open, since a command opens it anew, with its thread. @returns a key of hers */
export async function addAnn(
  { now, randomBytes }: CommandLine,
  { principals }: Catalog,
  scope: Scope,
): Promise<string> {
  await principals.addUser(ANN.name, now);
  return (await createKey(principals, ANN, { scope }, now, randomBytes)).key;
}

/** @param environment more settings */
export async function startHttpService(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
): Promise<HttpService> {
  const commandLine = await makeCommandLine(t, environment);
  const faults: unknown[] = [];
  const observed: Observation[] = [];
  const observe = (observation: Observation) => {
    observed.push(observation);
    if (observation.kind === 'fault') faults.push(observation.error);
  };
  const { service, server, close } = await openServer(commandLine, environment, observe);
  t.after(close);
  const key = await addAnn(commandLine, await service.catalog(), 'read');
  const get = async (path: string, options: GetOptions = {}) =>
    await fetch(server.url + path, {
      method: options.method ?? 'GET',
      redirect: 'manual',
      headers: { ...(options.key !== '' && { 'x-service-api-key': options.key ?? key }), ...options.headers },
      ...(options.signal !== undefined && { signal: options.signal }),
    });
  return {
    commandLine,
    url: server.url,
    key,
    faults,
    observed,
    stop: server.stop,
    close,
    staging: service.directories.staging,
    store: () => service.store(),
    catalog: () => service.catalog(),
    get,
    async json(path) {
      const response = await get(path);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${text}`);
      return JSON.parse(text);
    },
    async publish(queryId, content, options = {}) {
      const catalog = await service.catalog();
      if ((await catalog.queries.find(queryId)) === undefined) {
        await catalog.queries.add({ id: queryId, owner: ANN, visibility: 'public' }, commandLine.now);
      }
      const publisher = await publishArguments(service, {
        newId: () => ulid(commandLine.now),
        owner: currentLeaseOwner(),
        random: Math.random,
      });
      const { resultBytesMax, rowGroupRows, rowGroupsPerPart, preSampleRows, bloomBytesMin } = {
        ...publisher.options,
        bloomBytesMin: 0,
        ...options,
      };
      const types = Object.entries(options.types ?? {}).map(([name, type]) => [name, parseColumnType(type)] as const);
      return await publish(
        publisher.dependencies,
        {
          queryId,
          source: { kind: 'stream', stream: Readable.from([Buffer.from(content)]) },
          format: options.format ?? 'csv',
          types: new Map(types),
          parameters: options.parameters ?? {},
          ...(options.executionId !== undefined && { executionId: options.executionId }),
        },
        { ...publisher.options, resultBytesMax, rowGroupRows, rowGroupsPerPart, preSampleRows, bloomBytesMin },
        t.signal,
      );
    },
  };
}
