/**
 * Law of the round trip: a result that is taken out in any format and published again is the same result, byte for byte: its
 * types, and every cell in its one spelling. CSV, NDJSON and JSON rows cannot say types, so these are declared; a Parquet file
 * says its own.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rowsText } from './exact-json.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { ndjsonOf, type RandomFile, randomFile, typesOf } from './random-files.ts';

const CASES = Number(process.env.TEST_CASES ?? 12);
const SEED = Number(process.env.TEST_SEED ?? 20_240_305);

/** A part has one row group of 2,048 rows, the fewest that DuckDB writes. */
const SMALL_PARTS = { rowGroupRows: 2048, rowGroupsPerPart: 1 };

const ALL = 'ignore_max_datapoints_per_request=true';

interface Taken {
  readonly rows: string;
  readonly types: Readonly<Record<string, string>>;
}

async function take(service: HttpService, id: string, format: string): Promise<Response> {
  return await service.get(`/v1/execution/${id}/results?${ALL}&format=${format}`);
}

async function jsonOf(service: HttpService, id: string): Promise<Taken> {
  const response = await take(service, id, 'json');
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { column_names: names, column_types: types } = JSON.parse(text).result.metadata;
  return {
    rows: rowsText(text),
    types: Object.fromEntries(names.map((name: string, i: number) => [name, types[i]])),
  };
}

async function againFrom(
  service: HttpService,
  id: string,
  format: 'csv' | 'ndjson' | 'parquet',
  types: Taken['types'],
) {
  const response = await take(service, id, format);
  assert.equal(response.status, 200, await response.clone().text());
  const bytes = new Uint8Array(await response.arrayBuffer());
  const declared = format === 'parquet' ? {} : { types };
  return await service.publish(8, bytes, { format, ...declared, ...SMALL_PARTS });
}

/**
 * CSV cannot name a column without a name, cannot tell a lone column's null from its empty text, and cannot hold a line break
 * in a name.
 */
function canBeCsv(file: RandomFile): boolean {
  return file.columns.length > 1 && file.columns.every(({ name }) => name !== '' && !/[\r\n]/.test(name));
}

/** A Parquet file cannot have names that differ only in case; they are refused (http-formats.test.ts). */
function canBeParquet(file: RandomFile): boolean {
  const names = file.columns.map(({ name }) => name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
  const distinct = new Set(names).size === names.length && !names.includes('');
  return distinct && !file.columns.some(({ type }) => /row\(a .*, A /.test(type));
}

/** Short files, and some of several parts. */
const files = fc
  .record({ file: randomFile(12), times: fc.constantFrom(1, 1, 1, 400) })
  .map(({ file, times }) => ({ ...file, rows: Array.from({ length: times }, () => file.rows).flat() }));

test('a result taken out in any format and published again is the same', async (t) => {
  const service = await startHttpService(t);
  const law = fc.asyncProperty(files, async (file) => {
    const options = { format: 'ndjson', types: typesOf(file), ...SMALL_PARTS } as const;
    const { id } = await service.publish(7, ndjsonOf(file), options);
    const first = await jsonOf(service, id);
    const rows = await service.publish(8, `[${first.rows}]`, { ...options, types: first.types });
    assert.deepEqual(await jsonOf(service, rows.id), first, 'JSON rows');
    const formats = ['ndjson', ...(canBeCsv(file) ? ['csv'] : []), ...(canBeParquet(file) ? ['parquet'] : [])] as const;
    for (const format of formats as readonly ('csv' | 'ndjson' | 'parquet')[]) {
      const again = await againFrom(service, id, format, first.types);
      assert.deepEqual(await jsonOf(service, again.id), first, format);
      const texts = await Promise.all(
        [id, again.id].map(async (one) => await (await take(service, one, 'csv')).text()),
      );
      assert.equal(texts[1], texts[0], `CSV after ${format}`);
    }
  });
  await fc.assert(law, { numRuns: CASES, seed: SEED });
});
