/** Exports of results in S3: what is read next is fetched meanwhile, and is what was stored or an honest error, whatever the store does. */
import assert from 'node:assert/strict';
import { readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { type StoreFault, startFaultyStore } from './faulty-store.ts';
import { startHttpService } from './http-service.ts';
import { Random } from './random-results.ts';

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const EXPORTS = 8;
const ROWS = 84_000;
const ROW_GROUP_ROWS = 4096;
const ROW_GROUPS_PER_PART = 2;
const PARTS = 11;
/** So wide that the whole is streamed, in a range for each part. */
const CSV = `n,t\n${Array.from({ length: ROWS }, (_, n) => `${n},${'text '.repeat(42)}${n}\n`).join('')}`;
/** Two parts are read side by side, and the first or the second of them is not there: these are ahead of both, in any order. */
const AHEAD = /part-0000[3-9]/;
const FAULTS = ['slow', 'throttled', 'breaks off', 'too short', 'wrong bytes'] as const;

test('exports of results in S3', { skip: S3_MISSING ?? false }, async (t) => {
  Object.assign(process.env, S3_ENVIRONMENT);
  const server = await S3Server.start();
  t.after(async () => await server[Symbol.asyncDispose]());
  let faultOf: (path: string) => StoreFault = () => 'none';
  const store = await startFaultyStore(t, server.endpoint, (path) => faultOf(path));
  const service = await startHttpService(t, {
    QRS_STORE_URL: `s3://${server.bucket}/exported?endpoint=${store.url}`,
    QRS_ROW_FILES: 'off',
    QRS_PAGE_CACHE: '0',
  });
  const { id } = await service.publish(7, CSV, {
    rowGroupRows: ROW_GROUP_ROWS,
    rowGroupsPerPart: ROW_GROUPS_PER_PART,
    preSampleRows: 1,
  });
  const resultSet = await (await service.catalog()).executions.findResultSet(id);
  assert.equal(resultSet?.parts.length, PARTS);
  const fetched = join(service.commandLine.dataDir, 'fetched');
  const results = `/v1/execution/${id}/results`;
  const exported = async (signal?: AbortSignal) =>
    await service.get(`${results}/csv?ignore_max_datapoints_per_request=true`, signal === undefined ? {} : { signal });

  /** From now on this happens to reads of objects, and nothing has been fetched. */
  async function begin(next: (path: string) => StoreFault): Promise<void> {
    faultOf = next;
    await forget(fetched);
  }

  await t.test('a page of few rows fetches the footer and one row group, and nothing ahead', async () => {
    await begin(() => 'none');
    const before = store.reads.length;
    const { result } = (await service.json(`${results}?limit=2&offset=50000`)) as { result: { rows: { n: number }[] } };
    assert.deepEqual(
      result.rows.map(({ n }) => n),
      [50_000, 50_001],
    );
    assert.equal(store.reads.length - before, 2, String(store.reads.slice(before)));
  });

  await t.test('while an export waits for one part, the parts behind it are fetched', async () => {
    await begin((path) => (path.includes('part-00001') ? 'held' : 'none'));
    const isAhead = store.nextRead(AHEAD);
    const text = exported().then((answer) => answer.text());
    await isAhead;
    faultOf = () => 'none';
    store.release();
    assert(CSV === (await text));
  });

  await t.test(
    'a client who leaves ends what is fetched ahead: no request, no open file; the next export is whole',
    async () => {
      await begin((path) => (path.includes('part-00000') ? 'none' : 'held'));
      const isAhead = store.nextRead(AHEAD);
      const client = new AbortController();
      const answer = await exported(client.signal);
      assert.equal(answer.status, 200);
      await isAhead;
      client.abort();
      await assert.rejects(answer.text(), { name: 'AbortError' });
      while (store.open > 0 || (await openFiles(fetched)).length > 0) await new Promise(setImmediate);
      faultOf = () => 'none';
      assert(CSV === (await (await exported()).text()));
    },
  );

  await t.test(`an export is whole and exact, or ends with an error: seed ${SEED}`, async () => {
    const random = new Random(SEED);
    const happened = new Set<StoreFault>();
    let whole = 0;
    for (let done = 0; done < EXPORTS; done += 1) {
      // The more often it fails, the fewer exports come through.
      const percent = done < EXPORTS / 2 ? 5 : 40;
      await begin(() => {
        const fault = random.chance(percent) ? random.pick(FAULTS) : 'none';
        happened.add(fault);
        return fault;
      });
      const answer = await exported();
      const text = await answer.text().catch(() => undefined);
      if (answer.status !== 200) {
        assert.match(answer.headers.get('x-error-code') ?? '', /^(store_unavailable|result_damaged)$/);
      } else if (text !== undefined) {
        assert(CSV === text, 'other rows than were published');
        whole += 1;
      }
    }
    for (const fault of FAULTS) assert(happened.has(fault), `${fault} never happened`);
    assert(whole > 0, `none of ${EXPORTS} came through`);
    faultOf = () => 'none';
    assert(CSV === (await (await exported()).text()));
  });
});

/** Removes what was fetched: whoever reads it next fetches it again. */
async function forget(fetched: string): Promise<void> {
  for (const scratch of await readdir(fetched)) {
    for (const file of await readdir(join(fetched, scratch))) await rm(join(fetched, scratch, file), { force: true });
  }
}

/** Files below the folder that this process has open. */
async function openFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir('/proc/self/fd');
  const paths = await Promise.all(names.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder));
}
