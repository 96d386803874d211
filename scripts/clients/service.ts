/** A service for clients to try: query 1 is the table of table.ts, query 2 a result of some megabytes in several parts. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { withoutSettings } from '../../test/without-settings.ts';
import { COLUMNS, tableAsNdjson } from './table.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');
const LONG_ROWS = 300_000;

export interface TriedService extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
  /** The address of the long result as CSV, and the SHA-256 of its bytes. */
  readonly long: { readonly url: string; readonly bytes: number; readonly sha256: string };
}

/** @param folder empty */
export async function startService(folder: string): Promise<TriedService> {
  await mkdir(folder, { recursive: true });
  const env = { ...withoutSettings(), QRS_PORT: '0', QRS_CORS_ORIGINS: '*', QRS_LOG_LEVEL: 'error' };
  const qrs = async (...words: readonly string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, [QRS, ...words], { cwd: folder, env });
    return stdout.trim();
  };
  await qrs('users', 'add', 'ann');
  for (const id of ['1', '2']) await qrs('queries', 'add', '--id', id, '--user', 'ann');
  await writeFile(join(folder, 'table.ndjson'), tableAsNdjson());
  const types = COLUMNS.map(({ name, type }) => `${name}=${type}`).join(',');
  await qrs('publish', 'table.ndjson', '--query', '1', '--types', types);
  await writeFile(join(folder, 'long.csv'), longCsv());
  await qrs('publish', 'long.csv', '--query', '2', '--types', 'amount=uint256');
  const key = await qrs('keys', 'create', '--user', 'ann');
  const child = spawn(process.execPath, [QRS, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  const long = { url: `${url}/v1/query/2/results/csv?ignore_max_datapoints_per_request=true&api_key=${key}` };
  const bytes = longCsv();
  return {
    url,
    key,
    long: { ...long, bytes: Buffer.byteLength(bytes), sha256: createHash('sha256').update(bytes).digest('hex') },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** As the service writes it, too. */
function longCsv(): string {
  const line = (_: unknown, i: number) => `${i},${BigInt(i) ** 12n},row ${i} of many`;
  return `id,amount,note\n${Array.from({ length: LONG_ROWS }, line).join('\n')}\n`;
}
