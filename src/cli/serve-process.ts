/** A process that answers requests: the server with its log, and the schedule if it is the one to run it, until it is interrupted. */
import { once } from 'node:events';
import type { ReplicaOfProcess } from '../compose/replicas.ts';
import type { ScheduleEffects } from '../compose/schedule.ts';
import { type Server, type SharedByWorkers, serve } from '../compose/server.ts';
import type { Service } from '../compose/service.ts';
import type { fillWithDemo } from '../demo/fill.ts';
import type { WebhookAttempt } from '../domain/webhook.ts';
import { LineBuffer } from '../observation/line-buffer.ts';
import { logTo } from '../observation/log.ts';
import type { Observe } from '../observation/observation.ts';
import { readable } from '../observation/readable-lines.ts';
import { traceSettings } from '../observation/traces/trace-settings.ts';
import type { RunEvent } from '../runs/run-claimed.ts';
import type { Settings } from '../settings/settings.ts';
import type { CommandContext } from './command-context.ts';
import { printLines, tell } from './printing.ts';
import { withService } from './with-service.ts';

export interface ServeProcess {
  readonly replica: ReplicaOfProcess;
  /** What it shares with other processes on its address; undefined: it is alone. */
  readonly shared?: SharedByWorkers;
  /** Whether it runs the schedule and the queries that wait, if the settings want it to. */
  readonly runsSchedule: boolean;
  readonly onListening: (server: Server) => void | Promise<void>;
}

const ID_BYTES = 8;
/** Of a host's name: with the dash and the four digits that follow it, a replica's name has the 64 characters that it may have. */
const HOST_LENGTH_MAX = 59;

/** The demo as it was made for this start; `undefined` when the directory has data of its own. */
type Demo = Awaited<ReturnType<typeof fillWithDemo>>;

export async function serveAlone(context: CommandContext, wantsDemo: boolean): Promise<void> {
  await withService(context, async (service) => {
    const replica = replicaOf(service.settings, context);
    using log = openLog(service, context, replica);
    const demo = wantsDemo ? await makeDemo(service, context, log.observe) : undefined;
    await serveProcess(service, context, log, {
      replica: { ...replica, beats: true },
      runsSchedule: true,
      onListening: async ({ url }) => await printAddress(url, wantsDemo, demo, context),
    });
  });
}

export interface ServeLog extends Disposable {
  readonly observe: Observe;
  readonly lines: LineBuffer;
}

/** The log of this process. When it is disposed of, it writes its last lines. */
export function openLog(
  { settings }: Pick<Service, 'settings'>,
  context: CommandContext,
  replica: { readonly name: string },
): ServeLog {
  const lines = new LineBuffer({ write: context.stderr.write, gapLine });
  const observe = logTo(context.stderr.isTerminal ? readable(lines.add) : lines.add, settings.logLevel, replica.name);
  return { observe, lines, [Symbol.dispose]: () => lines[Symbol.dispose]() };
}

/** Serves until the context's signal is aborted. */
export async function serveProcess(
  service: Service,
  context: CommandContext,
  log: ServeLog,
  { replica, shared, runsSchedule, onListening }: ServeProcess,
): Promise<void> {
  const { settings } = service;
  context.allowGrace(settings.shutdownGraceMillis);
  // Before the threads of DuckDB are started, which inherit it.
  context.priority.eventLoopFirst();
  const tracing = traceSettings(context.environment, context.version);
  const newId = () => context.newExecutionId(context.clock());
  await using server = await serve(service, {
    ...context,
    replica,
    tracing,
    newId,
    observe: log.observe,
    logLines: log.lines,
    ...(shared && { shared }),
  });
  const stopping = once(context.signal, 'abort');
  const wanted = runsSchedule && settings.schedule;
  const schedule = wanted ? await startSchedule(service, server, context) : undefined;
  const webhooks = wanted ? startWebhooks(service, server, context) : undefined;
  const runner = runsSchedule && settings.runQueries ? await startRunner(service, server, context) : undefined;
  await onListening(server);
  // The schedule ends by itself only when it cannot go on.
  if (!context.signal.aborted) await Promise.race([stopping, schedule?.ended ?? stopping]);
  await Promise.all([server.stop(), schedule?.ended, webhooks, runner?.ended]);
}

