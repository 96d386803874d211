/**
 * Puts a random result into a running service's store and catalog, in parts, as publishing would: with column names that no
 * file format can hold together, and values that no file reader has touched. As in old results, the manifest has no blocks and
 * the files of the parts have bloom filters. Bloom filters beside the parts they have as new results do, but for every third result.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ulid } from 'ulid';
import type { Execution } from '../../src/domain/execution.ts';
import type { Part } from '../../src/domain/result-set.ts';
import { bloomFiltersKey } from '../../src/domain/written-names.ts';
import { rowBytesOf } from '../../src/duckdb/cell-bytes.ts';
import { DuckDb } from '../../src/duckdb/duckdb.ts';
import type { StagedBloomFilters } from '../../src/publishing/write/bloom-filters.ts';
import { measurePart } from '../../src/publishing/write/measure-part.ts';
import type { ResultStore } from '../../src/store/result-store.ts';
import { sleep } from '../real-time.ts';
import type { HttpService } from './http-service.ts';
import { type RandomResult, storeAs } from './random-results.ts';

const QUERY_ID = 7;
const LEASE_MILLIS = 60_000;
const KEPT_MILLIS = 3_600_000;

export class StoredResults implements AsyncDisposable {
  readonly #service: HttpService;
  readonly #store: ResultStore;
  readonly #duckDb: DuckDb;
  readonly #directory: string;
  /** How many there are. */
  #results = 0;

  private constructor(service: HttpService, store: ResultStore, duckDb: DuckDb, directory: string) {
    this.#service = service;
    this.#store = store;
    this.#duckDb = duckDb;
    this.#directory = directory;
  }

  static async of(service: HttpService): Promise<StoredResults> {
    const { commandLine } = service;
    await commandLine.get('queries', 'add', '--id', String(QUERY_ID), '--user', 'ann');
    const directory = join(commandLine.directory, 'parts');
    await mkdir(directory);
    const duckDb = await DuckDb.open({
      threads: 1,
      memoryLimit: '256MB',
      tempDirectory: directory,
      tempSizeMax: '64MB',
      sleep,
      allowedDirectories: [directory],
    });
    return new StoredResults(service, await service.store(), duckDb, directory);
  }

  /** @returns the completed execution */
  async put(result: RandomResult, rowsPerPart: number, signal: AbortSignal): Promise<Execution> {
    const now = this.#service.commandLine.now;
    const id = ulid(now);
    this.#results += 1;
    const parts: Part[] = [];
    for (let firstRow = 0; firstRow < result.rows.length; firstRow += rowsPerPart) {
      const rows = result.rows.slice(firstRow, firstRow + rowsPerPart);
      const key = `${id}/part-${parts.length}.parquet`;
      parts.push({ key, firstRow, ...(await this.#putPart({ ...result, rows }, key, signal)) });
    }
    const catalog = await this.#service.catalog();
    const lease = await catalog.leases.acquire(`write:${id}`, 'test', LEASE_MILLIS);
    if (lease === undefined) throw new Error(`someone writes ${id}`);
    const { columns, rows } = result;
    const cellBytes = parts.reduce((sum, part) => sum + part.cellBytes, 0);
    const resultSet = { columns, rowCount: rows.length, cellBytes, truncated: false, parts };
    return await catalog.executions.addCompleted(
      { id, queryId: QUERY_ID, parameters: {}, state: 'PENDING', submittedAt: now },
      { startedAt: now, endedAt: now, expiresAt: now + KEPT_MILLIS, resultSet },
      lease,
      { clock: () => now },
    );
  }

  async #putPart(result: RandomResult, key: string, signal: AbortSignal): Promise<Omit<Part, 'key' | 'firstRow'>> {
    const path = join(this.#directory, 'part.parquet');
    await this.#duckDb.query({ text: storeAs(result, path), values: [] }, signal);
    const bytes = rowBytesOf(result.columns.map(({ type }) => type));
    const text = `SELECT sum(${bytes})::DOUBLE, max(${bytes})::DOUBLE FROM read_parquet($1)`;
    const [[cellBytes, rowBytesMax] = []] = await this.#duckDb.query({ text, values: [path] }, signal);
    const stored = await readFile(path);
    const types = result.columns.map(({ type }) => type);
    const isOld = this.#results % 3 === 0;
    const { bloomFilters: filters } = isOld
      ? { bloomFilters: undefined }
      : await measurePart(this.#duckDb, { path, firstRow: 0, types, bloomBytesMin: 0 }, signal);
    await this.#store.put(key, path, signal);
    return {
      rowCount: result.rows.length,
      cellBytes: Number(cellBytes),
      rowBytesMax: Number(rowBytesMax),
      objectBytes: stored.length,
      sha256: createHash('sha256').update(stored).digest('hex'),
      ...(filters !== undefined && { bloomFilters: await this.#putFilters(filters, key, signal) }),
    };
  }

  async #putFilters({ path, ...filters }: StagedBloomFilters, ofPart: string, signal: AbortSignal) {
    const key = bloomFiltersKey(ofPart);
    await this.#store.put(key, path, signal);
    return { key, ...filters };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duckDb[Symbol.asyncDispose]();
  }
}
