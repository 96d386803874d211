/** The catalogs of the simulator keep the contract of every catalog: the one that works like SQLite, and the one like PostgreSQL. */

import { CatalogServer } from '../../simulation/catalog.ts';
import { Host } from '../../simulation/host.ts';
import { Network } from '../../simulation/network.ts';
import { Scheduler } from '../../simulation/scheduler.ts';
import { Trace } from '../../simulation/trace.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { Random } from '../feature/random-results.ts';
import { NOON, withClock } from './catalog/fixture.ts';
import { catalogContract } from './catalog.ts';

for (const kind of ['sqlite', 'postgres'] as const) {
  catalogContract(`simulated ${kind}`, async (t) => {
    const scheduler = new Scheduler(new Random(1), NOON, new Trace());
    let now = NOON;
    const clock = () => now;
    const server = new CatalogServer({ kind, network: new Network(scheduler), stalenessMaxMillis: 0, clock });
    const ended = new AbortController();
    const pumping = scheduler.pump(ended.signal);
    const opened: Catalog[] = [];
    t.after(async () => {
      for (const catalog of opened) await catalog[Symbol.asyncDispose]();
      ended.abort();
      await pumping;
      server.database.close();
    });
    return async () => {
      const catalog = server.open(new Host(`host ${opened.length}`, scheduler));
      opened.push(catalog);
      return withClock(catalog, (instant) => {
        now = instant;
      });
    };
  });
}
