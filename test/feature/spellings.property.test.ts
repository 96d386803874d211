/**
 * The law of spellings. With `bigints=string` an answer differs from the plain one only in integers that a double cannot tell
 * from their neighbours: these are strings of the same digits, at any depth. With `csv=spreadsheet` it differs only in the mark
 * at its start and an apostrophe before texts that a spreadsheet would run. Tested on random rows of all such types, in several
 * parts and many row groups, and on every way that rows are read.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCsv } from './csv-reader.ts';
import { type ExactValue, parseExact } from './exact-json.ts';
import { getText } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { Random } from './random-results.ts';

const SEED = Number(process.env.TEST_SEED ?? 20_261_122);
const ROWS = 3000;

/** Column → type; names that a spreadsheet would run, too. */
const TYPES = {
  n: 'bigint',
  small: 'integer',
  list: 'array(bigint)',
  deep: 'array(array(bigint))',
  map: 'map(varchar, bigint)',
  pair: 'row(a bigint, "b c" row(d array(bigint), e varchar))',
  huge: 'hugeint',
  wei: 'uint256',
  price: 'decimal(20, 3)',
  ratio: 'double',
  '=text': 'varchar',
  '@span': 'interval',
  doc: 'json',
  day: 'date',
  raw: 'varbinary',
} as const satisfies Readonly<Record<string, string>>;

/** Texts that a spreadsheet takes for a number or date anyway. */
const TEXTS: ReadonlySet<string> = new Set(['=text', '@span', 'doc']);
const RUN = /^[=+\-@\t\r]/;

const EDGE = 2n ** 53n;
const BIGINTS = [0n, 1n, -1n, EDGE - 1n, EDGE, EDGE + 1n, 1n - EDGE, -EDGE, -EDGE - 1n, 2n ** 63n - 1n, -(2n ** 63n)];
const WORDS = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tx',
  '\rx',
  "'=1",
  ' =1',
  'a=b',
  '',
  'plain',
  '=a,"b"\n',
  '-',
  '＝1',
  'é',
];

function randomRow(random: Random): string {
  const bigint = () => (random.chance(70) ? random.pick(BIGINTS) : random.whole(18));
  const bigints = () =>
    `[${Array.from({ length: random.below(4) }, () => (random.chance(10) ? 'null' : bigint())).join()}]`;
  const word = () => JSON.stringify(random.pick(WORDS));
  const cells: Readonly<Record<keyof typeof TYPES, () => unknown>> = {
    n: bigint,
    small: () => random.whole(9),
    list: bigints,
    deep: () => `[${bigints()},${bigints()}]`,
    map: () => `{"k":${bigint()},"${random.below(9)}":${bigint()}}`,
    pair: () => `{"a":${bigint()},"b c":{"d":${bigints()},"e":${word()}}}`,
    huge: () => `"${random.whole(30)}"`,
    wei: () => `"${2n ** 256n - BigInt(1 + random.below(9))}"`,
    price: () => `"${random.whole(16)}.${100 + random.below(899)}"`,
    ratio: () => random.pick(['1e300', '-0.5', '"-Infinity"', '9007199254740992', '-17']),
    '=text': word,
    '@span': () => random.pick(['"-1 day"', '"2 days"', '"-3 years"']),
    doc: () => random.pick([`{"big":${bigint()}}`, '-5', '[1]']),
    day: () => '"2024-03-05"',
    raw: () => '"0x2b"',
  };
  const members = Object.entries(cells).map(
    ([name, cell]) => `${JSON.stringify(name)}:${random.chance(8) ? null : cell()}`,
  );
  return `{${members.join()}}`;
}

/** The value with the integers of a bigint as they are to be spelled. */
function spelled(type: string, value: ExactValue): ExactValue {
  if (value === null) return null;
  if (type === 'bigint') {
    const digits = String(value).slice(1);
    return Number.isSafeInteger(Number(digits)) ? value : `s${digits}`;
  }
  if (Array.isArray(value)) return value.map((member) => spelled(type.replace(/^array\((.*)\)$/, '$1'), member));
  if (typeof value !== 'object') return value;
  const members: Readonly<Record<string, string>> = {
    sa: 'bigint',
    'sb c': 'inner',
    sd: 'array(bigint)',
    se: 'varchar',
  };
  const typeOf = (key: string) => (type.startsWith('map') ? 'bigint' : (members[key] ?? 'varchar'));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, spelled(typeOf(key), member)]));
}

/** Stored order, a view that is read directly, one that is materialised, few and many rows, some columns. */
const WAYS = [
  '',
  'limit=40',
  'filters=small > 0',
  'sort_by=small desc&offset=1500',
  'columns=pair,"=text",n&limit=2500',
];

