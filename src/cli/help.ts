/** `qrs help keys create`: what `qrs keys create --help` says, as people ask for it. */
import type { Command } from 'commander';
import { nearest } from '../domain/nearest.ts';
import { UsageError } from './arguments.ts';

export function addHelpCommand(program: Command): void {
  program.helpCommand(false);
  program
    .command('help')
    .description('explain a command')
    .argument('[command...]', 'the words of the command; all commands, if there are none')
    .action((words: readonly string[]) => commandOf(program, words).outputHelp());
}

/** @throws UsageError naming the word that is no command, and the nearest that is one */
function commandOf(program: Command, words: readonly string[]): Command {
  let command = program;
  let path = program.name();
  for (const word of words) {
    const names = command.commands.map((sub) => sub.name());
    const found = command.commands.find((sub) => sub.name() === word);
    if (found === undefined) {
      const [near] = nearest(word, names);
      const hint = near === undefined ? '' : `; did you mean ${path} ${near}?`;
      throw new UsageError(`there is no command ${path} ${word}${hint}`);
    }
    command = found;
    path += ` ${word}`;
  }
  return command;
}
