/** `qrs serve`: the HTTP service with the schedule beside it, until it is interrupted. */
import { once } from 'node:events';
import type { Command } from 'commander';
import type { DatasetEffects } from '../compose/schedule.ts';
import type { Service } from '../compose/service.ts';
import { LineBuffer } from '../observation/line-buffer.ts';
import type { Observe } from '../observation/observation.ts';
import { readable } from '../observation/readable-lines.ts';
import { traceSettings } from '../observation/traces/trace-settings.ts';
import type { CommandContext } from './command-context.ts';
import { printLines, tell } from './printing.ts';
import { withService } from './with-service.ts';

interface ServeOptions {
  readonly demo?: true;
}

export function addServeCommand(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('run the HTTP service and the schedule; prints the address on which it listens')
    .option('--demo', 'first fill an empty data directory with the demo, and print a key and requests to try')
    .action(async (options: ServeOptions) => {
      // Loaded here, so that the other commands do not wait for an HTTP server that they never start.
      const { serve } = await import('../compose/server.ts');
      const { fillWithDemo } = await import('../demo/fill.ts');
      const { demoRequests } = await import('../demo/requests.ts');
      const { logTo } = await import('../observation/log.ts');
      const tracing = traceSettings(context.environment, context.version);
      // Nobody reading the address or the log is no reason to stop serving.
      context.outliveReaders();
      await withService(context, async (service) => {
        const newId = () => context.newExecutionId(context.clock());
        const lines = new LineBuffer({ write: context.stderr.write, gapLine });
        const { logLevel, shutdownGraceMillis } = service.settings;
        context.allowGrace(shutdownGraceMillis);
        const log = logTo(context.stderr.isTerminal ? readable(lines.add) : lines.add, logLevel);
        // The last lines are written when the server and the schedule have ended.
        using _ = lines;
        const demo = options.demo
          ? await fillWithDemo(service, { ...context, ...refreshEffects(context, log), newId }, (line) =>
              tell(context, line),
            )
          : undefined;
        await using server = await serve(service, { ...context, tracing, newId, observe: log, logLines: lines });
        const stopping = once(context.signal, 'abort');
        const schedule = service.settings.schedule ? await startSchedule(service, server.observe, context) : undefined;
        printLines(context, [server.url]);
        if (options.demo) tell(context, demoRequests(server.url, demo && { ...demo, key: await demo.createKey() }));
        // The schedule ends by itself only when it cannot go on.
        if (!context.signal.aborted) await Promise.race([stopping, schedule?.ended ?? stopping]);
        await Promise.all([server.stop(), schedule?.ended]);
      });
    });
}

/** In the shape of all other lines. */
function gapLine(lines: number): string {
  const message = 'log lines were dropped because they could not be written';
  return `${JSON.stringify({ level: 'warn', message, lines })}\n`;
}

function refreshEffects(context: CommandContext, observe: Observe): DatasetEffects {
  return {
    ...context,
    observe: (event) => observe({ kind: 'refresh', event }),
    onFault: (what, error) => observe({ kind: 'fault', what, error }),
    onSwept: (swept) => observe({ kind: 'swept', ...swept }),
    onSweepStopped: (reason) => observe({ kind: 'sweep_stopped', reason }),
  };
}

async function startSchedule(
  service: Service,
  observe: Observe,
  context: CommandContext,
): Promise<{ readonly ended: Promise<void> }> {
  const { scheduleOf } = await import('../compose/schedule.ts');
  const { runSchedule } = await import('../scheduler/schedule.ts');
  const schedule = await scheduleOf(service, refreshEffects(context, observe));
  const absent: string[] = [];
  for (const dataset of schedule.datasets) if (!(await schedule.isSetUp(dataset))) absent.push(dataset.name);
  if (absent.length > 0) {
    observe({ kind: 'datasets_without_sources', datasets: absent, directory: service.directories.sources });
  }
  return { ended: runSchedule(schedule, context.signal) };
}
