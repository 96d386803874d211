/**
 * A place for tests that publish: a catalog, a store and a query to publish to, with a way to read results back. Catalog and store are in a
 * folder, or on the servers that the tests were given.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';
import { ulid } from 'ulid';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { openPostgresCatalog } from '../../src/catalog/postgres/postgres-catalog.ts';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { type ColumnType, formatColumnType, parseColumnType } from '../../src/domain/column-type.ts';
import type { Execution } from '../../src/domain/execution.ts';
import { allRowsOf, type ResultSet } from '../../src/domain/result-set.ts';
import { storedColumn } from '../../src/duckdb/storage-type.ts';
import { ReserveFile } from '../../src/files/reserve-file.ts';
import { currentLeaseOwner } from '../../src/leases/lease-owner.ts';
import { requireJoined } from '../../src/maintenance/installation.ts';
import type { SweepDependencies } from '../../src/maintenance/sweep.ts';
import {
  PART_LAYOUT,
  type PublishDependencies,
  type PublishOptions,
  type PublishRequest,
  publish,
} from '../../src/publishing/publish.ts';
import { storeLocation } from '../../src/settings/location.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import type { ResultStore } from '../../src/store/result-store.ts';
import { S3ResultStore } from '../../src/store/s3/s3-result-store.ts';
import { newTestSchema, setDatabaseClock } from '../postgres-server.ts';
import { sleep } from '../real-time.ts';
import { newTestStore } from '../s3-server.ts';
import { replaceObject } from './replace-object.ts';

export const QUERY_ID = 1;
export const NEVER = new AbortController().signal;

export const OPTIONS: PublishOptions = {
  ...PART_LAYOUT,
  resultBytesMax: 8_000_000_000,
  retentionDays: 90,
  leaseMillis: 30_000,
};

/** The machine's, or ahead of it. */
class TestClock {
  aheadMillis = 0;

  now(): number {
    return Date.now() + this.aheadMillis;
  }
}

async function openCatalog(folder: string, url: string | undefined, clock: () => number): Promise<Catalog> {
  if (url === undefined) return await openSqliteCatalog(join(folder, 'catalog.db'), { clock, sleep });
  return await openPostgresCatalog(url, {
    monotonic: () => performance.now(),
    sleep,
    stalenessMaxMillis: 0,
    connectionsMax: 4,
  });
}

async function openStore(folder: string, opened: AsyncDisposableStack): Promise<ResultStore> {
  const objects = join(folder, 'objects');
  const url = newTestStore();
  if (url === undefined) return await LocalResultStore.open(objects);
  await mkdir(join(objects, 'staging'), { recursive: true });
  const location = storeLocation(url);
  if (location.kind !== 's3') throw new Error(`${url} is no store in S3`);
  const cacheFolder = await mkdtemp(join(folder, 'fetched-'));
  return opened.use(new S3ResultStore({ ...location, cacheFolder, cacheBytesMax: 1e9 }));
}

export class Workplace implements AsyncDisposable {
  readonly folder: string;
  readonly catalog: Catalog;
  readonly store: ResultStore;
  /** Of a catalog on a server. */
  readonly #catalogUrl: string | undefined;
  readonly #duckDb: DuckDBInstance;
  readonly #opened: AsyncDisposableStack;
  readonly #clock: TestClock;

  private constructor(
    folder: string,
    { catalog, catalogUrl, store }: Pick<Workplace, 'catalog' | 'store'> & { readonly catalogUrl: string | undefined },
    duckDb: DuckDBInstance,
    clock: TestClock,
    opened: AsyncDisposableStack,
  ) {
    this.folder = folder;
    this.catalog = catalog;
    this.store = store;
    this.#catalogUrl = catalogUrl;
    this.#duckDb = duckDb;
    this.#clock = clock;
    this.#opened = opened;
  }

