/** The store of the simulator keeps the contract of every store. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Host } from '../../simulation/host.ts';
import { Network } from '../../simulation/network.ts';
import { Scheduler } from '../../simulation/scheduler.ts';
import { Bucket, SimulatedStore } from '../../simulation/store.ts';
import { Trace } from '../../simulation/trace.ts';
import { Random } from '../feature/random-results.ts';
import { resultStoreContract } from './result-store.ts';

resultStoreContract('simulated', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-simulated-'));
  const scheduler = new Scheduler(new Random(1), Date.now(), new Trace());
  const ended = new AbortController();
  const pumping = scheduler.pump(ended.signal);
  const bucket = new Bucket();
  const host = new Host('a', scheduler);
  const files = { readFile: (path: string) => readFile(path), writeFile, rm };
  return {
    store: new SimulatedStore(bucket, new Network(scheduler), { host, files, folder }),
    damage: async (key, at) => {
      const object = bucket.objects.get(key);
      assert.ok(object !== undefined);
      const bytes = Buffer.from(object.bytes);
      const place = at ?? bytes.length - 1;
      bytes[place] = (bytes[place] ?? 0) ^ 1;
      bucket.objects.set(key, { ...object, bytes });
    },
    lose: async (key) => void bucket.objects.delete(key),
    close: async () => {
      ended.abort();
      await pumping;
      await rm(folder, { recursive: true });
    },
  };
});
