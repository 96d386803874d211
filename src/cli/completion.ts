/** `qrs completion`: a script that makes a shell complete the commands, their options and the values that are known. */
import { Argument, type Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { type CompletionNode, completionNodes } from './completion/nodes.ts';
import { zshScript } from './completion/zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Readonly<
  Record<string, (nodes: readonly CompletionNode[]) => string>
>;
type Shell = keyof typeof SCRIPTS;

export function addCompletionCommand(program: Command, context: CommandContext): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'whose script').choices(Object.keys(SCRIPTS)))
    .action((shell: Shell) => {
      context.stdout.write(SCRIPTS[shell](completionNodes(program)));
    });
}
