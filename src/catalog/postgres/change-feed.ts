/**
 * Knows whether anything was committed that an answer may depend on, without asking for each answer. One connection of its own listens to
 * what triggers tell (migrations.ts), and asks something small again and again: an answer on that connection comes after all that was
 * told before it. So what was known when it was asked still holds, and for as long as the bound says it is not asked again.
 */
import type { Client, ClientBase } from 'pg';
import type { Clock } from '../../domain/instant.ts';
import type { Sleep } from '../../domain/time.ts';
import { told } from './unavailable.ts';

/** So often within the bound. The bound is only reached when several in a row are lost. */
const ASKED_WITHIN_BOUND = 4;

const NEVER = { askedAt: Number.NEGATIVE_INFINITY, writes: 0 };

export interface ChangeFeedOptions {
  /** A connection that nobody else uses. */
  readonly connect: () => Promise<Client>;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** How old an answer may be that something else was not committed since. 0: each time it is asked. */
  readonly stalenessMaxMillis: number;
}

export class ChangeFeed implements AsyncDisposable {
  readonly #options: ChangeFeedOptions;
  readonly #stop = new AbortController();
  readonly #heartbeat: Promise<void>;
  #client: Client | undefined;
  #version = 0;
  /** How often this process may have committed something. */
  #writes = 0;
  /** When the server was asked that answered last, and how many of our commits were before that. */
  #confirmed = NEVER;
  #asking: Promise<void> | undefined;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.#heartbeat = this.#beat();
  }

  /** @returns a promise if it has to be asked for first, which rejects with CatalogUnavailable */
  version(): number | Promise<number> {
    const age = this.#options.clock() - this.#confirmed.askedAt;
    // Below 0: the clock was set back.
    const isFresh = age >= 0 && age < this.#options.stalenessMaxMillis;
    if (isFresh && this.#confirmed.writes === this.#writes) return this.#version;
    return this.#confirm().then(() => this.#version);
  }

  /** What this process commits it sees at once: it is told, but perhaps a moment later than the commit has returned. */
  onWrite(): void {
    this.#writes += 1;
  }

  async #confirm(): Promise<void> {
    const writes = this.#writes;
    do {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
      // An answer that was asked for before our commit may not know of it: then the next one does.
    } while (this.#confirmed.writes < writes);
  }

  async #ask(): Promise<void> {
    const confirmed = { askedAt: this.#options.clock(), writes: this.#writes };
    try {
      this.#client ??= await this.#listen();
      await this.#client.query('select 1');
    } catch (error) {
      this.#drop();
      throw told(error);
    }
    this.#confirmed = confirmed;
  }

  async #listen(): Promise<Client> {
    const client = await this.#options.connect();
    client.on('notification', () => {
      this.#version += 1;
    });
    client.on('error', () => {
      if (this.#client === client) this.#drop();
    });
    try {
      await client.query(await listenStatement(client));
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    // What was told while nobody listened is lost.
    this.#version += 1;
    return client;
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.end().catch(() => undefined);
  }

  async #beat(): Promise<void> {
    const { sleep, stalenessMaxMillis } = this.#options;
    if (stalenessMaxMillis === 0) return;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#confirm().catch(() => undefined);
      await sleep(stalenessMaxMillis / ASKED_WITHIN_BOUND, signal).catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#heartbeat;
    await this.#asking?.catch(() => undefined);
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }
}

/** The channel has the schema's name in it, as a hash: several catalogs may be in one database. */
async function listenStatement(client: ClientBase): Promise<string> {
  const text = `select format('listen %I', 'qrs_changes_' || md5(current_schema())) as statement`;
  const { rows } = await client.query<{ statement: string }>(text);
  return rows[0]?.statement ?? '';
}
