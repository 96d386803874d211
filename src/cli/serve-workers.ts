/** `qrs serve --workers`: several processes on one address and one data directory, and the one that watches over them. */
import { once } from 'node:events';
import { tokenBucketsOf } from '../compose/rate-limit.ts';
import { joinReplicas } from '../compose/replicas.ts';
import type { SharedByWorkers } from '../compose/server.ts';
import { countsOfEnded } from '../observation/ended-metrics.ts';
import { sumOfMetrics } from '../observation/metrics.ts';
import { divideSettings } from '../settings/divide-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { GrantedTokens } from '../workers/granted-tokens.ts';
import type { SupervisorChannel } from '../workers/messages.ts';
import { Supervisor } from '../workers/supervise.ts';
import { SupervisorLink } from '../workers/supervisor-link.ts';
import type { CommandContext } from './command-context.ts';
import { makeDemo, openLog, printAddress, replicaOf, serveProcess } from './serve-process.ts';
import { withService } from './with-service.ts';

/** A worker that has not stopped is killed this long after the grace period, a second before the supervisor itself is ended (main.ts). */
const STRAGGLER_MILLIS = 9000;

/** Starts the workers and keeps them running until it is interrupted. */
export async function superviseWorkers(given: CommandContext, count: number, wantsDemo: boolean): Promise<void> {
  let configuration: string | undefined;
  const readFile = (path: string) => {
    configuration = given.readFile(path);
    return configuration;
  };
  const context = { ...given, readFile };
  await withService(context, async (service) => {
    const { settings } = service;
    divideSettings(settings, count);
    context.allowGrace(settings.shutdownGraceMillis);
    const replica = replicaOf(settings, context);
    using log = openLog(service, context, replica);
    const effects = { ...context, replica: { ...replica, beats: true } };
    await using replicas = joinReplicas(service, await service.catalog(), effects, log.observe);
    await replicas.joined;
    const demo = wantsDemo ? await makeDemo(service, context, log.observe) : undefined;
    const stopping = once(context.signal, 'abort');
    const supervisor = new Supervisor({
      ...context,
      count,
      fork: await context.workers.forkWith(['serve', '--workers', String(count)]),
      replica,
      configuration,
      tokens: tokenBucketsOf(settings, replicas, context.monotonic),
      addEnded: countsOfEnded,
      stopMillis: settings.shutdownGraceMillis + STRAGGLER_MILLIS,
      onEnded: (worker) => log.observe({ kind: 'worker_ended', ...worker }),
    });
    try {
      const url = await Promise.race([supervisor.listening, stopping.then(() => undefined)]);
      if (url !== undefined) await printAddress(url, wantsDemo, demo, context);
      if (!context.signal.aborted) await stopping;
    } finally {
      await supervisor.stop();
    }
  });
}

/** Answers requests beside others, until it is interrupted. */
export async function serveAsWorker(given: CommandContext, supervisor: SupervisorChannel): Promise<void> {
  using channel = supervisor;
  const link = new SupervisorLink(channel);
  const role = await link.ask('role', {});
  // The file may have changed since: all workers have the settings of the start.
  const context = { ...given, readFile: () => role.configuration };
  await withService(
    context,
    async (service) => {
      using log = openLog(service, context, role.replica);
      await serveProcess(service, context, log, {
        replica: { ...role.replica, beats: false },
        shared: sharedByWorkers(service.settings, link, channel, context),
        runsSchedule: role.index === 0,
        onListening: ({ url }) => link.listening(url),
      });
    },
    (settings) => divideSettings(settings, role.count),
  );
}

function sharedByWorkers(
  { rateLimit }: Settings,
  link: SupervisorLink,
  { gone }: SupervisorChannel,
  { sleep, signal }: CommandContext,
): SharedByWorkers {
  const grants = {
    ask: async (keyId: string) => await link.ask('tokens', { keyId }),
    giveBack: (keyId: string, tokens: number) => link.giveBackTokens(keyId, tokens),
    sleep,
    signal,
  };
  return {
    tokens: rateLimit === 'off' ? undefined : new GrantedTokens(grants),
    mayLeave: async () => await Promise.race([link.ask('leave', {}), gone.then(() => false)]),
    shareMetrics: (own) => {
      link.offerMetrics(own.collect);
      return { contentType: own.contentType, text: async () => await sumOfMetrics(await link.ask('metrics', {})) };
    },
  };
}
