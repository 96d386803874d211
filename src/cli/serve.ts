/** `qrs serve`: the HTTP service with the schedule beside it, until it is interrupted; in one process or in several. */
import { type Command, InvalidArgumentError } from 'commander';
import { loadSettings } from '../settings/load-settings.ts';
import { BadValue } from '../settings/setting-value.ts';
import { SETTINGS } from '../settings/settings.ts';
import { workerCount } from '../settings/worker-count.ts';
import type { CommandContext } from './command-context.ts';

interface ServeOptions {
  readonly demo?: boolean;
  readonly workers?: string;
}

export function addServeCommand(program: Command, given: CommandContext): void {
  program
    .command('serve')
    .description('run the HTTP service and the schedule; prints the address on which it listens')
    .option('--demo', 'first fill an empty data directory with the demo, and print a key and requests to try')
    .option(
      '--workers <count>',
      'how many processes answer requests, or `auto`: one for each core (QRS_WORKERS)',
      workersText,
    )
    .action(async ({ demo = false, workers }: ServeOptions) => {
      const context = withWorkers(given, workers);
      // Nobody reading the address or the log is no reason to stop serving.
      context.outliveReaders();
      // Loaded here, so that the other commands do not wait for an HTTP server that they never start.
      const supervisor = await context.workers.supervisor();
      if (supervisor !== undefined) {
        const { serveAsWorker } = await import('./serve-workers.ts');
        return await serveAsWorker(context, supervisor);
      }
      const count = workerCount(loadSettings(context).settings);
      if (count > 1) {
        const { superviseWorkers } = await import('./serve-workers.ts');
        return await superviseWorkers(context, count, demo);
      }
      const { serveAlone } = await import('./serve-process.ts');
      await serveAlone(context, demo);
    });
}

/** As it would be written in the setting. */
function workersText(text: string): string {
  try {
    SETTINGS.workers.read(text);
    return text;
  } catch (error) {
    if (error instanceof BadValue) throw new InvalidArgumentError(`${error.message.replace(/^e/, 'E')}.`);
    throw error;
  }
}

function withWorkers(context: CommandContext, workers: string | undefined): CommandContext {
  if (workers === undefined) return context;
  return { ...context, environment: { ...context.environment, [SETTINGS.workers.name]: workers } };
}
