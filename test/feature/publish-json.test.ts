/** Publishing NDJSON: no digit of a number is lost, in quotes or not, at the top or nested. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

const LONG = '12345678901234567890.123456';

/** Values of the column `d`, its type (declared where it has a !), and the texts stored. */
const EXACT: readonly (readonly [readonly string[], string, readonly (string | null)[]])[] = [
  [[LONG, `"${LONG}"`, '1e2', 'null'], '!decimal(38, 6)', [LONG, LONG, '100.000000', null]],
  [[LONG, '1.5'], 'decimal(26, 6)', [LONG, '1.500000']],
  [['1.50', '100.0'], 'double', ['1.5', '100.0']],
  [['0.1', '0.30000000000000004'], 'double', ['0.1', '0.30000000000000004']],
  [['0.12345678901234567890'], 'decimal(20, 19)', ['0.1234567890123456789']],
  [['12345678901234567890.0'], '!uint256', ['12345678901234567890']],
  [['1.50', '"x"', '1e2'], 'varchar', ['1.50', 'x', '1e2']],
  [['1.50', '"1.50"'], '!varchar', ['1.50', '1.50']],
  [['-0', '"x"'], 'varchar', ['-0', 'x']],
  [['-0', '0', '-0.0'], 'double', ['0.0', '0.0', '0.0']],
  [['-0', '[-0, "a, -0"]', '{"k":-0}'], '!json', ['-0', '[-0,"a, -0"]', '{"k":-0}']],
  [['[-0, "x"]', '[0]'], 'array(json)', [`[-0, '"x"']`, '[0]']],
  [['[-0]', '[1]'], 'array(bigint)', ['[0]', '[1]']],
  [
    ['{"k":1.50}', '[1E+2, "x 1.50"]', '"\\"x\\""', '"{\\"k\\": 1.50}"', '"null"'],
    '!json',
    ['{"k":1.50}', '[1E+2,"x 1.50"]', '"x"', '{"k": 1.50}', 'null'],
  ],
  [['["{\\"k\\": 1.50}", 2.50]'], '!array(json)', [`['{"k": 1.50}', 2.50]`]],
  [['1e-300', '2.0E-300'], 'double', ['1e-300', '2e-300']],
  [['1e-400', '3e-324', '1'], 'varchar', ['1e-400', '3e-324', '1']],
  [['[1e-400]'], 'json', ['[1e-400]']],
  [['1.5', '"NaN"', '"-Infinity"'], 'double', ['1.5', 'nan', '-inf']],
  [
    ['[NaN,{"a":-Infinity,"b":"NaN, \\" inf"},1.50,1e2,null,true]', '{"a":NaN}'],
    'json',
    ['["NaN",{"a":"-Infinity","b":"NaN, \\" inf"},1.50,1e2,null,true]', '{"a":"NaN"}'],
  ],
  [[`[${LONG},{"a":NaN}]`], '!json', [`[${LONG},{"a":"NaN"}]`]],
  [['"NaN"', '"x"'], 'varchar', ['NaN', 'x']],
  [[`[${LONG},null]`], '!array(decimal(38, 6))', [`[${LONG}, NULL]`]],
  [[`"[${LONG},null]"`], '!array(decimal(38, 6))', [`[${LONG}, NULL]`]],
  [[`[${LONG},null]`], 'json', [`[${LONG},null]`]],
  [['[0.30000000000000004,null,1]'], 'array(double)', ['[0.30000000000000004, NULL, 1.0]']],
  [['[0.1000000000000000000000001]'], '!array(double)', ['[0.1]']],
  [
    [`{"a": ${LONG}, "b": "x 1.50 \\" ${LONG}", "c": [{"k": 1.50}]}`],
    '!row(a decimal(38, 6), b varchar, c json)',
    [`{'f0': ${LONG}, 'f1': 'x 1.50 " ${LONG}', 'f2': '[{"k":1.50}]'}`],
  ],
  [[`{"a":${LONG},"b":[1.50]}`], '!map(varchar, varchar)', [`{a=${LONG}, b='[1.50]'}`]],
];

test('−0 among whole numbers of any length is 0, also beside a text that is a number elsewhere', async () => {
  for (const [whole, type] of [
    ['7', 'bigint'],
    ['9223372036854775808', 'hugeint'],
    ['-170141183460469231731687303715884105729', 'int256'],
    ['170141183460469231731687303715884105728', 'uint256'],
  ] as const) {
    for (const number of ['1.5', LONG]) {
      const rows = [`{"a":${whole},"b":"x"}`, `{"a":-0,"b":"x"}`, `{"a":-0,"b":${number}}`];
      const execution = await place.publish(await place.write('minus-zero.ndjson', rows.join('\n')));
      assert.deepEqual(await place.columns(execution), [`a ${type}`, 'b varchar']);
      assert.deepEqual(await place.rows(execution), [
        [whole, 'x'],
        ['0', 'x'],
        ['0', number],
      ]);
    }
  }
});

