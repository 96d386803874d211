/** What the soak has put into the service, and therefore what answers may say: runs, keys, and keys that were revoked. */
import { mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Wrong } from './client.ts';
import type { Below } from './random.ts';
import type { Run } from './rows.ts';

export const QUERIES = [101, 102, 103, 104, 105, 106] as const;

export interface HeldKey {
  readonly id: string;
  readonly key: string;
  /** Readers that ask with it now: it is not revoked before they are done. */
  users: number;
}

/** What a reader asks of it. */
export type Published = Pick<World, 'datasetPath' | 'revokedKeys' | 'someQuery' | 'runsOf' | 'runOf' | 'parquetSums'>;

export class World {
  readonly datasetPath = '/v1/restaking/operator-stats';
  readonly keys: HeldKey[] = [];
  readonly revokedKeys: string[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'qrs-soak-'));
  readonly #runs = new Map<number, Run>();
  readonly #duckDb = DuckDBInstance.create(':memory:', { threads: '1', memory_limit: '200MB' });
  #files = 0;

  /** A run that is about to be published. */
  add(run: Run): void {
    this.#runs.set(run.number, run);
  }

  someQuery(below: Below): number {
    return QUERIES[below(QUERIES.length)] ?? QUERIES[0];
  }

  runsOf(queryId: number): readonly Run[] {
    return [...this.#runs.values()].filter((run) => run.queryId === queryId);
  }

  /** The run that an answer's rows say they are of; without rows, any of the query's. @throws Wrong */
  runOf(path: string, queryId: number, number: number | undefined): Run {
    const run = number === undefined ? this.runsOf(queryId)[0] : this.#runs.get(number);
    if (run?.queryId !== queryId) throw new Wrong(`${path}: rows of run ${number}, which is none of the query's`);
    return run;
  }

  /** What a Parquet file holds, as read by DuckDB. */
  async parquetSums(
    bytes: Buffer,
  ): Promise<{ readonly run: number; readonly rowCount: number; readonly weighted: number }> {
    this.#files += 1;
    const path = join(this.folder, `answer-${this.#files}.parquet`);
    await writeFile(path, bytes);
    const connection = await (await this.#duckDb).connect();
    try {
      const sql = `SELECT any_value(run)::DOUBLE, count(*)::DOUBLE, sum(id * (bucket + 1))::DOUBLE FROM read_parquet('${path}')`;
      const [row = []] = (await connection.runAndReadAll(sql)).getRows();
      const [run, rowCount, weighted] = row.map(Number) as [number, number, number];
      return { run, rowCount, weighted };
    } finally {
      connection.closeSync();
      await rm(path, { force: true });
    }
  }
}
