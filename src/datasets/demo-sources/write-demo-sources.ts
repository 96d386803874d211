/**
 * Sources to try the datasets with (`qrs demo-sources DIR`): a made-up restaking protocol and social network of realistic
 * shape and skew, with withdrawals, re-delegations, deregistrations and missing names. Every row is a pure function of its
 * number, so the same size and end give the same tables, on any machine.
 */
import { mkdir, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DAY_MILLIS, type Instant } from '../../domain/instant.ts';
import type { Sleep } from '../../domain/time.ts';
import { DuckDb } from '../../duckdb/duckdb.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { makeScratchFolder } from '../../files/scratch-folder.ts';
import type { DemoSize } from './demo-table.ts';
import { MACROS } from './macros.ts';
import { pointsTables } from './points-tables.ts';
import { restakingTables } from './restaking-tables.ts';

export const DEMO_SIZES = {
  full: { operators: 500, avss: 40, stakers: 100_000, wallets: 50_000 },
  small: { operators: 60, avss: 12, stakers: 1_000, wallets: 1_000 },
} as const satisfies Record<string, DemoSize>;

export interface DemoOptions {
  readonly size: keyof typeof DEMO_SIZES | DemoSize;
  /** The moment up to which things happened, taken down to the whole minute; the tables reach back 400 days from it. */
  readonly until: Instant;
  readonly signal: AbortSignal;
  readonly sleep: Sleep;
  readonly threads?: number;
  /** As DuckDB writes sizes. */
  readonly memoryLimit?: string;
  /** Told of each table before it is made; `schema.table`, or the name of one that others are made from. */
  readonly onTable?: (name: string) => void;
}

export interface DemoTableWritten {
  /** `schema.table` */
  readonly name: string;
  readonly rowCount: number;
}

/** The end for sources made now: the same all day long, and nothing in them is yet to happen. */
export function lastMidnight(now: Instant): Instant {
  return Math.floor(now / DAY_MILLIS) * DAY_MILLIS;
}

/**
 * Writes `schema/table.parquet` below `directory` for every source table of the datasets, replacing those of that name: each is there as
 * a whole, or as it was before.
 * @throws the signal's reason once it is aborted.
 */
export async function writeDemoSources(directory: string, options: DemoOptions): Promise<readonly DemoTableWritten[]> {
  const root = resolve(directory);
  const size = typeof options.size === 'string' ? DEMO_SIZES[options.size] : options.size;
  const untilSeconds = Math.floor(options.until / 60_000) * 60;
  await makeFolder(root, 0o777);
  // Below the folder, since a file is moved as a whole within one file system only; of this run alone, as another may write there, too.
  await using scratch = await makeScratchFolder(root);
  const written: DemoTableWritten[] = [];
  await using duckDb = await DuckDb.open({
    threads: options.threads ?? 2,
    memoryLimit: options.memoryLimit ?? '1GB',
    tempDirectory: scratch.path,
    tempSizeMax: '10GB',
    sleep: options.sleep,
    allowedDirectories: [root],
  });
  const run = (text: string) => duckDb.query({ text, values: [] }, options.signal);
  for (const macro of MACROS) await run(macro);
  for (const table of [...restakingTables(size, untilSeconds), ...pointsTables(size, untilSeconds)]) {
    options.onTable?.(table.name);
    if (table.kind === 'scratch') await run(`CREATE TABLE ${table.name} AS ${table.sql}`);
    else {
      const path = join(root, `${table.name.replace('.', '/')}.parquet`);
      const part = join(scratch.path, 'part.parquet');
      const rows = await run(
        `COPY (SELECT * FROM (${table.sql}) ORDER BY ${table.orderBy}) TO ${quoteText(part)} (FORMAT parquet, COMPRESSION zstd)`,
      );
      await mkdir(dirname(path), { recursive: true });
      await rename(part, path);
      written.push({ name: table.name, rowCount: Number(rows[0]?.[0]) });
    }
  }
  return written;
}
