import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letOthersRun } from '../../domain/time.ts';
import { PagesAhead } from './pages-ahead.ts';

const signal = new AbortController().signal;

/** Pages are texts, of so many bytes as characters. */
function pagesAhead(bytesMax = 100_000): PagesAhead<string> {
  return new PagesAhead(bytesMax, (page) => page.length);
}

/** Begins to read a page, which the test then gives. */
function begin(pages: PagesAhead<string>, identity: string) {
  const reading = Promise.withResolvers<string>();
  let ended: AbortSignal | undefined;
  pages.begin(identity, (during) => {
    ended = during;
    during.addEventListener('abort', () => reading.reject(during.reason));
    return reading.promise;
  });
  return { ...reading, isBegun: ended !== undefined };
}

test('somebody walks who asks for the page that follows one which was answered', () => {
  const pages = pagesAhead();
  assert.equal(pages.noteAnswered('"1"', '"2"'), false);
  assert.equal(pages.noteAnswered('"7"', '"8"'), false);
  assert.equal(pages.noteAnswered('"2"', '"3"'), true);
});

test('a page that has been read is given to one request', async () => {
  const pages = pagesAhead();
  begin(pages, 'a').resolve('page');
  await letOthersRun();
  assert.ok(pages.bytes > 0);
  assert.equal(await pages.take('a', signal), 'page');
  assert.equal(await pages.take('a', signal), undefined);
  assert.equal(pages.bytes, 0);
});

test('a page that is being read is given to one request, and then is not there for another, nor instead of one begun later', async () => {
  const pages = pagesAhead();
  const { resolve } = begin(pages, 'a');
  const taken = pages.take('a', signal);
  assert.equal(await pages.take('a', signal), undefined);
  const again = begin(pages, 'a');
  resolve('page');
  assert.equal(await taken, 'page');
  await letOthersRun();
  const second = pages.take('a', signal);
  again.resolve('the same, in other memory');
  assert.equal(await second, 'the same, in other memory');
  assert.equal(pages.bytes, 0);
});

test('at no moment, neither while a page is read nor as it has been read, is it given twice', async () => {
  for (let turns = 0; turns < 10; turns += 1) {
    const pages = pagesAhead();
    const { resolve } = begin(pages, 'a');
    resolve('page');
    for (let turn = 0; turn < turns; turn += 1) await undefined;
    const taken = [pages.take('a', signal), pages.take('a', signal)];
    assert.deepEqual(await Promise.all(taken), ['page', undefined], `${turns} turns later`);
  }
});

test('what could not be read is left to whoever asks', async () => {
  const pages = pagesAhead();
  const { reject } = begin(pages, 'a');
  const taken = pages.take('a', signal);
  reject(new Error('the disk is gone'));
  assert.equal(await taken, undefined);
});

test('a request that leaves waits no longer', async () => {
  const pages = pagesAhead();
  const { resolve } = begin(pages, 'a');
  const leaving = new AbortController();
  const taken = pages.take('a', leaving.signal);
  leaving.abort(new Error('gone'));
  await assert.rejects(taken, /^Error: gone$/);
  resolve('page');
});

test('a page is read once, however often it is begun', async () => {
  const pages = pagesAhead();
  const { resolve } = begin(pages, 'a');
  assert.equal(begin(pages, 'a').isBegun, false);
  resolve('page');
  await letOthersRun();
  assert.equal(begin(pages, 'a').isBegun, false);
});

test('one page is begun in a round of the event loop, and at most four are being read', async () => {
  const pages = pagesAhead();
  const begun: string[] = [];
  const ask = (name: string) => pages.whenIdle(() => begun.push(name));
  ask('a');
  ask('b');
  assert.deepEqual(begun, []);
  await letOthersRun();
  assert.deepEqual(begun, ['a']);
  const reading = ['1', '2', '3', '4'].map((identity) => begin(pages, identity));
  ask('c');
  await letOthersRun();
  assert.deepEqual(begun, ['a']);
  reading[0]?.resolve('page');
  await letOthersRun();
  ask('d');
  await letOthersRun();
  assert.deepEqual(begun, ['a', 'd']);
});

test('there is room for a page of at most an eighth of all that may be kept', () => {
  const pages = pagesAhead();
  assert.equal(pages.hasRoomFor('x'.repeat(12_000)), true);
  assert.equal(pages.hasRoomFor('x'.repeat(12_600)), false);
});

test('closing ends what is being read, and nothing begins any more', async () => {
  const pages = pagesAhead();
  begin(pages, 'a');
  const taken = pages.take('a', signal);
  const begun: string[] = [];
  pages.whenIdle(() => begun.push('b'));
  await pages[Symbol.asyncDispose]();
  assert.equal(await taken, undefined);
  await letOthersRun();
  assert.deepEqual(begun, []);
});
