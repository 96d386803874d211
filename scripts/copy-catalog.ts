/**
 * Copies a catalog in SQLite to an empty one in PostgreSQL, on the way from one machine to many. The results stay where they are; the
 * catalog's identity goes with it, so that it still belongs to its store. The service must be stopped.
 *
 *   node scripts/copy-catalog.ts data/catalog.sqlite postgres://qrs@db.example.com/qrs
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { migrate as migratePostgres } from '../src/catalog/postgres/migrate.ts';
import { migrate as migrateSqlite } from '../src/catalog/sqlite/migrate.ts';
import { sleep } from '../test/real-time.ts';

/** Rows of one statement. */
const BATCH_ROWS = 500;
/** What processes hold and say of themselves, all of which have stopped; how SQLite counts changes; what each database says of its tables. */
const NOT_COPIED: ReadonlySet<string> = new Set(['leases', 'replicas', 'changes', 'compatibility']);

/**
 * All or nothing.
 * @param tell of each table
 * @throws Error in one line when there is no such file, a process writes to it, or the other catalog is not empty
 */
export async function copyCatalog(path: string, url: string, tell: (line: string) => void): Promise<void> {
  if (!existsSync(path)) throw new Error(`${path}: there is no such file`);
  const from = new DatabaseSync(path, { timeout: 0 });
  const to = new Client({ connectionString: url });
  try {
    await to.connect();
    await migrateSqlite(from, { clock: Date.now, sleep });
    await migratePostgres(to);
    takeAlone(from, path);
    await to.query('begin');
    for (const table of tablesOf(from)) tell(`${table}: ${await copyTable(from, to, table)} rows`);
    await to.query('commit');
  } finally {
    await to.end();
    from.close();
  }
}

/** Nobody writes to it until it is closed. */
function takeAlone(from: DatabaseSync, path: string): void {
  try {
    from.exec('begin immediate');
  } catch (error) {
    throw new Error(`${path}: a process is writing to it; stop the service first`, { cause: error });
  }
}

/** Each after those that it refers to. */
function tablesOf(from: DatabaseSync): readonly string[] {
  const names = (
    from
      .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name")
      .all() as {
      name: string;
    }[]
  ).map(({ name }) => name);
  const ordered = new Set<string>();
  const add = (table: string) => {
    if (ordered.has(table)) return;
    const targets = from.prepare('select "table" as target from pragma_foreign_key_list(?)').all(table);
    for (const { target } of targets as { target: string }[]) if (target !== table) add(target);
    ordered.add(table);
  };
  for (const name of names) add(name);
  return [...ordered].filter((table) => !NOT_COPIED.has(table));
}

/** @returns how many rows */
async function copyTable(from: DatabaseSync, to: Client, table: string): Promise<number> {
  await requireUntouched(to, table);
  // What a new catalog begins with: its counters.
  await to.query(`delete from ${table}`);
  const read = from.prepare(`select * from ${table}`);
  read.setReadBigInts(true);
  const insert = `insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`;
  let count = 0;
  let batch: unknown[] = [];
  const flush = async () => {
    // Whole numbers travel as text, since JSON's are read as doubles here and there.
    const text = JSON.stringify(batch, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    if (batch.length > 0) await to.query(insert, [text]);
    count += batch.length;
    batch = [];
  };
  for (const row of read.iterate()) {
    batch.push(row);
    if (batch.length === BATCH_ROWS) await flush();
  }
  await flush();
  return count;
}

/** A new catalog has at most one row in a table. */
async function requireUntouched(to: Client, table: string): Promise<void> {
  const { rows } = await to.query<{ count: string }>(`select count(*) as count from ${table}`);
  const isUntouched = Number(rows[0]?.count) === 0 || (Number(rows[0]?.count) === 1 && SEEDED.has(table));
  if (!isUntouched) throw new Error(`the other catalog is not empty: its table ${table} has ${rows[0]?.count} rows`);
}

const SEEDED: ReadonlySet<string> = new Set(['query_ids', 'lease_tokens', 'probes', 'installation']);

if (import.meta.main) {
  const [path, url] = process.argv.slice(2);
  if (path === undefined || url === undefined) {
    process.stderr.write(
      'expected: node scripts/copy-catalog.ts CATALOG_FILE postgres://user:password@host/database\n',
    );
    process.exitCode = 2;
  } else {
    try {
      await copyCatalog(path, url, (line) => process.stdout.write(`${line}\n`));
    } catch (error) {
      process.stderr.write(`nothing was copied: ${error instanceof Error ? error.message : error}\n`);
      process.exitCode = 1;
    }
  }
}
