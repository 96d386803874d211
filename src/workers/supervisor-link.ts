/** A worker's link to its supervisor. The worker asks questions, and the supervisor asks for the worker's metrics. */
import type { Channel, FromSupervisor, FromWorker, Question, Questions } from './messages.ts';

export class SupervisorLink {
  readonly #channel: Channel<FromWorker, FromSupervisor>;
  readonly #waiting = new Map<number, (reply: unknown) => void>();
  #asked = 0;
  #collect: () => Promise<unknown> = async () => [];

  constructor(channel: Channel<FromWorker, FromSupervisor>) {
    this.#channel = channel;
    channel.onMessage((message) => this.#receive(message));
  }

  /** The supervisor lives as long as its workers, so every question is answered. */
  async ask<Q extends Question>(question: Q, about: Questions[Q]['ask']): Promise<Questions[Q]['reply']> {
    this.#asked += 1;
    const id = this.#asked;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, resolve);
    this.#channel.send({ kind: 'ask', id, question, about });
    return (await promise) as Questions[Q]['reply'];
  }

  listening(url: string): void {
    this.#channel.send({ kind: 'listening', url });
  }

  giveBackTokens(keyId: string, tokens: number): void {
    this.#channel.send({ kind: 'unused_tokens', keyId, tokens });
  }

  /** From now on these are the metrics that the supervisor gets. */
  offerMetrics(collect: () => Promise<unknown>): void {
    this.#collect = collect;
  }

  #receive(message: FromSupervisor): void {
    switch (message.kind) {
      case 'reply':
        this.#waiting.get(message.id)?.(message.reply);
        this.#waiting.delete(message.id);
        break;
      case 'collect':
        // A process whose metrics cannot be told is left out of the sum, and goes on.
        void this.#collect()
          .catch(() => undefined)
          .then((metrics) => this.#channel.send({ kind: 'collected', id: message.id, metrics }));
        break;
      default:
        message satisfies never;
    }
  }
}
