/** The whole service with its results in S3: published, read in pages and whole, kept over a restart of the server, swept. */
import assert from 'node:assert/strict';
import { open as openFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, type TestContext, test } from 'node:test';
import type { Finding } from '../../src/maintenance/doctor/finding.ts';
import { ReadCache } from '../../src/store/read-cache/read-cache.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { openServer } from './http-service.ts';
import { readParquet } from './parquet-reader.ts';

/** Several row groups of 16,384 rows. */
const ROWS = 60_000;
const CSV = `n,t\n${Array.from({ length: ROWS }, (_, n) => `${n},text ${n}`).join('\n')}\n`;

suite('results in S3', { skip: S3_MISSING ?? false }, async () => {
  Object.assign(process.env, S3_ENVIRONMENT);
  const server = await S3Server.start();
  after(async () => await server[Symbol.asyncDispose]());
  let prefixes = 0;

  interface Served {
    readonly commandLine: CommandLine;
    /** Of query 7, with ann's key. */
    get(address: string): Promise<Response>;
    /** Files of the bucket below this store's prefix. */
    objects(): Promise<readonly string[]>;
    readonly prefix: string;
  }

  async function serve(t: TestContext): Promise<Served> {
    prefixes += 1;
    // What has to be spelled otherwise in an address, and in a signature.
    const prefix = `team ä/50% + ${prefixes}`;
    const environment = {
      QRS_STORE_URL: `s3://${server.bucket}/${encodeURIComponent(prefix)}?endpoint=${server.endpoint}`,
      // Each page is read from what was fetched.
      QRS_ROW_FILES: '0',
      QRS_PAGE_CACHE: '0',
    };
    const commandLine = await makeCommandLine(t, environment);
    await commandLine.get('users', 'add', 'ann');
    const key = await commandLine.get('keys', 'create', '--user', 'ann');
    await commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
    const { code, err } = await commandLine.run(['publish', '-', '--query', '7', '--format', 'csv'], CSV);
    assert.equal(code, 0, err);
    const { server: http, close } = await openServer(commandLine, environment);
    t.after(close);
    return {
      commandLine,
      prefix,
      get: async (address) =>
        await fetch(`${http.url}/v1/query/7/results${address}`, { headers: { 'x-service-api-key': key } }),
      objects: async () => {
        const entries = await readdir(join(server.bucketFolder, prefix), { recursive: true, withFileTypes: true });
        return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
      },
    };
  }

  /** The numbers of the rows of an answer. */
  async function numbers(answer: Response): Promise<readonly number[]> {
    assert.equal(answer.status, 200);
    const { result } = (await answer.json()) as { result: { rows: readonly { n: number }[] } };
    return result.rows.map(({ n }) => n);
  }

  test('a page is read of what it needs of the object, a walk and an export are the rows that were published', async (t) => {
    const { commandLine, get, objects } = await serve(t);
    assert((await objects()).includes('part-00000.parquet'), String(await objects()));
    assert.deepEqual(await numbers(await get('?limit=3&offset=40000')), [40_000, 40_001, 40_002]);
    const [scratch = ''] = await readdir(join(commandLine.dataDir, 'fetched'));
    const [file = ''] = await readdir(join(commandLine.dataDir, 'fetched', scratch));
    const { size, blocks } = await stat(join(commandLine.dataDir, 'fetched', scratch, file));
    assert(blocks * 512 < size * 0.6, `${blocks * 512} of ${size} bytes were fetched for one page`);
    const walked: number[] = [];
    for (let offset = 0; offset < ROWS; offset += 20_000) {
      walked.push(...(await numbers(await get(`?limit=20000&offset=${offset}`))));
    }
    assert.deepEqual(
      walked,
      Array.from({ length: ROWS }, (_, n) => n),
    );
    assert.equal(await (await get('/csv')).text(), CSV);
    assert.deepEqual(await numbers(await get('?filters=n%20in%20(5,59999)&sort_by=n%20desc')), [59_999, 5]);
  });

  test('what was fetched is not foreign to the doctor; what others put beside it is', async (t) => {
    const { commandLine, get } = await serve(t);
    await get('?limit=1');
    const foreign = async () => {
      const findings = JSON.parse(await commandLine.get('doctor', '--json')) as readonly Finding[];
      return findings.find(({ check }) => check === 'foreign files')?.found;
    };
    assert.equal(await foreign(), 'none in the folders of the service');
    const mine = join(commandLine.dataDir, 'fetched', 'mine.txt');
    await writeFile(mine, 'mine');
    assert.equal(await foreign(), `1 in the folders of the service: ${mine}`);
  });

  test('what was fetched may go at any time', async (t) => {
    const { commandLine, get } = await serve(t);
    assert.deepEqual(await numbers(await get('?limit=1')), [0]);
    const [scratch = ''] = await readdir(join(commandLine.dataDir, 'fetched'));
    for (const file of await readdir(join(commandLine.dataDir, 'fetched', scratch))) {
      await rm(join(commandLine.dataDir, 'fetched', scratch, file));
    }
    assert.deepEqual(await numbers(await get('?limit=1&offset=1')), [1]);
    // With its folder, as `rm -r` takes it.
    await rm(join(commandLine.dataDir, 'fetched'), { recursive: true });
    assert.deepEqual(await numbers(await get('?limit=1&offset=2')), [2]);
    await rm(join(commandLine.dataDir, 'fetched'), { recursive: true });
    assert.deepEqual(await numbers(await get('?limit=1&offset=50000')), [50_000]);
  });

  test('what was fetched and is deleted or written into while it is read is fetched anew', async (t) => {
    const { get, commandLine } = await serve(t);
    const { open } = ReadCache.prototype;
    let isTouched = true;
    let touch = async (path: string) => await rm(path);
    t.mock.method(ReadCache.prototype, 'open', async function (this: ReadCache, ...asked: Parameters<typeof open>) {
      const opened = await open.apply(this, asked);
      if (!isTouched && asked[0].key.endsWith('part-00000.parquet')) {
        isTouched = true;
        await touch(opened.path);
      }
      return opened;
    });
    const overwrite = async (path: string) => {
      await using file = await openFile(path, 'r+');
      await file.write(Buffer.alloc((await file.stat()).size, 0xff), 0);
    };
    for (const hands of [touch, overwrite]) {
      touch = hands;
      const asked = async (address: string) => {
        isTouched = false;
        const answer = await get(address);
        assert.equal(isTouched, true);
        return answer;
      };
      assert.deepEqual(await numbers(await asked('?limit=2&offset=40000')), [40_000, 40_001]);
      assert.deepEqual(await numbers(await asked('?sort_by=n%20desc&limit=2')), [59_999, 59_998]);
      assert.equal(await (await asked('/csv')).text(), CSV);
      const parquet = await asked('?format=parquet&sort_by=n%20desc');
      const { rows } = await readParquet(Buffer.from(await parquet.arrayBuffer()), 'n');
      assert.deepEqual([rows.length, rows[0]], [ROWS, ['59999']]);
      // Else it is kept.
      await rm(join(commandLine.dataDir, 'views'), { recursive: true });
    }
  });

  test('a server that goes away is 503 that says so, and no restart is needed when it is back', async (t) => {
    const { get } = await serve(t);
    await server.kill();
    const answer = await get('?limit=1');
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('x-error-code'), 'store_unavailable');
    assert.deepEqual(await answer.json(), { error: 'the store of results cannot be reached at the moment' });
    await server.resume();
    assert.deepEqual(await numbers(await get('?limit=1')), [0]);
  });

  test('an object that is lost is told as that, and nothing is answered from what is left', async (t) => {
    const { get, prefix } = await serve(t);
    await rm(join(server.bucketFolder, prefix), { recursive: true });
    const answer = await get('?limit=1');
    assert.equal(answer.status, 500);
    assert.equal(answer.headers.get('x-error-code'), 'result_damaged');
  });

  test('the sweep deletes what has expired, and verify reads what is there', async (t) => {
    const { commandLine, objects } = await serve(t);
    assert.equal((await commandLine.run(['verify'])).code, 0);
    commandLine.now += 91 * 86_400_000;
    const { code, err } = await commandLine.run(['sweep', '--yes']);
    assert.equal(code, 0, err);
    assert.deepEqual(
      (await objects()).filter((name) => name.endsWith('.parquet')),
      [],
    );
  });
});
