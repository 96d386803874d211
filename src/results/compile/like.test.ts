import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';
import { sleep } from '../../../test/real-time.ts';
import { DuckDb } from '../../duckdb/duckdb.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import { parsePattern } from '../plan/literals/pattern.ts';
import { compileLike } from './like.ts';

let duckDb: DuckDb;

before(async () => {
  const directory = tmpdir();
  duckDb = await DuckDb.open({
    threads: 1,
    memoryLimit: '256MB',
    tempDirectory: directory,
    tempSizeMax: '64MB',
    sleep,
    allowedDirectories: [directory],
  });
});

after(() => duckDb[Symbol.asyncDispose]());

async function isLike(text: string, pattern: string, caseInsensitive = false, escapeText?: string): Promise<unknown> {
  const parameters = new Parameters();
  const reading = parsePattern(pattern, escapeText);
  assert.ok(reading.kind === 'pattern');
  const value = `${parameters.add(text)}::VARCHAR`;
  const sql = compileLike('t', reading.pattern, caseInsensitive, parameters);
  const statement = { text: `SELECT ${sql} FROM (SELECT ${value} AS t)`, values: parameters.values };
  const [[answer] = []] = await duckDb.query(statement, AbortSignal.timeout(20_000));
  return answer;
}

test('% is any text, _ any one character, and both themselves after the escape character', async () => {
  assert.equal(await isLike('WETH-USDC', '%USDC'), true);
  assert.equal(await isLike('a😀c', 'a_c'), true);
  assert.equal(await isLike('line\nbreak', 'line%break'), true);
  assert.equal(await isLike('line\nbreak', 'line_break'), true);
  assert.equal(await isLike('50%', '50$%', false, '$'), true);
  assert.equal(await isLike('500', '50$%', false, '$'), false);
  assert.equal(await isLike('a\\b', 'a\\b'), true);
  assert.equal(await isLike('', ''), true);
  assert.equal(await isLike('x', ''), false);
  assert.equal(await isLike('a.c', 'a._'), true);
  assert.equal(await isLike('abc', 'a._'), false);
});

test('ilike ignores case, in any alphabet', async () => {
  assert.equal(await isLike('ÉCOLE', 'école', true), true);
  assert.equal(await isLike('ΣΊΣΥΦΟΣ', 'σ_συφο%', true), true);
  assert.equal(await isLike('ÉCOLE', 'école'), false);
});

test('patterns made to be slow are evaluated at once', async () => {
  const text = 'a'.repeat(4_000);
  for (const pattern of ['%a%a_%b', `${'%a'.repeat(49)}_%b`, `${'%_a'.repeat(49)}%b`, `${'%a'.repeat(98)}%b`]) {
    assert.equal(await isLike(text, pattern), false);
    assert.equal(await isLike(text, pattern, true), false);
  }
});
