/**
 * Laws of answers, over random files of every type: rows that are read equal the rows published; joined pages equal the whole,
 * in order; parsed CSV equals JSON; the metadata counts the rows' values.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { type CsvField, readCsv } from './csv-reader.ts';
import { canonicalJson, canonicalNumber, type ExactValue, parseExact, rowsText } from './exact-json.ts';
import { type Metadata, walkCsv } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { cellBytesOf, csvOf, expectedRows, ndjsonOf, type RandomFile, randomFile, typesOf } from './random-files.ts';

/** Files for each law. */
const CASES = Number(process.env.TEST_CASES ?? 20);

/** Small, so that pages end at this limit. */
const DATAPOINTS_MAX = 60;

/** A part has one row group of 2,048 rows, the fewest that DuckDB writes. */
const SMALL_PARTS = { rowGroupRows: 2048, rowGroupsPerPart: 1 };

const ALL = 'ignore_max_datapoints_per_request=true';

async function start(t: TestContext): Promise<HttpService> {
  return await startHttpService(t, { QRS_MAX_DATAPOINTS: String(DATAPOINTS_MAX) });
}

/** Publishes the file. @returns the path of its results */
async function publish(service: HttpService, file: RandomFile): Promise<string> {
  const options = { format: 'ndjson', types: typesOf(file), ...SMALL_PARTS } as const;
  const { id } = await service.publish(7, ndjsonOf(file), options);
  return `/v1/execution/${id}/results`;
}

/** Reads a JSON answer: its text and its metadata. */
async function read(service: HttpService, path: string) {
  const response = await service.get(path);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { result, next_uri } = JSON.parse(text) as { result: { metadata: Metadata }; next_uri?: string };
  return { rows: rowsText(text), metadata: result.metadata, next: next_uri?.replace(service.url, '') };
}

test('a file read back equals the file', async (t) => {
  const service = await start(t);
  const law = fc.asyncProperty(randomFile(12), async (file) => {
    const { rows, metadata } = await read(service, `${await publish(service, file)}?${ALL}`);
    assert.deepEqual(
      metadata.column_names,
      file.columns.map(({ name }) => name),
    );
    assert.deepEqual(
      metadata.column_types,
      file.columns.map(({ type }) => type),
    );
    assert.equal(canonicalJson(rows), canonicalJson(expectedRows(file)));
  });
  await fc.assert(law, { numRuns: CASES });
});

test('a CSV file read back equals the file', async (t) => {
  const service = await start(t);
  const law = fc.asyncProperty(randomFile(12), async (file) => {
    // A name with a line break is refused in some formats, and an empty name is replaced.
    fc.pre(file.columns.every(({ name }) => /^[^\r\n]+$/.test(name)));
    const { id } = await service.publish(7, csvOf(file), { format: 'csv', types: typesOf(file), ...SMALL_PARTS });
    const { rows, metadata } = await read(service, `/v1/execution/${id}/results?${ALL}`);
    assert.deepEqual(
      metadata.column_types,
      file.columns.map(({ type }) => type),
    );
    assert.equal(canonicalJson(rows), canonicalJson(expectedRows(file)));
  });
  await fc.assert(law, { numRuns: CASES });
});

/** Short files, and files of several parts, each with a page size that makes some pages of them. */
const filesAndPages = fc.oneof(
  fc.record({ file: randomFile(12), pageRows: fc.integer({ min: 1, max: 14 }), lifted: fc.boolean() }),
  fc.record({
    file: randomFile(12).map((file) => ({ ...file, rows: Array.from({ length: 400 }, () => file.rows).flat() })),
    pageRows: fc.integer({ min: 300, max: 5000 }),
    lifted: fc.constant(true),
  }),
);

