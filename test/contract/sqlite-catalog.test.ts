/** The SQLite catalog keeps the contract. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { sleep } from '../real-time.ts';
import { NOON, withClock } from './catalog/fixture.ts';
import { catalogContract } from './catalog.ts';

catalogContract('sqlite', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-catalog-'));
  const opened: Catalog[] = [];
  t.after(async () => {
    for (const catalog of opened) await catalog[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });
  let now = NOON;
  return async () => {
    const options = { clock: () => now, sleep };
    const catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'), options);
    opened.push(catalog);
    return withClock(catalog, (instant) => {
      now = instant;
    });
  };
});
