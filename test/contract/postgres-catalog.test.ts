/** The PostgreSQL catalog keeps the contract. */
import { after, suite } from 'node:test';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { openPostgresCatalog } from '../../src/catalog/postgres/postgres-catalog.ts';
import { POSTGRES_MISSING, PostgresServer, setDatabaseClock } from '../postgres-server.ts';
import { sleep } from '../real-time.ts';
import { NOON, withClock } from './catalog/fixture.ts';
import { catalogContract } from './catalog.ts';

suite('on a server', { skip: POSTGRES_MISSING ?? false }, async () => {
  const server = await PostgresServer.start();
  after(async () => await server[Symbol.asyncDispose]());

  catalogContract('postgres', async (t) => {
    const url = await server.newSchema();
    const opened: Catalog[] = [];
    t.after(async () => {
      for (const catalog of opened) await catalog[Symbol.asyncDispose]();
    });
    let clock: { readonly now: number; readonly isSet: Promise<void> } | undefined;
    // PostgreSQL does not let two define a function at the same time.
    const moveTo = async (now: number) => {
      if (clock?.now !== now) {
        const before = clock?.isSet ?? Promise.resolve();
        clock = { now, isSet: before.then(() => setDatabaseClock(url, now)) };
      }
      await clock.isSet;
    };
    return async () => {
      const options = { monotonic: () => performance.now(), sleep, stalenessMaxMillis: 0, connectionsMax: 4 };
      const catalog = await openPostgresCatalog(url, options);
      if (opened.length === 0) await moveTo(NOON);
      opened.push(catalog);
      return withClock(catalog, moveTo);
    };
  });
});
