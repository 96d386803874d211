/** The two databases of the rivals behind one way to ask. The client of PostgreSQL is no dependency of the project. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DATA } from '../service.ts';

export type RowObject = Readonly<Record<string, unknown>>;

export interface Database {
  readonly rowCount: number;
  query(sql: string): Promise<readonly RowObject[]>;
  close(): Promise<void>;
}

/** As much of the package `pg` as is used here. */
interface PgPool {
  query(sql: string): Promise<{ readonly rows: readonly RowObject[] }>;
  end(): Promise<void>;
}
interface Pg {
  readonly Pool: new (options: { readonly host: string; readonly database: string; readonly user: string }) => PgPool;
}

/** Undefined where it has not been installed. */
export function loadPg(): Pg | undefined {
  try {
    return createRequire(join(DATA, 'package.json'))('pg') as Pg;
  } catch {
    return undefined;
  }
}

/** @param location the file of SQLite; the folder of PostgreSQL's socket */
export async function openDatabase(kind: string, location: string): Promise<Database> {
  return kind === 'sqlite' ? await openSqlite(location) : await openPostgres(location);
}

async function openSqlite(path: string): Promise<Database> {
  const database = new DatabaseSync(path, { readOnly: true });
  database.exec('PRAGMA mmap_size = 4000000000; PRAGMA cache_size = -500000');
  const query = async (sql: string) => database.prepare(sql).all();
  const [counted] = await query('SELECT count(*) AS n FROM rows');
  return { rowCount: Number(counted?.n), query, close: async () => database.close() };
}

async function openPostgres(folder: string): Promise<Database> {
  const pg = loadPg();
  if (pg === undefined) throw new Error('the package pg is not installed: npm install --prefix bench/.data pg');
  const pool = new pg.Pool({ host: folder, database: 'postgres', user: 'postgres' });
  const query = async (sql: string) => (await pool.query(sql)).rows;
  const [counted] = await query('SELECT count(*) AS n FROM rows');
  return { rowCount: Number(counted?.n), query, close: () => pool.end() };
}
