/** The rest is tested over HTTP (test/feature/http-publishing.test.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../../errors/errors.ts';
import { LineEnds } from './line-ends.ts';

test('objects that stand in one line are found, though they come in pieces', () => {
  const refused = new RequestError('invalid_result', 'no');
  const explained = (...chunks: readonly string[]) => {
    const ends = new LineEnds();
    for (const chunk of chunks) ends.update(Buffer.from(chunk));
    return ends.explain(refused) !== refused;
  };
  assert.equal(explained('{"n":1}', '{"n":2}'), true);
  assert.equal(explained('{', '"n":1}', '', '{'), true);
  assert.equal(explained('{"n":1}', '\n{"n":2}'), false);
  assert.equal(explained('{"n":1', '}'), false);
});
