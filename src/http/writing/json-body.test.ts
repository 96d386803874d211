import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { JSON_DEPTH_MAX, JSON_VALUES_MAX, readJsonBody } from './json-body.ts';

const read = async (text: string) => await readJsonBody(Readable.from([Buffer.from(text)]));

test('a body of as many values as may be is read, one with one more is refused before it is parsed', async () => {
  const list = (length: number) => `[${Array.from({ length }, () => '{}').join(',')}]`;
  // Each object counts, and the comma after it; so does the list.
  assert.equal(((await read(list(JSON_VALUES_MAX / 2 - 1))) as unknown[]).length, JSON_VALUES_MAX / 2 - 1);
  await assert.rejects(read(list(JSON_VALUES_MAX / 2 + 1)), { message: 'the body has more than 10000 values' });
  await assert.rejects(read(list(JSON_VALUES_MAX)), { message: 'the body has more than 10000 values' });
});

test('a body nested as deep as may be is read, a deeper one is refused', async () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  assert.ok(Array.isArray(await read(nested(JSON_DEPTH_MAX))));
  await assert.rejects(read(nested(JSON_DEPTH_MAX + 1)), { message: 'the body is nested more than 50 deep' });
});

test('commas, brackets and escaped quotes within texts are no values', async () => {
  const text = `${',[{'.repeat(JSON_VALUES_MAX)}"\\`;
  assert.deepEqual(await read(JSON.stringify({ text, 'and "names" \\': '\\"' })), { text, 'and "names" \\': '\\"' });
  await assert.rejects(read('{"open: 1, 2'), /the body is no JSON/);
});

test('half of a surrogate pair is refused, in a text or a name: it would be stored as another character', async () => {
  assert.deepEqual(await read('{"\\ud83d\\ude00":"\\\\ud83d"}'), { '😀': '\\ud83d' });
  for (const text of ['{"a":"\\ud83d"}', '{"\\uDE00":1}']) {
    await assert.rejects(read(text), {
      message: 'the body is no JSON: a text has half of a surrogate pair, which is no character',
    });
  }
});
