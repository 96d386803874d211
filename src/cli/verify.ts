/** `qrs verify`: checks every stored object against its checksum. Prints the keys of those that are damaged. */
import type { Command } from 'commander';
import { counted } from '../domain/counted.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines, tell } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { withService } from './with-service.ts';

export function addVerifyCommand(program: Command, context: CommandContext): void {
  program
    .command('verify')
    .description(
      'check every stored object against its checksums; prints the damaged ones, and exits with 1 if there are any',
    )
    .option('--json', 'print JSON')
    .action(async (options: { readonly json?: true }) => {
      const { verify } = await import('../maintenance/verify.ts');
      await withService(context, async (service) => {
        const dependencies = { catalog: await service.catalog(), store: await service.store() };
        const damaged: { execution_id: string; key: string; problem: string }[] = [];
        let checked = 0;
        using progress = new ProgressLine(context.stderr);
        for await (const { executionId, key, problem } of verify(dependencies, context.signal)) {
          checked += 1;
          progress.show(`checked ${counted(checked, 'stored object')}`);
          if (problem === undefined) continue;
          damaged.push({ execution_id: executionId, key, problem });
          progress.clear();
          if (!options.json) printLines(context, [key]);
          tell(context, problem);
        }
        progress.clear();
        if (options.json) printJson(context, { checked, damaged });
        if (damaged.length > 0) throw new Error(`${damaged.length} of ${counted(checked, 'stored object')} damaged`);
        tell(context, `${counted(checked, 'stored object')}, none damaged`);
      });
    });
}
