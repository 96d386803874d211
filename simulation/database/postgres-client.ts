/**
 * The simulated server as a process sees it: what the catalog's dialect and its change feed use of `pg`. What is sent on one connection
 * arrives in order, late, or not at all; then the connection is broken, which this process learns when it waits in vain.
 */
import type { Client, Pool } from 'pg';
import type { Host } from '../host.ts';
import { type Network, SILENCE_MILLIS } from '../network.ts';
import { shortened } from './database.ts';
import type { Answer, PostgresServer, PostgresSession } from './postgres-server.ts';

/** A machine that is gone says nothing: its sessions stay until the server has waited for so long. */
const UNNOTICED_MILLIS = 15_000;

interface Place {
  readonly host: Host;
  readonly network: Network;
  readonly server: PostgresServer;
}

/** Opens connections, and lends those that are idle. */
export class SimulatedPool {
  readonly #place: Place;
  readonly #idle: SimulatedClient[] = [];
  #connections = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  async connect(): Promise<SimulatedClient> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    this.#connections += 1;
    const client = new SimulatedClient(this.#place, `${this.#place.host.name}/${this.#connections}`);
    await client.connect();
    client.onRelease = (isBroken) => {
      if (isBroken) void client.end();
      else this.#idle.push(client);
    };
    return client;
  }

  async end(): Promise<void> {
    for (const client of this.#idle.splice(0)) await client.end();
  }

  asPool(): Pool {
    return this as unknown as Pool;
  }
}

export class SimulatedClient {
  readonly #place: Place;
  readonly #name: string;
  #session: PostgresSession | undefined;
  /** Nothing that is sent arrives any more, either way. */
  #isCut = false;
  #isEnded = false;
  #toServerAt = 0;
  #toHostAt = 0;
  #onNotification: () => void = () => undefined;
  #onError: () => void = () => undefined;
  /** Fails what was not answered yet. */
  readonly #waiting = new Set<() => void>();
  onRelease: (isBroken: boolean) => void = () => undefined;

  constructor(place: Place, name: string) {
    this.#place = place;
    this.#name = name;
  }

  async connect(): Promise<void> {
    const { host, network, server } = this.#place;
    const told = {
      notified: () => this.#toHost('notification', () => this.#onNotification()),
      ended: () => this.#toHost('the end', () => this.#closed()),
    };
    this.#session = await network.request(host, `connect ${this.#name}`, () => {
      const session = server.connect(this.#name, told);
      host.onDeath(() => this.#endSession(session, host.isGoneSilently));
      return session;
    });
  }

  on(event: string, listener: () => void): this {
    if (event === 'notification') this.#onNotification = listener;
    if (event === 'error') this.#onError = listener;
    return this;
  }

  query(text: string, parameters: readonly unknown[] = []): Promise<Answer> {
    const { network } = this.#place;
    return new Promise<Answer>((resolve, reject) => {
      const session = this.#session;
      if (session === undefined || this.#isEnded) {
        reject(new Error('Client was closed and is not queryable'));
        return;
      }
      const broken = () => reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
      if (this.#isCut || network.happens('lost')) {
        this.#cut(broken);
        return;
      }
      this.#waiting.add(broken);
      this.#toServer(shortened(text, parameters), () => {
        session.query(text, parameters, (outcome) => {
          if (network.happens('answerLost')) this.#cut(broken);
          else {
            this.#toHost('answer', () => {
              this.#waiting.delete(broken);
              if (outcome instanceof Error) reject(outcome);
              else resolve(outcome);
            });
          }
        });
      });
    });
  }

  release(isBroken = false): void {
    this.onRelease(isBroken);
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    const session = this.#session;
    if (session !== undefined) this.#toServer('end', () => session.end());
  }

  asClient(): Client {
    return this as unknown as Client;
  }

  #closed(): void {
    this.#isEnded = true;
    for (const broken of this.#waiting) broken();
    this.#waiting.clear();
    this.#onError();
  }

  #cut(broken: () => void): void {
    const { network, host } = this.#place;
    this.#isCut = true;
    const name = `${this.#name} is broken`;
    network.scheduler.schedule({ delayMillis: SILENCE_MILLIS, party: host, name, run: broken });
    if (this.#session !== undefined) this.#endSession(this.#session, network.scheduler.random.chance(50));
  }

  #endSession(session: PostgresSession, isUnnoticed: boolean): void {
    const { scheduler } = this.#place.network;
    const delayMillis = isUnnoticed ? scheduler.random.below(UNNOTICED_MILLIS) : 1;
    scheduler.schedule({ delayMillis, name: `${this.#name}: the server ends it`, run: () => session.end() });
  }

  #toServer(name: string, run: () => void): void {
    const { network } = this.#place;
    const { now } = network.scheduler;
    this.#toServerAt = Math.max(this.#toServerAt + 0.001, now + network.delay());
    network.scheduler.schedule({ delayMillis: this.#toServerAt - now, name: `${this.#name} asks: ${name}`, run });
  }

  #toHost(name: string, run: () => void): void {
    if (this.#isCut) return;
    const { network, host } = this.#place;
    const { now } = network.scheduler;
    this.#toHostAt = Math.max(this.#toHostAt + 0.001, now + network.delay());
    const delayMillis = this.#toHostAt - now;
    network.scheduler.schedule({ delayMillis, party: host, name: `${name} on ${this.#name}`, run });
  }
}
