/** The HTTP service together with what delivers webhooks, inside the test's own process. Its waits are short; retries go by the test's clock. */

import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Service } from '../../src/compose/service.ts';
import { runWebhooks } from '../../src/compose/webhooks.ts';
import type { Sleep } from '../../src/domain/time.ts';
import type { WebhookAttempt } from '../../src/domain/webhook.ts';
import type { Observation } from '../../src/observation/observation.ts';
import { setDatabaseClock } from '../postgres-server.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { addAnn, openServer } from './http-service.ts';
import { type Send, sender } from './http-writer.ts';

const ATTEMPT_MILLIS = 15_000;

export interface TellingService {
  readonly commandLine: CommandLine;
  readonly service: Service;
  readonly url: string;
  /** With ann's key, which may write. */
  readonly send: Send;
  readonly observed: readonly Observation[];
  readonly faults: readonly unknown[];
  /** What came of attempts, in order, once it has been written down. */
  readonly attempts: readonly WebhookAttempt[];
  /** Resolves when so many attempts have ended. */
  attempted(count: number): Promise<void>;
  /** Starts delivering. @returns stops it */
  deliver(): () => Promise<void>;
  /** Moves the clock. */
  later(millis: number): Promise<void>;
  /** The time of the attempts that are on their way is over. */
  endAttempts(): void;
  /** Stops everything. The command line goes on. */
  close(): Promise<void>;
}

/** @param before a command line whose data directory there is already, with ann's key */
export async function startTelling(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
  before?: { readonly commandLine: CommandLine; readonly key: string },
): Promise<TellingService & { readonly key: string }> {
  const settings = { QRS_WEBHOOKS_PRIVATE: 'true', ...environment };
  const commandLine = before?.commandLine ?? (await makeCommandLine(t, settings));
  let limits: (() => void)[] = [];
  const sleep: Sleep = (millis, signal) => {
    if (millis !== ATTEMPT_MILLIS) return wait(millis < ATTEMPT_MILLIS / 2 ? 2 : millis, undefined, { signal });
    return new Promise((resolve, reject) => {
      limits.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  };
  const observed: Observation[] = [];
  const faults: unknown[] = [];
  const observe = (observation: Observation) => {
    observed.push(observation);
    if (observation.kind === 'fault') faults.push(observation.error);
  };
  const { service, server, close } = await openServer(commandLine, settings, observe, '1.2.3', { sleep });
  const attempts: WebhookAttempt[] = [];
  let watchers: { readonly count: number; readonly wake: () => void }[] = [];
  const onAttempt = (attempt: WebhookAttempt) => {
    attempts.push(attempt);
    for (const { count, wake } of watchers) if (count <= attempts.length) wake();
    watchers = watchers.filter(({ count }) => count > attempts.length);
    observe({ kind: 'webhook', attempt });
  };
  const stops: (() => Promise<void>)[] = [];
  let isClosed = false;
  const closeAll = async () => {
    if (isClosed) return;
    isClosed = true;
    for (const stop of stops) await stop();
    await close();
  };
  t.after(closeAll);
  const moveTo = async (now: number) => {
    commandLine.now = now;
    const url = commandLine.catalog.QRS_CATALOG_URL;
    if (url !== undefined) await setDatabaseClock(url, now);
  };
  await moveTo(commandLine.now);
  const key = before?.key ?? (await addAnn(commandLine, await service.catalog(), 'write'));
  return {
    commandLine,
    key,
    service,
    url: server.url,
    send: sender(server, key),
    observed,
    faults,
    attempts,
    attempted: (count) =>
      new Promise((wake) => {
        if (attempts.length >= count) wake();
        else watchers.push({ count, wake });
      }),
    deliver: () => {
      const stopping = new AbortController();
      const effects = {
        version: '1.2.3',
        owner: `test ${stops.length}`,
        random: () => 0.5,
        observe: onAttempt,
        onFault: (what: string, error: unknown) => observe({ kind: 'fault', what, error }),
      };
      const ended = runWebhooks(service, effects, stopping.signal);
      const stop = async () => {
        stopping.abort(new Error('the test stops it'));
        await ended;
      };
      stops.push(stop);
      return stop;
    },
    later: async (millis) => await moveTo(commandLine.now + millis),
    endAttempts: () => {
      for (const end of limits.splice(0)) end();
      limits = [];
    },
    close: closeAll,
  };
}
