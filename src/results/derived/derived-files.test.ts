import assert from 'node:assert/strict';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { derivedName, executionOfDerived } from '../../domain/written-names.ts';
import { DerivedBudget } from './budget.ts';
import { DerivedFiles } from './derived-files.ts';

const EXECUTION = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const named = (of: string) => derivedName(EXECUTION, of, '0123456789abcdef', 'rows');

/** A folder of derived files with a bound in bytes, and a clock. */
async function folder(t: TestContext, bytesMax: number) {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-derived-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  let now = 1_000_000;
  const open = async (process: string) => {
    const staging = join(directory, process);
    await mkdir(staging);
    const budget = new DerivedBudget(bytesMax);
    const files = new DerivedFiles({ directory, staging, budget, clock: () => now });
    const write = async (name: string, content: string) => {
      const staged = files.stagingPath();
      await writeFile(staged, content);
      now += 1000;
      await files.publish(name, staged);
    };
    return { budget, files, write };
  };
  const names = async () => (await readdir(directory)).filter((name) => executionOfDerived(name) !== undefined).sort();
  const later = (millis: number) => {
    now += millis;
  };
  return { ...(await open('scratch-1')), open, directory, names, later };
}

test('a name says which result the file was made from; files with other names are not ours', () => {
  assert.equal(named('part-0'), '01ARZ3NDEKTSV4RRFFQ69G5FAV.part-0.0123456789abcdef.rows');
  assert.equal(executionOfDerived(named('part-0')), EXECUTION);
  assert.equal(executionOfDerived('notes.txt'), undefined);
  assert.equal(executionOfDerived(`${named('part-0')}.old`), undefined);
});

test('beyond the bound the least recently used file goes; whoever has it open reads on', async (t) => {
  const { files, write, names, later } = await folder(t, 10);
  const removed: string[] = [];
  files.onRemoved(async (name) => void removed.push(name));
  await write(named('a'), '12345');
  await write(named('b'), '12345');
  later(120_000);
  await files.touch(named('a'));
  await using reading = await open(files.pathOf(named('b')));
  await write(named('c'), '12345');
  assert.deepEqual(await names(), [named('a'), named('c')]);
  assert.deepEqual(removed, [named('b')]);
  assert.equal(await reading.readFile('utf8'), '12345');
});

test('a file is removed when whoever had it open has closed it, since until then its disk space is not free', async (t) => {
  const { files, write } = await folder(t, 10);
  await write(named('a'), '12345');
  const [told, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  files.onRemoved(async () => {
    told.resolve();
    await closed.promise;
  });
  let isRemoved = false;
  const removing = files.remove(named('a')).then(() => {
    isRemoved = true;
  });
  await told.promise;
  await new Promise(setImmediate);
  assert.equal(isRemoved, false);
  closed.resolve();
  await removing;
});

test('a process that has used a file is told when it is gone, whoever removed it', async (t) => {
  const { files, write, budget, open, directory } = await folder(t, 100);
  const removed: string[] = [];
  files.onRemoved(async (name) => void removed.push(name));
  const other = await open('scratch-2');
  for (const name of ['a', 'b']) await write(named(name), '12345');
  await other.write(named('c'), '12345');
  await files.touch(named('c'));
  await rm(join(directory, named('a')));
  await other.files.remove(named('c'));
  assert.deepEqual(removed, []);
  await budget.enforce();
  assert.deepEqual(removed.sort(), [named('a'), named('c')]);
  await budget.enforce();
  assert.equal(removed.length, 2);
});

test('processes that share the folder share one bound', async (t) => {
  const { write, open, names } = await folder(t, 10);
  await write(named('a'), '123456');
  await (await open('scratch-2')).write(named('b'), '123456');
  assert.deepEqual(await names(), [named('b')]);
});

test('a process sees what another one is writing', async (t) => {
  const { files, open } = await folder(t, 10);
  const other = await open('scratch-2');
  await writeFile(files.stagingPath(named('a')), 'half of it');
  assert.equal(await other.files.isMadeElsewhere(named('a')), true);
  assert.equal(await other.files.isMadeElsewhere(named('b')), false);
  assert.equal(await files.isMadeElsewhere(named('a')), false);
});

test('files that are not ours are neither counted nor removed', async (t) => {
  const { files, write, budget, directory, names } = await folder(t, 10);
  await writeFile(join(directory, 'mine.txt'), 'x'.repeat(100));
  await write(named('a'), '12345');
  assert.equal(files.bytes, 5);
  assert.equal(await budget.room.make(), true);
  assert.deepEqual(await names(), []);
  assert.equal((await readFile(join(directory, 'mine.txt'))).length, 100);
});

for (const { what, clear } of [
  { what: 'with its folder', clear: async (directory: string) => await rm(directory, { recursive: true }) },
  {
    what: 'by its names, as `rm -r derived/*` does',
    clear: async (directory: string) => {
      for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
    },
  },
]) {
  test(`once all has been cleared ${what}, files are made as before`, async (t) => {
    const { write, budget, directory, names } = await folder(t, 10);
    await write(named('a'), '12345');
    await clear(directory);
    // As each minute.
    await budget.enforce();
    await write(named('b'), '12345');
    assert.deepEqual(await names(), [named('b')]);
  });
}
