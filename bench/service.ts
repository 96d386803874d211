/**
 * The service under measurement: its own process, on a data directory below bench/.data that is kept between runs, driven
 * through the command and HTTP as a user would.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DuckDBInstance } from '@duckdb/node-api';

export const DATA = join(import.meta.dirname, '.data');
export const QRS = join(import.meta.dirname, '..', 'bin', 'qrs.js');
/** Counted up whenever results are stored in another way: what was published before is then published anew. */
export const LAYOUT = 3;
/** The service's data directory, with the benchmarks' own notes beside its files: the key, and which execution holds what. */
export const DATA_DIR = join(DATA, `service-${LAYOUT}`);

/** Ten columns of the types that results mostly have; about 285 bytes of JSON a row. */
const ROW_SQL = `
  i AS id, 'user_' || (hash(i) % 100000) AS user_name, (hash(i + 1) % 1000000000) / 1000 AS amount_usd,
  TIMESTAMP '2024-01-01' + to_seconds(i) AS block_time, '0x' || md5(CAST(i AS VARCHAR)) AS tx_hash, i % 7 = 0 AS success,
  CAST(hash(i + 2) % 1000000 AS BIGINT) AS gas_used, CAST(hash(i + 3) AS DOUBLE) / 1e6 AS score,
  CASE WHEN i % 3 = 0 THEN NULL ELSE 'token pair ' || (hash(i + 4) % 5000) END AS token_pair,
  CAST(hash(i + 5) % 100000000 AS DECIMAL(18, 3)) / 1000 AS fee`;

/** The names of these columns. */
export const ROW_COLUMNS = [
  'id',
  'user_name',
  'amount_usd',
  'block_time',
  'tx_hash',
  'success',
  'gas_used',
  'score',
  'token_pair',
  'fee',
] as const;

/** SQL for a column of a table with thousands: of five types in turn. */
export function wideCell(column: number): string {
  const of = [
    `i * ${column}`,
    `'w' || (i * 7919 % 1000)`,
    `i * ${column} / 4`,
    'i % 2 = 0',
    `DATE '2024-01-01' + i::INTEGER`,
  ];
  return `${of[column % of.length]} AS col_${column}`;
}

export interface Listening extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

export interface Service extends Listening {
  readonly key: string;
}

export async function duckDb(threads: number) {
  const instance = await DuckDBInstance.create(':memory:', { threads: String(threads), memory_limit: '4GB' });
  return await instance.connect();
}

/** A source file of so many synthetic rows, made once. */
export async function sourceFile(rows: number, format: 'parquet' | 'csv' | 'json' = 'parquet'): Promise<string> {
  mkdirSync(DATA, { recursive: true });
  const path = join(DATA, `rows-${rows}.${format === 'json' ? 'ndjson' : format}`);
  if (!existsSync(path)) {
    const connection = await duckDb(2);
    await connection.run(`COPY (SELECT ${ROW_SQL} FROM range(${rows}) r(i)) TO '${path}.part' (FORMAT ${format})`);
    renameSync(`${path}.part`, path);
    connection.closeSync();
  }
  return path;
}

/** Runs a command; gives what it printed on standard output. */
export async function qrs(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  return await startQrs(args, env).output;
}

/** Starts a command, to be watched while it runs. */
export function startQrs(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): { readonly pid: number; readonly output: Promise<string> } {
  const child = spawn(process.execPath, [QRS, ...args], {
    env: { ...environment(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve)).then((code) => {
    if (code !== 0) throw new Error(`qrs ${args.join(' ')} exited with ${code}`);
    return output.trim();
  });
  return { pid: child.pid ?? 0, output: ended };
}

/** The execution that holds so many synthetic rows; published once and kept between runs. */
export async function publishedRows(rows: number): Promise<string> {
  const known = join(DATA_DIR, `bench-execution-${rows}`);
  if (existsSync(known)) return readFileSync(known, 'utf8');
  await key();
  const query = String(rows);
  await qrs(['queries', 'add', '--id', query, '--user', 'bench']);
  const id = await qrs(['publish', await sourceFile(rows), '--query', query]);
  writeFileSync(known, id);
  return id;
}

async function key(): Promise<string> {
  const known = join(DATA_DIR, 'bench-key');
  if (existsSync(known)) return readFileSync(known, 'utf8');
  for (let old = LAYOUT - 1; old > 0; old -= 1) rmSync(join(DATA, `service-${old}`), { recursive: true, force: true });
  mkdirSync(DATA_DIR, { recursive: true, mode: 0o700 });
  await qrs(['users', 'add', 'bench']);
  const text = await qrs(['keys', 'create', '--user', 'bench']);
  writeFileSync(known, text);
  return text;
}

export async function startService(env: NodeJS.ProcessEnv = {}): Promise<Service> {
  const apiKey = await key();
  return { ...(await startListening([QRS, 'serve'], env)), key: apiKey };
}

/** A server in a process of its own, which prints its address when it listens. It is ended when it is disposed of. */
export async function startListening(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Listening> {
  const child = spawn(process.execPath, args, {
    env: { ...environment(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await listeningUrl(child);
  return {
    url,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** The floor of what is sent: a server (bare-server.ts) that only sends the bytes of a file. */
export async function startBareServer(file: string): Promise<Listening> {
  return await startListening([join(import.meta.dirname, 'bare-server.ts'), file]);
}

/** The parts of a stored result, as SQL that reads them under their real names. */
export function storedRowsSql(execution: string, where = ''): string {
  const columns = ROW_COLUMNS.map((name, index) => `c${index} AS ${name}`).join(', ');
  return `SELECT ${columns} FROM read_parquet('${join(DATA_DIR, 'results', execution)}/*/part-*.parquet', file_row_number = true) ${where}`;
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, QRS_DATA_DIR: DATA_DIR, QRS_PORT: '0', QRS_LOG_LEVEL: 'warn' };
}

/** `qrs serve` prints the address it listens on as its one line of standard output. */
async function listeningUrl(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the server has no standard output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error(`${child.spawnargs.slice(1).join(' ')} ended before it listened, with ${child.exitCode}`);
}
