/** Fills the rivals with the benchmark's rows, once, and starts their servers, one at a time. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DATA, duckDb, type Listening, sourceFile, startListening } from '../service.ts';
import { loadPg, openDatabase } from './databases.ts';

export type Rival =
  | { readonly kind: 'running'; readonly name: string; readonly server: Listening }
  | { readonly kind: 'skipped'; readonly name: string; readonly reason: string };

/** What a careful team would index: the position for paging, and the column that is sorted by. */
const INDEXES = [
  'CREATE UNIQUE INDEX rows_position ON rows (position)',
  'CREATE INDEX rows_amount ON rows (amount_usd DESC, position)',
];
const COLUMNS = 'position, id, user_name, amount_usd, block_time, tx_hash, success, gas_used, score, token_pair, fee';
const ANSWERS_MILLIS_MAX = 20_000;

const serverPath = join(import.meta.dirname, 'rival-server.ts');

export async function* startRivals(rows: number): AsyncGenerator<Rival> {
  yield { kind: 'running', name: 'SQLite + Fastify', server: await sqliteRival(rows) };
  yield await postgres(rows);
}

export async function sqliteRival(rows: number): Promise<Listening> {
  return await startListening([serverPath, 'sqlite', await sqliteFile(rows)]);
}

async function sqliteFile(rows: number): Promise<string> {
  const path = join(DATA, `rows-${rows}.sqlite`);
  if (existsSync(path)) return path;
  rmSync(`${path}.part`, { force: true });
  const database = new DatabaseSync(`${path}.part`);
  database.exec(`PRAGMA journal_mode = off; PRAGMA synchronous = off; CREATE TABLE rows (
    position INTEGER, id INTEGER, user_name TEXT, amount_usd REAL, block_time TEXT, tx_hash TEXT,
    success INTEGER, gas_used INTEGER, score REAL, token_pair TEXT, fee REAL)`);
  const insert = database.prepare(`INSERT INTO rows VALUES (${COLUMNS.replaceAll(/\w+/g, '?')})`);
  const connection = await duckDb(1);
  const source = await sourceFile(rows);
  const result = await connection.stream(
    `SELECT row_number() OVER () - 1, id, user_name, amount_usd, block_time::VARCHAR, tx_hash, success::INTEGER, gas_used, score, token_pair, fee::DOUBLE FROM '${source}'`,
  );
  database.exec('BEGIN');
  for await (const chunk of result.yieldRows()) {
    for (const row of chunk) insert.run(...row.map((value) => value as string | number | bigint | null));
  }
  database.exec('COMMIT');
  for (const index of INDEXES) database.exec(index);
  database.close();
  connection.closeSync();
  renameSync(`${path}.part`, path);
  return path;
}

async function postgres(rows: number): Promise<Rival> {
  const name = 'PostgreSQL + Fastify';
  const skipped = (reason: string): Rival => ({ kind: 'skipped', name, reason });
  if (spawnSync('initdb', ['--version']).status !== 0) return skipped('there is no initdb on the PATH');
  if (loadPg() === undefined) return skipped('the package pg is not there: npm install --prefix bench/.data pg');
  // PostgreSQL refuses to run as root.
  const user =
    process.getuid?.() === 0 ? Number(spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout) : undefined;
  if (user === 0 || Number.isNaN(user)) return skipped('run as root, it needs a user called postgres');
  const group = Number(spawnSync('id', ['-g', 'postgres'], { encoding: 'utf8' }).stdout);
  const owner = user === undefined ? {} : { uid: user, gid: group };
  // The folder lies where that user may look, too: its parents may be private.
  const folder = join(process.env.TMPDIR ?? '/tmp', `qrs-bench-postgres-${rows}`);
  const fresh = !existsSync(join(folder, 'filled'));
  if (fresh) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
    if (user !== undefined) execFileSync('chown', [`${user}:${user}`, folder]);
    execFileSync('initdb', ['-D', join(folder, 'data'), '-U', 'postgres', '-A', 'trust'], {
      ...owner,
      cwd: folder,
      stdio: 'ignore',
    });
  }
  const options = ['shared_buffers=1GB', 'work_mem=256MB', 'max_wal_size=8GB', 'listen_addresses=', 'fsync=off'];
  const database = spawn(
    'postgres',
    ['-D', join(folder, 'data'), '-k', folder, ...options.flatMap((option) => ['-c', option])],
    { ...owner, cwd: folder, stdio: 'ignore' },
  );
  const stop = async () => {
    const exited = new Promise((resolve) => database.once('exit', resolve));
    if (database.exitCode === null && database.kill('SIGINT')) await exited;
  };
  try {
    await answers(folder);
    if (fresh) await fill(folder, rows);
    const server = await startListening([serverPath, 'postgres', folder]);
    const both: Listening = {
      ...server,
      [Symbol.asyncDispose]: async () => {
        await server[Symbol.asyncDispose]();
        await stop();
      },
    };
    return { kind: 'running', name, server: both };
  } catch (error) {
    await stop();
    return skipped(error instanceof Error ? error.message : String(error));
  }
}

async function answers(folder: string): Promise<void> {
  const until = performance.now() + ANSWERS_MILLIS_MAX;
  for (;;) {
    const { status, stderr } = spawnSync('psql', psqlArguments(folder, 'SELECT 1'), { encoding: 'utf8' });
    if (status === 0) return;
    if (performance.now() > until) throw new Error(`PostgreSQL does not answer: ${stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function fill(folder: string, rows: number): Promise<void> {
  const csv = join(DATA, `rival-${rows}.csv`);
  const connection = await duckDb(1);
  await connection.run(
    `COPY (SELECT row_number() OVER () - 1 AS position, * FROM '${await sourceFile(rows)}') TO '${csv}' (FORMAT csv, HEADER false)`,
  );
  connection.closeSync();
  const sql = [
    `CREATE TABLE rows (position bigint, id bigint, user_name text, amount_usd double precision, block_time timestamp,
      tx_hash text, success boolean, gas_used bigint, score double precision, token_pair text, fee numeric(18, 3))`,
    `\\copy rows FROM '${csv}' (FORMAT csv)`,
    ...INDEXES,
    'VACUUM ANALYZE rows',
  ];
  for (const statement of sql)
    execFileSync('psql', psqlArguments(folder, statement), { stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(csv);
  mkdirSync(join(folder, 'filled'));
  await (await openDatabase('postgres', folder)).close();
}

function psqlArguments(folder: string, sql: string): string[] {
  return ['-h', folder, '-U', 'postgres', '-d', 'postgres', '-v', 'ON_ERROR_STOP=1', '-q', '-c', sql];
}

/** The rows in SQLite with an index on each of the columns. */
export async function indexedSqliteFile(rows: number, columns: readonly string[]): Promise<string> {
  const file = await sqliteFile(rows);
  const database = new DatabaseSync(file);
  for (const column of columns) database.exec(`CREATE INDEX IF NOT EXISTS by_${column} ON rows (${column}, position)`);
  database.close();
  return file;
}
