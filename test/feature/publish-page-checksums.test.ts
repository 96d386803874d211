/**
 * Parquet files whose pages have checksums: DuckDB reads on over a changed byte, we refuse the file. Several row groups, pages and encodings, in both
 * versions of pages.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

for (const name of ['checksums-v1', 'checksums-v2']) {
  const path = join(import.meta.dirname, '..', 'fixtures', 'pyarrow', `${name}.parquet`);

  test(`${name}: what has not changed is published`, async () => {
    const rows = await place.rows(await place.publish(path));
    assert.equal(rows.length, 30);
    assert.deepEqual(rows[15], ['15', '22.5', 'a']);
  });

  test(`${name}: a value that has changed is refused, naming the column and the rows`, async () => {
    const where = {
      4: 'column "id", row group 1 (rows 1 to 10)',
      15: 'column "id", row group 2 (rows 11 to 20)',
      28: 'column "id", row group 3 (rows 21 to 30)',
    };
    for (const [row, place] of Object.entries(where)) {
      await refusesChange(path, wholeNumbers(Number(row), Number(row) + 1), place);
    }
    await refusesChange(path, doubles(21, 22.5), 'column "amount", row group 2 (rows 11 to 20)');
    const dictionary = Buffer.from('\x01\0\0\0a\x01\0\0\0b\x01\0\0\0c', 'latin1');
    // A length that has changed is noticed by DuckDB, or by us.
    await refusesChange(path, dictionary, 'column "name", row group 1 (rows 1 to 10)', [4, 9, 14]);
  });
}

/** Changes each of these bytes, counted within what is found, one at a time. */
async function refusesChange(
  path: string,
  found: Buffer,
  where: string,
  changed: Iterable<number> = found.keys(),
): Promise<void> {
  const bytes = await readFile(path);
  const from = bytes.indexOf(found);
  assert(from > 0, where);
  for (const at of changed) {
    const file = join(place.folder, 'changed.parquet');
    const damaged = Buffer.from(bytes);
    damaged[from + at] = (damaged[from + at] ?? 0) ^ 1;
    await writeFile(file, damaged);
    await assert.rejects(place.publish(file), {
      name: 'PublishError',
      message: `${where}: the file is damaged: a page has not the checksum that was written with it`,
    });
  }
}

/** Two values that stand beside one another: the least and the greatest of a page do not, in its statistics. */
function wholeNumbers(...values: readonly number[]): Buffer {
  return Buffer.from(BigInt64Array.from(values, BigInt).buffer);
}

function doubles(...values: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(values).buffer);
}
