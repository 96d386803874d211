/** DuckDB's own messages about an unreadable file never reach whoever publishes it: each refusal is in the service's words. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

/** Kinds of errors that DuckDB's messages begin with, and names from its code. */
const OF_DUCKDB =
  /\b[A-Z][A-Za-z]* Error:|Exception|read_csv|read_json|read_parquet|LINE \d|maximum_object_size|TProtocol/;

const BROKEN_JSON: readonly (readonly [string, string])[] = [
  [
    '{"a":1}\n{"a":\n',
    'line 2: the JSON cannot be read: it ends too early; each line has one whole object, unless the file is one array of objects',
  ],
  [
    '{\n  "a": 1\n}\n',
    'line 1: the JSON cannot be read: it ends too early; each line has one whole object, unless the file is one array of objects',
  ],
  ['{"a":1}x\n', 'line 1: the JSON cannot be read: something follows the object'],
  ['{"a":"\\q"}\n', 'line 1: the JSON cannot be read: a backslash is followed by what it cannot escape'],
  [
    '{"a":"\\ud83d\\ude00 \\\\ud83d"}\n{"a":{"b\\udc00":1}}\n',
    'line 2: the JSON cannot be read: a text has half of a surrogate pair, such as \\ud83d alone, which is no character',
  ],
  ['{"a":01}\n', 'line 1: the JSON cannot be read: a number is not written as JSON has them'],
  ['{"a":tru}\n', 'line 1: the JSON cannot be read: a word is neither true, false nor null'],
  ['{a:1}\n', 'line 1: the JSON cannot be read: a character stands where it cannot'],
  ['{"a":1}\n\ufeff{"a":2}\n', 'line 2: the JSON cannot be read: a byte order mark stands where it cannot'],
  ['\ufeff{"a":1}\n{"a":2}\r{"a":3}\n', 'line 2: the JSON cannot be read: something follows the object'],
  ['[{"a":1}{"a":2}]', 'near element 2: the JSON cannot be read: a character stands where it cannot'],
  [`{"a":"${'x'.repeat(40_000_000)}"}\n`, 'line 1: the JSON cannot be read: an object is larger than 16 MB'],
  // One of 17 MB is read.
  [
    `{"a":1}\n{"a":"${'x'.repeat(17_000_000)}"}\n{"a":"${'x'.repeat(40_000_000)}"}\n{"a":"\n`,
    'line 3: the JSON cannot be read: an object is larger than 16 MB',
  ],
];

/** Blanks that other readers take. */
const NO_BLANKS: readonly (readonly [string, string])[] = [
  ['\f{"a":1}\n', 'line 1: the JSON cannot be read: it has a form feed'],
  ['{"a":1}\n{"a":2}\f\n', 'line 2: the JSON cannot be read: it has a form feed'],
  [`${'{"a":1}\n'.repeat(30_000)}\v\n{"a":2}`, 'line 30001: the JSON cannot be read: it has a vertical tab'],
  ['[{"a":1},\n\f{"a":2}]', 'line 2: the JSON cannot be read: it has a form feed'],
];

for (const [text, message] of NO_BLANKS) {
  test(`${JSON.stringify(text.slice(-20))}: ${message}`, async () => {
    const says = `${message}, and JSON allows only spaces, tabs and line ends between values; in a text it is written`;
    await assert.rejects(place.publish(await place.write('blanks.ndjson', text)), (error: Error) => {
      assert.equal(error.name, 'PublishError');
      assert.equal(error.message.slice(0, says.length), says);
      return true;
    });
  });
}

test('blanks that JSON has may stand between values, and any blank may be escaped in a text', async () => {
  const file = await place.write('blanks.ndjson', ' \t{"a" : "\\f\\u000b"}\t \r\n \r\n\n{"a":"b"}');
  assert.deepEqual(await place.rows(await place.publish(file)), [['\f\v'], ['b']]);
});

for (const [text, message] of BROKEN_JSON) {
  test(`${text.slice(0, 20).trim()}: ${message}`, async () => {
    await assert.rejects(place.publish(await place.write('broken.ndjson', text)), { name: 'PublishError', message });
  });
}