test('pages joined by next_uri are the whole result, in order', async (t) => {
  const service = await start(t);
  const law = fc.asyncProperty(filesAndPages, async ({ file, pageRows, lifted }) => {
    const path = await publish(service, file);
    const pages: string[] = [];
    let next: string | undefined = `${path}?limit=${pageRows}${lifted ? `&${ALL}` : ''}`;
    while (next !== undefined) {
      const page = await read(service, next);
      const { row_count, datapoint_count } = page.metadata;
      assert(row_count >= 1 && row_count <= pageRows);
      assert(lifted || row_count === 1 || datapoint_count <= DATAPOINTS_MAX);
      pages.push(page.rows);
      next = page.next;
    }
    assert.equal(canonicalJson(pages.join(',')), canonicalJson(expectedRows(file)));
    if (lifted) assert.equal(pages.length, Math.ceil(file.rows.length / pageRows));
  });
  await fc.assert(law, { numRuns: CASES });
});

test('CSV pages joined, and parsed back, equal JSON', async (t) => {
  const service = await start(t);
  const law = fc.asyncProperty(filesAndPages, async ({ file, pageRows }) => {
    const path = await publish(service, file);
    const pages = await walkCsv(service, `${path}/csv?limit=${pageRows}&${ALL}`);
    const lines = pages.flatMap((page, i) => readCsv(page).slice(i === 0 ? 0 : 1));
    const names = file.columns.map(({ name }) => name);
    assert.deepEqual(
      lines[0]?.map(({ text }) => text),
      names,
    );
    const rows = parseExact(`[${(await read(service, `${path}?${ALL}`)).rows}]`) as Readonly<
      Record<string, ExactValue>
    >[];
    assert.equal(lines.length - 1, rows.length);
    for (const [i, row] of rows.entries()) {
      const line = lines[i + 1] ?? [];
      assert.equal(line.length, names.length);
      for (const [k, name] of names.entries()) assertSame(line[k], row[`s${name}`], names.length === 1);
    }
  });
  await fc.assert(law, { numRuns: CASES });
});

/** @param alone the field is the only one of its line. Then null is written "", too, since readers skip an empty line */
function assertSame(field: CsvField | undefined, value: ExactValue | undefined, alone: boolean): void {
  assert(field !== undefined && value !== undefined);
  if (value === null) assert.deepEqual(field, { text: '', quoted: alone });
  else if (typeof value === 'boolean') assert.deepEqual(field, { text: String(value), quoted: false });
  else if (typeof value === 'object') {
    assert(field.quoted);
    assert.deepEqual(parseExact(field.text), value);
  } else if (value.startsWith('n')) {
    assert.equal(field.quoted, false);
    assert.equal(`n${canonicalNumber(field.text)}`, value);
  } else {
    assert.equal(`s${field.text}`, value);
    // Quoted where needed, and only there.
    assert.equal(field.quoted, field.text === '' || /[",\r\n]/.test(field.text));
  }
}

/** A name as it is written in the `columns` parameter. */
function writtenName(name: string): string {
  const bare = name !== '' && name === name.trim() && !name.includes(',') && !name.startsWith('"');
  return bare ? name : `"${name.replaceAll('"', '""')}"`;
}

test('the metadata equals a naive count of the values', async (t) => {
  const service = await start(t);
  const slices = fc.record({ file: randomFile(12), offset: fc.nat(12), limit: fc.nat(12), columns: fc.nat(5) });
  const law = fc.asyncProperty(slices, async ({ file, offset, limit, columns }) => {
    const path = await publish(service, file);
    const kept = file.columns.slice(0, columns + 1);
    const names = kept.map(({ name }) => writtenName(name));
    // Inside quotes a backslash before a quote is an escape.
    fc.pre(!names.some((name) => name.startsWith('"') && name.includes('\\')));
    const query = `limit=${limit}&offset=${offset}&columns=${encodeURIComponent(names.join(','))}&${ALL}`;
    const { metadata } = await read(service, `${path}?${query}`);
    const rows = file.rows.slice(offset, offset + limit);
    const bytes = cellBytesOf(rows, kept.length);
    assert.deepEqual(
      [metadata.row_count, metadata.result_set_bytes, metadata.datapoint_count],
      [rows.length, bytes, Math.max(rows.length * kept.length, Math.ceil(bytes / 100))],
    );
    assert.deepEqual(
      [metadata.total_row_count, metadata.total_result_set_bytes],
      [file.rows.length, cellBytesOf(file.rows, file.columns.length)],
    );
  });
  await fc.assert(law, { numRuns: CASES });
});