/** What this start of the service is called: as its operator says, or after its host. */
export function replicaOf({ replicaName }: Settings, { hostName, randomBytes }: CommandContext) {
  const id = Buffer.from(randomBytes(ID_BYTES)).toString('hex');
  const host = hostName.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, HOST_LENGTH_MAX);
  return { id, name: replicaName ?? `${host}-${id.slice(0, 4)}` };
}

export async function makeDemo(service: Service, context: CommandContext, observe: Observe): Promise<Demo> {
  const newId = () => context.newExecutionId(context.clock());
  const effects = { ...context, ...runEffects(context, observe), newId };
  const { fillWithDemo } = await import('../demo/fill.ts');
  return await fillWithDemo(service, effects, (line) => tell(context, line));
}

export async function printAddress(
  url: string,
  wantsDemo: boolean,
  demo: Demo,
  context: CommandContext,
): Promise<void> {
  printLines(context, [url]);
  if (!wantsDemo) return;
  const { demoRequests } = await import('../demo/requests.ts');
  tell(context, demoRequests(url, demo && { ...demo, key: await demo.createKey() }));
}

/** The line that tells of lines that were lost, in the shape of all other lines. */
function gapLine(lines: number): string {
  const message = 'log lines were dropped because they could not be written';
  return `${JSON.stringify({ level: 'warn', message, lines })}\n`;
}

/** The effects of runs and of the schedule: what happens goes to the log. */
function runEffects(context: CommandContext, observe: Observe) {
  return {
    ...context,
    observe: (event: RunEvent) => observe({ kind: 'run', event }),
    onFault: (what: string, error: unknown) => observe({ kind: 'fault', what, error }),
  };
}

async function startSchedule(
  service: Service,
  { runQueue, observe }: Server,
  context: CommandContext,
): Promise<{ readonly ended: Promise<void> }> {
  const { datasetsNotSetUp, scheduleOf } = await import('../compose/schedule.ts');
  const { runSchedule } = await import('../scheduler/schedule.ts');
  const effects: ScheduleEffects = {
    ...runEffects(context, observe),
    onSwept: (swept) => observe({ kind: 'swept', ...swept }),
    onSweepStopped: (reason) => observe({ kind: 'sweep_stopped', reason }),
  };
  const { signal } = context;
  const schedule = await scheduleOf(service, effects, runQueue);
  // Not awaited: an engine that is away says so only after a while, and neither runs nor the start of the service should wait for that.
  const looked = datasetsNotSetUp(service, signal)
    .then((absent) => {
      if (absent.length === 0) return;
      observe({ kind: 'datasets_without_sources', datasets: absent, directory: service.placeOfSources });
    })
    .catch((error: unknown) => {
      if (!signal.aborted) effects.onFault('looking for source tables', error);
    });
  const ended = runSchedule(schedule, signal);
  return { ended: Promise.all([ended, looked]).then(() => undefined) };
}

async function startWebhooks(service: Service, { observe }: Server, context: CommandContext): Promise<void> {
  const { runWebhooks } = await import('../compose/webhooks.ts');
  const effects = {
    ...runEffects(context, observe),
    observe: (attempt: WebhookAttempt) => observe({ kind: 'webhook', attempt }),
  };
  await runWebhooks(service, effects, context.signal);
}

async function startRunner(
  service: Service,
  { runQueue, observe }: Server,
  context: CommandContext,
): Promise<{ readonly ended: Promise<void> }> {
  const { runnerOf } = await import('../compose/runs.ts');
  const { runQueued } = await import('../runs/runner.ts');
  const runner = await runnerOf(service, runQueue, runEffects(context, observe));
  return { ended: runQueued(runner, context.signal) };
}
