/** `qrs config`: the settings in effect, as lines that a configuration file could have. */
import type { Command } from 'commander';
import { loadSettings } from '../settings/load-settings.ts';
import { formatMemorySum, memorySum } from '../settings/memory.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines } from './printing.ts';

export function addConfigCommand(program: Command, context: CommandContext): void {
  program
    .command('config')
    .description('print the settings in effect, passwords masked')
    .option('--json', 'print JSON, with where each value comes from')
    .action((options: { readonly json?: true }) => {
      const { effective, settings } = loadSettings(context);
      if (options.json) return printJson(context, effective);
      printLines(
        context,
        effective.map(({ name, value }) => `${name}=${value}`),
      );
      context.stderr.write(`memory: ${formatMemorySum(memorySum(settings))}\n`);
    });
}
