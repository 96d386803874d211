/**
 * Messages between processes and what they share. Each takes its time, and some get lost on the way there or on the way back: then the
 * request was carried out, or was not, and whoever sent it knows only that the connection broke. What a process sent before it was
 * killed still arrives.
 */
import type { Host } from './host.ts';
import type { Scheduler } from './scheduler.ts';

/** How often something goes wrong, in so many of 10,000 messages. */
export interface NetworkFaults {
  /** The message takes up to seconds, where others take milliseconds. */
  readonly slow: number;
  readonly lost: number;
  /** The request was carried out, and its answer is lost. */
  readonly answerLost: number;
  /** A request that is sent again by itself arrives twice, the second time perhaps much later. */
  readonly doubled: number;
}

export const NO_FAULTS: NetworkFaults = { slow: 0, lost: 0, answerLost: 0, doubled: 0 };

const OF = 10_000;
const QUICK_MILLIS = 4;
const SLOW_MILLIS = 8000;
/** After so long a client gives up waiting for an answer. */
export const SILENCE_MILLIS = 5000;

export class Network {
  readonly scheduler: Scheduler;
  faults: NetworkFaults;

  constructor(scheduler: Scheduler, faults: NetworkFaults = NO_FAULTS) {
    this.scheduler = scheduler;
    this.faults = faults;
  }

  happens(kind: keyof NetworkFaults): boolean {
    const often = this.faults[kind];
    return often > 0 && this.scheduler.random.below(OF) < often;
  }

  /** How long the next message takes. */
  delay(): number {
    const { random } = this.scheduler;
    if (this.happens('slow')) return random.below(SLOW_MILLIS);
    return (random.below(1000) / 1000) * QUICK_MILLIS;
  }

  /** Something that a server carries out, and whose answer comes back. @throws Error ECONNRESET */
  async request<T>(host: Host, name: string, carryOut: () => T): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      const toHost = (delayMillis: number, what: string, run: () => void) =>
        this.scheduler.schedule({ delayMillis, party: host, name: `${what} of ${name}`, run });
      const broken = () => reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
      if (this.happens('lost')) {
        toHost(SILENCE_MILLIS, 'no answer', broken);
        return;
      }
      const arrive = (isAgain: boolean) => () => {
        let answer: () => void;
        try {
          const value = carryOut();
          answer = () => resolve(value);
        } catch (error) {
          answer = () => reject(error);
        }
        if (isAgain) return;
        if (this.happens('answerLost')) toHost(SILENCE_MILLIS, 'no answer', broken);
        else toHost(this.delay(), 'answer', answer);
      };
      this.scheduler.schedule({ delayMillis: this.delay(), name: `${host.name} asks: ${name}`, run: arrive(false) });
      if (!this.happens('doubled')) return;
      const delayMillis = this.delay() + this.scheduler.random.below(SLOW_MILLIS);
      this.scheduler.schedule({ delayMillis, name: `${host.name} asks again: ${name}`, run: arrive(true) });
    });
  }
}