  static async open(): Promise<Workplace> {
    const folder = await mkdtemp(join(tmpdir(), 'qrs-publish-'));
    const clock = new TestClock();
    const opened = new AsyncDisposableStack();
    opened.defer(async () => await rm(folder, { recursive: true, force: true }));
    const catalogUrl = await newTestSchema();
    const catalog = opened.use(await openCatalog(folder, catalogUrl, () => clock.now()));
    await catalog.principals.addUser('ada', 0);
    const owner = { kind: 'user', name: 'ada' } as const;
    await catalog.queries.add({ id: QUERY_ID, owner, visibility: 'public' }, 0);
    const store = await openStore(folder, opened);
    await requireJoined({ catalog, store }, ulid);
    const duckDb = await DuckDBInstance.create(':memory:');
    return new Workplace(folder, { catalog, catalogUrl, store }, duckDb, clock, opened);
  }

  get dependencies(): PublishDependencies &
    Pick<SweepDependencies, 'catalog' | 'trust' | 'reserve' | 'derivedDirectory' | 'readTimeoutMillis'> {
    return {
      catalog: this.catalog,
      store: this.store,
      stagingDirectory: this.staging,
      memoryLimit: '512MB',
      tempSizeMax: '10GB',
      random: Math.random,
      clock: () => this.#clock.now(),
      sleep,
      newId: ulid,
      owner: currentLeaseOwner(),
      readTimeoutMillis: 60_000,
      trust: { shareMax: 0.1, confirmed: false },
      reserve: new ReserveFile(join(this.folder, 'reserve')),
      derivedDirectory: join(this.folder, 'derived'),
    };
  }

  /** Where publishing writes before it puts what it wrote into the store. */
  get staging(): string {
    return join(this.folder, 'objects', 'staging');
  }

  /** From now on the time is so much later, also where a database tells it. */
  async advance(millis: number): Promise<void> {
    this.#clock.aheadMillis += millis;
    if (this.#catalogUrl !== undefined) await setDatabaseClock(this.#catalogUrl, this.#clock.now());
  }

  /** Puts other bytes in the place of a stored object. */
  async spoil(key: string): Promise<void> {
    await replaceObject(this.store, this.folder, key, 'rot');
  }

  async write(name: string, content: string | Buffer): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, content);
    return path;
  }

  /** Publishes a file; types are written as on the command line. */
  async publish(
    path: string,
    more: Partial<PublishRequest> & { readonly declared?: Readonly<Record<string, string>> } = {},
    options: Partial<PublishOptions> = {},
  ): Promise<Execution> {
    const { declared, ...request } = more;
    const types = new Map(Object.entries(declared ?? {}).map(([name, type]) => [name, parseColumnType(type)] as const));
    const source = { kind: 'file', path } as const;
    return await publish(
      this.dependencies,
      { queryId: QUERY_ID, source, types, ...request },
      { ...OPTIONS, ...options },
      NEVER,
    );
  }

  async resultSet(execution: Pick<Execution, 'id'>): Promise<ResultSet> {
    const found = await this.catalog.executions.findResultSet(execution.id);
    if (found === undefined) throw new Error(`execution ${execution.id} has no result set`);
    return found;
  }

  /** `name type` of each column. */
  async columns(execution: Execution): Promise<readonly string[]> {
    const { columns } = await this.resultSet(execution);
    return columns.map((column) => `${column.name} ${formatColumnType(column.type as ColumnType)}`);
  }

  /** The stored rows in order, every value as DuckDB's text for it. */
  async rows(execution: Execution): Promise<readonly (readonly DuckDBValue[])[]> {
    const { columns, parts } = await this.resultSet(execution);
    const rows: DuckDBValue[][] = [];
    for (const part of parts) {
      await using object = await this.store.open(part, allRowsOf(part), NEVER);
      const texts = columns.map((_, i) => `CAST(${storedColumn(i)} AS VARCHAR)`).join(', ');
      rows.push(...(await this.query(`SELECT ${texts} FROM read_parquet('${object.path}')`)));
    }
    return rows;
  }

  async query(sql: string): Promise<DuckDBValue[][]> {
    const connection = await this.#duckDb.connect();
    try {
      await connection.run(`SET TimeZone = 'UTC'`);
      return await (await connection.run(sql)).getRows();
    } finally {
      connection.closeSync();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#duckDb.closeSync();
    await this.#opened.disposeAsync();
  }
}
