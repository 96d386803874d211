/**
 * The law of tags. Two answers to the same request with the same strong ETag are the same bytes, whatever was changed between
 * them: any setting, or the version of the service. A 304 is only for a client that has these bytes, and `If-Range` never joins
 * the beginning of one answer to the end of another.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { SETTINGS } from '../../src/settings/settings.ts';
import type { CommandLine } from './command.ts';
import { openAnswer } from './http-client.ts';
import { openServer, startHttpService } from './http-service.ts';

/** Values that could change an answer, mostly small ones. A setting that is not here gets a generated value. */
function telling(directory: string): Readonly<Record<string, string>> {
  mkdirSync(join(directory, 'other-datasets'), { recursive: true });
  return {
    QRS_PAGES_WAITING: '500',
    QRS_READ_TIMEOUT: '50',
    QRS_VIEW_TIMEOUT: '500',
    QRS_HEADERS_TIMEOUT: '30',
    QRS_IDLE_TIMEOUT: '60',
    QRS_STALLED_TIMEOUT: '5m',
    QRS_HEADER_BYTES_MAX: '64KiB',
    QRS_HEAVY_READS: '32',
    QRS_HEAVY_READS_PER_KEY: '16',
    QRS_FILTER_LENGTH_MAX: '30',
    QRS_RATE_BURST: '1000',
    QRS_CONFIG_FILE: 'other.env',
    QRS_DATA_DIR: join(directory, 'other-data'),
    QRS_CATALOG_URL: `sqlite:${join(directory, 'data/catalog.sqlite')}`,
    QRS_STORE_URL: `file:${join(directory, 'data/results')}`,
    QRS_SOURCES_DIR: join(directory, 'other-sources'),
    QRS_DATASETS_DIR: join(directory, 'other-datasets'),
    QRS_URL: 'https://results.example.org',
    QRS_KEY: 'qrs_other',
    QRS_ENGINE_URL: 'duckdb:', // There is no other yet.
    QRS_HOST: 'localhost',
    QRS_PUBLIC_URL: 'https://results.example.org',
    QRS_KEY_HEADERS: 'X-Other-Api-Key',
    QRS_COMPAT_HEADER_PREFIXES: 'X-Other',
    QRS_MAX_DATAPOINTS: '900',
    QRS_MAX_RESULT_BYTES: '1000',
    QRS_RETENTION_DAYS: '5',
    QRS_DIRECT_ROWS: '0',
    QRS_TRUST_PROXY: 'true',
    QRS_CORS_ORIGINS: '*',
    QRS_PAGE_CACHE: '0',
    QRS_RATE_LIMIT: '1000000',
    QRS_CONNECTIONS_MAX: '200',
    QRS_LEASE_SECONDS: '60',
    QRS_SHUTDOWN_GRACE: '1',
    QRS_SWEEP_SCHEDULE: '6 * * * *',
    QRS_SWEEP_SHARE: '0.5',
    QRS_SCHEDULE: 'false',
  };
}

const CANDIDATES = ['true', 'false', '2', '3', '64', '300MB', '600MB', '1GB', '64KiB', '2m', 'token', 'debug', 'off'];

/** For each setting, a value other than its default. */
function otherValues(directory: string): readonly (readonly [name: string, value: string])[] {
  const known = telling(directory);
  return Object.values(SETTINGS).map(({ name, default: usual, read }) => {
    const differs = (text: string) => {
      try {
        return JSON.stringify(read(text)) !== JSON.stringify(read(usual));
      } catch {
        return false;
      }
    };
    const value = known[name] ?? CANDIDATES.find(differs);
    assert(value !== undefined, `${name}: name another value for it in this test`);
    return [name, value];
  });
}

interface Seen {
  readonly status: number;
  readonly etag: string | undefined;
  readonly body: Buffer;
}

let commandLine: CommandLine;
let key: string;
let paths: readonly string[];
let base: readonly Seen[];

/** How the client addresses the service: always the same, whatever the port. */
const HOST = 'results.example.com';

async function ask(url: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
  const [address = '', encoding = 'identity'] = path.split(' ');
  const sent = { host: HOST, 'x-service-api-key': key, 'accept-encoding': encoding, ...headers };
  const answer: IncomingMessage = await openAnswer(url, address, sent, 'GET');
  return { status: answer.statusCode ?? 0, etag: answer.headers.etag, body: await buffer(answer) };
}

let closeFirst: () => Promise<void>;

