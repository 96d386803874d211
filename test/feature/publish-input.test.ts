/**
 * What is accepted as input: text with other delimiters and encodings, compressed files. And what is refused, named as what it
 * is.
 */
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { openPublisher } from '../../src/publisher.ts';
import { makeCommandLine } from './command.ts';
import { Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const ZIP_ENTRY = 'PK\x03\x04\x14\0\0\0\x08\0';

const REFUSED: readonly (readonly [what: string, name: string, content: string | Buffer, message: RegExp])[] = [
  ['a page of HTML', 'x.csv', '<!DOCTYPE html>\n<html><body>Sign in, please</body></html>\n', /a page of HTML/],
  ['HTML after a mark and a line', 'x', '\ufeff\n<html lang="en">\n', /a page of HTML/],
  ['XML', 'x.csv', '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', /XML or HTML/],
  ['bzip2', 'x.csv', latin1('BZh91AY&SY\x94$|\x1b\0\0'), /compressed by bzip2: decompress it/],
  ['xz', 'x.ndjson', latin1('\xfd7zXZ\0\0\x04'), /compressed by xz/],
  ['a zip archive, cut off', 'x.csv', latin1(`${ZIP_ENTRY}table.csv a,b`), /a zip archive: unpack it/],
  ['a spreadsheet', 'x.xlsx', latin1(`${ZIP_ENTRY}[Content_Types].xml`), /a spreadsheet.*save the sheet as CSV/],
  ['an old spreadsheet', 'x.xls', latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'), /old Office file/],
  ['a PDF', 'x.csv', '%PDF-1.7\n1 0 obj\n', /a PDF document/],
  ['an SQLite file', 'x', latin1('SQLite format 3\0\x10\0\x01\x01'), /an SQLite database: export a table of it as CSV/],
  ['an Arrow file', 'x', latin1('ARROW1\0\0\xff\xff\xff\xff'), /an Arrow \(Feather\) file: convert it to Parquet/],
  ['an image', 'x.csv', latin1('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), /an image/],
  ['other binary data', 'x.csv', Buffer.from([1, 2, 3, 0, 250, 1, 44, 10]), /binary data/],
  [
    'a header in Latin-1',
    'x.csv',
    latin1('name,größe\na,1\n'),
    /^line 1: the text is not UTF-8: say what it is, or save it as UTF-8$/,
  ],
  [
    'a row in Latin-1',
    'x.csv',
    latin1('name\ngröße\n'),
    /^line 2: the text is not UTF-8: say what it is, or save it as UTF-8$/,
  ],
  [
    'UTF-16 without a mark',
    'x.csv',
    utf16('name,size\na,1\n'),
    /^the file is UTF-16 text, expected UTF-8: say so, or save it as UTF-8$/,
  ],
  ['cut gzip', 'x.csv.gz', gzipSync('a\n1\n'.repeat(999)).subarray(0, -6), /the gzip data ends early/],
  ['cut zstd', 'x.csv.zst', zstdCompressSync('a\n1\n'.repeat(999)).subarray(0, -2), /the zstd data ends early/],
  [
    'damaged gzip',
    'x.csv.gz',
    Buffer.concat([gzipSync('a\n1\n').subarray(0, -8), Buffer.alloc(8, 1)]),
    /gzip data is damaged/,
  ],
  ['HTML in gzip', 'x.csv.gz', gzipSync('<html></html>'), /a page of HTML/],
  ['JSON called CSV', 'x.csv', '{"a":1}\n{"a":2}\n', /the file is JSON, not CSV/],
  [
    'the error of an API',
    'x.ndjson',
    '{"error":"invalid API Key"}',
    /error of an API.*"invalid API Key".*declare its types$/,
  ],
  ['the same with more', 'x.json', '{"status":404,"error":{"code":7}}\n', /error of an API/],
];

for (const [what, name, content, message] of REFUSED) {
  test(`refused, with nothing left: ${what}`, async () => {
    const file = await place.write(name, content);
    await assert.rejects(place.publish(file), { name: 'PublishError', message });
    assert.deepEqual(await readdir(place.staging), []);
    assert.deepEqual(await place.catalog.leases.list('write:'), []);
  });
}

test('the names of folders are no values of a file', async () => {
  for (const [folder, name, content] of [
    ['s0=abc', 'rows.csv', 'a,b\n1,x\n'],
    ['json=5', 'rows.ndjson', '{"a":"1","b":"x"}\n'],
  ] as const) {
    await mkdir(join(place.folder, folder));
    const file = await place.write(join(folder, name), content);
    const execution = await place.publish(file, { declared: { a: 'varchar', b: 'varchar' } });
    assert.deepEqual(await place.rows(execution), [['1', 'x']], folder);
  }
});

const TEXT = 'name,größe\nÄnne,1\n"b\n€",2\n';
const CELLS = [
  ['Änne', '1'],
  ['b\n€', '2'],
];

const TAKEN: readonly (readonly [
  what: string,
  name: string,
  content: string | Buffer,
  more?: Parameters<Workplace['publish']>[1],
])[] = [
  ['gzip by its bytes, whatever its name', 'x.csv', gzipSync(TEXT)],
  ['gzip of several members', 'x.csv.gz', Buffer.concat([gzipSync(TEXT.slice(0, 9)), gzipSync(TEXT.slice(9))])],
  ['zstd', 'x.csv.zst', zstdCompressSync(TEXT)],
  [
    'zstd of several frames',
    'x.zst',
    Buffer.concat([
      zstdCompressSync(TEXT.slice(0, 9)),
      zstdCompressSync(TEXT.slice(9, 20)),
      zstdCompressSync(TEXT.slice(20)),
    ]),
  ],
  ['gzip of NDJSON', 'x.ndjson.gz', gzipSync('{"name":"Änne","größe":1}\n{"name":"b\\n€","größe":2}\n')],
  ['UTF-16 with a mark', 'x.csv', utf16(`\ufeff${TEXT}`), { encoding: 'utf-16' }],
  ['UTF-16, big end first', 'x.csv', utf16(`\ufeff${TEXT}`).swap16(), { encoding: 'utf-16' }],
  ['UTF-16 without a mark', 'x.csv', utf16(TEXT), { encoding: 'utf-16le' }],
  ['Windows-1252', 'x.csv', latin1(TEXT.replace('€', '\x80')), { encoding: 'windows-1252' }],
  ['compressed UTF-16', 'x.csv.gz', gzipSync(utf16(`\ufeff${TEXT}`)), { encoding: 'utf-16' }],
  ['a delimiter of its own', 'x.csv', TEXT.replaceAll(',', '|'), { delimiter: '|' }],
  ['a tab, said', 'x.csv', TEXT.replaceAll(',', '\t'), { delimiter: '\t' }],
];

for (const [what, name, content, more] of TAKEN) {
  test(`taken: ${what}`, async () => {
    const execution = await place.publish(await place.write(name, content), more);
    assert.deepEqual(await place.columns(execution), ['name varchar', 'größe bigint']);
    assert.deepEqual(await place.rows(execution), CELLS);
  });
}

test('Latin-1 has the characters of Unicode from U+0000 to U+00FF', async () => {
  const execution = await place.publish(await place.write('x.csv', latin1('größe\n\x80é\n')), { encoding: 'latin-1' });
  assert.deepEqual(await place.rows(execution), [['\x80é']]);
});

test('a comma is no delimiter where another one is given', async () => {
  const execution = await place.publish(await place.write('x.csv', 'a,b;c\n1,2;3\n'), { delimiter: ';' });
  assert.deepEqual(await place.columns(execution), ['a,b varchar', 'c bigint']);
  assert.deepEqual(await place.rows(execution), [['1,2', '3']]);
});

test('NDJSON without rows has the declared columns', async () => {
  for (const content of ['', '\n', '[]']) {
    const file = await place.write('none.ndjson', content);
    const execution = await place.publish(file, { declared: { a: 'uint256', b: 'array(varchar)' } });
    assert.deepEqual(await place.columns(execution), ['a uint256', 'b array(varchar)']);
    assert.deepEqual(await place.rows(execution), []);
    await assert.rejects(place.publish(file), /no columns/);
  }
});

test('a row with an error beside other columns, and many rows with errors, are rows', async () => {
  const mixed = await place.publish(await place.write('a.ndjson', '{"error":"none","job":7}\n'));
  assert.deepEqual(await place.rows(mixed), [['none', '7']]);
  const many = await place.publish(await place.write('b.ndjson', '{"error":"x"}\n{"error":"y"}\n'));
  assert.deepEqual(await place.rows(many), [['x'], ['y']]);
  const meant = await place.publish(await place.write('c.ndjson', '{"error":"x"}\n'), {
    declared: { error: 'varchar' },
  });
  assert.deepEqual(await place.rows(meant), [['x']]);
});

test('options that do not fit the file are refused', async () => {
  const parquet = join(place.folder, 'x.parquet');
  await place.query(`COPY (SELECT 1 AS a) TO '${parquet}'`);
  await assert.rejects(place.publish(parquet, { delimiter: ';' }), /a delimiter is for CSV, and the file is Parquet/);
  await assert.rejects(place.publish(parquet, { encoding: 'latin-1' }), /a Parquet file has no text encoding/);
  const csv = await place.write('x.csv', 'a\n12\n');
  await assert.rejects(place.publish(csv, { delimiter: '::' }), /A delimiter is one character/);
  await assert.rejects(place.publish(csv, { encoding: 'utf-16' }), /the text is not utf-16/);
});

test('what is not UTF-16, but could be read as it, is refused: it would be names in signs that nobody wrote, and no rows', async () => {
  const even = 'name,amount\nann,1\n';
  assert.equal(even.length % 2, 0);
  for (const [content, encoding] of [
    [even, 'utf-16'],
    [even, 'utf-16le'],
    [even, 'utf-16be'],
    [`${even}ää\n\n`.repeat(10_000), 'utf-16'],
    [utf16(even), 'utf-16be'],
    [utf16(even).swap16(), 'utf-16le'],
    [utf16(even).swap16(), 'utf-16'],
  ] as const) {
    await assert.rejects(place.publish(await place.write('x.csv', content), { encoding }), {
      name: 'PublishError',
      message: `the text is not ${encoding}: read as that, it has no character of ASCII, and so no line end`,
    });
  }
});

test('the command and the library take the same, from files and from standard input', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const path = await place.write('x.txt.gz', gzipSync(latin1('n|größe\n1|2\n')));
  const options = ['--query', '7', '--format', 'csv', '--delimiter', '|', '--encoding', 'latin-1'];
  await qrs.get('publish', path, ...options);
  await using publisher = await openPublisher({ QRS_DATA_DIR: qrs.dataDir, ...qrs.catalog });
  const source = { kind: 'stream', stream: createReadStream(path) } as const;
  const execution = await publisher.publish({ queryId: 7, source, format: 'csv', delimiter: '|', encoding: 'latin-1' });
  assert.equal(execution.state, 'COMPLETED');
  const wrong = await qrs.run(['publish', path, '--query', '7', '--delimiter', 'ab']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /A delimiter is one character/);
});
