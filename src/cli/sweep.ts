/** `qrs sweep`: deletes what has expired, and what publishers that failed or were killed left behind. */
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines } from './printing.ts';
import { withService } from './with-service.ts';

/** Of results and leftovers in one run; a next one goes on. */
const SWEPT_MAX = 1_000_000;

export function addSweepCommand(program: Command, context: CommandContext): void {
  program
    .command('sweep')
    .description('delete expired results and leftovers, never what is being read or written; prints name=value lines')
    .option('--json', 'print JSON')
    .action(async (options: { readonly json?: true }) => {
      const { sweep } = await import('../publishing/sweep.ts');
      await withService(context, async (service) => {
        const dependencies = {
          catalog: await service.catalog(),
          store: await service.store(),
          stagingDirectory: service.directories.staging,
          clock: context.clock,
        };
        const { expired, orphans, bytes } = await sweep(dependencies, SWEPT_MAX, context.signal);
        if (options.json) printJson(context, { expired, orphans, bytes });
        else printLines(context, [`expired=${expired}`, `orphans=${orphans}`, `bytes=${bytes}`]);
      });
    });
}
