import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ColumnType, parseColumnType } from '../../../domain/column-type.ts';
import type { Part } from '../../../domain/result-set.ts';
import type { IndexBuild } from './build-index.ts';
import { indexOrigin } from './index-origin.ts';
import { wantedIndex } from './wanted-index.ts';

const PART: Part = {
  key: 'part',
  firstRow: 0,
  rowCount: 200_000,
  cellBytes: 0,
  rowBytesMax: 0,
  objectBytes: 1,
  sha256: '',
  blocks: { rows: [200_000], bytes: [1, 1], hashes: '' },
};

/** What is opened for the index of a column of a result that has a sample. */
async function openedFor(
  type: ColumnType,
  rowCount: number,
  t: { readonly signal: AbortSignal },
  damaged?: string,
  damagedMeanwhile?: string,
) {
  const columns = [{ name: 'v', type }];
  const preSample = { ...PART, key: 'sample', rowCount: 100_000 };
  const resultSet = { columns, rowCount, cellBytes: 0, truncated: false, parts: [{ ...PART, rowCount }], preSample };
  const opened: string[] = [];
  let order: IndexBuild | undefined;
  const [step] = wantedIndex(indexOrigin('01HR7PD8XYZ3M4N5P6Q7R8S9TA', resultSet, { index: 0, type }), {
    files: {
      isMadeElsewhere: async () => false,
      pathOf: () => '/nowhere/index',
      stagingPath: () => '/nowhere/staged',
      publish: async () => assert.equal(damagedMeanwhile, undefined),
    },
    builder: {
      buildIndex: async (asked) => {
        order = asked;
        return 1;
      },
    },
    store: {
      open: async ({ key }) => {
        opened.push(key);
        if (key === damaged) throw new Error(`${key} is damaged`);
        const requireIntact = async () => {
          if (key === damagedMeanwhile) throw new Error(`${key} was damaged meanwhile`);
        };
        return { path: `/nowhere/${key}`, requireIntact, [Symbol.asyncDispose]: async () => undefined };
      },
    },
    bytesMax: 1e9,
  }).steps();
  await step?.build(t.signal);
  return { opened, samplePath: order?.samplePath };
}

test('the sample is opened where it is read: for texts, unless there are too many to group them', async (t) => {
  const varchar = parseColumnType('varchar');
  assert.deepEqual(await openedFor(varchar, 200_000, t), { opened: ['part', 'sample'], samplePath: '/nowhere/sample' });
  const part = { opened: ['part'], samplePath: undefined };
  assert.deepEqual(await openedFor(varchar, 5_000_000, t), part);
  assert.deepEqual(await openedFor(parseColumnType('bigint'), 200_000, t), part);
});

test('an index is made without a sample that cannot be read, and not without a part', async (t) => {
  const varchar = parseColumnType('varchar');
  const without = { opened: ['part', 'sample'], samplePath: undefined };
  assert.deepEqual(await openedFor(varchar, 200_000, t, 'sample'), without);
  await assert.rejects(openedFor(varchar, 200_000, t, 'part'), { message: 'part is damaged' });
});

test('an index of a part that was damaged while it was read is not kept', async (t) => {
  const asked = openedFor(parseColumnType('bigint'), 200_000, t, undefined, 'part');
  await assert.rejects(asked, { message: 'part was damaged meanwhile' });
});
