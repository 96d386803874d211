/** `qrs demo-sources`: made-up source tables, to try the curated datasets with. */
import { type Command, Option } from 'commander';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines } from './printing.ts';
import { ProgressLine } from './progress-line.ts';

const SIZES = ['full', 'small'] as const;

interface DemoSourcesOptions {
  readonly size: (typeof SIZES)[number];
  readonly json?: true;
}

export function addDemoSourcesCommand(program: Command, context: CommandContext): void {
  program
    .command('demo-sources')
    .description('write made-up source tables for the curated datasets; prints the names of the tables')
    .argument('<folder>', 'the folder to write to; tables of these names are replaced')
    .addOption(new Option('--size <size>', 'full (a million share events) or small').choices(SIZES).default('full'))
    .option('--json', 'print JSON, with the number of rows of each')
    .action(async (folder: string, { size, json }: DemoSourcesOptions) => {
      const { lastMidnight, writeDemoSources } = await import('../datasets/demo-sources/write-demo-sources.ts');
      const until = lastMidnight(context.clock());
      using progress = new ProgressLine(context.stderr);
      const onTable = (name: string) => progress.show(`writing ${name}`);
      const tables = await writeDemoSources(folder, {
        size,
        until,
        signal: context.signal,
        sleep: context.sleep,
        onTable,
      });
      progress.clear();
      if (json) {
        printJson(
          context,
          tables.map(({ name, rowCount }) => ({ name, row_count: rowCount })),
        );
      } else {
        printLines(
          context,
          tables.map(({ name }) => name),
        );
      }
    });
}