for (const [values, type, expected] of EXACT) {
  test(`${values.join(' ')} ${type.startsWith('!') ? 'declared' : 'is'} ${type.replace('!', '')}`, async () => {
    const file = await place.write('exact.ndjson', values.map((value) => `{"d":${value}}\n`).join(''));
    const execution = await place.publish(file, type.startsWith('!') ? { declared: { d: type.slice(1) } } : {});
    assert.deepEqual(await place.columns(execution), [`d ${type.replace('!', '')}`]);
    assert.deepEqual(
      await place.rows(execution),
      expected.map((text) => [text]),
    );
  });
}

test('a value that its declared type cannot hold is refused: other text, finer times, other years, keys that become equal', async () => {
  for (const [value, type] of [
    ['"x"', 'json'],
    ['"10:00:00.1234567"', 'time'],
    ['"10:00:00.1234567+01"', 'time with time zone'],
    ['"0000-12-31"', 'date'],
    ['"0001-01-01 00:00:00+02"', 'timestamp(3) with time zone'],
    ['"9999-12-31 23:00:00-02"', 'timestamp(6) with time zone'],
    ['"2262-04-11 23:47:16.854775807"', 'timestamp(9)'],
    ['{"1":1,"01":2}', 'map(integer, integer)'],
    ['"1.0000001"', 'decimal(40, 6)'],
  ] as const) {
    const file = await place.write('beyond.ndjson', `{"d":null}\n{"d":${value}}\n`);
    await assert.rejects(place.publish(file, { declared: { d: type } }), {
      message: `row 2, column "d": ${JSON.stringify(value)} cannot be stored as ${type}`,
    });
  }
});

test('a number that its declared type cannot hold is refused with its digits, naming row and column', async () => {
  for (const [value, type] of [
    [LONG, 'decimal(38, 2)'],
    [LONG, 'bigint'],
    [`[${LONG}]`, 'array(decimal(38, 2))'],
  ] as const) {
    const file = await place.write('inexact.ndjson', `{"d":null}\n{"d":${value}}\n`);
    await assert.rejects(place.publish(file, { declared: { d: type } }), {
      message: `row 2, column "d": ${JSON.stringify(value)} cannot be stored as ${type}`,
    });
  }
});

test('a byte order mark at the beginning of a key or a text is a part of it', async () => {
  const file = await place.write('marks.ndjson', '{"\ufeffn":1,"n":"\ufefftext"}\n{"n":"\ufeff","\ufeffn":2}\n');
  const execution = await place.publish(file);
  assert.deepEqual(await place.columns(execution), ['\ufeffn bigint', 'n varchar']);
  assert.deepEqual(await place.rows(execution), [
    ['1', '\ufefftext'],
    ['2', '\ufeff'],
  ]);
});

test('the noncharacter U+FDD0 is text, but not beside a number of many digits', async () => {
  const fine = await place.publish(
    await place.write('mark.ndjson', '{"d":1.5,"t":"\\ufdd0"}\n{"d":1.50,"t":"\ufdd0"}\n'),
  );
  assert.deepEqual(await place.rows(fine), [
    ['1.5', '\ufdd0'],
    ['1.5', '\ufdd0'],
  ]);
  for (const text of ['\ufdd0', '\\ufdd0', '\\uFDD0']) {
    const file = await place.write('mark.ndjson', `{"d":1.5,"t":""}\n{"d":${LONG},"t":"${text}"}\n`);
    await assert.rejects(place.publish(file), /line 2: the text holds U\+FDD0.*put the number in quotes/);
  }
});

test('any number written in any way, among any text, keeps its digits', async () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 18 });
  const whole = fc.oneof(
    fc.constant('0'),
    digits.map((text) => `1${text}`),
  );
  const number = fc.tuple(fc.constantFrom('', '-'), whole, digits).map(([sign, a, b]) => `${sign}${a}.${b}`);
  const text = fc.string({ unit: fc.constantFrom(...'0123456789.,:"\\[{} é-e') });
  const blank = fc.constantFrom('', ' ', '\t');
  const row = fc.record({ number, text, blank, nested: number });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
      const lines = rows.map(
        (r) =>
          `{"t":${r.blank}${JSON.stringify(r.text)},"n":${r.blank}${r.number},"l":[${r.nested},${r.blank}${r.number}]}\n`,
      );
      const file = await place.write('any.ndjson', lines.join(''));
      const declared = { t: 'varchar', n: 'decimal(38, 18)', l: 'array(decimal(38, 18))' };
      const execution = await place.publish(file, { declared });
      const padded = (n: string) => {
        const value = n.padEnd(n.indexOf('.') + 19, '0');
        return /^-[0.]*$/.test(value) ? value.slice(1) : value;
      };
      assert.deepEqual(
        await place.rows(execution),
        rows.map((r) => [r.text, padded(r.number), `[${padded(r.nested)}, ${padded(r.number)}]`]),
      );
    }),
    { numRuns: 15 },
  );
});

