/** Texts that cannot be sent as they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryResults } from '../src/index.ts';
import { addressOf } from '../src/target.ts';

test('half of a surrogate pair, which would be sent as another character, is told before anything is asked', async () => {
  const fetch = () => assert.fail('asked');
  const client = new QueryResults({ url: 'https://x.example', key: 'k', fetch });
  const told = (name: string) => ({ name: 'TypeError', message: `${name} has half of a surrogate pair` });
  await assert.rejects(client.read({ query: 7, filters: "t = '\ud83d'" }), told('filters'));
  await assert.rejects(client.csv({ query: 7, columns: ['\ude00'] }), told('columns'));
  await assert.rejects(client.read({ query: 7, parameters: { t: '\ud83d' } }), told('params.t'));
  const whole = addressOf({ query: 7 }, { search: '😀' }, {});
  assert.equal(whole, '/v1/query/7/results?search=%F0%9F%98%80');
});
