/** `qrs sweep`: deletes what has expired, and what publishers that failed or were killed left behind. */
import type { Command } from 'commander';
import type { Swept } from '../publishing/sweep.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { withService } from './with-service.ts';

/** So many results and leftovers are deleted between two looks at how far it has come. */
const STEP = 2000;
/** A run ends after so many steps; a next one goes on. */
const STEPS_MAX = 500;

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
        const swept = await sweepAll((limit) => sweep(dependencies, limit, context.signal), context);
        const { expired, orphans, bytes } = swept;
        if (options.json) printJson(context, { expired, orphans, bytes });
        else printLines(context, [`expired=${expired}`, `orphans=${orphans}`, `bytes=${bytes}`]);
      });
    });
}

async function sweepAll(sweepStep: (limit: number) => Promise<Swept>, context: CommandContext): Promise<Swept> {
  using progress = new ProgressLine(context.stderr);
  let total: Swept = { expired: 0, orphans: 0, bytes: 0 };
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    const { expired, orphans, bytes } = total;
    progress.show(`swept ${expired + orphans} results and leftovers, ${(bytes / 1e6).toFixed(1)} MB`);
    const swept = await sweepStep(STEP);
    if (swept.expired + swept.orphans + swept.bytes === 0) break;
    total = {
      expired: expired + swept.expired,
      orphans: orphans + swept.orphans,
      bytes: bytes + swept.bytes,
    };
  }
  return total;
}
