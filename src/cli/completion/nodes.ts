/** What a shell has to know of the commands, read off the commands themselves: so a new one completes by itself. */
import type { Argument, Command, Option } from 'commander';

/** A place on the line: nothing yet (`''`), a group (`keys`), or a command (`keys create`). */
export interface CompletionNode {
  /** The words that lead here, without `qrs`. */
  readonly path: string;
  readonly subcommands: readonly Word[];
  readonly options: readonly CompletionOption[];
  /** The values that the first argument can have, where they are known. */
  readonly choices: readonly string[];
  /** The first argument is a file or a folder. */
  readonly takesFile: boolean;
}

export interface CompletionOption extends Word {
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export interface Word {
  readonly word: string;
  readonly about: string;
}

const FILE_ARGUMENTS = ['file', 'folder'];

export function completionNodes(command: Command, path = ''): readonly CompletionNode[] {
  const subcommands = command.commands;
  const [argument] = command.registeredArguments;
  const node: CompletionNode = {
    path,
    subcommands: subcommands.map((sub) => ({ word: sub.name(), about: sub.description() })),
    options: [...command.options.map(optionOf), HELP],
    choices: choicesOf(argument),
    takesFile: argument !== undefined && FILE_ARGUMENTS.includes(argument.name()),
  };
  return [node, ...subcommands.flatMap((sub) => completionNodes(sub, `${path} ${sub.name()}`.trimStart()))];
}

/** Every command has it, though no command lists it. */
const HELP: CompletionOption = { word: '--help', about: 'explain the command', takesValue: false, choices: [] };

function optionOf(option: Option): CompletionOption {
  return {
    word: option.long ?? option.flags,
    about: option.description,
    takesValue: option.required || option.optional,
    choices: choicesOf(option),
  };
}

function choicesOf(named: Argument | Option | undefined): readonly string[] {
  return named?.argChoices ?? [];
}
