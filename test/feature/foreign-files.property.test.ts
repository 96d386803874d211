/**
 * The law of foreign files: whatever lies around and inside the folders of the service that it did not write is there, byte
 * for byte, after publishing, refreshing, sweeping, verifying and crashing; and none of it keeps the service from its work.
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { writeResource } from '../../src/domain/lease-names.ts';
import { sleep } from '../real-time.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { type Entry, foreignTree, isOursInStore, lookAgain, pathsBelow, plant, ULID } from './foreign-trees.ts';

const CASES = Number(process.env.TEST_CASES ?? 5);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const DAY_MILLIS = 24 * 60 * 60 * 1000;
const DATASET = 'operator-to-avs-mapping';

/** Around and inside, with folders that look like those of a run, of a writer and of a scratch. */
const PLACES = [
  '.',
  'staging',
  'data',
  'data/views',
  'data/derived',
  'data/tmp',
  'data/sources',
  'store',
  `store/${ULID}`,
  `store/${ULID}/7`,
  `store/${ULID}/x`,
  'store/staging',
] as const;

type Step = 'publish' | 'refresh' | 'sweep' | 'sweep later' | 'verify' | 'doctor' | 'crash';
const STEPS: readonly Step[] = ['publish', 'refresh', 'sweep', 'sweep later', 'verify', 'doctor', 'crash'];

/** What the service reads or makes in its folders is its own. */
function isOurs(path: string, entry: Entry): boolean {
  const [first, ...inStore] = path.split('/');
  if (first === 'store') return isOursInStore(inStore.join('/'), entry);
  return path === 'data' || path === 'data/catalog.sqlite' || /^data\/[a-z]+$/.test(path);
}

/** A writer that died after it had staged a file and put an object. */
async function crash(qrs: CommandLine, store: string, nth: number): Promise<void> {
  await using catalog = await openSqliteCatalog(join(qrs.dataDir, 'catalog.sqlite'), {
    clock: () => qrs.now - DAY_MILLIS,
    sleep,
  });
  const id = `01HR7V4N7VD2Q9D9Z5T2CRASH${nth}`;
  const lease = await catalog.leases.acquire(writeResource(id), 'another host|1|1|1', 1000);
  assert(lease !== undefined);
  for (const path of [`${id}/${lease.token}/part-00000.parquet`, `staging/${id}.${lease.token}/parts/part-0.parquet`]) {
    await mkdir(dirname(join(store, path)), { recursive: true });
    await writeFile(join(store, path), 'half');
  }
  await mkdir(join(store, id, String(lease.token + 1)));
}

test('what the service did not write is there, byte for byte, after whatever it does', async (t) => {
  t.diagnostic(`seed ${SEED}, ${CASES} cases`);
  const law = fc.asyncProperty(
    foreignTree(PLACES),
    fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 6 }),
    async (tree, steps) => {
      const qrs = await makeCommandLine(t, (folder) => ({ QRS_STORE_URL: `file:${join(folder, 'store')}` }));
      const { directory } = qrs;
      const store = join(directory, 'store');
      await qrs.get('users', 'add', 'ann');
      await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
      const publish = () => qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n2\n');
      assert.equal((await publish()).err, '');
      const planted = await plant(directory, tree, isOurs);
      for (const [nth, step] of [...steps, 'sweep' as const].entries()) {
        if (step === 'publish') assert.equal((await publish()).err, '');
        if (step === 'verify') assert.equal((await qrs.run(['verify'])).code, 0);
        if (step === 'doctor') await qrs.run(['doctor']);
        if (step === 'crash') await crash(qrs, store, nth);
        if (step === 'sweep later') qrs.now += 91 * DAY_MILLIS;
        if (step.startsWith('sweep')) await qrs.get('sweep', '--yes');
        if (step === 'refresh') {
          await writeDemoSources(join(qrs.dataDir, 'sources'), {
            size: 'small',
            until: qrs.now,
            signal: t.signal,
            sleep,
          });
          await qrs.get('datasets', 'refresh', DATASET);
        }
      }
      assert.deepEqual(await lookAgain(directory, planted), planted);
      const left = (await pathsBelow(store)).filter((path) => path.includes('CRASH'));
      assert.deepEqual(left, [], 'what a crash left is swept all the same');
    },
  );
  await fc.assert(law, { numRuns: CASES, seed: SEED });
});