test('a number with an exponent goes into a column of decimals, also beside text that keeps how numbers are written', async () => {
  const lines = [`{"d":1e5,"t":1.50}`, `{"d":${LONG},"t":"x"}`];
  const execution = await place.publish(
    await place.write('exponent.ndjson', lines.map((line) => `${line}\n`).join('')),
  );
  assert.deepEqual(await place.columns(execution), ['d decimal(26, 6)', 't varchar']);
  assert.deepEqual(await place.rows(execution), [
    ['100000.000000', '1.50'],
    [LONG, 'x'],
  ]);
});

test('values nested more than 100 deep are json, and kept as they are', async () => {
  const objects = (depth: number) => `${'{"k":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const lists = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`;
  for (const deep of [objects(101), objects(50_000), lists(101), lists(300_000)]) {
    const file = await place.write('abyss.ndjson', `{"d":${deep}}\n{"d":[1]}\n`);
    const execution = await place.publish(file);
    assert.deepEqual(await place.columns(execution), ['d json']);
    assert.deepEqual(await place.rows(execution), [[deep], ['[1]']]);
  }
});

test('objects of more different keys than a row may have are json, and kept as they are; of many columns those with the most', async () => {
  const object = (count: number, from = 0) => {
    const members = Array.from({ length: count }, (_, at) => `"k${from + at}":"x"`);
    return `{${members.join(',')}}`;
  };
  const kinds = async (name: string, rows: readonly string[]) => {
    const execution = await place.publish(await place.write(name, rows.map((row) => `${row}\n`).join('')));
    const columns = (await place.columns(execution)).map((column) => column.split('(', 1)[0]);
    return [columns, await place.rows(execution)] as const;
  };
  const [wide, wideRows] = await kinds('wide.ndjson', [`{"d":${object(100_000)}}`, '{"d":[1]}']);
  assert.deepEqual([wide, wideRows], [['d json'], [[object(100_000)], ['[1]']]]);
  const [more] = await kinds('more.ndjson', [`{"d":[${object(201)}]}`, `{"d":[${object(200, 201)}]}`]);
  assert.deepEqual(more, ['d json']);
  const [most] = await kinds('most.ndjson', [`{"d":${object(200)}}`, `{"d":${object(200, 200)}}`]);
  assert.deepEqual(most, ['d row']);
  const [many] = await kinds('many.ndjson', [`{"a":${object(210)},"b":${object(210)},"c":${object(190)}}`]);
  assert.deepEqual(many, ['a row', 'b json', 'c row']);
  const alike = Array.from({ length: 50 }, (_, at) => `"c${at}":${object(9)}`);
  const [shared] = await kinds('shared.ndjson', [`{${alike.join(',')}}`]);
  assert.deepEqual(new Set(shared.map((column) => column?.split(' ')[1])), new Set(['row']));
});

test('values with very many brackets that are not deep keep their type, whatever their texts hold', async () => {
  const wide = `[${'{"k":[1],"t":"]}\\"[[{"},'.repeat(2000)}{"k":[2],"t":"${'[{'.repeat(200)}"}]`;
  const file = await place.write('wide.ndjson', `{"d":${wide}}\n`);
  const execution = await place.publish(file);
  assert.deepEqual(await place.columns(execution), ['d array(row(k array(bigint), t varchar))']);
});

test('an object with a key twice, nested and without a declared type, is kept as it is written', async () => {
  const key = fc.constantFrom('a', 'b');
  const { value, object } = fc.letrec<{ value: string; object: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('1', 'null', '2.50', '"x"'),
      tie('object'),
      fc.array(tie('value'), { maxLength: 2 }).map((members) => `[${members.join(',')}]`),
    ),
    object: fc
      .array(fc.tuple(key, tie('value')), { minLength: 1, maxLength: 3 })
      .map((members) => `{${members.map(([name, member]) => `"${name}":${member}`).join(',')}}`),
  }));
  await fc.assert(
    fc.asyncProperty(fc.array(object, { maxLength: 4 }), value, async (others, within) => {
      const values = [...others, `{"a":${within},"b":1,"a":${within}}`];
      const file = await place.write('twice.ndjson', values.map((text) => `{"d":{"k":${text}}}\n`).join(''));
      const execution = await place.publish(file);
      assert.deepEqual(await place.columns(execution), ['d json']);
      assert.deepEqual(
        await place.rows(execution),
        values.map((text) => [`{"k":${text}}`]),
      );
    }),
    { numRuns: 5 },
  );
});
