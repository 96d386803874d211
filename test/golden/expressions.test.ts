/**
 * The gallery of wrong expressions, expressions.txt: what people will write, and what they are told. A blank line separates
 * entries; the first line of an entry is the parameter and its value (`\n`, `\t` and `\u….` as in JSON), the second the code
 * and the message. To add one, write its first line and run this test with `UPDATE_GOLDEN=1`, then read what it says.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseColumnType } from '../../src/domain/column-type.ts';
import type { Column } from '../../src/domain/result-set.ts';
import { ERRORS } from '../../src/errors/errors.ts';
import { ExpressionError } from '../../src/expression/expression-error.ts';
import type { ExpressionLimits } from '../../src/expression/limits.ts';
import { parseFilter } from '../../src/expression/parse-filter.ts';
import { parseSort } from '../../src/expression/parse-sort.ts';
import { bindFilter } from '../../src/results/plan/bind-filter.ts';
import { bindSort } from '../../src/results/plan/bind-sort.ts';

const PATH = new URL('expressions.txt', import.meta.url);

const COLUMNS: readonly Column[] = Object.entries({
  block_time: 'timestamp(3) with time zone',
  block_date: 'date',
  block_number: 'bigint',
  hash: 'varbinary',
  project: 'varchar',
  amount: 'decimal(38, 18)',
  amount_usd: 'double',
  value: 'uint256',
  is_active: 'boolean',
  tags: 'array(varchar)',
  path: 'array(row(pool varbinary))',
  fees: 'map(varchar, double)',
  Chain: 'varchar',
  chain: 'varchar',
  session: 'uuid',
  opens_at: 'time',
  waited: 'interval',
  'special, column': 'varchar',
}).map(([name, type]) => ({ name, type: parseColumnType(type) }));

/** Small, so that each can be exceeded in a line. */
const LIMITS: ExpressionLimits = { lengthMax: 200, termsMax: 4, depthMax: 3, inMembersMax: 5, sortKeysMax: 3 };

interface Entry {
  readonly parameter: string;
  readonly typed: string;
  readonly heading: string;
}

const entries: Entry[] = readFileSync(PATH, 'utf8')
  .split('\n\n')
  .map((block) => block.split('\n'))
  .map((lines) => {
    const heading = lines.filter((line) => line.startsWith('#')).join('\n');
    const [, parameter, typed] =
      /^(filters|sort_by)=(.*)$/.exec(lines.find((line) => !line.startsWith('#')) ?? '') ?? [];
    assert.ok(parameter !== undefined && typed !== undefined, `not an entry of the gallery: ${lines.join(' / ')}`);
    return { parameter, typed, heading };
  });

function answerTo({ parameter, typed }: Entry): string {
  const text = JSON.parse(`"${typed.replaceAll('"', '\\"')}"`);
  try {
    if (parameter === 'filters') bindFilter(parseFilter(text, LIMITS), COLUMNS);
    else bindSort(parseSort(text, LIMITS), COLUMNS);
  } catch (error) {
    assert.ok(error instanceof ExpressionError, String(error));
    assert.ok(error.code in ERRORS);
    return `${error.code}: ${error.message}`;
  }
  return 'nothing is wrong with it';
}

test('wrong expressions are answered as the gallery shows', () => {
  const gallery = entries
    .map(
      (entry) =>
        `${entry.heading === '' ? '' : `${entry.heading}\n`}${entry.parameter}=${entry.typed}\n${answerTo(entry)}`,
    )
    .join('\n\n');
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PATH, `${gallery}\n`);
  else assert.equal(`${gallery}\n`, readFileSync(PATH, 'utf8'));
});

test('the gallery has at least forty entries, all of them wrong, each on one line', () => {
  assert.ok(entries.length >= 40);
  for (const entry of entries) {
    const answer = answerTo(entry);
    assert.match(answer, /^[a-z]+_[a-z]+: (filters|sort_by), position \d+: .* In: .*»[^«]*«/u, entry.typed);
    assert.doesNotMatch(answer, /\p{Cc}/u);
  }
});

test('every error code of the two languages is in the gallery', () => {
  const codes = Object.keys(ERRORS).filter((code) => /^(filter|sort)_/.test(code));
  const shown = new Set(entries.map((entry) => answerTo(entry).split(':')[0]));
  assert.deepEqual(
    codes.filter((code) => !shown.has(code)),
    [],
  );
});
