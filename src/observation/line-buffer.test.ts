import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { LineBuffer } from './line-buffer.ts';

/** A stream that accepts writes when the test says so. */
function stream() {
  const texts: string[] = [];
  const waiting: ((error?: Error) => void)[] = [];
  const write = (text: string, done: (error?: Error) => void) => {
    texts.push(text);
    waiting.push(done);
  };
  const settle = (error?: Error) => waiting.shift()?.(error);
  return { texts, write, settle };
}

const gapLine = (lines: number) => `${lines} missing\n`;

test('the lines of one turn are written together', async () => {
  const { texts, write } = stream();
  const buffer = new LineBuffer({ write, gapLine });
  buffer.add('a\n');
  buffer.add('b\n');
  assert.deepEqual(texts, []);
  await turn();
  assert.deepEqual(texts, ['a\nb\n']);
});

test('while the stream is busy lines wait, up to the bound; further ones are dropped and reported', async () => {
  const { texts, write, settle } = stream();
  const buffer = new LineBuffer({ write, gapLine, lengthMax: 6 });
  buffer.add('a\n');
  await turn();
  for (const line of ['b\n', 'c\n', 'd\n', 'e\n', 'f\n']) buffer.add(line);
  await turn();
  assert.deepEqual(texts, ['a\n']);
  assert.equal(buffer.dropped, 2);
  settle();
  assert.deepEqual(texts, ['a\n', '2 missing\nb\nc\nd\n']);
  settle();
  buffer.add('g\n');
  await turn();
  assert.deepEqual(texts.slice(2), ['g\n']);
  assert.equal(buffer.dropped, 2);
});

test('lines that could not be written are counted, and later ones are written again', async () => {
  const { texts, write, settle } = stream();
  const buffer = new LineBuffer({ write, gapLine });
  buffer.add('a\n');
  buffer.add('b\n');
  await turn();
  settle(new Error('no space left'));
  assert.equal(buffer.dropped, 2);
  buffer.add('c\n');
  await turn();
  settle();
  assert.deepEqual(texts, ['a\nb\n', 'c\n', '2 missing\n']);
});