/** Whole numbers in BYTE_STREAM_SPLIT, as newer writers may store them: a valid file, which DuckDB does not read. */
const SPLIT_INTEGERS =
  'UEFSMRUAFSQVJCwVBhUSFQYVBhwAAAACAAAABgEBAgMAAAAAAAAAAAAVBBksNQAYBnNjaGVtYRUCABUCJQIYAW4AFgYZHBkcJgAcFQIZJQYSGRgBbhUAFgYW' +
  'ShZKJghJHBUAFRIVAgA8KQYZJgAGAAAAFkoWBiYIFkoAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkcHAAAAHoAAABQQVIx';

test('a Parquet file in an encoding that is not known here is not told to be damaged', async () => {
  const file = await place.write('split.parquet', Buffer.from(SPLIT_INTEGERS, 'base64'));
  await assert.rejects(place.publish(file), {
    name: 'PublishError',
    message: 'column "n": the Parquet file cannot be read: it has an encoding or a compression that is not known here',
  });
});

/** A table without columns, as pyarrow writes it: a valid file. */
const NO_COLUMNS =
  'UEFSMRUEGRw1ABgGc2NoZW1hFQAAFgAZHBkMFgAWACYAFgAAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkMAEUAAABQQVIx';

test('a Parquet file without columns is not told to be damaged', async () => {
  const file = await place.write('no-columns.parquet', Buffer.from(NO_COLUMNS, 'base64'));
  await assert.rejects(place.publish(file), {
    name: 'PublishError',
    message: 'the Parquet file cannot be read: it has no columns',
  });
});

for (const [value, reason] of [
  ['not json', 'a word is neither true, false nor null'],
  ['[1, {"a": 2}', 'it ends too early'],
  ['{"codec": 1} encrypted', 'something follows the object'],
  ['"\\ud83d"', 'a text has half of a surrogate pair, such as \\ud83d alone, which is no character'],
] as const) {
  test(`a Parquet value of the type JSON that is none is no damage: ${value}`, async () => {
    // Written as JSON that is as long, since no writer of ours takes this one.
    const path = join(place.folder, 'no-json.parquet');
    const standIn = `"${'x'.repeat(value.length - 2)}"`;
    await place.query(`COPY (SELECT '${standIn}'::JSON AS j) TO '${path}' (COMPRESSION uncompressed)`);
    const file = (await readFile(path)).toString('latin1').replaceAll(standIn, value);
    await assert.rejects(place.publish(await place.write('no-json.parquet', Buffer.from(file, 'latin1'))), {
      name: 'PublishError',
      message: `column "j": the Parquet file cannot be read: a value in it of the type JSON is none: ${reason}`,
    });
  });
}

test('a Parquet file that is damaged anywhere is refused in words, unless the damage hit nothing that anybody reads', async () => {
  const path = join(place.folder, 'whole.parquet');
  const rows = `SELECT i, 'text ' || i AS t, [i, i + 1] AS l, i::DECIMAL(10, 2) AS d FROM range(20000) r(i)`;
  await place.query(`COPY (${rows}) TO '${path}' (COMPRESSION zstd)`);
  const whole = await readFile(path);
  const steps = 40;
  let refused = 0;
  for (let step = 0; step < steps; step += 1) {
    const damaged = Buffer.from(whole);
    const at = Math.floor(4 + (step / steps) * (whole.length - 12));
    for (let byte = at; byte < at + 6; byte += 1) damaged[byte] = (damaged[byte] ?? 0) ^ 0xa5;
    const error = await place.publish(await place.write('damaged.parquet', damaged)).then(
      () => undefined,
      (problem: unknown) => problem,
    );
    if (error === undefined) continue;
    refused += 1;
    assert.ok(error instanceof Error);
    assert.equal(error.name, 'PublishError', error.message);
    assert.doesNotMatch(error.message, OF_DUCKDB);
  }
  assert.ok(refused > 0);
});
