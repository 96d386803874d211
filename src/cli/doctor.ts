/** `qrs doctor`: says whether everything that the service needs is there, what is wrong, and what to do about it. */

import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { counted } from '../domain/counted.ts';
import type { Finding } from '../maintenance/doctor/finding.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines, tell } from './printing.ts';
import { ProgressLine } from './progress-line.ts';
import { withService } from './with-service.ts';

export function addDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('check settings, disk, catalog, store and datasets; exit 1 if anything is wrong')
    .option('--adopt', 'first join this catalog and this store, even if they are of two installations')
    .option('--json', 'print JSON: each check, its status (ok, warning, wrong), what was found, and what to do')
    .action(async (options: { readonly json?: true; readonly adopt?: true }) => {
      if (options.adopt) await adoptStore(context);
      const { examine } = await import('../maintenance/doctor/examine.ts');
      const nonce = Buffer.from(context.randomBytes(8)).toString('hex');
      const findings: Finding[] = [];
      {
        using progress = new ProgressLine(context.stderr);
        progress.show('looking');
        for await (const finding of examine({ ...context, nonce })) {
          findings.push(finding);
          progress.clear();
          if (!options.json) printLines(context, linesOf(finding, context.stdout.isTerminal));
        }
      }
      if (options.json) printJson(context, findings);
      const wrong = findings.filter(({ status }) => status === 'wrong').map(({ check }) => check);
      if (wrong.length > 0) throw new Error(`wrong: ${wrong.join(', ')}`);
    });
}

async function adoptStore(context: CommandContext): Promise<void> {
  const { adopt } = await import('../maintenance/installation.ts');
  await withService(context, async (service) => {
    const both = { catalog: await service.catalog(), store: await service.storeAlone() };
    const { missing, unknown } = await adopt(both, randomUUID);
    tell(context, 'the catalog and the store belong together now');
    if (missing > 0) tell(context, `of ${counted(missing, 'result')} in the catalog nothing is in the store`);
    if (unknown > 0)
      tell(
        context,
        `${counted(unknown, 'result')} in the store ${unknown === 1 ? 'is' : 'are'} not in the catalog: the sweep deletes ${unknown === 1 ? 'it' : 'them'}`,
      );
  });
}

/** For a person what to do stands below what was found; for a script each check is one line. */
function linesOf({ check, status, found, advice }: Finding, isTerminal: boolean): readonly string[] {
  const line = `${status.padEnd(7)}  ${check}: ${found}`;
  if (advice === undefined) return [line];
  return isTerminal ? [line, `${' '.repeat(9)}${advice}`] : [`${line}: ${advice}`];
}
