/** Laws of the formats, over random files of every type: in every format the rows are those of the JSON answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rowsText } from './exact-json.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { ndjsonOf, type RandomFile, randomFile, typesOf } from './random-files.ts';

/** Files for each law. */
const CASES = Number(process.env.TEST_CASES ?? 20);

/** A part has one row group of 2,048 rows, the fewest that DuckDB writes. */
const SMALL_PARTS = { rowGroupRows: 2048, rowGroupsPerPart: 1 };

const ALL = 'ignore_max_datapoints_per_request=true';

async function publish(service: HttpService, file: RandomFile): Promise<string> {
  const options = { format: 'ndjson', types: typesOf(file), ...SMALL_PARTS } as const;
  const { id } = await service.publish(7, ndjsonOf(file), options);
  return `/v1/execution/${id}/results`;
}

async function jsonOf(service: HttpService, path: string) {
  const response = await service.get(path);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { column_names, column_types } = JSON.parse(text).result.metadata;
  return { rows: rowsText(text), names: column_names as string[], types: column_types as string[] };
}

/** Short files, and files of several parts, each with a slice of their rows. */
const filesAndSlices = fc
  .record({ file: randomFile(12), times: fc.constantFrom(1, 1, 1, 400), from: fc.nat(99), rows: fc.nat(99) })
  .map(({ file, times, from, rows }) => {
    const all = Array.from({ length: times }, () => file.rows).flat();
    const slice = `offset=${Math.floor((from * all.length) / 100)}&limit=${Math.ceil((rows * all.length) / 50)}`;
    return { file: { ...file, rows: all }, slice };
  });

test('the lines of NDJSON are the rows of JSON', async (t) => {
  const service = await startHttpService(t);
  const law = fc.asyncProperty(filesAndSlices, async ({ file, slice }) => {
    const path = await publish(service, file);
    const { rows } = await jsonOf(service, `${path}?${slice}&${ALL}`);
    const response = await service.get(`${path}?${slice}&${ALL}&format=ndjson`);
    const text = await response.text();
    assert.equal(text === '' ? '' : text.at(-1), rows === '' ? '' : '\n');
    assert.equal(text.split('\n').slice(0, -1).join(','), rows);
  });
  await fc.assert(law, { numRuns: CASES });
});

/** Names that differ only in case. */
function clash(file: RandomFile): boolean {
  const names = file.columns.map(({ name }) => name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()));
  return (
    names.includes('') ||
    new Set(names).size < names.length ||
    // Rows with fields `a` and `A`.
    file.columns.some(({ type }) => /row\(a .*, A /.test(type))
  );
}

test('a Parquet answer, published again, has the same rows, names and types', async (t) => {
  const service = await startHttpService(t);
  const law = fc.asyncProperty(filesAndSlices, async ({ file, slice }) => {
    const path = await publish(service, file);
    const response = await service.get(`${path}?${slice}&${ALL}&format=parquet`);
    if (clash(file)) {
      assert.deepEqual([response.status, response.headers.get('x-error-code')], [400, 'unsupported_column']);
      return;
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    assert.equal(response.status, 200, Buffer.from(bytes.subarray(0, 1000)).toString());
    const asked = await jsonOf(service, `${path}?${slice}&${ALL}`);
    const { id } = await service.publish(8, bytes, { format: 'parquet' });
    const again = await jsonOf(service, `/v1/execution/${id}/results?${ALL}`);
    assert.deepEqual(again.names, asked.names);
    assert.deepEqual(again.types, asked.types);
    assert.equal(again.rows, asked.rows);
  });
  await fc.assert(law, { numRuns: CASES });
});
