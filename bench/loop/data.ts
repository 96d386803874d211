/**
 * What the benchmark of the event loop asks for: results of every awkward shape, and a catalog with many queries and runs. It is published
 * once into a data directory of its own, and kept between runs.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DATA, duckDb, qrs, sourceFile, wideCell } from '../service.ts';

export const LOOP_DIR = join(DATA, 'loop-1');
export const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
export const WIDE_COLUMNS = 5000;
const QUERIES = 10_000;
const EXECUTIONS = 100_000;
/** The query that nearly all of them are runs of. */
export const BUSY_QUERY = 20_000;

/** What was published, by what it is. */
export interface LoopData {
  readonly key: string;
  readonly admin: string;
  /** The benchmarks' ten columns, so many rows; and the same again, a tenth of them changed. */
  readonly rows: string;
  readonly hundredThousand: string;
  readonly changed: string;
  /** 100 rows of 5,000 columns. */
  readonly wide: string;
  /** Texts of 2 MB, 50 of them. */
  readonly bigTexts: string;
  /** One row with 100 MB of text. */
  readonly oneRow: string;
  /** Lists of 20,000 numbers, 100 of them. */
  readonly lists: string;
}

const SOURCES: Readonly<Record<Exclude<keyof LoopData, 'key' | 'admin' | 'rows'>, string>> = {
  hundredThousand: `SELECT * FROM read_parquet('ROWS') LIMIT 100000`,
  changed: `SELECT * REPLACE (CASE WHEN id % 10 = 0 THEN gas_used + 1 ELSE gas_used END AS gas_used) FROM read_parquet('ROWS') LIMIT 100000`,
  wide: `SELECT ${Array.from({ length: WIDE_COLUMNS }, (_, column) => wideCell(column)).join(', ')} FROM range(100) r(i)`,
  bigTexts: `SELECT i AS id, repeat('0123456789abcde' || i, 120000) AS text FROM range(50) r(i)`,
  oneRow: `SELECT 1 AS id, repeat('a "quoted" text', 7000000) AS text`,
  lists: `SELECT i AS id, [x * i FOR x IN range(20000)] AS numbers FROM range(100) r(i)`,
};

export async function loopData(): Promise<LoopData> {
  const known = join(LOOP_DIR, `bench-loop-${ROWS}.json`);
  if (existsSync(known)) return JSON.parse(readFileSync(known, 'utf8'));
  mkdirSync(LOOP_DIR, { recursive: true, mode: 0o700 });
  const env = { QRS_DATA_DIR: LOOP_DIR };
  await qrs(['users', 'add', 'bench'], env);
  const key = await qrs(['keys', 'create', '--user', 'bench'], env);
  const admin = await qrs(['keys', 'create', '--user', 'bench', '--scope', 'admin'], env);
  const source = await sourceFile(ROWS);
  const published: Record<string, string> = { key, admin };
  const publish = async (query: number, path: string) => {
    await qrs(['queries', 'add', '--id', String(query), '--user', 'bench'], env);
    return await qrs(['publish', path, '--query', String(query)], env);
  };
  published.rows = await publish(1, source);
  const connection = await duckDb(1);
  for (const [index, [name, sql]] of Object.entries(SOURCES).entries()) {
    const path = join(DATA, `loop-${name}.parquet`);
    await connection.run(`COPY (${sql.replace('ROWS', source)}) TO '${path}' (FORMAT parquet, COMPRESSION zstd)`);
    published[name] = await publish(2 + index, path);
  }
  connection.closeSync();
  fillCatalog();
  writeFileSync(known, JSON.stringify(published));
  return published as unknown as LoopData;
}

/** Thousands of queries, and of runs that failed, without a command for each. */
function fillCatalog(): void {
  const catalog = new DatabaseSync(join(LOOP_DIR, 'catalog.sqlite'));
  const numbers = (count: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})`;
  catalog.exec('begin');
  catalog.exec(`INSERT INTO queries (id, name, user_name, visibility, created_at, description, tags)
    ${numbers(QUERIES)} SELECT ${BUSY_QUERY} + i, 'query number ' || i, 'bench', 'public', 1700000000000 + i,
      'what wallet ' || i || ' has done on each of the chains, day by day', '["tag ' || (i % 50) || '","all"]' FROM n`);
  catalog.exec(`INSERT INTO executions (id, query_id, parameters, state, submitted_at, ordered_at, started_at, ended_at, error)
    ${numbers(EXECUTIONS)} SELECT printf('01HR7%021d', i), ${BUSY_QUERY} + CASE WHEN i % 2 = 0 THEN 0 ELSE i % ${QUERIES} END, '{}',
      'FAILED', 1709671859000 + i, 1709671859000 + i, 1709671859100 + i, 1709671859200 + i,
      '{"type":"syntax","message":"an error of some length, as they are"}' FROM n`);
  catalog.exec('commit');
  catalog.close();
}
