/**
 * What every result store must do, whatever it is made of. Each implementation's test calls this with a function that opens
 * one.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { RowRange } from '../../src/domain/blocks.ts';
import { checksumWithBlocks } from '../../src/files/block-checksums.ts';
import { ObjectDamaged, ObjectExists, type ObjectRef, type ResultStore } from '../../src/store/result-store.ts';

const ALL = { from: 0, to: Number.POSITIVE_INFINITY };

export interface StoreUnderTest {
  readonly store: ResultStore;
  /** Changes one byte of a stored object behind the store's back: the one at this place, or the last. */
  damage(key: string, at?: number): Promise<void>;
  /** Removes a stored object behind the store's back. */
  lose(key: string): Promise<void>;
  close(): Promise<void>;
}

export function resultStoreContract(name: string, openStore: () => Promise<StoreUnderTest>): void {
  describe(`result store: ${name}`, () => {
    const signal = new AbortController().signal;
    let folder = '';
    let under: StoreUnderTest;

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'qrs-store-'));
    });
    after(() => rm(folder, { recursive: true, force: true }));
    beforeEach(async (context) => {
      under = await openStore();
      if ('after' in context) context.after(() => under.close());
    });

    async function put(key: string, bytes: Buffer): Promise<ObjectRef> {
      const path = join(folder, randomBytes(8).toString('hex'));
      await writeFile(path, bytes);
      await under.store.put(key, path, signal);
      return { key, objectBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    }

    async function read(object: ObjectRef): Promise<Buffer> {
      await using opened = await under.store.open(object, ALL, signal);
      return await readFile(opened.path);
    }

    async function keys(prefix: string): Promise<readonly string[]> {
      const found = await Array.fromAsync(under.store.list(prefix), (object) => object.key);
      return found.sort();
    }

    test('what was put is read back, of any size', async () => {
      for (const size of [0, 1, 5_000_000]) {
        const bytes = randomBytes(size);
        assert.deepEqual(await read(await put(`01A/1/part-${size}.parquet`, bytes)), bytes);
      }
    });

    test('an object is never replaced; the same bytes may be put again, in one request or in parts', async () => {
      for (const size of [5, 0, 20_000_000]) {
        const key = `01A/part-${size}`;
        const bytes = randomBytes(size);
        const first = await put(key, bytes);
        const other = join(folder, 'other');
        await writeFile(other, randomBytes(size + 1));
        const refused = {
          constructor: ObjectExists,
          message: `there is an object ${key} already, of other bytes: it was left as it is`,
        };
        await assert.rejects(under.store.put(key, other, signal), refused);
        if (size > 0) {
          await writeFile(other, randomBytes(size));
          await assert.rejects(under.store.put(key, other, signal), refused);
        }
        assert.equal((await readFile(other)).length, Math.max(size, 1), 'the file that was refused stays');
        assert.deepEqual(await read(first), bytes);
        assert.deepEqual(await put(key, bytes), first);
        assert.deepEqual(await read(first), bytes);
        assert.deepEqual(await under.store.delete([key]), []);
        await put(key, Buffer.from('after it was deleted'));
      }
      assert.deepEqual(await readdir(folder), ['other'], 'what was put was moved away');
    });

    test('of many that put other bytes under one key at once, one does', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, number) => put('01A/part', Buffer.alloc(1000, number))),
      );
      const [won, ...others] = outcomes.filter(({ status }) => status === 'fulfilled');
      assert.ok(won?.status === 'fulfilled' && others.length === 0);
      assert.equal((await read(won.value)).length, 1000);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof ObjectExists, String(outcome.reason));
      }
    });

    test('the list has every object below the prefix with its size, and nothing else', async () => {
      await put('01A/1/part-0', Buffer.from('abc'));
      await put('01A/2/part-0', Buffer.from('abcd'));
      await put('01AB/1/part-0', Buffer.from('abcde'));
      assert.deepEqual(await keys('01A/'), ['01A/1/part-0', '01A/2/part-0']);
      assert.deepEqual(await keys('01A/2/'), ['01A/2/part-0']);
      assert.deepEqual(await keys('01C/'), []);
      assert.deepEqual(await keys(''), ['01A/1/part-0', '01A/2/part-0', '01AB/1/part-0']);
      const [object] = await Array.fromAsync(under.store.list('01AB/'));
      assert.equal(object?.objectBytes, 5);
      assert.ok(Math.abs((object?.modifiedAt ?? 0) - Date.now()) < 60_000);
    });

    test('an open object stays until everybody has released it, and delete returns its key', async () => {
      const object = await put('01A/1/part-0', Buffer.from('abc'));
      const other = await put('01A/1/part-1', Buffer.from('def'));
      const first = await under.store.open(object, ALL, signal);
      const second = await under.store.open(object, ALL, signal);
      assert.deepEqual(await under.store.delete([object.key, other.key]), [object.key]);
      assert.deepEqual(await keys(''), [object.key]);
      await first[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      assert.deepEqual(await under.store.delete([object.key]), [object.key], 'the second reader has it');
      assert.equal((await readFile(second.path)).toString(), 'abc');
      await second[Symbol.asyncDispose]();
      assert.deepEqual(await under.store.delete([object.key]), []);
      assert.deepEqual(await keys(''), []);
    });

    test('an open that failed does not keep an object from being deleted', async () => {
      const object = await put('01A/1/part-0', Buffer.from('abc'));
      await assert.rejects(read({ ...object, sha256: '' }), ObjectDamaged);
      assert.deepEqual(await under.store.delete([object.key]), []);
    });

    test('an open during a delete finds the object whole, or not at all', async () => {
      const object = await put('01A/1/part-0', Buffer.from('abc'));
      const deleting = under.store.delete([object.key]);
      const opening = assert.rejects(read(object), { constructor: ObjectDamaged, message: /missing/ });
      assert.deepEqual(await deleting, []);
      await opening;
    });

    test('delete deletes the objects named and no others; a second time it does nothing', async () => {
      const kept = await put('01A/1/part-0', Buffer.from('kept'));
      await put('01A/1/part-00', Buffer.from('gone'));
      await put('01AB/1/part-1', Buffer.from('gone'));
      await under.store.delete(['01A/1/part-00', '01AB/1/part-1']);
      await under.store.delete(['01A/1/part-00', '01AB/1/part-1']);
      assert.deepEqual(await keys(''), ['01A/1/part-0']);
      assert.equal((await read(kept)).toString(), 'kept');
    });

    test('a damaged object is refused by open and by verify, before and after a good read', async () => {
      for (const readBefore of [false, true]) {
        const object = await put('01A/1/part-0', randomBytes(100_000));
        if (readBefore) await read(object);
        await under.damage(object.key);
        await assert.rejects(read(object), ObjectDamaged);
        await assert.rejects(under.store.verify(object, signal), ObjectDamaged);
        await assert.rejects(read(object), ObjectDamaged);
        await under.store.delete([object.key]);
      }
    });

    test('of an object with blocks, a read checks those that it needs: the footer, and the row groups of the rows', async () => {
      const bytes = randomBytes(3_000_000);
      const layout = { rows: [10, 20], bytes: [1_000_000, 1_900_000, 100_000] };
      const path = join(folder, 'with-blocks');
      await writeFile(path, bytes);
      const { blocks } = await checksumWithBlocks(path, layout, signal);
      const first = { from: 0, to: 10 };
      const second = { from: 9, to: 11 };
      const opens = async (object: ObjectRef, rows: RowRange) => {
        await using opened = await under.store.open(object, rows, signal);
        assert.equal((await readFile(opened.path)).length, bytes.length);
      };
      for (const readBefore of [false, true]) {
        const object = { ...(await put('01A/1/part-0', bytes)), blocks };
        if (readBefore) await opens(object, second);
        await under.damage(object.key, 1_000_000);
        await assert.rejects(opens(object, second), {
          constructor: ObjectDamaged,
          message: /bytes 1000000 to 2899999 /,
        });
        await opens(object, first);
        await under.damage(object.key, 2_900_000);
        await assert.rejects(opens(object, first), {
          constructor: ObjectDamaged,
          message: /bytes 2900000 to 2999999 /,
        });
        await assert.rejects(under.store.verify(object, signal), ObjectDamaged);
        await under.store.delete([object.key]);
      }
    });

    test('verify also finds wrong hashes of blocks', async () => {
      const bytes = randomBytes(1000);
      const path = join(folder, 'with-blocks');
      await writeFile(path, bytes);
      const { blocks } = await checksumWithBlocks(path, { rows: [1], bytes: [900, 100] }, signal);
      const object = await put('01A/1/part-0', bytes);
      await under.store.verify({ ...object, blocks }, signal);
      const others = { ...blocks, hashes: Buffer.alloc(32).toString('base64') };
      await assert.rejects(under.store.verify({ ...object, blocks: others }, signal), ObjectDamaged);
    });

    test('a missing object counts as damaged, and the error names its key', async () => {
      const object = await put('01A/1/part-0', Buffer.from('abc'));
      await under.lose(object.key);
      await assert.rejects(read(object), { constructor: ObjectDamaged, key: '01A/1/part-0', message: /missing/ });
      await assert.rejects(under.store.verify(object, signal), { constructor: ObjectDamaged, message: /missing/ });
    });

    test('findMissing names the keys without an object', async () => {
      const [first, second] = [
        await put('01A/1/part-0', Buffer.from('abc')),
        await put('01A/1/part-1', Buffer.from('d')),
      ];
      await under.lose(second.key);
      assert.deepEqual(await under.store.findMissing([first.key, second.key, '01B/1/part-0', '01A/1']), [
        second.key,
        '01B/1/part-0',
        '01A/1',
      ]);
      assert.deepEqual(
        await under.store.findUnreadable([first.key, second.key]),
        [],
        'what is missing is not unreadable',
      );
      await assert.rejects(read(second), { isMissing: true });
      await under.damage(first.key);
      await assert.rejects(read(first), { isMissing: false });
    });

    test("an object whose length differs from the manifest's is damaged", async () => {
      const object = await put('01A/1/part-0', Buffer.from('abc'));
      await assert.rejects(read({ ...object, objectBytes: 4 }), /it has 3 bytes, expected 4/);
    });

    test('many open one object at once; one that gives up does not disturb the others', async () => {
      const object = await put('01A/1/part-0', randomBytes(3_000_000));
      const leaver = new AbortController();
      const left = under.store.open(object, ALL, leaver.signal);
      const others = Array.from({ length: 20 }, () => read(object));
      leaver.abort(new Error('client gone'));
      await assert.rejects(left, /client gone/);
      for (const bytes of await Promise.all(others)) assert.equal(bytes.length, 3_000_000);
      assert.equal((await read(object)).length, 3_000_000);
    });

    test('an aborted signal stops put, open and verify', async () => {
      const object = await put('01A/1/part-0', Buffer.from('abc'));
      const aborted = AbortSignal.abort(new Error('stop'));
      await assert.rejects(under.store.open(object, ALL, aborted), /stop/);
      await assert.rejects(under.store.verify(object, aborted), /stop/);
      await assert.rejects(under.store.put('01A/1/part-1', join(folder, 'none'), aborted), /stop/);
    });

    for (const key of ['', '/', '../x', 'a/../../x', 'a//b', '/etc/passwd', 'a b', 'a/./b', 'é', 'a\0b']) {
      test(`the key ${JSON.stringify(key)} is refused`, async () => {
        const object = { key, objectBytes: 0, sha256: '' };
        await assert.rejects(under.store.put(key, join(folder, 'none'), signal), /is not valid/);
        await assert.rejects(under.store.open(object, ALL, signal), /is not valid/);
      });
    }

    test("the store's identity is kept and replaced, and is not listed as an object", async () => {
      assert.equal(await under.store.findInstallation(), undefined);
      await under.store.setInstallation('a');
      assert.equal(await under.store.findInstallation(), 'a');
      await under.store.setInstallation('b');
      assert.equal(await under.store.findInstallation(), 'b');
      assert.deepEqual(await keys(''), []);
    });

    test('a reachable store passes its check', () => under.store.check());

    test('a store whose lists nobody refuses says nothing against them', async () => {
      await under.store.checkList('objects');
      await under.store.checkList('uploads');
    });
  });
}
