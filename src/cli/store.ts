/** `qrs store copy`: moves the results to another store. */
import type { Command } from 'commander';
import { openOtherStore } from '../compose/other-store.ts';
import { bytesInWords, counted } from '../domain/counted.ts';
import type { CopyProgress, StoreCopied } from '../maintenance/store-copy.ts';
import { maskPassword, type StoreLocation, storeLocation } from '../settings/location.ts';
import { BadValue } from '../settings/setting-value.ts';
import { UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines, tell } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { withService } from './with-service.ts';

interface CopyOptions {
  readonly to: string;
  readonly finish?: true;
  readonly leaveDamaged?: true;
  readonly json?: true;
}

export function addStoreCommand(program: Command, context: CommandContext): void {
  const store = program.command('store').description('where results are kept');
  store
    .command('copy')
    .description(
      'copy all results to another store while the service runs; with --finish, when nothing runs any more, make that one the catalog’s',
    )
    .requiredOption('--to <url>', 'the other store, as in QRS_STORE_URL')
    .option('--finish', 'copy what has come since, and make the other store that of the catalog')
    .option(
      '--leave-damaged',
      'finish although some objects are damaged: their results cannot be read afterwards, either',
    )
    .option('--json', 'print JSON')
    .action(async (options: CopyOptions) => {
      const to = locationOf(options.to);
      await withService(context, async (service) => {
        await using other = await openOtherStore(service, to);
        const { copyStore, finishCopy } = await import('../maintenance/store-copy.ts');
        const { makeScratchFolder } = await import('../files/scratch-folder.ts');
        await using scratch = await makeScratchFolder(other.stagingDirectory);
        const dependencies = {
          catalog: await service.catalog(),
          from: await service.store(),
          to: other.store,
          scratch: scratch.path,
        };
        using progress = new ProgressLine(context.stderr);
        const show = ({ needed, copied, bytes }: CopyProgress) =>
          progress.show(`copied ${copied} of ${counted(needed, 'stored object')}, ${bytesInWords(bytes)}`);
        const copied =
          options.finish === true
            ? await finishCopy(dependencies, { leaveDamaged: options.leaveDamaged ?? false }, context.signal, show)
            : await copyStore(dependencies, context.signal, show);
        progress.clear();
        report(copied, options, context);
      });
    });
}

/** @throws UsageError */
function locationOf(url: string): StoreLocation {
  try {
    return storeLocation(url);
  } catch (error) {
    if (error instanceof BadValue) throw new UsageError(`the other store is "${maskPassword(url)}": ${error.message}`);
    throw error;
  }
}

function report({ needed, copied, bytes, damaged }: StoreCopied, options: CopyOptions, context: CommandContext): void {
  if (options.json) printJson(context, { needed, copied, bytes, damaged });
  else printLines(context, [`needed=${needed}`, `copied=${copied}`, `bytes=${bytes}`, `damaged=${damaged.length}`]);
  for (const key of damaged) tell(context, `${key} is damaged, and was not copied`);
  if (options.finish === true) tell(context, `set QRS_STORE_URL to the other store, and start the service`);
  else tell(context, 'stop the service, and run the same with --finish to change over');
  if (damaged.length > 0) throw new Error(`${counted(damaged.length, 'stored object')} damaged`);
}
