/** The simulated engine: it takes its time, fails now and then, and leaves a file; and how such a file becomes the parts of a result. */
import { createHash } from 'node:crypto';
import type { Column } from '../src/domain/result-set.ts';
import { type Engine, EngineError, type EngineQuery, type Materialized } from '../src/engine/engine.ts';
import type { StagedRows } from '../src/publishing/publish-staged.ts';
import type { StagedPart } from '../src/publishing/write/measure-part.ts';
import type { SimulatedDisks } from './disk.ts';
import type { Host } from './host.ts';

const COLUMNS: readonly Column[] = [{ name: 'n', type: { kind: 'bigint' } }];
const PARTS_MAX = 3;
/** Most queries are quick; some take longer than a lease. */
const QUICK_MILLIS = 4000;
const LONG_MILLIS = 40_000;

export class SimulatedEngine implements Engine {
  readonly #host: Host;
  readonly #disks: SimulatedDisks;
  readonly #random: () => number;

  constructor(host: Host, disks: SimulatedDisks, random: () => number) {
    this.#host = host;
    this.#disks = disks;
    this.#random = random;
  }

  async materialize(_query: EngineQuery, path: string, signal: AbortSignal): Promise<Materialized> {
    const longest = this.#random() < 0.1 ? LONG_MILLIS : QUICK_MILLIS;
    await this.#host.sleep(Math.ceil(this.#random() * longest), signal);
    if (this.#random() < 0.1) throw new EngineError('execution_error', 'a value cannot be converted');
    await this.#disks.writeFile(path, Buffer.from('rows'));
    return { columns: COLUMNS, rowCount: 1 };
  }

  async check(): Promise<readonly Column[]> {
    return COLUMNS;
  }

  async hasAny(): Promise<boolean> {
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** A few parts, other bytes each time: whoever reads can tell one writer's from another's. */
export function stagedRows(disks: SimulatedDisks, random: () => number): StagedRows {
  return {
    stage: async (folder, signal) => {
      await disks.mkdir(folder);
      const parts: StagedPart[] = [];
      for (let part = Math.floor(random() * (PARTS_MAX + 1)); part > 0; part -= 1) {
        signal.throwIfAborted();
        const path = `${folder}/${part}`;
        const bytes = Buffer.from(`${random()}`);
        await disks.writeFile(path, bytes);
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        const rows = { firstRow: parts.length, rowCount: 1, cellBytes: 8, rowBytesMax: 8 };
        parts.push({ path, ...rows, objectBytes: bytes.length, sha256 });
      }
      return { columns: COLUMNS, parts, truncated: false, sample: undefined };
    },
    onStored: () => undefined,
  };
}
