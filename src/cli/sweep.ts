/** `qrs sweep`: deletes what has expired, and what publishers that failed or were killed left behind. */
import type { Command } from 'commander';
import { bytesInWords, counted } from '../domain/counted.ts';
import type { Swept } from '../maintenance/sweep.ts';
import type { SweepStopped } from '../maintenance/sweep-trust.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { withService } from './with-service.ts';

export function addSweepCommand(program: Command, context: CommandContext): void {
  program
    .command('sweep')
    .description(
      'delete expired results and leftovers, but nothing that is being read or written; prints name=value lines',
    )
    .option('--yes', 'go on where a sweep stops: after a jump of the clock, or at more leftovers than usual')
    .option('--json', 'print JSON')
    .action(async (options: { readonly json?: true; readonly yes?: true }) => {
      const { sweepAll } = await import('../maintenance/sweep.ts');
      const { sweepAlone } = await import('../maintenance/one-sweep.ts');
      const { sweepDependencies } = await import('../compose/schedule.ts');
      await withService(context, async (service) => {
        const dependencies = await sweepDependencies(service, options.yes);
        const { catalog } = dependencies;
        const leaseOptions = { ...context, catalog, leaseMillis: service.settings.leaseMillis };
        let outcome: Awaited<ReturnType<typeof sweepTold>> | undefined;
        await sweepAlone(leaseOptions, context.signal, async (signal) => {
          outcome = await sweepTold((onSwept) => sweepAll(dependencies, signal, onSwept), context);
        });
        if (outcome === undefined) throw new Error('another process sweeps at the moment: it deletes the same');
        const { swept, stopped } = outcome;
        const { expired, orphans, bytes } = swept;
        if (options.json) printJson(context, { expired, orphans, bytes });
        else printLines(context, [`expired=${expired}`, `orphans=${orphans}`, `bytes=${bytes}`]);
        if (stopped !== undefined) throw stopped;
      });
    });
}

async function sweepTold(
  sweepAll: (onSwept: (soFar: Swept) => void) => Promise<void>,
  context: CommandContext,
): Promise<{ readonly swept: Swept; readonly stopped: SweepStopped | undefined }> {
  const { SweepStopped } = await import('../maintenance/sweep-trust.ts');
  using progress = new ProgressLine(context.stderr);
  let swept: Swept = { expired: 0, orphans: 0, bytes: 0 };
  const tell = (soFar: Swept) => {
    swept = soFar;
    const { expired, orphans, bytes } = soFar;
    progress.show(`swept ${counted(expired, 'result')} and ${counted(orphans, 'leftover')}, ${bytesInWords(bytes)}`);
  };
  try {
    tell(swept);
    await sweepAll(tell);
  } catch (error) {
    if (error instanceof SweepStopped) return { swept, stopped: error };
    throw error;
  }
  return { swept, stopped: undefined };
}