async function published(t: Parameters<typeof startHttpService>[0]): Promise<HttpService> {
  const service = await startHttpService(t, { QRS_DIRECT_ROWS: '100', QRS_ROW_FILES: '100' });
  const random = new Random(SEED);
  const lines = Array.from({ length: ROWS }, () => randomRow(random)).join('\n');
  await service.publish(7, `${lines}\n`, { format: 'ndjson', types: TYPES, rowGroupRows: 256, rowGroupsPerPart: 3 });
  // Rows that were read twice are kept in row files, in the plain spelling.
  for (const offset of [0, 10]) await service.json(`/v1/query/7/results?limit=5&offset=${offset}`);
  const isBuilt = () => service.observed.some(({ kind }) => kind === 'row_files_built');
  while (!isBuilt()) await service.get('/healthz');
  return service;
}

const pathOf = (way: string) =>
  `/v1/query/7/results?${way === '' ? '' : `${way}&`}ignore_max_datapoints_per_request=true`;

test(`bigints=string (TEST_SEED=${SEED})`, async (t) => {
  const service = await published(t);
  for (const way of WAYS) {
    for (const format of ['ndjson', 'json']) {
      const text = async (more: string) => {
        const [status, body] = await getText(service, `${pathOf(way)}&format=${format}${more}`);
        assert.equal(status, 200, body);
        return format === 'json'
          ? body
              .replace(/^.*"rows":\[|\],"metadata":.*$/gs, '')
              .replaceAll(/\},\{"n":|\},\{"pair":/g, (found) => `}\n${found.slice(2)}`)
          : body.trimEnd();
      };
      const rowsOf = (lines: string) =>
        lines.split('\n').map((line) => parseExact(line) as Readonly<Record<string, ExactValue>>);
      const [plain, asked] = [rowsOf(await text('')), rowsOf(await text('&bigints=string'))];
      const expected = plain.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([key, value]) => [key, spelled(TYPES[key.slice(1) as keyof typeof TYPES], value)]),
        ),
      );
      assert.deepEqual(asked, expected, `${way} ${format}`);
      assert.notDeepEqual(asked, plain, `${way} ${format}: nothing was tried`);
    }
  }
});

test(`csv=spreadsheet (TEST_SEED=${SEED})`, async (t) => {
  const service = await published(t);
  for (const way of WAYS) {
    const [status, plain] = await getText(service, `${pathOf(way)}&format=csv`);
    const answer = await service.get(`${pathOf(way)}&format=csv&csv=spreadsheet`);
    const asked = Buffer.from(await answer.arrayBuffer());
    assert.deepEqual([status, answer.status, asked.subarray(0, 3).toString('hex')], [200, 200, 'efbbbf']);
    const [names = [], ...rows] = readCsv(plain);
    const guard = (text: string) => (RUN.test(text) ? `'${text}` : text);
    const expected = rows.map((row) =>
      row.map(({ text }, at) => (TEXTS.has(names[at]?.text ?? '') ? guard(text) : text)),
    );
    const found = readCsv(asked.subarray(3).toString()).map((row) => row.map(({ text }) => text));
    assert.deepEqual(found, [names.map(({ text }) => guard(text)), ...expected], way);
  }
});

test("both are part of the tag and of the next page's address, and are refused where they do not apply", async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n,w\n9007199254740993,=1\n-9007199254740993,b\n');
  const seen = async (query: string) => {
    const answer = await service.get(`/v1/query/7/results?limit=1&${query}`);
    return { etag: answer.headers.get('etag'), link: answer.headers.get('link') ?? '', body: await answer.text() };
  };
  for (const [format, parameter] of [
    ['json', 'bigints=string'],
    ['ndjson', 'bigints=string'],
    ['csv', 'csv=spreadsheet'],
  ]) {
    const [plain, asked] = [await seen(`format=${format}`), await seen(`format=${format}&${parameter}`)];
    assert.notEqual(asked.etag, plain.etag);
    assert.notEqual(asked.body, plain.body);
    assert(asked.link.includes(parameter ?? ''), asked.link);
  }
  assert.equal((await seen('format=ndjson&bigints=STRING')).body, '{"n":"9007199254740993","w":"=1"}\n');
  // Reading it as text removes the mark.
  assert.equal((await seen('format=csv&csv=spreadsheet')).body, "n,w\n9007199254740993,'=1\n");
  const many = Array.from({ length: 250 }, (_, at) => `c${at}`).join();
  const numbers = Array.from({ length: 250 }, (_, at) => 9007199254740990 + at).join();
  await service.publish(8, `${many},t\n${numbers},-x\n`);
  const wide = JSON.parse(await (await service.get('/v1/query/8/results?format=ndjson&bigints=string')).text());
  assert.deepEqual([wide.c1, wide.c2], [9007199254740991, '9007199254740992']);
  assert((await (await service.get('/v1/query/8/results/csv?csv=spreadsheet')).text()).endsWith(",'-x\n"));
  assert.deepEqual(await getText(service, '/v1/query/7/results?bigints=text'), [
    400,
    '{"error":"bigints: found \\"text\\", expected number or string"}',
  ]);
  assert.deepEqual(await getText(service, '/v1/query/7/results?csv=excel'), [
    400,
    '{"error":"csv: found \\"excel\\", expected plain or spreadsheet"}',
  ]);
});
