/**
 * Knows whether anything that answers depend on was committed, without a query for each answer. A connection of its own listens for the
 * notifications of triggers (migrations.ts), and runs a trivial query every now and then. The server sends notifications before the answer
 * of a later query, so after that answer nothing committed earlier is unknown. Until the staleness bound has passed, no other query is made.
 */
import type { Client, ClientBase } from 'pg';
import type { Sleep } from '../../domain/time.ts';
import { asUnavailable } from './unavailable.ts';

/** Trivial queries within the staleness bound. The bound is reached only when several in a row fail. */
const ASKED_WITHIN_BOUND = 4;

const NEVER = { number: 0, askedAt: Number.NEGATIVE_INFINITY, writes: 0 };

export interface ChangeFeedOptions {
  /** A connection that nobody else uses. */
  readonly connect: () => Promise<Client>;
  /** Milliseconds that only ever grow: a clock that is set back would make an old answer a new one. */
  readonly monotonic: () => number;
  readonly sleep: Sleep;
  /** How long after a commit of another process its change may still be unknown here. 0: every call asks the server. */
  readonly stalenessMaxMillis: number;
}

export class ChangeFeed implements AsyncDisposable {
  readonly #options: ChangeFeedOptions;
  readonly #stop = new AbortController();
  readonly #heartbeat: Promise<void>;
  #client: Client | undefined;
  #version = 0;
  /** Counts the commits of this process, and what may have been one. */
  #writes = 0;
  /** The question that the server answered last: its number, when it was asked, and how many of our commits were before that. */
  #confirmed = NEVER;
  #questions = 0;
  #asking: Promise<void> | undefined;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.#heartbeat = this.#beat();
  }

  /** @returns a promise if the server has to be asked first; it rejects with CatalogUnavailable */
  version(): number | Promise<number> {
    const now = this.#options.monotonic();
    if (this.#isFresh(now) && this.#confirmed.writes === this.#writes) return this.#version;
    return this.#confirm(now).then(() => this.#version);
  }

  #isFresh(now: number): boolean {
    return now - this.#confirmed.askedAt < this.#options.stalenessMaxMillis;
  }

  /** After a commit of this process, the next call of `version` asks: our own notification may arrive later than the commit returns. */
  onWrite(): void {
    this.#writes += 1;
  }

  /** @param now when somebody wanted to know: an older answer than the bound allows is none, also one that comes only now */
  async #confirm(now: number): Promise<void> {
    const writes = this.#writes;
    const before = this.#questions;
    do {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      const asked = this.#questions;
      try {
        await this.#asking;
      } catch (error) {
        // The server may have come back since a question that was asked before.
        if (asked > before) throw error;
      }
      // An answer that was asked for before our commit may not know of it: then the next one does.
    } while (this.#confirmed.writes < writes || !(this.#confirmed.number > before || this.#isFresh(now)));
  }

  async #ask(): Promise<void> {
    this.#questions += 1;
    const confirmed = { number: this.#questions, askedAt: this.#options.monotonic(), writes: this.#writes };
    try {
      this.#client ??= await this.#listen();
      await this.#client.query('select 1');
    } catch (error) {
      this.#drop();
      throw asUnavailable(error);
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
    // Notifications sent while nobody listened are lost.
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
      await this.#confirm(this.#options.monotonic()).catch(() => undefined);
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

/** The channel's name holds a hash of the schema's name, since one database may hold several catalogs. */
async function listenStatement(client: ClientBase): Promise<string> {
  const text = `select format('listen %I', 'qrs_changes_' || md5(current_schema())) as statement`;
  const { rows } = await client.query<{ statement: string }>(text);
  return rows[0]?.statement ?? '';
}