before(async () => {
  const stop: (() => unknown)[] = [];
  const context = { after: (end: () => unknown) => stop.push(end), signal: new AbortController().signal };
  const service = await startHttpService(context as never);
  closeFirst = async () => {
    await service.close();
    for (const end of stop.toReversed()) await end();
  };
  commandLine = service.commandLine;
  key = service.key;
  const rows = Array.from({ length: 2000 }, (_, n) => `${n},${n / 7},"wörd ${n % 10}"`).join('\n');
  const many = await service.publish(7, `n,d,w\n${rows}\n`, { rowGroupRows: 256, rowGroupsPerPart: 2 });
  const cut = await service.publish(8, `n,d,w\n${rows}\n`, { resultBytesMax: 20_000 });
  // A long name makes even a short CSV a streamed answer, which has ranges.
  const streamed = await service.publish(
    9,
    `${'n'.repeat(2000)}\n${Array.from({ length: 20_000 }, (_, n) => n).join('\n')}\n`,
  );
  paths = [
    `/v1/execution/${many.id}/results`,
    `/v1/execution/${many.id}/results?limit=700&sort_by=w,n`,
    `/v1/execution/${many.id}/results?filters=n<900&columns=d,w`,
    `/v1/execution/${many.id}/results/csv?limit=1500`,
    `/v1/execution/${many.id}/results?format=ndjson&limit=1500 gzip`,
    `/v1/query/7/results?limit=10&offset=5 br`,
    `/v1/query/8/results?allow_partial_results=true`,
    `/v1/execution/${cut.id}/results/csv?limit=1000&allow_partial_results=true`,
    `/v1/query/8/results`,
    `/v1/execution/${many.id}/status`,
    `/v1/execution/${streamed.id}/results/csv?ignore_max_datapoints_per_request=true`,
    `/v1/execution/${streamed.id}/results/csv?limit=19000`,
  ];
  base = await Promise.all(paths.map((path) => ask(service.url, path)));
  assert.deepEqual(
    base.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200, 200, 200, 400, 200, 200, 200],
  );
});

after(async () => await closeFirst());

/** Sends every request again, to another server on the same data. @returns how many answers had other bytes */
async function holds(url: string): Promise<number> {
  const changed = await Promise.all(
    paths.map(async (path, index) => {
      const was = base[index];
      assert(was !== undefined);
      const now = await ask(url, path);
      if (now.status === 200 && was.status === 200 && now.etag === was.etag) {
        assert(now.body.equals(was.body), `${path}: other bytes under the same tag ${now.etag}`);
      }
      if (was.etag === undefined) return 0;
      const again = await ask(url, path, { 'if-none-match': was.etag });
      if (again.status === 304) assert(now.body.equals(was.body), `${path}: 304 for other bytes`);
      const rest = await ask(url, path, { range: 'bytes=50-', 'if-range': was.etag });
      if (rest.status === 206) {
        const joined = Buffer.concat([was.body.subarray(0, 50), rest.body]);
        assert(joined.equals(now.body), `${path}: If-Range joined two answers`);
      }
      return Number(now.status === 200 && !now.body.equals(was.body));
    }),
  );
  return changed.reduce((sum, one) => sum + one, 0);
}

/** Settings that change answers: each is changed alone. */
const CHANGING = ['QRS_PUBLIC_URL', 'QRS_MAX_DATAPOINTS', 'QRS_PARTIAL_AS_COMPLETED'];
/** So many of the other settings are changed together. None changes anything, so none can hide what another does. */
const TOGETHER = 8;

async function withServer(environment: Readonly<Record<string, string>>, task: (url: string) => Promise<void>) {
  const { server, close } = await openServer(commandLine, environment);
  try {
    await task(server.url);
  } catch (error) {
    throw new Error(JSON.stringify(environment), { cause: error });
  } finally {
    await close();
  }
}

test('a setting that changes answers changes their tags', async () => {
  const values = new Map(otherValues(commandLine.directory));
  for (const name of CHANGING) {
    await withServer({ [name]: values.get(name) ?? '' }, async (url) => {
      assert((await holds(url)) > 0, `${name} changes nothing: nothing was tried`);
    });
  }
});

test('no other setting changes answers or tags', async () => {
  const places = [
    ['QRS_STORE_URL', `file:${join(commandLine.dataDir, 'results')}`],
    ['QRS_CATALOG_URL', `sqlite:${join(commandLine.dataDir, 'catalog.sqlite')}`],
  ];
  const others = otherValues(commandLine.directory).filter(([name]) => !CHANGING.includes(name));
  for (let at = 0; at < others.length; at += TOGETHER) {
    await withServer(Object.fromEntries([...places, ...others.slice(at, at + TOGETHER)]), async (url) => {
      assert.equal(await holds(url), 0);
      for (const [index, path] of paths.entries()) {
        const { status, etag } = await ask(url, path);
        assert.deepEqual([status, etag], [base[index]?.status, base[index]?.etag], path);
      }
    });
  }
});

test('another version of the service gives other tags, whatever the bytes are', async () => {
  const { server, close } = await openServer(commandLine, {}, undefined, '1.2.4');
  try {
    await holds(server.url);
    const now = await Promise.all(paths.map((path) => ask(server.url, path)));
    for (const [index, { etag }] of now.entries()) {
      if (etag !== undefined && !paths[index]?.endsWith('/status'))
        assert.notEqual(etag, base[index]?.etag, paths[index]);
    }
  } finally {
    await close();
  }
});
