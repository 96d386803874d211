/** A data directory for tests that publish: catalog, local store and a query to publish to, with a way to read results back. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';
import { ulid } from 'ulid';
import type { Catalog } from '../../src/catalog/catalog.ts';
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
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { sleep } from '../real-time.ts';

export const QUERY_ID = 1;
export const NEVER = new AbortController().signal;

export const OPTIONS: PublishOptions = {
  ...PART_LAYOUT,
  resultBytesMax: 8_000_000_000,
  retentionDays: 90,
  leaseMillis: 30_000,
};

export class Workplace implements AsyncDisposable {
  readonly folder: string;
  readonly catalog: Catalog;
  readonly store: LocalResultStore;
  readonly #duckDb: DuckDBInstance;
  readonly #time: { aheadMillis: number };

  private constructor(
    folder: string,
    catalog: Catalog,
    store: LocalResultStore,
    duckDb: DuckDBInstance,
    time: { aheadMillis: number },
  ) {
    this.#time = time;
    this.folder = folder;
    this.catalog = catalog;
    this.store = store;
    this.#duckDb = duckDb;
  }

  static async open(): Promise<Workplace> {
    const folder = await mkdtemp(join(tmpdir(), 'qrs-publish-'));
    const time = { aheadMillis: 0 };
    const catalog = await openSqliteCatalog(join(folder, 'catalog.db'), {
      clock: () => Date.now() + time.aheadMillis,
      sleep,
    });
    await catalog.principals.addUser('ada', 0);
    const owner = { kind: 'user', name: 'ada' } as const;
    await catalog.queries.add({ id: QUERY_ID, owner, visibility: 'public' }, 0);
    const store = await LocalResultStore.open(join(folder, 'objects'));
    await requireJoined({ catalog, store }, ulid);
    return new Workplace(folder, catalog, store, await DuckDBInstance.create(':memory:'), time);
  }

  get dependencies(): PublishDependencies &
    Pick<SweepDependencies, 'catalog' | 'trust' | 'reserve' | 'derivedDirectory' | 'readTimeoutMillis'> {
    return {
      catalog: this.catalog,
      store: this.store,
      stagingDirectory: join(this.folder, 'objects', 'staging'),
      memoryLimit: '512MB',
      tempSizeMax: '10GB',
      random: Math.random,
      clock: () => Date.now() + this.#time.aheadMillis,
      sleep,
      newId: ulid,
      owner: currentLeaseOwner(),
      readTimeoutMillis: 60_000,
      trust: { shareMax: 0.1, confirmed: false },
      reserve: new ReserveFile(join(this.folder, 'reserve')),
      derivedDirectory: join(this.folder, 'derived'),
    };
  }

  /** From now on the time is so much later. */
  advance(millis: number): void {
    this.#time.aheadMillis += millis;
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
    await this.catalog[Symbol.asyncDispose]();
    this.#duckDb.closeSync();
    await rm(this.folder, { recursive: true, force: true });
  }
}
